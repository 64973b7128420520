"""CSV files, and those with tabs instead of commas. Types are inferred; what looks like dates or times stays text."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.csv as pacsv

from suffice.data.encoding.tables import LogTable, has_large
from suffice.data.logs.csv_batches import CsvFiles
from suffice.data.logs.csv_cells import (
    BOOLEANS,
    TABS,
    LargeNumbers,
    as_unsigned,
    delimiter_of,
    header_of,
    line_of,
    numbers_as_text,
    unreadable,
)
from suffice.data.logs.formats import LogFormat
from suffice.data.logs.limits import BROKEN, refuse_bomb


class Csv(LogFormat):
    """The log format of CSV files, possibly compressed by gzip."""

    delimiter: ClassVar[str] = ","

    name: ClassVar[str] = "csv"
    title: ClassVar[str] = "CSV"
    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".csv.gz")
    keeps_types: ClassVar[bool] = False

    def open(self, path: Path, text: Collection[str]) -> LogTable:
        """Open a file; the columns `text` are text even if they look like numbers."""
        return _open_csv(path, text)

    def files(self, paths: Sequence[Path], text: Collection[str]) -> CsvFiles:
        """Return the files, whose column types are decided over all of their rows."""
        return CsvFiles(paths, text)

    def writer(self, sink: Any, schema: pa.Schema) -> Any:
        """Return a writer of a CSV file."""
        return pacsv.CSVWriter(sink, schema, write_options=pacsv.WriteOptions(delimiter=self.delimiter))

    def read_back(self, table: pa.Table) -> pa.Table:
        """Return the table as it is read after writing, with inferred types."""
        buffer = pa.BufferOutputStream()
        pacsv.write_csv(table, buffer)
        return parse_csv(lambda: pa.BufferReader(buffer.getvalue()))


class Tsv(Csv):
    """The log format of files with one row per line, whose cells are separated by tabs."""

    name: ClassVar[str] = "tsv"
    title: ClassVar[str] = "TSV"
    suffixes: ClassVar[tuple[str, ...]] = TABS
    delimiter: ClassVar[str] = "\t"


CSV, TSV = Csv(), Tsv()


def _open_csv(path: Path, text: Collection[str]) -> LogTable:
    header = header_of(path)
    try:
        refuse_bomb(path)
        table = parse_csv(lambda: str(path), text, delimiter_of(path))
    except (MemoryError, pa.ArrowMemoryError) as error:
        raise MemoryError from error
    except BROKEN as error:
        raise unreadable(path, len(header), error) from error
    return LogTable.of(table, str(path), lambda row: line_of(path, row))


def parse_csv(source: Callable[[], Any], text: Collection[str] = (), delimiter: str = ",") -> pa.Table:
    """Parse a CSV; columns that look like dates or times, and numbers that are not exact as floats, stay text."""

    def parse(text: Collection[str]) -> pa.Table:
        types = {name: pa.binary() for name in text}  # not string, because `plain` names the row that is not UTF-8
        options = pacsv.ConvertOptions(
            column_types=types, auto_dict_encode=True, auto_dict_max_cardinality=1000, **BOOLEANS
        )
        # Without this, Arrow may end a block at a line end within a cell, and misread the cell without an error.
        lines = pacsv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        return pacsv.read_csv(source(), parse_options=lines, convert_options=options)

    table = parse(text)
    dates = [field.name for field in table.schema if pa.types.is_temporal(field.type)]
    numbers = [field.name for field in table.schema if pa.types.is_floating(field.type)]
    large = [name for name in numbers if table.column_names.count(name) == 1 and has_large(table.column(name))]
    if not dates and not large:
        return table
    again = parse([*text, *dates, *large])
    for name in large:
        exact = _exact_column(table.column(name), again.column(name))
        again = again.set_column(again.column_names.index(name), name, exact)
    return again


def _exact_column(floats: pa.ChunkedArray, cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return integers if all cells are integers of 64 bits, text if different numbers are one float, else floats."""
    texts = numbers_as_text(floats, cells)
    if (integers := as_unsigned(texts)) is not None:
        return integers
    return texts if LargeNumbers().merge(floats, texts) else floats
