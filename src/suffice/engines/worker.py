"""What one of many workers does: it reads its part of a log itself, lets its episodes walk, and answers.

A worker can be lost at any time, and another one that knows nothing takes its place. So whatever a worker remembers is
only what it need not do again: a task says what to have read, which of the episodes are meant, and how far they have
walked. A worker that is behind says so instead of answering, and is then told all the steps from the beginning.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.data.alphabet import smallest_uint
from suffice.data.log import digest
from suffice.data.logs.pieces import Extent, Pieces
from suffice.data.logs.reading import ReadOptions
from suffice.data.queries import EpisodesView, NoQuery, Query
from suffice.data.stored import PieceLetters, StoredLog
from suffice.data.streaming import PieceSummary, read_part
from suffice.engines.blocks import BlockWalk, Move
from suffice.errors import EngineError
from suffice.kernels.array_types import Codes

Shared = Any  # what many workers are told, in whatever form it travels


class PartSummary(NamedTuple):
    """What the others must know of a part."""

    vocabulary: PieceLetters
    declared: bool
    weighted: bool
    n: int
    total: int
    digest: str  # by which the part is known again


class PartPosition(NamedTuple):
    """What a part is in the whole log."""

    how: ReadOptions
    rows: int  # of a piece, about
    digest: str
    vocabulary: PieceLetters  # of the whole log
    places: Codes  # [X of the part] what its letters are there


class EpisodeSubset(NamedTuple):
    """Which episodes of a part are meant."""

    first: int  # place of the first of them among those of all parts
    bits: NDArray[np.uint8]  # packed; empty if all are meant


class WorkerTask(NamedTuple):
    """A query, and where the episodes must be when it is asked."""

    agreed: Shared  # Agreed
    some: Shared  # Some
    number: int  # by which these are known again
    query: Shared  # Question
    run: int = -1  # −1: they do not walk
    taken: int = 0  # steps that a worker must have taken before,
    moves: tuple[Shared, ...] = ()  # and those that follow, Move


class WorkerBehind(NamedTuple):
    """A worker is not where it should be."""

    steps: int


class Worker:
    """One part of a log: the episodes that begin in units begin..end−1."""

    def __init__(
        self, pieces: Pieces, begin: int, end: int, threads: int, fetch: Callable[[Shared], Any] = lambda shared: shared
    ) -> None:
        self._pieces, self._begin, self._end, self._threads, self._fetch = pieces, begin, end, threads, fetch
        self._read: tuple[StoredLog, PartSummary] | None = None
        self._some: tuple[int, StoredLog] | None = None
        self._walk: tuple[int, int, BlockWalk] | None = None  # of which run, and how many steps have been taken
        self.progress = 0, 0  # how much is done of what is being done: rows or blocks

    def extent(self, marked: bool) -> Extent:
        """What a first pass over the ids shows."""
        return self._pieces.extent(self._begin, self._end, marked)

    def read(self, how: ReadOptions, rows: int) -> tuple[PartSummary | None, PieceSummary]:
        """Read the part in pieces of so many rows; that nothing is left of it is wrong only if it is so of all."""
        pieces, units = replace(self._pieces, rows=rows), self._pieces.dataset.units[self._begin : self._end]
        of = sum(unit.rows for unit in units)

        def note(done: int) -> None:
            self.progress = min(done, of), of

        log, found = read_part(pieces, self._begin, self._end, how, self._threads, note)
        if log is None:
            return None, found
        content = digest(log, ordered=True, threads=self._threads)
        notes = PartSummary(PieceLetters.of(log), log.declared, log.weighted, log.n, log.total, content)
        self._read, self._some, self._walk = (log, notes), None, None
        return notes, found

    def answer(self, task: WorkerTask) -> Any:
        """The answer of the part, or how far behind it is."""
        query: Query[Any] = self._fetch(task.query)
        log = self._log(task)
        if task.run < 0:
            return log.run_query(_Counting(query, self, sum(size > 0 for size in log.sizes)))
        run, taken, walk = self._walk or (-1, 0, None)
        if walk is None or run != task.run or taken > task.taken + len(task.moves):
            taken, walk = 0, BlockWalk(log, len(log.letters), self._threads, log.first)
        if taken < task.taken:
            return WorkerBehind(taken)
        return self._catch_up(walk, taken, task, query)

    def _catch_up(self, walk: BlockWalk, taken: int, task: WorkerTask, query: Query[Any]) -> Any:
        """Take the steps that are missing, and ask with the last of them."""
        self._walk = None  # if it fails half-way nobody knows where the episodes are
        moves = [Move(*self._fetch(move)) for move in task.moves[taken - task.taken :]]
        blocks = max(1, len(moves)) * walk.blocks
        for move in moves[:-1]:
            walk.step(widened(move), _Counting(NoQuery(), self, blocks))
        asked = _Counting(query, self, blocks)
        answer = walk.step(widened(moves[-1]), asked) if moves else walk.run_query(asked)
        self._walk = task.run, task.taken + len(task.moves), walk
        return answer

    def _log(self, task: WorkerTask) -> StoredLog:
        """The episodes that are meant, numbered as all parts number them."""
        if self._some is None or self._some[0] != task.number:
            some: EpisodeSubset = self._fetch(task.some)
            agreed: PartPosition = self._fetch(task.agreed)
            whole = self._again(agreed)
            alphabet, letters, follows = agreed.vocabulary
            whole = replace(
                whole,
                alphabet=alphabet,
                letters=letters,
                follows=follows,
                places=[agreed.places[place] for place in whole.places],
            )
            if len(some.bits):
                whole = whole.among(np.unpackbits(some.bits, count=whole.n).astype(bool))
            self._some, self._walk = (task.number, replace(whole, first=some.first)), None
        return self._some[1]

    def _again(self, agreed: PartPosition) -> StoredLog:
        """What was read; by a worker that took another's place, once more."""
        if self._read is None:
            self.read(agreed.how, agreed.rows)
        if self._read is None or self._read[1].digest != agreed.digest:
            raise EngineError(
                f"{self._pieces.dataset.name}: a worker that took another's place has read something else than that "
                "one had; has the log changed? Run the command again, and leave the log alone meanwhile"
            )
        return self._read[0]


class _Counting:
    """A query that tells how many blocks have been asked."""

    def __init__(self, query: Query[Any], worker: Worker, blocks: int) -> None:
        self._query, self._worker = query, worker
        if worker.progress[1] != blocks or worker.progress[0] >= blocks:
            worker.progress = 0, blocks

    def __call__(self, view: EpisodesView) -> Any:
        """See `Query`."""
        answer = self._query(view)
        done, of = self._worker.progress
        self._worker.progress = done + 1, of
        return answer

    def combine(self, answers: list[Any]) -> Any:
        """See `Query`."""
        return self._query.combine(answers)


def narrowed(move: Move) -> Move:
    """As it travels: every number in as few bytes as it needs."""
    t, join, candidate_of = move
    return Move(t, *(array.astype(smallest_uint(int(array.max(initial=0)) + 1)) for array in (join, candidate_of)))


def widened(move: Move) -> Move:
    """As kernels take it."""
    t, join, candidate_of = move
    return Move(t, join.astype(np.int64), candidate_of.astype(np.int64))
