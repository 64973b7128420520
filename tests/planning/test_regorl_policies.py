"""Exact values of the policies of `regorl` with default settings reach the goals and the tables of benchmarks/.

Everything is simulated from the seeds of benchmarks/policies.py, learned and planned as by `suffice learn`.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

import numpy as np
import pytest

from suffice.domains.exact.truth import truth_of
from suffice.domains.exact.values import evaluate
from suffice.domains.finite import FiniteModel
from suffice.domains.registry import make
from suffice.planning.controller import Controller
from suffice.planning.planner import DEFAULT_STRENGTH, Planning
from suffice.planning.regorl import regorl
from support.paths import ROOT

BENCHMARKS = ROOT / "benchmarks"

SEEDS = (1, 2, 3)
SMALL_SEEDS = range(20)
FIVE = ("corridor", "t-maze", "cookie", "cheese", "mini-hall")
SIZES = (100, 1_000, 10_000)


class Known(NamedTuple):
    """A domain with its exact optimal and behaviour values."""

    model: FiniteModel
    horizon: int
    best: float
    behaviour: float


class Reached(NamedTuple):
    """The exact value, prediction and lower bound of the policy from one log."""

    value: float  # exact
    predicted: float
    lower: float


def options_of(domain: str) -> tuple[str, dict[str, str]]:
    """Parse a name such as "cookie actions=sensible"."""
    name, *options = domain.split()
    return name, dict(option.split("=") for option in options)


@cache
def known(domain: str) -> Known:
    made = make(*options_of(domain))
    truth = truth_of(made.model(), made.default_horizon)
    return Known(made.model(), made.default_horizon, float(truth.optimal_value), float(truth.behaviour.mean_return))


@cache
def reached(domain: str, episodes: int, seed: int, second_look: bool = True) -> Reached:
    model, horizon, _, _ = known(domain)
    log = make(*options_of(domain)).simulate(episodes, horizon, np.random.default_rng(seed))
    solution = regorl(log, second_look=second_look)
    policy = Controller.on_automaton(solution.learned.rdp, model.alphabet, solution.plan.actions)
    value = float(evaluate(model, policy, horizon).mean_return)
    return Reached(value, solution.prediction.value, solution.lower_bound)


def shares(domain: str, episodes: int, second_look: bool = True) -> list[float]:
    """Return the values of policies as shares of V*."""
    return [reached(domain, episodes, seed, second_look).value / known(domain).best for seed in SEEDS]


def gains(domain: str, episodes: int) -> np.ndarray:
    """Return the gains of policies over the behaviour policy, as shares of the largest possible gain."""
    _, _, best, behaviour = known(domain)
    values = np.array([reached(domain, episodes, seed).value for seed in SMALL_SEEDS])
    return (values - behaviour) / (best - behaviour)


# The goals

GOALS = [
    ("corridor", 300, 0.99),
    ("t-maze", 100_000, 0.99),
    ("cookie actions=sensible", 30_000, 0.99),
    ("cheese", 100_000, 0.99),
    ("mini-hall", 300_000, 0.95),
    ("cookie", 1_000_000, 0.95),
]


@pytest.mark.parametrize(("domain", "episodes", "goal"), GOALS)
def test_regorl_reaches_goals_with_enough_episodes(domain: str, episodes: int, goal: float) -> None:
    assert min(shares(domain, episodes)) >= goal


@pytest.mark.parametrize(("domain", "episodes", "goal"), [("t-maze", 33_333, 0.99), ("mini-hall", 100_000, 0.98)])
def test_regorl_with_refinement_reaches_goals_with_a_third_of_the_episodes(
    domain: str, episodes: int, goal: float
) -> None:
    assert min(shares(domain, episodes)) >= goal


def test_regorl_policies_never_exceed_the_optimum() -> None:
    """Otherwise the exact values that the other tests use would be wrong."""
    found = [share for domain, episodes, _ in GOALS[:4] for share in shares(domain, episodes)]
    assert max(found) <= 1 + 1e-9
    assert [known(domain).best for domain in FIVE[:3]] == [5, 4, 1]


# Little data


@pytest.mark.parametrize("episodes", [*SIZES[:2], pytest.param(SIZES[2], marks=pytest.mark.long)])
@pytest.mark.parametrize("domain", FIVE)
def test_regorl_rarely_loses_against_behaviour_with_few_episodes(domain: str, episodes: int) -> None:
    """At most one of twenty is below the behaviour by more than 1 % of the largest possible gain."""
    assert np.count_nonzero(gains(domain, episodes) < -0.01) <= 1


# Tables of the benchmarks


def table(name: str, heading: str) -> list[list[str]]:
    """Return the cells of the table under a heading."""
    text = (BENCHMARKS / name).read_text(encoding="utf-8").split(heading)[1].split("\n## ")[0]
    rows = [[cell.strip() for cell in line.strip("| ").split("|")] for line in re.findall(r"^\|.*\|$", text, re.M)]
    return rows[2:]  # without the header


@pytest.mark.parametrize("n_sizes", [2, pytest.param(3, marks=pytest.mark.long)])
@pytest.mark.parametrize("domain", FIVE)
def test_regorl_reproduces_benchmark_table_on_few_episodes(domain: str, n_sizes: int) -> None:
    """Equal row by row, to the last digit; `python benchmarks/policies.py` writes the table again."""
    rows = [row for row in table("POLICIES.md", "## Small logs") if row[0] == domain]
    assert [row[1] for row in rows] == [f"{episodes:,}" for episodes in SIZES]
    for (_, _, *cells), episodes in list(zip(rows, SIZES, strict=True))[:n_sizes]:
        gain, runs = gains(domain, episodes), [reached(domain, episodes, seed) for seed in SMALL_SEEDS]
        held = np.mean([run.lower <= run.value + 1e-9 for run in runs])
        losses = np.count_nonzero(gain < -0.01)
        assert cells == [f"{gain.mean():.3f}", f"{gain.min():.3f}", str(losses), f"{held:.0%}"]


def assert_report_on_enough_data(domain: str, goal: int, most: int, most_without: int) -> None:
    """Check shares of V*, predictions, lower bounds and shares without refinement, for the number of episodes of the
    goal, a third and a tenth of it, up to `most` episodes.
    """
    rows = [row for row in table("POLICIES.md", "## Full logs") if row[0] == domain]
    sizes = [goal // part for part in (1, 3, 10)]
    assert [row[1] for row in rows] == [f"{episodes:,}" for episodes in sizes]
    for (_, _, *cells), episodes in zip(rows, sizes, strict=True):
        if episodes > most:
            continue
        runs = [reached(domain, episodes, seed) for seed in SEEDS]
        found = [
            f"{known(domain).best:.4g}",
            " ".join(f"{share:.3f}" for share in shares(domain, episodes)),
            " ".join(f"{run.predicted:.3g}" for run in runs),
            " ".join(f"{run.lower:.3g}" for run in runs),
        ]
        assert cells[:4] == found
        if episodes <= most_without:
            assert cells[4] == " ".join(f"{share:.3f}" for share in shares(domain, episodes, second_look=False))


SIZES_OF_GOALS = pytest.mark.parametrize(("domain", "goal"), [(domain, episodes) for domain, episodes, _ in GOALS])


@SIZES_OF_GOALS
def test_regorl_reproduces_benchmark_table_on_enough_episodes(domain: str, goal: int) -> None:
    assert_report_on_enough_data(domain, goal, most=100_000, most_without=34_000)


@pytest.mark.long
@SIZES_OF_GOALS
def test_regorl_reproduces_whole_benchmark_table_on_enough_episodes(domain: str, goal: int) -> None:
    assert_report_on_enough_data(domain, goal, most=10**6, most_without=10**5)


def test_planning_default_strength_is_the_best_of_the_experiment() -> None:
    """The default has the fewest losses and, among equals, the largest gain in the table of PESSIMISM.md."""
    rows = [[float(cell) for cell in row] for row in table("PESSIMISM.md", "# Strength of safe planning")]
    strength, *_ = min(rows, key=lambda row: (row[1], -row[2]))
    text = (BENCHMARKS / "PESSIMISM.md").read_text(encoding="utf-8")
    assert text.rstrip().endswith(f"Fewest losses: c = {strength:g}.")
    assert strength == DEFAULT_STRENGTH == Planning().strength == 0.01 and Planning().name == "safe"


def test_planning_strength_experiment_uses_other_domains_and_sizes() -> None:
    text = " ".join((BENCHMARKS / "PESSIMISM.md").read_text(encoding="utf-8").split())
    found = re.search(r"Safe planning on (.*?), from (.*?) episodes", text)
    assert found is not None
    domains, sizes = (part.split(", ") for part in found.groups())
    assert len(domains) == 10 and all(make(name) for name in domains) and not set(domains) & set(FIVE)
    assert len(sizes) == 5 and not set(sizes) & {f"{n:,}" for n in SIZES}
