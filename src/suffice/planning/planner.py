"""From the counts of an automaton to a plan: backward induction over its layers (theory.md §6).

*Greedy* planning takes frequencies for probabilities. *Pessimistic* planning (VI-LCB) subtracts from the value of every
action what its sample may be off by, with rewards scaled to [0, 1] and n how often the action was taken in the state:

    b = √(c L Var(r + V) / n) + c (H − t + 1) L / n,   L = ln(NH/δ),   at most H − t + 1

It takes the action with the best lower bound, and behaves as the log did where all of them are 0. *Safe* planning, the
default, knows one more action: to behave as the log did. Its value is what that brought, a mean over all visits of the
state that needs no penalty; an action must beat it to be chosen. So where data are few the plan is the behaviour, and
where they are many the best action.

The proof of VI-LCB needs counts that do not depend on each other. `two_fold` makes such counts: half of the episodes
say how often each state may be used, and of the other half's visits so many are drawn (Li et al., Settling the Sample
Complexity of Model-Based Offline Reinforcement Learning, 2022).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from suffice.automata.rdp import BEHAVE, RDP, UNSEEN
from suffice.automata.tally import Tally
from suffice.data.alphabet import PAD
from suffice.data.episodes import MOST_DRAWN
from suffice.errors import LogError, SettingsError
from suffice.evidence.estimates import Estimate
from suffice.kernels.array_types import Float, Int64

THEORY = 16.0  # the strength c for which the bound is proved; at ordinary sample sizes no action passes it
MOST_PATIENT = 0.999  # looks thousands of steps ahead, which takes seconds to compute
NOTHING = 1e-10  # a discounted reward that does not matter any more
LARGEST = 1e100  # reward that doubles can square and add up
USUAL = 0.01  # chosen by experiment on domains and sizes that are not reported on: docs/decisions/0010


@dataclass(frozen=True, slots=True)
class Planning:
    """How to plan.

    >>> suffice.Planning(strength=0.1).name, suffice.GREEDY.name
    ('safe', 'greedy')
    >>> suffice.learn(episodes, planning=suffice.Planning(strength=1000)).plan  # too cautious for anything new
    <Plan: an action in 0 of 11 states, elsewhere as logged, worth 2.503>
    """

    strength: float = USUAL  # c; 0: greedy
    delta: float = 0.05  # of the penalties, and of the lower confidence bound on what is predicted
    safe: bool = True  # to behave as the log did is an action too
    subsample: bool = False  # plan on independent counts, as the proof asks for: see `two_fold`
    discount: float | None = None  # of a stationary automaton: what a reward is worth a step later, for ever

    def __post_init__(self) -> None:
        if self.discount is not None and not 0 <= self.discount <= MOST_PATIENT:
            raise SettingsError(f"a discount is a number from 0 to {MOST_PATIENT}, not {self.discount:g}; try 0.99")
        if not (self.strength >= 0 and math.isfinite(self.strength)):
            raise SettingsError(f"the strength of pessimism is a number from 0 on, not {self.strength:g}; try {USUAL}")
        if not 0 < self.delta < 1:
            raise SettingsError(f"δ of a plan is a probability between 0 and 1, not {self.delta:g}; try 0.05")

    @property
    def name(self) -> str:
        """As the command line calls it."""
        if self.subsample:
            return "subsampled"
        return "safe" if self.safe else "pessimistic" if self.strength else "greedy"


GREEDY = Planning(strength=0.0, safe=False)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plan:
    """What to do in each state, and what that is worth.

    >>> model.plan
    <Plan: an action in 9 of 11 states, elsewhere as logged, worth 5>
    >>> model.plan.value
    5.0
    """

    actions: Int64  # [Q] place in the alphabet's actions, or BEHAVE
    values: Float  # [Q] the mean return still to come, as far as the counts tell
    lower: Float  # [Q] the same after all penalties: what the actions were chosen by
    error: float  # the standard error of the first state's value, if the automaton is right; NaN for a discounted one

    def __repr__(self) -> str:
        acts = np.count_nonzero(self.actions != BEHAVE)
        return f"<Plan: an action in {acts} of {len(self.actions)} states, elsewhere as logged, worth {self.value:.4g}>"

    @property
    def value(self) -> float:
        """The mean return that the counts predict."""
        return float(self.values[0])

    def occupancy(self, rdp: RDP) -> Float:
        """[Q] how probable the plan makes each state, if frequencies were probabilities."""
        return _occupancy(rdp, self.actions, rdp.own_tally())


def plan_on(rdp: RDP, planning: Planning | None = None, tally: Tally | None = None) -> Plan:
    """The best plan on an automaton, by its own counts or by those of other episodes; among equals the first action.

    >>> suffice.plan_on(model.rdp, suffice.GREEDY)
    <Plan: an action in 9 of 11 states, elsewhere as logged, worth 5>
    """
    return _Backward(rdp, planning or Planning(), tally or rdp.own_tally()).plan()


def unroll_plan(rdp: RDP, plan: Plan) -> Plan:
    """A plan on a stationary automaton as one on its layers: the same at every step."""
    layered, stands = rdp.unroll()
    inner = np.arange(len(stands)) < len(stands) - 1  # nothing is chosen in the final state
    actions = np.where(inner, plan.actions[stands], BEHAVE)
    values, lower = (np.where(inner, v[stands], 0.0) for v in (plan.values, plan.lower))
    error = _Backward(layered, GREEDY, layered.own_tally()).worth(actions).error
    return Plan(actions, values, lower, error)


def fold_plan(rdp: RDP, plan: Plan) -> Plan:
    """A plan on the layers of a stationary automaton, folded: what it does where it is most often in each state."""
    place = fold_places(rdp, plan)
    return Plan(plan.actions[place], plan.values[place], plan.lower[place], plan.error)


def fold_places(rdp: RDP, plan: Plan) -> Int64:
    """[Q] the state on the layers of a stationary automaton where a plan is most often in each of its states."""
    layers, stands = rdp.unroll()
    order = np.lexsort((np.arange(len(stands)), -plan.occupancy(layers)))[::-1]  # the last to be written stays
    place = np.zeros(rdp.n_states, np.int64)
    inner = order[order < len(stands) - 1]
    place[stands[inner]] = inner
    return place


def backward_induction(rdp: RDP) -> Plan:
    """The best plan if frequencies were probabilities."""
    return plan_on(rdp, GREEDY)


def worth(rdp: RDP, plan: Plan, tally: Tally) -> Estimate:
    """What other episodes say a plan is worth: the value of following it where their frequencies were probabilities."""
    return _Backward(rdp, GREEDY, tally).worth(plan.actions)


def action_values(rdp: RDP, plan: Plan, tally: Tally, discount: float | None = None) -> Float:
    """[Q, actions] the value of taking each action once and then following the plan; NaN where it was never taken."""
    return _Backward(rdp, replace(GREEDY, discount=discount), tally).action_values(plan.actions)


def behaviour_values(rdp: RDP, discount: float | None = None) -> Float:
    """[Q] the mean return still to come if one goes on as the log did."""
    backward = _Backward(rdp, replace(GREEDY, discount=discount), rdp.own_tally())
    return backward.in_user_units(backward.follow(np.full(rdp.n_states, BEHAVE)))


def action_errors(rdp: RDP, plan: Plan, tally: Tally) -> Float:
    """[Q, actions] the standard errors of these values, where an action was never taken of a guess at any return."""
    return _Backward(rdp, GREEDY, tally).action_errors(plan.actions)


class Bracket(NamedTuple):
    """Proved bounds; both hold with probability 1 − δ if the automaton is right and its counts are independent."""

    lower: float  # the plan is worth at least this
    upper: float  # no policy is worth more


def prove(rdp: RDP, plan: Plan, tally: Tally, delta: float) -> Bracket:
    """What the theory says about a plan made on these counts, with its own constant."""
    theory = Planning(strength=THEORY, delta=delta)
    backward = _Backward(rdp, theory, tally)
    return Bracket(*(float(backward.in_user_units(v)[0]) for v in (backward.follow(plan.actions), backward.most())))


def two_fold(first: Tally, second: Tally, delta: float, rng: np.random.Generator) -> Tally:
    """Of the first half's visits to each state as many as the second half has, less what chance may have added."""
    seen, spare = first.visits(), second.visits()
    chance = 10 * np.sqrt(spare * (math.log(len(spare)) - math.log(delta)))
    sizes = np.minimum(seen, np.maximum(spare - chance, 0).astype(np.int64))
    cells = np.concatenate([first.counts, first.lost], axis=1)
    if seen.max() >= MOST_DRAWN:
        raise SettingsError(f"subsampling draws from fewer than {MOST_DRAWN:,} visits of a state; use another planner")
    drawn = np.array([rng.multivariate_hypergeometric(row, n) for row, n in zip(cells, sizes, strict=True)])
    wide = first.counts.shape[1]
    return Tally(drawn[:, :wide], drawn[:, wide:])


class Scale(NamedTuple):
    """From the rewards of a log to [0, 1], and back."""

    low: float
    width: float

    @classmethod
    def of(cls, rdp: RDP) -> Scale:
        """By the rewards that the automaton has seen."""
        rewards = np.array(rdp.alphabet.rewards)[rdp.letters[:, 2]]
        low, high = float(rewards.min()), float(rewards.max())
        if max(abs(low), abs(high)) > LARGEST or 0 < high - low < 1 / LARGEST:
            raise LogError(f"rewards from {low:g} to {high:g} cannot be computed with; log them in another unit")
        return cls(low, high - low)

    def rewards(self, rdp: RDP) -> Float:
        """[X] those of the letters, scaled."""
        return np.asarray((np.array(rdp.alphabet.rewards)[rdp.letters[:, 2]] - self.low) / (self.width or 1.0))

    def values(self, scaled: Float | float, left: Float | float) -> Float:
        """Returns over so many steps, in the log's unit, without the dust that rounding leaves: 0 is 0."""
        digits = 12 - math.ceil(math.log10(self.width or 1.0))
        return np.asarray(np.round(self.width * np.asarray(scaled) + self.low * left, digits) + 0.0)


class _Layer(NamedTuple):
    """What the counts of a layer say about each state, for some values of the next."""

    times: Float  # [Q_t, A] how often each action was taken
    mean: Float  # [Q_t, A]
    spread: Float  # [Q_t, A] variance
    overall: Float  # [Q_t] the mean over all actions, as often as they were taken
    variance: Float  # [Q_t] and its variance


class _Backward:
    """Layers from the last to the first, with rewards scaled to [0, 1]."""

    def __init__(self, rdp: RDP, planning: Planning, tally: Tally) -> None:
        self._rdp, self._planning, self._tally = rdp, planning, tally
        self._scale = Scale.of(rdp)
        self._reward = self._scale.rewards(rdp)
        self._of_letter, self._offsets = rdp.symbol_of_letter(), rdp.offsets()
        self._by_action = np.argsort(rdp.letters[:, 0], kind="stable")  # [X] letters
        self._acts, self._begin = np.unique(rdp.letters[self._by_action, 0], return_index=True)
        taken = self._sums(rdp.counts)
        self._usual = taken / np.maximum(taken.sum(axis=1, keepdims=True), 1)  # [Q, A] how the automaton's log chose
        gamma = planning.discount
        if rdp.stationary != (gamma is not None):
            told = "unroll it first, or plan with a discount" if rdp.stationary else "it is for stationary automata"
            raise SettingsError(f"a plan for a horizon is made on layers, one with a discount on a cycle: {told}")
        self._gamma = 1.0 if gamma is None else gamma
        left = rdp.horizon + 1 - rdp.layer_of()  # [Q] steps still to come, padding included
        self._left = left.astype(float) if gamma is None else np.full(rdp.n_states, 1 / (1 - gamma))
        self._range = np.minimum(self._left, rdp.horizon + 1)  # [Q] of what may follow, as far as the log goes
        total = max(int(tally.visits()[0]), 1)
        self._unit = planning.strength * (math.log(total * max(rdp.horizon, 1)) - math.log(planning.delta))  # c L

    def plan(self) -> Plan:
        n = self._rdp.n_states
        actions, values, lower = np.full(n, BEHAVE, np.int64), np.zeros(n), np.zeros(n)
        for layer in self._layers():
            expected, cautious = self._layer(layer, values), self._layer(layer, lower)
            bound = _comparable(self._real(np.maximum(cautious.mean - self._penalty(cautious, layer), 0.0)))
            taken = self._real(expected.times) > 0
            bound = np.where(taken, bound, -1.0)
            best, rows = bound.argmax(axis=1), np.arange(len(bound))
            chosen = taken.any(axis=1) & (bound[rows, best] > _comparable(self._floor(cautious)))
            actions[layer] = np.where(chosen, best, BEHAVE)
            values[layer] = np.where(chosen, self._real(expected.mean)[rows, best], expected.overall)
            lower[layer] = np.where(chosen, bound[rows, best], cautious.overall)
        error = math.nan if self._rdp.stationary else self._error(actions, values)
        return Plan(actions, self.in_user_units(values), self.in_user_units(lower), error)

    def follow(self, actions: Int64) -> Float:
        """[Q] the values of a plan, scaled, less all penalties."""
        values = np.zeros(self._rdp.n_states)
        for layer in self._layers():
            found, action = self._layer(layer, values), actions[layer]
            bound = np.maximum(found.mean - self._penalty(found, layer), 0.0)
            behave = (self._usual[layer] * bound).sum(axis=1)  # as a policy does it, whatever log this is
            followed = self._real(bound)[np.arange(len(action)), np.maximum(action, 0)]
            values[layer] = np.where(action == BEHAVE, behave, followed)
        return values

    def worth(self, actions: Int64) -> Estimate:
        values = self.follow(actions)
        return Estimate(float(self.in_user_units(values)[0]), self._error(actions, values))

    def action_values(self, actions: Int64) -> Float:
        values = self.follow(actions)
        found = np.full((self._rdp.n_states, len(self._rdp.alphabet.actions)), np.nan)
        for layer in self._layers():
            stepped = self._layer(layer, values)
            mean = self._scale.values(stepped.mean, self._left[layer][:, None])
            found[layer] = self._real(np.where(stepped.times > 0, mean, np.nan))
        return found

    def action_errors(self, actions: Int64) -> Float:
        values = self.follow(actions)
        found = np.zeros((self._rdp.n_states, len(self._rdp.alphabet.actions)))
        for layer in self._layers():
            stepped = self._layer(layer, values)
            found[layer] = np.sqrt(self._real(_variance(stepped.spread, stepped.times, self._left[layer][:, None])))
        return self._scale.width * found

    def most(self) -> Float:
        """[Q] what no policy exceeds, scaled; an action that was never taken, or led astray, may bring anything."""
        upper = self._left.copy()
        for layer in self._layers():
            found = self._layer(layer, upper)
            astray = self._tally.lost[layer] / np.maximum(found.times, 1) * self._left[layer][:, None]
            bound = np.where(found.times > 0, found.mean + astray + self._penalty(found, layer), np.inf)
            nothing = found.times[:, : PAD + 1].sum(axis=1) > 0  # to choose: before the first action, or after the end
            offered = np.where(nothing, bound[:, : PAD + 1].min(axis=1), self._real(bound).max(axis=1))
            upper[layer] = np.minimum(offered, self._left[layer])
        return upper

    def in_user_units(self, values: Float) -> Float:
        return self._scale.values(values, self._left)

    def _layers(self) -> list[slice]:
        """From the last to the first; of a cycle all states, as often as what is still to come matters."""
        if self._rdp.stationary:
            return [slice(0, self._rdp.n_states)] * math.ceil(math.log(NOTHING) / math.log(max(self._gamma, 0.01)))
        return [slice(self._offsets[t], self._offsets[t + 1]) for t in range(self._rdp.horizon, -1, -1)]

    def _layer(self, layer: slice, values: Float) -> _Layer:
        counts, lost = self._tally.counts[layer], self._tally.lost[layer]
        targets = self._rdp.tau[layer][:, self._of_letter]
        later = np.where(targets == UNSEEN, 0.0, values[targets])  # what was lost brings nothing
        gains = self._reward + self._gamma * later
        times = self._sums(counts) + lost
        sums, squares = self._sums(counts * gains), self._sums(counts * gains**2)
        mean = sums / np.maximum(times, 1)
        spread = np.maximum(squares / np.maximum(times, 1) - mean**2, 0.0)
        visits = np.maximum(times.sum(axis=1), 1)
        overall = sums.sum(axis=1) / visits
        return _Layer(times, mean, spread, overall, np.maximum(squares.sum(axis=1) / visits - overall**2, 0.0))

    def _sums(self, of_letters: Float | Int64) -> Float:
        """[Q_t, A] over the letters of each action, [Q_t, X]; in a fixed order, unlike a product of matrices."""
        sums = np.zeros((len(of_letters), self._rdp.alphabet.n_actions))
        sums[:, self._acts] = np.add.reduceat(of_letters[:, self._by_action], self._begin, axis=1)
        return sums

    def _penalty(self, found: _Layer, layer: slice) -> Float:
        return self._off(found.spread, np.maximum(found.times, 1), self._range[layer][:, None])

    def _off(self, spread: Float, times: Float, left: Float) -> Float:
        """b."""
        unit = self._unit / times
        return np.minimum(np.sqrt(unit * spread) + unit * left, left)

    def _floor(self, found: _Layer) -> Float:
        """What an action must be worth more than."""
        if self._planning.safe:
            return found.overall
        return np.full(len(found.overall), 0.0 if self._planning.strength else -1.0)

    def _real(self, by_action: Float) -> Float:
        """Without the dummy and the pad action."""
        return np.asarray(by_action[:, PAD + 1 :])

    def _error(self, actions: Int64, values: Float) -> float:
        """The standard error of the first state's value: each state's, as often as the plan gets there."""
        variance = np.zeros(self._rdp.n_states)
        for layer in self._layers():
            found, action = self._layer(layer, values), actions[layer]
            rows, behave = np.arange(len(action)), action == BEHAVE
            spread, times = (self._real(v)[rows, np.maximum(action, 0)] for v in (found.spread, found.times))
            spread, times = np.where(behave, found.variance, spread), np.where(behave, found.times.sum(axis=1), times)
            variance[layer] = _variance(spread, times, self._left[layer])
        share = _occupancy(self._rdp, actions, self._tally)
        return self._scale.width * math.sqrt(float(np.sum(share**2 * variance)))


def _variance(spread: Float, times: Float, left: Float) -> Float:
    """Of a mean, as if one more visit had been half the range away: few visits that agree prove little."""
    return np.asarray((spread * times + left**2 / 4) / (times + 1) ** 2)


def _comparable(values: Float) -> Float:
    """Without the last digits, so that rounding does not decide among equals."""
    return np.asarray(np.round(values, 12))


def _occupancy(rdp: RDP, actions: Int64, tally: Tally) -> Float:
    """[Q] how often each state is reached; what is lost on the way is lost."""
    offsets, of_letter, share = rdp.offsets(), rdp.symbol_of_letter(), np.zeros(rdp.n_states)
    share[0] = 1.0
    for t in range(rdp.horizon + 1):
        layer = slice(offsets[t], offsets[t + 1])
        behave = (actions[layer] == BEHAVE)[:, None]
        planned = actions[layer][:, None] + PAD + 1
        followed = np.where(behave | (rdp.letters[None, :, 0] == planned), tally.counts[layer], 0)
        lost = np.where(behave | (np.arange(rdp.alphabet.n_actions) == planned), tally.lost[layer], 0)
        visits = followed.sum(axis=1) + lost.sum(axis=1)
        rates = share[layer][:, None] * followed / np.maximum(visits, 1)[:, None]
        np.add.at(share, rdp.tau[layer][:, of_letter][followed > 0], rates[followed > 0])
    return share
