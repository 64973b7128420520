"""Archives: files of a JSON header and plain arrays, with nothing in them that could run, read without trust.

An archive is a zip file of `.json` and `.npy` members. Nobody is believed: a member is unpacked only once its name, its
size, and the kind and shape of its array are what the header says there must be, so that a small file cannot ask for
much memory. Equal contents give equal bytes.
"""

from __future__ import annotations

import contextlib
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

from suffice.errors import SufficeError
from suffice.files import json_text
from suffice.files.atomic import name_beside, replacing
from suffice.kernels.array_types import Array
from suffice.version import __version__

Shape = tuple[int | str, ...]  # a name stands for a number that is the same wherever the name is
T = TypeVar("T")

MEMBER_NAME = re.compile(r"[a-z0-9_]{1,80}\.(json|npy)")
MOST_MEMBERS = 10_000
ROOMY, TIGHTEST = 1 << 26, 200  # bytes that any file may unpack to, and times its own size that a larger one may
PIECE = 1 << 20  # bytes that are read at a time
LONGEST_READ = 1 << 22  # bytes that are ever read at once, such as the table of contents
ARRAY_FORMAT, ARRAY_HEADER = (1, 0), 4096  # numpy's, and the most bytes of its header: of numbers it takes 128
PACKINGS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
ENCRYPTED = 1  # flag of a member


@dataclass(frozen=True, slots=True)
class Kind:
    """What archives are for, and what to say of a file that is none."""

    name: str  # such as "model file"
    format: str
    version: int  # of the format: no other one is read
    error: type[SufficeError]
    remake: str  # how to mend a damaged one
    make: str  # how to come by one, followed by its path
    most_bytes: int = 1 << 33  # unpacked
    renew: str = ""  # what to do with one of an older format, if not the same as with a damaged one


def write_archive(path: Path, header: msgspec.Struct, texts: Mapping[str, object], arrays: Mapping[str, Array]) -> None:
    """Write a header, further JSON and arrays by name, whole or not at all."""
    encoded = {"header.json": msgspec.json.format(msgspec.json.encode(header), indent=1)}
    encoded |= {f"{name}.json": msgspec.json.encode(text) for name, text in texts.items()}
    with replacing(path) as temporary:
        _write(temporary, encoded, arrays, zipfile.ZIP_DEFLATED)
        with zipfile.ZipFile(temporary) as archive:
            believed = _unpacked(archive.infolist()) <= _believable(temporary.stat().st_size)
        if not believed:  # nearly nothing but zeros: as a reader would take it for a bomb, it is not packed
            _write(temporary, encoded, arrays, zipfile.ZIP_STORED)
        with temporary.open("rb") as file:  # it may be all that is left of hours: not even a power cut may lose it
            os.fsync(file.fileno())
    with contextlib.suppress(OSError):  # nor the name; some file systems cannot
        _sync(path.parent)


def _sync(folder: Path) -> None:
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(path: Path, texts: Mapping[str, bytes], arrays: Mapping[str, Array], packing: int) -> None:
    def member(name: str, size: int) -> zipfile.ZipInfo:
        info = zipfile.ZipInfo(name)  # with no time of day
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

    def header(self, kind: type[T]) -> T:
        """What it says about itself, unless its format or the version of its format is another."""
        stamp = self.text("header", _Stamp)
        if stamp.format != self.kind.format:
            raise ValueError(f"its format is {stamp.format!r}, not {self.kind.format!r}")
        if stamp.format_version > self.kind.version:
            raise _OtherVersionError(
                f"written by suffice {stamp.version} in format {stamp.format_version}, newer than the "
                f"{self.kind.version} that suffice {__version__} reads; upgrade suffice"
            )
        if stamp.format_version < self.kind.version:
            raise _OtherVersionError(
                f"written by suffice {stamp.version} in format {stamp.format_version}, older than the "
                f"{self.kind.version} that suffice {__version__} reads; {self.kind.renew or self.kind.remake}"
            )
        return self.text("header", kind)

    def text(self, name: str, kind: type[T]) -> T:
        """A JSON member."""
        member = self._member(f"{name}.json")
        if member.file_size > json_text.LARGEST_JSON:
            raise ValueError(f"{name}.json is larger than {json_text.LARGEST_JSON >> 20} MiB")
        with self.file.open(member) as file:
            return json_text.decode(b"".join(iter(lambda: file.read(PIECE), b"")), kind)

    def arrays(self, declared: Mapping[str, tuple[str, Shape]]) -> dict[str, Array]:
        """Those that there must be, each with its kind of numbers ("i8", or "iu" for all integers) and its shape.

        All of them are looked at before the first is unpacked.
        """
        sizes: dict[str, int] = {}
        for name, (kinds, shape) in declared.items():
            member = self._member(f"{name}.npy")
            with self.file.open(member) as file:
                found, dtype = _array_header(file, member.filename)
                size = file.tell() + math.prod(found) * dtype.itemsize
            if size != member.file_size:
                raise ValueError(f"{member.filename} has {member.file_size:,} bytes, of {size:,}")
            fits = dtype.kind in kinds if kinds.isalpha() else f"{dtype.kind}{dtype.itemsize}" == kinds
            if not fits or not dtype.isnative or not _agree(found, shape, sizes):
                due = [sizes.get(str(part), part) for part in shape]
                raise ValueError(f"{member.filename} has {dtype} of shape {list(found)}, where {due} numbers are due")
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
            raise ValueError(f"there is no {name} in it")
        return self.members[name]


@contextlib.contextmanager
def opened(path: Path, kind: Kind) -> Iterator[Archive]:
    """An archive to read; whatever in the block turns out to be wrong with it becomes one line that names the file."""
    if path.exists() and not path.is_file() and not path.is_dir():  # to read from a pipe would wait for ever
        raise kind.error(f"{path}: this is no file, let alone a {kind.name}; {kind.remake}")
    try:
        with _Sips(path) as raw, _archive(raw) as file:
            try:
                yield Archive(kind, _members(file, kind, raw.seek(0, io.SEEK_END)), file)
            except _OtherVersionError as error:
                raise kind.error(f"{path}: {error}") from error
            except _UNPACKING as error:
                raise kind.error(f"{path}: this {kind.name} is damaged (it does not unpack); {kind.remake}") from error
            except _WRONG as error:
                reason = f"this {kind.name} is damaged ({' '.join(str(error).split())[:300]})"
                raise kind.error(f"{path}: {reason}; {kind.remake}") from error
    except _NoArchiveError as error:
        reason = f"this is no {kind.name}, or a damaged one ({error})"
        raise kind.error(f"{path}: {reason}; {kind.remake}") from error
    except FileNotFoundError:
        instead = f"{hint} If not," if (hint := name_beside(path)) else ";"
        raise kind.error(f"{path}: there is no such file{instead} {kind.make} {path}") from None
    except (OSError, ValueError) as error:  # whatever is wrong with the contents was said already
        reason = str(getattr(error, "strerror", None) or error)
        raise kind.error(f"{path}: the file cannot be read ({reason})") from error


# What damaged contents set off: in decompressors, and in those who make sense of them.
_WRONG = (SufficeError, ValueError, LookupError, TypeError, ArithmeticError, MemoryError, RuntimeError)
_UNPACKING = (zipfile.BadZipFile, zlib.error, EOFError)


class _NoArchiveError(Exception):
    """What no program of ours wrote."""


class _OtherVersionError(Exception):
    """A file of a format that this version does not read."""


class _Stamp(msgspec.Struct):
    format: str
    format_version: int
    version: str = "?"


class _Sips(io.FileIO):
    """A file that is read in small pieces only, whatever it says of the size of its parts."""

    def read(self, size: int | None = -1) -> bytes:
        wanted = -1 if size is None else size
        data = super().read(wanted if 0 <= wanted <= LONGEST_READ else LONGEST_READ + 1) or b""
        if len(data) > LONGEST_READ:
            raise _NoArchiveError(f"it has parts of more than {LONGEST_READ:,} bytes")
        return data


def _archive(raw: _Sips) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(raw)
    except (_NoArchiveError, OSError):
        raise
    except Exception as error:  # of whatever kind: its table of contents is damaged
        raise _NoArchiveError(str(error)) from error


def _members(file: zipfile.ZipFile, kind: Kind, size: int) -> dict[str, zipfile.ZipInfo]:
    """By name, after a look at what they say of themselves: nothing is unpacked yet."""
    found = file.infolist()
    members = {member.filename: member for member in found}
    if len(members) < len(found) or len(found) > MOST_MEMBERS:
        raise _NoArchiveError(f"it has {len(found):,} parts, of {len(members):,} names")
    for name, member in members.items():
        if not MEMBER_NAME.fullmatch(name) or member.compress_type not in PACKINGS or member.flag_bits & ENCRYPTED:
            raise _NoArchiveError(f"{name[:80]!r} in it is nothing of ours")
    if (unpacked := _unpacked(found)) > min(kind.most_bytes, _believable(size)):
        raise _NoArchiveError(f"its {size:,} bytes would unpack to {unpacked:,}")
    return members


def _unpacked(members: Iterable[zipfile.ZipInfo]) -> int:
    return sum(member.file_size for member in members)


def _believable(size: int) -> int:
    return max(ROOMY, TIGHTEST * size)


def _array_header(file: IO[bytes], name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Shape and type of an array, of which nothing else is read."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # numpy puts up with headers that it never wrote
            if np.lib.format.read_magic(file) != ARRAY_FORMAT:
                raise ValueError("of another version")
            shape, by_column, dtype = np.lib.format.read_array_header_1_0(file, ARRAY_HEADER)
    except Exception as error:  # it comes from a parser of Python
        raise ValueError(f"{name} is no array of numbers ({' '.join(str(error).split())[:200]})") from error
    if by_column or dtype.hasobject:
        raise ValueError(f"{name}: {'Object arrays' if dtype.hasobject else 'arrays by column'} cannot be loaded")
    return shape, dtype


def _agree(found: tuple[int, ...], shape: Shape, sizes: dict[str, int]) -> bool:
    """Whether a shape is the declared one; a name stands for what it stood for before."""
    return len(found) == len(shape) and all(
        size == (sizes.setdefault(part, size) if isinstance(part, str) else part)
        for size, part in zip(found, shape, strict=True)
    )
