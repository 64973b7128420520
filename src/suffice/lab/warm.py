"""Imported by the server that experiments are forked from: every learner of ours has run once when it begins, and
the truth about the paper's domains is known.
"""

from suffice.lab.experiment import Experiment
from suffice.lab.knowing import about
from suffice.lab.paper import TABLE_1
from suffice.lab.performing import perform

OURS = (
    *("1,1,1/paper", "conjunctions/fisher", "adaptive/fisher", "prefixes/paper", "prefixes/fisher"),
    *("sketch/paper", "sketch/fisher", "layers", "stationary"),
)

for _learner in OURS:  # from as many episodes as it takes to fill sketches, of as many steps as it takes to fold time
    perform(Experiment(domain="cheese", horizon=6, episodes=10_000, seed=0, learner=_learner))
for _row in TABLE_1:
    about(_row.name, (), _row.horizon)
