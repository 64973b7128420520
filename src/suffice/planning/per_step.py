"""The reward per step of policies, by returns of other rewards.

The reward per step of a policy, ρ = E[Σ_t r_t] / E[L] with the number L of decisions of an episode, is the number for
which E[Σ_t (r_t − ρ)] = 0. With rewards that are less by ρ in every decision, everything that is known about returns
applies. Let V(ρ) be the return of these rewards, which is linear in ρ: E[L] = V(0) − V(1), and an estimate of V(ρ),
divided by E[L], is that of the difference from ρ.

The best policy is found by Dinkelbach's iteration: plan for the rewards less by ρ, replace ρ by the plan's reward per
step, until the plan stays the same. Without penalties no plan is worse than the one before, and the iteration ends
after a few. Penalised plans may come back in a cycle instead; then the one with the largest reward per step is taken.
Reference: Dinkelbach (1967), *On nonlinear fractional programming*. Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np

from suffice.automata.rdp import BEHAVE, RDP
from suffice.automata.tally import Tally
from suffice.data.alphabet import PAD
from suffice.data.episodes import Episodes
from suffice.kernels.array_types import Float, Int64
from suffice.planning.backward_induction import BackwardInduction
from suffice.planning.plan import Plan

MOST_ITERATIONS = 20
SAME = 1e-9  # relative difference between rewards per step that count as equal
DIGITS = 12  # of values, so that rounding errors do not show
Rewarded = TypeVar("Rewarded", RDP, Episodes)


def with_less_reward(what: Rewarded, less: float) -> Rewarded:
    """Return an automaton or episodes whose every decision has `less` less reward; padding keeps 0.

    Letters keep their numbers, because a difference does not change the order of rewards.
    """
    letters = what.letters
    values = np.array(what.alphabet.rewards)[letters[:, 2]]
    shifted = np.where(letters[:, 0] > PAD, values - less, values) + 0.0
    alphabet = replace(what.alphabet, rewards=tuple(shifted.tolist()))
    codes = np.searchsorted(np.array(alphabet.rewards), shifted)
    changed = np.concatenate([letters[:, :2], codes[:, None].astype(letters.dtype)], axis=1)
    if isinstance(what, Episodes):
        return replace(what, alphabet=alphabet, letters=changed, report=None)
    return replace(what, alphabet=alphabet, letters=changed)


def plan_per_step(rdp: RDP, tally: Tally, make: Callable[[RDP], Plan]) -> Plan:
    """Make a plan for the reward per step by Dinkelbach's iteration.

    `make` plans for returns on an automaton. Values of states are the reward per step from there on.
    """
    behaviour = _returns_and_steps(rdp, tally, np.full(rdp.n_states, BEHAVE))
    ratio, tried = float(_ratio(*behaviour)[0]), list[_Tried]()
    for _ in range(MOST_ITERATIONS):
        plan = make(with_less_reward(rdp, ratio))
        latest = _Tried(ratio, plan, *_returns_and_steps(rdp, tally, plan.actions))
        again = [bool(np.array_equal(plan.actions, one.plan.actions)) for one in tried]
        tried.append(latest)
        if again[-1:] == [True] or abs(latest.value - ratio) <= SAME * max(1.0, abs(ratio)):
            return latest.per_step()
        if any(again):
            break
        ratio = latest.value
    return max(reversed(tried), key=lambda one: one.value).per_step()


class _Tried(NamedTuple):
    """A plan of the iteration, with what the rewards that it was made for are less by."""

    ratio: float
    plan: Plan
    returns: Float  # [Q] expected return from each state on
    steps: Float  # [Q] expected number of decisions

    @property
    def value(self) -> float:
        """Return the reward per step."""
        return float(_ratio(self.returns, self.steps)[0])

    def per_step(self) -> Plan:
        """Return the plan with values that are rewards per step."""
        plan, steps, found = self.plan, self.steps, _ratio(self.returns, self.steps)
        lower = np.minimum(self.ratio + plan.lower / np.maximum(steps, SAME), found)
        lower = np.where(steps > SAME, lower, 0.0)
        values, bounds = (np.asarray(np.round(each, DIGITS) + 0.0, np.float64) for each in (found, lower))
        return Plan(plan.actions, values, bounds, plan.error / float(steps[0]))


def _returns_and_steps(rdp: RDP, tally: Tally, actions: Int64) -> tuple[Float, Float]:
    """Return [Q], the expected return and the expected number of decisions from each state on."""

    def value(less: float) -> Float:
        backward = BackwardInduction(with_less_reward(rdp, less), tally)
        return backward.in_user_units(backward.follow(actions))

    returns = value(0.0)
    return returns, returns - value(1.0)


def _ratio(returns: Float, steps: Float) -> Float:
    return np.asarray(np.where(steps > SAME, returns / np.maximum(steps, SAME), 0.0))
