"""Reading logs that are larger than memory: piece by piece, into a file of steps.

First the ids alone are gone through: how many episodes, how long, and whether their rows lie together. Then each piece
is read as any log is, by the same horizon and bins, and its steps are written away. Peak memory is a few pieces, whose
size follows from the limit; the result is the same to the bit as that of reading all at once.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol

from suffice.asking import Elsewhere
from suffice.episodes import MAX_EPISODES, MAX_LETTERS, Episodes, Outline
from suffice.errors import LogError, SettingsError
from suffice.logs import Bins, Dataset, HowToRead, Report, read_table
from suffice.logs.binning import bin_column, spread_binnings
from suffice.logs.pieces import Extent, Pieces
from suffice.logs.placement import NothingKeptError
from suffice.logs.reading import flat_table
from suffice.logs.tables import Table
from suffice.stored import Stored, Writer, in_turn

ITSELF = 300 << 20  # bytes of the program without any data
BYTES_A_DECISION = 64  # of a log that is read at once, at the peak
BYTES_IN_A_PIECE = 400  # of a row, while it is read and those around it wait
LEAST, MOST = 1 << 14, 1 << 20  # rows of a piece


def _silently(done: int, of: int) -> None:
    """Nobody looks."""


class Reader(Protocol):
    """Reads a log to where others work on it."""

    def __call__(self, dataset: Dataset, how: HowToRead, room: Room) -> tuple[Elsewhere, Report]:
        """The episodes, and what a report says of the columns."""


@dataclass(frozen=True, slots=True)
class Room:
    """What reading may take."""

    memory: int  # bytes of the whole process
    threads: int = 1
    progress: Callable[[int, int], None] = field(default=_silently, compare=False)
    elsewhere: Reader | None = None  # who reads instead: the workers of a cluster

    def holds(self, dataset: Dataset) -> bool:
        """Whether a log fits as a whole."""
        return ITSELF + BYTES_A_DECISION * dataset.decisions <= self.memory

    @property
    def rows(self) -> int:
        """Of a piece."""
        free = max(self.memory - ITSELF, 0)
        return min(MOST, max(LEAST, free // (BYTES_IN_A_PIECE * (self.threads + 2))))


def read_stored(dataset: Dataset, how: HowToRead, room: Room) -> tuple[Stored, Report]:
    """The episodes of a log in a file, and what the report on its first piece says of its columns."""
    pieces, units = Pieces.of(dataset, how, room.rows), len(dataset.units)
    extent = Extent.together([pieces.extent(0, units)], dataset.name)
    how = settled_how(pieces, how, extent, room.memory)
    found = read_part(pieces, 0, units, how, room.threads, lambda rows: room.progress(rows, dataset.rows))
    if isinstance(found, LogError):
        raise found
    stored, first = found
    refuse_if_endless(stored, how, first, dataset.name)
    return replace(stored, ascending=extent.ascending), first


def read_part(
    pieces: Pieces, begin: int, end: int, how: HowToRead, threads: int, progress: Callable[[int], None]
) -> tuple[Stored, Report] | LogError:
    """The episodes that begin in units begin..end−1; or why there are none, which need not be wrong of a part."""
    writer, first, done = Writer(how.horizon or 0), None, 0
    nothing = LogError(f"{pieces.dataset.name}: there are no episodes")

    def read(table: Table) -> tuple[int, tuple[Episodes, Report] | NothingKeptError]:
        try:
            return table.rows, read_table(table, how)
        except NothingKeptError as error:
            return table.rows, error

    for rows, found in in_turn(pieces.tables(begin, end), read, threads):
        done += rows
        progress(done)
        if isinstance(found, NothingKeptError):
            nothing = found
            continue
        episodes, report = found
        writer.add(episodes)
        first = first or report
    return nothing if first is None else (writer.finish(threads), first)


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
    return replace(how, horizon=how.horizon or extent.longest, bins=found)


def refuse_if_endless(log: Outline, how: HowToRead, report: Report, name: str) -> None:
    """Limits that pieces keep, but not all of them together."""
    if log.total > MAX_EPISODES:
        raise LogError(f"{name}: more than {MAX_EPISODES:,} episodes cannot be counted; leave some out")
    if len(log.letters) > MAX_LETTERS:
        raise LogError(f"{name}: {len(log.letters):,} distinct steps are no finite alphabet; bin the observations")
    alphabet, columns = log.alphabet, report.columns
    features = zip(*alphabet.observations, strict=True)
    values = {columns.action: len(alphabet.actions), columns.reward: len(alphabet.rewards)}
    values |= {feature: len(set(part)) for feature, part in zip(alphabet.features, features, strict=True)}
    for column, size in values.items():
        if size > how.max_values + (column == columns.reward):
            raise LogError(
                f"{name}: column {column!r} has {size:,} distinct values, more than a finite alphabet can mean (limit "
                f"{how.max_values:,}); bin it: --bin {column}=8, leave the column out, or raise --max-values"
            )
