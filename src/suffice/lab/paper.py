"""The figures that the paper prints in its Table 1, and the five domains of that table."""

from __future__ import annotations

from typing import Final, NamedTuple

from suffice.lab.experiment import Experiment


class Printed(NamedTuple):
    """A cell of the paper's Table 1."""

    states: int
    r: float  # "average reward of the derived policy"; docs/reproduction.md explains what that must mean
    error: float | None  # the number after ±
    seconds: float


class Row(NamedTuple):
    """A domain of the paper's Table 1."""

    name: str  # name of the domain in this project
    title: str  # name in the paper
    horizon: int
    flexfringe: Printed
    sketch: Printed | None  # None: over 1800 s
    languages: Printed  # X_{1,1,1}

    def experiment(self, learner: str, n: int, seed: int) -> Experiment:
        """Return the experiment of a learner in this domain."""
        return Experiment(domain=self.name, horizon=self.horizon, episodes=n, seed=seed, learner=learner)


TABLE_1: Final = (
    Row("corridor", "Corridor", 5, Printed(11, 1, None, 0.03), Printed(11, 1, None, 0.3), Printed(11, 1, None, 0.01)),
    Row("t-maze", "T-maze", 5, Printed(29, 0, None, 0.11), Printed(104, 4, None, 10.1), Printed(18, 4, None, 0.26)),
    Row("cookie", "Cookie", 9, Printed(220, 1, None, 0.36), Printed(116, 1, None, 6.05), Printed(91, 1, None, 0.08)),
    Row(
        *("cheese", "Cheese", 6),
        *(Printed(669, 0.69, 0.04, 19.28), Printed(1158, 0.4, 0.05, 207.4), Printed(326, 0.81, 0.04, 2.23)),
    ),
    Row("mini-hall", "Mini-hall", 15, Printed(897, 0.33, 0.04, 25.79), None, Printed(5134, 0.91, 0.03, 23.9)),
)
