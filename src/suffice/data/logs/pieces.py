"""Reading a log in pieces of whole episodes, so that it is never in memory as a whole.

An episode begins where the id changes, or after a row that marks the end of the episode before. A *part* of a log is
the episodes that begin in some of its row groups: different machines can read different parts independently.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from hashlib import blake2b
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from suffice.data.encoding.columns import ENDS, KNOWN, Columns, known_as, roles_of
from suffice.data.encoding.tables import NO_ROWS, LogTable
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.nesting import is_list, list_lengths, lists_of_steps
from suffice.data.logs.reading import ReadOptions, flat_table
from suffice.errors import LogError, parameter
from suffice.kernels.array_types import Mask, UInt64

FIRST_ROWS = 1000  # rows by which columns are found
USUAL_COLUMNS = 8  # columns of a usual log; pieces of wider ones have fewer rows


class Extent(NamedTuple):
    """The result of a first pass over the ids of a part."""

    episodes: int
    longest: int  # decisions
    first: Any  # ids of the first and the last episode; None where there are none
    last: Any
    ascending: bool  # whether ids are ascending, as they are in memory
    seen: UInt64  # [episodes] hashes of the ids; empty if they are ascending

    @classmethod
    def combine(cls, parts: Sequence[Extent], name: str) -> Extent:
        """Combine the parts of a log in order; refuse episodes whose rows are not contiguous."""
        parts = [part for part in parts if part.episodes]
        if not parts:
            raise LogError(f"{name}: {NO_ROWS}")
        ascending = cls.in_order(parts) and all(part.ascending for part in parts)
        if not ascending:
            seen = np.concatenate([part.seen for part in parts]) if len(parts) > 1 else parts[0].seen
            seen.sort()
            if (seen[1:] == seen[:-1]).any():
                raise LogError(
                    f"{name}: the rows of an episode are not contiguous, or two episodes have the same id, and the log "
                    "is too large to sort in memory. Sort it by episode and step, give every file its own ids, or "
                    f"raise {parameter('memory')}."
                )
        longest = max(part.longest for part in parts)
        return cls(sum(p.episodes for p in parts), longest, parts[0].first, parts[-1].last, ascending, _NONE)

    @staticmethod
    def in_order(parts: Sequence[Extent]) -> bool:
        """Return whether ids are ascending from part to part."""
        parts = [part for part in parts if part.episodes]
        return all(a.last is None or a.last < b.first for a, b in pairwise(parts))


_NONE: UInt64 = np.zeros(0, np.uint64)


@dataclass(frozen=True, slots=True)
class Pieces:
    """A log that is read in pieces of whole episodes."""

    dataset: Dataset
    columns: Columns  # by role
    read: tuple[str, ...]  # the columns to read
    lists: str | None  # the column whose lists are the steps of episodes; None: a row is a decision
    rows: int  # approximate number of rows of a piece

    @classmethod
    def of(cls, dataset: Dataset, how: ReadOptions, decisions: int) -> Pieces:
        """Find the columns by the first rows, as when a log is read as a whole."""
        for _, head in dataset.batches(0, len(dataset.units), dataset.schema.names, FIRST_ROWS):
            if len(head):
                break
        else:
            raise LogError(f"{dataset.name}: {NO_ROWS}")
        opened = LogTable.of(head, dataset.name, dataset.place)
        opened = replace(opened, episode_rows=_are_episodes(dataset, how))
        _, columns, _ = flat_table(opened, how)
        lists = lists_of_steps(opened, columns)
        wanted = [lists, *(columns.observations or ())]
        wanted += [getattr(columns, role) for role in KNOWN]
        read = [n for n in opened.names if any(w == n or w.startswith(f"{n}.") for w in wanted if w is not None)]
        if _are_inside(opened, columns.episode, lists):
            raise LogError(
                f"{dataset.name}: the episode ids are within lists or records, and the log is too large to read as a "
                f"whole. Write them as a separate column, or raise {parameter('memory')}."
            )
        rows = decisions * dataset.rows // dataset.decisions * USUAL_COLUMNS // max(USUAL_COLUMNS, len(read))
        return cls(dataset, columns, tuple(read), lists, max(1, rows))

    @property
    def nested(self) -> bool:
        """Whether a row holds several decisions."""
        return self.lists is not None

    def extent(self, begin: int, end: int, marked: bool = False) -> Extent:
        """Make a first pass over the part that begins in units begin..end−1, by the columns that bound episodes.

        Hashes of ascending ids are needed only if other parts are out of order: `marked` asks for them.
        """
        n, longest, grows, ends = 0, 0, True, []  # type: int, int, bool, list[Any]
        seen: list[UInt64] = []
        columns = (*self._bounds(), *filter(None, [self.lists]))
        for first, table, starts in self._whole(begin, end, columns):
            places = np.flatnonzero(starts)
            n, longest = n + len(places), max(longest, int(np.add.reduceat(self._decisions(table), places).max()))
            if self.columns.episode not in columns:
                continue
            self._opened(first, table).complete(self.columns.episode)
            ids = _plain(table.column(self.columns.episode)).take(pa.array(places))
            within = bool(pc.all(pc.less(ids[:-1], ids[1:]), min_count=0).as_py())
            grows = grows and within and not (ends and ids[0].as_py() <= ends[1])
            if not grows and not marked:
                return self.extent(begin, end, marked=True)
            ends = [ends[0] if ends else ids[0].as_py(), ids[-1].as_py()]
            if marked:
                seen.append(_marks(ids))
        first_id, last_id = ends or (None, None)
        return Extent(n, longest, first_id, last_id, grows, _joined(seen))

    def _decisions(self, table: pa.Table) -> NDArray[np.int64]:
        """Return the [rows] number of decisions of each row."""
        return np.ones(len(table), np.int64) if self.lists is None else list_lengths(table.column(self.lists))

    def tables(self, begin: int, end: int) -> Iterator[LogTable]:
        """Yield the pieces of the part that begins in units begin..end−1."""
        for first, table, _ in self._whole(begin, end, self.read):
            yield self._opened(first, table)

    def has_missing(self, name: str, how: ReadOptions) -> bool:
        """Return whether an observation column of numbers lacks some, in any piece."""
        if name in self.dataset.schema.names and not self.nested:
            tables = replace(self, read=(*self._bounds(), name)).tables(0, len(self.dataset.units))
        else:
            tables = (flat_table(table, how)[0] for table in self.tables(0, len(self.dataset.units)))
        return any(bool((table.numbers(name) == -np.inf).any()) for table in tables)

    def _opened(self, first: int, table: pa.Table) -> LogTable:
        opened = LogTable.of(table, self.dataset.name)
        place, roles = (lambda row: self.dataset.place(first + row)), roles_of(self.columns)
        return replace(opened, place=place, part=True, roles=roles, episode_rows=self.nested)

    def _bounds(self) -> tuple[str, ...]:
        """Return the columns that show where an episode begins; none if every row begins one."""
        if self.columns.episode is None:
            return tuple(filter(None, (getattr(self.columns, role) for role in ENDS)))
        return (self.columns.episode,) if self.columns.episode in self.dataset.schema.names else ()

    def _whole(self, begin: int, end: int, columns: Sequence[str]) -> Iterator[tuple[int, pa.Table, Mask]]:
        """Yield pieces of whole episodes: number of the first row, the rows, and which of them begin an episode."""
        units = self.dataset.units
        stop = units[end].first if end < len(units) else self.dataset.rows
        before = self._last_of(begin)
        inside = before is None  # whether the rows belong to an episode of this part
        kept: list[tuple[pa.Table, Mask]] = []
        at = units[begin].first if begin < len(units) else 0
        for first, table in self.dataset.batches(begin, len(units), columns, self.rows):
            begins, before = self._begins(table, before)
            places = np.flatnonzero(begins)
            others = places[places >= stop - first]  # episodes of the next part
            high = int(others[0]) if len(others) else len(table)
            low = 0
            if not inside:
                low = int(places[0]) if len(places) else len(table)
                at, inside = first + low, len(places) > 0
            last = int(places[-1]) if len(places) and not len(others) else 0
            if begins[last] and sum(len(begun) for _, begun in kept) + last - low >= max(self.rows // 2, 1):
                kept.append((table[low:last], begins[low:last]))
                yield at, *_combine(kept)
                at, low, kept = first + last, last, []
            kept.append((table[low:high], begins[low:high]))
            if len(others):
                break
        if any(len(begun) for _, begun in kept):
            yield at, *_combine(kept)

    def _last_of(self, begin: int) -> pa.Table | None:
        """Return the row before a unit, which shows whether an episode continues; None if there is none."""
        if not self._bounds():
            return None
        for unit in range(begin - 1, -1, -1):  # row groups may be empty
            for _, table in self.dataset.batches(unit, unit + 1, self._bounds(), self.rows):
                last = table[-1:]
            if self.dataset.units[unit].rows:
                return last
        return None

    def _begins(self, table: pa.Table, before: pa.Table | None) -> tuple[Mask, pa.Table | None]:
        """Return the [rows] mask of rows that begin an episode, given the row before the first; and the last row."""
        if not self._bounds():
            return np.ones(len(table), bool), None
        joined = table.select(self._bounds())
        rows = joined if before is None else pa.concat_tables([before, joined])
        if self.columns.episode is not None:
            ids = _plain(rows.column(self.columns.episode))
            changes = pc.fill_null(pc.not_equal(ids[1:], ids[:-1]), True).to_numpy(zero_copy_only=False)
        else:
            marked = [_flags(rows.column(name))[:-1] for name in self._bounds()]
            changes = reduce(np.logical_or, marked)
        begins = np.concatenate([[True], changes]) if before is None else changes
        return begins, joined[-1:]


def _are_episodes(dataset: Dataset, how: ReadOptions) -> bool:
    """Return whether rows are episodes: some list of rewards has a length other than 1, perhaps not the first ones."""
    named = how.encoder.columns if how.encoder.like is None else how.encoder.columns.over(how.encoder.like)
    reward = named.reward or known_as("reward", dataset.schema.names)
    if reward is None or reward not in dataset.schema.names or not is_list(dataset.schema.field(reward).type):
        return False
    batches = dataset.batches(0, len(dataset.units), [reward], FIRST_ROWS)
    return any((list_lengths(table.column(reward)) != 1).any() for _, table in batches)


def _joined(parts: list[UInt64]) -> UInt64:
    """Concatenate in any order, and empty the list on the way, so that memory is not doubled."""
    joined = np.empty(sum(map(len, parts)), np.uint64)
    at = 0
    while parts:
        part = parts.pop()
        joined[at : at + len(part)] = part
        at += len(part)
    return joined


def _combine(kept: Sequence[tuple[pa.Table, Mask]]) -> tuple[pa.Table, Mask]:
    tables, begins = zip(*kept, strict=True)
    return pa.concat_tables(tables), np.concatenate(begins)


def _are_inside(table: LogTable, ids: str | None, lists: str | None) -> bool:
    """Return whether ids are part of another column; rows that are episodes without ids are numbered."""
    if ids is None or ids in table.names:
        return ids is not None and bool(pa.types.is_nested(table.types[ids]))
    kind = None if lists is None else table.types[lists].value_type
    return kind is None or (pa.types.is_struct(kind) and ids in [field.name for field in kind])


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """Return an id column without dictionaries, so that its values can be compared."""
    array = column.combine_chunks()
    array = array.chunk(0) if isinstance(array, pa.ChunkedArray) and array.num_chunks == 1 else array
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _flags(column: pa.ChunkedArray) -> Mask:
    """Convert flags to booleans; values that are not flags are refused later, when they are read."""
    marked = pc.is_in(pc.utf8_lower(_plain(column).cast(pa.string())), pa.array(["true", "1", "1.0"]))
    return np.asarray(pc.fill_null(marked, False).to_numpy(zero_copy_only=False))


def _marks(ids: pa.Array) -> UInt64:
    """Return the [n] hashes of ids: two different ids collide with probability 2⁻⁶⁴."""
    if pa.types.is_integer(ids.type):
        values = ids.to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64)
        return np.asarray((values + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))
    texts = (text.as_py().encode() for text in ids.cast(pa.string()))
    return np.fromiter((int.from_bytes(blake2b(text, digest_size=8).digest()) for text in texts), np.uint64, len(ids))
