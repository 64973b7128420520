"""Arrow files and streams, memory-mapped, with a check of sizes before anything is decompressed.

Buffers may be compressed, each with the size that it decompresses to. Arrow allocates this size without a check, so the
sizes are added up first: of every message of a stream, or of every message that the footer of a file lists.
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

MAGIC = b"ARROW1"  # first and last bytes of a file, but not of a stream
CONTINUED = 0xFFFFFFFF  # precedes the length of a message, except in the oldest files
DICTIONARY, RECORDS = 2, 3  # types of messages that have a body


class ArrowFormat(LogFormat):
    """The log format of Arrow files and streams."""

    name: ClassVar[str] = "arrow"
    title: ClassVar[str] = "Arrow"
    suffixes: ClassVar[tuple[str, ...]] = (".arrow", ".feather", ".ipc")

    def open(self, path: Path, text: Collection[str]) -> LogTable:
        """Open a file or stream; its values have types."""
        return open_arrow(path)

    def writer(self, sink: Any, schema: pa.Schema) -> Any:
        """Return a writer of an Arrow file."""
        return pa.ipc.new_file(sink, schema)


ARROW = ArrowFormat()


def open_arrow(path: Path) -> LogTable:
    """Open the columns of a file or a stream."""
    with pa.memory_map(str(path)) as file:
        data = memoryview(file.read_buffer())
        is_file = bytes(data[: len(MAGIC)]) == MAGIC
        file.seek(0)
        try:
            places = _places_in_file(data) if is_file else _places_in_stream(data)
            refuse_unpacked(path, sum(_unpacked(data, *place) for place in places))
            table = (pa.ipc.open_file if is_file else pa.ipc.open_stream)(file).read_all()
            refuse_rows(path, table.num_rows)
            table.validate(full=True)  # damaged offsets would otherwise read arbitrary memory
        except (*BROKEN, struct.error) as error:
            raise LogError(f"{path}: this is not an Arrow file ({first_line(error)}). Export it again.") from error
    return LogTable.of(table, str(path))


# ---------------------------------------------------------------- messages: positions of their metadata and body


def _places_in_stream(data: memoryview) -> Iterator[tuple[int, int]]:
    at = 0
    while at + 4 <= len(data):
        begin, length = _metadata(data, at)
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
            yield _metadata(data, offset)[0], offset + _number("i", data, block + 8)


def _metadata(data: memoryview, at: int) -> tuple[int, int]:
    """Return where the metadata of a message begins, and its length."""
    at += 4 if _number("I", data, at) == CONTINUED else 0
    return at + 4, _number("i", data, at)


def _unpacked(data: memoryview, metadata: int, body: int) -> int:
    """Return the number of bytes that the compressed buffers of a message declare to decompress to."""
    message = metadata + _number("I", data, metadata)
    kind, batch = _field(data, message, 1), _table(data, message, 2)
    if not kind or not batch or _number("B", data, kind) not in (DICTIONARY, RECORDS):
        return 0
    if _number("B", data, kind) == DICTIONARY:
        batch = _table(data, batch, 1)
    if not batch or not _field(data, batch, 3):  # no buffer is compressed
        return 0
    buffers = (struct.unpack_from("<qq", data, place) for place in _vector(data, batch, 2, 16))
    return sum(max(_number("q", data, body + offset), 0) for offset, length in buffers if length >= 8)


# ---------------------------------------------------------------- flatbuffers, as far as needed


def _number(kind: str, data: memoryview, at: int) -> int:
    if at < 0:
        raise struct.error("an offset before the file")
    return int(struct.unpack_from(f"<{kind}", data, at)[0])


def _field(data: memoryview, table: int, i: int) -> int:
    """Return the offset of a field of a table; 0 if it is absent."""
    fields = table - _number("i", data, table)
    if 4 + 2 * i >= _number("H", data, fields):
        return 0
    offset = _number("H", data, fields + 4 + 2 * i)
    return table + offset if offset else 0


def _table(data: memoryview, table: int, i: int) -> int:
    """Return the offset of the table that a field refers to."""
    at = _field(data, table, i)
    return at + _number("I", data, at) if at else 0


def _vector(data: memoryview, table: int, i: int, width: int) -> range:
    """Return the offsets of the entries of a vector."""
    if not (begin := _table(data, table, i)):
        return range(0)
    end = begin + 4 + width * _number("I", data, begin)
    if end > len(data):
        raise struct.error("a vector beyond the file")
    return range(begin + 4, end, width)
