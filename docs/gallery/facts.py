"""Facts about a domain for the gallery: exact results, and the number of episodes that the learner needed."""

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
DELTAS = (DELTA, 1e-6)  # the second avoids false splits in large automata, which need many tests
LIMIT = 2_000_000
GRID = tuple(n for k in range(1, 7) for n in (10**k, 2 * 10**k, 5 * 10**k) if n <= LIMIT)
SEEDS, FAILURES = 10, 1  # number of runs, and how many of them may fail


@dataclass(slots=True)
class Trials:
    """Runs with one number of episodes and one δ, until too many have failed."""

    states: list[int] = field(default_factory=list)  # number of states that each run found
    failures: int = 0  # runs whose automaton is not identical to the true one

    @property
    def failed(self) -> bool:
        """Whether too many runs have failed for this number of episodes to suffice."""
        return self.failures > FAILURES

    def add(self, found: RDP, truth: RDP) -> None:
        """Add a run, which fails unless the automata are identical.

        This is stricter than `lab.scoring`: the log must contain every history and reward.
        """
        identical = compare(found, truth) is None
        self.states.append(found.n_states)
        self.failures += not identical


@dataclass(frozen=True, slots=True)
class Observed:
    """The smallest number of episodes of the grid that sufficed."""

    episodes: int | None  # None: not within the limit
    states: tuple[int, ...]  # numbers of states of the last runs


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """All facts about one domain with its default options."""

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
        """Distinguishabilities by their names on the page."""
        return {"`1,1,1`": self.simple, "conjunctions": self.conjunctions, "prefixes": self.prefixes, "L₁": self.summed}


def facts_of(name: str, domain: Domain) -> Facts:
    """Compute the facts about a domain, in up to a minute."""
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
    """Find, for each δ, the smallest number of episodes with which nearly all runs find the minimal automaton."""
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
