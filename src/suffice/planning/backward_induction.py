"""Backward induction over the layers of an automaton, or value iteration on a stationary one.

Rewards are scaled to [0, 1]. A penalty for sampling error is subtracted from the value of every action, where n is the
number of times that the action was taken in the state and c ≥ 0 the strength:

    b = √(c L Var(r + V) / n) + c (H − t + 1) L / n,   L = ln(NH/δ),   at most H − t + 1

Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from suffice.automata.rdp import BEHAVE, RDP, UNSEEN
from suffice.automata.tally import Tally
from suffice.data.alphabet import PAD
from suffice.errors import LogError, SettingsError, parameter
from suffice.evidence.estimates import Estimate
from suffice.kernels.array_types import Float, Int64
from suffice.kernels.induction import Letters, StateRows, follow_states, plan_states
from suffice.planning.plan import Plan, occupancy

NEGLIGIBLE = 1e-10  # weight of a discounted reward below which value iteration ends
BLOCK_CELLS = 1 << 16  # cells of a table by state and letter that are computed at once
MOST_CELLS = 1 << 19  # cells of such a table within a layer; tables of this size are computed at once
LARGEST_REWARD = 1e100  # reward whose square and sums doubles can represent


def unroll_plan(rdp: RDP, plan: Plan) -> Plan:
    """Convert a plan on a stationary automaton to its unrolled layers: the same at every step."""
    layered, stands = rdp.unroll()
    inner = np.arange(len(stands)) < len(stands) - 1  # the final state has no action
    actions = np.where(inner, plan.actions[stands], BEHAVE)
    values, lower = (np.where(inner, v[stands], 0.0) for v in (plan.values, plan.lower))
    error = BackwardInduction(layered, layered.own_tally()).worth(actions).error
    return Plan(actions, values, lower, error)


def worth(rdp: RDP, plan: Plan, tally: Tally, discount: float | None = None) -> Estimate:
    """Return the value of a plan if the frequencies of some episodes are the true probabilities."""
    return BackwardInduction(rdp, tally, discount=discount).worth(plan.actions)


def action_values(rdp: RDP, plan: Plan, tally: Tally, discount: float | None = None) -> Float:
    """Return [Q, actions], the value of taking each action once and then following the plan; NaN if never taken."""
    return BackwardInduction(rdp, tally, discount=discount).action_values(plan.actions)


def plan_values(rdp: RDP, plan: Plan, discount: float | None = None) -> Float:
    """Return [Q], the expected return from each state on if the plan is followed, without penalties.

    `Plan.values` may be something else: discounted, or bounds of a plan on subsampled counts.
    """
    backward = BackwardInduction(rdp, rdp.own_tally(), discount=discount)
    return backward.in_user_units(backward.follow(plan.actions))


def behaviour_values(rdp: RDP, discount: float | None = None) -> Float:
    """Return [Q], the expected return from each state on under the behaviour policy."""
    backward = BackwardInduction(rdp, rdp.own_tally(), discount=discount)
    return backward.in_user_units(backward.follow(np.full(rdp.n_states, BEHAVE)))


def action_errors(rdp: RDP, plan: Plan, tally: Tally) -> Float:
    """Return [Q, actions], the standard errors of `action_values`; half the range for actions that were never taken."""
    return BackwardInduction(rdp, tally).action_errors(plan.actions)


class Scale(NamedTuple):
    """Linear scaling of rewards to [0, 1], and of values back."""

    low: float
    width: float

    @classmethod
    def of(cls, rdp: RDP) -> Scale:
        """Derive the scale from the rewards in the automaton's letters."""
        rewards = np.array(rdp.alphabet.rewards)[rdp.letters[:, 2]]
        low, high = float(rewards.min()), float(rewards.max())
        if max(abs(low), abs(high)) > LARGEST_REWARD or 0 < high - low < 1 / LARGEST_REWARD:
            raise LogError(f"rewards from {low:g} to {high:g} exceed the range of doubles. Log them in another unit.")
        return cls(low, high - low)

    def rewards(self, rdp: RDP) -> Float:
        """Return the scaled rewards of the letters [X]."""
        return np.asarray((np.array(rdp.alphabet.rewards)[rdp.letters[:, 2]] - self.low) / (self.width or 1.0))

    def values(self, scaled: Float | float, left: Float | float) -> Float:
        """Convert scaled returns over `left` steps to the log's unit, rounded so that 0 stays exactly 0."""
        digits = 12 - math.ceil(math.log10(self.width or 1.0))
        return np.asarray(np.round(self.width * np.asarray(scaled) + self.low * left, digits) + 0.0)


class Floor(NamedTuple):
    """The scaled value that an action must exceed: `share` times that of the behaviour, plus `constant`."""

    share: float
    constant: float


class LayerValues(NamedTuple):
    """Action values of the states of a layer, given the values of the next layer."""

    times: Float  # [Q_t, A] visits with each action
    mean: Float  # [Q_t, A] mean of r + V
    spread: Float  # [Q_t, A] variance of r + V
    overall: Float  # [Q_t] mean of r + V under the behaviour policy
    variance: Float  # [Q_t] variance of r + V under the behaviour policy


class BackwardInduction:
    """Computes values of states and actions, from the last layer to the first, with rewards scaled to [0, 1]."""

    def __init__(
        self, rdp: RDP, tally: Tally, strength: float = 0.0, delta: float = 0.05, discount: float | None = None
    ) -> None:
        """Prepare penalties of a strength c and level δ; a stationary automaton needs a discount."""
        self._rdp, self._tally = rdp, tally
        self._scale = Scale.of(rdp)
        self._reward = self._scale.rewards(rdp)
        self._of_letter, self._offsets = rdp.symbol_of_letter(), rdp.offsets()
        self._letters = Letters(self._of_letter, rdp.letters[:, 0].astype(np.int64), self._reward)
        self._by_action = np.argsort(rdp.letters[:, 0], kind="stable")  # [X] letters
        self._acts, self._begin = np.unique(rdp.letters[self._by_action, 0], return_index=True)
        taken = np.concatenate([self._sums(rdp.counts[rows]) for rows in rdp.blocks()])
        self._usual = taken / np.maximum(taken.sum(axis=1, keepdims=True), 1)  # [Q, A] behaviour policy of the log
        if rdp.stationary and discount is None:
            raise SettingsError(
                "a stationary automaton needs a plan with a discount, or layers. Plan on rdp.layered(), or set "
                f"{parameter('discount')}."
            )
        self._discount = 1.0 if discount is None else discount
        self._factor = np.full(rdp.n_states, self._discount)  # [Q] of what follows
        left = (rdp.horizon + 1 - rdp.layer_of()).astype(float)  # [Q] remaining steps, padding included
        if rdp.stationary:
            left = np.full(rdp.n_states, 1 / (1 - self._discount))
        elif self._discount < 1.0:
            left = (1 - self._discount**left) / (1 - self._discount)
            self._factor[0] = 1.0  # the first decision follows step 0, which is none
            left[0] = 1.0 + left[1:].max(initial=0.0)
        self._left = left
        self._range = np.minimum(self._left, rdp.horizon + 1)  # [Q] range of the remaining return within the horizon
        total = max(int(tally.visits()[0]), 1)
        self._unit = strength * (math.log(total * max(rdp.horizon, 1)) - math.log(delta))  # c L

    def plan(self, floor: Floor) -> Plan:
        """Choose in each state the action with the best lower bound if it exceeds the floor, else the behaviour.

        Of equal actions the one that was taken most often is chosen, because most is known about it.
        """
        n = self._rdp.n_states
        actions, values, lower = np.full(n, BEHAVE, np.int64), np.zeros(n), np.zeros(n)
        for _ in range(self._iterations()):
            before = (values.copy(), lower.copy()) if self._rdp.stationary else (values, lower)
            for rows in self._backwards():
                plan_states(rows, self._letters, self._unit, floor, before, (actions, values, lower))
        error = math.nan if self._rdp.stationary else self._error(actions, values)
        return Plan(actions, self.in_user_units(values), self.in_user_units(lower), error)

    def follow(self, actions: Int64) -> Float:
        """Return [Q], the scaled values of a plan, less all penalties."""
        values = np.zeros(self._rdp.n_states)
        for _ in range(self._iterations()):
            before = values.copy() if self._rdp.stationary else values
            for rows in self._backwards():
                follow_states(rows, self._letters, self._unit, actions, before, values)
        return values

    def worth(self, actions: Int64) -> Estimate:
        """Return the value of a plan in the initial state, less all penalties, with its standard error."""
        values = self.follow(actions)
        return Estimate(float(self.in_user_units(values)[0]), self._error(actions, values))

    def action_values(self, actions: Int64) -> Float:
        """Return [Q, actions], the value of taking each action once and then following a plan; NaN if never taken."""
        values = self.follow(actions)
        found = np.full((self._rdp.n_states, len(self._rdp.alphabet.actions)), np.nan)
        for layer in self._blocks():
            stepped = self._layer(layer, values)
            mean = self._scale.values(stepped.mean, self._left[layer][:, None])
            found[layer] = self._real(np.where(stepped.times > 0, mean, np.nan))
        return found

    def action_errors(self, actions: Int64) -> Float:
        """Return [Q, actions], the standard errors of `action_values`."""
        values = self.follow(actions)
        found = np.zeros((self._rdp.n_states, len(self._rdp.alphabet.actions)))
        for layer in self._blocks():
            stepped = self._layer(layer, values)
            found[layer] = np.sqrt(self._real(_variance(stepped.spread, stepped.times, self._left[layer][:, None])))
        return self._scale.width * found

    def most(self) -> Float:
        """Return [Q], scaled upper bounds on the value of any policy.

        An action that was never taken, or that led to an unseen history, may have any value.
        """
        upper = self._left.copy()
        for layer in self._layers():
            found = self._layer(layer, upper)
            unknown = self._tally.lost[layer] / np.maximum(found.times, 1) * self._left[layer][:, None]
            bound = np.where(found.times > 0, found.mean + unknown + self._penalty(found, layer), np.inf)
            no_choice = found.times[:, : PAD + 1].sum(axis=1) > 0  # before the first action, or after the end
            offered = np.where(no_choice, bound[:, : PAD + 1].min(axis=1), self._real(bound).max(axis=1))
            upper[layer] = np.minimum(offered, self._left[layer])
        return upper

    def in_user_units(self, values: Float) -> Float:
        """Convert scaled values [Q] to returns in the log's unit."""
        return self._scale.values(values, self._left)

    def _iterations(self) -> int:
        """Return how often the values of all states are computed: once by layers, else until little changes."""
        if not self._rdp.stationary:
            return 1
        return math.ceil(math.log(NEGLIGIBLE) / math.log(max(self._discount, 0.01)))

    def _backwards(self) -> Iterator[StateRows]:
        """Yield the rows of all states but the final one, from the last to the first."""
        inner = self._rdp.n_states if self._rdp.stationary else int(self._offsets[self._rdp.horizon + 1])
        for states in reversed(self._blocks(inner)):
            yield StateRows(
                states.start,
                self._tally.counts[states],
                self._tally.lost[states],
                self._rdp.tau[states],
                self._factor[states],
                self._range[states],
                self._usual[states],
            )

    def _layers(self) -> list[slice]:
        """List the layers from last to first."""
        return [slice(self._offsets[t], self._offsets[t + 1]) for t in range(self._rdp.horizon, -1, -1)]

    def _blocks(self, states: int | None = None) -> list[slice]:
        """List blocks of states, because the tables of all states may be too large. Default: all states."""
        n, size = self._rdp.n_states if states is None else states, max(1, BLOCK_CELLS // len(self._reward))
        return [slice(begin, min(begin + size, n)) for begin in range(0, n, size)]

    def _layer(self, layer: slice, values: Float) -> LayerValues:
        """Compute the action values of a layer from the values of all states, some states at a time to save memory."""
        size = max(1, MOST_CELLS // len(self._reward))
        if layer.stop - layer.start <= size:
            return self._block(layer, values)
        blocks = [slice(begin, min(begin + size, layer.stop)) for begin in range(layer.start, layer.stop, size)]
        parts = [self._block(block, values) for block in blocks]
        return LayerValues(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    def _block(self, layer: slice, values: Float) -> LayerValues:
        """Compute the action values of some states from the values of all states."""
        counts, lost = self._tally.counts[layer], self._tally.lost[layer]
        targets = self._rdp.tau[layer][:, self._of_letter]
        later = np.where(targets == UNSEEN, 0.0, values[targets])  # unseen histories count as the worst
        gains = self._reward + self._factor[layer][:, None] * later
        times = self._sums(counts) + lost
        sums, squares = self._sums(counts * gains), self._sums(counts * gains**2)
        mean = sums / np.maximum(times, 1)
        spread = np.maximum(squares / np.maximum(times, 1) - mean**2, 0.0)
        visits = np.maximum(times.sum(axis=1), 1)
        overall = sums.sum(axis=1) / visits
        return LayerValues(times, mean, spread, overall, np.maximum(squares.sum(axis=1) / visits - overall**2, 0.0))

    def _sums(self, of_letters: Float | Int64) -> Float:
        """Add up [Q_t, X] over the letters of each action to [Q_t, A], in a fixed order, unlike a matrix product."""
        sums = np.zeros((len(of_letters), self._rdp.alphabet.n_actions))
        sums[:, self._acts] = np.add.reduceat(of_letters[:, self._by_action], self._begin, axis=1)
        return sums

    def _penalty(self, found: LayerValues, layer: slice) -> Float:
        """Return the penalties b [Q_t, A] of a layer."""
        left = self._range[layer][:, None]
        unit = self._unit / np.maximum(found.times, 1)
        return np.asarray(np.minimum(np.sqrt(unit * found.spread) + unit * left, left))

    def _real(self, by_action: Float) -> Float:
        """Drop the columns of the dummy and the pad action."""
        return np.asarray(by_action[:, PAD + 1 :])

    def _error(self, actions: Int64, values: Float) -> float:
        """Return the standard error of the initial state's value: those of all states, weighted by their visits."""
        variance = np.zeros(self._rdp.n_states)
        for layer in self._blocks():
            found, action = self._layer(layer, values), actions[layer]
            rows, behave = np.arange(len(action)), action == BEHAVE
            spread, times = (self._real(v)[rows, np.maximum(action, 0)] for v in (found.spread, found.times))
            spread, times = np.where(behave, found.variance, spread), np.where(behave, found.times.sum(axis=1), times)
            variance[layer] = _variance(spread, times, self._left[layer])
        share = occupancy(self._rdp, actions, self._tally)
        if self._discount < 1.0:
            share = share * self._discount ** np.maximum(self._rdp.layer_of() - 1, 0)
        return self._scale.width * math.sqrt(float(np.sum(share**2 * variance)))


def _variance(spread: Float, times: Float, left: Float) -> Float:
    """Return the variance of a mean, with one more visit half the range away: a few equal visits prove little."""
    return np.asarray((spread * times + left**2 / 4) / (times + 1) ** 2)
