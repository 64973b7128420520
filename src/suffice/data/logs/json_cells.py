"""Lines and values of JSON files: their kinds, problems and types, and integers that are not exact as floats."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from suffice.data.encoding.tables import EXACT, WRITE_EXACTLY, has_large
from suffice.data.logs.arrays import DEEPEST_VALUE, ONE_KIND, first_line, kind_of
from suffice.data.logs.limits import LONGEST_LINE, lines, opened
from suffice.errors import LogError
from suffice.files import json_text

PARSED_BYTES = LONGEST_LINE  # bytes that are parsed at a time
MARK = b"\xef\xbb\xbf"  # byte order mark, which some editors write
NO_OPENING = bytes(set(range(256)) - set(b"[{\n"))
MALFORMED = (ValueError, RecursionError)  # includes the errors of msgspec and of UTF-8
MOST_VALUES = 1 << 20  # values of a line that are compared for an error message
MOST_COMPARED = 1 << 17  # distinct large numbers of a column that are compared

Place = tuple[str, ...]  # names on the path to a value; "" for the entries of a list


def has_lines(path: Path) -> bool:
    """Return whether a file has one object per line; others are arrays, or one object on several lines."""
    first = starting_line(path)
    return not first or (first.startswith(b"{") and first.endswith(b"}"))


def starting_line(path: Path) -> bytes:
    """Return the first line that is not blank, or the beginning of a very long one."""
    with opened(path) as file:
        found = iter(lambda: file.readline(PARSED_BYTES), b"")
        return next((line for piece in found if (line := piece.removeprefix(MARK).strip())), b"")


def untimed(schema: pa.Schema) -> pa.Schema:
    """Return the schema with text instead of dates and times."""

    def untimed(kind: pa.DataType) -> pa.DataType:
        if pa.types.is_list(kind):
            return pa.list_(untimed(kind.value_type))
        if pa.types.is_struct(kind):
            return pa.struct([(field.name, untimed(field.type)) for field in kind])
        return pa.string() if pa.types.is_temporal(kind) else kind

    return pa.schema([(field.name, untimed(field.type)) for field in schema])


def with_entries(schema: pa.Schema) -> pa.Schema:
    """Return the schema with text instead of lists whose entries are all missing, which Arrow 26 misreads."""

    def typed(kind: pa.DataType) -> pa.DataType:
        if pa.types.is_list(kind):
            return pa.list_(pa.string() if pa.types.is_null(kind.value_type) else typed(kind.value_type))
        if pa.types.is_struct(kind):
            return pa.struct([(field.name, typed(field.type)) for field in kind])
        return kind

    return pa.schema([(field.name, typed(field.type)) for field in schema])


def is_valid(table: pa.Table) -> bool:
    """Return whether a table is valid: Arrow 26 loses missing entries at the beginning of lists, unless it is typed."""
    try:
        table.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


# ---------------------------------------------------------------- integers that are not exact as floats


def large_places(column: pa.ChunkedArray | pa.Array, place: Place) -> Iterator[Place]:
    """Yield the places of numbers that may not be exact as floats, as which Arrow reads integers from 2⁶³ on."""
    kind = column.type
    if pa.types.is_floating(kind) or pa.types.is_integer(kind):
        if has_large(column):
            yield place
    elif pa.types.is_list(kind):
        yield from large_places(pc.list_flatten(column), (*place, ""))
    elif pa.types.is_struct(kind):
        for i, field in enumerate(kind):
            yield from large_places(pc.struct_field(column, [i]), (*place, field.name))


def float_places(schema: pa.Schema, places: Collection[Place]) -> list[Place]:
    """Return the places that have floats."""

    def at(kind: pa.DataType, place: Place) -> pa.DataType:
        for name in place:
            kind = kind.value_type if name == "" and pa.types.is_list(kind) else kind.field(name).type
        return kind

    return [place for place in places if pa.types.is_floating(at(schema.field(place[0]).type, place[1:]))]


def only_integers(paths: Sequence[Path], places: Collection[Place]) -> set[Place]:
    """Return the places that have only integers of 64 bits; refuse others that have different integers of one float."""
    mixed: set[Place] = set()
    for _, _, place, value in _numbers(paths, places):
        if not isinstance(value, int) or not 0 <= value < 2**64:
            mixed.add(place)
    known: dict[Place, dict[float, int | float]] = {place: {} for place in mixed}
    for path, number, place, value in _numbers(paths, mixed):
        if abs(value) < EXACT:
            continue
        name = ".".join(place).removesuffix(".")
        if (other := known[place].setdefault(_float(value), value)) != value:
            problem = f"{value} and {other} are the same floating-point number. {WRITE_EXACTLY}"
            raise LogError(f"{path}, row {number}, column {name!r}: {problem}")
        if len(known[place]) > MOST_COMPARED:
            raise LogError(
                f"{path}, column {name!r}: more than {MOST_COMPARED:,} numbers of 2**53 and above are too many to "
                "compare, and some may be the same floating-point number. Write them as text, or remove them."
            )
    return set(places) - mixed


def _numbers(paths: Sequence[Path], places: Collection[Place]) -> Iterator[tuple[Path, int, Place, int | float]]:
    """Yield the numbers in some places, each with its file and line."""
    for path in paths if places else ():
        for number, line in _lines(path):
            for place, value in _values(json_text.decode(line, dict[str, Any]), ()):
                if place in places and isinstance(value, int | float):
                    yield path, number, place, value


def _float(value: int | float) -> float:
    try:
        return float(value)
    except OverflowError:  # of an integer
        return math.inf


def with_integers(schema: pa.Schema, places: Collection[Place]) -> pa.Schema:
    """Return the schema with unsigned integers in some places."""

    def typed(kind: pa.DataType, place: Place) -> pa.DataType:
        if pa.types.is_list(kind):
            return pa.list_(typed(kind.value_type, (*place, "")))
        if pa.types.is_struct(kind):
            return pa.struct([(field.name, typed(field.type, (*place, field.name))) for field in kind])
        return pa.uint64() if place in places else kind

    return pa.schema([(field.name, typed(field.type, (field.name,))) for field in schema])


# ---------------------------------------------------------------- errors


def refuse_deep(path: Path) -> None:
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


def unreadable(path: Path, error: Exception) -> LogError:
    """Return the error about a file that Arrow cannot parse."""
    unknown = (
        f": {first_line(error)}. Write one object per line, with each name once, in at most {PARSED_BYTES:,} bytes."
    )
    return LogError(f"{path}{problem_in(path) or unknown}")


def problem_in(path: Path) -> str | None:
    """Return the message about the first line that is not an object, or has another kind of value than before."""
    kinds: dict[tuple[str, ...], str] = {}
    for number, line in _lines(path):
        try:
            row = json_text.decode(line, dict[str, Any])
        except MALFORMED as error:
            return f", row {number}: this is not a JSON object ({first_line(error)}). Write one object per line."
        for place, value in islice(_values(row, ()), MOST_VALUES):
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


def line_of(path: Path, row: int) -> str:
    """Return the number of the line of a row."""
    return str(next((number for i, (number, _) in enumerate(_lines(path)) if i == row), row + 1))
