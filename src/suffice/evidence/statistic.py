"""What is counted about the future of a candidate: the one seam inside the learner (theory.md §2).

AdaCT-H needs three things of a sample of suffixes: its size, a distance to another, and the union. Each statistic gives
them as rows of additive counts, so partial counts of shards add up:

    Statistic --plan--> CountingPlan --shard--> Shard --count--> part --combine--> part --layer--> CandidateLayer

A `CountingPlan` is what is fixed before counting, a `Shard` some of the episodes prepared for it, a `CandidateLayer`
the candidates of one time step, ready to be compared, promoted and absorbed.
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

PREPARED = 32 << 20  # bytes of episodes that are prepared for counting, and not kept


class Judgement(NamedTuple):
    """How a candidate compares with the states of its layer."""

    nearest: int  # among the states it is not distinct from, or if there is none among all; the oldest of equals
    alone: bool  # distinct from all
    distance: float
    threshold: float
    event: int  # on which they differ most; −1: none
    widest: float | None = None  # where several families were asked, the threshold of the largest


class CandidateLayer(Protocol):
    """The candidates of one layer and the states promoted among them so far."""

    def judge(self, kind: int, c: int, low: Float, high: Float, delta: float) -> Judgement:
        """Compare candidate c with every state, evidence being of a kind of `kernels.comparing`.

        Thresholds lie between `low` and `high` [Q]; where they differ, Tarone's correction decides between them.
        """

    @property
    def events(self) -> float:
        """How many events there are: no more than that are testable."""

    def counts(self, c: int, q: int, event: int) -> tuple[int, int, int, int]:
        """How often the event occurs among the suffixes of candidate c, and their number; the same of state q."""

    def event(self, number: int) -> Event:
        """The event of a number, as data."""

    def promote(self, c: int) -> None:
        """Candidate c becomes the next state."""

    def absorb(self, c: int, q: int) -> None:
        """The suffixes of candidate c join those of state q."""


class Shard(Protocol):
    """Some of the episodes, prepared for counting."""

    def count(self, t: int, candidate: UInt32, n_candidates: int, met: LetterCounts | None = None) -> Any:
        """The additive part of this shard: suffixes from step t by candidate.

        What candidates meet is given if it happens to be known.
        """


class QueryRunner(Protocol):
    """Whoever puts queries to the episodes where they are now."""

    def run_query(self, query: Query[Any]) -> Any:
        """The answer of all episodes."""


class AdaptiveReport(Protocol):
    """What a comparison by several families took."""

    @property
    def ladder(self) -> tuple[object, ...]:
        """From small to large."""

    @property
    def layers(self) -> tuple[int, ...]:
        """The largest rung that each layer needed, −1 if none."""

    @property
    def left_out(self) -> tuple[object, ...]:
        """Rungs that were too large to ask."""

    @property
    def states(self) -> tuple[int, ...]:
        """How many states each rung told apart; empty where that is not counted."""

    @property
    def sentence(self) -> str:
        """For a person."""


class LayerCost(NamedTuple):
    """What the comparisons of a layer took."""

    size: int  # |X|, which the union bound pays for
    rung: int = -1  # where there are several families, the largest that was needed; −1: none


class CountingPlan(Protocol):
    """What is fixed before counting; a class of its own inherits the defaults."""

    estimates: bool  # whether counts are estimates, as Theorem 1 allows for
    again: bool  # whether a layer may ask for more counts

    @property
    def divides(self) -> bool:
        """Whether counting shards in parallel pays."""

    @property
    def rows(self) -> bool:
        """Whether a part is a table of counts, [C, E]: then what is counted apart can be added up later."""

    def size(self, length: int, delta: float) -> int:
        """|X| for suffixes of a length; δ matters only where it decides what is counted."""

    def prepared_bytes(self, episodes: int) -> int:
        """Memory of so many prepared episodes."""

    def shard(self, episodes: Episodes) -> Shard:
        """Prepare some of the episodes."""

    def combine(self, parts: list[Any]) -> Any:
        """Add the parts of several shards up."""

    def layer(self, t: int, part: Any, sizes: Int64, delta: float, asker: QueryRunner | None = None) -> CandidateLayer:
        """The candidates, ready to be compared; the asker is there for what was not counted yet."""

    @property
    def rungs(self) -> int:
        """How many families a layer may ask one after the other; 0: it does not choose."""
        return 0

    def asked(self, layer: Any, length: int, delta: float) -> LayerCost:
        """What was asked of a layer, once all its candidates are placed."""
        return LayerCost(self.size(length, delta))

    def figures(self) -> dict[str, list[str]]:
        """What a checkpoint must know to `resume`."""
        return {}

    def resume(self, figures: Mapping[str, list[str]]) -> None:
        """Continue as a plan with these figures."""
        return None

    def report(self, rungs: tuple[int, ...]) -> AdaptiveReport | None:
        """What a run tells about its families, given the largest rung that each layer needed."""
        return None


class Statistic(Protocol):
    """A way of looking at futures: languages, prefixes, or a sketch of prefixes.

    A class of its own inherits the defaults. What makes one from `StatisticOptions` is in `tables.STATISTICS`.
    """

    @property
    def name(self) -> str:
        """As the command line and model files call it."""

    @property
    def usual_bound(self) -> Bound:
        """The sharpest valid bound that is fast for it."""
        return FISHER_EXACT

    @property
    def options(self) -> StatisticOptions:
        """What makes the same statistic again."""
        return StatisticOptions(self.name)

    def plan(self, log: Outline, bound: Bound, memory: int) -> CountingPlan:
        """Fix what depends on the whole log; `memory` is a limit in bytes."""
        raise NotImplementedError


@dataclass(frozen=True, slots=True)
class StatisticOptions:
    """What chooses a statistic, as text: what the command line gives and a model file keeps.

    >>> from suffice.evidence.statistic import StatisticOptions
    >>> StatisticOptions("languages", "1,1,1").make()
    LanguageCounts(family=Family(i=1, j=1, k=1, conjunctions=False))
    """

    metric: str = USUAL_METRIC
    family: str | None = None  # None: the usual one, where the metric has families
    ladder: tuple[str, ...] = ()  # several families, from small to large
    seed: int | None = None

    def make(self) -> Statistic:
        """The statistic; an unknown metric or family is refused."""
        make: Callable[[StatisticOptions], Statistic] = STATISTICS[self.metric]
        return make(self)


class SuffixCounts(NamedTuple):
    """How often the suffixes from step t of each candidate are what a plan looks at."""

    plan: CountingPlan
    t: int
    n_candidates: int

    def __call__(self, view: EpisodesView) -> Any:
        """See `Query`."""
        few = max(1, PREPARED // self.plan.prepared_bytes(1))
        return self.combine([self._count(part) for part in view.slices(few)])

    def _count(self, view: EpisodesView) -> Any:
        shard: Shard = view.prepare(self.plan, view.episodes)
        return shard.count(self.t - view.since, view.group, self.n_candidates, view.met)

    def combine(self, answers: list[Any]) -> Any:
        """See `Query`."""
        return answers[0] if len(answers) == 1 else self.plan.combine(answers)

    def joined(self, answer: Int64, of_group: Int64, n: int) -> Int64:
        """See `EarlyQuery`; of plans whose parts are rows."""
        return np.asarray(walking.add_rows(answer, of_group, n))
