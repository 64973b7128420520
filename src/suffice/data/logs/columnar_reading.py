"""Reading a log column by column, before it has an alphabet.

Only one column is in memory in full at a time. Columns that cannot matter (constants), or that cannot be symbols
(identifiers, text without frequent values), are not read into the grid; the reason is part of the result. Of a large
log, episodes are drawn at random (`episode_sample`). They are put into a random order that depends on their content
alone: neither the order of the episodes in the log nor their ids matter.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

import numpy as np
import pyarrow as pa

from suffice.data.alphabet import Value, in_order, plain, smallest_uint
from suffice.data.column_ends import decide_columnar_ends
from suffice.data.columnar import ColumnarLog, LoggedColumn
from suffice.data.content import content_order
from suffice.data.encoding.columns import Columns
from suffice.data.encoding.grouping import Frequent, frequent_values
from suffice.data.encoding.kinds import CATEGORY, ColumnEncoder, ColumnRequest, LogColumn
from suffice.data.encoding.parts import PARTS, is_time, with_parts
from suffice.data.encoding.tables import Coded, LogTable
from suffice.data.ends import NO_EARLY_ENDS, Ends, LogEnds
from suffice.data.logs.episode_keys import episode_hashes, is_number
from suffice.data.logs.episode_sample import EpisodeSample, sample_in_memory
from suffice.data.logs.placement import GridLayout, lay_out, place_rows
from suffice.data.logs.problems import listing_problems
from suffice.data.logs.reading import ReadOptions, flat_table, read_table
from suffice.errors import LogError
from suffice.kernels.array_types import Array, Float, Int64, Mask

FEW_VALUES = 16  # distinct numbers up to which a column is one of categories
DENSE = 4  # distinct whole numbers are identifiers if their range is at most this multiple of their number
SOME_VALUES = 64  # distinct whole numbers up to which they may be categories or be cut
SEED = 0  # of the order of episodes

Reason = Literal["constant", "identifier", "many values"]


@dataclass(frozen=True, slots=True, eq=False)
class ColumnarReading:
    """The columns of a log, those that were left out with the reason, and how the given ones are encoded."""

    log: ColumnarLog
    offered: tuple[str, ...]  # all observation columns, in order
    left_out: Mapping[str, Reason]
    kinds: Mapping[str, ColumnEncoder]  # of columns that the caller bins
    columns: Columns  # by role
    ends: LogEnds = NO_EARLY_ENDS  # decided by all columns


def read_columnar(opened: LogTable, how: ReadOptions, most_steps: int | None = None) -> ColumnarReading:
    """Read the columns of an open log; of a large one, those of episodes drawn at random."""
    return read_sample(sample_in_memory(opened, how, most_steps))


def read_sample(sample: EpisodeSample) -> ColumnarReading:
    """Read the columns of episodes that were drawn from a log; an error lists all of its problems."""
    how = sample.how
    table, columns, _ = flat_table(sample.table, how)
    with listing_problems(table, columns, how.encoder, how.max_values):
        return _read_flat(sample.table, table, columns, how)


def _read_flat(opened: LogTable, table: LogTable, columns: Columns, how: ReadOptions) -> ColumnarReading:
    offered = columns.observations or ()
    layout = lay_out(table, place_rows(table, columns), how.horizon, columns, how.drop_truncated)
    without = replace(how, encoder=replace(how.encoder, columns=replace(columns, observations=()), like=None))
    request = how.encoder.by_column(columns)
    own = {name: kind for name, kind in how.encoder.kinds.items() if name in (columns.action, columns.reward)}
    undecided: Ends = "censored" if how.ends == "auto" else how.ends
    without = replace(without, encoder=replace(without.encoder, kinds=own), ends=undecided)
    base, report = read_table(opened, without)
    hashes = episode_hashes(table, columns, layout)
    parts = _time_parts(table, columns, request)
    table = replace(with_parts(table, list(parts)), roles={**table.roles, **dict.fromkeys(parts, "observation")})
    order = content_order(hashes, base.weight)[np.random.default_rng(SEED).permutation(layout.n)]
    base, reader = base.columns(order), _Reader(table, layout, request, how.max_values, order)
    found: list[LoggedColumn] = []
    left_out: dict[str, Reason] = {}
    fitted: dict[str, ColumnEncoder] = {}
    for name in [*(name for name in offered if name not in parts.values()), *parts]:
        column, kind = reader.read(name)
        if isinstance(column, str):
            left_out |= {} if name in parts else {name: column}
        else:
            found.append(column)
        if kind != CATEGORY:
            fitted[name] = kind
    log, ends = ColumnarLog.of(base.compact(), found), report.ends
    if how.ends == "auto" and ends.kind == "censored":
        log, decided = decide_columnar_ends(log, ends)
        ends = decided.named(columns.action, columns.reward)
    return ColumnarReading(log, offered, left_out, fitted, columns, ends)


def _time_parts(table: LogTable, columns: Columns, request: Mapping[str, ColumnRequest]) -> dict[str, str]:
    """Return the parts that are read instead of dates and times with many values, and of the steps, by their column."""
    observed = [name for name in columns.observations or () if name not in request]
    times = [name for name in observed if is_time(table, name) and len(table.distinct(name)[1]) > FEW_VALUES]
    if columns.step is not None and is_time(table, columns.step):
        times.append(columns.step)
    return {f"{name}.{part}": name for name in times for part in PARTS}


@dataclass(frozen=True)
class _Reader:
    """Reads single columns onto the grid of decisions."""

    table: LogTable
    layout: GridLayout
    kinds: Mapping[str, ColumnRequest]
    max_values: int
    chosen: Int64 | None = None  # episodes to keep, in order; None: all in the order of the log

    def read(self, name: str) -> tuple[LoggedColumn | Reason, ColumnEncoder]:
        """Return a column or why it is left out, and how it is encoded if the caller says so."""
        if name in self.kinds:
            column = LogColumn(self.table, name, self.max_values)
            kind = self.kinds[name].fit(column)
            return self._categories(name, kind.encode(column)), kind
        if is_number(self.table.types[name]):
            return self._numbers(name), CATEGORY
        raw, distinct = self.table.distinct(name)
        if len(distinct) > FEW_VALUES and self._identifies(self._kept(raw)):
            return "identifier", CATEGORY
        coded = CATEGORY.encode(LogColumn(self.table, name))
        if len(coded.values) <= SOME_VALUES:
            return self._categories(name, coded), CATEGORY
        groups = Frequent(frequent_values(coded.values, coded.codes))
        found = self._categories(name, groups.encode(LogColumn(self.table, name)))
        return ("many values" if isinstance(found, str) else found), groups

    def _numbers(self, name: str) -> LoggedColumn | Reason:
        kept = self.table.numbers(name) if self._rows is None else self._some_numbers(name, self._rows)
        distinct = np.unique(kept)
        if len(distinct) == 1:
            return "constant"
        known = distinct[distinct > -np.inf]  # without missing values
        whole = bool((known == np.floor(known)).all())
        counts = whole and known[-1] - known[0] < DENSE * len(known)
        if counts and len(distinct) > FEW_VALUES and self._identifies(kept):
            return "identifier"
        grid = np.zeros((self.layout.horizon, self._n))
        grid.reshape(-1)[self._cells] = kept
        if len(distinct) <= FEW_VALUES or (whole and len(distinct) <= SOME_VALUES):
            column = self._categories(name, CATEGORY.encode(LogColumn(self.table, name, None)))
            if isinstance(column, str) or len(distinct) <= FEW_VALUES:
                return column
            return replace(column, numbers=grid)
        return LoggedColumn(name, numbers=grid)

    def _categories(self, name: str, column: Coded[Value]) -> LoggedColumn | Reason:
        values = in_order(column.values)
        if len(values) == 1:
            return "constant"
        place = {value: code for code, value in enumerate(values)}
        of_code = np.array([place[plain(value)] for value in column.values], smallest_uint(len(values)))
        return LoggedColumn(name, self._grid(of_code[column.codes], of_code.dtype), values)

    def _some_numbers(self, name: str, rows: Mask) -> Float:
        """Return the numbers of some rows; those of a log in single precision are parsed only there."""
        mask = pa.array(rows)
        some = replace(self.table, rows=int(rows.sum()), column=lambda name: self.table.column(name).filter(mask))
        try:
            return some.numbers(name)
        except LogError:
            return np.asarray(self.table.numbers(name)[rows])  # names the right row

    def _grid(self, rows: Array, kind: type | np.dtype[np.unsignedinteger]) -> Array:
        """Return the values of the kept episodes on the grid, [H, N]."""
        grid = np.zeros((self.layout.horizon, self._n), kind)
        grid.reshape(-1)[self._cells] = self._kept(rows)
        return grid

    def _kept(self, rows: Array) -> Array:
        """Return the values of the rows of the kept episodes."""
        return rows if self._rows is None else rows[self._rows]

    @property
    def _n(self) -> int:
        return self.layout.n if self.chosen is None else len(self.chosen)

    @cached_property
    def _rows(self) -> Mask | None:
        """[rows] whether each is kept; None: all."""
        if self.chosen is None:
            return self.layout.rows
        episodes = np.zeros(self.layout.n, bool)
        episodes[self.chosen] = True
        kept = np.asarray(episodes[self.layout.cell % self.layout.n])
        if self.layout.rows is None:
            return kept
        rows = self.layout.rows.copy()
        rows[rows] = kept
        return rows

    @cached_property
    def _cells(self) -> Int64:
        """Cells of the kept rows in the grid of the kept episodes, step · N + episode."""
        if self.chosen is None:
            return self.layout.cell
        place = np.full(self.layout.n, -1, np.int64)
        place[self.chosen] = np.arange(len(self.chosen))
        step, episode = np.divmod(self.layout.cell, self.layout.n)
        kept = place[episode] >= 0
        return np.asarray(step[kept] * len(self.chosen) + place[episode[kept]])

    def _identifies(self, kept: Array) -> bool:
        """Return whether every row, or every episode, has a value of its own."""
        distinct = len(np.unique(kept))
        if distinct == len(kept):
            return True
        if distinct != self._n:
            return False
        episode = self._cells % self._n
        first = np.zeros(self._n, kept.dtype)
        first[episode] = kept
        return bool((first[episode] == kept).all())
