"""Map-reduce over episodes, independent of where they are stored.

A query is applied to every part of the episodes, in memory, in a file or on other machines, and the answers are
combined. The result is the same to the bit for any division into parts, because answers are integers, or sums that do
not depend on the order of their terms.
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
    """Some of the episodes of a log, the input of a query."""

    episodes: Episodes  # from step `since` on
    first: int = 0  # index of the first of them in the log
    since: int = 0
    group: UInt32 = NO_GROUPS  # [n] the candidate of each episode, while episodes walk through an automaton
    met: Any = None  # letters that each candidate meets, if they were counted already
    prepare: Callable[[Any, Episodes], Any] = _make  # makes the shard of a plan, or returns a cached one

    def slices(self, size: int) -> Iterator[EpisodesView]:
        """Yield views of at most `size` episodes; the whole view if shards are cached."""
        if self.prepare is not _make or size >= self.episodes.n:
            yield self
            return
        for begin in range(0, self.episodes.n, size):
            part = slice(begin, begin + size)
            yield self._replace(
                episodes=self.episodes.columns(part), first=self.first + begin, group=self.group[part], met=None
            )

    def among(self, place: UInt32, n: int) -> EpisodesView:
        """Return the view of the episodes whose candidate has a place below n, which becomes their group."""
        place = place[self.group]
        chosen = np.flatnonzero(place < n)
        some = self._replace(episodes=self.episodes.columns(chosen), group=place[chosen], met=None)
        if self.prepare is _make:
            return some
        return some._replace(prepare=lambda plan, _: self.prepare(plan, self.episodes).some(chosen))

    def at(self, t: int) -> Codes:
        """Return the [n] letters of step t."""
        return np.asarray(self.episodes.word[t - self.since])


class Query(Protocol[T]):
    """A function of episodes whose answers can be combined; it is sent to workers, so it should be small."""

    def __call__(self, view: EpisodesView) -> T:
        """Return the answer of some episodes."""

    def combine(self, answers: list[T]) -> T:
        """Combine the answers of parts, which come in any order."""


def added(answers: list[Array]) -> Array:
    """Add up answers that are tables of counts."""
    return np.asarray(sum(answers[1:], answers[0]))


class EarlyQuery(Query[T], Protocol[T]):
    """A query that may run before candidates are known, on groups of which some turn out to be the same."""

    def joined(self, answer: T, of_group: Int64, n: int) -> T:
        """Return the answer of n candidates, given that of the groups they consist of."""


@dataclass(frozen=True)
class NoQuery:
    """A query without an answer, which only advances episodes through an automaton."""

    def __call__(self, view: EpisodesView) -> None:
        """Return no answer for some episodes."""

    def combine(self, answers: Sequence[None]) -> None:
        """Combine the missing answers of parts."""

    def joined(self, answer: None, of_group: Int64, n: int) -> None:
        """Combine the missing answers of groups."""


class LetterCounts(NamedTuple):
    """How often each letter occurs in the episodes of each candidate or other group."""

    following: Int64  # [C, X] at the next step
    last: Int64  # [C, X] at the last step

    def joined(self, of_group: Int64, n: int) -> LetterCounts:
        """Return the counts of n candidates, given those of their groups."""
        return LetterCounts(*(np.asarray(walking.add_rows(table, of_group, n)) for table in self))
