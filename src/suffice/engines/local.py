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

LEAST_SHARD = 4096  # episodes; below this a second thread costs more than it brings


class _Worker:
    """A shard of the episodes and where in the automaton each of them is."""

    def __init__(self, plan: Plan, episodes: Episodes) -> None:
        self._episodes = episodes
        self._weight = weights(episodes)
        self._candidate: Candidates = np.zeros(episodes.n, np.uint32)
        self._shard: Shard = plan.shard(episodes)

    def advance(self, t: int, join: Int64, candidate_of: Int64, n_candidates: int) -> Int64:
        word = self._episodes.word
        following = word[t + 1] if t + 1 < len(word) else word[0, :0]
        letters = len(self._episodes.letters)
        return np.asarray(
            kernels.advance(
                self._candidate, join, candidate_of, letters, word[t], following, self._weight, n_candidates
            )
        )

    def count(self, t: int, following: Int64) -> Any:
        return self._shard.count(t, self._candidate, following)


class LocalEngine:
    """Threads over shards of the episodes."""

    def __init__(self, plan: Plan, episodes: Episodes, pool: ThreadPoolExecutor, threads: int) -> None:
        self._pool = pool
        shards = min(threads, max(1, episodes.n // LEAST_SHARD)) if plan.divides else 1
        edges = np.linspace(0, episodes.n, shards + 1).astype(int)
        parts = [episodes.columns(slice(a, b)) for a, b in pairwise(edges)]
        self._workers = list(pool.map(lambda part: _Worker(plan, part), parts))
        self._following: list[Int64] = []

    @classmethod
    @contextmanager
    def running(cls, plan: Plan, episodes: Episodes, threads: int) -> Iterator[LocalEngine]:
        """An engine whose threads end with the block."""
        with ThreadPoolExecutor(max_workers=threads) as pool:
            yield cls(plan, episodes, pool, threads)

    def advance(self, t: int, join: Int64, candidate_of: Int64, n_candidates: int) -> Int64:
        """Read step t: candidates of the last layer `join` states, and (state, letter) gives the next candidate.

        Returns how often each candidate is followed by each letter, [C, X].
        """
        self._following = self._each(lambda w, _: w.advance(t, join, candidate_of, n_candidates))
        return np.asarray(sum(self._following[1:], self._following[0]))

    def count(self, t: int) -> list[Any]:
        """The statistic's parts for the suffixes from step t, one per shard."""
        return self._each(lambda worker, following: worker.count(t, following))

    def _each(self, task: Callable[[_Worker, Int64], T]) -> list[T]:
        following = self._following or [np.zeros((0, 0), np.int64)] * len(self._workers)
        if len(self._workers) == 1:
            return [task(self._workers[0], following[0])]
        return list(self._pool.map(task, self._workers, following))
