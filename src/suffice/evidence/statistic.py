"""Statistics that describe the futures of candidates by additive counts. Theory: docs/theory.md, section 2.

AdaCT-H needs three operations on samples of suffixes: their size, a distance between two, and the union of two. Each
statistic provides them as rows of additive counts, so counts of shards of a log can be added:

    Statistic --plan--> CountingPlan --shard--> Shard --count--> part --combine--> part --layer--> CandidateLayer

A `CountingPlan` holds what is fixed before counting, a `Shard` some of the episodes prepared for it, a `CandidateLayer`
the candidates of one layer, ready to be compared, promoted and merged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np

from suffice.data.episodes import Episodes, Outline
from suffice.data.queries import EpisodesView, LetterCounts, Query
from suffice.evidence.bounds import FISHER_EXACT, Bound
from suffice.evidence.events import Event
from suffice.evidence.tables import STATISTICS, USUAL_METRIC
from suffice.kernels import walking
from suffice.kernels.array_types import Float, Int64, UInt32

PREPARED = 32 << 20  # bytes of episodes that are prepared for counting at a time


class Judgement(NamedTuple):
    """The result of comparing a candidate with the states of its layer."""

    nearest: int  # nearest state that is not distinct, or if there is none, of all states; of equals the oldest
    alone: bool  # whether the candidate is distinct from all states
    distance: float  # evidence between the candidate and the nearest state
    threshold: float  # evidence at which they are distinct
    event: int  # event on which they differ most; −1: none
    widest: float | None = None  # where several families were used, the largest threshold


class CandidateLayer(Protocol):
    """The candidates of one layer and the states promoted among them so far."""

    def judge(self, kind: int, c: int, low: Float, high: Float, delta: float) -> Judgement:
        """Compare candidate c with every state by a measure of `kernels.comparing`.

        Thresholds lie between `low` and `high` [Q]. Where these differ, Tarone's correction gives the threshold.
        """

    @property
    def events(self) -> float:
        """Number of events, an upper limit of the testable ones."""

    def counts(self, c: int, q: int, event: int) -> tuple[int, int, int, int]:
        """Return k₁, n₁, k₂, n₂: the count of an event in candidate c and its size, and the same for state q."""

    def event(self, number: int) -> Event:
        """Return the event with a number, as data."""

    def promote(self, c: int) -> None:
        """Make candidate c the next state."""

    def absorb(self, c: int, q: int) -> None:
        """Add the suffixes of candidate c to state q."""


class Shard(Protocol):
    """Some of the episodes, prepared for counting."""

    def count(self, t: int, candidate: UInt32, n_candidates: int, met: LetterCounts | None = None) -> Any:
        """Count the suffixes from step t by candidate: the part of this shard.

        `met` has the counts of next and last letters by candidate, if they are already known.
        """


class QueryRunner(Protocol):
    """An object that runs queries over the episodes, wherever they are stored."""

    @property
    def answers(self) -> int:
        """Largest number of answers to a query that are in memory at a time."""

    def run_query(self, query: Query[Any]) -> Any:
        """Return the answer over all episodes."""


class AdaptiveReport(Protocol):
    """Which of several families were needed to distinguish states."""

    @property
    def ladder(self) -> tuple[object, ...]:
        """The families, from small to large."""

    @property
    def layers(self) -> tuple[int, ...]:
        """The largest rung that each layer needed, −1 if none."""

    @property
    def left_out(self) -> tuple[object, ...]:
        """Rungs that did not fit into memory."""

    @property
    def states(self) -> tuple[int, ...]:
        """Number of states that each rung distinguished; empty where that is not counted."""

    @property
    def sentence(self) -> str:
        """The report as one or more sentences."""


class LayerCost(NamedTuple):
    """The events used by the comparisons of a layer."""

    size: int  # |X| of the union bound
    rung: int = -1  # where there are several families, the largest that was needed; −1: none


class CountingPlan(Protocol):
    """What is fixed before counting. A plan inherits from this class to get the defaults."""

    estimates: bool  # whether counts are estimates, as in the paper's Theorem 1
    again: bool  # whether a layer may request more counts

    @property
    def divides(self) -> bool:
        """Whether counting shards in parallel is faster."""

    @property
    def rows(self) -> bool:
        """Whether a part is a table of counts, [C, E]. Then rows of candidates can be added later."""

    def size(self, length: int, delta: float) -> int:
        """Return |X| for suffixes of a length; only sketches depend on δ, which determines their shape."""

    def prepared_bytes(self, episodes: int) -> int:
        """Return the memory of this number of prepared episodes, in bytes."""

    def at_once(self, t: int, n_candidates: int, answers: int) -> bool:
        """Return whether that many answers, with the counts of all candidates of layer t, fit into memory.

        Otherwise `layer` is called without counts, and counts some candidates at a time.
        """
        return True

    def shard(self, episodes: Episodes) -> Shard:
        """Prepare some of the episodes for counting."""

    def combine(self, parts: list[Any]) -> Any:
        """Add up the parts of several shards."""

    def layer(self, t: int, part: Any, sizes: Int64, delta: float, runner: QueryRunner | None = None) -> CandidateLayer:
        """Create the candidates of layer t from their counts; `runner` runs queries for counts not made yet.

        If the counts do not fit into memory `at_once`, `part` is None.
        """

    @property
    def rungs(self) -> int:
        """Number of families that a layer may use one after the other; 0: the family is fixed."""
        return 0

    def asked(self, layer: Any, length: int, delta: float) -> LayerCost:
        """Return the events that a layer used, once all its candidates are placed; None: nothing was compared."""
        return LayerCost(self.size(length, delta))

    def figures(self) -> dict[str, list[str]]:
        """Return what a checkpoint must store for `resume`."""
        return {}

    def resume(self, figures: Mapping[str, list[str]]) -> None:
        """Continue from the figures of a checkpoint."""
        return None

    def report(self, rungs: tuple[int, ...]) -> AdaptiveReport | None:
        """Return a report on the families, given the largest rung that each layer needed."""
        return None


class Statistic(Protocol):
    """What is counted about futures: languages, prefixes, or a sketch of prefixes.

    A statistic inherits from this class to get the defaults. `tables.STATISTICS` creates it from `StatisticOptions`.
    """

    @property
    def name(self) -> str:
        """Name of the statistic on the command line and in model files."""

    @property
    def usual_bound(self) -> Bound:
        """The default bound, the sharpest valid one that is fast for this statistic."""
        return FISHER_EXACT

    @property
    def options(self) -> StatisticOptions:
        """The options that create this statistic again."""
        return StatisticOptions(self.name)

    def plan(self, log: Outline, bound: Bound, memory: int) -> CountingPlan:
        """Prepare counting on a log; `memory` is a limit in bytes."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class StatisticOptions:
    """The choice of a statistic as text, as on the command line and in model files.

    >>> from suffice.evidence.statistic import StatisticOptions
    >>> StatisticOptions("languages", "1,1,1").make()
    LanguageCounts(family=Family(i=1, j=1, k=1, conjunctions=False))
    """

    metric: str = USUAL_METRIC
    family: str | None = None  # None: the default, where the metric has families
    ladder: tuple[str, ...] = ()  # several families, from small to large
    seed: int | None = None

    def make(self) -> Statistic:
        """Create the statistic; raise SettingsError for an unknown metric or family."""
        make: Callable[[StatisticOptions], Statistic] = STATISTICS[self.metric]
        return make(self)


class SuffixCounts(NamedTuple):
    """Query for the counts of a plan over the suffixes from step t, by candidate."""

    plan: CountingPlan
    t: int
    n_candidates: int

    def __call__(self, view: EpisodesView) -> Any:
        """Answer the query for one part of the episodes."""
        few = max(1, PREPARED // self.plan.prepared_bytes(1))
        return self.combine([self._count(part) for part in view.slices(few)])

    def _count(self, view: EpisodesView) -> Any:
        shard: Shard = view.prepare(self.plan, view.episodes)
        return shard.count(self.t - view.since, view.group, self.n_candidates, view.met)

    def combine(self, answers: list[Any]) -> Any:
        """Combine the answers of several parts."""
        return answers[0] if len(answers) == 1 else self.plan.combine(answers)

    def joined(self, answer: Int64, of_group: Int64, n: int) -> Int64:
        """Add up the rows of groups that belong to one candidate; see `EarlyQuery`."""
        return np.asarray(walking.add_rows(answer, of_group, n))


class CountsOfSome(NamedTuple):
    """Query for the counts of some of the candidates."""

    query: Query[Any]  # for n candidates
    place: UInt32  # [C] row of each candidate, n for those that are not counted
    n: int

    @classmethod
    def of(cls, query: Query[Any], counted: Int64, n_candidates: int) -> CountsOfSome:
        """Return the query for the candidates that are counted."""
        n = len(counted)
        place = np.full(n_candidates, n, np.uint32)
        place[counted] = np.arange(n)
        return cls(query, place, n)

    def __call__(self, view: EpisodesView) -> Any:
        """Answer the query for one part of the episodes."""
        return self.query(view.among(self.place, self.n))

    def combine(self, answers: list[Any]) -> Any:
        """Combine the answers of several parts."""
        return self.query.combine(answers)


class RowsInParts:
    """Rows of counts of a layer's candidates, counted for some candidates at a time, in the order of placement."""

    def __init__(self, order: Int64, most: int, count: Callable[[Int64], Int64]) -> None:
        """Count the candidates in this order, at most `most` at a time; `count` returns the rows of some."""
        self._order, self._most, self._count = order, max(1, most), count
        self._position = {c: at for at, c in enumerate(order.tolist())}
        self._first, self._rows = 0, np.zeros((0, 0), np.int64)

    def __call__(self, c: int) -> Int64:
        """Return the row [E] of candidate c."""
        at = self._position[c]
        if not self._first <= at < self._first + len(self._rows):
            self._first, self._rows = at, np.zeros((0, 0), np.int64)  # the rows before are released first
            self._rows = self._count(self._order[at : at + self._most])
        return np.asarray(self._rows[at - self._first])


def by_size(sizes: Int64) -> Int64:
    """Return the order in which candidates are placed: largest first, ties by state, action and observation."""
    return np.argsort(-sizes, kind="stable")
