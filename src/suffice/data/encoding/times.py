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
STAMP = pa.timestamp("us")
ZONED = pa.timestamp("us", "UTC")
ISO = re.compile(r"\d{4}-\d\d-\d\d([ T]\d\d:\d\d(:\d\d([.,]\d{1,9})?)?)?(Z|[+-]\d\d:?\d\d)?", re.ASCII)


def microseconds(values: pa.Array | pa.ChunkedArray) -> Int64 | None:
    """Return dates and times without missing ones as microseconds since 1970, [n]; None if they are something else."""
    kind = values.type
    try:
        if pa.types.is_dictionary(kind):
            values, kind = values.cast(kind.value_type), kind.value_type
        if pa.types.is_duration(kind):
            values = values.cast(pa.duration("us"), safe=False).cast(pa.int64())
        elif pa.types.is_time(kind):
            values = values.cast(pa.time64("us"), safe=False).cast(pa.int64())
        elif pa.types.is_temporal(kind):
            values = values.cast(pa.timestamp("us", kind.tz if pa.types.is_timestamp(kind) else None), safe=False)
        else:
            texts = values.cast(pa.string())
            if not pc.all(pc.match_substring_regex(texts, f"^{ISO.pattern}$"), min_count=0).as_py():
                return None
            zoned = pc.any(pc.match_substring_regex(texts, "(Z|[+-][0-9][0-9]:?[0-9][0-9])$")).as_py() and len(texts)
            values = texts.cast(ZONED if zoned else STAMP)
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
