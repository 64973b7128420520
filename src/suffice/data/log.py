"""A log, wherever its episodes are: in memory, in a file that is read block by block, or on other machines."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import fields
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice.data.episodes import Episodes, Outline, share_of
from suffice.data.queries import EpisodesView, Query, added
from suffice.data.threads import gather
from suffice.errors import SettingsError
from suffice.kernels.array_types import Int64, Mask

T = TypeVar("T")

ITSELF = 320 << 20  # bytes of the program without any data


BLOCK_STEPS = (
    1 << 22
)  # steps of a block: enough that starting with one costs nothing, few enough to work on in the cache


class ExternalLog(Outline):
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

    def run_query(self, query: Query[T]) -> T:
        """The answer of all episodes."""
        raise NotImplementedError

    def running(self) -> AbstractContextManager[Any]:
        """An engine that lets the episodes walk an automaton, see `engines.Engine`."""
        raise NotImplementedError

    def in_blocks(self, threads: int) -> InBlocks | None:
        """How this process walks through them by so many threads; None: it does not, see `running`."""
        return None

    def among(self, chosen: Mask) -> ExternalLog:
        """Some of the episodes."""
        raise NotImplementedError

    def watched(self, progress: Callable[[float, int], None]) -> Callable[[float, int], None]:
        """See `watched`; there may be more to see than layers."""
        return progress

    def divide(self, share: float, rng: np.random.Generator) -> tuple[ExternalLog, ExternalLog, Int64]:
        """As `Episodes.divide`, into the same parts."""
        if self.weighted:
            raise SettingsError("episodes with weights are divided in memory only; raise --memory, or divide the log")
        chosen = np.zeros(self.n, bool)
        chosen[rng.permutation(self.n)[: share_of(share, self.total)]] = True
        return self.among(~chosen), self.among(chosen), np.flatnonzero(chosen)


Log = Episodes | ExternalLog


class Blocks(Protocol):
    """Episodes that are gone through block by block."""

    @property
    def sizes(self) -> list[int]:
        """Episodes of each block."""

    def block(self, i: int, since: int = 0) -> Episodes:
        """Those of one block, from some step on."""


class InBlocks(NamedTuple):
    """How the blocks of a log are walked through."""

    blocks: Blocks
    threads: int
    first: int  # the place of the first episode in the whole log


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

    def view(self, i: int) -> EpisodesView:
        """The same as a query sees it."""
        return EpisodesView(self.block(i), i * self._length)


def block_length(horizon: int) -> int:
    """Episodes of a block."""
    return max(1 << 10, min(1 << 16, BLOCK_STEPS // (horizon + 1)))


def watched(log: Log, progress: Callable[[float, int], None]) -> Callable[[float, int], None]:
    """What to tell the progress of learning to."""
    return progress if isinstance(log, Episodes) else log.watched(progress)


def run_query(log: Log, query: Query[T], threads: int = 1) -> T:
    """The answer of a log, wherever its episodes are; where they are in memory, of so many threads."""
    if not isinstance(log, Episodes):
        return log.run_query(query)
    blocks = InMemory(log)
    return gather(len(blocks.sizes), threads, lambda i: query(blocks.view(i)), query.combine)


class _DigestQuery(NamedTuple):
    """What the episodes add to a digest."""

    ordered: bool

    def __call__(self, view: EpisodesView) -> NDArray[np.uint64]:
        """See `Query`."""
        return view.episodes.mixed(view.first, self.ordered)

    def combine(self, answers: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
        """See `Query`."""
        return added(answers)


def digest(log: Log, ordered: bool = False, threads: int = 1) -> str:
    """A hash of a log's content: of its episodes, if wanted in their order."""
    return log.outline.digest(run_query(log, _DigestQuery(ordered), threads))
