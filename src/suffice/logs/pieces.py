"""A log in pieces of whole episodes, so that it never is in memory as a whole.

Where an episode begins shows in its id, or in a mark on the last row of the one before. A *part* of a log is the
episodes that begin in some of its row groups: parts can be read by different machines that know nothing of each other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain, pairwise
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from suffice.errors import LogError
from suffice.logs.columns import ENDS, Columns
from suffice.logs.datasets import Dataset
from suffice.logs.reading import HowToRead, flat_table
from suffice.logs.tables import Bools, Table

UInt64 = NDArray[np.uint64]


class Extent(NamedTuple):
    """What a first pass over the ids of a part shows."""

    episodes: int
    longest: int  # decisions
    first: Any  # ids of the first and the last episode; None where there are none
    last: Any
    ascending: bool  # ids grow, as they do in memory
    seen: UInt64  # [episodes] what ids are known again by; empty if they grow

    @classmethod
    def together(cls, parts: Sequence[Extent], name: str) -> Extent:
        """Of a whole log, from its parts in order; refuses episodes whose rows do not lie together."""
        parts = [part for part in parts if part.episodes]
        if not parts:
            raise LogError(f"{name}: there are columns but no rows; a log has one row per decision")
        ascending = cls.in_order(parts) and all(part.ascending for part in parts)
        if not ascending:
            seen = np.sort(np.concatenate([part.seen for part in parts]))
            if (seen[1:] == seen[:-1]).any():
                raise LogError(
                    f"{name}: the rows of an episode do not lie together, and the log is too large to sort in memory; "
                    "sort it by episode and step, or raise --memory"
                )
        longest = max(part.longest for part in parts)
        return cls(sum(p.episodes for p in parts), longest, parts[0].first, parts[-1].last, ascending, _NONE)

    @staticmethod
    def in_order(parts: Sequence[Extent]) -> bool:
        """Whether ids grow from part to part."""
        parts = [part for part in parts if part.episodes]
        return all(a.last is None or a.last < b.first for a, b in pairwise(parts))


_NONE: UInt64 = np.zeros(0, np.uint64)


@dataclass(frozen=True, slots=True)
class Pieces:
    """How to go through a log."""

    dataset: Dataset
    columns: Columns  # by their roles
    read: tuple[str, ...]  # the columns that matter
    nested: bool  # a row is an episode
    rows: int  # of a piece, about

    @classmethod
    def of(cls, dataset: Dataset, how: HowToRead, rows: int) -> Pieces:
        """Find the columns, as they are found when a log is read as a whole."""
        opened = Table.of(dataset.schema.empty_table(), dataset.name)
        table, columns, _ = flat_table(opened, how)
        wanted = {name for role in Columns.__slots__ if role != "observations" and (name := getattr(columns, role))}
        wanted |= set(columns.observations or ())
        flat = wanted <= set(dataset.schema.names)
        nested = table.names != opened.names or not flat
        return cls(dataset, columns, tuple(n for n in dataset.schema.names if not flat or n in wanted), nested, rows)

    def extent(self, begin: int, end: int, marked: bool = False) -> Extent:
        """What a first pass over the part that begins in units begin..end−1 shows, by the columns that bound episodes.

        Ids that grow need not be kept, unless other parts are out of order: then they are wanted `marked`.
        """
        if self.nested:
            return self._extent_of_rows(begin, end)
        sizes: list[NDArray[np.int64]] = []
        ids: list[pa.Array] = []
        for _, table, starts in self._whole(begin, end, self._bounds()):
            places = np.flatnonzero(starts)
            sizes.append(np.diff(places, append=len(starts)))
            if self.columns.episode is not None:
                ids.append(_plain(table.column(self.columns.episode)).take(pa.array(places)))
        if not sizes:
            return Extent(0, 0, None, None, True, _NONE)
        n, longest = sum(map(len, sizes)), int(max(part.max() for part in sizes))
        if not ids:
            return Extent(n, longest, None, None, True, _NONE)
        known = pa.chunked_array(ids).combine_chunks()
        grows = len(known) < 2 or bool(pc.all(pc.less(known[:-1], known[1:])).as_py())
        seen = _NONE if grows and not marked else _marks(known)
        return Extent(n, longest, known[0].as_py(), known[-1].as_py(), grows, seen)

    def _extent_of_rows(self, begin: int, end: int) -> Extent:
        n, longest = 0, 0
        for _, table in self.dataset.batches(begin, end, self.read, self.rows):
            for column in table.columns:
                if pa.types.is_list(column.type) or pa.types.is_large_list(column.type):
                    longest = max(longest, pc.max(pc.list_value_length(column)).as_py() or 0)
            n += len(table)
        return Extent(n, longest, None, None, True, _NONE)

    def tables(self, begin: int, end: int) -> Iterator[Table]:
        """The pieces of the part that begins in units begin..end−1."""
        if self.nested:
            for first, table in self.dataset.batches(begin, end, self.read, self.rows):
                yield self._opened(first, table)
            return
        for first, table, _ in self._whole(begin, end, self.read):
            yield self._opened(first, table)

    def _opened(self, first: int, table: pa.Table) -> Table:
        opened = Table.of(table, self.dataset.name)
        return replace(opened, place=lambda row: self.dataset.place(first + row))

    def _bounds(self) -> tuple[str, ...]:
        ends = (getattr(self.columns, role) for role in ENDS)
        return tuple(filter(None, ends)) if self.columns.episode is None else (self.columns.episode,)

    def _whole(self, begin: int, end: int, columns: Sequence[str]) -> Iterator[tuple[int, pa.Table, Bools]]:
        """Pieces of whole episodes: the first row's number, the rows, and which of them begin an episode."""
        before = self._last_of(begin)
        kept: list[pa.Table] = []
        starts: list[Bools] = []
        at = self.dataset.units[begin].first if begin < len(self.dataset.units) else 0
        inside = before is None  # of an episode that begins here
        spans = ((begin, end), (end, len(self.dataset.units)))  # so that no batch goes on beyond the end
        for first, table in chain(*(self.dataset.batches(*span, columns, self.rows) for span in spans)):
            begins, before = self._begins(table, before)
            places = np.flatnonzero(begins)
            beyond = end < len(self.dataset.units) and first >= self.dataset.units[end].first
            if not inside:
                if not len(places):
                    continue
                table, begins, at, inside = table[places[0] :], begins[places[0] :], first + int(places[0]), True
                places = places - places[0]
            if beyond and len(places):  # what begins from here on is another part's
                table, begins = table[: places[0]], begins[: places[0]]
            elif len(places) and sum(map(len, kept)) + int(places[-1]) >= self.rows // 2:
                cut = int(places[-1])
                kept, starts = [*kept, table[:cut]], [*starts, begins[:cut]]
                if cut or len(kept) > 1:
                    piece = pa.concat_tables(kept)
                    yield at, piece, np.concatenate(starts)
                    at += len(piece)
                kept, starts, table, begins = [], [], table[cut:], begins[cut:]
            kept, starts = [*kept, table], [*starts, begins]
            if beyond and len(places):
                break
        if sum(map(len, kept)):
            yield at, pa.concat_tables(kept), np.concatenate(starts)

    def _last_of(self, begin: int) -> pa.Table | None:
        """The row before a unit, by which it shows whether an episode goes on; None before the first."""
        if begin == 0:
            return None
        found = [table[-1:] for _, table in self.dataset.batches(begin - 1, begin, self._bounds(), self.rows)]
        return found[-1] if found else self._last_of(begin - 1)  # a row group may be empty

    def _begins(self, table: pa.Table, before: pa.Table | None) -> tuple[Bools, pa.Table]:
        """[rows] whether each row begins an episode, given the row before the first; and the last row."""
        joined = table.select(self._bounds())
        rows = joined if before is None else pa.concat_tables([before, joined])
        if self.columns.episode is not None:
            ids = _plain(rows.column(self.columns.episode))
            changes = pc.fill_null(pc.not_equal(ids[1:], ids[:-1]), True).to_numpy(zero_copy_only=False)
        else:
            marked = [_flags(rows.column(name))[:-1] for name in self._bounds()]
            changes = reduce(np.logical_or, marked)
        begins = np.concatenate([[True], changes]) if before is None else changes
        return begins, joined[-1:] if len(joined) else before


def _plain(column: pa.ChunkedArray) -> pa.Array:
    """An id column without dictionaries, so that it compares."""
    array = column.combine_chunks()
    array = array.chunk(0) if isinstance(array, pa.ChunkedArray) and array.num_chunks == 1 else array
    return array.dictionary_decode() if pa.types.is_dictionary(array.type) else array


def _flags(column: pa.ChunkedArray) -> Bools:
    """Marks as they are read; what is no mark is complained of then."""
    marked = pc.is_in(pc.utf8_lower(_plain(column).cast(pa.string())), pa.array(["true", "1", "1.0"]))
    return np.asarray(pc.fill_null(marked, False).to_numpy(zero_copy_only=False))


def _marks(ids: pa.Array) -> UInt64:
    """[n] what ids are known again by: two that differ share one with probability 2⁻⁶⁴."""
    if pa.types.is_integer(ids.type):
        values = ids.to_numpy(zero_copy_only=False).astype(np.int64).view(np.uint64)
        return np.asarray((values + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15))
    texts = np.array([text.encode() for text in ids.cast(pa.string()).to_pylist()])
    letters = texts.view(np.uint8).reshape(len(texts), -1)
    mark = np.full(len(texts), 0xCBF29CE484222325, np.uint64)
    for column in letters.T:
        mark = (mark ^ column) * np.uint64(0x100000001B3)
        mark ^= mark >> np.uint64(29)
    return mark
