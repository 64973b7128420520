"""A worker reads its part of a log, moves its episodes through the automaton, and answers queries.

A worker can be lost at any time and is then replaced by one without any state. So everything that a worker remembers is
only a cache: a task states what must have been read, which episodes are selected, and which steps they must have taken.
A worker that has taken fewer steps reports that instead of answering, and then receives all steps from the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from suffice.data.alphabet import smallest_uint
from suffice.data.log import digest
from suffice.data.logs.episode_keys import EpisodeKeys
from suffice.data.logs.episode_sample import PiecesInTurn
from suffice.data.logs.pieces import Extent, Pieces
from suffice.data.logs.reading import ReadOptions
from suffice.data.queries import EpisodesView, NoQuery, Query
from suffice.data.stored import PieceLetters, StoredLog
from suffice.data.streaming import PieceSummary, read_part
from suffice.engines.blocks import BlockWalk, Move
from suffice.errors import EngineError
from suffice.kernels.array_types import Codes, Mask

Shared = Any  # an object shared with workers, in the form in which it is sent


class PartSummary(NamedTuple):
    """Summary of a part, from which the whole log is put together."""

    vocabulary: PieceLetters
    declared: bool
    weighted: bool
    censored: bool
    grouped: bool
    n: int
    total: int
    digest: str  # identifies the content of the part


class PartPosition(NamedTuple):
    """The place of a part in the whole log, and how it is read."""

    how: ReadOptions
    rows: int  # rows of a piece, approximately
    digest: str  # identifies the content of the part
    vocabulary: PieceLetters  # of the whole log
    places: Codes  # [X of the part] numbers of its letters in the whole log


class EpisodeSubset(NamedTuple):
    """The selected episodes of a part."""

    first: int  # number of the first of them among those of all parts
    bits: NDArray[np.uint8]  # packed mask; empty if all are selected
    all_ended: bool = False  # ignore lengths


class WorkerTask(NamedTuple):
    """A query, and the steps that the episodes must have taken when it runs."""

    agreed: Shared  # PartPosition
    some: Shared  # EpisodeSubset
    number: int  # identifies the selection
    query: Shared  # Query
    run: int = -1  # −1: episodes are at their first step
    taken: int = 0  # steps that the worker must have taken before
    moves: tuple[Shared, ...] = ()  # steps that follow, each a Move


class WorkerBehind(NamedTuple):
    """Answer of a worker that has taken fewer steps than the task requires."""

    steps: int


class Worker:
    """The worker of one part of a log: the episodes that begin in units begin..end−1."""

    def __init__(
        self, pieces: Pieces, begin: int, end: int, threads: int, fetch: Callable[[Shared], Any] = lambda shared: shared
    ) -> None:
        self._pieces, self._begin, self._end, self._threads, self._fetch = pieces, begin, end, threads, fetch
        self._read: tuple[StoredLog, PartSummary] | None = None
        self._some: tuple[int, StoredLog] | None = None
        self._walk: tuple[int, int, BlockWalk] | None = None  # run, steps taken, and the episodes
        self.progress = 0, 0  # rows or blocks done, and their number, in the current call

    def extent(self, marked: bool) -> Extent:
        """Return the result of a first pass over the ids."""
        return self._pieces.extent(self._begin, self._end, marked)

    def read(self, how: ReadOptions, rows: int) -> tuple[PartSummary | None, PieceSummary]:
        """Read the part in pieces of `rows` rows; None if no episode is left (an error only if no part has any)."""
        pieces, units = replace(self._pieces, rows=rows), self._pieces.dataset.units[self._begin : self._end]
        of = sum(unit.rows for unit in units)

        def note(done: int) -> None:
            self.progress = min(done, of), of

        log, found = read_part(pieces, self._begin, self._end, how, self._threads, note)
        if log is None:
            return None, found
        content = digest(log, ordered=True, threads=self._threads)
        notes = PartSummary(
            PieceLetters.of(log), log.declared, log.weighted, log.censored, log.grouped, log.n, log.total, content
        )
        self._read, self._some, self._walk = (log, notes), None, None
        return notes, found

    def keys(self, how: ReadOptions, rows: int) -> list[EpisodeKeys]:
        """Return what identifies the episodes of the part, for each piece of `rows` rows."""
        return self._in_turn(rows).keys(how)

    def rows(self, how: ReadOptions, rows: int, chosen: Sequence[Mask]) -> list[pa.Table]:
        """Return the rows of the chosen episodes of each piece."""
        return self._in_turn(rows).rows(how, chosen)

    def _in_turn(self, rows: int) -> PiecesInTurn:
        return PiecesInTurn(replace(self._pieces, rows=rows), self._begin, self._end, self._threads)

    def answer(self, task: WorkerTask) -> Any:
        """Return the answer of the part, or `WorkerBehind`."""
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
        """Take the missing steps, and run the query with the last of them."""
        self._walk = None  # an error on the way would leave episodes at different steps
        moves = [Move(*self._fetch(move)) for move in task.moves[taken - task.taken :]]
        blocks = max(1, len(moves)) * walk.blocks
        for move in moves[:-1]:
            walk.step(widened(move), _Counting(NoQuery(), self, blocks))
        asked = _Counting(query, self, blocks)
        answer = walk.step(widened(moves[-1]), asked) if moves else walk.run_query(asked)
        self._walk = task.run, task.taken + len(task.moves), walk
        return answer

    def _log(self, task: WorkerTask) -> StoredLog:
        """Return the selected episodes, with the letters of the whole log."""
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
            selected = replace(whole, first=some.first, all_ended=some.all_ended)
            self._some, self._walk = (task.number, selected), None
        return self._some[1]

    def _again(self, agreed: PartPosition) -> StoredLog:
        """Return what was read; a worker that replaces another reads its part again."""
        if self._read is None:
            self.read(agreed.how, agreed.rows)
        if self._read is None or self._read[1].digest != agreed.digest:
            raise EngineError(
                f"{self._pieces.dataset.name}: the log has changed, because a worker that replaced another read other "
                "data. Run the command again, and do not change the log while it runs."
            )
        return self._read[0]


class _Counting:
    """A query that counts the blocks done, for progress reports."""

    def __init__(self, query: Query[Any], worker: Worker, blocks: int) -> None:
        self._query, self._worker = query, worker
        if worker.progress[1] != blocks or worker.progress[0] >= blocks:
            worker.progress = 0, blocks

    def __call__(self, view: EpisodesView) -> Any:
        """Answer the query for one part of the episodes."""
        answer = self._query(view)
        done, of = self._worker.progress
        self._worker.progress = done + 1, of
        return answer

    def combine(self, answers: list[Any]) -> Any:
        """Combine the answers of several parts."""
        return self._query.combine(answers)


def narrowed(move: Move) -> Move:
    """Convert the arrays of a move to the smallest integer types, for sending."""
    t, join, candidate_of = move
    return Move(t, *(array.astype(smallest_uint(int(array.max(initial=0)) + 1)) for array in (join, candidate_of)))


def widened(move: Move) -> Move:
    """Convert the arrays of a move to the integer type of the kernels."""
    t, join, candidate_of = move
    return Move(t, join.astype(np.int64), candidate_of.astype(np.int64))
