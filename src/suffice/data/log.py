"""Logs in memory, in a file that is read block by block, or on other machines, behind one interface."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import fields
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from suffice.data import content
from suffice.data.episodes import Episodes, Outline, share_of
from suffice.data.queries import EpisodesView, Query, added
from suffice.data.threads import gather
from suffice.errors import SettingsError, parameter, require_type
from suffice.kernels.array_types import Int64, Mask, UInt64

T = TypeVar("T")

ITSELF = 320 << 20  # bytes of the program without any data
BLOCK_STEPS = 1 << 22  # steps of a block: enough to amortise its overhead, few enough for the cache
SMALL = 64 << 20  # bytes of tables that are always allowed, because their number is hardly noticed beside the program
COUNTED_AT_ONCE = 256 << 20  # bytes of counts that are made at a time; more would save little time


def room_for_counts(memory: int) -> int:
    """Return the bytes of counts that are made at a time, if `memory` is the room for tables."""
    return min(memory // 4, COUNTED_AT_ONCE)


def room_for_tables(memory: int, log: Log) -> int:
    """Return the bytes that tables may take, if `memory` is that of the whole process, with the program and the log."""
    held = log.nbytes if isinstance(log, Episodes) else 0
    return max(memory - ITSELF - held, min(memory, SMALL))


class ExternalLog(Outline):
    """A log whose episodes are not in memory."""

    __slots__ = ()

    @property
    def outline(self) -> Outline:
        """Everything except the episodes themselves."""
        return Outline(*(getattr(self, field.name) for field in fields(Outline)))

    @property
    def weighted(self) -> bool:
        """Whether episodes have weights, even if all are 1."""
        raise NotImplementedError

    @property
    def censored(self) -> bool:
        """Whether some episodes were cut off before the horizon."""
        raise NotImplementedError

    @property
    def grouped(self) -> bool:
        """Whether episodes belong to groups."""
        raise NotImplementedError

    def ended(self) -> ExternalLog:
        """Return the log as if episodes that were cut off had ended there."""
        raise NotImplementedError

    def run_query(self, query: Query[T]) -> T:
        """Answer a query over all episodes."""
        raise NotImplementedError

    def running(self) -> AbstractContextManager[Any]:
        """Return an engine that moves the episodes through an automaton, see `engines.Engine`."""
        raise NotImplementedError

    def in_blocks(self, threads: int) -> InBlocks | None:
        """Return the blocks that this process reads with `threads`; None if it cannot, see `running`."""
        return None

    def among(self, chosen: Mask) -> ExternalLog:
        """Return the log restricted to some of its episodes."""
        raise NotImplementedError

    def watched(self, progress: Callable[[float, int], None]) -> Callable[[float, int], None]:
        """Return a progress callback that may report more than layers."""
        return progress

    def divide(self, share: float, rng: np.random.Generator) -> tuple[ExternalLog, ExternalLog, Int64]:
        """Divide the episodes into the same parts as `Episodes.divide`."""
        if self.weighted:
            raise SettingsError(
                "this log is larger than memory, and episodes with weights are divided only in memory. Raise "
                f"{parameter('memory')}, or divide the log yourself."
            )
        contents = content_of(self)
        if contents.group is not None:
            chosen = content.draw_groups(contents.group, None, share, rng)
        else:
            chosen = content.draw(contents.hashes, share_of(share, self.total), rng)
        return self.among(~chosen), self.among(chosen), np.flatnonzero(chosen)


Log = Episodes | ExternalLog


def require_log(episodes: object) -> None:
    """Refuse anything but a log that was read, such as the name of one."""
    require_type("episodes", episodes, Log, "Episodes. Read the log first: suffice.read_log(log).")


class Blocks(Protocol):
    """Episodes that can be read block by block."""

    @property
    def sizes(self) -> list[int]:
        """Number of episodes in each block."""

    def block(self, i: int, since: int = 0) -> Episodes:
        """Return the episodes of one block, from step `since` on."""


class InBlocks(NamedTuple):
    """The blocks of a log, and the number of threads that read them."""

    blocks: Blocks
    threads: int
    first: int  # index of the first episode in the whole log


class InMemory:
    """Blocks of episodes that are in memory."""

    def __init__(self, episodes: Episodes) -> None:
        self._episodes = episodes
        self._length = block_length(episodes.horizon)

    @property
    def sizes(self) -> list[int]:
        """Number of episodes in each block."""
        n, length = self._episodes.n, self._length
        return [min(length, n - begin) for begin in range(0, n, length)]

    def block(self, i: int, since: int = 0) -> Episodes:
        """Return the episodes of one block, from step `since` on."""
        columns = slice(i * self._length, min((i + 1) * self._length, self._episodes.n))
        return self._episodes.columns(columns, since)

    def view(self, i: int) -> EpisodesView:
        """Return one block as the input of a query."""
        return EpisodesView(self.block(i), i * self._length)


def block_length(horizon: int) -> int:
    """Return the number of episodes in a block."""
    return max(1 << 10, min(1 << 16, BLOCK_STEPS // (horizon + 1)))


def watched(log: Log, progress: Callable[[float, int], None]) -> Callable[[float, int], None]:
    """Return the callback for the progress of learning from a log."""
    return progress if isinstance(log, Episodes) else log.watched(progress)


def run_query(log: Log, query: Query[T], threads: int = 1) -> T:
    """Answer a query over a log; `threads` are used if it is in memory."""
    if not isinstance(log, Episodes):
        return log.run_query(query)
    blocks = InMemory(log)
    return gather(len(blocks.sizes), threads, lambda i: query(blocks.view(i)), query.combine)


class EpisodeContents(NamedTuple):
    """Hashes of the episodes of a log, and their weights and groups if they have any, in the order of the log."""

    hashes: UInt64  # [N]
    weight: Int64 | None  # [N]
    group: UInt64 | None  # [N]


class _ContentQuery(NamedTuple):
    """A query for the contents of all episodes, in parts with the position of their first episode."""

    of_letter: UInt64  # [X] hashes of the letters

    def __call__(self, view: EpisodesView) -> list[tuple[int, EpisodeContents]]:
        """Return the contents of some episodes."""
        hashes = content.content_hashes(view.episodes, self.of_letter)
        return [(view.first, EpisodeContents(hashes, view.episodes.weight, view.episodes.group))]

    def combine(self, answers: list[list[tuple[int, EpisodeContents]]]) -> list[tuple[int, EpisodeContents]]:
        """List the parts of all answers."""
        return [part for answer in answers for part in answer]


def content_of(log: Log, threads: int = 1) -> EpisodeContents:
    """Return the hashes, weights and groups of all episodes of a log."""
    parts = run_query(log, _ContentQuery(content.letter_hashes(log.outline)), threads)
    parts.sort(key=lambda part: part[0])
    hashes = np.concatenate([part.hashes for _, part in parts])
    weight = [part.weight for _, part in parts if part.weight is not None]
    group = [part.group for _, part in parts if part.group is not None]
    return EpisodeContents(hashes, np.concatenate(weight) if weight else None, np.concatenate(group) if group else None)


class _DigestQuery(NamedTuple):
    """A query for the hash of all episodes."""

    ordered: bool

    def __call__(self, view: EpisodesView) -> NDArray[np.uint64]:
        """Return the hash of some episodes."""
        return view.episodes.mixed(view.first, self.ordered)

    def combine(self, answers: list[NDArray[np.uint64]]) -> NDArray[np.uint64]:
        """Add up the hashes of all parts."""
        return added(answers)


def digest(log: Log, ordered: bool = False, threads: int = 1) -> str:
    """Return a hash of the content of a log; `ordered` makes the order of its episodes matter."""
    used = log.compact() if isinstance(log, Episodes) else log
    return used.outline.digest(run_query(used, _DigestQuery(ordered), threads))
