"""Where the counting runs: the one seam below the learner."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Protocol, TypeVar

from suffice.data.episodes import Episodes
from suffice.data.log import ITSELF, InMemory, Log
from suffice.data.queries import Early, Question
from suffice.data.stored import Stored
from suffice.engines.blocks import BlockEngine, Walk
from suffice.engines.local import LocalEngine
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
        question: Question[T],
        early: Callable[[int], Early[Any]] | None = None,
    ) -> T | None:
        """Read step t, where a state and a letter give the next candidate, and ask what follows.

        Nothing follows the last step. Who will ask nothing before the next step may say what will be asked then, of so
        many candidates: there may be threads to begin with it.
        """

    def ask(self, question: Question[T]) -> T:
        """Ask where the episodes are now."""


def running(
    log: Log, threads: int = 1, memory: int = 0, needed: int = 0, finely: bool = False
) -> AbstractContextManager[Engine]:
    """An engine for a log, at its beginning; its threads end with the block.

    Episodes in memory are prepared all at once, unless that needs more bytes than there are; `finely` if answers of
    many parts add up quickly.
    """
    if isinstance(log, Stored):
        return nullcontext(BlockEngine(Walk(log, len(log.letters), min(threads, log.threads), log.first), log))
    if not isinstance(log, Episodes):
        return log.running()
    if ITSELF + log.nbytes + needed > memory:
        return nullcontext(BlockEngine(Walk(InMemory(log), len(log.letters), threads), log.outline))
    return LocalEngine.running(log, threads, finely)
