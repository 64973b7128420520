"""Archives of a JSON header and plain arrays. They contain no code, and files from untrusted sources are safe to read.

An archive is a zip file of `.json` and `.npy` members. A member is unpacked only after its name, its size, and the type
and shape of its array were found to be as declared, so that a small file cannot allocate much memory. Equal contents
give equal bytes.

A file may end with a checksum, a hash of all bytes before it, in the comment that zip files can have
(docs/decisions/0029).
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
import os
import re
import warnings
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, TypeVar

import msgspec
import numpy as np

from suffice.errors import MemoryLimitError, SufficeError, spelled
from suffice.files import json_text
from suffice.files.atomic import broken_link, replacing, similar_name_hint
from suffice.kernels.array_types import Array
from suffice.version import __version__

Shape = tuple[int | str, ...]  # a name stands for a number that is the same wherever the name occurs
T = TypeVar("T")

MEMBER_NAME = re.compile(r"[a-z0-9_]{1,80}\.(json|npy)")
MOST_MEMBERS = 10_000
ROOMY, TIGHTEST = 1 << 26, 200  # a file may unpack to this many bytes, or to this many times its own size
PIECE = 1 << 20  # bytes read at a time
LONGEST_READ = 1 << 22  # largest number of bytes read at once, such as the table of contents
ARRAY_FORMAT, ARRAY_HEADER = (1, 0), 4096  # version of numpy's format, and limit of its header, usually of 128 bytes
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ENCRYPTED = 1  # flag of a member
CHECKSUM = b"blake2b "  # what the checksum at the end of a file begins with
HASH_BYTES = 16


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of archive, with the texts of its error messages."""

    name: str  # such as "model file"
    format: str
    version: int  # version of the format; no other version is read
    error: type[SufficeError]
    remake: str  # how to fix a damaged file
    make: tuple[str, str]  # how to create a missing file, in Python and on the command line; {path} is its path
    most_bytes: int = 1 << 33  # limit of the unpacked size
    renew: str = ""  # what to do with a file of an older format, if not the same as with a damaged one
    checksum: bool = False  # whether every file ends with one

    def refuse(self, path: Path, problem: str, fix: str = "") -> SufficeError:
        """Return the error for a file: its path, the problem, and the fix (by default `remake`)."""
        fix = fix or self.remake
        return self.error(f"{path}: {problem}. {fix[:1].upper()}{fix[1:]}.")


def write_archive(
    path: Path, header: msgspec.Struct, texts: Mapping[str, object], arrays: Mapping[str, Array], checksum: bool = False
) -> None:
    """Write a header, further JSON and arrays by name; the file appears complete or not at all."""
    encoded = {"header.json": msgspec.json.format(msgspec.json.encode(header), indent=1)}
    encoded |= {f"{name}.json": msgspec.json.encode(text) for name, text in texts.items()}
    with replacing(path) as temporary:
        _write(temporary, encoded, arrays, zipfile.ZIP_DEFLATED)
        with zipfile.ZipFile(temporary) as archive:
            believed = _unpacked(archive.infolist()) <= _believable(temporary.stat().st_size)
        if not believed:  # mostly zeros: a reader would refuse it as a zip bomb, so it is stored uncompressed
            _write(temporary, encoded, arrays, zipfile.ZIP_STORED)
        if checksum:
            add_checksum(temporary)
        with temporary.open("rb") as file:  # the result of hours must survive a power cut
            os.fsync(file.fileno())
    with contextlib.suppress(OSError):  # the name must survive it too; some file systems cannot sync folders
        _sync(path.parent)


def add_checksum(path: Path) -> None:
    """Append a checksum to an archive that has none."""
    with zipfile.ZipFile(path, "a") as archive:
        archive.comment = CHECKSUM + bytes(2 * HASH_BYTES)
    with path.open("r+b") as file:
        end = file.seek(-2 * HASH_BYTES, io.SEEK_END)
        found = _hash(file, end)
        file.seek(end)
        file.write(found)


def _hash(file: IO[bytes], end: int) -> bytes:
    """Return the hash of the bytes of a file before `end`."""
    found = hashlib.blake2b(digest_size=HASH_BYTES)
    file.seek(0)
    for begin in range(0, end, PIECE):
        found.update(file.read(min(PIECE, end - begin)))
    return found.hexdigest().encode()


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(path: Path, texts: Mapping[str, bytes], arrays: Mapping[str, Array], packing: int) -> None:
    def member(name: str, size: int) -> zipfile.ZipInfo:
        info = zipfile.ZipInfo(name)  # with a constant date, so that equal contents give equal bytes
        info.compress_type, info.file_size = packing, size
        return info

    with zipfile.ZipFile(path, "w") as archive:
        for name, data in texts.items():
            with archive.open(member(name, len(data)), "w") as file:
                file.write(data)
        for name, array in arrays.items():
            with archive.open(member(f"{name}.npy", array.nbytes + ARRAY_HEADER), "w") as file:
                np.lib.format.write_array(file, np.ascontiguousarray(array), ARRAY_FORMAT, allow_pickle=False)


@dataclass(frozen=True, slots=True)
class Archive:
    """An archive that is open for reading."""

    kind: Kind
    members: Mapping[str, zipfile.ZipInfo]
    file: zipfile.ZipFile
    checked: bool = False  # whether the file has a checksum, which is right

    def header(self, kind: type[T]) -> T:
        """Return the header; raise an error if the format or its version is another, or a checksum is missing."""
        stamp = self.text("header", _Stamp)
        if stamp.format != self.kind.format:
            raise ValueError(f"its format is {stamp.format!r}, not {self.kind.format!r}")
        if stamp.format_version > self.kind.version:
            raise _OtherVersionError(
                f"written by suffice {stamp.version} in format {stamp.format_version}, newer than the "
                f"{self.kind.version} that suffice {__version__} reads",
                "upgrade suffice",
            )
        if stamp.format_version < self.kind.version:
            raise _OtherVersionError(
                f"written by suffice {stamp.version} in format {stamp.format_version}, older than the "
                f"{self.kind.version} that suffice {__version__} reads",
                self.kind.renew,
            )
        if self.kind.checksum and not self.checked:
            raise ValueError("its checksum is missing")
        return self.text("header", kind)

    def text(self, name: str, kind: type[T]) -> T:
        """Decode a JSON member to a type."""
        member = self._member(f"{name}.json")
        if member.file_size > json_text.LARGEST_JSON:
            raise ValueError(f"{name}.json is larger than {json_text.LARGEST_JSON >> 20} MiB")
        with self.file.open(member) as file:
            return json_text.decode(b"".join(iter(lambda: file.read(PIECE), b"")), kind)

    @property
    def nbytes(self) -> int:
        """The number of bytes of all arrays, unpacked."""
        return sum(member.file_size for name, member in self.members.items() if name.endswith(".npy"))

    def arrays(self, declared: Mapping[str, tuple[str, Shape]]) -> dict[str, Array]:
        """Return the arrays that are declared by type ("i8", or "iu" for all integers that "i8" holds) and shape.

        The headers of all arrays are checked before the first array is unpacked.
        """
        sizes: dict[str, int] = {}
        for name, (kinds, shape) in declared.items():
            member = self._member(f"{name}.npy")
            with self.file.open(member) as file:
                found, dtype = _array_header(file, member.filename)
                size = file.tell() + math.prod(found) * dtype.itemsize
            if size != member.file_size:
                raise ValueError(f"{member.filename} has {member.file_size:,} bytes, not {size:,}")
            name_of_type = f"{dtype.kind}{dtype.itemsize}"
            fits = dtype.kind in kinds and name_of_type != "u8" if kinds.isalpha() else name_of_type == kinds
            if not fits or not dtype.isnative or not _agree(found, shape, sizes):
                due = [sizes.get(str(part), part) for part in shape]
                raise ValueError(
                    f"{member.filename} has {dtype} of shape {list(found)}, expected {kinds} of shape {due}"
                )
        return {name: self._array(f"{name}.npy") for name in declared}

    def _array(self, name: str) -> Array:
        with self.file.open(self._member(name)) as file:
            shape, dtype = _array_header(file, name)
            array = np.empty(shape, dtype)
            left = array.reshape(-1).view(np.uint8)
            while len(left):
                data = np.frombuffer(file.read(min(PIECE, len(left))), np.uint8)
                if not len(data):
                    raise ValueError(f"{name} ends too early")
                left[: len(data)] = data
                left = left[len(data) :]
        return array

    def _member(self, name: str) -> zipfile.ZipInfo:
        if name not in self.members:
            raise ValueError(f"{name} is missing")
        return self.members[name]


@contextlib.contextmanager
def opened(path: Path, kind: Kind) -> Iterator[Archive]:
    """Open an archive; an error in the block about its contents becomes one line that names the file."""
    if path.is_dir():
        raise kind.refuse(path, "this is a folder", f"name a {kind.name}")
    if path.exists() and not path.is_file():  # reading from a pipe could block
        raise kind.refuse(path, "this is a pipe or a device", f"name a {kind.name}")
    try:
        with _SmallReads(path) as raw, _archive(raw) as file:
            try:
                checked = kind.checksum and _has_checksum(raw)
                yield Archive(kind, _members(file, kind, raw.seek(0, io.SEEK_END)), file, checked)
            except _OtherVersionError as error:
                problem, fix = error.args
                raise kind.refuse(path, problem, fix) from error
            except MemoryLimitError as error:
                raise _TooLargeError(f"{path}: {error}") from error
            except _UNPACKING as error:
                raise kind.refuse(path, f"this {kind.name} is damaged (it cannot be unpacked)") from error
            except _WRONG as error:
                reason = " ".join(str(error).split())[:300].rstrip(".")
                raise kind.refuse(path, f"this {kind.name} is damaged ({reason})") from error
    except _TooLargeError as error:
        raise MemoryLimitError(str(error)) from error.__cause__
    except _NoArchiveError as error:
        raise kind.refuse(path, f"this is not a {kind.name}, or it is damaged ({error})") from error
    except FileNotFoundError:
        if broken := broken_link(path):
            raise kind.error(broken) from None
        problem, hint = f"{path}: there is no such file", similar_name_hint(path)
        make = spelled(*kind.make).format(path=str(path))
        make = f" If not, {make}" if hint else f". {make[0].upper()}{make[1:]}"
        raise kind.error(f"{problem}{hint}{make}") from None
    except (OSError, ValueError) as error:  # errors in the contents were converted above
        reason = str(getattr(error, "strerror", None) or error)
        raise kind.refuse(path, f"the file cannot be read ({reason})", "check the path and its permissions") from error


# Exceptions that damaged contents cause: in the code that interprets them, and in decompressors.
_WRONG = (SufficeError, ValueError, LookupError, TypeError, ArithmeticError, MemoryError, RuntimeError)
_UNPACKING = (zipfile.BadZipFile, zlib.error, EOFError)


class _NoArchiveError(Exception):
    """A file that was not written by `write_archive`."""


class _TooLargeError(Exception):
    """Arrays that do not fit into the memory of the process."""


class _OtherVersionError(Exception):
    """A file of a format that this version does not read; its arguments are the problem and the fix."""


class _Stamp(msgspec.Struct):
    format: str
    format_version: int
    version: str = "?"


class _SmallReads(io.FileIO):
    """A file that is read only in small pieces, whatever sizes its table of contents states."""

    def read(self, size: int | None = -1) -> bytes:
        wanted = -1 if size is None else size
        data = super().read(wanted if 0 <= wanted <= LONGEST_READ else LONGEST_READ + 1) or b""
        if len(data) > LONGEST_READ:
            raise _NoArchiveError(f"it has parts of more than {LONGEST_READ:,} bytes")
        return data


def _has_checksum(raw: _SmallReads) -> bool:
    """Return whether a file ends with a checksum; raise ValueError if it is that of another content."""
    size = raw.seek(0, io.SEEK_END)
    raw.seek(max(0, size - len(CHECKSUM) - 2 * HASH_BYTES))
    mark, stored = raw.read(len(CHECKSUM)), raw.read(2 * HASH_BYTES)
    if mark != CHECKSUM:
        return False
    if _hash(raw, size - len(stored)) != stored:
        raise ValueError("its checksum does not match its contents")
    return True


def _archive(raw: _SmallReads) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(raw)
    except (_NoArchiveError, OSError):
        raise
    except Exception as error:  # a damaged table of contents can cause any exception
        raise _NoArchiveError(str(error)) from error


def _members(file: zipfile.ZipFile, kind: Kind, size: int) -> dict[str, zipfile.ZipInfo]:
    """Return the members by name, after checking what the table of contents states; nothing is unpacked yet."""
    found = file.infolist()
    members = {member.filename: member for member in found}
    if len(members) < len(found) or len(found) > MOST_MEMBERS:
        raise _NoArchiveError(f"it has {len(found):,} members with {len(members):,} names")
    for name, member in members.items():
        if not MEMBER_NAME.fullmatch(name) or member.compress_type not in PACKINGS or member.flag_bits & ENCRYPTED:
            raise _NoArchiveError(f"its member {name[:80]!r} was not written by suffice")
    if (unpacked := _unpacked(found)) > min(kind.most_bytes, _believable(size)):
        raise _NoArchiveError(f"its {size:,} bytes would unpack to {unpacked:,} bytes")
    return members


def _unpacked(members: Iterable[zipfile.ZipInfo]) -> int:
    return sum(member.file_size for member in members)


def _believable(size: int) -> int:
    return max(ROOMY, TIGHTEST * size)


def _array_header(file: IO[bytes], name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Read the shape and type of an array, and nothing else."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # numpy only warns about headers that it never writes
            if np.lib.format.read_magic(file) != ARRAY_FORMAT:
                raise ValueError("another version of the format")
            shape, by_column, dtype = np.lib.format.read_array_header_1_0(file, ARRAY_HEADER)
    except Exception as error:  # numpy parses the header as Python, which can raise anything
        raise ValueError(f"{name} is not an array of numbers ({' '.join(str(error).split())[:200]})") from error
    if by_column or dtype.hasobject:
        raise ValueError(f"{name}: {'Object arrays' if dtype.hasobject else 'arrays by column'} cannot be loaded")
    return shape, dtype


def _agree(found: tuple[int, ...], shape: Shape, sizes: dict[str, int]) -> bool:
    """Return whether a shape is as declared; a name stands for the same number everywhere."""
    return len(found) == len(shape) and all(
        size == (sizes.setdefault(part, size) if isinstance(part, str) else part)
        for size, part in zip(found, shape, strict=True)
    )
