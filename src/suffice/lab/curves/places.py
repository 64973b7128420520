"""Where sample sizes are studied: domains with their options and horizons, and the runs on them that were exact."""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from suffice.domains.exact.minimal import Minimal
from suffice.domains.exact.truth import Distinguishability, by_languages
from suffice.evidence.languages import Family
from suffice.lab.experiment import Experiment, Result, options_of
from suffice.lab.knowing import Options, about, known
from suffice.lab.paper import TABLE_1


class Place(NamedTuple):
    """A domain with its options and horizon."""

    domain: str
    horizon: int
    options: Options = ()

    @classmethod
    def of(cls, experiment: Experiment) -> Place:
        """That of an experiment."""
        return cls(experiment.domain, experiment.horizon, experiment.options)

    @property
    def title(self) -> str:
        """For a table."""
        return ", ".join([self.domain, *(f"{name}={value}" for name, value in self.options), f"H = {self.horizon}"])

    @property
    def minimal(self) -> Minimal:
        """The truth about it."""
        return about(self.domain, self.options, self.horizon).truth.minimal

    def experiment(self, learner: str, n: int, seed: int, delta: float) -> Experiment:
        """A run."""
        return Experiment(
            domain=self.domain,
            options=self.options,
            horizon=self.horizon,
            episodes=n,
            seed=seed,
            learner=learner,
            delta=delta,
        )


_PAPER: Final = tuple(Place(row.name, row.horizon) for row in TABLE_1)
SMALL: Final = (  # cheap enough for many runs, and within reach of theory
    *(place for place in _PAPER if place.domain in ("corridor", "t-maze")),
    *(Place("t-maze", 5, options_of({"actions": actions})) for actions in ("east", "forward")),
    Place("rotating-mab", 5),
)
PLACES: Final = (*_PAPER, *(place for place in SMALL if place not in _PAPER))


@cache
def needed(place: Place, family: str, delta: float) -> Distinguishability:
    """How well a family tells the states of a place apart, and the episodes it needs by theory."""
    return by_languages(place.minimal, Family.parse(family), delta)


def exact(run: Result) -> bool:
    """Whether a run found the minimal automaton: each true state once, and nothing else."""
    return run.recovered == known(run.experiment).truth.minimal.n_states and not run.splits and not run.merges
