"""`HeldOutPlan` agrees with its literal version, and its errors and test keep their levels."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from oracle import random_episodes
from oracle.held_out_value import LiteralPlan, exact_moments
from suffice.automata.rdp import RDP
from suffice.data.episodes import Episodes
from suffice.data.possible_returns import reward_ranges
from suffice.kernels import contingency
from suffice.kernels.contingency import distinct
from suffice.learning.adact_h import Settings, adact_h
from suffice.learning.stationary.learner import learn_stationary
from suffice.planning.held_out_nodes import REFINEMENTS, Nodes
from suffice.planning.held_out_value import HeldOutPlan
from suffice.planning.held_out_walk import HeldOutWalk
from suffice.planning.lack_of_fit import lack_of_fit
from suffice.planning.plan import Plan
from suffice.planning.planner import GREEDY, Planning, plan_on
from support.censoring import censored

SEEDS = range(6)


def learned_plan(seed: int, stationary: bool) -> tuple[RDP, Plan, Episodes]:
    """Return an automaton and a plan from one half of a random log, and the other half."""
    rng = np.random.default_rng([seed, stationary])
    shape = int(rng.integers(2, 5)), int(rng.integers(2, 4)), int(rng.integers(2, 4)), 3, int(rng.integers(2, 4))
    log = random_episodes(rng, *shape, 120, early_end=0.3 * (seed % 2), weighted=seed % 3 == 0)
    half = slice(0, 60), slice(60, 120)
    train, held_out = (log.columns(part) for part in half)
    rdp = learn_stationary(train).rdp if stationary else adact_h(train, Settings(delta=0.3)).rdp
    return rdp, plan_on(rdp.layered(), GREEDY if seed % 2 else Planning()), held_out


@pytest.mark.parametrize("refinement", [None, *REFINEMENTS])
@pytest.mark.parametrize("stationary", [False, True])
@pytest.mark.parametrize("seed", SEEDS)
def test_held_out_plan_value_agrees_with_literal_recursion(
    seed: int, stationary: bool, refinement: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if seed % 2:
        monkeypatch.setattr(contingency, "TABLE_SIZE", -1000)  # number keys by sorting
    rdp, plan, episodes = learned_plan(seed, stationary)
    ranges = reward_ranges(episodes)
    spans = (ranges.high - ranges.low)[1:]
    mu = np.random.default_rng(seed).uniform(0.1, 1, episodes.word.shape) if seed % 3 == 1 else None
    found = HeldOutPlan(rdp, plan, episodes, spans, propensity=mu).value(refinement)
    value, influence, rare = LiteralPlan(rdp, plan, episodes, spans.tolist(), mu=mu).estimate(refinement)
    assert found.value == pytest.approx(value, abs=1e-9)
    assert found.influence == pytest.approx(np.array(influence), abs=1e-9)
    assert found.rare == pytest.approx(rare, abs=1e-9)


@pytest.mark.parametrize("refinement", [None, *REFINEMENTS])
@pytest.mark.parametrize("stationary", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_held_out_plan_value_of_cut_off_episodes_with_a_discount_agrees_with_literal_recursion(
    seed: int, stationary: bool, refinement: str | None
) -> None:
    rdp, _, episodes = learned_plan(seed, stationary)
    plan = plan_on(rdp.layered(), replace(GREEDY, objective="discounted", discount=0.7))
    episodes = censored(episodes, np.random.default_rng(seed), 0.3)
    assert episodes.censored
    ranges = reward_ranges(episodes)
    spans = (ranges.high - ranges.low)[1:]
    found = HeldOutPlan(rdp, plan, episodes, spans, 0.7).value(refinement)
    value, influence, rare = LiteralPlan(rdp, plan, episodes, spans.tolist(), 0.7).estimate(refinement)
    assert found.value == pytest.approx(value, abs=1e-9)
    assert found.influence == pytest.approx(np.array(influence), abs=1e-9)
    assert found.rare == pytest.approx(rare, abs=1e-9)


@pytest.mark.parametrize("refinement", [None, "edge"])
def test_held_out_plan_value_is_the_same_when_computed_twice(refinement: str | None) -> None:
    rdp, plan, episodes = learned_plan(1, stationary=True)
    judge = HeldOutPlan(rdp, plan, episodes, np.ones(episodes.horizon))
    first, second = judge.value(refinement), judge.value(refinement)
    assert first.value == second.value and first.rare == second.rare
    assert np.array_equal(first.influence, second.influence)


def test_held_out_value_variance_counts_an_episode_of_weight_two_twice() -> None:
    rdp, plan, episodes = learned_plan(1, stationary=False)
    doubled = Episodes.beside([episodes, episodes])
    weighted = Episodes(
        episodes.alphabet, episodes.letters, episodes.word, episodes.follows, np.full(episodes.n, 2, np.int64)
    )
    spans = np.ones(episodes.horizon)
    one, other = (HeldOutPlan(rdp, plan, log, spans).value("edge") for log in (doubled, weighted))
    assert one.value == pytest.approx(other.value)
    assert one.variance(None) == pytest.approx(other.variance(weighted.weight))


def test_distinct_numbers_keys_in_order_by_table_and_by_sorting(monkeypatch: pytest.MonkeyPatch) -> None:
    keys = np.random.default_rng(0).integers(0, 50, (4, 30))
    by_table = distinct(keys)
    monkeypatch.setattr(contingency, "TABLE_SIZE", -1000)
    by_sorting = distinct(np.where(keys == 49, 10**9, keys))
    assert np.array_equal(by_table[1], by_sorting[1]) and np.array_equal(by_table[0][by_table[1]], keys)


@pytest.mark.parametrize(
    ("rows", "columns"), [([0, 0, 0, 0, 1, 1, 2], [0, 0, 0, 1, 1, 2, 2]), ([0, 0, 1, 1, 1], [0, 1, 0, 1, 1])]
)
def test_lack_of_fit_has_the_exact_permutation_moments(rows: list[int], columns: list[int]) -> None:
    n = len(rows)
    nothing = np.zeros((2, n), np.int64)
    reward = np.array([columns, [0] * n], float)
    tables = [np.ones((1, 2))] * 2, [np.zeros(1)] * 2
    walk = HeldOutWalk(nothing, nothing, nothing, None, None, reward, np.ones(n), *tables, False)
    states = Nodes(np.array([[0] * n, [1] * n]), np.array([0, 1]), np.array([0, 1]))
    refined = Nodes(np.array([rows, [3] * n]), np.zeros(4, np.int64), np.array([0, 0, 0, 1]))
    excess, variance = lack_of_fit(walk, states, refined)
    mean, expected = exact_moments(rows, columns)
    assert variance == pytest.approx(expected)
    table = np.zeros((3, 3))
    np.add.at(table, (rows, columns), 1)
    table = table[table.any(axis=1)][:, table.any(axis=0)]
    share = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    assert excess == pytest.approx(float(((table - share) ** 2 / share).sum()) - mean)


def test_lack_of_fit_is_zero_where_everything_is_determined() -> None:
    rdp, plan, episodes = learned_plan(1, stationary=False)
    same = episodes.columns(np.zeros(40, np.int64))
    judge = HeldOutPlan(rdp, plan, same, np.ones(episodes.horizon))
    assert judge.fit("edge") == (0.0, 0.0) and math.isfinite(judge.value().value)
