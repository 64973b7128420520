"""Atomic writes of files, and fingerprints by which files are recognised."""

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
SYSTEM_FOLDERS = ("/dev", "/proc", "/sys")  # names of devices, processes and settings of the kernel
MOST_LINKS = 40  # in a row, as on Linux
SHARED_MEMORY = "/dev/shm"  # ordinary files


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a temporary file that replaces `path` when the block ends, so that no reader sees a partial file.

    If `path` is a symbolic link, the file that it leads to is replaced, and the link stays.
    """
    if "\0" in path.name:
        raise SufficeError(f"{path}: a file name cannot contain a null character. Choose another name.")
    path = link_target(path)
    if not path.parent.is_dir():
        raise SufficeError(f"{path}: there is no folder {path.parent}. Create it first.")
    refuse_special_file(path)
    if path.is_dir():
        raise SufficeError(f"{path}: this is a folder. Name a file to write.")
    temporary = path.with_name(f"{_beginning(path)}{os.getpid()}.tmp")
    try:
        with contextlib.suppress(OSError):  # failing to clean up must not prevent writing
            _remove_remains(path)
        temporary.unlink(missing_ok=True)
        temporary.open("xb").close()  # creates a new file: writing through a link there would change another file
        yield temporary
        note_written()
        os.replace(temporary, path)
    except OSError as error:
        reason = error.strerror or (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        fix = "Free some space, or choose" if error.errno in FULL else "Choose"
        raise SufficeError(f"{path}: the file cannot be written ({reason}). {fix} another folder.") from error
    finally:
        with contextlib.suppress(OSError):  # a failing disk was reported above; the next writer cleans up
            temporary.unlink(missing_ok=True)


def refuse_special_file(path: Path) -> None:
    """Raise SufficeError if `path` is a device, pipe or socket, or in a folder of the system, or cannot be a file."""
    try:
        kind = os.stat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):  # reported with more detail elsewhere
        kind = stat.S_IFREG
    except OSError as error:
        raise SufficeError(f"{path}: no file can be written here ({error.strerror}). Choose another name.") from error
    if not stat.S_ISREG(kind) and not stat.S_ISDIR(kind):
        raise SufficeError(
            f"{path}: this is a device, a pipe or a socket, which must not be replaced. Choose another name."
        )
    link_target(path)


def link_target(path: Path) -> Path:
    """Return the file that a symbolic link leads to, which need not exist; any other path is returned as it is.

    Raise SufficeError if the path or a link on the way is in a folder of the system: `/dev/stdout` leads to an ordinary
    file if the output is redirected to one.
    """
    target = path
    for _ in range(MOST_LINKS):
        folder = Path(os.path.realpath(target.parent))
        roots = [root for root in SYSTEM_FOLDERS if folder.is_relative_to(root)]
        if roots and not folder.is_relative_to(SHARED_MEMORY):
            raise SufficeError(f"{path}: no file can be written in {roots[0]}. Choose another folder.")
        if not os.path.islink(target):  # False where the name is not valid
            break
        target = target.parent / os.readlink(target)
    return target


def _beginning(path: Path) -> str:
    """Return the start of the names of temporary files; it has the machine, whose processes alone can be checked."""
    machine = hashlib.blake2b(os.uname().nodename.encode(), digest_size=4).hexdigest()
    return f".{path.name[:40]}.{machine}."


def _remove_remains(path: Path) -> None:
    """Remove temporary files of killed processes of this machine that were writing the same file."""
    name = re.compile(re.escape(_beginning(path)) + r"(\d{1,9})\.tmp")
    for file in path.parent.iterdir():
        if (match := name.fullmatch(file.name)) and not _is_alive(int(match[1])):
            file.unlink(missing_ok=True)


def _is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:  # a process of another user
        return True
    return True


def broken_link(path: Path) -> str:
    """Return the message about a symbolic link that leads to no file; "" if the path is not one."""
    if not path.is_symlink():
        return ""
    try:
        path.stat()
    except OSError as error:
        problem = "which leads back to it" if error.errno == errno.ELOOP else "which does not exist"
        return f"{path}: this is a link to {path.readlink()}, {problem}. Correct the link."
    return ""


def similar_name_hint(path: str | Path) -> str:
    """Return a hint such as ". Did you mean log.csv?" if a file in the same folder has a similar name, else ""."""
    path = Path(path)
    if path.exists():
        return ""
    names = sorted(other.name for other in path.parent.iterdir()) if path.parent.is_dir() else []
    near = [name for name in names if closest(path.name.partition(".")[0], [name.partition(".")[0]])]
    meant = closest(path.name, near, cutoff=0.75)  # stricter, because equal suffixes alone make names similar
    return f". Did you mean {path.with_name(meant)}?" if meant else ""


def fingerprint(path: str | Path, *more: str | Path) -> str:
    """Return a hash of sizes, first and last bytes of files, quick for files of any size.

    A path that is not a file is identified by its name.
    """
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
