"""Parquet files, whose columns are read one at a time, and in batches from each row group."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq

from suffice.data.encoding.tables import FileError, LogTable, refuse_columns
from suffice.data.logs.arrays import first_line
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.formats import LogFormat
from suffice.data.logs.limits import BROKEN, refuse_rows
from suffice.data.logs.log_files import LogFiles, Unit, refuse_difference
from suffice.errors import LogError

BUFFER = 1 << 20  # bytes of a column that are read at a time, because a row group may be as large as the log


class Parquet(LogFormat):
    """The log format of Parquet files."""

    name: ClassVar[str] = "parquet"
    title: ClassVar[str] = "Parquet"
    suffixes: ClassVar[tuple[str, ...]] = (".parquet", ".pq")
    on_workers: ClassVar[bool] = True

    def open(self, path: Path, text: Collection[str]) -> LogTable:
        """Open a file; its values have types."""
        return Dataset(str(path), (path,)).table()

    def files(self, paths: Sequence[Path], text: Collection[str]) -> LogFiles:
        """Return the row groups of files."""
        return ParquetFiles(paths, text)

    def writer(self, sink: Any, schema: pa.Schema) -> Any:
        """Return a writer of a Parquet file."""
        counted = dict.fromkeys(("episode", "step"), "DELTA_BINARY_PACKED")  # ascending, so that differences are small
        values = [name for name in schema.names if name not in counted]
        return pq.ParquetWriter(sink, schema, compression="zstd", use_dictionary=values, column_encoding=counted)


PARQUET = Parquet()


class ParquetFiles(LogFiles):
    """The row groups of Parquet files."""

    by_column: ClassVar[bool] = True
    loaded = 0

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema that all files share."""
        schemas = [_open(file).schema_arrow for file in self.files]
        refuse_difference(self.files, schemas)
        return schemas[0]

    @property
    def width(self) -> int:
        """Number of columns of each file."""
        return len(self.schema.names)

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """All row groups of all files, in order."""
        found: list[Unit] = []
        first, nested = 0, any(pa.types.is_nested(field.type) for field in self.schema)
        for i, file in enumerate(self.files):
            about = _open(file).metadata
            for group in range(about.num_row_groups):
                part = about.row_group(group)
                # Arrow 26 aborts the process on damaged statistics of a column, so they are not read. Where a row may
                # be an episode, the number of bytes stands for the number of values.
                values = part.total_byte_size // max(part.num_columns, 1) if nested else 0
                found.append(Unit(i, group, first, part.num_rows, max(part.num_rows, values)))
                first += part.num_rows
        return tuple(found)

    @property
    def decisions(self) -> int:
        """Approximate number of decisions of all files."""
        return sum(unit.values for unit in self.units)

    def column(self, file: int, name: str) -> pa.ChunkedArray:
        """Return one column of a file."""
        opened = _open(self.files[file])
        try:
            found = opened.read(columns=[name]).column(name)
            found.validate(full=True)
        except pa.ArrowMemoryError as error:
            raise MemoryError from error
        except BROKEN as error:
            raise _unreadable(self.files[file], name, error) from error
        if len(found) != (rows := opened.metadata.num_rows):
            raise FileError(
                f"{self.files[file]}, column {name!r}: only {len(found):,} of {rows:,} rows. Export the file again."
            )
        return found

    def batches(self, file: int, groups: Sequence[int], columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Yield the rows of some row groups."""
        opened = _open(self.files[file], BUFFER)
        try:
            for batch in opened.iter_batches(rows, row_groups=groups, columns=list(columns), use_threads=False):
                table = pa.Table.from_batches([batch])
                table.validate(full=True)
                yield table
        except pa.ArrowMemoryError as error:
            raise MemoryError from error
        except BROKEN as error:
            raise _unreadable(self.files[file], _first_broken(opened, groups, columns, rows), error) from error


def _open(file: Path, buffer: int = 0) -> pq.ParquetFile:
    try:
        about = pq.read_metadata(file)
        refuse_columns(file, about.num_columns)
        refuse_rows(file, about.num_rows)
        # Parquet stores text as codes and a dictionary; keep this form instead of a string per row.
        text = [field.name for field in about.schema.to_arrow_schema() if _is_text(field.type)]
        # With pre_buffer, Arrow 26 would keep the whole file in memory until its last row is read.
        return pq.ParquetFile(file, metadata=about, read_dictionary=text, buffer_size=buffer, pre_buffer=False)
    except OSError as error:
        raise FileError(
            f"{file}: the file cannot be read ({first_line(error)}). Check the file and its permissions."
        ) from error
    except BROKEN as error:
        raise FileError(f"{file}: this is not a Parquet file ({first_line(error)}). Export it again.") from error


def _is_text(kind: pa.DataType) -> bool:
    return kind in (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())


def _first_broken(opened: pq.ParquetFile, groups: Sequence[int], columns: Sequence[str], rows: int) -> str:
    """Return the first column that cannot be read."""
    for name in columns:
        try:
            for batch in opened.iter_batches(rows, row_groups=groups, columns=[name], use_threads=False):
                batch.validate(full=True)
        except BROKEN:
            return name
    return ", ".join(columns)


def _unreadable(file: Path, name: str, error: Exception) -> LogError:
    return FileError(f"{file}, column {name!r}: it cannot be read ({first_line(error)}). Export the file again.")
