"""Reading logs that are larger than memory: piece by piece, into a file of steps.

First the ids alone are gone through: how many episodes, how long, and whether their rows lie together. Then each piece
is read as any log is, by the same horizon and bins, and its steps are written away. Peak memory is a few pieces, whose
size follows from the limit; the result is the same to the bit as that of reading all at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from contextlib import suppress
from dataclasses import dataclass, field, replace

from suffice.asking import ITSELF
from suffice.episodes import MAX_EPISODES, MAX_LETTERS, Episodes, Outline, Value
from suffice.errors import LogError, SettingsError
from suffice.logs import Bins, Dataset, HowToRead, Report, read_table
from suffice.logs.binning import bin_column, spread_binnings
from suffice.logs.pieces import Extent, Pieces
from suffice.logs.placement import TruncatedError
from suffice.logs.reading import Lost, doubtful_values, flat_table
from suffice.logs.tables import NothingKeptError, Table
from suffice.stored import Stored, Writer, in_turn

BYTES_A_DECISION = 40  # of a log that is read at once, at the peak, beside its cells
BYTES_IN_A_PIECE = 250  # of a decision, while its piece is read and those around it wait
BYTES_A_CELL = 12  # of episodes that are padded to the horizon
BYTES_A_THREAD = 64 << 20  # while episodes are counted block by block
BYTES_AN_EPISODE = 4  # where each is in the automaton
LEAST, MOST = 1 << 16, 1 << 20  # decisions of a piece


def _silently(done: int, of: int) -> None:
    """Nobody looks."""


@dataclass(frozen=True, slots=True)
class Room:
    """What reading may take."""

    memory: int  # bytes of the whole process
    threads: int = 1
    progress: Callable[[int, int], None] = field(default=_silently, compare=False)

    def holds(self, dataset: Dataset) -> bool:
        """Whether a log that is hardly padded fits as a whole; one no larger than the smallest pieces does."""
        return (BYTES_A_DECISION + 2 * BYTES_A_CELL) * dataset.decisions <= self._free

    def cells(self, dataset: Dataset) -> int:
        """Of decisions padded to the horizon that fit, if the log does."""
        return (self._free - BYTES_A_DECISION * dataset.decisions) // BYTES_A_CELL

    @property
    def _free(self) -> int:
        return max(self.memory, SMALLEST) - ITSELF

    @property
    def rows(self) -> int:
        """Decisions of a piece."""
        free = max(self.memory - ITSELF, 0)
        return min(MOST, max(LEAST, free // (BYTES_IN_A_PIECE * (self.workers() + 2))))

    def workers(self, episodes: int = 0) -> int:
        """Threads that there is room for, beside what is known of so many episodes."""
        free = self.memory - ITSELF - BYTES_AN_EPISODE * episodes
        return max(1, min(self.threads, free // BYTES_A_THREAD))

    def refuse_if_small(self, episodes: int = 0) -> None:
        """What not even the smallest pieces, or what is known of so many episodes, fit into."""
        needed = max(SMALLEST, ITSELF + BYTES_A_THREAD + BYTES_AN_EPISODE * episodes)
        if self.memory < needed:
            raise SettingsError(
                f"--memory {self.memory / 1e6:.0f}MB is too little for this log, even in pieces; give at least "
                f"{math.ceil(needed / 1e7) * 10}MB"
            )


SMALLEST = ITSELF + 3 * LEAST * BYTES_IN_A_PIECE


def read_stored(dataset: Dataset, how: HowToRead, room: Room) -> tuple[Stored, Report]:
    """The episodes of a log in a file, and the report on its first piece, with notes on all."""
    room.refuse_if_small()
    pieces = Pieces.of(dataset, how, room.rows)
    extent = Extent.together([pieces.extent(0, len(dataset.units))], dataset.name)
    room.refuse_if_small(extent.episodes)
    how = settled_how(pieces, how, extent, room.memory)
    cells = ((how.horizon or 0) + 1) * extent.episodes // dataset.decisions  # of a decision
    pieces = replace(pieces, rows=max(1, pieces.rows * BYTES_IN_A_PIECE // (BYTES_IN_A_PIECE + BYTES_A_CELL * cells)))
    found, done = _Found(Writer(how.horizon or 0)), 0

    def read(table: Table) -> tuple[int, tuple[Episodes, Report] | NothingKeptError | TruncatedError]:
        try:
            return table.rows, read_table(table, how)
        except (NothingKeptError, TruncatedError) as error:
            return table.rows, error

    for rows, piece in in_turn(pieces.tables(0, len(dataset.units)), read, room.workers()):
        done += rows
        room.progress(done, dataset.rows)
        found.add(piece)
    first = found.first(extent, dataset.name)
    if len(found.counted_from) > 1:
        refuse_first_steps(pieces, how)
    stored = found.writer.finish(room.workers(extent.episodes))
    refuse_if_endless(stored, how, first, dataset.name)
    notes = (*first.notes, *doubtful_values(_values(stored), dataset.rows), *found.lost.told(stored.horizon))
    return replace(stored, ascending=extent.ascending), replace(first, notes=notes)


class _Found:
    """What pieces come to; complaints that are about all of them wait for the last."""

    def __init__(self, writer: Writer) -> None:
        self.writer, self.lost = writer, Lost()
        self.counted_from: set[int | None] = set()
        self._first: Report | None = None
        self._nothing: list[NothingKeptError] = []
        self._truncated: list[TruncatedError] = []

    def add(self, piece: tuple[Episodes, Report] | NothingKeptError | TruncatedError) -> None:
        if isinstance(piece, NothingKeptError):
            self._nothing.append(piece)
        elif isinstance(piece, TruncatedError):
            self._truncated.append(piece)
        elif not self._truncated:
            episodes, report = piece
            self.writer.add(episodes)
            self.lost = self.lost.beside(report.lost)
            self.counted_from.add(report.first_step)
            self._first = self._first or report

    def first(self, extent: Extent, name: str) -> Report:
        """The report on the first piece of which something is left."""
        if self._truncated:
            raise self._truncated[0].with_others(self._truncated[1:], extent.episodes)
        if self._first is None:
            raise max(self._nothing, key=lambda error: error.longest)
        return self._first


def refuse_first_steps(pieces: Pieces, how: HowToRead) -> None:
    """Some episodes count their steps from 0: say which does not."""
    for table in pieces.tables(0, len(pieces.dataset.units)):
        with suppress(NothingKeptError):
            read_table(table, replace(how, first_step=0))


def settled_how(pieces: Pieces, how: HowToRead, extent: Extent, memory: int) -> HowToRead:
    """How every piece is read: by the horizon and the bins of the whole log."""
    columns, found = pieces.columns, {}
    names = (columns.action or "", *(columns.observations or ()), columns.reward or "")
    for name, binning in spread_binnings(how.bins, names).items():
        if isinstance(binning, Bins):
            found[name] = binning
            continue
        if name == columns.reward or pieces.nested or 32 * pieces.dataset.rows > memory - ITSELF:
            raise SettingsError(
                f"--bin {name}: bins are worked out in memory, and this log is larger; raise --memory, bin the column "
                "beforehand, or learn from a part of the log first, and then --like that model"
            )
        table, *_ = flat_table(pieces.dataset.table(), how)
        found[name] = bin_column(table, name, binning)[1]
    return replace(how, horizon=how.horizon or extent.longest, bins=found, in_pieces=True)


def refuse_if_endless(stored: Stored, how: HowToRead, report: Report, name: str) -> None:
    """Limits that pieces keep, but not all of them together."""
    if stored.total > MAX_EPISODES:
        raise LogError(f"{name}: more than {MAX_EPISODES:,} episodes cannot be counted; leave some out")
    if len(stored.letters) > MAX_LETTERS:
        raise LogError(f"{name}: {len(stored.letters):,} distinct steps are no finite alphabet; bin the observations")
    columns, values = report.columns, _values(stored)
    values[columns.action or ""] = values.pop("action")
    values[columns.reward or ""] = stored.alphabet.rewards
    for column, size in ((column, len(found)) for column, found in values.items()):
        if size > how.max_values + (column == columns.reward):
            raise LogError(
                f"{name}: column {column!r} has {size:,} distinct values, more than a finite alphabet can mean (limit "
                f"{how.max_values:,}); bin it: --bin {column}=8, leave the column out, or raise --max-values"
            )


def _values(log: Outline) -> dict[str, Collection[Value]]:
    """Of actions and of each part of what is observed."""
    parts = zip(*log.alphabet.observations, strict=True)
    features = {name: dict.fromkeys(part) for name, part in zip(log.alphabet.features, parts, strict=True)}
    return {"action": log.alphabet.actions, **features}
