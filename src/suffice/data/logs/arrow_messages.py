"""Messages of Arrow files and streams: the rows of record batches, and the size to which they decompress.

Buffers may be compressed, each with the size that it decompresses to. Arrow allocates this size without a check, so the
sizes are read first: of every message of a stream, or of every message that the footer of a file lists.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import NamedTuple

MAGIC = b"ARROW1"  # first and last bytes of a file, but not of a stream
CONTINUED = 0xFFFFFFFF  # precedes the length of a message, except in the oldest files
DICTIONARY, RECORDS = 2, 3  # types of messages that have a body


class Message(NamedTuple):
    """A message with a body: a dictionary, or a batch of records."""

    rows: int | None  # None: a dictionary
    size: int  # bytes of the body
    unpacked: int  # bytes to which its compressed buffers decompress


def is_file(data: memoryview) -> bool:
    """Return whether the bytes are those of a file, not of a stream."""
    return bytes(data[: len(MAGIC)]) == MAGIC


def messages(data: memoryview) -> Iterator[Message]:
    """Yield the messages of a file or stream; dictionaries of a file come first."""
    for place in _places_in_file(data) if is_file(data) else _places_in_stream(data):
        if (found := _message(data, *place)) is not None:
            yield found


# ---------------------------------------------------------------- positions of the metadata and the body of messages


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


def _message(data: memoryview, metadata: int, body: int) -> Message | None:
    """Return a message whose metadata and body begin here; None if it has no body."""
    message = metadata + _number("I", data, metadata)
    kind, batch, size = _field(data, message, 1), _table(data, message, 2), _field(data, message, 3)
    if not kind or not batch or _number("B", data, kind) not in (DICTIONARY, RECORDS):
        return None
    rows = None
    if _number("B", data, kind) == DICTIONARY:
        batch = _table(data, batch, 1)
    else:
        length = _field(data, batch, 0)
        rows = max(_number("q", data, length), 0) if length else 0
    unpacked = 0
    if batch and _field(data, batch, 3):  # its buffers are compressed
        buffers = (struct.unpack_from("<qq", data, place) for place in _vector(data, batch, 2, 16))
        unpacked = sum(max(_number("q", data, body + offset), 0) for offset, length in buffers if length >= 8)
    return Message(rows, _number("q", data, size) if size else 0, unpacked)


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
