"""Test of the sample size of the paper's Theorem 2, with the constants of its proof."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from suffice.domains.exact.distances import closest_in, futures, letters_as_log
from suffice.domains.exact.minimal import Minimal
from suffice.domains.exact.samples import candidates
from suffice.evidence.bounds import PAPER
from suffice.evidence.languages import Family
from suffice.lab.curves.cases import SMALL, Case, needed
from suffice.lab.curves.summaries import Rate
from suffice.lab.experiment import Experiment, Result, options_of
from suffice.lab.scoring import is_exact
from suffice.lab.study import brief, table

FAMILY: Final = "conjunctions"
DELTA: Final = 1e-4  # small enough for 1 − 4AOQδ to be positive
SEEDS: Final = tuple(range(301, 321))
MOST_EPISODES: Final = 1e6  # larger logs are not run
# In the last case few candidates are rare, but μ₀ is small: the guard is nearly as often in one row as in the other.
TESTED: Final = (*SMALL, Case("corridor", 3, options_of({"enemy": "0.55"})))
HEAD: Final = ("domain", "N₁ of the theorem", "sufficient", "ratio", "guaranteed", "exact at N₁")


def episodes_required(minimal: Minimal, family: Family, delta: float) -> float:
    """Return N₁ of the paper's appendix, with its second lemma for languages.

    N₁ = 2 (√(2Mℓ) + 14ℓ/3) / d with ℓ = ln(4/δ) and M = 8 ln(4|X|/δ)/μ₀²; d is the smallest share of a candidate and
    μ₀ the smallest difference in any layer, as the paper defines them.
    """
    ell = math.log(4 / delta)
    layers = list(futures(minimal, family))
    closest = [float(near.distance) for layer in layers if (near := closest_in(layer))]
    if not closest or not min(closest):
        return math.inf
    m = 8 * (ell + math.log(max(layer.size for layer in layers))) / min(closest) ** 2
    least = min(met[-1].share for met in candidates(minimal)[1:])
    return 2 * (math.sqrt(2 * m * ell) + 14 * ell / 3) / least


def guaranteed(minimal: Minimal, delta: float) -> float:
    """Return the theorem's 1 − 4AOQδ, or 0 if that is negative."""
    actions, observations, _ = letters_as_log(minimal).suffix_alphabet()
    return max(0.0, 1 - 4 * len(actions) * len(observations) * minimal.n_states * delta)


def trials(case: Case) -> list[Experiment]:
    """List runs of the paper's test on N₁ episodes, rounded up to two digits; none if that is too many."""
    n = episodes_required(case.minimal, Family.parse(FAMILY), DELTA)
    if n > MOST_EPISODES:
        return []
    unit = 10 ** (math.floor(math.log10(n)) - 1)
    return [case.experiment(f"{FAMILY}/{PAPER.name}", math.ceil(n / unit) * unit, seed, DELTA) for seed in SEEDS]


def compared(runs: Sequence[Result]) -> str:
    """Make a table of the theorem's sample size and guarantee, the sufficient size, and the observed runs."""
    return table(HEAD, [_row(runs, case) for case in TESTED])


def _row(runs: Sequence[Result], case: Case) -> list[str]:
    n = episodes_required(case.minimal, Family.parse(FAMILY), DELTA)
    enough = needed(case, FAMILY, DELTA).needed[PAPER.name].sufficient
    assert enough is not None, "the paper's bound has a sufficient number"
    tried = set(trials(case))
    hits = [is_exact(run) for run in runs if run.experiment in tried]
    found = "not run" if n <= MOST_EPISODES else "too many to run"
    if hits:
        rate = Rate.of(sum(hits), len(hits))
        found = f"{sum(hits)} of {len(hits)} ({rate.low:.2f} to {rate.high:.2f})"
    promise = f"{guaranteed(case.minimal, DELTA):.2f}"
    return [case.title, brief(n), brief(enough), brief(enough / n), promise, found]
