"""Parts of dates and times as columns: `visit.weekday` is the day of the week of the column `visit`.

A part is named after its column, in logs and in observations at run time: a log or an observation that has `visit` has
all of its parts. `year` has a fraction, so that it is the date as one number: 2026.5 is the middle of that year.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from suffice.data.alphabet import Value
from suffice.data.encoding.tables import LogTable, is_missing
from suffice.data.encoding.times import DAY, microseconds, microseconds_of
from suffice.errors import LogError
from suffice.kernels.array_types import Array, Float, Int64

PARTS = ("year", "month", "day", "weekday", "hour")
WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
HOUR = DAY // 24


def split_part(name: str) -> tuple[str, str] | None:
    """Return the column and the part that a name stands for; None if it does not end in a part."""
    column, dot, part = name.rpartition(".")
    return (column, part) if dot and column and part in PARTS else None


def is_time(table: LogTable, name: str) -> bool:
    """Return whether all values of a column that are not missing are dates or times."""
    kind = table.types[name]
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return True
    if not any(is_text(kind) for is_text in (pa.types.is_string, pa.types.is_binary, pa.types.is_large_string)):
        return False
    _, distinct = table.distinct(name)
    try:
        known = _known(distinct)
    except pa.ArrowInvalid:  # bytes that are not text, reported where the column is read
        return False
    return bool(len(known) and microseconds(known) is not None)


def with_parts(table: LogTable, names: Collection[str]) -> LogTable:
    """Add the parts of dates and times that are named, if the table has their columns but not the parts."""
    wanted: dict[str, tuple[str, str]] = {}
    for name in names:
        found = split_part(name)
        if found is not None and name not in table.types and found[0] in table.types:
            wanted[name] = found
    if not wanted:
        return table

    def column(name: str) -> pa.ChunkedArray:
        return _part_column(table, *wanted[name]) if name in wanted else table.column(name)

    kinds = {"year": pa.float64(), "weekday": pa.string()}
    types = {name: kinds.get(part, pa.int64()) for name, (_, part) in wanted.items()}
    return replace(table, types={**table.types, **types}, column=column)


def part_of_value(value: Any, part: str) -> Value | None:
    """Return a part of one date or time; None if it is missing. Something else is refused."""
    if is_missing(value):
        return None
    if (found := microseconds_of(value)) is None:
        raise LogError(f"{value!r:.60} has no {part}: it is not a date such as 2026-05-30 10:07. Convert it.")
    result: Value = _part(np.array([found]), part)[0].item()
    return WEEKDAYS[int(result)] if part == "weekday" else result


def _part_column(table: LogTable, name: str, part: str) -> pa.ChunkedArray:
    """Return a part of each date or time of a column; missing where that is."""
    column = table.column(name)
    text = column.cast(pa.string()) if not pa.types.is_temporal(column.type) else column
    empty = pc.equal(text, "") if pa.types.is_string(text.type) else pc.is_null(text)
    missing = pc.or_(pc.is_null(text), pc.fill_null(empty, True)).to_numpy()
    times = microseconds(text.filter(pa.array(~missing)))
    if times is None:
        table.refuse_column(name, f"it has no {part}: its values are not dates such as 2026-05-30 10:07. Convert it.")
    values = _part(times, part)
    found: Array = np.empty(len(missing), object)
    found[~missing] = [WEEKDAYS[day] for day in values] if part == "weekday" else values.tolist()
    kind = {"year": pa.float64(), "weekday": pa.string()}.get(part, pa.int64())
    return pa.chunked_array([pa.array(found.tolist(), kind)])


def _part(times: Int64, part: str) -> Int64 | Float:
    """Return a part of times in microseconds since 1970; weekdays count from Monday."""
    if part == "hour":
        return np.asarray(times % DAY // HOUR)
    if part == "weekday":
        return np.asarray((times // DAY + 3) % 7)  # 1970-01-01 was a Thursday
    stamps = times.astype("datetime64[us]")
    years, months = stamps.astype("datetime64[Y]"), stamps.astype("datetime64[M]")
    if part == "month":
        return np.asarray(months.astype(np.int64) % 12 + 1)
    if part == "day":
        days = stamps.astype("datetime64[D]") - months.astype("datetime64[D]")
        return np.asarray(days.astype(np.int64) + 1)
    begin, end = (year.astype("datetime64[us]").astype(np.int64) for year in (years, years + 1))
    result: Float = np.round(years.astype(np.int64) + 1970 + (times - begin) / (end - begin), 6)
    return result


def _known(distinct: pa.Array) -> pa.Array:
    """Return the distinct values that are not missing."""
    values = distinct.filter(pc.is_valid(distinct))
    text = values.cast(pa.string()) if not pa.types.is_temporal(values.type) else values
    return text.filter(pc.not_equal(text, "")) if pa.types.is_string(text.type) else text
