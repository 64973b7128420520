"""Dates and times, which become numbers: microseconds since 1970.

Columns of a date or time type are converted, and so is text that is written as in ISO 8601: 2026-05-30,
2026-05-30 10:07, 2026-05-30T10:07:12.5Z. Other ways to write dates are ambiguous and stay text.
"""

from __future__ import annotations

import re
from datetime import date, datetime, time
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from suffice.kernels.array_types import Int64

DAY = 24 * 60 * 60 * 1_000_000  # microseconds
ISO = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?)?(Z|[+-]\d\d:?\d\d)?", re.ASCII)
NANOSECONDS = "[.][0-9]{7,9}"  # a fraction of a second that microseconds would cut off


def in_time(values: pa.Array | pa.ChunkedArray) -> Int64 | None:
    """Return dates and times as whole numbers in their order, [n], nanoseconds apart; None if they are not times."""
    kind = values.type.value_type if pa.types.is_dictionary(values.type) else values.type
    if pa.types.is_temporal(kind):
        fine = getattr(kind, "unit", "") == "ns"
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
        try:
            fine = bool(pc.any(pc.match_substring_regex(values.cast(pa.string()), NANOSECONDS)).as_py())
        except pa.ArrowInvalid:  # not UTF-8, so not a time
            return None
    else:
        fine = False
    return _whole(values, "ns" if fine else "us")


def microseconds(values: pa.Array | pa.ChunkedArray) -> Int64 | None:
    """Return dates and times without missing ones as microseconds since 1970, [n]; None if they are something else."""
    if (found := _whole(values, "us")) is None and (finer := _whole(values, "ns")) is not None:
        return np.asarray(finer // 1000)  # text with more digits
    return found


def _whole(values: pa.Array | pa.ChunkedArray, unit: str) -> Int64 | None:
    """Return dates and times as whole numbers of a unit since 1970; None if they are something else, or beyond it."""
    kind = values.type
    try:
        if pa.types.is_dictionary(kind):
            values, kind = values.cast(kind.value_type), kind.value_type
        if pa.types.is_duration(kind):
            values = values.cast(pa.duration(unit), safe=False).cast(pa.int64())
        elif pa.types.is_time(kind):
            values = values.cast(pa.time64(unit), safe=False).cast(pa.int64())
        elif pa.types.is_temporal(kind):
            values = values.cast(pa.timestamp(unit, kind.tz if pa.types.is_timestamp(kind) else None), safe=False)
        else:
            texts = values.cast(pa.string())
            if not pc.all(pc.match_substring_regex(texts, f"^{ISO.pattern}$"), min_count=0).as_py():
                return None
            zoned = pc.any(pc.match_substring_regex(texts, "(Z|[+-][0-9][0-9]:?[0-9][0-9])$")).as_py() and len(texts)
            values = texts.cast(pa.timestamp(unit, "UTC" if zoned else None))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    return np.asarray(values.cast(pa.int64()).to_numpy(zero_copy_only=False) if len(values) else np.zeros(0, np.int64))


def microseconds_of(value: Any) -> int | None:
    """Return one date or time as microseconds since 1970; None if it is something else."""
    if isinstance(value, np.datetime64 | datetime | date | time):
        value = pa.scalar(value)
    elif not isinstance(value, str) or not ISO.fullmatch(value):
        return None
    found = microseconds(pa.array([value.as_py() if isinstance(value, pa.Scalar) else value]))
    return None if found is None else int(found[0])
