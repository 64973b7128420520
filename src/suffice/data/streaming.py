"""Reading logs that are larger than memory: piece by piece, into a file of encoded steps.

A first pass reads only the ids: how many episodes there are, how long they are, and whether their rows are contiguous.
Then each piece is read like any log, with the same horizon and encoder, and its steps are written to the file. Peak
memory is that of a few pieces, whose size follows from the limit; the result equals, to the bit, that of reading the
whole log at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection
from dataclasses import dataclass, field, replace
from typing import NamedTuple, Protocol

from suffice.data.alphabet import MAX_LETTERS, Value
from suffice.data.content import BYTES_TO_CHOOSE
from suffice.data.encoding.binning import Edges
from suffice.data.encoding.columns import Columns
from suffice.data.encoding.kinds import LogColumn
from suffice.data.encoding.tables import LogTable, NoEpisodesLeftError, too_many_values
from suffice.data.episodes import MAX_EPISODES, MAX_STEPS, Episodes, Outline
from suffice.data.log import ITSELF, ExternalLog
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.episode_sample import EpisodeSample, PiecesInTurn, sample_cells, sample_of_parts
from suffice.data.logs.pieces import Extent, Pieces
from suffice.data.logs.reading import ReadOptions, flat_table, notes_on_values, read_table
from suffice.data.report import NO_CUT, CutReward, ReadReport
from suffice.data.stored import StoredLog, Writer, in_turn
from suffice.errors import LogError, SettingsError, parameter

BYTES_A_DECISION = 40  # peak memory per decision of a log that is read at once, without its cells
BYTES_IN_A_PIECE = 250  # peak memory per decision of a piece, including the pieces read ahead
BYTES_A_COLUMN = 2  # memory per decision and column, for its code
BYTES_A_CELL = 12  # memory per cell of the grid of padded episodes
BYTES_A_THREAD = 64 << 20  # memory per thread while episodes are counted block by block
BYTES_AN_EPISODE = 4  # memory per episode, for its state in the automaton
BYTES_A_VALUE = 24  # memory per value of a sample with all columns: as text, as a number and in the grid
LEAST_PIECE, MOST_PIECE = 1 << 16, 1 << 20  # decisions of a piece


def whole_bytes(dataset: Dataset) -> int:
    """Return the peak memory of reading a log with little padding at once, in bytes."""
    columns = BYTES_A_COLUMN * dataset.width
    return (BYTES_A_DECISION + 2 * BYTES_A_CELL + columns) * dataset.decisions + dataset.loaded


def _silently(done: int, of: int) -> None:
    """Ignore the progress of reading."""


class ExternalReader(Protocol):
    """A function that reads a log on other machines."""

    def __call__(self, dataset: Dataset, how: ReadOptions, room: MemoryBudget) -> tuple[ExternalLog, ReadReport]:
        """Return the episodes and the report."""

    def sample(self, dataset: Dataset, how: ReadOptions, room: MemoryBudget) -> EpisodeSample:
        """Return the rows of some episodes, with all columns."""


@dataclass(frozen=True, slots=True)
class MemoryBudget:
    """The memory and threads that reading may use."""

    memory: int  # bytes of the whole process
    threads: int = 1
    progress: Callable[[int, int], None] = field(default=_silently, compare=False)
    elsewhere: ExternalReader | None = None  # reads instead: the workers of a cluster

    def holds(self, dataset: Dataset) -> bool:
        """Return whether a log with little padding fits into memory; a log of the smallest piece's size always does."""
        return whole_bytes(dataset) <= self._free

    def cells(self, dataset: Dataset) -> int:
        """Return the number of cells of the padded grid that fit, if the log itself does."""
        return (self._free - BYTES_A_DECISION * dataset.decisions - dataset.loaded) // BYTES_A_CELL

    @property
    def _free(self) -> int:
        return max(self.memory, SMALLEST_MEMORY) - ITSELF

    @property
    def rows(self) -> int:
        """Number of decisions in a piece."""
        free = max(self.memory - ITSELF, 0)
        return min(MOST_PIECE, max(LEAST_PIECE, free // (BYTES_IN_A_PIECE * (self.workers() + 2))))

    def workers(self, episodes: int = 0) -> int:
        """Return the number of threads that fit into memory, beside the states of this many episodes."""
        free = self.memory - ITSELF - BYTES_AN_EPISODE * episodes
        return max(1, min(self.threads, free // BYTES_A_THREAD))

    def refuse_if_small(self, episodes: int = 0, largest: int = 0) -> None:
        """Refuse a limit below the smallest pieces and the `largest` batch, or the states of this many episodes."""
        needed = max(SMALLEST_MEMORY + largest, ITSELF + BYTES_A_THREAD + BYTES_AN_EPISODE * episodes)
        if self.memory < needed:
            more = "" if episodes else f", and {BYTES_AN_EPISODE} bytes more for each episode"
            raise SettingsError(
                f"{parameter('memory', f'{self.memory / 1e6:.0f}MB')} is too little for this log, even in pieces. Use "
                f"at least {math.ceil(needed / 1e7) * 10}MB{more}."
            )


SMALLEST_MEMORY = ITSELF + 3 * LEAST_PIECE * BYTES_IN_A_PIECE


class SampleTooLargeError(SettingsError):
    """An error for a log of which no sample with all columns fits into memory."""


def read_stored(dataset: Dataset, how: ReadOptions, room: MemoryBudget) -> tuple[StoredLog, ReadReport]:
    """Read a log into a file of steps; return it with the report on its first piece and notes on all."""
    pieces, how, extent = _in_pieces(dataset, how, room)

    def note(rows: int) -> None:
        room.progress(rows, dataset.rows)

    stored, found = read_part(pieces, 0, len(dataset.units), how, room.workers(), note)
    first = found.first()
    assert stored is not None, "the report is on its first piece"
    stored = replace(stored, threads=room.workers(extent.episodes))
    return stored, report_on_all(first, found, stored, pieces, how)


def sample_stored(dataset: Dataset, how: ReadOptions, room: MemoryBudget) -> EpisodeSample:
    """Draw episodes of a log that is read in pieces, with all columns."""
    pieces, how, extent = _in_pieces(dataset, how, room)
    refuse_large_sample(pieces, extent, room)

    def note(rows: int) -> None:
        room.progress(rows, dataset.rows)

    return sample_of_parts(PiecesInTurn(pieces, 0, len(dataset.units), room.workers(), note), pieces, how)


def refuse_large_sample(pieces: Pieces, extent: Extent, room: MemoryBudget) -> None:
    """Refuse a sample that does not fit into memory together with the hashes of all episodes."""
    values = sample_cells(pieces.columns, extent.longest, extent.episodes)
    needed = ITSELF + BYTES_A_VALUE * values + BYTES_TO_CHOOSE * extent.episodes
    if needed > room.memory:
        raise SampleTooLargeError(
            f"{parameter('memory', f'{room.memory / 1e6:.0f}MB')} is too little to choose columns. Use at least "
            f"{math.ceil(needed / 1e7) * 10}MB, or name them with {parameter('observations')}."
        )


def _in_pieces(dataset: Dataset, how: ReadOptions, room: MemoryBudget) -> tuple[Pieces, ReadOptions, Extent]:
    """Make the first pass over a log; return its pieces, how each is read, and its extent."""
    room.refuse_if_small(largest=dataset.about.largest)
    pieces = Pieces.of(dataset, how, room.rows)
    extent = Extent.combine([pieces.extent(0, len(dataset.units))], dataset.name)
    room.refuse_if_small(extent.episodes)
    how = options_of_pieces(pieces, how, extent, room.memory)
    return padded(pieces, how, extent), how, extent


def padded(pieces: Pieces, how: ReadOptions, extent: Extent) -> Pieces:
    """Return smaller pieces if many cells are padding."""
    cells = ((how.horizon or 0) + 1) * extent.episodes // pieces.dataset.decisions  # per decision
    return replace(pieces, rows=max(1, pieces.rows * BYTES_IN_A_PIECE // (BYTES_IN_A_PIECE + BYTES_A_CELL * cells)))


def read_part(
    pieces: Pieces, begin: int, end: int, how: ReadOptions, threads: int, progress: Callable[[int], None]
) -> tuple[StoredLog | None, PieceSummary]:
    """Read the episodes that begin in units begin..end−1, if there are any, and summarise the pieces."""
    writer, found, done = Writer(how.horizon or 0), PieceSummary(), 0

    def read(table: LogTable) -> tuple[int, tuple[Episodes, ReadReport] | NoEpisodesLeftError]:
        try:
            return table.rows, read_table(table, how)
        except NoEpisodesLeftError as error:
            return table.rows, error

    for rows, piece in in_turn(pieces.tables(begin, end), read, threads):
        done += rows
        progress(done)
        if isinstance(piece, tuple):
            writer.add(piece[0])
        found = found.combine(PieceSummary.of(piece))
    return None if found.report is None else writer.finish(threads), found


class PieceSummary(NamedTuple):
    """Summary of some pieces; errors that concern all pieces are raised after the last."""

    report: ReadReport | None = None  # on the first piece of which episodes are kept
    lost: CutReward = NO_CUT
    nothing: tuple[NoEpisodesLeftError, ...] = ()

    @classmethod
    def of(cls, piece: tuple[Episodes, ReadReport] | NoEpisodesLeftError) -> PieceSummary:
        """Summarise one piece of a log."""
        if isinstance(piece, NoEpisodesLeftError):
            return cls(nothing=(piece,))
        report = replace(piece[1], ids=None, propensities=None, keys=None, spans=None)
        return cls(report, report.lost)

    def combine(self, other: PieceSummary) -> PieceSummary:
        """Add the summary of later pieces."""
        return PieceSummary(
            self.report or other.report,
            self.lost.combine(other.lost),
            self.nothing + other.nothing,
        )

    def first(self) -> ReadReport:
        """Return the report; raise the error about the log if there is none."""
        if self.report is None:
            raise max(self.nothing, key=lambda error: error.longest)
        return self.report


def report_on_all(first: ReadReport, found: PieceSummary, log: Outline, pieces: Pieces, how: ReadOptions) -> ReadReport:
    """Return the report on the first piece with notes on all; refuse a log that exceeds limits as a whole."""
    dataset = pieces.dataset
    refuse_if_endless(log, how, first, dataset.name)
    on_values = notes_on_values(_values(log, first.columns), dataset.rows, first.columns.action)
    return replace(first, notes=(*first.notes, *on_values, *found.lost.notes(log.horizon)))


def options_of_pieces(pieces: Pieces, how: ReadOptions, extent: Extent, memory: int) -> ReadOptions:
    """Return the options of reading each piece, with the horizon and encoder of the whole log."""
    kinds = how.encoder.by_column(pieces.columns)
    for name, request in kinds.items():
        reward = name == pieces.columns.reward
        if not request.needs_log(reward=reward):
            if isinstance(request, Edges) and name in (pieces.columns.observations or ()):
                kinds[name] = request.with_missing(pieces.has_missing(name, how))
            continue
        if reward or pieces.nested or 32 * pieces.dataset.rows > memory - ITSELF:
            raise SettingsError(
                f"{parameter('bins')}: the bins of {name!r} are computed in memory, and this log is larger. Raise "
                f"{parameter('memory')}, bin the column before, or learn from a part of the log first and pass that "
                f"model with {parameter('like')}."
            )
        table, *_ = flat_table(pieces.dataset.table(), how)
        kinds[name] = request.fit(LogColumn(table, name))
    encoder = replace(how.encoder, kinds=kinds)
    return replace(how, encoder=encoder, horizon=how.horizon or extent.longest, in_pieces=True)


def refuse_if_endless(log: Outline, how: ReadOptions, report: ReadReport, name: str) -> None:
    """Refuse a log that exceeds limits as a whole, although none of its pieces does."""
    if log.total > MAX_EPISODES:
        raise LogError(f"{name}: more than {MAX_EPISODES:,} episodes cannot be counted. Leave some out.")
    if len(log.letters) > MAX_LETTERS:
        raise LogError(
            f"{name}: {len(log.letters):,} distinct steps are too many for a finite alphabet. Bin numeric columns with "
            f"{parameter('bins')}, or name fewer {parameter('observations')}."
        )
    if log.total * (log.horizon + 1) > MAX_STEPS:
        raise LogError(f"{name}: more than {MAX_STEPS:,} steps, padding included, cannot be counted. Leave some out.")
    columns = report.columns
    values = _values(log, columns) | {columns.reward or "": log.alphabet.rewards}
    for column, size in ((column, len(found)) for column, found in values.items()):
        if size > how.max_values + (column == columns.reward):
            role = {columns.reward: "reward", columns.action: "action"}.get(column)
            numeric = not any(isinstance(value, str) for value in values[column])
            text = too_many_values(role, column, f"{size:,}", how.max_values, numeric)
            raise LogError(f"{name}, column {column!r}: {text}")


def _values(log: Outline, columns: Columns) -> dict[str, Collection[Value]]:
    """Return the distinct values of the action and of each observation column."""
    parts = zip(*log.alphabet.observations, strict=True)
    features = {name: dict.fromkeys(part) for name, part in zip(log.alphabet.features, parts, strict=True)}
    return {columns.action or "": log.alphabet.actions, **features}
