"""Arrow's own format, as a file or a stream: mapped rather than read, and looked at before anything is unpacked.

Its buffers may be packed, each behind the size that it unpacks to. Arrow takes room for that before it looks further,
so the sizes are added up first: in every message that a stream goes through, or that the footer of a file names.
"""

from __future__ import annotations

import struct
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from suffice.data.encoding.tables import LogTable
from suffice.data.logs.arrays import first_line
from suffice.data.logs.formats import LogFormat
from suffice.data.logs.limits import BROKEN, refuse_rows, refuse_unpacked
from suffice.errors import LogError

MAGIC = b"ARROW1"  # what a file begins and ends with, and a stream does not
CONTINUED = 0xFFFFFFFF  # before the length of a message, in all but the oldest files
DICTIONARY, RECORDS = 2, 3  # kinds of messages that have a body


class ArrowFormat(LogFormat):
    """See `LogFormat`."""

    name: ClassVar[str] = "arrow"
    title: ClassVar[str] = "Arrow"
    suffixes: ClassVar[tuple[str, ...]] = (".arrow", ".feather", ".ipc")

    def open(self, path: Path, text: Collection[str]) -> LogTable:
        """See `LogFormat`."""
        return open_arrow(path)

    def writer(self, sink: Any, schema: pa.Schema) -> Any:
        """See `LogFormat`."""
        return pa.ipc.new_file(sink, schema)


ARROW = ArrowFormat()


def open_arrow(path: Path) -> LogTable:
    """The columns of a file or a stream."""
    with pa.memory_map(str(path)) as file:
        data = memoryview(file.read_buffer())
        is_file = bytes(data[: len(MAGIC)]) == MAGIC
        file.seek(0)
        try:
            places = _places_in_file(data) if is_file else _places_in_stream(data)
            refuse_unpacked(path, sum(_unpacked(data, *place) for place in places))
            table = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(file).read_all()
            refuse_rows(path, table.num_rows)
            table.validate(full=True)  # what is broken would else be read from anywhere in memory
        except (*BROKEN, struct.error) as error:
            raise LogError(f"{path}: this is not an Arrow file ({first_line(error)}); export it again") from error
    return LogTable.of(table, str(path))


# ---------------------------------------------------------------- messages: where their description is, and their body


def _places_in_stream(data: memoryview) -> Iterator[tuple[int, int]]:
    at = 0
    while at + 4 <= len(data):
        begin, length = _description(data, at)
        if length <= 0:
            return
        message = begin + _number("I", data, begin)
        size = _field(data, message, 3)
        yield begin, begin + length
        at = begin + length + (_number("q", data, size) if size else 0)


def _places_in_file(data: memoryview) -> Iterator[tuple[int, int]]:
    end = len(data) - len(MAGIC) - 4
    begin = end - _number("i", data, end)
    footer = begin + _number("I", data, begin)
    for field in (2, 3):  # dictionaries and records
        for block in _vector(data, footer, field, 24):
            offset = _number("q", data, block)
            yield _description(data, offset)[0], offset + _number("i", data, block + 8)


def _description(data: memoryview, at: int) -> tuple[int, int]:
    """Where the description of a message begins, and its length."""
    at += 4 if _number("I", data, at) == CONTINUED else 0
    return at + 4, _number("i", data, at)


def _unpacked(data: memoryview, description: int, body: int) -> int:
    """How many bytes the packed buffers of a message say that they unpack to."""
    message = description + _number("I", data, description)
    kind, batch = _field(data, message, 1), _table(data, message, 2)
    if not kind or not batch or _number("B", data, kind) not in (DICTIONARY, RECORDS):
        return 0
    if _number("B", data, kind) == DICTIONARY:
        batch = _table(data, batch, 1)
    if not batch or not _field(data, batch, 3):  # nothing is packed
        return 0
    buffers = (struct.unpack_from("<qq", data, place) for place in _vector(data, batch, 2, 16))
    return sum(max(_number("q", data, body + offset), 0) for offset, length in buffers if length >= 8)


# ---------------------------------------------------------------- flatbuffers, as far as that takes


def _number(kind: str, data: memoryview, at: int) -> int:
    if at < 0:
        raise struct.error("a place before the file")
    return int(struct.unpack_from(f"<{kind}", data, at)[0])


def _field(data: memoryview, table: int, i: int) -> int:
    """Where a field of a table is; 0 if it is not there."""
    fields = table - _number("i", data, table)
    if 4 + 2 * i >= _number("H", data, fields):
        return 0
    offset = _number("H", data, fields + 4 + 2 * i)
    return table + offset if offset else 0


def _table(data: memoryview, table: int, i: int) -> int:
    """The table that a field refers to."""
    at = _field(data, table, i)
    return at + _number("I", data, at) if at else 0


def _vector(data: memoryview, table: int, i: int, width: int) -> range:
    """Where the entries of a list are."""
    if not (begin := _table(data, table, i)):
        return range(0)
    end = begin + 4 + width * _number("I", data, begin)
    if end > len(data):
        raise struct.error("a list beyond the file")
    return range(begin + 4, end, width)
