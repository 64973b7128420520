"""Asking a log: a question goes to every part of its episodes, and the answers add up.

It does not matter where the episodes are: in memory, in a file that is read block by block, or on other machines. An
answer is the same to the bit however they are divided, so questions are answered with whole numbers, or with sums that
do not depend on their order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice.episodes import Codes, Episodes, Int64, Mask, Outline, share_of
from suffice.errors import SettingsError

S = TypeVar("S")
T = TypeVar("T")
Array = NDArray[Any]
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


def added(answers: list[Array]) -> Array:
    """Answers that are tables of counts, together."""
    return np.asarray(sum(answers[1:], answers[0]))


class Early(Question[T], Protocol[T]):
    """A question that may be put before candidates are known, to groups of which some turn out to be the same."""

    def joined(self, answer: T, of_group: Int64, n: int) -> T:
        """The answer of n candidates, from that of the groups they consist of."""


@dataclass(frozen=True)
class Nothing:
    """A question for who only wants the episodes to walk on."""

    def __call__(self, view: View) -> None:
        """See `Question`."""

    def together(self, answers: Sequence[None]) -> None:
        """See `Question`."""

    def joined(self, answer: None, of_group: Int64, n: int) -> None:
        """See `Early`."""


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
        raise NotImplementedError

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


class Begun(Generic[T]):
    """Tasks that this thread and others share; whoever is free takes the next.

    Every thread adds up what its own come to, so that of each no more than its answer and a new one are kept. Once one
    fails, nobody begins with another.
    """

    def __init__(
        self, tasks: Sequence[S], others: Helpers, task: Callable[[S], T], together: Callable[[list[T]], T]
    ) -> None:
        self._left = iter(tasks)  # whose next one, under Python's lock, only one thread gets
        self._task, self._together = task, together
        self._parts = [others.pool.submit(self._work) for _ in range(others.n)]

    def finish(self) -> T:
        """Help with the tasks that nobody has begun with, and wait for the others."""
        try:
            parts = self._work()
        except Exception:
            wait(self._parts)  # or they would be at work on what their caller goes on with
            raise
        wait(self._parts)
        for part in self._parts:
            parts += part.result()
        return self._together(parts)

    def _work(self) -> list[T]:
        total: list[T] = []
        try:
            for task in self._left:
                total.append(self._task(task))
                total = total if len(total) == 1 else [self._together(total)]
        except BaseException:
            deque(self._left, maxlen=0)
            raise
        return total


def gather(n: int, threads: int, task: Callable[[int], T], together: Callable[[list[T]], T]) -> T:
    """What n tasks come to together."""
    with helpers(min(threads, n) - 1) as others:
        return Begun(range(n), others, task, together).finish()


class Helpers(NamedTuple):
    """Threads besides the one that asks."""

    n: int
    pool: Executor


@contextmanager
def helpers(n: int) -> Iterator[Helpers]:
    """So many threads, until the end of the block; after an error nobody waits for them."""
    pool = ThreadPoolExecutor(max(1, n))
    try:
        yield Helpers(n, pool)
    except BaseException:
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()


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
        return added(answers)


def digest(log: Log, ordered: bool = False, threads: int = 1) -> str:
    """A hash of a log's content: of its episodes, if wanted in their order."""
    return log.outline.digest(ask(log, _Mixed(ordered), threads))
