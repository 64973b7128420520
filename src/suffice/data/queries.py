"""Asking a log: a query goes to every part of its episodes, and the answers add up.

It does not matter where the episodes are: in memory, in a file that is read block by block, or on other machines. An
answer is the same to the bit however they are divided, so queries are answered with whole numbers, or with sums that
do not depend on their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from suffice.data.episodes import Episodes
from suffice.kernels import walking
from suffice.kernels.array_types import Array, Codes, Int64, UInt32

T = TypeVar("T")

NO_GROUPS: UInt32 = np.zeros(0, np.uint32)


def _make(plan: Any, episodes: Episodes) -> Any:
    return plan.shard(episodes)


class EpisodesView(NamedTuple):
    """Some of the episodes, as a query sees them."""

    episodes: Episodes  # from step `since` on
    first: int = 0  # the place of the first of them in the log
    since: int = 0
    group: UInt32 = NO_GROUPS  # [n] the candidate that each belongs to, where episodes walk an automaton
    met: Any = None  # what candidates meet, if it happens to be known
    prepare: Callable[[Any, Episodes], Any] = _make  # how a plan gets its shard, which may have been kept

    def slices(self, size: int) -> Iterator[EpisodesView]:
        """The same, at most so many episodes at a time; all, if what is made of them is kept."""
        if self.prepare is not _make or size >= self.episodes.n:
            yield self
            return
        for begin in range(0, self.episodes.n, size):
            part = slice(begin, begin + size)
            yield self._replace(
                episodes=self.episodes.columns(part), first=self.first + begin, group=self.group[part], met=None
            )

    def at(self, t: int) -> Codes:
        """[n] the letters of step t."""
        return np.asarray(self.episodes.word[t - self.since])


class Query(Protocol[T]):
    """What is asked; it travels, so it holds no more than it needs."""

    def __call__(self, view: EpisodesView) -> T:
        """The answer of some episodes."""

    def combine(self, answers: list[T]) -> T:
        """The answer of all, from those of their parts in any order."""


def added(answers: list[Array]) -> Array:
    """Answers that are tables of counts, together."""
    return np.asarray(sum(answers[1:], answers[0]))


class EarlyQuery(Query[T], Protocol[T]):
    """A query that may be put before candidates are known, to groups of which some turn out to be the same."""

    def joined(self, answer: T, of_group: Int64, n: int) -> T:
        """The answer of n candidates, from that of the groups they consist of."""


@dataclass(frozen=True)
class NoQuery:
    """A query for who only wants the episodes to walk on."""

    def __call__(self, view: EpisodesView) -> None:
        """See `Query`."""

    def combine(self, answers: Sequence[None]) -> None:
        """See `Query`."""

    def joined(self, answer: None, of_group: Int64, n: int) -> None:
        """See `EarlyQuery`."""


class LetterCounts(NamedTuple):
    """How often each candidate, or whatever episodes are grouped by, meets each letter."""

    following: Int64  # [C, X] at the step after
    last: Int64  # [C, X] at the last step

    def joined(self, of_group: Int64, n: int) -> LetterCounts:
        """The same for what groups stand for."""
        return LetterCounts(*(np.asarray(walking.add_rows(table, of_group, n)) for table in self))
