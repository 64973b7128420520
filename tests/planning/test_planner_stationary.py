"""Plans on stationary automata agree with value iteration, and convert to layers and back."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from suffice.automata.rdp import BEHAVE, RDP
from suffice.data.alphabet import PAD
from suffice.domains.domain import Domain
from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.exact.values import best_plan
from suffice.domains.tasks.enemy_corridor import EnemyCorridor
from suffice.errors import SufficeError
from suffice.learning.stationary.learner import learn_stationary
from suffice.models.model import Model
from suffice.planning.backward_induction import unroll_plan
from suffice.planning.plan import fold_plan
from suffice.planning.planner import GREEDY, Planning, plan_on
from suffice.planning.policy import Policy
from suffice.planning.regorl import regorl
from support.stationary_automata import CASES, DOMAINS, SEEDS, automaton, case, paying, true


@pytest.mark.parametrize(("domain", "horizon"), DOMAINS, ids=str)
def test_plan_on_true_stationary_automaton_is_optimal(domain: Domain, horizon: int) -> None:
    best = float(best_plan(minimal_rdp(domain.model(horizon), horizon)).value)
    rdp = true(domain, horizon)
    assert plan_on(rdp.unroll()[0], GREEDY).value == pytest.approx(best, abs=1e-6)
    assert plan_on(rdp.layered(), Planning(strength=0)).value == pytest.approx(best, abs=1e-6)


def iterated(rdp: RDP, planning: Planning) -> tuple[list[float], list[float], list[int]]:
    """Run value iteration by definition: the value, lower bound and action of each state.

    Rewards are scaled to [0, 1]; b = √(c L Var / n) + c L B / n, at most B: a value is at most 1/(1 − γ), and within
    the log's horizon at most H + 1.
    """
    gamma, strength = planning.discount, planning.strength
    assert gamma is not None
    pay = [rdp.alphabet.rewards[r] for r in rdp.letters[:, 2].tolist()]
    low, wide = min(pay), max(pay) - min(pay) or 1.0
    left, of_letter = 1 / (1 - gamma), rdp.symbol_of_letter()
    most = min(left, rdp.horizon + 1)
    unit = strength * math.log(int(rdp.counts[0].sum()) * rdp.horizon / planning.delta)
    met = [
        [(a, int(k), (pay[x] - low) / wide, int(rdp.tau[q, of_letter[x]])) for x, (a, k) in enumerate(row) if k]
        for q, row in enumerate(
            [list(zip(rdp.letters[:, 0].tolist(), counts, strict=True)) for counts in rdp.counts.tolist()]
        )
    ]

    def mean(moves: list[Any], values: list[float]) -> tuple[float, float, int]:
        n = sum(k for _, k, _, _ in moves)
        gains = [(k, r + gamma * values[p]) for _, k, r, p in moves]
        middle = sum(k * g for k, g in gains) / max(n, 1)
        return middle, sum(k * (g - middle) ** 2 for k, g in gains) / max(n, 1), n

    values, lower, actions = ([0.0] * rdp.n_states for _ in range(3))
    for _ in range(600):
        new = [list(values), list(lower)]
        for q, moves in enumerate(met):
            bounds, taken = {}, {}
            for a in range(len(rdp.alphabet.actions)):
                if mine := [move for move in moves if move[0] == a + PAD + 1]:
                    middle, spread, n = mean(mine, lower)
                    taken[a] = n
                    bounds[a] = max(middle - min(math.sqrt(unit / n * spread) + unit / n * most, most), 0.0)
            behaving = mean(moves, lower)[0]
            best = max(bounds, key=lambda a, n=taken: (round(bounds[a], 11), n[a], -a), default=BEHAVE)
            floor = behaving if planning.safe else 0.0 if strength else -1.0
            actions[q] = best if bounds and bounds[best] > floor + 1e-12 else BEHAVE
            chosen = moves if actions[q] == BEHAVE else [move for move in moves if move[0] == actions[q] + PAD + 1]
            new[0][q] = mean(chosen, values)[0]
            new[1][q] = behaving if actions[q] == BEHAVE else bounds[best]
        values, lower = new
    return *([wide * v + low * left for v in found] for found in (values, lower)), [int(a) for a in actions]


DISCOUNTED = [
    replace(GREEDY, discount=0.9),
    Planning(strength=0, discount=0.5),
    Planning(strength=0.05, discount=0.9),
    Planning(strength=0.05, discount=0.8, safe=False),
    replace(GREEDY, discount=0.0),
]


@pytest.mark.parametrize("planning", DISCOUNTED, ids=range(5))
@pytest.mark.parametrize("which", [0, 1, 2, 3, len(SEEDS), len(SEEDS) + 3])
def test_plan_on_with_discount_agrees_with_value_iteration(which: int, planning: Planning) -> None:
    rdp = case(which)
    plan = plan_on(rdp, planning)
    values, lower, actions = iterated(rdp, planning)
    assert plan.values == pytest.approx(values, abs=1e-6)
    assert plan.lower == pytest.approx(lower, abs=1e-6)
    if which < len(SEEDS):  # elsewhere several actions are equally good
        assert plan.actions.tolist() == actions
    assert math.isnan(plan.error)


def test_plan_on_with_discount_sums_constant_rewards() -> None:
    """The value is 1 + γ + γ² + …, after a first step with reward 0."""
    plan = plan_on(always(300, 4), Planning(discount=0.75))
    assert plan.values == pytest.approx([3.0, 4.0])


def always(n: int, horizon: int) -> RDP:
    return learn_stationary(paying(n, horizon)).rdp


def test_plan_on_requires_discount_exactly_for_stationary_automata() -> None:
    rdp = automaton(0)
    with pytest.raises(SufficeError, match=r"Plan on rdp\.layered\(\), or set discount\."):
        plan_on(rdp)
    with pytest.raises(SufficeError, match=r"^discount=0\.9 is only for stationary automata\."):
        plan_on(rdp.layered(), Planning(discount=0.9))
    for bad in (0.9991, 1.0, -0.1, 1.5, math.nan):
        with pytest.raises(SufficeError, match=r"^discount=\S+ is not a number from 0 to 0\.999\. Try 0\.99\.$"):
            Planning(discount=bad)


@CASES
def test_unroll_plan_then_fold_plan_returns_same_plan(which: int) -> None:
    rdp = case(which)
    plan = plan_on(rdp, Planning(discount=0.9))
    layers, stands = rdp.unroll()
    unrolled = unroll_plan(rdp, plan)
    assert unrolled.actions[:-1].tolist() == plan.actions[stands[:-1]].tolist()
    assert unrolled.values[:-1].tolist() == plan.values[stands[:-1]].tolist()
    assert (unrolled.actions[-1], unrolled.values[-1], unrolled.lower[-1]) == (BEHAVE, 0.0, 0.0)
    assert math.isfinite(unrolled.error)
    folded = fold_plan(rdp, unrolled)
    known = np.unique(stands[:-1])
    for name in ("actions", "values", "lower"):
        assert getattr(folded, name)[known].tolist() == getattr(plan, name)[known].tolist()
    assert layers.n_states == len(unrolled.actions)


@CASES
def test_fold_plan_takes_action_of_most_visited_layer(which: int) -> None:
    rdp = case(which)
    layers, stands = rdp.unroll()
    plan = plan_on(layers, GREEDY)
    share, folded = plan.occupancy(layers), fold_plan(rdp, plan)
    for q in np.unique(stands[:-1]).tolist():
        places = [i for i in range(len(stands) - 1) if stands[i] == q]
        best = min(places, key=lambda i: (-share[i], i))
        assert (folded.actions[q], folded.values[q], folded.lower[q]) == (
            plan.actions[best],
            plan.values[best],
            plan.lower[best],
        )


def test_policy_with_discounted_plan_continues_beyond_horizon() -> None:
    domain = EnemyCorridor(columns=3)
    episodes = domain.simulate(2000, 8, np.random.default_rng(0))
    discounted = Model.of(regorl(episodes, planning=Planning(discount=0.9), stationary=True), episodes)
    bounded = Model.of(regorl(episodes, stationary=True), episodes)
    known = set(episodes.alphabet.actions)
    for model, lasts in ((discounted, True), (bounded, False)):
        policy = model.policy()
        policy.reset()
        rng = np.random.default_rng(1)
        observation = episodes.alphabet.observation(int(episodes.letters[episodes.word[0, 0], 1]))
        for _ in range(40):
            action = policy.act(observation)
            assert action in known
            rows = (
                [o for o, _, _ in model.rdp.outputs(where(model.rdp, policy), action) if o is not None] if lasts else []
            )
            observation = rows[int(rng.integers(len(rows)))] if rows else observation
        assert (policy.rdp is model.rdp) == lasts
        assert (policy.fallbacks == 0) == lasts, "a plan on layers ends at its horizon"
    assert discounted.about.plan is not None and discounted.about.plan.discount == 0.9


def where(rdp: RDP, policy: Policy) -> int:
    assert policy.state < rdp.n_states
    return policy.state
