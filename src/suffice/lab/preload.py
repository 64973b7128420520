"""Warm-up of the server that experiments are forked from (see `runner`), done on import.

Runs each of our learners once, so that compiled code is loaded, and computes the ground truth of the paper's domains.
"""

from suffice.lab.experiment import Experiment
from suffice.lab.paper import TABLE_1
from suffice.lab.run_experiment import run_experiment
from suffice.lab.truth import ground_truth

OURS = (
    *("1,1,1/paper", "conjunctions/fisher", "adaptive/fisher", "prefixes/paper", "prefixes/fisher"),
    *("sketch/paper", "sketch/fisher", "layers", "stationary"),
)

for _learner in OURS:  # enough episodes to use sketches, and enough steps to learn a stationary automaton
    run_experiment(Experiment(domain="cheese", horizon=6, episodes=10_000, seed=0, learner=_learner))
for _row in TABLE_1:
    ground_truth(_row.name, (), _row.horizon)
