"""The files of a log as their format reads them: what they hold, and their rows in batches.

A format that implements `LogFiles` is read in pieces if a log is larger than memory (`datasets`, `pieces`). Text files
are read in chunks of whole lines; their column types are decided over all files before the first batch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import ClassVar, NamedTuple

import pyarrow as pa

from suffice.data.logs.limits import LONGEST_LINE, opened
from suffice.errors import LogError

CHUNK = 1 << 22  # bytes of a text file that are parsed at a time
LONGEST_CELL = 1 << 24  # bytes in which the quotes of a cell are closed


class Unit(NamedTuple):
    """A part of a file where reading can begin: a row group, a record batch, or the whole file."""

    file: int
    group: int
    first: int  # its first row in the whole log
    rows: int
    values: int  # approximate number of decisions, which exceeds the rows if a row is an episode


class LogFiles(ABC):
    """The files of a log in one format; `width`, `decisions` and `loaded` are found without reading all columns."""

    by_column: ClassVar[bool] = False  # whether single columns can be read at the cost of their size

    def __init__(self, files: Sequence[Path], text: Collection[str]) -> None:
        self.files, self.text = tuple(files), tuple(text)

    @property
    @abstractmethod
    def width(self) -> int:
        """Number of columns of each file."""

    @property
    @abstractmethod
    def decisions(self) -> int:
        """Approximate number of decisions of all files."""

    @property
    @abstractmethod
    def loaded(self) -> int:
        """Approximate memory of all files, if they are read as a whole and not column by column."""

    @property
    def largest(self) -> int:
        """Bytes that are in memory at once even in batches, beside their rows."""
        return 0

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns and types that all files share; files that differ are refused."""

    @property
    @abstractmethod
    def units(self) -> tuple[Unit, ...]:
        """The parts of all files, in order."""

    @abstractmethod
    def batches(self, file: int, groups: Sequence[int], columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Yield some columns of consecutive units of a file in batches, valid and of at most about `rows` rows."""

    def column(self, file: int, name: str) -> pa.ChunkedArray:
        """Return one column of a file."""
        groups = [unit.group for unit in self.units if unit.file == file]
        parts = [table.column(name) for table in self.batches(file, groups, [name], LONGEST_LINE)]
        empty = self.schema.empty_table().column(name)
        return pa.chunked_array([chunk for part in parts for chunk in part.chunks], empty.type)

    def row_name(self, file: int, row: int) -> str:
        """Return the number of a row to show to a user."""
        return str(row + 1)


class TextFiles(LogFiles):
    """Files of lines, possibly compressed by gzip; each file is one unit."""

    @cached_property
    def _counts(self) -> tuple[int, int, int]:
        """The bytes, lines and commas of all files."""
        counts = dict.fromkeys((b"\n", b"\r", b","), 0)
        size = 0
        for file in self.files:
            with opened(file) as text:
                while block := text.read(CHUNK):
                    size += len(block)
                    for mark in counts:
                        counts[mark] += block.count(mark)
        return size, len(self.files) + max(counts[b"\n"], counts[b"\r"]), counts[b","]

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """One unit for each file."""
        rows, total = self._rows, max(sum(self._rows), 1)
        firsts = [sum(rows[:i]) for i in range(len(rows))]
        values = self.decisions / total
        return tuple(
            Unit(i, 0, first, n, max(n, int(n * values))) for i, (first, n) in enumerate(zip(firsts, rows, strict=True))
        )

    @property
    @abstractmethod
    def _rows(self) -> Sequence[int]:
        """The number of rows of each file."""


def chunks(path: Path, quote: bytes = b"") -> Iterator[bytes]:
    """Yield a text file in chunks that end with a line; a line end between two quotes is part of a cell."""
    kept = b""
    with opened(path) as file:
        while block := file.read(CHUNK):
            kept += block
            if end := _last_line_end(kept, quote):
                yield kept[:end]
                kept = kept[end:]
            elif len(kept) > LONGEST_LINE:
                raise LogError(f"{path}: a line is longer than {LONGEST_LINE >> 20} MiB. Divide it.")
    if kept:
        yield kept


def _last_line_end(text: bytes, quote: bytes) -> int:
    """Return the position after the last line of a text, as far as it is complete; 0 if no line is."""
    last = end = max(text.rfind(b"\n"), text.rfind(b"\r")) + 1
    if quote:
        open_quotes = text.count(quote, 0, end) % 2
        while end and open_quotes:
            before = max(text.rfind(b"\n", 0, end - 1), text.rfind(b"\r", 0, end - 1)) + 1
            open_quotes ^= text.count(quote, before, end) % 2
            end = before
    return end or (last if len(text) > LONGEST_CELL else 0)  # a quote that does not close is part of a cell


def refuse_difference(files: Sequence[Path], schemas: Sequence[pa.Schema]) -> None:
    """Refuse files whose columns or types differ from those of the first file."""
    for file, schema in zip(files, schemas, strict=True):
        if not schema.equals(schemas[0]):
            raise LogError(
                f"{file}: its columns differ from those of {files[0].name} ({_difference(schemas[0], schema)}). Write "
                "both with the same columns, or move one elsewhere."
            )


def _difference(one: pa.Schema, other: pa.Schema) -> str:
    for name in dict.fromkeys([*one.names, *other.names]):
        kinds = [str(s.field(name).type) if s.get_field_index(name) >= 0 else "missing" for s in (one, other)]
        if kinds[0] != kinds[1]:
            return f"{name!r} is {kinds[1]} here and {kinds[0]} there"
    return "their order differs"
