"""Engine for episodes in memory: threads share shards that are prepared once, and integer counts are added.

Counting a layer needs the states of the layer before only to know which candidates are equal. So while the learner
still merges a layer, idle threads already take the next step, into *groups* (a candidate of the layer before and the
next symbol), and count their suffixes. Once the states are known, groups become candidates, and their counts are added.
There are more shards than threads, so that the merging thread takes some of the remaining ones.

The result is bitwise the same for any number of threads. Memory per episode: 4 bytes for its group, besides that of the
statistic.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

import numpy as np

from suffice.data.episodes import Episodes, weights
from suffice.data.queries import EarlyQuery, EpisodesView, LetterCounts, NoQuery, Query, added
from suffice.data.threads import ANSWERS_A_THREAD, Helpers, SharedTasks, helpers
from suffice.kernels import walking
from suffice.kernels.array_types import Int64, UInt32

T = TypeVar("T")

SMALL_CELLS = 1 << 16  # largest table of letters by group that is stored, in cells
FEW_GROUPS = 1 << 8  # largest number of groups for which counting ahead saves time
SHARDS = 2  # shards per thread, where adding them costs nothing, so that the merging thread can take some
LEAST_SHARD = 4096  # episodes; below this a second thread costs more than it saves


class _WalkingShard:
    """Some of the episodes, with the current group of each."""

    def __init__(self, episodes: Episodes, first: int) -> None:
        self._episodes, self._first = episodes, first
        self._weight = weights(episodes)
        self._group: UInt32 = np.zeros(episodes.n, np.uint32)
        self._met: LetterCounts | None = None  # counts of letters by group, if small
        self._plan: Any = None
        self._prepared: Any = None  # the episodes prepared for the last plan

    def read(
        self, t: int, of_group: Int64, next_group: Int64, n_groups: int, query: Query[T]
    ) -> tuple[T, Int64 | None]:
        """Let the episodes read step t, and run a query on them.

        The value of a group in `of_group` and the letter give the next group. If the table is small, also return how
        often each group meets each letter next.
        """
        word, letters = self._episodes.word, len(self._episodes.letters)
        if n_groups * letters > SMALL_CELLS:
            walking.advance(self._group, of_group, next_group, letters, word[t])
            self._met = None
            return self.answer(query), None
        tables = np.zeros((2, n_groups, letters), np.int64)
        walking.advance_and_meet(
            self._group, of_group, next_group, word[t], word[t + 1], word[-1], self._weight, tables
        )
        self._met = LetterCounts(*tables)
        return self.answer(query), self._met.following

    def letters(self, t: int, of_group: Int64, n: int) -> Int64:
        """Count the letters at step t by the value of the group in `of_group`, [n, X]."""
        word, letters = self._episodes.word[t], len(self._episodes.letters)
        return np.asarray(walking.cross_count(self._group, of_group, word, self._weight, n, letters))

    def join(self, of_group: Int64, n: int) -> None:
        """Replace each group by its value in `of_group`."""
        walking.relabel(self._group, of_group)
        self._met = self._met and self._met.joined(of_group, n)

    def answer(self, query: Query[T]) -> T:
        """Run a query on the episodes by group."""
        return query(EpisodesView(self._episodes, self._first, 0, self._group, self._met, self._prepare))

    def _prepare(self, plan: Any, episodes: Episodes) -> Any:
        if plan is not self._plan:
            self._plan, self._prepared = plan, plan.shard(episodes)
        return self._prepared


class _Ahead(NamedTuple):
    """A step taken before the states are known, with a group for each candidate and symbol that occur."""

    candidates: Int64  # [groups]
    symbols: Int64  # [groups]
    early: Callable[[int], EarlyQuery[Any]]  # number of groups → query
    begun: SharedTasks[tuple[Any, Int64 | None]]


class LocalEngine:
    """Engine for episodes in memory; the calling thread is one of those that share the shards."""

    def __init__(self, episodes: Episodes, others: Helpers, edges: list[int]) -> None:
        self._others, self._horizon, self._letters = others, episodes.horizon, len(episodes.letters)
        symbols, self._symbol_of_letter = episodes.symbols()
        self._letter_of_symbol = np.zeros(len(symbols), np.int64)
        self._letter_of_symbol[self._symbol_of_letter] = np.arange(self._letters)  # any letter of the symbol
        self._n_candidates = 1
        self._of_group: Int64 | None = None  # candidate of each group; None: groups are candidates
        self._following: Int64 | None = None  # [C, X] counts of the next letter by candidate, if small
        self._ahead: _Ahead | None = None
        self._shards = [_WalkingShard(episodes.columns(slice(a, b)), a) for a, b in pairwise(edges)]

    @classmethod
    @contextmanager
    def running(cls, episodes: Episodes, threads: int, finely: bool = False) -> Iterator[LocalEngine]:
        """Return an engine whose threads end with the block; with `finely` there are more shards than threads."""
        threads = max(1, min(threads, episodes.n // LEAST_SHARD))
        finely = finely and threads > 1 and episodes.n >= SHARDS * threads * LEAST_SHARD
        with helpers(threads - 1) as others:
            yield cls(episodes, others, _edges(episodes.n, SHARDS * threads if finely else threads, finely))

    @property
    def answers(self) -> int:
        """Largest number of answers to a query that are in memory at a time."""
        return ANSWERS_A_THREAD * (self._others.n + 1)

    def letters(self, t: int, join: Int64, n_states: int) -> Int64:
        """Count how often each state of layer t meets each letter, [Q, X]."""
        if self._following is not None:
            return np.asarray(walking.add_rows(self._following, join, n_states))
        of_group = self._standing_for(join)
        return self._begin(lambda shard: shard.letters(t, of_group, n_states), added).finish()

    def advance(
        self,
        t: int,
        join: Int64,
        candidate_of: Int64,
        n_candidates: int,
        query: Query[T],
        early: Callable[[int], EarlyQuery[Any]] | None = None,
    ) -> T | None:
        """Let all episodes read step t, and run a query on them; None after the last step."""
        if t == self._horizon:
            return None
        ahead, self._ahead, self._n_candidates = self._ahead, None, n_candidates
        answer: T
        if ahead is None:
            of_group, self._of_group = self._standing_for(join), None
            begun = self._begin_reading(t, of_group, candidate_of, n_candidates, query)
            answer, self._following = begun.finish()
        else:
            letter = self._letter_of_symbol[ahead.symbols]
            self._of_group = candidate_of[join[ahead.candidates] * self._letters + letter]
            of_groups, following = ahead.begun.finish()
            self._following = np.asarray(walking.add_rows(following, self._of_group, n_candidates))
            known = ahead.early(n_candidates)
            foreseen = type(known) is type(query) and known == query
            answer = known.joined(of_groups, self._of_group, n_candidates) if foreseen else self.run_query(query)
        if early is not None:
            self._look_ahead(t + 1, early)
        return answer

    def run_query(self, query: Query[T]) -> T:
        """Run a query on the episodes at their current candidates."""
        assert self._ahead is None, "the next step has already begun"
        of_group, self._of_group = self._of_group, None

        def answer(shard: _WalkingShard) -> T:
            if of_group is not None:
                shard.join(of_group, self._n_candidates)
            return shard.answer(query)

        return self._begin(answer, query.combine).finish()

    def _look_ahead(self, t: int, early: Callable[[int], EarlyQuery[Any]]) -> None:
        """Begin step t in idle threads, because the learner uses only one thread for the merging that comes first."""
        if not self._others.n or t == self._horizon or self._following is None:
            return
        occurs = np.zeros((len(self._following), len(self._letter_of_symbol)), bool)
        candidates, letters = np.nonzero(self._following)
        occurs[candidates, self._symbol_of_letter[letters]] = True
        candidates, symbols = np.nonzero(occurs)
        n = len(candidates)
        if n * self._letters > SMALL_CELLS:
            return
        group = np.zeros(occurs.shape, np.int64)
        group[occurs] = np.arange(n)
        of_group = self._standing_for(np.arange(self._n_candidates))
        early = early if n <= FEW_GROUPS else _nothing
        begun = self._begin_reading(t, of_group, group[:, self._symbol_of_letter].ravel(), n, early(n))
        self._ahead = _Ahead(candidates, symbols, early, begun)

    def _standing_for(self, of_candidate: Int64) -> Int64:
        """Convert a value per candidate to a value per group."""
        return of_candidate if self._of_group is None else of_candidate[self._of_group]

    def _begin_reading(
        self, t: int, of_group: Int64, next_group: Int64, n_groups: int, query: Query[T]
    ) -> SharedTasks[tuple[T, Int64 | None]]:
        def add(parts: list[tuple[T, Int64 | None]]) -> tuple[T, Int64 | None]:
            answers, following = zip(*parts, strict=True)
            return query.combine(list(answers)), None if following[0] is None else added(list(following))

        return self._begin(lambda shard: shard.read(t, of_group, next_group, n_groups, query), add)

    def _begin(self, task: Callable[[_WalkingShard], T], add: Callable[[list[T]], T]) -> SharedTasks[T]:
        return SharedTasks(self._shards, self._others, task, add)


def _edges(n: int, shards: int, finely: bool) -> list[int]:
    """Return the limits of the shards; with `finely` the last are small, so that threads end at about the same time."""
    sizes = np.arange(shards, 0, -1) if finely else np.ones(shards, int)
    return [0, *(n * np.cumsum(sizes) // sizes.sum()).tolist()]


def _nothing(n_groups: int) -> NoQuery:
    return NoQuery()
