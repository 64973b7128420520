"""Exact values of learned policies, from much data and from little. Writes POLICIES.md.

`python benchmarks/policies.py` takes about two minutes on two cores. Only the logs are random; seeds were fixed before
any result was known.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np

from suffice import make, regorl
from suffice.lab.experiment import options_of
from suffice.lab.scoring import value_of
from suffice.lab.truth import GroundTruth, ground_truth

SEEDS = (1, 2, 3)
SMALL_SEEDS = tuple(range(20))
LARGE = (  # domain, options, episodes, share of V* to reach
    ("corridor", "", 300, 0.99),
    ("t-maze", "", 100_000, 0.99),
    ("cookie", "actions=sensible", 30_000, 0.99),
    ("cheese", "", 100_000, 0.99),
    ("mini-hall", "", 300_000, 0.95),
    ("cookie", "", 1_000_000, 0.95),
)
FIVE = ("corridor", "t-maze", "cookie", "cheese", "mini-hall")
SIZES = (100, 1_000, 10_000)
RESULTS = Path(__file__).parent / "POLICIES.md"


class Job(NamedTuple):
    """A log and how to learn from it."""

    domain: str
    options: str
    episodes: int
    seed: int
    second_look: bool = True


@dataclass(frozen=True)
class Run:
    """The learned policy and its value."""

    job: Job
    states: int
    value: float  # exact
    predicted: float
    lower: float


def truth_about(domain: str, options: str) -> GroundTruth:
    """Return the ground truth at the domain's default horizon."""
    chosen = dict(pair.split("=") for pair in options.split())
    return ground_truth(domain, options_of(chosen), make(domain, chosen).default_horizon)


def run(job: Job) -> Run:
    """Simulate, learn, plan, and compute the value of the policy."""
    domain = make(job.domain, dict(pair.split("=") for pair in job.options.split()))
    episodes = domain.simulate(job.episodes, domain.default_horizon, np.random.default_rng(job.seed))
    solution = regorl(episodes, second_look=job.second_look)
    rdp = solution.learned.rdp
    value = float(value_of(rdp, truth_about(job.domain, job.options).model, solution.plan).mean_return)
    return Run(job, rdp.n_states, value, solution.prediction.value, solution.lower_bound)


def large_jobs() -> Iterator[Job]:
    """List jobs for full logs, a third and a tenth of them, with and without refinement."""
    for domain, options, episodes, _ in LARGE:
        for part in (1, 3, 10):
            for second_look in (True, False):
                for seed in SEEDS:
                    yield Job(domain, options, episodes // part, seed, second_look)


def small_jobs() -> Iterator[Job]:
    """List jobs with little data."""
    for domain in FIVE:
        for episodes in SIZES:
            for seed in SMALL_SEEDS:
                yield Job(domain, "", episodes, seed)


def large_table(runs: list[Run]) -> Iterator[str]:
    """Make a table of shares of V*, predictions and lower bounds."""
    yield "| domain | episodes | V* | share of V*, seeds 1 2 3 | predicted | lower bound | without refinement |"
    yield "|---|---|---|---|---|---|---|"
    for domain, options, episodes, _ in LARGE:
        best = float(truth_about(domain, options).truth.optimal_value)
        for part in (1, 3, 10):
            found, first = (
                [r for r in runs if r.job[:3] == (domain, options, episodes // part) and r.job.second_look is look]
                for look in (True, False)
            )
            shares, before = (" ".join(f"{r.value / best:.3f}" for r in rs) for rs in (found, first))
            predicted = " ".join(f"{r.predicted:.3g}" for r in found)
            lower = " ".join(f"{r.lower:.3g}" for r in found)
            name = f"{domain} {options}".strip()
            yield f"| {name} | {episodes // part:,} | {best:.4g} | {shares} | {predicted} | {lower} | {before} |"


def small_table(runs: list[Run]) -> Iterator[str]:
    """Make a table of gains over the behaviour policy, losses of more than 1 %, and the coverage of the bound."""
    yield "| domain | episodes | mean gain | smallest gain | losses of 20 | bound held |"
    yield "|---|---|---|---|---|---|"
    for domain in FIVE:
        truth = truth_about(domain, "")
        for episodes in SIZES:
            found = [r for r in runs if r.job.domain == domain and r.job.episodes == episodes]
            gains = np.array([truth.gain(r.value) for r in found])
            held = np.mean([r.lower <= r.value + 1e-9 for r in found])
            losses = np.count_nonzero(gains < -0.01)
            yield f"| {domain} | {episodes:,} | {gains.mean():.3f} | {gains.min():.3f} | {losses} | {held:.0%} |"


def main() -> None:
    """Run everything and write the tables."""
    with ProcessPoolExecutor(2) as pool:
        large, small = (list(pool.map(run, jobs)) for jobs in (list(large_jobs()), list(small_jobs())))
    text = [
        "# Values of learned policies",
        "",
        "Exact values of the policies that `suffice learn` finds by default, from `python benchmarks/policies.py`.",
        "",
        "## Full logs, and a third and a tenth of them",
        "",
        "The goal for the largest log of a domain is 0.99 of V*; for Mini-hall and Cookie with all actions 0.95.",
        "*Predicted* is the model's prediction of the return; the lower bound is at 95 %.",
        "",
        *large_table(large),
        "",
        "## Small logs",
        "",
        "Gain over the behaviour policy in units of V* − V_behaviour, twenty seeds each; a loss is a gain below −0.01.",
        "*Bound held*: share of logs whose lower bound at 95 % was at most the true value.",
        "",
        *small_table(small),
        "",
    ]
    RESULTS.write_text("\n".join(text), encoding="utf-8")
    print("\n".join(text))


if __name__ == "__main__":
    main()
