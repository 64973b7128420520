"""Episodes in memory: each thread has its own shard of them, prepared once, and integer counts add up.

Counting a layer begins with a step of every episode, which needs the states of the layer before only to tell which
candidates are the same. So while the learner still merges a layer, idle threads already take the step, into *groups* as
fine as the candidates before with the next symbol; once the states are known, groups turn into candidates.

The result does not depend on the number of threads, to the bit. Memory per episode: 4 bytes for its group, besides what
the statistic keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from suffice import kernels
from suffice.asking import Question, View
from suffice.episodes import Episodes
from suffice.statistics import Candidates, Int64, Meetings, weights

S = TypeVar("S")
T = TypeVar("T")

SMALL = 1 << 16  # cells up to which tables of the letters that groups meet are kept
PIECES = 2  # of a shard's step, so that the thread that merges can still take its share
ALL = slice(None)
LEAST_SHARD = 4096  # episodes; below this a second thread costs more than it brings


class _Worker:
    """A shard of the episodes and where in the automaton each of them is."""

    def __init__(self, episodes: Episodes, first: int) -> None:
        self._episodes, self._first = episodes, first
        self._weight = weights(episodes)
        self._group: Candidates = np.zeros(episodes.n, np.uint32)
        self.met: Meetings | None = None  # of each group, if small
        self._plan: Any = None
        self._shard: Any = None  # the episodes as the last plan prepared them

    def restart(self) -> None:
        """All episodes are at their beginning."""
        self._group[:] = 0
        self.met = None

    def cross_count(self, t: int, of_group: Int64, n: int) -> Int64:
        """[n, X] how often each of what groups stand for meets each letter at step t."""
        word, letters = self._episodes.word[t], len(self._episodes.letters)
        return np.asarray(kernels.cross_count(self._group, of_group, word, self._weight, n, letters))

    def step(self, t: int, of_group: Int64, next_group: Int64, n_groups: int, part: slice = ALL) -> Meetings | None:
        """Read step t: what a group stands for, and the letter, give the next group.

        Says what the groups meet then, if the tables are small; in one go, because that is one wait for Python's lock.
        """
        group, word, letters = self._group[part], self._episodes.word[:, part], len(self._episodes.letters)
        if n_groups * letters > SMALL:
            kernels.advance(group, of_group, next_group, letters, word[t])
            return None
        weight = self._weight[part] if len(self._weight) else self._weight
        tables = np.zeros((2, n_groups, letters), np.int64)
        kernels.advance_and_meet(group, of_group, next_group, word[t], word[t + 1], word[-1], weight, tables)
        return Meetings(*tables)

    def pieces(self) -> list[slice]:
        """Parts of the shard that threads can share."""
        edges = np.linspace(0, self._episodes.n, PIECES + 1).astype(int)
        return [slice(a, b) for a, b in pairwise(edges)]

    def join(self, of_group: Int64, n: int) -> None:
        """Let groups become what they stand for."""
        kernels.relabel(self._group, of_group)
        self.met = self.met and self.met.joined(of_group, n)

    def answer(self, question: Question[T]) -> T:
        """Groups are candidates now."""
        return question(View(self._episodes, self._first, 0, self._group, self.met, self._prepare))

    def _prepare(self, plan: Any, episodes: Episodes) -> Any:
        if plan is not self._plan:
            self._plan, self._shard = plan, plan.shard(episodes)
        return self._shard


Steps = list[Callable[[], Meetings | None]]


class _Ahead(NamedTuple):
    """A step that is taken before the states are known: a group for each candidate and symbol that occur."""

    candidates: Int64  # [groups]
    symbols: Int64  # [groups]
    steps: Steps  # shard by shard, in pieces
    futures: list[Future[Meetings | None]]

    def finish(self) -> list[Meetings]:
        """What the groups of each shard meet; helps with what no thread has begun."""
        found = []
        for step, future in zip(reversed(self.steps), reversed(self.futures), strict=True):
            met = step() if future.cancel() else future.result()
            assert met is not None, "only small tables are looked ahead for"
            found.append(met)
        shards = [found[::-1][i : i + PIECES] for i in range(0, len(found), PIECES)]
        return [Meetings(*(_sum(list(tables)) for tables in zip(*shard, strict=True))) for shard in shards]


class LocalEngine:
    """See `Engine`; threads over shards of the episodes, of which the calling thread is one."""

    def __init__(self, episodes: Episodes, pool: ThreadPoolExecutor, shards: int) -> None:
        self._pool, self._horizon, self._letters = pool, episodes.horizon, len(episodes.letters)
        symbols, self._symbol_of_letter = episodes.symbols()
        self._letter_of_symbol = np.zeros(len(symbols), np.int64)
        self._letter_of_symbol[self._symbol_of_letter] = np.arange(self._letters)  # any of them will do
        self._following: Int64 | None = None  # [C, X] how often each candidate is followed by each letter, if small
        self._ahead: _Ahead | None = None
        edges = np.linspace(0, episodes.n, shards + 1).astype(int).tolist()
        self._workers = [_Worker(episodes.columns(slice(a, b)), a) for a, b in pairwise(edges)]

    @classmethod
    @contextmanager
    def running(cls, episodes: Episodes, threads: int) -> Iterator[LocalEngine]:
        """An engine whose threads end with the block; after an error nobody waits for them."""
        shards = min(threads, max(1, episodes.n // LEAST_SHARD))
        pool = ThreadPoolExecutor(max_workers=max(1, shards - 1))
        try:
            yield cls(episodes, pool, shards)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
        pool.shutdown()

    def letters(self, t: int, join: Int64, n_states: int) -> Int64:
        """See `Engine`."""
        if self._following is not None:
            return np.asarray(kernels.add_rows(self._following, join, n_states))
        return _sum(self._each(lambda worker: worker.cross_count(t, join, n_states), self._workers))

    def advance(
        self, t: int, join: Int64, candidate_of: Int64, n_candidates: int, question: Question[T], again: bool = False
    ) -> T | None:
        """See `Engine`."""
        if t == self._horizon:
            return None
        ahead, self._ahead = self._ahead, None
        if ahead:
            letter = self._letter_of_symbol[ahead.symbols]
            of_group = candidate_of[join[ahead.candidates] * self._letters + letter]
            for worker, met in zip(self._workers, ahead.finish(), strict=True):
                worker.met = met

        def read(worker: _Worker) -> T:
            if ahead:
                worker.join(of_group, n_candidates)
            else:
                worker.met = worker.step(t, join, candidate_of, n_candidates)
            return worker.answer(question)

        answers = self._each(read, self._workers)
        known = [worker.met.following for worker in self._workers if worker.met]
        self._following = _sum(known) if len(known) == len(self._workers) else None
        if not again:
            self._look_ahead(t + 1)
        return question.together(answers)

    def ask(self, question: Question[T]) -> T:
        """See `Engine`."""
        return question.together(self._each(lambda worker: worker.answer(question), self._workers))

    def _look_ahead(self, t: int) -> None:
        """Begin step t where there are threads to spare: the learner has only one for the merging that comes first."""
        if len(self._workers) == 1 or t == self._horizon or self._following is None:
            return
        occurs = np.zeros((len(self._following), len(self._letter_of_symbol)), bool)
        candidates, letters = np.nonzero(self._following)
        occurs[candidates, self._symbol_of_letter[letters]] = True
        candidates, symbols = np.nonzero(occurs)
        if len(candidates) * self._letters > SMALL:
            return
        group = np.zeros(occurs.shape, np.int64)
        group[occurs] = np.arange(len(candidates))
        table = np.arange(len(occurs)), group[:, self._symbol_of_letter].ravel(), len(candidates)
        steps: Steps = [partial(worker.step, t, *table, piece) for worker in self._workers for piece in worker.pieces()]
        self._ahead = _Ahead(candidates, symbols, steps, list(map(self._pool.submit, steps)))

    def _each(self, task: Callable[[S], T], items: Sequence[S]) -> list[T]:
        # this thread takes the first itself: waking another costs as much as a thousand episodes
        others = [self._pool.submit(task, item) for item in items[1:]]
        return [task(items[0]), *(other.result() for other in others)]


def _sum(parts: list[Int64]) -> Int64:
    return np.asarray(sum(parts[1:], parts[0]))
