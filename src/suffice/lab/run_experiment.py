"""Run one experiment, from simulation over learning and planning to the comparison with the ground truth."""

from __future__ import annotations

import numpy as np

from suffice.lab.experiment import Experiment, Result
from suffice.lab.learners import find
from suffice.lab.scoring import match_states, states_before_end, value_of
from suffice.lab.truth import truth_for

STORED_DIGITS = 6  # decimals of stored values


def run_experiment(experiment: Experiment, binary: str | None = None) -> Result:
    """Run an experiment in this process; `binary` is the path of FlexFringe."""
    truth = truth_for(experiment)
    rng = np.random.default_rng(experiment.seed)
    episodes = experiment.made().simulate(experiment.episodes, experiment.horizon, rng)
    found = find(experiment.learner, episodes, experiment.delta, binary)
    value, true = value_of(found.rdp, truth.model), truth.like(found.rdp)
    match = None if true is None else match_states(found.rdp, true, found.sure)
    return Result(
        experiment=experiment,
        states=found.states,
        before_end=states_before_end(found.rdp),
        mean_return=round(float(value.mean_return), STORED_DIGITS),
        return_per_step=round(float(value.return_per_step), STORED_DIGITS),
        success_rate=round(float(value.success_rate), STORED_DIGITS),
        recovered=match and match.recovered,
        splits=match and match.splits,
        merges=match and match.merges,
        tests=found.tests,
        promised=None if found.promised is None else round(found.promised, STORED_DIGITS),
        seconds=round(found.took.seconds, 4),
        bytes=found.took.bytes,
    )
