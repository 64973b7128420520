"""Episodes that are gone through block by block: more of them than fit into memory, once prepared for counting.

One pass a layer: each thread takes a block at a time, reads what is left of its episodes, lets them take the step, and
asks them. Between passes nothing is kept but where each episode is: 4 bytes of it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np

from suffice.data.episodes import Outline, weights
from suffice.data.log import Blocks
from suffice.data.queries import EarlyQuery, EpisodesView, Query, added
from suffice.data.threads import gather
from suffice.kernels import walking
from suffice.kernels.array_types import Int64, UInt32

T = TypeVar("T")

KEPT_CELLS = 1 << 20  # cells up to which a table of the letters that candidates meet is kept


class Move(NamedTuple):
    """A step of every episode: a state and a letter give the next candidate."""

    t: int
    join: Int64  # [C] the state of each candidate before
    candidate_of: Int64  # [Q · X]


class Walkers(Protocol):
    """Episodes on their way through an automaton, wherever they are."""

    def step(self, move: Move, query: Query[T]) -> T:
        """Let all take a step, and ask what follows."""

    def run_query(self, query: Query[T]) -> T:
        """Ask where they are now."""


class BlockWalk:
    """See `Walkers`; of blocks."""

    def __init__(self, blocks: Blocks, letters: int, threads: int, first: int = 0) -> None:
        """`first` is the place of the first episode in the whole log."""
        self._blocks, self._letters, self._threads, self._first = blocks, letters, threads, first
        self._begin = np.concatenate([[0], np.cumsum(blocks.sizes)]).tolist()
        self._group: UInt32 = np.zeros(self._begin[-1], np.uint32)
        self._since = 0  # the step that was read last

    @property
    def blocks(self) -> int:
        """That there are to ask."""
        return sum(size > 0 for size in self._blocks.sizes)

    def step(self, move: Move, query: Query[T]) -> T:
        """See `Walkers`."""

        def read(i: int) -> T:
            view = self._view(i, move.t)
            walking.advance(view.group, move.join, move.candidate_of, self._letters, view.at(move.t))
            return query(view)

        answer = self._each(read, query.combine)
        self._since = move.t
        return answer

    def run_query(self, query: Query[T]) -> T:
        """See `Walkers`."""
        return self._each(lambda i: query(self._view(i, self._since)), query.combine)

    def _view(self, i: int, since: int) -> EpisodesView:
        group = self._group[self._begin[i] : self._begin[i + 1]]
        return EpisodesView(self._blocks.block(i, since), self._first + self._begin[i], since, group)

    def _each(self, task: Callable[[int], T], together: Callable[[list[T]], T]) -> T:
        filled = [i for i, size in enumerate(self._blocks.sizes) if size]
        return gather(len(filled), self._threads, lambda k: task(filled[k]), together)


class BlockEngine:
    """See `Engine`."""

    def __init__(self, walkers: Walkers, outline: Outline) -> None:
        self._walkers, self._horizon, self._letters = walkers, outline.horizon, len(outline.letters)
        self._following: Int64 | None = None  # [C, X] how often each candidate is followed by each letter, if small

    def letters(self, t: int, join: Int64, n_states: int) -> Int64:
        """See `Engine`."""
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
        """See `Engine`."""
        if t == self._horizon:
            return None
        move = Move(t, join, candidate_of)
        if n_candidates * self._letters > KEPT_CELLS:
            self._following = None
            return self._walkers.step(move, query)
        following = _Letters(t + 1, np.arange(n_candidates), n_candidates, self._letters)
        answer, self._following = self._walkers.step(move, _QueryAndLetters(query, following))
        return answer

    def run_query(self, query: Query[T]) -> T:
        """See `Engine`."""
        return self._walkers.run_query(query)


class _Letters(NamedTuple):
    """[Q, X] how often each state of layer t meets each letter."""

    t: int
    join: Int64  # [C] the state of each candidate
    n_states: int
    n_letters: int

    def __call__(self, view: EpisodesView) -> Int64:
        """See `Query`."""
        counted = (view.group, self.join, view.at(self.t), weights(view.episodes), self.n_states, self.n_letters)
        return np.asarray(walking.cross_count(*counted))

    def combine(self, answers: list[Int64]) -> Int64:
        """See `Query`."""
        return added(answers)


class _QueryAndLetters(NamedTuple, Generic[T]):
    """A query, and the letters met, in one pass."""

    query: Query[T]
    letters: _Letters

    def __call__(self, view: EpisodesView) -> tuple[T, Int64]:
        """See `Query`."""
        return self.query(view), self.letters(view)

    def combine(self, answers: list[tuple[T, Int64]]) -> tuple[T, Int64]:
        """See `Query`."""
        parts: Any = zip(*answers, strict=True)
        one, other = (list(part) for part in parts)
        return self.query.combine(one), self.letters.combine(other)
