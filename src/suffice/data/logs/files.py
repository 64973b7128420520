"""Log files: Parquet, Arrow, CSV and JSON lines, each opened as a table of columns."""

from __future__ import annotations

import io
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from csv import Error as CsvError
from csv import reader as csv_reader
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from suffice.data.encoding.tables import Table, refuse_columns
from suffice.data.logs.arrays import first_line
from suffice.data.logs.arrow_files import open_arrow
from suffice.data.logs.datasets import KINDS, Dataset
from suffice.data.logs.json_files import open_json
from suffice.data.logs.limits import BROKEN, lines, opened, refuse_bomb
from suffice.errors import LogError
from suffice.files.atomic import name_beside


def format_of(path: Path) -> str:
    """`parquet`, `arrow`, `csv` or `json`, by the suffix."""
    for suffix, kind in KINDS.items():
        if path.name.lower().endswith(suffix):
            return kind
    raise LogError(f"{path}: a log is a Parquet, Arrow, CSV or JSON lines file; name it {', '.join(KINDS)}")


def open_file(path: Path, text: Collection[str] = ()) -> Table:
    """Open a log; in a CSV the columns `text` are text even where they look like numbers."""
    try:
        if (dataset := Dataset.of(path)) is not None and (dataset.files != (path,) or path.stat().st_size):
            return dataset.table()
        if not path.exists():
            raise LogError(f"{path}: there is no such file{name_beside(path)}")
        kind = format_of(path)
        if path.stat().st_size == 0:
            raise LogError(f"{path}: the file is empty; a log has a header and one row per decision")
        if kind == "csv":
            return _open_csv(path, text)
        return open_arrow(path) if kind == "arrow" else open_json(path)
    except (*BROKEN, EOFError, zlib.error) as error:
        raise LogError(f"{path}: the file cannot be read ({first_line(error)}); copy or export it again") from error


# ---------------------------------------------------------------- CSV


def _open_csv(path: Path, text: Collection[str]) -> Table:
    _, header = next(_csv_records(path), (0, []))
    if not header:
        raise LogError(f"{path}: the file is empty; a log has a header and one row per decision")
    if any("\0" in name or "\ufffd" in name for name in header):
        raise LogError(f"{path}: row 1: the header is not UTF-8 text; save the file as UTF-8")
    refuse_columns(path, len(header))
    try:
        refuse_bomb(path)
        table = parse_csv(lambda: str(path), text)
    except BROKEN as error:
        fault = _ragged_row(path, len(header)) or f"this is not a CSV file ({first_line(error)}); export it again"
        raise LogError(f"{path}: {fault}") from error
    return Table.of(table, str(path), lambda row: _csv_line(path, row))


def parse_csv(source: Callable[[], Any], text: Collection[str] = ()) -> pa.Table:
    """A CSV as a table; columns that look like dates or times stay the text they are."""

    def parse(text: Collection[str]) -> pa.Table:
        types = {name: pa.binary() for name in text}  # not string: `plain` says which row is no UTF-8
        options = pacsv.ConvertOptions(column_types=types, auto_dict_encode=True, auto_dict_max_cardinality=1000)
        return pacsv.read_csv(source(), convert_options=options)

    table = parse(text)
    dates = [field.name for field in table.schema if pa.types.is_temporal(field.type)]
    return parse([*text, *dates]) if dates else table


def _csv_records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of every row, blank lines left out: slow, for the sake of a good complaint only."""
    with opened(path) as file, io.TextIOWrapper(file, "utf-8", errors="replace", newline="") as text:
        reader = csv_reader(lines(text, path))
        with suppress(CsvError):
            yield from ((reader.line_num, record) for record in reader if record)


def _csv_line(path: Path, row: int) -> str:
    return str(next((line for i, (line, _) in enumerate(_csv_records(path)) if i == row + 1), row + 2))


def _ragged_row(path: Path, width: int) -> str | None:
    for line, record in _csv_records(path):
        if len(record) != width:
            return f"row {line} has {len(record)} cells, but the header has {width}; mend or remove the row"
    return None
