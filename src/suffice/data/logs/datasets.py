"""Parquet files, one or many, as one log: opened as a table, or gone through in pieces of whole episodes.

A folder or a pattern with `*` names several files; they are one log, in the order of their names, and an episode may go
on from one file to the next. Read in pieces, a log never is in memory as a whole; its episodes must then lie together,
row by row, which a first pass over their ids makes sure of.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from glob import glob, has_magic
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from suffice.data.encoding.tables import LogTable, refuse_columns, settled
from suffice.data.logs.arrays import first_line
from suffice.data.logs.formats import all_suffixes, suffixes_in_pieces
from suffice.data.logs.limits import BROKEN, refuse_rows
from suffice.errors import LogError

BUFFER = 1 << 20  # bytes of a column at a time, where a row group may be as large as the log


class Unit(NamedTuple):
    """A row group."""

    file: int
    group: int
    first: int  # its first row in the whole log
    rows: int
    values: int  # about so many in a column: decisions, even where a row is an episode


@dataclass(frozen=True)
class Dataset:
    """A log in Parquet files."""

    name: str
    files: tuple[Path, ...]

    @classmethod
    def of(cls, source: object) -> Dataset | None:
        """What a path names, unless it is something else than Parquet."""
        if not isinstance(source, str | Path):
            return None
        path, name = Path(source), str(source)
        if path.is_dir():
            found = list(_logs_in(path, suffixes_in_pieces()))
            if not found:
                first = min(_logs_in(path, all_suffixes()), default=None)
                seen = f"; {first.name} is a log by itself: name it" if first else "; name a file, or another folder"
                raise LogError(f"{name}: there is no Parquet file in this folder{seen}")
            return cls(name, tuple(sorted(found, key=_by_numbers)))
        if has_magic(name) and not path.exists():
            found = [Path(file) for file in glob(name, recursive=True) if Path(file).is_file()]
            if not found:
                raise LogError(f"{name}: no file has such a name; put the pattern in quotes, or name a folder")
            if other := [file for file in found if not _in_pieces(file)]:
                raise LogError(f"{other[0]}: several files make one log if they are Parquet; name them one by one")
            return cls(name, tuple(sorted(found, key=_by_numbers)))
        return cls(name, (path,)) if _in_pieces(path) and path.is_file() else None

    @cached_property
    def _stamps(self) -> dict[Path, tuple[int, int, int]]:
        """What files were when they were opened first."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Without the stamps: machines see files each in their own way."""
        return {name: value for name, value in self.__dict__.items() if name != "_stamps"}

    @cached_property
    def schema(self) -> pa.Schema:
        """Of all files."""
        first, *others = (self._open(file).schema_arrow for file in self.files)
        for file, schema in zip(self.files[1:], others, strict=True):
            if not schema.equals(first):
                raise LogError(
                    f"{file}: its columns are not those of {self.files[0].name} ({_difference(first, schema)}); write "
                    "both alike, or move one elsewhere"
                )
        return first

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """All row groups, in order."""
        found: list[Unit] = []
        first, nested = 0, any(pa.types.is_nested(field.type) for field in self.schema)
        for i, file in enumerate(self.files):
            about = self._open(file).metadata
            for group in range(about.num_row_groups):
                part = about.row_group(group)
                # What a damaged file says of a column ends the process, unless the column is read: Arrow 26 lets the
                # exception pass. So where a row may be an episode, a byte is taken for a value.
                values = part.total_byte_size // max(part.num_columns, 1) if nested else 0
                found.append(Unit(i, group, first, part.num_rows, max(part.num_rows, values)))
                first += part.num_rows
        return tuple(found)

    @property
    def rows(self) -> int:
        """Of all files together."""
        return sum(unit.rows for unit in self.units)

    @property
    def decisions(self) -> int:
        """About so many."""
        return sum(unit.values for unit in self.units)

    def place(self, row: int) -> str:
        """By which a person finds a row."""
        if len(self.files) == 1:
            return str(row + 1)
        unit = next(unit for unit in reversed(self.units) if unit.first <= row)
        before = next(other.first for other in self.units if other.file == unit.file)
        return f"{row - before + 1} of {self.files[unit.file].name}"

    def table(self) -> LogTable:
        """All rows, whose columns are read when they are asked for."""

        def column(name: str) -> pa.ChunkedArray:
            parts: list[pa.Array] = []
            for file in self.files:
                opened = self._open(file)
                try:
                    found = opened.read(columns=[name]).column(name)
                    found.validate(full=True)
                except pa.ArrowMemoryError as error:
                    raise MemoryError from error
                except BROKEN as error:
                    raise _unreadable(file, name, error) from error
                if len(found) != (rows := opened.metadata.num_rows):
                    raise LogError(f"{file}: column {name!r} has {len(found):,} of {rows:,} rows; export it again")
                self._refuse_if_changed(file)
                parts += settled(found).chunks
            return pa.chunked_array(parts) if parts else settled(self.schema.empty_table().column(name))

        empty = LogTable.of(self.schema.empty_table(), self.name, self.place)
        return replace(empty, rows=self.rows, column=column)

    def batches(self, begin: int, end: int, columns: Sequence[str], rows: int) -> Iterator[tuple[int, pa.Table]]:
        """The rows of units begin..end−1, at most so many at a time, each time with the number of the first."""
        for i, units in groupby(self.units[begin:end], lambda unit: unit.file):
            file, wanted = self.files[i], list(units)
            first, opened = wanted[0].first, self._open(file, BUFFER)
            try:
                groups = [unit.group for unit in wanted]
                for batch in opened.iter_batches(rows, row_groups=groups, columns=list(columns), use_threads=False):
                    table = pa.Table.from_batches([batch])
                    table.validate(full=True)
                    if not len(table):  # row groups may be empty
                        continue
                    yield first, table
                    first += len(table)
            except pa.ArrowMemoryError as error:
                raise MemoryError from error
            except BROKEN as error:
                raise _unreadable(file, _first_broken(opened, groups, columns, rows), error) from error
            self._refuse_if_changed(file)
            if first != wanted[-1].first + wanted[-1].rows:
                raise LogError(f"{file}: it has fewer rows than it says; export it again")

    def _refuse_if_changed(self, file: Path) -> None:
        """A log is gone through several times, and must be the same every time."""
        try:
            found = file.stat()
        except OSError as error:
            raise LogError(f"{file}: the file cannot be read ({error.strerror})") from error
        stamp = found.st_ino, found.st_size, found.st_mtime_ns
        if self._stamps.setdefault(file, stamp) != stamp:
            raise LogError(f"{file}: the file has changed while it was read; run the command again once it is complete")

    def _open(self, file: Path, buffer: int = 0) -> pq.ParquetFile:
        self._refuse_if_changed(file)
        try:
            about = pq.read_metadata(file)
            refuse_columns(file, about.num_columns)
            refuse_rows(file, about.num_rows)
            # Parquet stores text as codes and a dictionary already: keep it so, instead of a string per row.
            text = [field.name for field in about.schema.to_arrow_schema() if _is_text(field.type)]
            # Arrow 26 would keep all that it has read ahead until the last row was read: the whole file.
            return pq.ParquetFile(file, metadata=about, read_dictionary=text, buffer_size=buffer, pre_buffer=False)
        except OSError as error:
            raise LogError(f"{file}: the file cannot be read ({first_line(error)})") from error
        except BROKEN as error:
            raise LogError(f"{file}: this is not a Parquet file ({first_line(error)}); export it again") from error


def _in_pieces(file: Path) -> bool:
    return file.name.lower().endswith(suffixes_in_pieces())


def files_of(source: str) -> tuple[str | Path, ...]:
    """The files of a log, or its name if it is no file."""
    dataset = Dataset.of(source)
    return (source,) if dataset is None else dataset.files


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())


def _first_broken(opened: pq.ParquetFile, groups: list[int], columns: Sequence[str], rows: int) -> str:
    """Of columns that cannot be read together, the one that cannot be read by itself."""
    for name in columns:
        try:
            for batch in opened.iter_batches(rows, row_groups=groups, columns=[name], use_threads=False):
                batch.validate(full=True)
        except BROKEN:
            return name
    return ", ".join(columns)


def _unreadable(file: Path, name: str, error: Exception) -> LogError:
    return LogError(f"{file}: column {name!r} cannot be read ({first_line(error)}); export it again")


def _logs_in(folder: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    """Other programs leave files there that begin with a dot or an underscore."""
    for file in folder.rglob("*"):
        hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
        if not hidden and file.name.lower().endswith(suffixes) and file.is_file():
            yield file


def _by_numbers(file: Path) -> list[tuple[int, int, str]]:
    """part-2 comes before part-10."""
    parts = re.split(r"([0-9]+)", str(file))
    keys = [(1, int(part), "") if i % 2 else (0, 0, part) for i, part in enumerate(parts)]
    return [*keys, (2, 0, str(file))]  # part-1 and part-01 are two


def _difference(one: pa.Schema, other: pa.Schema) -> str:
    for name in dict.fromkeys([*one.names, *other.names]):
        kinds = [str(s.field(name).type) if s.get_field_index(name) >= 0 else "missing" for s in (one, other)]
        if kinds[0] != kinds[1]:
            return f"{name!r} is {kinds[1]}, and {kinds[0]} there"
    return "they come in another order"
