"""All learners of experiments, by name.

1,1,1/paper  conjunctions/fisher  adaptive/fisher  prefixes/paper  sketch/paper    AdaCT-H: family or metric, bound
default                                                         `suffice learn`, which chooses the memory by data
layers                         `suffice learn --stationary no`: conjunctions, Fisher's test and refinement
stationary                                                                    `suffice learn --stationary yes`
aalpy/0.05  aalpy/auto/closed  aalpy-gsm/0.5                       ALERGIA with its eps; for closed, see `peers`
flexfringe/likelihood-ratio  flexfringe/css/closed                                    FlexFringe by heuristic
"""

from __future__ import annotations

from typing import Final

from suffice.data.episodes import Episodes
from suffice.lab.learner import LearnerKind, LearnerResult, Task
from suffice.lab.our_learners import ADACT_H, DEFAULT, LAYERS, STATIONARY
from suffice.lab.peers.alergia import AALPY, AALPY_GSM
from suffice.lab.peers.flexfringe import FLEXFRINGE

LEARNERS: Final = {  # by the first part of their names; all other names belong to AdaCT-H
    "default": DEFAULT,
    "layers": LAYERS,
    "stationary": STATIONARY,
    "aalpy": AALPY,
    "aalpy-gsm": AALPY_GSM,
    "flexfringe": FLEXFRINGE,
}


def kind_of(name: str) -> LearnerKind:
    """Return the kind of a learner by its name."""
    kind, _, setting = name.partition("/")
    found = LEARNERS.get(kind, ADACT_H)
    return ADACT_H if setting and not found.has_settings else found


def missing(name: str, flexfringe: str | None) -> str:
    """Return what is not installed and how to install it; an empty string if the learner can run."""
    return kind_of(name).missing(flexfringe)


def find(name: str, episodes: Episodes, delta: float, flexfringe: str | None = None) -> LearnerResult:
    """Run the learner of that name on episodes and measure its resources."""
    return kind_of(name).learn(Task(name, name.partition("/")[2], episodes, delta, flexfringe))
