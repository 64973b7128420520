"""A layer that asks larger families only about states that smaller ones could not tell from a candidate."""

from __future__ import annotations

import math
from typing import Any, NamedTuple, Protocol

import numpy as np

from suffice.data.queries import EpisodesView
from suffice.evidence.bounds import Bound
from suffice.evidence.events import Event
from suffice.evidence.language_counts import LanguagePlan
from suffice.evidence.languages import Family, FamilyTooLargeError
from suffice.evidence.rows import RowLayer, StateComparisons
from suffice.evidence.statistic import PREPARED, Judgement, QueryRunner
from suffice.kernels import comparing
from suffice.kernels.array_types import Float, Int64, Mask, UInt8


class Rungs(Protocol):
    """What the layer needs of its plan, `adaptive.AdaptivePlan`."""

    ladder: tuple[Family, ...]
    bound: Bound

    def share(self, r: int) -> float:
        """w_r."""

    def rung(self, r: int) -> LanguagePlan | None:
        """The family of a rung on this log; None if it does not fit."""

    def leave_out(self, r: int) -> None:
        """A rung that turns out not to fit."""

    def needs_futures(self, r: int) -> bool:
        """Whether the futures that a rung tells apart have to be counted."""

    def know(self, r: int, futures: int) -> None:
        """So many futures, which are refused if they do not fit."""


class CountedOn(NamedTuple):
    """What `SuffixCounts` asks, on a rung of the ladder."""

    plan: Rungs
    r: int
    t: int
    n_candidates: int

    def __call__(self, view: EpisodesView) -> Any:
        """See `Query`."""
        few = max(1, PREPARED // self._rung.prepared_bytes(1))
        return self.combine([self._count(part) for part in view.slices(few)])

    def _count(self, view: EpisodesView) -> Any:
        shard = view.prepare(self.plan, view.episodes)
        return shard.count_on(self.r, self.t - view.since, view.group, self.n_candidates, view.met)

    def combine(self, answers: list[Any]) -> Any:
        """See `Query`."""
        return answers[0] if len(answers) == 1 else self._rung.combine(answers)

    @property
    def _rung(self) -> LanguagePlan:
        plan = self.plan.rung(self.r)
        assert plan is not None, "rungs that do not fit are not asked"
        return plan


class _DistinctFutures(NamedTuple):
    """What a rung of words tells apart from step t on: the distinct membership rows, as bits."""

    plan: Rungs
    r: int
    t: int

    def __call__(self, view: EpisodesView) -> UInt8:
        """See `Query`."""
        found: UInt8 = view.prepare(self.plan, view.episodes).futures(self.r, self.t - view.since)
        return found

    def combine(self, answers: list[UInt8]) -> UInt8:
        """See `Query`."""
        return answers[0] if len(answers) == 1 else np.unique(np.concatenate(answers), axis=0)


class _Rung(NamedTuple):
    """A family in this layer."""

    number: int
    layer: RowLayer
    size: int  # |X|
    delta: float

    def thresholds(self, bound: Bound, n: int, sizes: Int64) -> tuple[Float, Float]:
        """Between which values the threshold for each state lies."""
        return bound.thresholds(n, sizes, self.size, self.layer.events, self.delta)


class _RungAnswer(NamedTuple):
    """What a rung said about a candidate."""

    rung: _Rung
    told: StateComparisons


class AdaptiveLayer:
    """Candidates and states on every rung that was asked so far."""

    def __init__(
        self, plan: Rungs, t: int, length: int, first: Any, sizes: Int64, delta: float, asker: QueryRunner | None
    ) -> None:
        """`first` is what was counted for the first rung."""
        self._plan, self._t, self._length, self._first, self._sizes, self._delta = plan, t, length, first, sizes, delta
        self._asker = asker
        self._rungs: dict[int, _Rung] = {}
        self._placed: list[tuple[int, int]] = []  # candidates and the states they became or joined, in order
        self._n_states = 0
        self._state_sizes = np.zeros_like(sizes)
        self._telling = -1  # the largest rung that it took for the candidate judged last to be alone
        self.needed = -1  # the largest rung without which a candidate would have joined a state
        self._open(0)

    @property
    def size(self) -> int:
        """Σ |X| of the rungs asked, which is what the union bound pays for."""
        return sum(rung.size for rung in self._rungs.values())

    @property
    def events(self) -> float:
        """See `CandidateLayer`."""
        return sum(rung.layer.events for rung in self._rungs.values())

    def judge(self, kind: int, c: int, low: Float, high: Float, delta: float) -> Judgement:
        """See `CandidateLayer`; each rung has thresholds of its own instead of those given.

        The nearest of the undecided states is the one at the least distance over all languages asked. If there are
        none, it is among those that only the largest rung told apart.
        """
        undecided = np.ones(self._n_states, bool)
        asked: list[_RungAnswer] = []
        for r in range(len(self._plan.ladder)):
            rung = self._rung_for(r, c, undecided)
            if rung is None:
                continue
            told = rung.layer.tell_apart(kind, c, undecided, *self._thresholds(rung, c), rung.delta)
            asked.append(_RungAnswer(rung, told))
            apart = undecided & (told.evidence >= told.threshold)
            undecided &= ~apart
            if not undecided.any():
                self._telling = r
                return self._alone(kind, c, rung, apart)
        return self._nearest(c, asked, undecided)

    def counts(self, c: int, q: int, event: int) -> tuple[int, int, int, int]:
        """See `CandidateLayer`."""
        event, r = divmod(event, len(self._plan.ladder))
        return self._rungs[r].layer.counts(c, q, event)

    def event(self, number: int) -> Event:
        """See `CandidateLayer`."""
        number, r = divmod(number, len(self._plan.ladder))
        return self._rungs[r].layer.event(number)

    def promote(self, c: int) -> None:
        """See `CandidateLayer`."""
        for rung in self._rungs.values():
            rung.layer.promote(c)
        if self._n_states:
            self.needed = max(self.needed, self._telling)
        self._placed.append((c, self._n_states))
        self._state_sizes[self._n_states] = self._sizes[c]
        self._n_states += 1

    def absorb(self, c: int, q: int) -> None:
        """See `CandidateLayer`."""
        for rung in self._rungs.values():
            rung.layer.absorb(c, q)
        self._placed.append((c, q))
        self._state_sizes[q] += self._sizes[c]

    def _rung_for(self, r: int, c: int, undecided: Mask) -> _Rung | None:
        """A rung, unless it does not fit or the samples are too small for it to tell any of the states apart.

        More evidence is attainable the larger the state, so the largest one shows whether there is any use. The first
        rung is asked in any case: some distance must say which state is nearest.
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
        """Count a rung for all candidates, and let those placed already take their places on it."""
        plan = self._plan.rung(r)
        assert plan is not None, "rungs that do not fit are not opened"
        delta = self._delta * self._plan.share(r)
        try:
            if self._asker is not None and r and self._plan.needs_futures(r):
                self._plan.know(r, len(self._asker.run_query(_DistinctFutures(self._plan, r, self._t))))
            layer = plan.layer(self._t, self._count(r), self._sizes, delta)
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

    def _count(self, r: int) -> Any:
        if r == 0:
            return self._first
        assert self._asker is not None, "larger rungs are asked for where episodes are"
        return self._asker.run_query(CountedOn(self._plan, r, self._t, len(self._sizes)))

    def _thresholds(self, rung: _Rung, c: int) -> tuple[Float, Float]:
        return rung.thresholds(self._plan.bound, int(self._sizes[c]), self._state_sizes[: self._n_states])

    def _alone(self, kind: int, c: int, rung: _Rung, last: Mask) -> Judgement:
        """Distinct from all states: of those told apart last, the nearest on that rung."""
        never = np.full(self._n_states, math.inf)
        told = rung.layer.tell_apart(kind, c, last, never, never, rung.delta)
        q = int(comparing.nearest(np.where(last, told.evidence, math.inf), never, never))
        distance, event = float(told.evidence[q]), self._numbered(rung, int(told.event[q]))
        return Judgement(q, True, distance, self._threshold(rung, c, q), event)

    def _nearest(self, c: int, asked: list[_RungAnswer], undecided: Mask) -> Judgement:
        """The nearest undecided state, and what the rung says that came closest to telling it apart."""
        never = np.full(self._n_states, math.inf)
        distances = np.max([told.evidence for _, told in asked], axis=0)
        q = int(comparing.nearest(np.where(undecided, distances, math.inf), never, never))
        thresholds = [self._threshold(rung, c, q) for rung, _ in asked]
        evidence = [float(told.evidence[q]) for _, told in asked]
        closest = int(np.argmax([e / limit for e, limit in zip(evidence, thresholds, strict=True)]))
        rung, told = asked[closest]
        event = self._numbered(rung, int(told.event[q]))
        return Judgement(q, False, evidence[closest], thresholds[closest], event, max(thresholds))

    def _threshold(self, rung: _Rung, c: int, q: int) -> float:
        low, high = self._thresholds(rung, c)
        return rung.layer.tarone_threshold(c, q, rung.delta) if low[q] < high[q] else float(low[q])

    def _numbered(self, rung: _Rung, event: int) -> int:
        """Events of different rungs have different numbers."""
        return event if event < 0 else event * len(self._plan.ladder) + rung.number
