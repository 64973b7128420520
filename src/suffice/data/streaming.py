"""Reading logs that are larger than memory: piece by piece, into a file of steps.

First the ids alone are gone through: how many episodes, how long, and whether their rows lie together. Then each piece
is read as any log is, by the same horizon and encoder, and its steps are written away. Peak memory is a few pieces,
whose size follows from the limit; the result is the same to the bit as that of reading all at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from suffice.data.alphabet import Value
from suffice.data.encoding.columns import Columns
from suffice.data.encoding.kinds import LogColumn
from suffice.data.encoding.tables import LogTable, NothingKeptError
from suffice.data.episodes import MAX_EPISODES, MAX_LETTERS, MAX_STEPS, Episodes, Outline
from suffice.data.log import ITSELF, ExternalLog
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.pieces import Extent, Pieces
from suffice.data.logs.placement import TruncatedError
from suffice.data.logs.reading import (
    NOTHING_LOST,
    Lost,
    ReadOptions,
    ReadReport,
    doubtful_values,
    flat_table,
    read_table,
)
from suffice.data.stored import StoredLog, Writer, in_turn
from suffice.errors import LogError, SettingsError

BYTES_A_DECISION = 40  # of a log that is read at once, at the peak, beside its cells
BYTES_IN_A_PIECE = 250  # of a decision, while its piece is read and those around it wait
BYTES_A_COLUMN = 2  # and decision: its code
BYTES_A_CELL = 12  # of episodes that are padded to the horizon
BYTES_A_THREAD = 64 << 20  # while episodes are counted block by block
BYTES_AN_EPISODE = 4  # where each is in the automaton
LEAST_PIECE, MOST_PIECE = 1 << 16, 1 << 20  # decisions of a piece


def _silently(done: int, of: int) -> None:
    """No-op progress callback."""


class ExternalReader(Protocol):
    """Reads a log to where others work on it."""

    def __call__(self, dataset: Dataset, how: ReadOptions, room: MemoryBudget) -> tuple[ExternalLog, ReadReport]:
        """The episodes, and what a report says of the columns."""


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """What reading may take."""

    memory: int  # bytes of the whole process
    threads: int = 1
    progress: Callable[[int, int], None] = field(default=_silently, compare=False)
    elsewhere: ExternalReader | None = None  # who reads instead: the workers of a cluster

    def holds(self, dataset: Dataset) -> bool:
        """Whether a log that is hardly padded fits as a whole; one no larger than the smallest pieces does."""
        columns = BYTES_A_COLUMN * len(dataset.schema.names)
        return (BYTES_A_DECISION + 2 * BYTES_A_CELL + columns) * dataset.decisions <= self._free

    def cells(self, dataset: Dataset) -> int:
        """Of decisions padded to the horizon that fit, if the log does."""
        return (self._free - BYTES_A_DECISION * dataset.decisions) // BYTES_A_CELL

    @property
    def _free(self) -> int:
        return max(self.memory, SMALLEST_MEMORY) - ITSELF

    @property
    def rows(self) -> int:
        """Decisions of a piece."""
        free = max(self.memory - ITSELF, 0)
        return min(MOST_PIECE, max(LEAST_PIECE, free // (BYTES_IN_A_PIECE * (self.workers() + 2))))

    def workers(self, episodes: int = 0) -> int:
        """Threads that there is room for, beside what is known of so many episodes."""
        free = self.memory - ITSELF - BYTES_AN_EPISODE * episodes
        return max(1, min(self.threads, free // BYTES_A_THREAD))

    def refuse_if_small(self, episodes: int = 0) -> None:
        """What not even the smallest pieces, or what is known of so many episodes, fit into."""
        needed = max(SMALLEST_MEMORY, ITSELF + BYTES_A_THREAD + BYTES_AN_EPISODE * episodes)
        if self.memory < needed:
            more = "" if episodes else f", and {BYTES_AN_EPISODE} bytes more for each episode"
            raise SettingsError(
                f"--memory {self.memory / 1e6:.0f}MB is too little for this log, even in pieces; give at least "
                f"{math.ceil(needed / 1e7) * 10}MB{more}"
            )


SMALLEST_MEMORY = ITSELF + 3 * LEAST_PIECE * BYTES_IN_A_PIECE


def read_stored(dataset: Dataset, how: ReadOptions, room: MemoryBudget) -> tuple[StoredLog, ReadReport]:
    """The episodes of a log in a file, and the report on its first piece, with notes on all."""
    room.refuse_if_small()
    pieces = Pieces.of(dataset, how, room.rows)
    extent = Extent.combine([pieces.extent(0, len(dataset.units))], dataset.name)
    room.refuse_if_small(extent.episodes)
    how = settled_how(pieces, how, extent, room.memory)
    pieces = padded(pieces, how, extent)

    def note(rows: int) -> None:
        room.progress(rows, dataset.rows)

    stored, found = read_part(pieces, 0, len(dataset.units), how, room.workers(), note)
    first = found.first(extent.episodes)
    assert stored is not None, "there is a report on it"
    stored = replace(stored, ascending=extent.ascending, threads=room.workers(extent.episodes))
    return stored, on_all(first, found, stored, pieces, how)


def padded(pieces: Pieces, how: ReadOptions, extent: Extent) -> Pieces:
    """Pieces that are smaller where many cells are padding."""
    cells = ((how.horizon or 0) + 1) * extent.episodes // pieces.dataset.decisions  # of a decision
    return replace(pieces, rows=max(1, pieces.rows * BYTES_IN_A_PIECE // (BYTES_IN_A_PIECE + BYTES_A_CELL * cells)))


def read_part(
    pieces: Pieces, begin: int, end: int, how: ReadOptions, threads: int, progress: Callable[[int], None]
) -> tuple[StoredLog | None, PieceSummary]:
    """The episodes that begin in units begin..end−1, if there are some, and what pieces come to."""
    writer, found, done = Writer(how.horizon or 0), PieceSummary(), 0

    def read(table: LogTable) -> tuple[int, tuple[Episodes, ReadReport] | NothingKeptError | TruncatedError]:
        try:
            return table.rows, read_table(table, how)
        except (NothingKeptError, TruncatedError) as error:
            return table.rows, error

    for rows, piece in in_turn(pieces.tables(begin, end), read, threads):
        done += rows
        progress(done)
        if isinstance(piece, tuple) and not found.truncated:
            writer.add(piece[0])
        found = found.beside(PieceSummary.of(piece))
    return None if found.report is None else writer.finish(threads), found


class PieceSummary(NamedTuple):
    """What pieces come to; complaints that are about all of them wait for the last."""

    report: ReadReport | None = None  # on the first piece of which something is left
    lost: Lost = NOTHING_LOST
    counted_from: frozenset[int | None] = frozenset()
    nothing: tuple[NothingKeptError, ...] = ()
    truncated: tuple[TruncatedError, ...] = ()

    @classmethod
    def of(cls, piece: tuple[Episodes, ReadReport] | NothingKeptError | TruncatedError) -> PieceSummary:
        """A piece."""
        if isinstance(piece, NothingKeptError):
            return cls(nothing=(piece,))
        if isinstance(piece, TruncatedError):
            return cls(truncated=(piece,))
        report = replace(piece[1], ids=None, propensities=None)
        return cls(report, report.lost, frozenset([report.first_step]))

    def beside(self, other: PieceSummary) -> PieceSummary:
        """With pieces that come later."""
        return PieceSummary(
            self.report or other.report,
            self.lost.beside(other.lost),
            self.counted_from | other.counted_from,
            self.nothing + other.nothing,
            self.truncated + other.truncated,
        )

    def first(self, episodes: int) -> ReadReport:
        """The report, or what is wrong with a log of so many episodes."""
        if self.truncated:
            raise self.truncated[0].with_others(self.truncated[1:], episodes)
        if self.report is None:
            raise max(self.nothing, key=lambda error: error.longest)
        return self.report


def on_all(first: ReadReport, found: PieceSummary, log: Outline, pieces: Pieces, how: ReadOptions) -> ReadReport:
    """The report on the first piece, with notes on all; refuses what is wrong with them together."""
    dataset = pieces.dataset
    if len(found.counted_from) > 1:
        refuse_first_steps(pieces, how)
    refuse_if_endless(log, how, first, dataset.name)
    notes = (*first.notes, *doubtful_values(_values(log, first.columns), dataset.rows), *found.lost.told(log.horizon))
    return replace(first, notes=notes)


def refuse_first_steps(pieces: Pieces, how: ReadOptions) -> None:
    """Some episodes count their steps from 0: say which does not."""
    for table in pieces.tables(0, len(pieces.dataset.units)):
        with suppress(NothingKeptError):
            read_table(table, replace(how, first_step=0))


def settled_how(pieces: Pieces, how: ReadOptions, extent: Extent, memory: int) -> ReadOptions:
    """How every piece is read: by the horizon and the encoder of the whole log."""
    kinds = how.encoder.by_column(pieces.columns)
    for name, request in kinds.items():
        reward = name == pieces.columns.reward
        if not request.needs_log(reward=reward):
            continue
        if reward or pieces.nested or 32 * pieces.dataset.rows > memory - ITSELF:
            raise SettingsError(
                f"--bin {name}: bins are worked out in memory, and this log is larger; raise --memory, bin the column "
                "beforehand, or learn from a part of the log first, and then --like that model"
            )
        table, *_ = flat_table(pieces.dataset.table(), how)
        kinds[name] = request.fit(LogColumn(table, name))
    encoder = replace(how.encoder, kinds=kinds)
    return replace(how, encoder=encoder, horizon=how.horizon or extent.longest, in_pieces=True)


def refuse_if_endless(log: Outline, how: ReadOptions, report: ReadReport, name: str) -> None:
    """Limits that pieces keep, but not all of them together."""
    if log.total > MAX_EPISODES:
        raise LogError(f"{name}: more than {MAX_EPISODES:,} episodes cannot be counted; leave some out")
    if len(log.letters) > MAX_LETTERS:
        raise LogError(f"{name}: {len(log.letters):,} distinct steps are no finite alphabet; bin the observations")
    if log.total * (log.horizon + 1) > MAX_STEPS:
        raise LogError(f"{name}: more than {MAX_STEPS:,} steps, padding included, cannot be counted; leave some out")
    columns = report.columns
    values = _values(log, columns) | {columns.reward or "": log.alphabet.rewards}
    for column, size in ((column, len(found)) for column, found in values.items()):
        if size > how.max_values + (column == columns.reward):
            raise LogError(
                f"{name}: column {column!r} has {size:,} distinct values, more than a finite alphabet can mean (limit "
                f"{how.max_values:,}); bin it: --bin {column}=8, leave the column out, or raise --max-values"
            )


def _values(log: Outline, columns: Columns) -> dict[str, Collection[Value]]:
    """Of actions and of each part of what is observed, by column."""
    parts = zip(*log.alphabet.observations, strict=True)
    features = {name: dict.fromkeys(part) for name, part in zip(log.alphabet.features, parts, strict=True)}
    return {columns.action or "": log.alphabet.actions, **features}
