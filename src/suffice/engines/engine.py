"""Engines, which run the counting of a learner in this process or on a cluster."""

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
from suffice.errors import SettingsError, alternatives, did_you_mean, parameter
from suffice.kernels.array_types import Int64

T = TypeVar("T")


class Engine(Protocol):
    """Moves all episodes through an automaton while it is built, and runs queries on them.

    After each step every episode is in a *candidate*, given by a state and a symbol. The learner then decides which
    candidates `join` which states of the layer.
    """

    @property
    def answers(self) -> int:
        """Largest number of answers to a query, of parts and of sums of parts, that are in memory at a time."""

    def letters(self, t: int, join: Int64, n_states: int) -> Int64:
        """Count how often each state of layer t meets each letter, [Q, X]."""

    def advance(
        self,
        t: int,
        join: Int64,
        candidate_of: Int64,
        n_candidates: int,
        query: Query[T],
        early: Callable[[int], EarlyQuery[Any]] | None = None,
    ) -> T | None:
        """Let all episodes read step t, where a state and a letter give the next candidate, and run a query on them.

        Return None after the last step. If no other query comes before the next step, `early` may give the query of
        that step for a number of candidates, so that idle threads can start with it.
        """

    def run_query(self, query: Query[T]) -> T:
        """Run a query on the episodes at their current candidates."""


@runtime_checkable
class EngineChoice(Protocol):
    """The choice of where a log is read and counted: in this process (`Local`), or on a cluster (`Ray`).

    `tables.ENGINES` creates it from `EngineOptions`.
    """

    def reading(self) -> AbstractContextManager[ExternalReader | None]:
        """Return a context whose value reads logs on the workers; None: this process reads them."""

    def refuse(self, *logs: Data) -> None:
        """Refuse logs that the engine cannot read, before anything is started."""


@dataclass(frozen=True, slots=True)
class EngineOptions:
    """Options of an engine on the command line."""

    workers: int | None = None
    threads: int | None = None  # threads of each worker


@dataclass(frozen=True, slots=True)
class Local:
    """Learn in this process, with the number of threads in the settings."""

    @classmethod
    def of(cls, options: EngineOptions) -> Local:
        """Create the engine; the number of workers must not be set."""
        if options.workers is not None:
            raise SettingsError(
                f"{parameter('workers', options.workers)} needs a cluster. Add {parameter('engine', 'ray')}, or use "
                f"{parameter('threads', options.workers)} instead."
            )
        return cls()

    def reading(self) -> AbstractContextManager[None]:
        """Return a context without a reader: this process reads the log."""
        return nullcontext()

    def refuse(self, *logs: Data) -> None:
        """Accept all logs, because this process can read any."""


def engine_of(chosen: EngineChoice | str | None) -> EngineChoice:
    """Return the engine of a name in `tables.ENGINES` or an engine object; None gives the default."""
    if chosen is None or (isinstance(chosen, str) and chosen in ENGINES):
        made: EngineChoice = ENGINES[USUAL_ENGINE if chosen is None else chosen](EngineOptions())
        return made
    if isinstance(chosen, type) or not isinstance(chosen, EngineChoice):
        hint = did_you_mean(chosen, ENGINES) if isinstance(chosen, str) else ""
        raise SettingsError(
            f"{parameter('engine', chosen)} is not an engine{hint or '.'} Choose {alternatives(ENGINES)}, or pass "
            "Ray(workers=4)."
        )
    return chosen


def running(
    log: Log, threads: int = 1, memory: int | None = None, needed: int = 0, finely: bool = False
) -> AbstractContextManager[Engine]:
    """Return a context with an engine for a log, at its first step; its threads end with the block.

    Episodes in memory are prepared all at once if the bytes `needed` for that are at most a quarter of what `memory`
    leaves for tables; otherwise, or if it is None, block by block. Set `finely` if answers of many parts can be added
    quickly.
    """
    if isinstance(log, Episodes):
        if memory is not None and ITSELF + log.nbytes + 4 * needed <= memory:
            return LocalEngine.running(log, threads, finely)
        return nullcontext(BlockEngine(BlockWalk(InMemory(log), len(log.letters), threads), log.outline))
    found = log.in_blocks(threads)
    if found is None:
        return log.running()
    return nullcontext(BlockEngine(BlockWalk(found.blocks, len(log.letters), found.threads, found.first), log))
