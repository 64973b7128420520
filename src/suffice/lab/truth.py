"""Ground truth of a domain, computed exactly, which results of experiments are compared with."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from suffice.automata.rdp import RDP
from suffice.domains.exact.stationary import stationary_rdp
from suffice.domains.exact.truth import Truth, truth_of
from suffice.domains.finite import FiniteModel
from suffice.domains.registry import make
from suffice.errors import SufficeError
from suffice.lab.experiment import Experiment

Options = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, eq=False)
class GroundTruth:
    """A domain's model, its minimal automata, and the values of its optimal and behaviour policies."""

    model: FiniteModel
    truth: Truth
    layered: RDP  # the minimal layered automaton
    stationary: RDP | None  # the minimal stationary automaton; None if no finite one exists

    def gain(self, value: float) -> float:
        """Return the gain over the behaviour policy as a share of the largest possible gain; 1 is optimal."""
        base, best = float(self.truth.behaviour.mean_return), float(self.truth.optimal_value)
        return (value - base) / (best - base)

    def like(self, rdp: RDP) -> RDP | None:
        """Return the minimal automaton of the same kind, layered or stationary."""
        return self.stationary if rdp.stationary else self.layered


def truth_for(experiment: Experiment) -> GroundTruth:
    """Return the ground truth of an experiment's domain."""
    return ground_truth(experiment.domain, experiment.options, experiment.horizon)


@cache
def ground_truth(domain: str, options: Options, horizon: int) -> GroundTruth:
    """Return the ground truth of a domain by name, options and horizon; cached per process."""
    model = make(domain, dict(options)).model(horizon)
    truth = truth_of(model, horizon)
    try:
        stationary = stationary_rdp(model).rdp(horizon)
    except SufficeError:  # no finite automaton is right for all horizons
        stationary = None
    return GroundTruth(model, truth, truth.minimal.rdp(), stationary)
