"""Limits that refuse log files of implausible size: decompressed, in rows, or in the length of a line.

A compressed file of a kilobyte can claim to hold a terabyte. Real logs are about ten times larger than their compressed
files, and at most a hundred times, so a file may decompress only to a multiple of its size.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from suffice.errors import LogError

ROOMY, TIGHTEST = 1 << 28, 200  # bytes that any file may decompress to; largest ratio to its size beyond that
FEW_ROWS, DENSEST = 1 << 22, 16  # rows that any file may have; most rows per byte beyond that (ours have two)
# Errors that damaged files cause in Arrow, which translates its C++ exceptions.
BROKEN = (pa.ArrowException, OSError, ValueError, RuntimeError, ArithmeticError, LookupError, TypeError, MemoryError)
LONGEST_LINE = 1 << 26  # bytes: a line may be a whole episode


def refuse_rows(path: Path, rows: int) -> None:
    """Refuse more rows than a file of its size can have."""
    if rows > max(FEW_ROWS, DENSEST * (size := path.stat().st_size)):
        raise LogError(f"{path}: its metadata claims {rows:,} rows in {size:,} bytes. Export it again.")


def refuse_unpacked(path: Path, unpacked: int) -> None:
    """Refuse a file that decompresses to more bytes than plausible."""
    if unpacked > max(ROOMY, TIGHTEST * (size := path.stat().st_size)):
        raise LogError(
            f"{path}: its {size:,} bytes decompress to more than {TIGHTEST} times as many, which no log does. "
            "Decompress it yourself if you trust it."
        )


def is_packed(path: Path) -> bool:
    """Return whether the name of a file says that it is compressed."""
    return path.name.lower().endswith(".gz")


def opened(path: Path) -> IO[bytes]:
    """Open a file as bytes; a compressed one is decompressed while reading."""
    return io.BufferedReader(_Unpacking(path), 1 << 18) if is_packed(path) else path.open("rb")


def refuse_bomb(path: Path) -> None:
    """Refuse a compressed file that decompresses to too many bytes, before it is parsed."""
    if is_packed(path):
        with opened(path) as file:
            while file.read(1 << 20):
                pass


def lines(file: IO[Any], path: Path) -> Iterator[Any]:
    """Yield the lines of a file; refuse one that is longer than any log has."""
    for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), file.read(0)), 1):
        if len(line) == LONGEST_LINE:
            raise LogError(f"{path}, row {number}: the line is longer than {LONGEST_LINE >> 20} MiB. Divide it.")
        yield line


class _Unpacking(io.RawIOBase):
    """A compressed file that is refused once it decompresses to too many bytes."""

    def __init__(self, path: Path) -> None:
        self._path, self._file, self._size = path, gzip.GzipFile(path), 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        got = self._file.readinto(buffer)
        self._size += got
        refuse_unpacked(self._path, self._size)
        return got

    def close(self) -> None:
        self._file.close()
        super().close()
