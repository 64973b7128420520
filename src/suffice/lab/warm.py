"""Imported by the server that experiments are forked from: every learner of ours has run once when it begins, and
the truth about the paper's domains is known.
"""

from suffice.lab.experiment import Experiment
from suffice.lab.knowing import about
from suffice.lab.paper import TABLE_1
from suffice.lab.performing import perform

for _learner in ("1,1,1/paper", "conjunctions/fisher", "prefixes/fisher", "sketch/paper", "layers", "stationary"):
    perform(Experiment(domain="t-maze", horizon=3, episodes=200, seed=0, learner=_learner))
for _row in TABLE_1:
    about(_row.name, (), _row.horizon)
