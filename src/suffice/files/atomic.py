"""Files appear whole or not at all, and can be known again."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from suffice.errors import SufficeError, closest
from suffice.files.signals import note_written

PIECE = 1 << 20  # bytes
FULL = (errno.ENOSPC, errno.EDQUOT)


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A temporary file beside `path` that takes its place once it is complete, so that no reader ever sees half."""
    if "\0" in path.name:
        raise SufficeError(f"{path}: no file can have such a name; choose another")
    if not path.parent.is_dir():
        raise SufficeError(f"{path}: there is no folder {path.parent}; create it first")
    refuse_what_is_no_file(path)
    temporary = path.with_name(f"{_beginning(path)}{os.getpid()}.tmp")
    try:
        with contextlib.suppress(OSError):  # to tidy up is not what was asked for
            _remove_remains(path)
        temporary.unlink(missing_ok=True)
        temporary.open("xb").close()  # a file of our own: through a link that waits there, another would be written
        yield temporary
        note_written()
        os.replace(temporary, path)
    except OSError as error:
        reason = error.strerror or (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        advice = "; make room, or choose another folder" if error.errno in FULL else ""
        raise SufficeError(f"{path}: the file cannot be written ({reason}){advice}") from error
    finally:
        with contextlib.suppress(OSError):  # a disk that fails says why above; who writes the file next tidies up
            temporary.unlink(missing_ok=True)


def refuse_what_is_no_file(path: Path) -> None:
    """Refuse to put a file where none can be, or in the place of a device or a pipe, which other programs may need."""
    try:
        kind = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):  # of which more is said elsewhere
        return
    except OSError as error:
        raise SufficeError(f"{path}: no file can be there ({error.strerror}); choose another name") from error
    if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
        raise SufficeError(f"{path}: this is a device or a pipe, which a file would replace; choose another name")


def _beginning(path: Path) -> str:
    """Of the names of temporary files on this machine: whether processes of another are alive cannot be seen here."""
    machine = hashlib.blake2b(os.uname().nodename.encode(), digest_size=4).hexdigest()
    return f".{path.name[:40]}.{machine}."


def _remove_remains(path: Path) -> None:
    """What processes of this machine left behind that were killed as they wrote the same file."""
    name = re.compile(re.escape(_beginning(path)) + r"(\d{1,9})\.tmp")
    for file in path.parent.iterdir():
        if (match := name.fullmatch(file.name)) and not _is_alive(int(match[1])):
            file.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


def name_beside(path: str | Path) -> str:
    """A hint for "there is no such file", if one in the same folder has a name much like it."""
    path = Path(path)
    if path.exists():
        return ""
    names = sorted(other.name for other in path.parent.iterdir()) if path.parent.is_dir() else []
    near = [name for name in names if closest(path.name.partition(".")[0], [name.partition(".")[0]])]
    meant = closest(path.name, near, cutoff=0.75)  # the ending alone makes names alike
    return f"; did you mean {path.with_name(meant)}?" if meant else ""


def fingerprint(path: str | Path, *more: str | Path) -> str:
    """What files are known again by, however large: their sizes, beginnings and ends; what is no file, by its name."""
    if more:
        each = "".join(fingerprint(file) for file in (path, *more))
        return hashlib.blake2b(each.encode(), digest_size=16).hexdigest()
    if not Path(path).is_file():
        return hashlib.blake2b(str(path).encode(), digest_size=16).hexdigest()
    with Path(path).open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        ends = []
        for start in (0, max(0, size - PIECE)):
            file.seek(start)
            ends.append(file.read(PIECE))
    return hashlib.blake2b(b"".join([str(size).encode(), *ends]), digest_size=16).hexdigest()
