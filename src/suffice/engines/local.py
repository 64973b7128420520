"""Counting on this machine: each thread has its own shard of the episodes, and integer counts add up.

The result does not depend on the number of threads, to the bit. Memory per episode: 4 bytes for its candidate, besides
what the statistic keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from suffice import kernels
from suffice.episodes import Episodes
from suffice.statistics import Candidates, Int64, Plan, Shard, weights

T = TypeVar("T")

FOLLOWING = 1 << 16  # cells up to which a table of the letters that follow each candidate is kept
LEAST_SHARD = 4096  # episodes; below this a second thread costs more than it brings


class _Worker:
    """A shard of the episodes and where in the automaton each of them is."""

    def __init__(self, plan: Plan, episodes: Episodes) -> None:
        self._episodes = episodes
        self._weight = weights(episodes)
        self._candidate: Candidates = np.zeros(episodes.n, np.uint32)
        self._following: Int64 | None = None  # [C, X] how often each candidate is followed by each letter, if small
        self._shard: Shard = plan.shard(episodes)

    @property
    def knows_letters(self) -> bool:
        return self._following is not None

    def letters(self, t: int, join: Int64, n_states: int) -> Int64:
        if self._following is None:
            return self._cross_count(t, join, n_states)
        counts = np.zeros((n_states, len(self._episodes.letters)), np.int64)
        np.add.at(counts, join, self._following)
        return counts

    def advance(self, t: int, join: Int64, candidate_of: Int64, n_candidates: int) -> Any:
        letters = len(self._episodes.letters)
        kernels.advance(self._candidate, join, candidate_of, letters, self._episodes.word[t])
        if t == self._episodes.horizon:
            return None
        small = n_candidates * letters <= FOLLOWING
        self._following = self._cross_count(t + 1, np.arange(n_candidates), n_candidates) if small else None
        return self._shard.count(t + 1, self._candidate, n_candidates, self._following)

    def _cross_count(self, t: int, group_of: Int64, n_groups: int) -> Int64:
        word, letters = self._episodes.word[t], len(self._episodes.letters)
        return np.asarray(kernels.cross_count(self._candidate, group_of, word, self._weight, n_groups, letters))


class LocalEngine:
    """Threads over shards of the episodes."""

    def __init__(self, plan: Plan, episodes: Episodes, pool: ThreadPoolExecutor, threads: int) -> None:
        self._pool = pool
        shards = min(threads, max(1, episodes.n // LEAST_SHARD)) if plan.divides else 1
        edges = np.linspace(0, episodes.n, shards + 1).astype(int)
        parts = [episodes.columns(slice(a, b)) for a, b in pairwise(edges)]
        self._workers = list(pool.map(lambda part: _Worker(plan, part), parts))

    @classmethod
    @contextmanager
    def running(cls, plan: Plan, episodes: Episodes, threads: int) -> Iterator[LocalEngine]:
        """An engine whose threads end with the block."""
        with ThreadPoolExecutor(max_workers=threads) as pool:
            yield cls(plan, episodes, pool, threads)

    def letters(self, t: int, join: Int64, n_states: int) -> Int64:
        """How often each state of layer t meets each letter, [Q, X]; candidates of the last layer `join` states."""
        if all(worker.knows_letters for worker in self._workers):  # too little work to wake a thread for
            parts = [worker.letters(t, join, n_states) for worker in self._workers]
        else:
            parts = self._each(lambda worker: worker.letters(t, join, n_states))
        return np.asarray(sum(parts[1:], parts[0]))

    def advance(self, t: int, join: Int64, candidate_of: Int64, n_candidates: int) -> list[Any]:
        """Read step t, where a state and a letter give the next candidate, and count what follows by candidate.

        Returns the statistic's parts, one per shard; after the last step nothing follows.
        """
        return self._each(lambda worker: worker.advance(t, join, candidate_of, n_candidates))

    def _each(self, task: Callable[[_Worker], T]) -> list[T]:
        # this thread takes the first shard itself: waking another costs as much as a thousand episodes
        others = [self._pool.submit(task, worker) for worker in self._workers[1:]]
        return [task(self._workers[0]), *(other.result() for other in others)]
