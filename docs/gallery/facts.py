"""What the gallery tells about a domain: the exact truth, and how many episodes the learner took to find it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from suffice.automata.compare import compare
from suffice.automata.rdp import RDP
from suffice.domains.domain import Domain
from suffice.domains.exact.truth import Distinguishability, Truth, by_languages, by_prefixes, by_sum, truth_of
from suffice.evidence.languages import CONJUNCTIONS, Family
from suffice.learning.adact_h import Settings, adact_h

DELTA = Settings().delta  # the default
DELTAS = (DELTA, 1e-6)  # the second, because many tests at the first may split a state for nothing
LIMIT = 2_000_000
GRID = tuple(n for k in range(1, 7) for n in (10**k, 2 * 10**k, 5 * 10**k) if n <= LIMIT)
SEEDS, FAILURES = 10, 1  # so many runs, of which so many may fail


@dataclass(slots=True)
class Trials:
    """The runs with one number of episodes and one δ, until too many have failed."""

    states: list[int] = field(default_factory=list)  # that each run found
    failures: int = 0  # runs whose automaton is not identical to the true one

    @property
    def failed(self) -> bool:
        """Too often for this number of episodes to suffice."""
        return self.failures > FAILURES

    def add(self, found: RDP, truth: RDP) -> None:
        """One more run, which fails unless the automata are identical.

        That asks for more than `lab.scoring` does of an exact automaton: that the log had every history and reward.
        """
        identical = compare(found, truth) is None
        self.states.append(found.n_states)
        self.failures += not identical


@dataclass(frozen=True, slots=True)
class Observed:
    """The fewest episodes of the grid that sufficed."""

    episodes: int | None  # None: not within the limit
    states: tuple[int, ...]  # what the last runs found


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """Everything about one domain with its default options."""

    name: str
    domain: Domain
    truth: Truth
    simple: Distinguishability  # X_{1,1,1}
    conjunctions: Distinguishability
    prefixes: Distinguishability
    summed: Distinguishability
    observed: dict[float, Observed]  # by δ

    @property
    def families(self) -> dict[str, Distinguishability]:
        """By what they are called on the page."""
        return {"`1,1,1`": self.simple, "conjunctions": self.conjunctions, "prefixes": self.prefixes, "L₁": self.summed}


def facts_of(name: str, domain: Domain) -> Facts:
    """Compute them; this takes up to a minute."""
    horizon = domain.default_horizon
    truth = truth_of(domain.model(horizon), horizon)
    minimal = truth.minimal
    return Facts(
        name,
        domain.for_horizon(horizon),
        truth,
        by_languages(minimal, Family(), DELTA),
        by_languages(minimal, CONJUNCTIONS, DELTA),
        by_prefixes(minimal, DELTA)[0],
        by_sum(minimal),
        observe(domain, minimal.rdp()),
    )


def observe(domain: Domain, truth: RDP) -> dict[float, Observed]:
    """For each δ the fewest episodes with which nearly all runs find an automaton identical to the minimal one."""
    found: dict[float, Observed] = {}
    for n in GRID:
        trials = {delta: Trials() for delta in DELTAS if delta not in found}
        for seed in range(SEEDS):
            going = [delta for delta, runs in trials.items() if not runs.failed]
            if not going:
                break
            episodes = domain.simulate(n, truth.horizon, np.random.default_rng(seed))
            for delta in going:
                trials[delta].add(adact_h(episodes, Settings(delta=delta)).rdp, truth)
        for delta, runs in trials.items():
            if not runs.failed or n == GRID[-1]:
                found[delta] = Observed(None if runs.failed else n, tuple(runs.states))
        if len(found) == len(DELTAS):
            break
    return {delta: found[delta] for delta in DELTAS}
