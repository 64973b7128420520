"""Where the counting runs: the one seam below the learner."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar, runtime_checkable

from suffice.data.episodes import Episodes
from suffice.data.loading import Data
from suffice.data.log import ITSELF, InMemory, Log
from suffice.data.queries import EarlyQuery, Query
from suffice.data.streaming import ExternalReader
from suffice.engines.blocks import BlockEngine, BlockWalk
from suffice.engines.local import LocalEngine
from suffice.engines.tables import ENGINES, USUAL_ENGINE
from suffice.errors import SettingsError
from suffice.kernels.array_types import Int64

T = TypeVar("T")


class Engine(Protocol):
    """Lets all episodes walk an automaton while it is built, and asks them on the way.

    After each step episodes are in *candidates*, a state and a symbol each; the learner then says which candidates
    `join` which states of the layer.
    """

    def letters(self, t: int, join: Int64, n_states: int) -> Int64:
        """How often each state of layer t meets each letter, [Q, X]."""

    def advance(
        self,
        t: int,
        join: Int64,
        candidate_of: Int64,
        n_candidates: int,
        query: Query[T],
        early: Callable[[int], EarlyQuery[Any]] | None = None,
    ) -> T | None:
        """Read step t, where a state and a letter give the next candidate, and ask what follows.

        Nothing follows the last step. Who will ask nothing before the next step may say what will be asked then, of so
        many candidates: there may be threads to begin with it.
        """

    def run_query(self, query: Query[T]) -> T:
        """Ask where the episodes are now."""


@runtime_checkable
class EngineChoice(Protocol):
    """Where a log is read and counted: in this process (`Local`), or by the workers of a cluster (`Ray`).

    What makes one from `EngineOptions` is in `tables.ENGINES`.
    """

    def reading(self) -> AbstractContextManager[ExternalReader | None]:
        """What reads a log to where it is counted, as long as the block lasts; None: this process reads it."""

    def refuse(self, *logs: Data) -> None:
        """Refuse logs that cannot be read there, before anything is started."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """What the command line says about an engine."""

    workers: int | None = None
    threads: int | None = None  # of each worker


@dataclass(frozen=True, slots=True)
class Local:
    """Learn in this process, by as many threads as the settings say."""

    @classmethod
    def of(cls, options: EngineOptions) -> Local:
        """See `EngineChoice`."""
        if options.workers is not None:
            raise SettingsError("--workers are those of a cluster; add --engine ray, or say --threads")
        return cls()

    def reading(self) -> AbstractContextManager[None]:
        """See `EngineChoice`."""
        return nullcontext()

    def refuse(self, *logs: Data) -> None:
        """See `EngineChoice`; anything can be read here."""


def engine_of(chosen: EngineChoice | str | None) -> EngineChoice:
    """An engine from an object, a name in `tables.ENGINES`, or None for the usual one."""
    if chosen is None or isinstance(chosen, str):
        made: EngineChoice = ENGINES[USUAL_ENGINE if chosen is None else chosen](EngineOptions())
        return made
    if isinstance(chosen, type) or not isinstance(chosen, EngineChoice):
        raise SettingsError(f"engine is a name ({', '.join(ENGINES)}) or an object such as Ray(), not {chosen!r}")
    return chosen


def running(
    log: Log, threads: int = 1, memory: int | None = None, needed: int = 0, finely: bool = False
) -> AbstractContextManager[Engine]:
    """An engine for a log, at its beginning; its threads end with the block.

    Episodes in memory are prepared all at once if they and the bytes `needed` for that fit into `memory`, and else, or
    where it is None, block by block; `finely` if answers of many parts add up quickly.
    """
    if isinstance(log, Episodes):
        if memory is not None and ITSELF + log.nbytes + needed <= memory:
            return LocalEngine.running(log, threads, finely)
        return nullcontext(BlockEngine(BlockWalk(InMemory(log), len(log.letters), threads), log.outline))
    found = log.in_blocks(threads)
    if found is None:
        return log.running()
    return nullcontext(BlockEngine(BlockWalk(found.blocks, len(log.letters), found.threads, found.first), log))
