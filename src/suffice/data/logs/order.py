"""The order of the rows of an episode, by any column that can be ordered: numbers, dates or times.

Order is what counts: steps may begin with any number and have gaps, years and timestamps are steps. Only two rows of an
episode at the same step are refused, because their order is not known.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import pyarrow as pa

from suffice.data.encoding.tables import EXACT, LogTable, MissingValueError, number
from suffice.data.encoding.times import in_time
from suffice.kernels.array_types import Array, Codes, Int32, Int64, Mask

ORDER = "Use numbers, or dates such as 2026-05-30 10:07, or remove the column if the rows are in order."


@dataclass(frozen=True, slots=True)
class StepValues:
    """The step of each row as a number that can be compared."""

    values: Array  # [rows] integers or floats
    counts: bool  # whether steps are whole numbers, and not times


@dataclass(frozen=True, slots=True)
class RowOrder:
    """The rank of each row in its episode."""

    step: Int32  # [rows] from 0
    sorted: bool  # whether the rows were out of order
    first: int | None  # smallest step of the log, if steps are whole numbers
    spans: Array  # [episodes, 2] first and last step of each
    notes: tuple[str, ...] = ()


def order_rows(
    table: LogTable, name: str, episode: Codes, length: Int64, ids: pa.Array, whole: bool = False
) -> RowOrder:
    """Rank the rows of each episode by the step column; refuse two rows at one step.

    With `whole`, refuse also an episode that lacks its first rows in a log that counts them: it may be the rest of an
    episode of another log.
    """
    steps = step_values(table, name)
    first = int(steps.values.min()) if steps.counts else None
    if first is not None and _in_order(episode, steps.values - first):
        return RowOrder((steps.values - first).astype(np.int32), False, first, _counted_spans(first, length))
    begin = np.cumsum(length) - length
    if first is not None and (counted := _counted(steps.values - first, episode, begin, length)) is not None:
        slot = begin[episode] + counted
        return RowOrder(counted, bool((slot[1:] < slot[:-1]).any()), first, _counted_spans(first, length))
    order = np.lexsort((steps.values, episode))
    here, value = episode[order], steps.values[order]
    same = (here[1:] == here[:-1]) & (value[1:] == value[:-1])
    if same.any():
        _refuse_twice(table, name, order, ids[int(here[np.argmax(same)])].as_py(), same)
    step = np.empty(len(episode), np.int32)
    step[order] = np.arange(len(order)) - begin[here]
    notes = () if first is None else _notes(name, here, value, first, ids)
    if whole and notes and (late := (np.diff(here, prepend=-1) != 0) & (value != first)).any():
        at = int(np.argmax(late))
        text = f"begins with step {int(value[at])}, not {first}. Restore its first row, or count each episode from"
        table.refuse_row(int(order[at]), name, f"episode {ids[int(here[at])].as_py()!r} {text} {first}.")
    spans = np.stack([value[begin], value[begin + length - 1]], axis=1)
    return RowOrder(step, bool((np.diff(order) < 0).any()), first, spans, notes)


def step_values(table: LogTable, name: str) -> StepValues:
    """Return the step of each row; refuse a column that cannot be ordered."""
    codes, distinct = table.distinct(name)
    kind = distinct.type
    if pa.types.is_integer(kind) and not pa.types.is_uint64(kind):
        return StepValues(distinct.cast(pa.int64()).to_numpy()[codes], counts=True)
    if (times := in_time(distinct)) is not None:
        return StepValues(times[codes], counts=False)
    coded = table.encode(name, _step)
    values = np.array(coded.values, dtype=float)
    counts = bool((values == np.floor(values)).all() and np.abs(values).max() < EXACT)
    return StepValues((values.astype(np.int64) if counts else values)[coded.codes], counts)


def _in_order(episode: Codes, step: Array) -> bool:
    """Return whether the rows of each episode follow each other, episode by episode, and count from 0."""
    begins = episode[1:] != episode[:-1]
    follows = np.where(begins, step[1:] == 0, step[1:] == step[:-1] + 1)
    return bool(step[0] == 0 and follows.all() and (episode[1:] >= episode[:-1]).all())


def _counted(step: Int64, episode: Codes, begin: Int64, length: Int64) -> Int32 | None:
    """Return steps that count the rows of each episode from 0 without gaps, which need no sorting; None if not."""
    if ((step < 0) | (step >= length[episode])).any():  # below 0: the difference overflowed
        return None
    filled = np.zeros(len(episode), dtype=bool)
    filled[begin[episode] + step] = True
    return step.astype(np.int32) if filled.all() else None


def _counted_spans(first: int, length: Int64) -> Int64:
    """Return the first and the last step of episodes that all begin with the same step and have no gaps."""
    return np.stack([np.full(len(length), first), first + length - 1], axis=1)


def _notes(name: str, episode: Codes, step: Int64, first: int, ids: pa.Array) -> tuple[str, ...]:
    """Return a note if a log that counts its rows lacks some of them."""
    begins = np.diff(episode, prepend=-1) != 0
    jumps = ~begins & (np.diff(step, prepend=step[0]) != 1)
    late = begins & (step != first)
    if np.count_nonzero(jumps) * 2 > np.count_nonzero(~begins) or np.count_nonzero(late) * 2 > np.count_nonzero(begins):
        return ()  # years, or ages: they are not counts of rows
    wrong = jumps | late
    at = int(np.argmax(wrong))
    who = f"{ids[int(episode[at])].as_py()!r}"
    what = f"begins with {int(step[at])}" if begins[at] else f"jumps from {int(step[at - 1])} to {int(step[at])}"
    many = len(np.unique(episode[wrong]))
    episodes = f"{many:,} episodes lack steps" if many > 1 else "an episode lacks steps"
    return (f"column {name!r}: {episodes} (episode {who} {what}); rows are used in order",)


def _refuse_twice(table: LogTable, name: str, order: Int64, who: object, same: Mask) -> NoReturn:
    """Raise an error about the first two rows of an episode at one step."""
    at = int(np.argmax(same))
    first, second = sorted((int(order[at]), int(order[at + 1])))
    value = table.column(name)[second].as_py()
    text = value.decode(errors="replace") if isinstance(value, bytes) else value
    table.refuse_row(
        second,
        name,
        f"episode {who!r} has step {text} twice, first in row {table.place(first)}. Remove one, or renumber.",
    )


def _step(value: object) -> float:
    """Convert a cell to a number."""
    try:
        return number(value)
    except MissingValueError:
        raise
    except ValueError:
        text = value.decode(errors="replace") if isinstance(value, bytes) else value
        raise ValueError(f"{text!r} is not a step that can be ordered. {ORDER}") from None
