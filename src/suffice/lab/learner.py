"""What a learner of the laboratory is: a kind of learners, a task for one of them, and what it found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from suffice.automata.rdp import RDP
from suffice.data.episodes import Episodes
from suffice.kernels.array_types import Mask
from suffice.lab.resources import ResourceUse


class Task(NamedTuple):
    """Episodes to learn from, and the learner's settings."""

    name: str  # of the learner, for messages: kind/setting
    setting: str
    episodes: Episodes
    delta: float  # of each test; learners of others may have levels of their own
    flexfringe: str | None = None  # path of the binary


class LearnerResult(NamedTuple):
    """A learned automaton to plan on, and the resources that learning used."""

    rdp: RDP
    states: int  # as the learner counts them
    took: ResourceUse
    tests: int = 0
    promised: float | None = None  # upper bound on the probability of a false split
    sure: Mask | None = None  # [Q, Y] transitions that are not guesses; None: all of them


def _installed(flexfringe: str | None) -> str:
    del flexfringe
    return ""


@dataclass(frozen=True, slots=True)
class LearnerKind:
    """Learners that share the first part of their name, `kind` or `kind/setting`."""

    learn: Callable[[Task], LearnerResult]
    cyclic: bool  # one automaton for all steps; otherwise it has layers
    has_settings: bool = True
    missing: Callable[[str | None], str] = _installed  # what has to be installed, given the path of FlexFringe
