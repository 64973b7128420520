"""JSON files: one object on each line, or all of them in one array; an object is a row, or a whole episode."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.json as pajson

from suffice.data.encoding.tables import LogTable
from suffice.data.logs.arrays import DEEPEST_VALUE, ONE_KIND, first_line, kind_of, table_of_rows
from suffice.data.logs.formats import LogFormat
from suffice.data.logs.limits import BROKEN, LONGEST_LINE, is_packed, lines, opened
from suffice.errors import LogError
from suffice.files import json_text

PARSED_BYTES = LONGEST_LINE  # bytes that are parsed together
MARK = b"\xef\xbb\xbf"  # that some editors begin a UTF-8 file with
NO_OPENING = bytes(set(range(256)) - set(b"[{\n"))
MALFORMED = (ValueError, RecursionError)  # those of msgspec and of UTF-8 among them
MOST_COMPARED = 1 << 20  # values of a line, for the sake of a complaint


class Json(LogFormat):
    """See `LogFormat`."""

    name: ClassVar[str] = "json"
    title: ClassVar[str] = "JSON lines"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".jsonl.gz", ".ndjson", ".json")

    def open(self, path: Path, text: Collection[str]) -> LogTable:
        """See `LogFormat`."""
        return open_json(path)


JSON = Json()


def open_json(path: Path) -> LogTable:
    """Open lines of objects, an array of them, or a single one on several lines."""
    first = _first_line(path)
    if not first or (first.startswith(b"{") and first.endswith(b"}")):
        return _open_lines(path)
    try:
        found: Any = json_text.decode(_whole(path), dict[str, Any] | list[dict[str, Any]])  # type: ignore[arg-type]
    except MALFORMED as error:
        if not first.startswith(b"["):
            raise LogError(f"{path}: {_fault(path)}") from error
        raise LogError(f"{path}: this is no array of objects ({first_line(error)}); one object per row") from error
    return LogTable.of(table_of_rows(found if isinstance(found, list) else [found], str(path)), str(path))


def _open_lines(path: Path) -> LogTable:
    _refuse_deep(path)
    try:
        table = _parse(path)
        if (schema := _untimed(table.schema)) != table.schema:
            table = _parse(path, schema)
        table.validate(full=True)  # of text that is no UTF-8
    except BROKEN as error:
        told = f"{first_line(error)}; give each row one object, with each name once, in at most {PARSED_BYTES:,} bytes"
        raise LogError(f"{path}: {_fault(path) or told}") from error
    return LogTable.of(table, str(path), lambda row: _line_number(path, row))


def _parse(path: Path, schema: pa.Schema | None = None) -> pa.Table:
    with pa.input_stream(str(path), compression="gzip" if is_packed(path) else None) as stream:
        return pajson.read_json(stream, pajson.ReadOptions(block_size=PARSED_BYTES), pajson.ParseOptions(schema))


def _untimed(schema: pa.Schema) -> pa.Schema:
    """Text that looks like a date or time stays the text it is."""

    def untimed(kind: pa.DataType) -> pa.DataType:
        if pa.types.is_list(kind):
            return pa.list_(untimed(kind.value_type))
        if pa.types.is_struct(kind):
            return pa.struct([(field.name, untimed(field.type)) for field in kind])
        return pa.string() if pa.types.is_temporal(kind) else kind

    return pa.schema([(field.name, untimed(field.type)) for field in schema])


# ---------------------------------------------------------------- what is wrong


def _refuse_deep(path: Path) -> None:
    """Arrow's parser would exhaust the stack; few lines have so many brackets that they must be looked at."""
    most = carried = 0
    with opened(path) as file:
        while block := file.read(1 << 22):
            openings = [len(run) for run in block.translate(None, NO_OPENING).split(b"\n")]
            openings[0] += carried
            most, carried = max(most, *openings), openings[-1]
    if most <= DEEPEST_VALUE:
        return
    for number, line in _lines(path):
        if len(line.translate(None, NO_OPENING)) > DEEPEST_VALUE and json_text.depth(line) > DEEPEST_VALUE + 1:
            raise LogError(f"{path}: row {number} is nested more than {DEEPEST_VALUE} deep; flatten it")


def _fault(path: Path) -> str | None:
    """Which line is no object, or holds another kind of value than the lines before: for a good complaint only."""
    kinds: dict[tuple[str, ...], str] = {}
    for number, line in _lines(path):
        try:
            row = json_text.decode(line, dict[str, Any])
        except MALFORMED as error:
            return f"row {number} is no JSON object ({first_line(error)}); write one object on each line"
        for way, value in islice(_values(row, ()), MOST_COMPARED):
            if kinds.setdefault(way, kind_of(value)) != kind_of(value):
                told = f"{kind_of(value)} where the rows before have {kinds[way]}"
                return f"row {number}, column {'.'.join(way).removesuffix('.')!r}: {told}; {ONE_KIND}"
    return None


def _values(value: Any, way: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each value that is there, and the way to it; those of a list share one."""
    if way and value is not None:
        yield way, value
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _values(part, (*way, name))
    elif isinstance(value, list):
        for part in value:
            yield from _values(part, (*way, ""))


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Numbered from 1; blank lines, and blanks around the others, left out."""
    with opened(path) as file:
        for number, line in enumerate(lines(file, path), 1):
            line = (line.removeprefix(MARK) if number == 1 else line).strip()
            if line:
                yield number, line


def _whole(path: Path) -> bytes:
    """Of a file that is no lines."""
    data = bytearray()
    with opened(path) as file:
        while piece := file.read(1 << 20):
            data += piece
            if len(data) > PARSED_BYTES:
                told = "write each object on a line of its own"
                raise LogError(f"{path}: JSON that is no lines may have {PARSED_BYTES >> 20} MiB at most; {told}")
    return bytes(data).removeprefix(MARK)


def _first_line(path: Path) -> bytes:
    """The first that is not blank; of a very long one, its beginning."""
    with opened(path) as file:
        found = iter(lambda: file.readline(PARSED_BYTES), b"")
        return next((line for piece in found if (line := piece.removeprefix(MARK).strip())), b"")


def _line_number(path: Path, row: int) -> str:
    return str(next((number for i, (number, _) in enumerate(_lines(path)) if i == row), row + 1))
