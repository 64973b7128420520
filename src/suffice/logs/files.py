"""Log files: Parquet, Arrow, CSV and JSON lines, each opened as a table of columns."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import suppress
from csv import Error as CsvError
from csv import reader as csv_reader
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import msgspec
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.json as pajson
import pyarrow.parquet as pq

from suffice.errors import LogError
from suffice.files import name_beside
from suffice.logs.tables import Table

KINDS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "csv",
    ".csv.gz": "csv",
    ".jsonl": "json",
    ".jsonl.gz": "json",
    ".ndjson": "json",
    ".json": "json",
}
BLOCK = 1 << 26  # bytes that are parsed together: a line of JSON, which may be a whole episode, must fit


def format_of(path: Path) -> str:
    """`parquet`, `arrow`, `csv` or `json`, by the suffix."""
    for suffix, kind in KINDS.items():
        if path.name.lower().endswith(suffix):
            return kind
    raise LogError(f"{path}: a log is a Parquet, Arrow, CSV or JSON lines file; name it {', '.join(KINDS)}")


def open_file(path: Path, text: Collection[str] = ()) -> Table:
    """Open a log; in a CSV the columns `text` are text even where they look like numbers."""
    if path.is_dir():
        raise LogError(f"{path}: this is a folder; name a file in it")
    if not path.exists():
        raise LogError(f"{path}: there is no such file{name_beside(path)}")
    kind = format_of(path)
    try:
        if path.stat().st_size == 0:
            raise LogError(f"{path}: the file is empty; a log has a header and one row per decision")
        if kind == "csv":
            return _open_csv(path, text)
        return {"parquet": _open_parquet, "arrow": _open_arrow, "json": _open_json}[kind](path)
    except (OSError, EOFError, zlib.error) as error:
        raise LogError(f"{path}: the file cannot be read ({_first_line(error)}); copy or export it again") from error


def _open_parquet(path: Path) -> Table:
    try:
        schema = pq.read_schema(path)
        # Parquet stores text as codes and a dictionary already: keep it so, instead of a string per row.
        text = [field.name for field in schema if pa.types.is_string(field.type)]
        file = pq.ParquetFile(path, read_dictionary=text)
    except pa.ArrowInvalid as error:
        raise LogError(f"{path}: this is not a Parquet file ({_first_line(error)}); export it again") from error

    def column(name: str) -> pa.ChunkedArray:
        try:
            return file.read(columns=[name]).column(name)
        except (pa.ArrowException, OSError) as error:
            raise LogError(f"{path}: column {name!r} cannot be read ({_first_line(error)})") from error

    return replace(Table.of(schema.empty_table(), str(path)), rows=file.metadata.num_rows, column=column)


def _open_arrow(path: Path) -> Table:
    """Arrow's own format, as a file or a stream, mapped rather than read."""
    try:
        with suppress(pa.ArrowInvalid):
            return Table.of(pa.ipc.open_file(pa.memory_map(str(path))).read_all(), str(path))
        return Table.of(pa.ipc.open_stream(pa.memory_map(str(path))).read_all(), str(path))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise LogError(f"{path}: this is not an Arrow file ({_first_line(error)}); export it again") from error


# ---------------------------------------------------------------- CSV


def _open_csv(path: Path, text: Collection[str]) -> Table:
    _, header = next(_csv_records(path), (0, []))
    if not header:
        raise LogError(f"{path}: the file is empty; a log has a header and one row per decision")
    if any("\0" in name or "\ufffd" in name for name in header):
        raise LogError(f"{path}: row 1: the header is not UTF-8 text; save the file as UTF-8")
    try:
        table = parse_csv(lambda: str(path), text)
    except pa.ArrowInvalid as error:
        fault = _ragged_row(path, len(header)) or f"this is not a CSV file ({_first_line(error)}); export it again"
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
    with _open_text(path) as file:
        reader = csv_reader(file)
        with suppress(CsvError):
            yield from ((reader.line_num, record) for record in reader if record)


def _csv_line(path: Path, row: int) -> str:
    return str(next((line for i, (line, _) in enumerate(_csv_records(path)) if i == row + 1), row + 2))


def _ragged_row(path: Path, width: int) -> str | None:
    for line, record in _csv_records(path):
        if len(record) != width:
            return f"row {line} has {len(record)} cells, but the header has {width}; mend or remove the row"
    return None


# ---------------------------------------------------------------- JSON


def _open_json(path: Path) -> Table:
    """One object per line, or all of them in one array."""
    with _open_text(path) as file:
        array = file.read(4096).lstrip("\ufeff \t\r\n").startswith("[")
    if array:
        return Table.of(_parse_array(path), str(path))
    compression = "gzip" if path.name.lower().endswith(".gz") else None
    try:
        with pa.input_stream(str(path), compression=compression) as stream:
            table = pajson.read_json(stream, pajson.ReadOptions(block_size=BLOCK))
    except pa.ArrowInvalid as error:
        raise LogError(f"{path}: {_json_fault(path) or _first_line(error)}") from error
    return Table.of(table, str(path), lambda row: _json_line(path, row))


def _parse_array(path: Path) -> pa.Table:
    try:
        with _open_text(path) as file:
            objects = msgspec.json.decode(file.read(), type=list[dict[str, Any]])
        return pa.Table.from_pylist(objects)
    except (msgspec.MsgspecError, pa.ArrowException, RecursionError) as error:
        raise LogError(f"{path}: this is no array of objects ({_first_line(error)}); one object per row") from error


def _json_fault(path: Path) -> str | None:
    """Which line is no object, or holds another kind of value than the lines before: for a good complaint only."""
    kinds: dict[str, type] = {}
    for number, line in _json_lines(path):
        try:
            row = msgspec.json.decode(line, type=dict[str, Any])
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            return f"row {number} is no JSON object ({_first_line(error)}); write one object on each line"
        for name, value in row.items():
            kind = float if type(value) is int else type(value)
            if value is not None and kinds.setdefault(name, kind) is not kind:
                told = f"{kind.__name__} where the rows before have {kinds[name].__name__}"
                return f"row {number}, column {name!r}: a {told}; give the column one type"
    return None


def _json_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Blank lines left out."""
    with _open_text(path) as file:
        yield from ((number, line) for number, line in enumerate(file, 1) if line.strip())


def _json_line(path: Path, row: int) -> str:
    return str(next((number for i, (number, _) in enumerate(_json_lines(path)) if i == row), row + 1))


def _open_text(path: Path) -> IO[str]:
    if path.name.lower().endswith(".gz"):
        return gzip.open(path, "rt", encoding="utf-8", errors="replace", newline="")
    return path.open(encoding="utf-8", errors="replace", newline="")


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
