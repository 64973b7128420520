"""The reward per step: its plans are the best ones by enumeration, and estimates are those of a ratio."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from oracle import random_episodes
from suffice.automata.rdp import BEHAVE, RDP
from suffice.data.alphabet import PAD
from suffice.data.possible_returns import reward_ranges
from suffice.learning.adact_h import Settings, adact_h
from suffice.learning.windows import learn_window
from suffice.planning.backward_induction import plan_values
from suffice.planning.judged_plan import JudgedPlan
from suffice.planning.objective import Objective
from suffice.planning.per_step import plan_per_step, with_less_reward
from suffice.planning.plan import Plan
from suffice.planning.planner import GREEDY, plan_on

PER_STEP = replace(GREEDY, objective="per-step")


def automaton(seed: int) -> RDP:
    """Return a small automaton of a log whose episodes end early."""
    log = random_episodes(np.random.default_rng(seed), 3, 2, 2, 2, 3, 80, early_end=0.3)
    return adact_h(log, Settings(delta=0.5)).rdp


def ratio(rdp: RDP, actions: list[int]) -> float:
    """Return reward per step of a plan by propagating one episode's probability, step by step."""
    returns = steps = 0.0
    share = {0: 1.0}
    rewards, symbol = rdp.alphabet.rewards, rdp.symbol_of_letter().tolist()
    for _ in range(rdp.horizon + 1):
        following: dict[int, float] = {}
        for q, part in share.items():
            allowed = [
                (x, k)
                for x, k in enumerate(rdp.counts[q].tolist())
                if k and (actions[q] == BEHAVE or rdp.letters[x, 0] == actions[q] + PAD + 1)
            ]
            total = sum(k for _, k in allowed)
            for x, k in allowed:
                chance, (a, _, r) = part * k / total, rdp.letters[x].tolist()
                returns += chance * rewards[r]
                steps += chance * (a > PAD)
                target = int(rdp.tau[q, symbol[x]])
                following[target] = following.get(target, 0.0) + chance
        share = following
    return returns / steps


@pytest.mark.parametrize("seed", range(6))
def test_plan_on_finds_the_best_reward_per_step_of_all_plans(seed: int) -> None:
    rdp = automaton(seed)
    plan = plan_on(rdp, PER_STEP)
    assert plan.value == pytest.approx(ratio(rdp, plan.actions.tolist()))
    taken = np.zeros((rdp.n_states, rdp.alphabet.n_actions), bool)
    np.logical_or.at(taken.T, rdp.letters[:, 0], rdp.counts.T > 0)
    choices = [np.flatnonzero(row[PAD + 1 :]).tolist() or [BEHAVE] for row in taken]
    assert np.prod([len(c) for c in choices]) < 5000
    best = max(ratio(rdp, list(actions)) for actions in product(*choices))
    assert plan.value == pytest.approx(best)


def test_with_less_reward_keeps_letters_and_changes_decisions_only() -> None:
    log = random_episodes(np.random.default_rng(0), 4, 2, 3, 2, 3, 50, early_end=0.3)
    less = with_less_reward(log, 0.25)
    assert np.array_equal(less.word, log.word) and np.array_equal(less.letters[:, :2], log.letters[:, :2])
    before, after = (np.array(e.alphabet.rewards)[e.letters[:, 2]] for e in (log, less))
    decides = log.letters[:, 0] > PAD
    assert after[decides] == pytest.approx(before[decides] - 0.25)
    assert (after[~decides] == 0).all() and (~decides).any()
    assert np.array_equal(less.letters, np.unique(less.letters, axis=0)), "letters are in lexicographic order"


def test_plan_values_are_linear_in_the_reward_of_a_step() -> None:
    rdp = automaton(1)
    plan = plan_on(rdp, GREEDY)
    zero, one, third = (plan_values(with_less_reward(rdp, less), plan) for less in (0.0, 1.0, 0.3))
    assert third == pytest.approx(zero + 0.3 * (one - zero))
    assert zero[0] / (zero - one)[0] == pytest.approx(ratio(rdp, plan.actions.tolist()))


def test_judged_plan_gives_the_ratio_and_its_influences() -> None:
    """Influences are derivatives: those of numerator and denominator give that of the ratio."""
    rdp = automaton(2)
    episodes = random_episodes(np.random.default_rng(7), 3, 2, 2, 2, 3, 200, early_end=0.3)
    plan = Plan(np.full(rdp.n_states, BEHAVE), np.zeros(rdp.n_states), np.zeros(rdp.n_states), 0.0)
    ranges = reward_ranges(episodes)
    found = JudgedPlan.of(rdp, plan, episodes, ranges, Objective("per-step")).value()
    returns = JudgedPlan.of(rdp, plan, episodes, ranges).value()
    ones = JudgedPlan.of(with_less_reward(rdp, 1.0), plan, with_less_reward(episodes, 1.0), ranges).value()
    steps = returns.value - ones.value
    assert found.value == pytest.approx(returns.value / steps, rel=1e-6)
    of_steps = returns.influence - ones.influence
    assert found.influence == pytest.approx((returns.influence - found.value * of_steps) / steps, abs=1e-9)


def test_difference_per_step_of_episodes_of_one_length_is_that_of_returns_by_step() -> None:
    episodes = random_episodes(np.random.default_rng(3), 4, 2, 2, 2, 3, 200)
    ranges, rdps = reward_ranges(episodes), [learn_window(episodes, length).rdp for length in (1, 0)]
    best, usual = (plan_on(rdp.layered(), GREEDY) for rdp in rdps)
    plans = [(rdps[0], best), (rdps[1], replace(usual, actions=np.full_like(usual.actions, BEHAVE)))]
    found = []
    for aim in (Objective("return"), Objective("per-step")):
        one, other = (JudgedPlan.of(rdp, plan, episodes, ranges, aim) for rdp, plan in plans)
        found.append(one.difference(other, None))
    (returned, variance), per_step = found
    assert returned > 0.1
    assert per_step == pytest.approx((returned / 4, variance / 16), rel=1e-6)


def test_plan_per_step_of_plans_that_come_back_is_the_best_with_its_own_bound() -> None:
    """Two plans that alternate; bounds are exact, so that each is the value if it belongs to the plan."""
    rdp = automaton(1)
    best = plan_on(rdp, PER_STEP)
    behave = replace(best, actions=np.full(rdp.n_states, BEHAVE))
    made: list[Plan] = []

    def make(less: RDP) -> Plan:
        plan = behave if len(made) % 2 else best
        made.append(replace(plan, lower=plan_values(less, plan)))
        return made[-1]

    found = plan_per_step(rdp, rdp.own_tally(), make)
    assert len(made) == 3 and found.value == best.value > ratio(rdp, behave.actions.tolist())
    assert found.lower[0] == pytest.approx(found.value, abs=1e-9)
