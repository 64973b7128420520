"""What is counted about the future of a candidate: the one seam inside the learner (theory.md §2).

AdaCT-H needs three things of a sample of suffixes: its size, a distance to another, and the union. Each statistic gives
them as rows of additive counts, so partial counts of shards add up:

    Statistic --plan--> Plan --shard--> Shard --count--> parts --layer--> Layer

A `Plan` is what is fixed before counting, a `Shard` some of the episodes prepared for it, a `Layer` the candidates of
one time step, ready to be compared, promoted and absorbed.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from suffice import kernels
from suffice.bounds import Bound
from suffice.episodes import Episodes

Int64 = NDArray[np.int64]
Float = NDArray[np.float64]
Candidates = NDArray[np.uint32]  # [N] the candidate each episode belongs to

UNWEIGHTED = np.zeros(0, dtype=np.int64)  # how kernels are told that every episode counts once


def weights(episodes: Episodes) -> Int64:
    """The weights as kernels take them."""
    return UNWEIGHTED if episodes.weight is None else episodes.weight


class Judgement(NamedTuple):
    """How a candidate compares with the states of its layer."""

    nearest: int  # among the states it is not distinct from, or if there is none among all; the oldest of equals
    alone: bool  # distinct from all
    distance: float
    threshold: float
    event: int  # on which they differ most; −1: none
    widest: float | None = None  # where several families were asked, the threshold of the largest


class Layer(Protocol):
    """The candidates of one layer and the states promoted among them so far."""

    def judge(self, kind: int, c: int, low: Float, high: Float, delta: float) -> Judgement:
        """Compare candidate c with every state. Thresholds lie between `low` and `high` [Q], which are equal but for
        Fisher's test, where Tarone's correction decides between them.
        """

    @property
    def events(self) -> float:
        """How many events there are: no more than that are testable."""

    def frequencies(self, c: int, q: int, event: int) -> tuple[float, float]:
        """How often the event occurs among the suffixes of candidate c and of state q."""

    def describe(self, event: int) -> str:
        """The event in words."""

    def promote(self, c: int) -> None:
        """Candidate c becomes the next state."""

    def absorb(self, c: int, q: int) -> None:
        """The suffixes of candidate c join those of state q."""


class Meetings(NamedTuple):
    """How often each candidate, or whatever episodes are grouped by, meets each letter."""

    following: Int64  # [C, X] at the step after
    last: Int64  # [C, X] at the last step

    def joined(self, of_group: Int64, n: int) -> Meetings:
        """The same for what groups stand for."""
        return Meetings(*(np.asarray(kernels.add_rows(table, of_group, n)) for table in self))


class Shard(Protocol):
    """Some of the episodes, prepared for counting."""

    def count(self, t: int, candidate: Candidates, n_candidates: int, met: Meetings | None = None) -> Any:
        """The additive part of this shard: suffixes from step t by candidate.

        What candidates meet is given if it happens to be known.
        """


class Plan(Protocol):
    """What is fixed before counting."""

    divides: bool  # whether counting shards in parallel pays
    estimates: bool  # whether counts are estimates, as Theorem 1 allows for

    def size(self, length: int, delta: float) -> int:
        """|X| for suffixes of a length; δ matters only where it decides what is counted."""

    def shard(self, episodes: Episodes) -> Shard:
        """Prepare some of the episodes."""

    def layer(self, t: int, parts: list[Any], sizes: Int64, delta: float) -> Layer:
        """Add the parts of all shards up."""


class Statistic(Protocol):
    """A way of looking at futures: languages, prefixes, or a sketch of prefixes."""

    @property
    def name(self) -> str:
        """As the command line calls it."""

    def plan(self, episodes: Episodes, bound: Bound, memory: int) -> Plan:
        """Fix what depends on the whole log; `memory` is a limit in bytes."""
