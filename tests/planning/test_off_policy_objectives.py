"""Off-policy evaluation of other objectives, of episodes that were cut off, and of groups."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from oracle import random_episodes
from suffice.automata.rdp import RDP
from suffice.data.episodes import Episodes
from suffice.learning.stationary.learner import learn_stationary
from suffice.planning.held_out_value import HeldOutPlan
from suffice.planning.objective import OBJECTIVES, Objective
from suffice.planning.off_policy import evaluate_off_policy
from suffice.planning.plan import Plan
from suffice.planning.planner import plan_on
from support.censoring import censored

AIMS = [Objective(name, 0.8 if name == "discounted" else None) for name in OBJECTIVES]
ESTIMATES = ("log", "model_based", "importance", "doubly_robust")


@cache
def case(seed: int, early_end: float = 0.15) -> tuple[RDP, Plan, Episodes]:
    """Return a plan from some episodes of a random process, and others."""
    log = random_episodes(np.random.default_rng(seed), 6, 2, 3, 3, 3, 5000, early_end=early_end)
    rdp = learn_stationary(log.columns(slice(0, 1000))).rdp.layered()
    return rdp, plan_on(rdp), log.columns(slice(1000, 5000))


@pytest.mark.parametrize("aim", AIMS, ids=OBJECTIVES)
@pytest.mark.parametrize("seed", range(3))
def test_evaluate_off_policy_of_cut_off_episodes_agrees_with_that_of_whole_ones(seed: int, aim: Objective) -> None:
    """Ends are as frequent as cuts; as ended, the logged return would be off by far more than its error."""
    rdp, plan, whole = case(seed)
    some = censored(whole, np.random.default_rng(seed), 0.15)
    expected, found = (evaluate_off_policy(rdp, plan, log, objective=aim) for log in (whole, some))
    for name in ESTIMATES:
        one, other = getattr(expected, name), getattr(found, name)
        assert abs(one.value - other.value) <= 3 * other.error, name
    if not aim.per_step:
        ended = evaluate_off_policy(rdp, plan, some.ended(), objective=aim).log
        assert abs(ended.value - expected.log.value) > 5 * ended.error


def test_evaluate_off_policy_per_step_of_equal_lengths_is_a_share_of_the_return() -> None:
    rdp, plan, whole = case(3, early_end=0.0)
    total, share = (evaluate_off_policy(rdp, plan, whole, objective=aim) for aim in (AIMS[0], AIMS[1]))
    for name in ESTIMATES:
        one, other = getattr(total, name), getattr(share, name)
        assert other.value == pytest.approx(one.value / 6, rel=1e-6), name
        assert other.error == pytest.approx(one.error / 6, rel=0.05), name


def test_evaluate_off_policy_discounted_without_a_discount_is_the_return() -> None:
    rdp, plan, whole = case(1)
    total, same = (
        evaluate_off_policy(rdp, plan, whole, objective=aim) for aim in (AIMS[0], Objective("discounted", 1))
    )
    assert total == same
    near = evaluate_off_policy(rdp, plan, whole, objective=Objective("discounted", 1 - 1e-9))
    for name in ESTIMATES:
        assert getattr(near, name).value == pytest.approx(getattr(total, name).value, abs=1e-6)


def test_evaluate_off_policy_has_larger_errors_with_groups_of_copies() -> None:
    rdp, plan, whole = case(2)
    copies = np.repeat(np.arange(200), 20)
    some = whole.columns(copies)
    alone, grouped = (
        evaluate_off_policy(rdp, plan, log) for log in (some, replace(some, group=copies.astype(np.uint64)))
    )
    for name in ("log", "importance"):
        assert getattr(grouped, name).error > getattr(alone, name).error, name
    found = HeldOutPlan(rdp, plan, some, np.ones(6)).value("edge")
    assert found.variance(None, group=copies.astype(np.uint64)) > found.variance(None)
    assert grouped.log.error == pytest.approx(alone.log.error * np.sqrt(20), rel=0.01)
