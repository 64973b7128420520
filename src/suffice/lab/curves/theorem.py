"""The sample size of the paper's Theorem 2, as its proof has it, put to the test."""

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
DELTA: Final = 1e-4  # small enough for 1 − 4AOQδ to say something
SEEDS: Final = tuple(range(301, 321))
MOST_EPISODES: Final = 1e6  # episodes
# In the last one few candidates are rare, but a guard is nearly as often in one row as in the other: μ₀ is small.
TESTED: Final = (*SMALL, Case("corridor", 3, options_of({"enemy": "0.55"})))
HEAD: Final = ("domain", "N₁ of the theorem", "sufficient", "ratio", "promised", "exact at N₁")


def asked(minimal: Minimal, family: Family, delta: float) -> float:
    """N₁ of the paper's appendix, with its second lemma for languages: 2 (√(2Mℓ) + 14ℓ/3) / d, ℓ = ln(4/δ),
    M = 8 ln(4|X|/δ)/μ₀².

    d is the least share of a candidate and μ₀ the least difference in any layer, as the paper defines them.
    """
    ell = math.log(4 / delta)
    layers = list(futures(minimal, family))
    closest = [float(near.distance) for layer in layers if (near := closest_in(layer))]
    if not closest or not min(closest):
        return math.inf
    m = 8 * (ell + math.log(max(layer.size for layer in layers))) / min(closest) ** 2
    least = min(met[-1].share for met in candidates(minimal)[1:])
    return 2 * (math.sqrt(2 * m * ell) + 14 * ell / 3) / least


def promised(minimal: Minimal, delta: float) -> float:
    """The theorem's 1 − 4AOQδ, or 0."""
    actions, observations, _ = letters_as_log(minimal).suffix_alphabet()
    return max(0.0, 1 - 4 * len(actions) * len(observations) * minimal.n_states * delta)


def trials(case: Case) -> list[Experiment]:
    """The paper's test on as many episodes as its theorem asks for, rounded up to two digits; none if too many."""
    n = asked(case.minimal, Family.parse(FAMILY), DELTA)
    if n > MOST_EPISODES:
        return []
    unit = 10 ** (math.floor(math.log10(n)) - 1)
    return [case.experiment(f"{FAMILY}/{PAPER.name}", math.ceil(n / unit) * unit, seed, DELTA) for seed in SEEDS]


def compared(runs: Sequence[Result]) -> str:
    """A table: what the theorem asks for and promises, what suffices, and what came of it."""
    return table(HEAD, [_row(runs, case) for case in TESTED])


def _row(runs: Sequence[Result], case: Case) -> list[str]:
    n = asked(case.minimal, Family.parse(FAMILY), DELTA)
    enough = needed(case, FAMILY, DELTA).needed[PAPER.name].sufficient
    assert enough is not None, "the paper's bound says how many"
    tried = set(trials(case))
    hits = [is_exact(run) for run in runs if run.experiment in tried]
    found = "not run" if n <= MOST_EPISODES else "too many to run"
    if hits:
        rate = Rate.of(sum(hits), len(hits))
        found = f"{sum(hits)} of {len(hits)} ({rate.low:.2f} to {rate.high:.2f})"
    promise = f"{promised(case.minimal, DELTA):.2f}"
    return [case.title, brief(n), brief(enough), brief(enough / n), promise, found]
