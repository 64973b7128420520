"""Asking a log: a question goes to every part of its episodes, and the answers add up.

It does not matter where the episodes are: in memory, in a file that is read block by block, or on other machines. An
answer is the same to the bit however they are divided, so questions are answered with whole numbers, or with sums that
do not depend on their order.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import fields
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice.episodes import Codes, Episodes, Int64, Mask, Outline, share_of
from suffice.errors import SettingsError

T = TypeVar("T")
Group = NDArray[np.uint32]

NOWHERE: Group = np.zeros(0, np.uint32)
ITSELF = 320 << 20  # bytes of the program without any data
CELLS = 1 << 22  # steps of a block: enough that starting with one costs nothing, few enough to work on in the cache


def _make(plan: Any, episodes: Episodes) -> Any:
    return plan.shard(episodes)


class View(NamedTuple):
    """Some of the episodes, as a question sees them."""

    episodes: Episodes  # from step `since` on
    first: int = 0  # the place of the first of them in the log
    since: int = 0
    group: Group = NOWHERE  # [n] the candidate that each belongs to, where episodes walk an automaton
    met: Any = None  # what candidates meet, if it happens to be known
    prepare: Callable[[Any, Episodes], Any] = _make  # how a plan gets its shard, which may have been kept

    def slices(self, size: int) -> Iterator[View]:
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


class Question(Protocol[T]):
    """What is asked; it travels, so it holds no more than it needs."""

    def __call__(self, view: View) -> T:
        """The answer of some episodes."""

    def together(self, answers: list[T]) -> T:
        """The answer of all, from those of their parts in any order."""


class Nothing:
    """A question for who only wants the episodes to walk on."""

    def __call__(self, view: View) -> None:
        """See `Question`."""

    def together(self, answers: Sequence[None]) -> None:
        """See `Question`."""


class Elsewhere(Outline):
    """A log whose episodes are not in memory."""

    __slots__ = ()
    ascending: bool  # the ids of the episodes grow, as they do in memory

    @property
    def outline(self) -> Outline:
        """All but the episodes themselves."""
        return Outline(*(getattr(self, field.name) for field in fields(Outline)))

    @property
    def weighted(self) -> bool:
        """Whether columns have weights, be they all 1."""
        return self.n != self.total

    def ask(self, question: Question[T]) -> T:
        """The answer of all episodes."""
        raise NotImplementedError

    def running(self) -> AbstractContextManager[Any]:
        """An engine that lets the episodes walk an automaton, see `engines.Engine`."""
        raise NotImplementedError

    def among(self, chosen: Mask) -> Elsewhere:
        """Some of the episodes."""
        raise NotImplementedError

    def watched(self, progress: Callable[[float, int], None]) -> Callable[[float, int], None]:
        """See `watched`; there may be more to see than layers."""
        return progress

    def divide(self, share: float, rng: np.random.Generator) -> tuple[Elsewhere, Elsewhere, Int64]:
        """As `Episodes.divide`, into the same parts."""
        if self.weighted:
            raise SettingsError("episodes with weights are divided in memory only; raise --memory, or divide the log")
        chosen = np.zeros(self.n, bool)
        chosen[rng.permutation(self.n)[: share_of(share, self.total)]] = True
        return self.among(~chosen), self.among(chosen), np.flatnonzero(chosen)


Log = Episodes | Elsewhere


class Blocks(Protocol):
    """Episodes that are gone through block by block."""

    @property
    def sizes(self) -> list[int]:
        """Episodes of each block."""

    def block(self, i: int, since: int = 0) -> Episodes:
        """Those of one block, from some step on."""


class InMemory:
    """Episodes as blocks."""

    def __init__(self, episodes: Episodes) -> None:
        self._episodes = episodes
        self._length = block_length(episodes.horizon)

    @property
    def sizes(self) -> list[int]:
        """See `Blocks`."""
        n, length = self._episodes.n, self._length
        return [min(length, n - begin) for begin in range(0, n, length)]

    def block(self, i: int, since: int = 0) -> Episodes:
        """See `Blocks`."""
        columns = slice(i * self._length, min((i + 1) * self._length, self._episodes.n))
        return self._episodes.columns(columns, since)

    def view(self, i: int) -> View:
        """The same as a question sees it."""
        return View(self.block(i), i * self._length)


def block_length(horizon: int) -> int:
    """Episodes of a block."""
    return max(1 << 10, min(1 << 16, CELLS // (horizon + 1)))


def gather(n: int, threads: int, task: Callable[[int], T], together: Callable[[list[T]], T]) -> T:
    """The answers of n tasks; every thread adds up its own, so that no more than two of each are kept."""

    def some(k: int) -> T:
        total = task(k)
        for i in range(k + threads, n, threads):
            total = together([total, task(i)])
        return total

    workers = min(threads, n)
    if workers == 1:
        return some(0)
    pool = ThreadPoolExecutor(workers - 1)
    try:
        others = [pool.submit(some, k) for k in range(1, workers)]
        return together([some(0), *(other.result() for other in others)])
    finally:  # after an error nobody waits for them
        pool.shutdown(wait=False, cancel_futures=True)


def watched(log: Log, progress: Callable[[float, int], None]) -> Callable[[float, int], None]:
    """What to tell the progress of learning to."""
    return progress if isinstance(log, Episodes) else log.watched(progress)


def ask(log: Log, question: Question[T], threads: int = 1) -> T:
    """The answer of a log, wherever its episodes are; where they are in memory, of so many threads."""
    if not isinstance(log, Episodes):
        return log.ask(question)
    blocks = InMemory(log)
    return gather(len(blocks.sizes), threads, lambda i: question(blocks.view(i)), question.together)


class _Mixed(NamedTuple):
    """What the episodes add to a digest."""

    ordered: bool

    def __call__(self, view: View) -> NDArray[np.uint64]:
        """See `Question`."""
        return view.episodes.mixed(view.first, self.ordered)

    def together(self, answers: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
        """See `Question`."""
        return np.asarray(sum(answers[1:], answers[0]))


def digest(log: Log, ordered: bool = False, threads: int = 1) -> str:
    """A hash of a log's content: of its episodes, if wanted in their order."""
    return log.outline.digest(ask(log, _Mixed(ordered), threads))
