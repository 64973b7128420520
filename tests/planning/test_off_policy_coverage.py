"""Off-policy intervals contain the exact value on random processes, for each kind of logger.

A cell is a logger and a number of held-out episodes, with known or estimated propensities. The full cells of
docs/promises.md: `pytest -m long tests/planning/test_off_policy_coverage.py -s`, which also prints the figures.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from suffice.data.possible_returns import possible_returns
from suffice.domains.exact.values import exact_value
from suffice.domains.finite import FiniteModel
from suffice.domains.simulation import simulate
from suffice.planning.controller import Controller
from suffice.planning.off_policy import OffPolicyEvaluation, evaluate_off_policy
from suffice.planning.regorl import regorl
from support.random_processes import LOGGERS, Logger, RandomProcess, behaviour, propensities

ESTIMATORS = ("model_based", "importance", "doubly_robust")
COVERED = 0.93  # share of the known 95 % intervals that must contain the exact value
MOST_UNKNOWN = 1 / 3  # share of the runs of a cell in which an estimate that uses the automaton may be unknown
FOUR_SIGMA = 4.0  # standard errors by which the share of a few runs may deviate
ROUNDING = 1e-9


class Run(NamedTuple):
    """A plan, evaluated on held-out episodes."""

    exact: float
    range_of_log: tuple[float, float]
    known: OffPolicyEvaluation  # with known propensities
    estimated: OffPolicyEvaluation

    def covers(self, name: str, estimated: bool) -> bool | None:
        """Return whether the interval of an estimate contains the exact value; None if it is unknown."""
        estimate = getattr(self.estimated if estimated else self.known, name)
        low, high = estimate.interval()
        return low - ROUNDING <= self.exact <= high + ROUNDING if estimate.known else None


def run(logger: Logger, n: int, seed: int) -> Run:
    """Learn from n episodes of a random process with 2 to 6 states, and evaluate the plan on n others."""
    rng = np.random.default_rng([seed, LOGGERS.index(logger), n])
    n_states, n_actions, n_observations, horizon = (
        int(rng.integers(*ends)) for ends in ((2, 7), (2, 5), (2, 5), (4, 9))
    )
    model = FiniteModel.of(RandomProcess.draw(rng, n_states, n_actions, n_observations))
    policy = behaviour(logger, model, rng)
    both = simulate(model, 2 * n, horizon, rng, policy)
    rest = both.columns(slice(n, 2 * n))
    solution = regorl(both.columns(slice(0, n)).compact())
    planned = Controller.on_automaton(solution.planned, model.alphabet, solution.plan.actions)
    known, estimated = (
        evaluate_off_policy(solution.planned, solution.plan, rest, chances)
        for chances in (propensities(policy, rest), None)
    )
    exact = float(exact_value(model, planned, horizon).mean_return)
    return Run(exact, possible_returns(both), known, estimated)


@cache
def cell(logger: Logger, n: int, runs: int) -> list[Run]:
    return [run(logger, n, seed) for seed in range(runs)]


def figures(many: list[Run]) -> Iterator[tuple[str, float, float]]:
    """Yield each estimator, with known and estimated propensities: coverage of known intervals, share of unknown."""
    for name in ESTIMATORS:
        for estimated in (False, True):
            found = [one.covers(name, estimated) for one in many]
            covers = [c for c in found if c is not None]
            label = f"{name} ({'estimated' if estimated else 'known'})"
            yield label, float(np.mean(covers)) if covers else 1.0, found.count(None) / len(found)


FEW = 25  # runs of each logger in the fast test


def test_evaluate_off_policy_intervals_cover_exact_values_on_random_processes() -> None:
    """At least 93 % of the intervals of each estimator, up to four standard errors of the share among so few runs."""
    many = [one for logger in LOGGERS for one in cell(logger, 300, FEW)]
    for label, covered, unknown in figures(many):
        known = max(len(many) * (1 - unknown), 1)
        assert covered >= COVERED - FOUR_SIGMA * (COVERED * (1 - COVERED) / known) ** 0.5, label
        if not label.startswith("importance"):
            assert unknown <= MOST_UNKNOWN, label


def test_evaluate_off_policy_estimates_lie_within_the_possible_returns() -> None:
    for one in (one for logger in LOGGERS for one in cell(logger, 300, FEW)):
        lowest, highest = one.range_of_log
        for found in (one.known, one.estimated):
            assert found.possible == pytest.approx((lowest, highest))
            for name in ("log", *ESTIMATORS):
                estimate = getattr(found, name)
                low, high = estimate.interval()
                assert lowest <= low <= high <= highest
                assert not estimate.known or lowest <= estimate.value <= highest


@pytest.mark.long
@pytest.mark.parametrize("n", [300, 1000, 3000])
@pytest.mark.parametrize("logger", LOGGERS)
def test_evaluate_off_policy_intervals_cover_exact_values_in_each_cell(logger: Logger, n: int) -> None:
    """200 runs: the estimates that use the automaton must cover 93 %, and importance sampling too, up to two standard
    errors of the share among the few runs in which it is known.
    """
    many = cell(logger, n, 200)
    for label, covered, unknown in figures(many):
        print(f"{logger:>15} {n:>5} {label:<26} covered {covered:.3f}  unknown {unknown:.3f}")
        known = max(len(many) * (1 - unknown), 1)
        if label.startswith("importance"):
            assert covered >= COVERED - 2 * (COVERED * (1 - COVERED) / known) ** 0.5, label
        else:
            assert covered >= COVERED and unknown <= MOST_UNKNOWN, label
