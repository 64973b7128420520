"""Run the default learner on nested logs of increasing size, to see whether more episodes ever hurt.

A log of a size is the beginning of that of the next size, so that only what was added can make a plan worse.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np

from suffice.domains.exact.values import evaluate
from suffice.domains.registry import make
from suffice.lab.truth import ground_truth
from suffice.models.api import learn
from suffice.planning.controller import Controller

SIZES: Final = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
MEAN_FALL: Final = 0.01  # the largest fall of the mean share from a size to the next
GOOD: Final = 0.99  # a seed with this share …
STILL_GOOD: Final = 0.97  # … must keep this one


class Rung(NamedTuple):
    """What the default learner found in a log of one size."""

    domain: str
    seed: int
    episodes: int
    memory: str
    states: int
    share: float  # of the possible gain over the behaviour policy


def climb(domain: str, horizon: int, seed: int, sizes: Sequence[int] = SIZES) -> Iterator[Rung]:
    """Learn from nested logs with default settings, and generate the exact share of each plan."""
    truth = ground_truth(domain, (), horizon)
    episodes = make(domain).simulate(max(sizes), horizon, np.random.default_rng(seed))
    for n in sizes:
        model = learn(episodes.columns(np.arange(n)))
        plan = model.required_plan()
        policy = Controller.on_automaton(model.planned, truth.model.alphabet, plan.actions)
        share = truth.gain(float(evaluate(truth.model, policy, horizon).mean_return))
        memory = "" if model.compared is None else model.compared.memory
        yield Rung(domain, seed, n, memory, model.rdp.n_states, share)


def falls(rungs: Sequence[Rung]) -> list[str]:
    """Return a sentence for each fall that is not allowed, of the mean over seeds or of one seed."""
    shares = {(rung.domain, rung.episodes, rung.seed): rung.share for rung in rungs}
    found = []
    for domain in sorted({rung.domain for rung in rungs}):
        sizes = sorted({rung.episodes for rung in rungs if rung.domain == domain})
        for few, many in itertools.pairwise(sizes):
            seeds = [seed for d, n, seed in shares if (d, n) == (domain, few) and (domain, many, seed) in shares]
            before, after = (np.array([shares[domain, n, seed] for seed in seeds]) for n in (few, many))
            if len(seeds) and after.mean() < before.mean() - MEAN_FALL:
                found.append(
                    f"{domain}: the mean falls from {before.mean():.3f} to {after.mean():.3f} at {many:,} episodes"
                )
            found += [
                f"{domain}, seed {seed}: from {old:.3f} at {few:,} to {new:.3f} at {many:,} episodes"
                for seed, old, new in zip(seeds, before, after, strict=True)
                if old >= GOOD and new < STILL_GOOD
            ]
    return found
