"""Domains with options and horizons for the study of sample sizes."""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from suffice.domains.exact.minimal import Minimal
from suffice.domains.exact.truth import Distinguishability, by_languages
from suffice.evidence.languages import Family
from suffice.lab.experiment import Experiment, options_of
from suffice.lab.paper import TABLE_1
from suffice.lab.truth import Options, ground_truth


class Case(NamedTuple):
    """A domain with its options and horizon."""

    domain: str
    horizon: int
    options: Options = ()

    @classmethod
    def of(cls, experiment: Experiment) -> Case:
        """Return the case of an experiment."""
        return cls(experiment.domain, experiment.horizon, experiment.options)

    @property
    def title(self) -> str:
        """Name of the case in tables."""
        return ", ".join([self.domain, *(f"{name}={value}" for name, value in self.options), f"H = {self.horizon}"])

    @property
    def minimal(self) -> Minimal:
        """The minimal automaton of the case."""
        return ground_truth(self.domain, self.options, self.horizon).truth.minimal

    def experiment(self, learner: str, n: int, seed: int, delta: float) -> Experiment:
        """Return the experiment of a learner in this case."""
        return Experiment(
            domain=self.domain,
            options=self.options,
            horizon=self.horizon,
            episodes=n,
            seed=seed,
            learner=learner,
            delta=delta,
        )


_PAPER: Final = tuple(Case(row.name, row.horizon) for row in TABLE_1)
SMALL: Final = (  # cheap enough for many runs and for exact computation
    *(case for case in _PAPER if case.domain in ("corridor", "t-maze")),
    *(Case("t-maze", 5, options_of({"actions": actions})) for actions in ("east", "forward")),
    Case("rotating-mab", 5),
)
CASES: Final = (*_PAPER, *(case for case in SMALL if case not in _PAPER))


@cache
def needed(case: Case, family: str, delta: float) -> Distinguishability:
    """Return how well a family distinguishes the states of a case, and the episodes it needs by theory."""
    return by_languages(case.minimal, Family.parse(family), delta)
