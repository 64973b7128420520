"""The exact truth that experiments are scored by, once for each domain in a process."""

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
class Known:
    """A domain and all that can be known of it."""

    model: FiniteModel
    truth: Truth
    layered: RDP  # the minimal automaton with its layers
    stationary: RDP | None  # that of all times, where there is one

    def like(self, rdp: RDP) -> RDP | None:
        """The minimal automaton of the same kind."""
        return self.stationary if rdp.stationary else self.layered


def known(experiment: Experiment) -> Known:
    """About the domain of an experiment."""
    return about(experiment.domain, experiment.options, experiment.horizon)


@cache
def about(domain: str, options: Options, horizon: int) -> Known:
    """By its name, options and horizon."""
    model = make(domain, dict(options)).model(horizon)
    truth = truth_of(model, horizon)
    try:
        for_all_times = stationary_rdp(model).rdp(horizon)
    except SufficeError:  # every longer history matters
        for_all_times = None
    return Known(model, truth, truth.minimal.rdp(), for_all_times)
