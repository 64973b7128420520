"""Logs in one or many Parquet files, opened as a table or read in batches.

A folder or a pattern with `*` names several files. They form one log, in the order of their names, and an episode may
continue in the next file. A log that is read in pieces is never in memory as a whole; the rows of an episode must then
be contiguous, which a first pass over the ids checks (`pieces`).
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

BUFFER = 1 << 20  # bytes of a column that are read at a time, because a row group may be as large as the log


class Unit(NamedTuple):
    """One row group of a file."""

    file: int
    group: int
    first: int  # its first row in the whole log
    rows: int
    values: int  # approximate number of decisions, which exceeds the rows if a row is an episode


@dataclass(frozen=True)
class Dataset:
    """A log in one or several Parquet files."""

    name: str
    files: tuple[Path, ...]

    @classmethod
    def of(cls, source: object) -> Dataset | None:
        """Return the Parquet files that a path, folder or pattern names; None if it names something else."""
        if not isinstance(source, str | Path):
            return None
        path, name = Path(source), str(source)
        if path.is_dir():
            found = list(_logs_in(path, suffixes_in_pieces()))
            if not found:
                first = min(_logs_in(path, all_suffixes()), default=None)
                fix = f"Pass the log in it, {first}." if first else "Pass a file, or another folder."
                raise LogError(f"{name}: there is no Parquet file in this folder. {fix}")
            return cls(name, tuple(sorted(found, key=_by_numbers)))
        if has_magic(name) and not path.exists():
            found = [Path(file) for file in glob(name, recursive=True) if Path(file).is_file()]
            if not found:
                raise LogError(
                    f"{name}: no file matches this pattern. Check the pattern and its quotes, or pass a folder."
                )
            if other := [file for file in found if not _in_pieces(file)]:
                raise LogError(
                    f"{other[0]}: only Parquet files can be combined by a pattern. Pass the files one by one."
                )
            return cls(name, tuple(sorted(found, key=_by_numbers)))
        return cls(name, (path,)) if _in_pieces(path) and path.is_file() else None

    @cached_property
    def _stamps(self) -> dict[Path, tuple[int, int, int]]:
        """The identity of each file when it was opened first."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the stamps, which differ between machines."""
        return {name: value for name, value in self.__dict__.items() if name != "_stamps"}

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema that all files share."""
        first, *others = (self._open(file).schema_arrow for file in self.files)
        for file, schema in zip(self.files[1:], others, strict=True):
            if not schema.equals(first):
                raise LogError(
                    f"{file}: its columns differ from those of {self.files[0].name} ({_difference(first, schema)}). "
                    "Write both with the same columns, or move one elsewhere."
                )
        return first

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """All row groups of all files, in order."""
        found: list[Unit] = []
        first, nested = 0, any(pa.types.is_nested(field.type) for field in self.schema)
        for i, file in enumerate(self.files):
            about = self._open(file).metadata
            for group in range(about.num_row_groups):
                part = about.row_group(group)
                # Arrow 26 aborts the process on damaged statistics of a column, so they are not read. Where a row may
                # be an episode, the number of bytes stands for the number of values.
                values = part.total_byte_size // max(part.num_columns, 1) if nested else 0
                found.append(Unit(i, group, first, part.num_rows, max(part.num_rows, values)))
                first += part.num_rows
        return tuple(found)

    @property
    def rows(self) -> int:
        """Number of rows of all files."""
        return sum(unit.rows for unit in self.units)

    @property
    def decisions(self) -> int:
        """Approximate number of decisions of all files."""
        return sum(unit.values for unit in self.units)

    def place(self, row: int) -> str:
        """Return the row number to show to a user, with the file if there are several."""
        if len(self.files) == 1:
            return str(row + 1)
        unit = next(unit for unit in reversed(self.units) if unit.first <= row)
        before = next(other.first for other in self.units if other.file == unit.file)
        return f"{row - before + 1} of {self.files[unit.file].name}"

    def table(self) -> LogTable:
        """Open all rows as a table, whose columns are read on demand."""

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
                    raise LogError(
                        f"{file}, column {name!r}: only {len(found):,} of {rows:,} rows. Export the file again."
                    )
                self._refuse_if_changed(file)
                parts += settled(found).chunks
            return pa.chunked_array(parts) if parts else settled(self.schema.empty_table().column(name))

        empty = LogTable.of(self.schema.empty_table(), self.name, self.place)
        return replace(empty, rows=self.rows, column=column)

    def batches(self, begin: int, end: int, columns: Sequence[str], rows: int) -> Iterator[tuple[int, pa.Table]]:
        """Yield the rows of units begin..end−1 in batches of at most `rows`, each with the number of its first row."""
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
                raise LogError(f"{file}: there are fewer rows than its metadata states. Export it again.")

    def _refuse_if_changed(self, file: Path) -> None:
        """Refuse a file that changed, because a log is read in several passes."""
        try:
            found = file.stat()
        except OSError as error:
            raise LogError(
                f"{file}: the file cannot be read ({error.strerror}). Check the file and its permissions."
            ) from error
        stamp = found.st_ino, found.st_size, found.st_mtime_ns
        if self._stamps.setdefault(file, stamp) != stamp:
            raise LogError(f"{file}: the file changed while it was read. Read it again once it is complete.")

    def _open(self, file: Path, buffer: int = 0) -> pq.ParquetFile:
        self._refuse_if_changed(file)
        try:
            about = pq.read_metadata(file)
            refuse_columns(file, about.num_columns)
            refuse_rows(file, about.num_rows)
            # Parquet stores text as codes and a dictionary; keep this form instead of a string per row.
            text = [field.name for field in about.schema.to_arrow_schema() if _is_text(field.type)]
            # With pre_buffer, Arrow 26 would keep the whole file in memory until its last row is read.
            return pq.ParquetFile(file, metadata=about, read_dictionary=text, buffer_size=buffer, pre_buffer=False)
        except OSError as error:
            raise LogError(
                f"{file}: the file cannot be read ({first_line(error)}). Check the file and its permissions."
            ) from error
        except BROKEN as error:
            raise LogError(f"{file}: this is not a Parquet file ({first_line(error)}). Export it again.") from error


def _in_pieces(file: Path) -> bool:
    return file.name.lower().endswith(suffixes_in_pieces())


def files_of(source: str) -> tuple[str | Path, ...]:
    """Return the files of a log, or its name if it is not in Parquet files."""
    dataset = Dataset.of(source)
    return (source,) if dataset is None else dataset.files


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())


def _first_broken(opened: pq.ParquetFile, groups: list[int], columns: Sequence[str], rows: int) -> str:
    """Return the first column that cannot be read."""
    for name in columns:
        try:
            for batch in opened.iter_batches(rows, row_groups=groups, columns=[name], use_threads=False):
                batch.validate(full=True)
        except BROKEN:
            return name
    return ", ".join(columns)


def _unreadable(file: Path, name: str, error: Exception) -> LogError:
    return LogError(f"{file}, column {name!r}: it cannot be read ({first_line(error)}). Export the file again.")


def _logs_in(folder: Path, suffixes: tuple[str, ...]) -> Iterator[Path]:
    """Yield the logs in a folder; names that begin with a dot or an underscore belong to other programs."""
    for file in folder.rglob("*"):
        hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
        if not hidden and file.name.lower().endswith(suffixes) and file.is_file():
            yield file


def _by_numbers(file: Path) -> list[tuple[int, int, str]]:
    """Return a sort key by which part-2 comes before part-10."""
    parts = re.split(r"([0-9]+)", str(file))
    keys = [(1, int(part), "") if i % 2 else (0, 0, part) for i, part in enumerate(parts)]
    return [*keys, (2, 0, str(file))]  # distinguishes part-1 from part-01


def _difference(one: pa.Schema, other: pa.Schema) -> str:
    for name in dict.fromkeys([*one.names, *other.names]):
        kinds = [str(s.field(name).type) if s.get_field_index(name) >= 0 else "missing" for s in (one, other)]
        if kinds[0] != kinds[1]:
            return f"{name!r} is {kinds[1]} here and {kinds[0]} there"
    return "their order differs"
