"""Engine that processes episodes block by block, for logs that do not fit into memory once prepared for counting.

There is one pass per layer: each thread takes a block at a time, reads the rest of its episodes, lets them take the
step, and runs the query. Between passes only the candidate of each episode is stored: 4 bytes per episode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from suffice.data.episodes import Outline, weights
from suffice.data.log import Blocks
from suffice.data.queries import EarlyQuery, EpisodesView, Query, added
from suffice.data.threads import ANSWERS_A_THREAD, gather
from suffice.kernels import walking
from suffice.kernels.array_types import Int64, UInt32

T = TypeVar("T")

MOST_STORED_CELLS = 1 << 20  # largest table of letters by candidate that is stored, in cells


class Move(NamedTuple):
    """A step of every episode, in which a state and a letter give the next candidate."""

    t: int
    join: Int64  # [C] state of each candidate before the step
    candidate_of: Int64  # [Q · X] next candidate


class Walkers(Protocol):
    """Episodes that move through an automaton, wherever they are stored."""

    @property
    def answers(self) -> int:
        """Largest number of answers to a query that are in memory at a time."""

    def step(self, move: Move, query: Query[T]) -> T:
        """Let all episodes take a step, and run a query on them."""

    def run_query(self, query: Query[T]) -> T:
        """Run a query on the episodes at their current candidates."""


class BlockWalk:
    """Episodes in blocks that move through an automaton; implements `Walkers`."""

    def __init__(self, blocks: Blocks, letters: int, threads: int, first: int = 0) -> None:
        """Start at step 0; `first` is the number of the first episode in the whole log."""
        self._blocks, self._letters, self._threads, self._first = blocks, letters, threads, first
        self._begin = np.concatenate([[0], np.cumsum(blocks.sizes)]).tolist()
        self._group: UInt32 = np.zeros(self._begin[-1], np.uint32)
        self._since = 0  # last step read

    @property
    def blocks(self) -> int:
        """Number of blocks that have episodes."""
        return sum(size > 0 for size in self._blocks.sizes)

    @property
    def answers(self) -> int:
        """Largest number of answers to a query that are in memory at a time."""
        return ANSWERS_A_THREAD * self._threads

    def step(self, move: Move, query: Query[T]) -> T:
        """Let all episodes take a step, and run a query on them."""

        def read(i: int) -> T:
            view = self._view(i, move.t)
            walking.advance(view.group, move.join, move.candidate_of, self._letters, view.at(move.t))
            return query(view)

        answer = self._each(read, query.combine)
        self._since = move.t
        return answer

    def run_query(self, query: Query[T]) -> T:
        """Run a query on the episodes at their current candidates."""
        return self._each(lambda i: query(self._view(i, self._since)), query.combine)

    def _view(self, i: int, since: int) -> EpisodesView:
        group = self._group[self._begin[i] : self._begin[i + 1]]
        return EpisodesView(self._blocks.block(i, since), self._first + self._begin[i], since, group)

    def _each(self, task: Callable[[int], T], together: Callable[[list[T]], T]) -> T:
        filled = [i for i, size in enumerate(self._blocks.sizes) if size]
        return gather(len(filled), self._threads, lambda k: task(filled[k]), together)


class BlockEngine:
    """Engine for episodes in blocks or on workers; implements `Engine`."""

    def __init__(self, walkers: Walkers, outline: Outline) -> None:
        self._walkers, self._horizon, self._letters = walkers, outline.horizon, len(outline.letters)
        self._following: Int64 | None = None  # [C, X] counts of the next letter by candidate, if small

    @property
    def answers(self) -> int:
        """Largest number of answers to a query that are in memory at a time."""
        return self._walkers.answers

    def letters(self, t: int, join: Int64, n_states: int) -> Int64:
        """Count how often each state of layer t meets each letter, [Q, X]."""
        if self._following is not None:
            return np.asarray(walking.add_rows(self._following, join, n_states))
        return self._walkers.run_query(_Letters(t, join, n_states, self._letters))

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
        move = Move(t, join, candidate_of)
        if n_candidates * self._letters > MOST_STORED_CELLS:
            self._following = None
            return self._walkers.step(move, query)
        following = _Letters(t + 1, np.arange(n_candidates), n_candidates, self._letters)
        answer, self._following = self._walkers.step(move, _QueryAndLetters(query, following))
        return answer

    def run_query(self, query: Query[T]) -> T:
        """Run a query on the episodes at their current candidates."""
        return self._walkers.run_query(query)


class _Letters(NamedTuple):
    """Query for the counts of letters by state of layer t, [Q, X]."""

    t: int
    join: Int64  # [C] state of each candidate
    n_states: int
    n_letters: int

    def __call__(self, view: EpisodesView) -> Int64:
        """Answer the query for one part of the episodes."""
        counted = (view.group, self.join, view.at(self.t), weights(view.episodes), self.n_states, self.n_letters)
        return np.asarray(walking.cross_count(*counted))

    def combine(self, answers: list[Int64]) -> Int64:
        """Combine the answers of several parts."""
        return added(answers)


class _QueryAndLetters(NamedTuple, Generic[T]):
    """A query and the counts of letters, in one pass."""

    query: Query[T]
    letters: _Letters

    def __call__(self, view: EpisodesView) -> tuple[T, Int64]:
        """Answer the query for one part of the episodes."""
        return self.query(view), self.letters(view)

    def combine(self, answers: list[tuple[T, Int64]]) -> tuple[T, Int64]:
        """Combine the answers of several parts."""
        parts: Any = zip(*answers, strict=True)
        one, other = (list(part) for part in parts)
        return self.query.combine(one), self.letters.combine(other)
