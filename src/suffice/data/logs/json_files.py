"""JSON files with one object per line or one array of objects; an object is a row or a whole episode."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.json as pajson

from suffice.data.encoding.tables import EXACT, WRITE_EXACTLY, LogTable, has_large
from suffice.data.logs.arrays import DEEPEST_VALUE, ONE_KIND, first_line, kind_of, table_of_rows
from suffice.data.logs.formats import LogFormat
from suffice.data.logs.limits import BROKEN, LONGEST_LINE, is_packed, lines, opened
from suffice.errors import LogError
from suffice.files import json_text

PARSED_BYTES = LONGEST_LINE  # bytes that are parsed at a time
MARK = b"\xef\xbb\xbf"  # byte order mark, which some editors write
NO_OPENING = bytes(set(range(256)) - set(b"[{\n"))
MALFORMED = (ValueError, RecursionError)  # includes the errors of msgspec and of UTF-8
MOST_COMPARED = 1 << 20  # values of a line that are compared for an error message

Place = tuple[str, ...]  # names on the path to a value; "" for the entries of a list


class Json(LogFormat):
    """The log format of JSON files, which are only read."""

    name: ClassVar[str] = "json"
    title: ClassVar[str] = "JSON lines"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".jsonl.gz", ".ndjson", ".json")

    def open(self, path: Path, text: Collection[str]) -> LogTable:
        """Open a file; its values have types."""
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
            raise LogError(f"{path}{_problem(path)}") from error
        raise LogError(
            f"{path}: this is not an array of objects ({first_line(error)}). Write one object per row."
        ) from error
    return LogTable.of(table_of_rows(found if isinstance(found, list) else [found], str(path)), str(path))


def _open_lines(path: Path) -> LogTable:
    _refuse_deep(path)
    try:
        table = _parse(path)
        if (schema := _untimed(table.schema)) != table.schema:
            table = _parse(path, schema)
        if large := [place for field in schema for place in _large_places(table.column(field.name), (field.name,))]:
            table = _parse(path, _with_integers(schema, _only_integers(path, large)))
        table.validate(full=True)  # refuses text that is not UTF-8
    except BROKEN as error:
        unknown = (
            f": {first_line(error)}. Write one object per line, with each name once, in at most {PARSED_BYTES:,} bytes."
        )
        raise LogError(f"{path}{_problem(path) or unknown}") from error
    return LogTable.of(table, str(path), lambda row: _line_number(path, row))


def _parse(path: Path, schema: pa.Schema | None = None) -> pa.Table:
    with pa.input_stream(str(path), compression="gzip" if is_packed(path) else None) as stream:
        return pajson.read_json(stream, pajson.ReadOptions(block_size=PARSED_BYTES), pajson.ParseOptions(schema))


def _untimed(schema: pa.Schema) -> pa.Schema:
    """Return the schema with text instead of dates and times."""

    def untimed(kind: pa.DataType) -> pa.DataType:
        if pa.types.is_list(kind):
            return pa.list_(untimed(kind.value_type))
        if pa.types.is_struct(kind):
            return pa.struct([(field.name, untimed(field.type)) for field in kind])
        return pa.string() if pa.types.is_temporal(kind) else kind

    return pa.schema([(field.name, untimed(field.type)) for field in schema])


# ---------------------------------------------------------------- integers that are not exact as floats


def _large_places(column: pa.ChunkedArray | pa.Array, place: Place) -> Iterator[Place]:
    """Yield the places of floats that may stand for several integers: Arrow reads integers from 2⁶³ on as floats."""
    kind = column.type
    if pa.types.is_floating(kind):
        if has_large(column):
            yield place
    elif pa.types.is_list(kind):
        yield from _large_places(pc.list_flatten(column), (*place, ""))
    elif pa.types.is_struct(kind):
        for i, field in enumerate(kind):
            yield from _large_places(pc.struct_field(column, [i]), (*place, field.name))


def _only_integers(path: Path, places: Collection[Place]) -> set[Place]:
    """Return the places that have only integers of 64 bits; refuse others that have different integers of one float."""
    known: dict[Place, dict[float, int | float]] = {place: {} for place in places}
    problems: dict[Place, str] = {}
    mixed: set[Place] = set()
    for number, line in _lines(path):
        for place, value in _values(json_text.decode(line, dict[str, Any]), ()):
            if place not in known or not isinstance(value, int | float):
                continue
            if not isinstance(value, int) or not 0 <= value < 2**64:
                mixed.add(place)
            if abs(value) >= EXACT and (other := known[place].setdefault(_float(value), value)) != value:
                problem = f"{value} and {other} are the same floating-point number. {WRITE_EXACTLY}"
                name = ".".join(place).removesuffix(".")
                problems.setdefault(place, f"{path}, row {number}, column {name!r}: {problem}")
    if unsolved := [problem for place, problem in problems.items() if place in mixed]:
        raise LogError(unsolved[0])
    return set(places) - mixed


def _float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:  # of an integer
        return math.inf


def _with_integers(schema: pa.Schema, places: Collection[Place]) -> pa.Schema:
    """Return the schema with unsigned integers in some places."""

    def typed(kind: pa.DataType, place: Place) -> pa.DataType:
        if pa.types.is_list(kind):
            return pa.list_(typed(kind.value_type, (*place, "")))
        if pa.types.is_struct(kind):
            return pa.struct([(field.name, typed(field.type, (*place, field.name))) for field in kind])
        return pa.uint64() if place in places else kind

    return pa.schema([(field.name, typed(field.type, (field.name,))) for field in schema])


# ---------------------------------------------------------------- errors


def _refuse_deep(path: Path) -> None:
    """Refuse deep nesting, which exhausts the stack of Arrow's parser; only lines with many brackets are checked."""
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
            raise LogError(f"{path}, row {number}: values are nested more than {DEEPEST_VALUE} deep. Flatten them.")


def _problem(path: Path) -> str | None:
    """Return the message about the first line that is not an object, or has another kind of value than before."""
    kinds: dict[tuple[str, ...], str] = {}
    for number, line in _lines(path):
        try:
            row = json_text.decode(line, dict[str, Any])
        except MALFORMED as error:
            return f", row {number}: this is not a JSON object ({first_line(error)}). Write one object per line."
        for place, value in islice(_values(row, ()), MOST_COMPARED):
            if kinds.setdefault(place, kind_of(value)) != kind_of(value):
                name = ".".join(place).removesuffix(".")
                differs = f"{kind_of(value)} where the rows before have {kinds[place]}"
                return f", row {number}, column {name!r}: {differs}. {ONE_KIND}"
    return None


def _values(value: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield each value that is not missing with the path to it; the entries of a list share one path."""
    if path and value is not None:
        yield path, value
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _values(part, (*path, name))
    elif isinstance(value, list):
        for part in value:
            yield from _values(part, (*path, ""))


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Yield stripped lines with their numbers from 1, without blank ones."""
    with opened(path) as file:
        for number, line in enumerate(lines(file, path), 1):
            line = (line.removeprefix(MARK) if number == 1 else line).strip()
            if line:
                yield number, line


def _whole(path: Path) -> bytes:
    """Return the bytes of a file that does not have one object per line."""
    data = bytearray()
    with opened(path) as file:
        while piece := file.read(1 << 20):
            data += piece
            if len(data) > PARSED_BYTES:
                limit = f"{PARSED_BYTES >> 20} MiB"
                raise LogError(f"{path}: an array of more than {limit} cannot be read. Write one object per line.")
    return bytes(data).removeprefix(MARK)


def _first_line(path: Path) -> bytes:
    """Return the first line that is not blank, or the beginning of a very long one."""
    with opened(path) as file:
        found = iter(lambda: file.readline(PARSED_BYTES), b"")
        return next((line for piece in found if (line := piece.removeprefix(MARK).strip())), b"")


def _line_number(path: Path, row: int) -> str:
    return str(next((number for i, (number, _) in enumerate(_lines(path)) if i == row), row + 1))
