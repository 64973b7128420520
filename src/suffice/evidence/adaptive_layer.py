"""A layer that compares a candidate by larger families only with states that smaller ones did not distinguish."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from suffice.data.queries import EpisodesView
from suffice.evidence.bounds import Bound
from suffice.evidence.events import Event
from suffice.evidence.language_counts import LanguagePlan
from suffice.evidence.languages import Family, FamilyTooLargeError
from suffice.evidence.prefix_rows import AllPrefixes, PrefixRowsPlan
from suffice.evidence.rows import RowLayer, StateComparisons
from suffice.evidence.statistic import PREPARED, Judgement, QueryRunner
from suffice.kernels import comparing
from suffice.kernels.array_types import Float, Int64, Mask, UInt8

RungPlan = LanguagePlan | PrefixRowsPlan


class Rungs(Protocol):
    """The methods of `adaptive.AdaptivePlan` that the layer needs."""

    ladder: tuple[Family | AllPrefixes, ...]
    bound: Bound

    def share(self, r: int) -> float:
        """Return the share w_r of δ that rung r has."""

    def rung(self, r: int) -> RungPlan | None:
        """Return the family of a rung on this log; None if it does not fit into memory."""

    def leave_out(self, r: int) -> None:
        """Record that a rung does not fit into memory."""

    def needs_futures(self, r: int) -> bool:
        """Return whether the distinct futures of a rung must still be counted."""

    def record_futures(self, r: int, futures: int) -> None:
        """Record the number of distinct futures; raise FamilyTooLargeError if they do not fit."""


class CountedOn(NamedTuple):
    """The query of `SuffixCounts` on a rung of the ladder."""

    plan: Rungs
    r: int
    t: int
    n_candidates: int

    def __call__(self, view: EpisodesView) -> Any:
        """Answer the query for one part of the episodes."""
        few = max(1, PREPARED // self._rung.prepared_bytes(1))
        return self.combine([self._count(part) for part in view.slices(few)])

    def _count(self, view: EpisodesView) -> Any:
        shard = view.prepare(self.plan, view.episodes)
        return shard.count_on(self.r, self.t - view.since, view.group, self.n_candidates, view.met)

    def combine(self, answers: list[Any]) -> Any:
        """Combine the answers of several parts."""
        return answers[0] if len(answers) == 1 else self._rung.combine(answers)

    @property
    def _rung(self) -> RungPlan:
        plan = self.plan.rung(self.r)
        assert plan is not None, "rungs that do not fit are not used"
        return plan


class _DistinctFutures(NamedTuple):
    """Query for the distinct membership rows, as bits, of a rung with words from step t on."""

    plan: Rungs
    r: int
    t: int

    def __call__(self, view: EpisodesView) -> UInt8:
        """Answer the query for one part of the episodes."""
        found: UInt8 = view.prepare(self.plan, view.episodes).futures(self.r, self.t - view.since)
        return found

    def combine(self, answers: list[UInt8]) -> UInt8:
        """Combine the answers of several parts."""
        return answers[0] if len(answers) == 1 else np.unique(np.concatenate(answers), axis=0)


class _Rung(NamedTuple):
    """The counts of a family in this layer."""

    number: int  # r
    layer: RowLayer
    size: int  # |X|
    delta: float

    def thresholds(self, bound: Bound, n: int, sizes: Int64) -> tuple[Float, Float]:
        """Return lower and upper limits of the threshold for each state."""
        return bound.thresholds(n, sizes, self.size, self.layer.events, self.delta)


class _RungAnswer(NamedTuple):
    """The comparisons of a candidate on a rung."""

    rung: _Rung
    compared: StateComparisons


class AdaptiveLayer:
    """Candidates and states on every rung used so far."""

    def __init__(
        self, plan: Rungs, t: int, length: int, first: Any, sizes: Int64, delta: float, runner: QueryRunner | None
    ) -> None:
        """Open the first rung with its counts, `first`."""
        self._plan, self._t, self._length, self._first, self._sizes, self._delta = plan, t, length, first, sizes, delta
        self._runner = runner
        self._rungs: dict[int, _Rung] = {}
        self._placed: list[tuple[int, int]] = []  # candidates and the states that they became or joined, in order
        self._n_states = 0
        self._state_sizes = np.zeros_like(sizes)
        self._deciding = -1  # largest rung needed to distinguish the last judged candidate from all states
        self.needed = -1  # largest rung without which a candidate would have joined a state
        self._open(0)

    @property
    def size(self) -> int:
        """Σ |X| over the rungs used: the events of the union bound."""
        return sum(rung.size for rung in self._rungs.values())

    @property
    def events(self) -> float:
        """Number of events, an upper limit of the testable ones."""
        return math.fsum(rung.layer.events for rung in self._rungs.values())

    def judge(self, kind: int, c: int, low: Float, high: Float, delta: float) -> Judgement:
        """Compare candidate c with every state. Each rung uses its own thresholds; `low`, `high`, `delta` are ignored.

        The nearest undecided state is the one at the smallest distance over all languages used. If there is none, it is
        among the states that only the largest rung distinguished.
        """
        undecided = np.ones(self._n_states, bool)
        answers: list[_RungAnswer] = []
        for r in range(len(self._plan.ladder)):
            rung = self._rung_for(r, c, undecided)
            if rung is None:
                continue
            compared = rung.layer.compare_each(kind, c, undecided, *self._thresholds(rung, c), rung.delta)
            answers.append(_RungAnswer(rung, compared))
            distinct = undecided & (compared.evidence >= compared.threshold)
            undecided &= ~distinct
            if not undecided.any():
                self._deciding = r
                return self._distinct_from_all(kind, c, rung, distinct)
        return self._nearest(c, answers, undecided)

    def counts(self, c: int, q: int, event: int) -> tuple[int, int, int, int]:
        """Return the counts of an event in candidate c and state q, and their sizes."""
        event, r = divmod(event, len(self._plan.ladder))
        return self._rungs[r].layer.counts(c, q, event)

    def event(self, number: int) -> Event:
        """Return the event with a number, as data."""
        number, r = divmod(number, len(self._plan.ladder))
        return self._rungs[r].layer.event(number)

    def promote(self, c: int) -> None:
        """Make candidate c the next state."""
        for rung in self._rungs.values():
            rung.layer.promote(c)
        if self._n_states:
            self.needed = max(self.needed, self._deciding)
        self._placed.append((c, self._n_states))
        self._state_sizes[self._n_states] = self._sizes[c]
        self._n_states += 1

    def absorb(self, c: int, q: int) -> None:
        """Add the suffixes of candidate c to state q."""
        for rung in self._rungs.values():
            rung.layer.absorb(c, q)
        self._placed.append((c, q))
        self._state_sizes[q] += self._sizes[c]

    def _rung_for(self, r: int, c: int, undecided: Mask) -> _Rung | None:
        """Return a rung, or None if it does not fit or the samples are too small to be distinct on it.

        A larger state allows more evidence, so the largest undecided state decides. The first rung is always used,
        because it also measures which state is nearest.
        """
        plan = self._plan.rung(r)
        if r == 0 or plan is None:
            return self._rungs.get(r)
        bound, delta = self._plan.bound, self._delta * self._plan.share(r)
        n1, n2 = int(self._sizes[c]), int(self._state_sizes[: self._n_states][undecided].max())
        least, _ = bound.thresholds(n1, np.array([n2]), plan.size(self._length, delta), 1.0, delta)
        if bound.attainable(n1, n2) < least[0]:
            return None
        if r not in self._rungs:
            self._open(r)
        return self._rungs.get(r)

    def _open(self, r: int) -> None:
        """Count a rung for all candidates, and repeat the promotions and merges made so far on it."""
        plan = self._plan.rung(r)
        assert plan is not None, "rungs that do not fit are not opened"
        delta = self._delta * self._plan.share(r)
        try:
            if self._runner is not None and r and self._plan.needs_futures(r):
                self._plan.record_futures(r, len(self._runner.run_query(_DistinctFutures(self._plan, r, self._t))))
            layer = self._layer(r, plan, delta)
        except FamilyTooLargeError:
            if r == 0:
                raise
            self._plan.leave_out(r)
            return
        states = 0
        for c, q in self._placed:
            if q == states:
                layer.promote(c)
                states += 1
            else:
                layer.absorb(c, q)
        self._rungs[r] = _Rung(r, layer, plan.size(self._length, delta), delta)

    def _layer(self, r: int, plan: RungPlan, delta: float) -> RowLayer:
        """Count a rung for all candidates, or some at a time if their counts do not fit into memory."""
        t, n, first = self._t, len(self._sizes), self._first if r == 0 else None
        if first is not None:
            return plan.layer(t, first, self._sizes, delta)
        assert self._runner is not None, "larger rungs need a query runner"
        if plan.at_once(t, n, self._runner.answers):
            return plan.layer(t, self._runner.run_query(CountedOn(self._plan, r, t, n)), self._sizes, delta)
        assert isinstance(plan, LanguagePlan), "prefixes are counted at once"
        return plan.layer_in_parts(
            t, self._sizes, lambda counted: CountedOn(self._plan, r, t, len(counted)), self._runner
        )

    def _thresholds(self, rung: _Rung, c: int) -> tuple[Float, Float]:
        return rung.thresholds(self._plan.bound, int(self._sizes[c]), self._state_sizes[: self._n_states])

    def _distinct_from_all(self, kind: int, c: int, rung: _Rung, last: Mask) -> Judgement:
        """Judge a candidate distinct from all states; the nearest is among those that the last rung distinguished."""
        never = np.full(self._n_states, math.inf)
        compared = rung.layer.compare_each(kind, c, last, never, never, rung.delta)
        q = int(comparing.nearest(np.where(last, compared.evidence, math.inf), never, never))
        distance, event = float(compared.evidence[q]), self._numbered(rung, int(compared.event[q]))
        return Judgement(q, True, distance, self._threshold(rung, c, q), event)

    def _nearest(self, c: int, answers: list[_RungAnswer], undecided: Mask) -> Judgement:
        """Return the nearest undecided state, with the evidence of the rung that was closest to its threshold."""
        never = np.full(self._n_states, math.inf)
        distances = np.max([compared.evidence for _, compared in answers], axis=0)
        q = int(comparing.nearest(np.where(undecided, distances, math.inf), never, never))
        thresholds = [self._threshold(rung, c, q) for rung, _ in answers]
        evidence = [float(compared.evidence[q]) for _, compared in answers]
        closest = int(np.argmax([e / limit for e, limit in zip(evidence, thresholds, strict=True)]))
        rung, compared = answers[closest]
        event = self._numbered(rung, int(compared.event[q]))
        return Judgement(q, False, evidence[closest], thresholds[closest], event, max(thresholds))

    def _threshold(self, rung: _Rung, c: int, q: int) -> float:
        low, high = self._thresholds(rung, c)
        return rung.layer.tarone_threshold(c, q, rung.delta) if low[q] < high[q] else float(low[q])

    def _numbered(self, rung: _Rung, event: int) -> int:
        """Number an event so that events of different rungs have different numbers."""
        return event if event < 0 else event * len(self._plan.ladder) + rung.number
