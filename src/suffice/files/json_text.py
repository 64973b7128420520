"""JSON from anywhere: its size and its depth are looked at before it is decoded."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

import msgspec
import numpy as np

T = TypeVar("T")

DEEPEST_JSON = 64  # lists and records within one another, in files of our own
LARGEST_JSON = 1 << 28  # bytes
OTHERS = bytes(set(range(256)) - set(b'[]{}"'))
NESTING = np.zeros(256, np.int8)  # deeper, or less deep
NESTING[list(b"[{")], NESTING[list(b"]}")] = 1, -1
BRACKETS_AT_A_TIME = 1 << 17  # brackets that are looked at together


def read(path: Path, kind: type[T]) -> T:
    """What a file says, as `decode` has it; a larger one is not read at all."""
    _refuse_large(path.stat().st_size)
    return decode(path.read_bytes(), kind)


def decode(data: bytes, kind: type[T]) -> T:
    """What JSON says, if it is of the kind and neither too large nor too deep; else a ValueError says what is wrong."""
    _refuse_large(len(data))
    if depth(data) > DEEPEST_JSON:
        raise ValueError(f"lists and records are more than {DEEPEST_JSON} deep")
    return msgspec.json.decode(data, type=kind)


def _refuse_large(size: int) -> None:
    if size > LARGEST_JSON:
        raise ValueError(f"the JSON is larger than {LARGEST_JSON >> 20} MiB")


def depth(data: bytes) -> int:
    """How many lists and records are open at once, at most; of what is no JSON, at least as many as a parser opens."""
    plain = data.replace(b"\\\\", b"").replace(b'\\"', b"")  # what is left of quotes begins or ends a text
    marks = np.frombuffer(plain.translate(None, OTHERS), np.uint8)
    quotes = now = deepest = 0
    for begin in range(0, len(marks), BRACKETS_AT_A_TIME):
        piece = marks[begin : begin + BRACKETS_AT_A_TIME]
        seen = quotes + np.cumsum(piece == ord('"'))
        depths = now + np.cumsum(np.where(seen & 1, 0, NESTING[piece]))
        quotes, now, deepest = int(seen[-1]), int(depths[-1]), max(deepest, int(depths.max()))
    return deepest
