"""How much a log file may hold: what unpacks to far more than its size, or is wider or longer than any log, is refused.

A packed file of a kilobyte can say that it holds a terabyte. Honest logs are some ten times larger than their packed
files, a hundred times at most, so a file is taken at its word only up to a multiple of its size.
"""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pyarrow as pa

from suffice.errors import LogError

ROOMY, TIGHTEST = 1 << 28, 200  # bytes that any file may unpack to, and times its own size that a larger one may
FEW_ROWS, DENSEST = 1 << 22, 16  # rows that any file may have, and rows a byte; ours have two
# What files that are damaged set off in Arrow, which is written in C++ and has its exceptions translated.
BROKEN = (pa.ArrowException, OSError, ValueError, RuntimeError, ArithmeticError, LookupError, TypeError, MemoryError)
LONGEST_LINE = 1 << 26  # bytes: a line may be a whole episode


def refuse_rows(path: Path, rows: int) -> None:
    """More than a file of its size has."""
    if rows > max(FEW_ROWS, DENSEST * (size := path.stat().st_size)):
        raise LogError(f"{path}: its {size:,} bytes are said to hold {rows:,} rows; export it again")


def refuse_unpacked(path: Path, unpacked: int) -> None:
    """More than a file of its size unpacks to."""
    if unpacked > max(ROOMY, TIGHTEST * (size := path.stat().st_size)):
        told = f"its {size:,} bytes unpack to more than {TIGHTEST} times as many, as no log does"
        raise LogError(f"{path}: {told}; unpack it yourself if you trust it")


def is_packed(path: Path) -> bool:
    """By its name."""
    return path.name.lower().endswith(".gz")


def opened(path: Path) -> IO[bytes]:
    """A file as bytes, unpacked on the way."""
    return io.BufferedReader(_Unpacking(path), 1 << 18) if is_packed(path) else path.open("rb")


def refuse_bomb(path: Path) -> None:
    """A packed file that is not worth parsing."""
    if is_packed(path):
        with opened(path) as file:
            while file.read(1 << 20):
                pass


def lines(file: IO[Any], path: Path) -> Iterator[Any]:
    """One after the other, none longer than any log has."""
    for number, line in enumerate(iter(lambda: file.readline(LONGEST_LINE), file.read(0)), 1):
        if len(line) == LONGEST_LINE:
            raise LogError(f"{path}: row {number} is longer than {LONGEST_LINE >> 20} MiB; break it up")
        yield line


class _Unpacking(io.RawIOBase):
    """A packed file, until it is more than there can be in it."""

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
