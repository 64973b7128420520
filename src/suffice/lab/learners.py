"""All learners by name, as experiments call them.

1,1,1/paper  conjunctions/fisher  adaptive/fisher  prefixes/paper  sketch/paper    AdaCT-H: family or metric, bound
layers                                         what `suffice learn` does: conjunctions, fisher and a second look
stationary                                                              what `suffice learn --stationary` does
aalpy/0.05  aalpy/auto/closed  aalpy-gsm/0.5                            ALERGIA by its eps, see `peers` for closed
flexfringe/likelihood-ratio  flexfringe/css/closed                                                by its heuristic
"""

from __future__ import annotations

from typing import Final

from suffice.data.episodes import Episodes
from suffice.lab.learner import LearnerKind, LearnerResult, Task
from suffice.lab.our_learners import ADACT_H, LAYERS, STATIONARY
from suffice.lab.peers.alergia import AALPY, AALPY_GSM
from suffice.lab.peers.flexfringe import FLEXFRINGE

LEARNERS: Final = {  # by the first part of their names; all other names are AdaCT-H's
    "layers": LAYERS,
    "stationary": STATIONARY,
    "aalpy": AALPY,
    "aalpy-gsm": AALPY_GSM,
    "flexfringe": FLEXFRINGE,
}


def kind_of(name: str) -> LearnerKind:
    """The kind of a learner by its name."""
    kind, _, setting = name.partition("/")
    found = LEARNERS.get(kind, ADACT_H)
    return ADACT_H if setting and not found.has_settings else found


def missing(name: str, flexfringe: str | None) -> str:
    """What a learner needs and is not installed, with the way to get it; empty if it can run."""
    return kind_of(name).missing(flexfringe)


def find(name: str, episodes: Episodes, delta: float, flexfringe: str | None = None) -> LearnerResult:
    """Learn from episodes by the learner of that name, and measure it."""
    return kind_of(name).learn(Task(name, name.partition("/")[2], episodes, delta, flexfringe))
