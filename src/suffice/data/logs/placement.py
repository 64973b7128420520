"""Where each row of a log belongs: its episode, its step, and its cell in the grid of decisions.

Nothing is sorted. Episodes are numbered through a hash table, and n rows of an episode at n different steps below n
fill it exactly, in whatever order they come; only to explain what is wrong are the rows put in order.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from suffice.data.encoding.columns import Columns
from suffice.data.encoding.tables import EXACT, MISSING, Coded, LogTable, NothingKeptError, V, flag, integer
from suffice.data.episodes import MAX_EPISODES
from suffice.errors import LogError
from suffice.kernels.array_types import Codes, Float, Int64, Mask

NOT_A_WEIGHT = "a weight is the number of episodes one stands for; list an observation of that name with --observations"

MOST_ROWS = (1 << 31) - 1  # of a table: they are numbered in 32 bits
MAX_GRID_CELLS = 1 << 33  # (H+1)·N steps of a byte or more, three times over: beyond this no memory will do


class GridTooLargeError(LogError):
    """More cells than there is room for."""


class TruncatedError(LogError):
    """Episodes that were cut off, where the horizon asks for more."""

    def __init__(self, source: str, early: int, of: int, horizon: int, shortest: int, mark: str | None) -> None:
        self.early, self.shortest, self._of = early, shortest, of
        self._same = source, horizon, mark
        why = f" ({mark!r} is not true on their last row)" if mark else ""
        super().__init__(
            f"{source}: {early:,} of {of:,} episodes are truncated before the horizon {horizon}{why}, no early end; "
            f"cut all with --horizon {shortest} or leave them out with --drop-truncated"
        )

    def __reduce__(self) -> tuple[type[TruncatedError], tuple[str, int, int, int, int, str | None]]:
        """Workers say it to others."""
        source, horizon, mark = self._same
        return TruncatedError, (source, self.early, self._of, horizon, self.shortest, mark)

    def with_others(self, others: Sequence[TruncatedError], of: int) -> TruncatedError:
        """Of a log of so many episodes, of which these are in other pieces."""
        source, horizon, mark = self._same
        early, shortest = ([getattr(error, name) for error in (self, *others)] for name in ("early", "shortest"))
        return TruncatedError(source, sum(early), of, horizon, min(shortest), mark)


@dataclass(frozen=True, slots=True)
class RowPositions:
    """The episode and step of each row, and the length of each episode."""

    episode: Codes  # [rows] place of the episode among the sorted ids
    step: Codes  # [rows] from 0
    ids: pa.Array  # [episodes]
    length: Int64  # [episodes] in rows
    sorted: bool  # the rows were out of order
    first_step: int | None = None  # 0 or 1, if steps are numbered


@dataclass(frozen=True, slots=True)
class GridLayout:
    """What is kept of a log, and the cell of each kept row in the [H, N] grid of decisions."""

    horizon: int  # H
    episodes: Mask  # [episodes] which are kept: N of them
    rows: Mask | None  # [rows] which are kept; None: all
    cell: Int64  # [kept rows] step · N + episode

    @property
    def n(self) -> int:
        """N: how many episodes are kept."""
        return int(np.count_nonzero(self.episodes))

    def select(self, codes: Codes) -> Codes:
        """What the kept rows have of a column."""
        return codes if self.rows is None else codes[self.rows]

    def used(self, column: Coded[V]) -> list[int]:
        """The codes of a column that occur in the kept rows, in order."""
        if self.rows is None:
            return list(range(len(column.values)))
        occurs = np.zeros(len(column.values), dtype=bool)
        occurs[self.select(column.codes)] = True
        return [int(code) for code in np.flatnonzero(occurs)]

    def spread(self, codes: Codes, of_code: Codes, elsewhere: int, later: int) -> Codes:
        """[H+1, N] what each row says about its step or, with `later` = 1, the next; `elsewhere` in all other cells."""
        steps = np.full((self.horizon + 1, self.n), elsewhere, dtype=of_code.dtype)
        steps[later : later + self.horizon].reshape(-1)[self.cell] = of_code[self.select(codes)]
        return steps


def place_rows(table: LogTable, columns: Columns, first_step: int | None = None) -> RowPositions:
    """Number episodes and steps, these from 0 or 1 as the log does; refuse a step that is there twice or not at all."""
    if table.rows > MOST_ROWS:
        table.refuse(f"{table.rows:,} rows are too many for one table; divide the log into several files")
    if columns.episode is not None:
        episode, ids = _number_episodes(table, columns.episode)
    else:
        ends = np.any([_flags(table, name) for name in _ends(columns)], axis=0)
        episode = np.concatenate([[0], np.cumsum(ends[:-1])]).astype(np.int32)
        ids = pa.array(np.arange(episode[-1] + 1))
    length = np.bincount(episode)
    begin = np.cumsum(length) - length
    if columns.step is None:
        order = np.argsort(episode, kind="stable")
        step = np.empty(len(episode), np.int32)
        step[order] = np.arange(len(order)) - begin[episode[order]]
        return RowPositions(episode, step, ids, length, sorted=False)
    coded = table.encode(columns.step, integer)
    steps = np.array(coded.values, dtype=np.int64)
    first = int(steps.min()) if first_step is None else first_step
    if first not in (0, 1):
        text = f"the first step of the log is {first}; count the steps of each episode from 0 or 1"
        table.refuse_any(steps[coded.codes] == first, columns.step, text)
    step = np.minimum(steps - first, table.rows).astype(np.int32)[coded.codes]
    slot = begin[episode]
    slot += step
    filled = np.zeros(table.rows, dtype=bool)
    filled[np.minimum(slot, table.rows - 1)] = True
    if not filled.all() or (step >= length.astype(np.int32)[episode]).any():
        _refuse_steps(table, columns.step, episode, steps[coded.codes], ids, first)
    return RowPositions(episode, step, ids, length, bool((slot[1:] < slot[:-1]).any()), first)


def _number_episodes(table: LogTable, name: str) -> tuple[Codes, pa.Array]:
    """The place of each row's episode among the sorted ids, and the ids: integers, or else text by code point."""
    raw, ids = table.distinct(name)
    if pa.types.is_floating(ids.type) or pa.types.is_decimal(ids.type):
        floats = ids.cast(pa.float64()).to_numpy(zero_copy_only=False)
        exact = (floats == np.floor(floats)) & (np.abs(floats) < EXACT)
        table.refuse_any(
            ~exact[raw], name, "an episode id is an integer or text; write long or fractional ones as text"
        )
        ids = ids.cast(pa.int64())
    elif not pa.types.is_integer(ids.type):
        try:
            ids = ids.cast(pa.string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            table.refuse(f"column {name!r} has type {ids.type}; an episode id is an integer or UTF-8 text")
        table.refuse_any(pc.equal(ids, "").to_numpy(zero_copy_only=False)[raw], name, MISSING)
    order = pc.sort_indices(ids)
    place = np.empty(len(ids), dtype=np.int32)
    place[order.to_numpy()] = np.arange(len(ids), dtype=np.int32)
    return place[raw], ids.take(order)


def _refuse_steps(table: LogTable, name: str, episode: Codes, step: Int64, ids: pa.Array, first: int) -> NoReturn:
    """Say what is wrong with the steps of the first episode in which they are."""
    order = np.lexsort((step, episode))
    episode, step = episode[order], step[order]
    begins = np.diff(episode, prepend=-1) != 0
    before = np.where(begins, first - 1, np.roll(step, 1))
    at = int(np.argmax(step != before + 1))
    who, here, last = f"episode {ids[int(episode[at])].as_py()!r}", int(step[at]), int(before[at])
    if begins[at]:
        text = f"{who} begins with step {here}, not {first}; restore its first row, or count each episode from {first}"
    elif here == last:
        text = f"{who} has step {here} twice, first in row {table.place(int(order[at - 1]))}; remove one or renumber"
    else:
        text = f"{who} jumps from step {last} to step {here}; restore the lost rows, or remove the episode"
    table.refuse_row(int(order[at]), name, text)


def lay_out(
    table: LogTable, rows: RowPositions, horizon: int | None, columns: Columns, drop: bool, room: int | None = None
) -> GridLayout:
    """Cut to the horizon; drop or refuse the episodes that were truncated before it."""
    longest = int(rows.length.max())
    horizon = longest if horizon is None else horizon
    early = _truncated(table, columns, rows) & (rows.length < horizon)
    if early.any() and not drop:
        mark = columns.terminated or (columns.done if columns.truncated is None else None)
        shortest = int(rows.length[early].min())
        raise TruncatedError(table.source, int(np.count_nonzero(early)), len(early), horizon, shortest, mark)
    if early.all():
        nothing = NothingKeptError(
            f"{table.source}: every episode is truncated before the horizon {horizon}; say --horizon {longest}"
        )
        nothing.longest = longest
        raise nothing
    if (cells := (horizon + 1) * np.count_nonzero(~early)) > MAX_GRID_CELLS:
        table.refuse(
            f"{len(early):,} episodes of {horizon:,} steps make {cells:,} cells, mostly padding; say --horizon"
        )
    if room is not None and cells > room:
        raise GridTooLargeError(f"{table.source}: padded to {horizon} decisions it does not fit into memory")
    kept = (rows.step < horizon) & ~early[rows.episode] if early.any() or longest > horizon else None
    step, episode = (rows.step, rows.episode) if kept is None else (rows.step[kept], rows.episode[kept])
    column = np.cumsum(~early) - 1
    return GridLayout(horizon, ~early, kept, step.astype(np.int64) * (column[-1] + 1) + column[episode])


def _truncated(table: LogTable, columns: Columns, rows: RowPositions) -> Mask:
    """[episodes] whether it was cut off: so marked or, where ends are marked, without any.

    What is terminated came to its end, whatever else is marked. Where `truncated` alone is marked, and episodes have
    ids, all others came to their end.
    """
    last = rows.step + 1 == rows.length[rows.episode]
    marked = {name: _flags(table, name) for name in _ends(columns)}
    for name, flags in marked.items():
        table.refuse_any(flags & ~last, name, "true before the last row of the episode; mark the last row only")
    truncated = np.zeros(len(rows.length), dtype=bool)
    if columns.terminated is not None:
        truncated[rows.episode[last & ~marked[columns.terminated]]] = True
        return truncated
    if columns.truncated is not None:
        truncated[rows.episode[last & marked[columns.truncated]]] = True
    if columns.done is not None or columns.episode is None:
        truncated[rows.episode[last & ~np.any([*marked.values()], axis=0)]] = True
    return truncated


def _ends(columns: Columns) -> list[str]:
    """The columns that mark the last row of an episode."""
    return [name for name in (columns.terminated, columns.truncated, columns.done) if name is not None]


def _flags(table: LogTable, name: str) -> Mask:
    column = table.encode(name, flag)
    return np.array(column.values)[column.codes]


def read_weights(table: LogTable, name: str, rows: RowPositions) -> Int64:
    """[episodes] how many each stands for."""
    column = table.encode(name, _positive)
    of_episode = np.empty(len(rows.length), dtype=column.codes.dtype)
    of_episode[rows.episode[::-1]] = column.codes[::-1]  # backwards, so that the first row's is the one that stays
    wrong = of_episode[rows.episode] != column.codes
    if wrong.any():
        who = rows.ids[int(rows.episode[np.argmax(wrong)])].as_py()
        table.refuse_any(wrong, name, f"the weight varies within episode {who!r}; {NOT_A_WEIGHT}")
    weight = np.array(column.values, dtype=np.int64)[of_episode]
    if weight.sum(dtype=np.float64) > MAX_EPISODES:
        table.refuse(f"column {name!r} adds up to more than {MAX_EPISODES:,} episodes; divide the weights by a factor")
    return weight


def read_propensities(table: LogTable, name: str, layout: GridLayout) -> Float:
    """[H+1, N] the probability with which each logged action was chosen; 1 where none was."""
    chances = table.numbers(name, "a propensity is a number")
    text = "a propensity is the probability with which the logged action was chosen, above 0 and at most 1"
    table.refuse_any(~((chances > 0) & (chances <= 1)), name, text)
    steps = np.ones((layout.horizon + 1, layout.n))
    steps[1:].reshape(-1)[layout.cell] = chances if layout.rows is None else chances[layout.rows]
    return steps


def _positive(value: object) -> int:
    with contextlib.suppress(ValueError):
        if (result := integer(value)) > 0:
            return result
    raise ValueError(f"{value!r} is not a positive integer; {NOT_A_WEIGHT}")
