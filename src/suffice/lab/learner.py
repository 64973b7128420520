"""Interface of learners in experiments, with their tasks and results."""

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

    name: str  # name of the learner, kind/setting, for messages
    setting: str
    episodes: Episodes
    delta: float  # level of each test; peers have their own settings
    flexfringe: str | None = None  # path of the FlexFringe binary


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
    cyclic: bool  # whether the automaton is stationary; otherwise it has layers
    has_settings: bool = True
    missing: Callable[[str | None], str] = _installed  # what is missing, given the path of FlexFringe
