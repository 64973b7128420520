"""CSV files, whose types are inferred; columns that look like dates or times stay text.

Arrow reads integers from 2⁶³ on, and integers beside fractions, as floats, of which different integers may be one. Such
columns are read again as text.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from csv import Error as CsvError
from csv import reader as csv_reader
from decimal import Decimal
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from suffice.data.encoding.tables import EXACT, LogTable, exact_number, has_large, refuse_columns
from suffice.data.logs.arrays import first_line
from suffice.data.logs.formats import LogFormat
from suffice.data.logs.limits import BROKEN, lines, opened, refuse_bomb
from suffice.errors import LogError


class Csv(LogFormat):
    """The log format of CSV files, possibly compressed by gzip."""

    name: ClassVar[str] = "csv"
    title: ClassVar[str] = "CSV"
    suffixes: ClassVar[tuple[str, ...]] = (".csv", ".csv.gz")
    keeps_types: ClassVar[bool] = False

    def open(self, path: Path, text: Collection[str]) -> LogTable:
        """Open a file; the columns `text` are text even if they look like numbers."""
        return _open_csv(path, text)

    def writer(self, sink: Any, schema: pa.Schema) -> Any:
        """Return a writer of a CSV file."""
        return pacsv.CSVWriter(sink, schema)

    def read_back(self, table: pa.Table) -> pa.Table:
        """Return the table as it is read after writing, with inferred types."""
        buffer = pa.BufferOutputStream()
        pacsv.write_csv(table, buffer)
        return parse_csv(lambda: pa.BufferReader(buffer.getvalue()))


CSV = Csv()


def _open_csv(path: Path, text: Collection[str]) -> LogTable:
    _, header = next(_csv_records(path), (0, []))
    if not header:
        raise LogError(f"{path}: the file is empty. Write a header and one row per decision.")
    if any("\0" in name or "\ufffd" in name for name in header):
        raise LogError(f"{path}, row 1: the header is not UTF-8 text. Save the file as UTF-8.")
    refuse_columns(path, len(header))
    try:
        refuse_bomb(path)
        table = parse_csv(lambda: str(path), text)
    except BROKEN as error:
        problem = _ragged_row(path, len(header)) or f": this is not a CSV file ({first_line(error)}). Export it again."
        raise LogError(f"{path}{problem}") from error
    return LogTable.of(table, str(path), lambda row: _csv_line(path, row))


def parse_csv(source: Callable[[], Any], text: Collection[str] = ()) -> pa.Table:
    """Parse a CSV; columns that look like dates or times, and numbers that are not exact as floats, stay text."""

    def parse(text: Collection[str]) -> pa.Table:
        types = {name: pa.binary() for name in text}  # not string, because `plain` names the row that is not UTF-8
        options = pacsv.ConvertOptions(column_types=types, auto_dict_encode=True, auto_dict_max_cardinality=1000)
        return pacsv.read_csv(source(), convert_options=options)

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
    texts = pc.utf8_trim_whitespace(cells.cast(pa.string()))
    texts = pc.if_else(pc.is_null(floats), pa.scalar(None, pa.string()), texts)
    with suppress(pa.ArrowInvalid):
        return texts.cast(pa.uint64())
    large = pc.fill_null(pc.and_(pc.greater_equal(pc.abs(floats), float(EXACT)), pc.is_finite(floats)), False)
    known: dict[float, int | Decimal | None] = {}
    for text in pc.unique(texts.filter(large)).to_pylist():
        if known.setdefault(float(text), exact_number(text)) != exact_number(text):
            return texts
    return floats


def _csv_records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of every row but blank ones; slow, and used for error messages only."""
    with opened(path) as file, io.TextIOWrapper(file, "utf-8", errors="replace", newline="") as text:
        reader = csv_reader(lines(text, path))
        with suppress(CsvError):
            yield from ((reader.line_num, record) for record in reader if record)


def _csv_line(path: Path, row: int) -> str:
    return str(next((line for i, (line, _) in enumerate(_csv_records(path)) if i == row + 1), row + 2))


def _ragged_row(path: Path, width: int) -> str | None:
    """Return the message about the first row whose number of cells differs from the header."""
    for line, record in _csv_records(path):
        if len(record) != width:
            return f", row {line}: {len(record)} cells, but the header has {width}. Correct or remove the row."
    return None
