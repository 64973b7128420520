"""The episode and step of each row of a log, and its cell in the grid of decisions.

Rows are not sorted where steps count the rows of an episode: episodes are numbered by a hash table, and n rows at n
different steps below n fill an episode exactly, in any order. Other steps are ranked (`order`).
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from hashlib import blake2b

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from suffice.data.encoding.columns import Columns
from suffice.data.encoding.tables import (
    EXACT,
    Coded,
    LogTable,
    NoEpisodesLeftError,
    V,
    flag,
    integer,
    plain,
    type_name,
)
from suffice.data.episodes import MAX_EPISODES
from suffice.data.logs.order import order_rows
from suffice.errors import LogError, parameter
from suffice.kernels.array_types import Array, Codes, Float, Int32, Int64, Mask, UInt64

MOST_ROWS = (1 << 31) - 1  # of a table: rows are numbered in 32 bits
MAX_GRID_CELLS = 1 << 33  # (H+1)·N; three arrays of this size, of a byte or more per cell, exceed any memory


class GridTooLargeError(LogError):
    """An error for a log whose padded grid does not fit into memory."""


@dataclass(frozen=True, slots=True)
class RowPositions:
    """The episode and step of each row, and the length of each episode."""

    episode: Codes  # [rows] index of the episode among the sorted ids
    step: Codes  # [rows] from 0
    ids: pa.Array  # [episodes]
    length: Int64  # [episodes] in rows
    sorted: bool  # whether the rows were out of order
    first_step: int | None = None  # smallest step of the log, if steps are whole numbers
    notes: tuple[str, ...] = ()
    spans: Array | None = None  # [episodes, 2] first and last step, if there is a step column


@dataclass(frozen=True, slots=True)
class GridLayout:
    """The episodes and rows that are kept, and the cell of each kept row in the [H, N] grid of decisions."""

    horizon: int  # H
    episodes: Mask  # [episodes] whether each is kept: N of them
    rows: Mask | None  # [rows] whether each is kept; None: all
    cell: Int64  # [kept rows] step · N + episode
    length: Int32 | None = None  # [N] observed steps of episodes that may be cut off before the horizon; None: all H+1

    @property
    def n(self) -> int:
        """N, the number of episodes that are kept."""
        return int(np.count_nonzero(self.episodes))

    def select(self, codes: Codes) -> Codes:
        """Return the codes of the kept rows."""
        return codes if self.rows is None else codes[self.rows]

    def used(self, column: Coded[V]) -> list[int]:
        """Return the codes of a column that occur in the kept rows, in order."""
        if self.rows is None:
            return list(range(len(column.values)))
        occurs = np.zeros(len(column.values), dtype=bool)
        occurs[self.select(column.codes)] = True
        return [int(code) for code in np.flatnonzero(occurs)]

    def spread(self, codes: Codes, of_code: Codes, elsewhere: int, later: int) -> Codes:
        """Return the [H+1, N] value of each step, or with `later` = 1 of the next; `elsewhere` in all other cells."""
        steps = np.full((self.horizon + 1, self.n), elsewhere, dtype=of_code.dtype)
        steps[later : later + self.horizon].reshape(-1)[self.cell] = of_code[self.select(codes)]
        return steps


def place_rows(table: LogTable, columns: Columns, whole: bool = False) -> RowPositions:
    """Number episodes, and the rows of each from 0 in the order of their steps; see `order_rows` for `whole`."""
    if table.rows > MOST_ROWS:
        table.refuse(f"{table.rows:,} rows are too many for one table. Divide the log into several files.")
    if columns.episode is not None:
        episode, ids = _number_episodes(table, columns.episode)
    else:
        ends = np.any([_flags(table, name) for name in _ends(columns)], axis=0)
        episode = np.concatenate([[0], np.cumsum(ends[:-1])]).astype(np.int32)
        ids = pa.array(np.arange(episode[-1] + 1))
    length = np.bincount(episode)
    if columns.step is not None:
        found = order_rows(table, columns.step, episode, length, ids, whole)
        return RowPositions(episode, found.step, ids, length, found.sorted, found.first, found.notes, found.spans)
    begin = np.cumsum(length) - length
    order = np.argsort(episode, kind="stable")
    step = np.empty(len(episode), np.int32)
    step[order] = np.arange(len(order)) - begin[episode[order]]
    return RowPositions(episode, step, ids, length, sorted=False)


def _number_episodes(table: LogTable, name: str) -> tuple[Codes, pa.Array]:
    """Return the index of each row's episode among the sorted ids, and the ids: integers, or text by code point."""
    raw, ids = table.distinct(name)
    if pa.types.is_floating(ids.type) or pa.types.is_decimal(ids.type):
        floats = ids.cast(pa.float64()).to_numpy(zero_copy_only=False)
        exact = (floats == np.floor(floats)) & (np.abs(floats) < EXACT)
        if not exact.all():
            value = floats[np.argmin(exact)]
            table.refuse_any(
                raw == np.argmin(exact),
                name,
                f"{value:g} is not an episode id, which is an integer or text. Write long or fractional ids as text.",
            )
        ids = ids.cast(pa.int64())
    elif not pa.types.is_integer(ids.type):
        try:
            ids = ids.cast(pa.string())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
            table.refuse_column(
                name, f"its type is {type_name(ids.type)}, but an episode id is an integer or UTF-8 text. Convert it."
            )
        table.refuse_any(pc.equal(ids, "").to_numpy(zero_copy_only=False)[raw], name, table.missing(name))
    order = pc.sort_indices(ids)
    place = np.empty(len(ids), dtype=np.int32)
    place[order.to_numpy()] = np.arange(len(ids), dtype=np.int32)
    return place[raw], ids.take(order)


def lay_out(
    table: LogTable, rows: RowPositions, horizon: int | None, columns: Columns, drop: bool, room: int | None = None
) -> GridLayout:
    """Cut episodes to the horizon; note the lengths of those that were truncated before it, or drop them.

    If no column marks ends, all shorter episodes may be truncated; `data.ends` decides.
    """
    longest = int(rows.length.max())
    horizon = longest if horizon is None else horizon
    shorter = rows.length < horizon
    truncated = shorter & _truncated(table, columns, rows)
    early = truncated if drop else np.zeros(len(shorter), bool)
    if early.all():
        nothing = NoEpisodesLeftError(
            f"{table.source}: every episode is truncated before the horizon {horizon}. Use "
            f"{parameter('horizon', longest)}."
        )
        nothing.longest = longest
        raise nothing
    if (cells := (horizon + 1) * int(np.count_nonzero(~early))) > MAX_GRID_CELLS:
        table.refuse(
            f"{len(early):,} episodes of {horizon:,} steps make {cells:,} cells, mostly padding. Use a smaller "
            f"{parameter('horizon')}."
        )
    if room is not None and cells > room:
        raise GridTooLargeError(f"{table.source}: padded to {horizon} decisions, the log does not fit into memory")
    kept = (rows.step < horizon) & ~early[rows.episode] if early.any() or longest > horizon else None
    step, episode = (rows.step, rows.episode) if kept is None else (rows.step[kept], rows.episode[kept])
    column = np.cumsum(~early) - 1
    cell = step.astype(np.int64) * (column[-1] + 1) + column[episode]
    cut_off = (truncated if marks_ends(columns) else shorter) & ~early
    length = np.where(cut_off, rows.length + 1, horizon + 1)[~early].astype(np.int32) if cut_off.any() else None
    return GridLayout(horizon, ~early, kept, cell, length)


def marks_ends(columns: Columns) -> bool:
    """Return whether a column marks the ends of episodes."""
    return bool(_ends(columns))


def _truncated(table: LogTable, columns: Columns, rows: RowPositions) -> Mask:
    """Return the [episodes] mask of those that were cut off: marked as truncated, or without a mark of their end.

    A terminated episode reached its end, whatever else is marked. Where only `truncated` is marked, and episodes have
    ids, all others reached their end.
    """
    if not marks_ends(columns):
        return np.zeros(len(rows.length), dtype=bool)
    last = rows.step + 1 == rows.length[rows.episode]
    marked = {name: _flags(table, name) for name in _ends(columns)}
    for name, flags in marked.items():
        table.refuse_any(flags & ~last, name, "it is true before the last row of the episode. Mark the last row only.")
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
    """Return the columns that mark the last row of an episode."""
    return [name for name in (columns.terminated, columns.truncated, columns.done) if name is not None]


def _flags(table: LogTable, name: str) -> Mask:
    column = table.encode(name, flag)
    return np.array(column.values)[column.codes]


def read_weights(table: LogTable, name: str, rows: RowPositions) -> Int64:
    """Return the [episodes] weights, the number of episodes that each stands for."""
    column = table.encode(name, _positive)
    of_episode = _codes_of_episodes(table, name, rows, column.codes, _not_a_weight())
    weight = np.array(column.values, dtype=np.int64)[of_episode]
    if weight.sum(dtype=np.float64) > MAX_EPISODES:
        table.refuse_column(
            name, f"the weights add up to more than {MAX_EPISODES:,} episodes. Divide them by a factor."
        )
    return weight


def read_groups(table: LogTable, name: str, rows: RowPositions) -> UInt64:
    """Return the [episodes] hash of the group that each belongs to; the same for a value in any log."""
    column = table.encode(name, plain)
    fix = f"An episode belongs to one group. Correct it, or leave out {parameter('group_column')}."
    of_episode = _codes_of_episodes(table, name, rows, column.codes, fix)
    texts = (f"{int(value) if isinstance(value, bool) else value}".encode() for value in column.values)
    hashes = np.array([int.from_bytes(blake2b(text, digest_size=8).digest()) for text in texts], np.uint64)
    return np.asarray(hashes[of_episode])


def _codes_of_episodes(table: LogTable, name: str, rows: RowPositions, codes: Codes, fix: str) -> Codes:
    """Return the [episodes] code of each episode; refuse a column that varies within one."""
    of_episode = np.empty(len(rows.length), dtype=codes.dtype)
    of_episode[rows.episode[::-1]] = codes[::-1]  # backwards, so that the first row of an episode decides
    wrong = of_episode[rows.episode] != codes
    if wrong.any():
        who = rows.ids[int(rows.episode[np.argmax(wrong)])].as_py()
        table.refuse_any(wrong, name, f"the {table.roles[name]} varies within episode {who!r}. {fix}")
    return of_episode


def read_propensities(table: LogTable, name: str, layout: GridLayout) -> Float:
    """Return the [H+1, N] probability with which each logged action was chosen; 1 where none was."""
    chances = table.numbers(name, "a propensity is a number. Convert it.")
    wrong = ~((chances > 0) & (chances <= 1))
    if wrong.any():
        value = chances[np.argmax(wrong)]
        text = f"{value:g} is not a probability, above 0 and at most 1, of the logged action. Correct it, or remove the"
        table.refuse_any(wrong, name, f"{text} column.")
    steps = np.ones((layout.horizon + 1, layout.n))
    steps[1:].reshape(-1)[layout.cell] = chances if layout.rows is None else chances[layout.rows]
    return steps


def _positive(value: object) -> int:
    with contextlib.suppress(ValueError):
        if (result := integer(value)) > 0:
            return result
    raise ValueError(f"{_text(value)!r} is not a positive integer. {_not_a_weight()}")


def _text(value: object) -> object:
    """Return the text of a cell that was read as bytes, for messages."""
    return value.decode(errors="replace") if isinstance(value, bytes) else value


def _not_a_weight() -> str:
    observed = parameter("observations")
    return f"A weight is the number of episodes that one stands for. If it is an observation, name it in {observed}."
