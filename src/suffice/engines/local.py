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

    def letters(self, t: int, join: Int64, n_states: int) -> Int64:
        letters = len(self._episodes.letters)
        word = self._episodes.word[t]
        return np.asarray(kernels.cross_count(self._candidate, join, word, self._weight, n_states, letters))

    def advance(self, t: int, join: Int64, candidate_of: Int64) -> None:
        letters = len(self._episodes.letters)
        kernels.advance(self._candidate, join, candidate_of, letters, self._episodes.word[t])

    def count(self, t: int, n_candidates: int) -> Any:
        return self._shard.count(t, self._candidate, n_candidates)


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
        parts = self._each(lambda worker: worker.letters(t, join, n_states))
        return np.asarray(sum(parts[1:], parts[0]))

    def advance(self, t: int, join: Int64, candidate_of: Int64) -> None:
        """Read step t: a state and a letter give the next candidate."""
        self._each(lambda worker: worker.advance(t, join, candidate_of))

    def count(self, t: int, n_candidates: int) -> list[Any]:
        """The statistic's parts for the suffixes from step t, one per shard."""
        return self._each(lambda worker: worker.count(t, n_candidates))

    def _each(self, task: Callable[[_Worker], T]) -> list[T]:
        if len(self._workers) == 1:
            return [task(self._workers[0])]
        return list(self._pool.map(task, self._workers))
