"""Evaluation by simulation: agreement with exact values, standard errors, and unseen histories."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from oracle.exact import ExactOracle, controller
from suffice.automata.rdp import BEHAVE, RDP, UNSEEN
from suffice.domains import simulation
from suffice.domains.domain import Domain
from suffice.domains.evaluation import SimulationEstimates, roll_out, summary
from suffice.domains.exact import values
from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.exact.values import evaluate, exact_value
from suffice.domains.simulation import simulate
from suffice.domains.tasks.cheese import Cheese
from suffice.domains.tasks.cookie import Cookie
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.flickering_grid import FlickeringGrid
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SufficeError
from suffice.evidence.estimates import Estimate
from suffice.learning.adact_h import adact_h
from suffice.planning.controller import Controller
from suffice.planning.planner import GREEDY, plan_on
from support.log_files import decode

F = Fraction

MEASURES = ("mean_return", "return_per_step", "success_rate")


def seeded(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@cache
def often_right(domain: Domain, horizon: int) -> Controller:
    """Return a policy that takes the best action with probability 3/4, otherwise any action."""
    model = domain.model(horizon)
    rdp = minimal_rdp(model, horizon).rdp()
    return Controller.on_automaton(rdp, model.alphabet, plan_on(rdp, GREEDY).actions, F(1, 4))


@cache
def of_a_log(domain: Domain, horizon: int, n: int) -> tuple[RDP, Controller]:
    """Learn an automaton from a log, and return it with the logged behaviour in each of its states."""
    model = domain.model(horizon)
    rdp = adact_h(domain.simulate(n, horizon, seeded(7))).rdp
    return rdp, Controller.on_automaton(rdp, model.alphabet, np.full(rdp.n_states, BEHAVE))


# Agreement with exact values


@pytest.mark.parametrize(
    ("domain", "horizon"),
    [
        (TMaze(), 5),
        (TMaze(length=2), 5),
        (Cookie(actions="sensible"), 9),
        (Cheese(), 6),
        (Corridor(enemy=F(4, 5)), 5),
        (MiniHall(), 8),
    ],
    ids=["t-maze", "short t-maze", "cookie", "cheese", "corridor", "mini-hall"],
)
def test_roll_out_agrees_with_exact_value(domain: Domain, horizon: int) -> None:
    """Estimates are within four standard errors, which are small."""
    model, policy = domain.model(horizon), often_right(domain, horizon)
    tried, expected = roll_out(model, policy, horizon, 20_000, seeded(1)), exact_value(model, policy, horizon)
    assert tried.episodes == 20_000 and tried.unseen == 0
    for name in MEASURES:
        found, right = getattr(tried, name), float(getattr(expected, name))
        assert 0 < found.error < 0.03 and abs(found.value - right) < 4 * found.error


def test_roll_out_of_certain_success_has_no_standard_error() -> None:
    model = TMaze().model(5)
    rdp = minimal_rdp(model, 5).rdp()
    best = Controller.on_automaton(rdp, model.alphabet, plan_on(rdp, GREEDY).actions)
    tried = roll_out(model, best, 5, 300, seeded(0), rdp)
    assert tried == SimulationEstimates(Estimate(4, 0), Estimate(0.8, 0), Estimate(1, 0), 300, 0.0)


# Standard errors


def test_roll_out_standard_errors_match_the_scatter_of_results() -> None:
    """In 400 runs of 400 episodes, errors are right within 12 %, over three times the sampling error."""
    domain, horizon = TMaze(length=2), 5
    model, policy = domain.model(horizon), often_right(domain, horizon)
    assert 2 < exact_value(model, policy, horizon).steps < 4.5
    repeats = [roll_out(model, policy, horizon, 400, seeded(seed)) for seed in range(400)]
    for name in MEASURES:
        found = [getattr(tried, name) for tried in repeats]
        scatter = np.std([estimate.value for estimate in found], ddof=1)
        assert math.sqrt(np.mean([estimate.error**2 for estimate in found])) == pytest.approx(scatter, rel=0.12)


@pytest.mark.parametrize("together", [0.9, -0.9], ids=["long is good", "long is bad"])
def test_summary_error_of_return_per_step_accounts_for_correlation(together: float) -> None:
    """Compare with 2,000 bootstrap samples; treating the two means as independent would be wrong by a factor."""
    rng = seeded(3)
    steps = rng.integers(5, 16, size=500).astype(float)
    returns = 20 + together * steps + rng.normal(size=500)
    found = summary(returns, steps, (returns > 20).astype(float), 0.0)
    drawn = rng.integers(500, size=(2000, 500))
    ratios = returns[drawn].mean(axis=1) / steps[drawn].mean(axis=1)
    assert found.return_per_step.error == pytest.approx(ratios.std(ddof=1), rel=0.08)
    assert found.mean_return.error == pytest.approx(returns[drawn].mean(axis=1).std(ddof=1), rel=0.08)
    relative = math.hypot(
        returns.std() / 500**0.5 / returns.mean(), steps.std() / 500**0.5 / steps.mean()
    )  # as for independent means
    naive = found.return_per_step.value * relative
    assert abs(found.return_per_step.error / naive - 1) > 0.2


def test_summary_agrees_with_calculation_by_hand() -> None:
    """The means are 1, 2 and 3/4; deviations of r − s/2 are 1, −1/2, 1/2 and −1."""
    returns, steps, won = (np.array(x, float) for x in ([2, 0, 1, 1], [2, 1, 1, 4], [1, 0, 1, 1]))
    found = summary(returns, steps, won, 0.125)
    assert found.mean_return[:2] == pytest.approx((1, math.sqrt(F(2, 3) / 4)))
    assert found.return_per_step[:2] == pytest.approx((0.5, math.sqrt(F(5, 2) / 3 / 4) / 2))
    assert found.success_rate[:2] == pytest.approx((0.75, math.sqrt(F(1, 4) / 4)))
    assert (found.episodes, found.unseen) == (4, 0.125)


def test_estimate_mean_agrees_with_calculation_by_hand() -> None:
    estimate = Estimate(10.0, 2.0)
    assert estimate.interval() == pytest.approx((10 - 1.959964 * 2, 10 + 1.959964 * 2), abs=1e-5)
    assert estimate.interval(0.5) == pytest.approx((10 - 0.674490 * 2, 10 + 0.674490 * 2), abs=1e-5)
    assert estimate.lower(0.05) == pytest.approx(10 - 1.644854 * 2, abs=1e-5)
    assert estimate.lower(0.025) == pytest.approx(estimate.interval()[0])
    assert Estimate.mean(np.array([1.0, 3.0]))[:2] == pytest.approx((2, 1))


def test_estimate_mean_of_a_single_number_has_no_error() -> None:
    assert Estimate.mean(np.array([2.0])) == Estimate(2.0, math.inf)
    assert Estimate.mean(np.array([2.0]), np.array([1])).error == math.inf
    assert Estimate.mean(np.array([2.0]), np.array([7])) == Estimate(2.0, 0.0)


def test_estimate_mean_counts_a_weight_as_repeated_numbers() -> None:
    numbers, weight = np.array([1.0, -2.0, 0.5]), np.array([3, 1, 5])
    assert Estimate.mean(numbers, weight) == pytest.approx(Estimate.mean(np.repeat(numbers, weight)))
    assert Estimate.mean(numbers, weight) != pytest.approx(Estimate.mean(numbers))


# Unseen histories


@pytest.mark.parametrize(("domain", "horizon"), [(Cookie(), 9), (FlickeringGrid(), 6)], ids=["all long", "some short"])
def test_roll_out_counts_decisions_after_unseen_histories(domain: Domain, horizon: int) -> None:
    """Compare with following each history of the same episodes separately."""
    model, (rdp, policy) = domain.model(horizon), of_a_log(domain, horizon, 30)
    for chosen, least in ((Controller.uniform(model.alphabet), 0.1), (policy, 0.0)):
        tried = roll_out(model, chosen, horizon, 300, seeded(4), rdp)
        lost = decisions = 0
        for steps in decode(simulate(model, 300, horizon, seeded(4), chosen)):
            symbols = [(action, observation) for action, observation, _ in steps]
            for t in range(1, horizon + 1):
                if symbols[t][0] != "pad":
                    decisions += 1
                    lost += rdp.run(tuple(symbols[:t])) == UNSEEN
        assert tried.unseen == lost / decisions and least < tried.unseen < 1


def test_roll_out_with_the_exact_automaton_has_no_unseen_histories() -> None:
    model = Cheese().model(4)
    rdp = minimal_rdp(model, 4).rdp()
    assert roll_out(model, Controller.uniform(model.alphabet), 4, 2000, seeded(0), rdp).unseen == 0


def test_roll_out_counts_decisions_beyond_the_horizon_as_unseen() -> None:
    """The last two of five decisions are unseen, the first three are not."""
    model = Cheese().model(5)
    rdp = minimal_rdp(Cheese().model(3), 3).rdp()
    assert roll_out(model, Controller.uniform(model.alphabet), 5, 100, seeded(0), rdp).unseen == 2 / 5
    longer = minimal_rdp(Cheese().model(6), 6).rdp()
    assert roll_out(model, Controller.uniform(model.alphabet), 5, 100, seeded(0), longer).unseen == 0


# Seeds and chunks


def test_roll_out_with_the_same_seed_gives_the_same_result() -> None:
    model, policy = TMaze().model(5), often_right(TMaze(), 5)
    rdp = minimal_rdp(model, 5).rdp()
    assert roll_out(model, policy, 5, 500, seeded(1)) == roll_out(model, policy, 5, 500, seeded(1), rdp)
    assert roll_out(model, policy, 5, 500, seeded(1)) != roll_out(model, policy, 5, 500, seeded(2))


def test_roll_out_combines_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "CHUNK_STEPS", 1000)
    model, policy, reported = TMaze().model(5), often_right(TMaze(), 5), []

    def progress(done: int, of: int) -> None:
        reported.append((done, of))

    tried = roll_out(model, policy, 5, 500, seeded(1), progress=progress)
    episodes = simulate(model, 500, 5, seeded(1), policy)
    rewards = np.array([[r for _, _, r in steps] for steps in decode(episodes)])
    assert tried.mean_return == pytest.approx(Estimate.mean(rewards.sum(axis=1)))
    assert tried.success_rate.value == (rewards > 0).any(axis=1).mean()
    assert reported == [(200, 500), (400, 500), (500, 500)]


@pytest.mark.parametrize("n", [0, -3])
def test_roll_out_refuses_fewer_than_one_episode(n: int) -> None:
    model = TMaze().model(3)
    with pytest.raises(SufficeError, match=f"{n} episodes cannot be simulated. Use 1 or more"):
        roll_out(model, model.usual, 3, n, seeded(0))


# Exact values in fractions or doubles


def parts(expected: Any) -> list[Any]:
    return [getattr(expected, name) for name in (*MEASURES, "steps")]


@pytest.mark.parametrize("domain", [TMaze(), Cookie(), Cheese(), Corridor(enemy=F(1, 3)), MiniHall()])
def test_exact_value_of_uniform_policies_is_rational(domain: Domain) -> None:
    model = domain.model()
    expected = exact_value(model, Controller.uniform(model.alphabet), domain.default_horizon)
    assert all(isinstance(value, Fraction) for value in parts(expected))


def test_exact_value_of_logged_frequencies_uses_doubles() -> None:
    """Their fractions have a denominator for every state, so that exact sums grow; the result is the same."""
    domain, horizon = TMaze(), 4
    model, (_, policy) = domain.model(horizon), of_a_log(domain, horizon, 1000)
    assert len({p.denominator for row in policy.chances for p in row}) > 10
    expected = exact_value(model, policy, horizon)
    assert all(type(value) is float for value in parts(expected))
    right = ExactOracle(domain.for_horizon(horizon), horizon, controller(policy))
    assert expected.mean_return == pytest.approx(float(right.mean_return()), rel=1e-12)
    assert expected.success_rate == pytest.approx(float(right.success_rate()), rel=1e-12)
    assert expected.steps == pytest.approx(float(right.decisions()), rel=1e-12)


def test_evaluate_is_a_deprecated_name_of_exact_value() -> None:
    assert evaluate is exact_value


def test_exact_value_in_doubles_agrees_with_fractions(monkeypatch: pytest.MonkeyPatch) -> None:
    model, policy = TMaze().model(5), often_right(TMaze(), 5)
    exactly = exact_value(model, policy, 5)
    assert all(isinstance(value, Fraction) for value in parts(exactly))
    monkeypatch.setattr(values, "MAX_DENOMINATOR", 1)
    rounded = exact_value(model, policy, 5)
    assert all(type(value) is float for value in parts(rounded))
    assert parts(rounded) == pytest.approx([float(value) for value in parts(exactly)], rel=1e-12)


def test_exact_value_uses_doubles_for_large_common_denominators() -> None:
    """Each denominator is a prime below 2³², but their product, the common denominator, is larger."""
    model = TMaze().model(3)
    first = np.array([0, 0, 1, 1, 1][: model.alphabet.n_observations], np.int32)
    uniform = Controller.uniform(model.alphabet)
    for primes, kind in (((65_537, 65_539), float), ((65_521, 65_519), Fraction)):
        chances = tuple((F(1, p), F(p - 1, p), F(0), F(0)) for p in primes)
        after = np.repeat(np.zeros_like(uniform.after), 2, axis=0)
        policy = Controller(model.alphabet, first, after, chances)
        assert type(exact_value(model, policy, 3).mean_return) is kind
