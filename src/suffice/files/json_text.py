"""Decode JSON from untrusted sources: size and depth are checked before it is decoded."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

T = TypeVar("T")

DEEPEST_JSON = 64  # nested lists and records; files of this project have fewer
LARGEST_JSON = 1 << 28  # bytes
OTHERS = bytes(set(range(256)) - set(b'[]{}"'))
NESTING = np.zeros(256, np.int8)  # change of the depth by a byte
NESTING[list(b"[{")], NESTING[list(b"]}")] = 1, -1
BRACKETS_AT_A_TIME = 1 << 17  # brackets processed together


def read(path: Path, kind: type[T]) -> T:
    """Decode the JSON of a file with `decode`; a file that is too large is not read."""
    _refuse_large(path.stat().st_size)
    return decode(path.read_bytes(), kind)


def decode(data: bytes, kind: type[T]) -> T:
    """Decode JSON to a type; raise ValueError if it is too large, too deep or of another type."""
    _refuse_large(len(data))
    if depth(data) > DEEPEST_JSON:
        raise ValueError(f"lists and records are nested more than {DEEPEST_JSON} deep")
    return msgspec.json.decode(data, type=kind)


def _refuse_large(size: int) -> None:
    if size > LARGEST_JSON:
        raise ValueError(f"the JSON is larger than {LARGEST_JSON >> 20} MiB")


def depth(data: bytes) -> int:
    """Return the depth of nested lists and records; for invalid JSON, at least the depth that a parser reaches."""
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"")  # the quotes that are left begin or end a string
    marks = np.frombuffer(plain.translate(None, OTHERS), np.uint8)
    quotes = now = deepest = 0
    for begin in range(0, len(marks), BRACKETS_AT_A_TIME):
        piece = marks[begin : begin + BRACKETS_AT_A_TIME]
        seen = quotes + np.cumsum(piece == ord('"'))
        depths = now + np.cumsum(np.where(seen & 1, 0, NESTING[piece]))
        quotes, now, deepest = int(seen[-1]), int(depths[-1]), max(deepest, int(depths.max()))
    return deepest
