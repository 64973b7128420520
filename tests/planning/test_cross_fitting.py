"""`cross_fit` judges plans by episodes that they were not made from; statistics are tested as statistics."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from math import comb

import numpy as np
import pytest

from suffice.automata.rdp import BEHAVE, RDP
from suffice.data.content import shuffled
from suffice.data.episodes import Episodes
from suffice.domains.exact.values import exact_value
from suffice.domains.registry import make
from suffice.planning import regorl
from suffice.planning.controller import Controller
from suffice.planning.cross_fitting import BYTES_A_STEP, FEWEST_EPISODES, cross_fit
from suffice.planning.plan import Plan
from suffice.planning.planner import GREEDY, Planning
from support.samples import coins, from_values

solve = regorl.regorl


def binomial_upper(n: int, p: float, level: float = 0.001) -> int:
    """Return the smallest k such that more than k of n successes have at most probability `level`."""
    tail = 1.0
    for k in range(n + 1):
        tail -= comb(n, k) * p**k * (1 - p) ** (n - k)
        if tail <= level:
            return k
    return n


@pytest.mark.parametrize("stationary", [False, True])
def test_regorl_follows_plans_on_noise_at_most_as_often_as_stated(stationary: bool) -> None:
    """Actions have no effect, so that no plan is better than the log."""
    runs = 40
    found = [solve(coins(np.random.default_rng(seed), 3, 200), stationary=stationary) for seed in range(runs)]
    followed = sum(solution.verdict.code == "follow" for solution in found)
    assert followed <= binomial_upper(runs, 0.05)


def test_regorl_lower_bound_holds_where_the_automaton_is_wrong() -> None:
    """Layers learned from 300 episodes of Mini-hall lack states; the bound allows for it, the prediction does not."""
    domain = make("mini-hall")
    model = domain.model(domain.default_horizon)
    above, misfits = 0, 0
    for seed in range(5):
        solution = solve(domain.simulate(300, domain.default_horizon, np.random.default_rng(seed)))
        assert solution.lower_bound is not None and solution.judged is not None
        policy = Controller.on_automaton(solution.planned, model.alphabet, solution.plan.actions)
        above += solution.lower_bound > exact_value(model, policy, domain.default_horizon).mean_return
        misfits += not solution.judged.fits
    assert above == 0 and misfits == 5


def test_regorl_bounds_of_gain_and_return_allow_for_the_same() -> None:
    """The bound of the gain is that of the return, less the log, up to the smaller error of a paired difference."""
    domain = make("mini-hall")
    for seed in range(3):
        judged = solve(domain.simulate(300, domain.default_horizon, np.random.default_rng(seed))).judged
        assert judged is not None and not judged.fits
        logged = judged.predicted.value - judged.gain.value
        assert judged.least_gain.value <= judged.gain.value
        assert judged.gain_lower_bound <= max(judged.least_gain.lower(0.05), judged.predicted.low - logged)
        assert judged.gain_lower_bound == pytest.approx(judged.lower_bound - logged, abs=0.25 * judged.gain.value)


def test_cross_fit_subtracts_the_shortfall_of_the_models_own_plan() -> None:
    """The plan of each fold takes the good action, the model's own plan the bad one."""
    steps = [[(None, (1,), 0.0), ("a" if i % 2 else "b", None, float(i % 2))] for i in range(90)]
    log = shuffled(from_values(steps), np.random.default_rng(0))
    good = solve(log)
    rdp, plan = good.learned.rdp, good.plan
    bad = replace(plan, actions=np.where(plan.actions == BEHAVE, BEHAVE, 1 - plan.actions))
    found = [
        cross_fit(log, lambda part: (rdp, plan), np.random.default_rng(0), own=own)
        for own in (None, (rdp, plan), (rdp, bad))
    ]
    alone, same, short = (one for one in found if one is not None)
    assert alone == same and alone.predicted.value == pytest.approx(1) and alone.verdict.code == "follow"
    assert short.predicted.value == pytest.approx(0) and short.predicted.error > 1 and short.verdict.code != "follow"
    assert short.lower_bound == 0 and short.gain_lower_bound < 0


def test_cross_fit_does_not_depend_on_the_order_of_the_episodes() -> None:
    episodes = coins(np.random.default_rng(0), 4, 90)
    order = np.random.default_rng(1).permutation(episodes.n)
    one, other = (solve(log) for log in (episodes, episodes.columns(order)))
    assert one.judged == other.judged and one.judged is not None


def test_cross_fit_makes_each_plan_without_the_episodes_that_judge_it() -> None:
    log = shuffled(coins(np.random.default_rng(0), 3, 60), np.random.default_rng(0))
    parts: list[Episodes] = []

    def make_plan(episodes: Episodes) -> tuple[RDP, Plan]:
        parts.append(episodes)
        solution = solve(episodes, second_look=False)
        return solution.learned.rdp, solution.plan

    judged = cross_fit(log, make_plan, np.random.default_rng(0))
    assert judged is not None and [part.total for part in parts] == [40, 40, 40]
    assert sum(part.total for part in parts) == 2 * log.total


def test_cross_fit_returns_none_for_too_few_episodes() -> None:
    few = coins(np.random.default_rng(0), 3, FEWEST_EPISODES - 1)
    solution = solve(few)
    assert solution.judged is None and solution.lower_bound is None
    assert solution.verdict.reasons == ("too_few_episodes",)
    assert solve(coins(np.random.default_rng(0), 3, FEWEST_EPISODES)).judged is not None


def test_cross_fit_judges_a_sample_of_a_long_log(monkeypatch: pytest.MonkeyPatch) -> None:
    episodes = coins(np.random.default_rng(0), 3, 400)
    monkeypatch.setattr(regorl, "MOST_STEPS", 100 * (episodes.horizon + 1))
    judged = solve(episodes).judged
    assert judged is not None and judged.episodes == 100


def test_cross_fit_counts_weights_as_episodes() -> None:
    episodes = coins(np.random.default_rng(0), 3, 60)
    weighted = replace(episodes, weight=np.full(episodes.n, 3, np.int64))
    judged = solve(weighted).judged
    assert judged is not None and judged.episodes == 180


def test_cross_fit_bounds_are_within_the_possible_range() -> None:
    """An action always returns 1; the bound cannot be below the smallest possible return, here 0."""
    steps = [[(None, (1,), 0.0), ("a" if i % 2 else "b", None, float(i % 2))] for i in range(40)]
    solution = solve(from_values(steps))
    assert solution.lower_bound is not None and 0 <= solution.lower_bound <= solution.prediction.value <= 1


@pytest.mark.parametrize("stationary", [False, True])
def test_cross_fit_takes_no_more_memory_than_announced(stationary: bool) -> None:
    domain = make("t-maze")
    episodes = shuffled(domain.simulate(20_000, 30, np.random.default_rng(0)), np.random.default_rng(1))
    made = solve(episodes.columns(slice(0, 500)), stationary=stationary)
    tracemalloc.start()
    cross_fit(episodes, lambda part: (made.learned.rdp, made.plan), np.random.default_rng(2))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    announced = BYTES_A_STEP * episodes.n * (episodes.horizon + 1)
    assert 0.5 * announced < peak < announced


@pytest.mark.parametrize("planning", [Planning(), GREEDY, Planning(subsample=True), Planning(discount=0.5)], ids=str)
@pytest.mark.parametrize("shift", [0.0, 1000.0, -1000.0])
def test_regorl_finds_no_gain_where_all_rewards_are_equal(planning: Planning, shift: float) -> None:
    """Values of a plan may be discounted or pessimistic; the judgement of the plan must not depend on them."""
    pay, acts = 1 + shift, ("a", "b")
    log = from_values(
        [[(None, (i % 2,), 0.0), (acts[i % 3 > 0], (i % 2,), pay), (acts[i % 5 > 0], None, pay)] for i in range(120)]
    )
    judged = solve(log, planning=planning, stationary=planning.discount is not None).judged
    assert judged is not None and judged.gain.value == pytest.approx(0, abs=1e-9)
