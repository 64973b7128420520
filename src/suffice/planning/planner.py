"""Planners: from the counts of an automaton to a plan.

`PLANNERS` is the table of planners, by the names that `learn(planning=...)`, `--planner` and model files use. A planner
is an object with usual settings and a method `plan`; `Planning` are its settings. `vi_lcb` and `subsampling` hold ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

from suffice.errors import SettingsError
from suffice.registry import Lazy, Registry

if TYPE_CHECKING:  # the command line reads the table at every start, which must be fast
    from suffice.automata.rdp import RDP
    from suffice.automata.tally import Tally
    from suffice.planning.plan import Plan

MOST_PATIENT = 0.999  # looks thousands of steps ahead, which takes seconds to compute
DEFAULT_STRENGTH = 0.01  # chosen by experiment on domains and sizes that are not reported on: docs/decisions/0010

_OURS: Final = {
    "safe": Lazy("suffice.planning.vi_lcb:SAFE"),
    "pessimistic": Lazy("suffice.planning.vi_lcb:PESSIMISTIC"),
    "greedy": Lazy("suffice.planning.vi_lcb:BY_FREQUENCIES"),
    "subsampled": Lazy("suffice.planning.subsampling:SUBSAMPLED"),
}


@dataclass(frozen=True, slots=True)
class Planning:
    """How to plan: the planner and its settings.

    >>> suffice.Planning(strength=0.1).name, suffice.GREEDY.name
    ('safe', 'greedy')
    >>> suffice.learn(episodes, planning=suffice.Planning(strength=1000)).plan  # too cautious for anything new
    <Plan: an action in 0 of 11 states, elsewhere as logged, worth 2.503>
    """

    strength: float = DEFAULT_STRENGTH  # c; 0: greedy
    delta: float = 0.05  # of the penalties, and of the lower confidence bound on what is predicted
    safe: bool = True  # to behave as the log did is an action too
    subsample: bool = False  # plan on independent counts, as the proof asks for: see `two_fold`
    discount: float | None = None  # of a stationary automaton: what a reward is worth a step later, for ever
    planner: str = ""  # name of another package's planner; which of ours, `strength`, `safe` and `subsample` say

    def __post_init__(self) -> None:
        if self.discount is not None and not 0 <= self.discount <= MOST_PATIENT:
            raise SettingsError(f"a discount is a number from 0 to {MOST_PATIENT}, not {self.discount:g}; try 0.99")
        if not (self.strength >= 0 and math.isfinite(self.strength)):
            raise SettingsError(
                f"the strength of pessimism is a number from 0 on, not {self.strength:g}; try {DEFAULT_STRENGTH}"
            )
        if not 0 < self.delta < 1:
            raise SettingsError(f"δ of a plan is a probability between 0 and 1, not {self.delta:g}; try 0.05")
        if not isinstance(self.planner, str):
            raise SettingsError(f"planner is the name of a planner, not {self.planner!r}")
        if self.planner in _OURS:
            raise SettingsError(
                f"strength, safe and subsample say which of our planners is meant, not planner={self.planner!r}; "
                f"try learn(planning={self.planner!r})"
            )
        if self.planner and self.subsample:
            raise SettingsError(f"subsample is for our planners, not for {self.planner!r}; leave one of them out")

    @property
    def name(self) -> str:
        """The name of the planner in `PLANNERS`."""
        if self.planner:
            return self.planner
        if self.subsample:
            return "subsampled"
        return "safe" if self.safe else "pessimistic" if self.strength else "greedy"


GREEDY = Planning(strength=0.0, safe=False)


class Planner(Protocol):
    """One way to make a plan."""

    @property
    def usual(self) -> Planning:
        """Settings that name this planner; a strength of 0 says that it uses none."""

    def plan(self, rdp: RDP, tally: Tally, planning: Planning) -> Plan:
        """Make a plan on an automaton by the counts of some episodes."""


def _misnamed(name: str, planner: Planner) -> str:
    """What is wrong with a planner whose usual settings would run another one."""
    known_as = getattr(planner.usual, "name", None)
    return "" if known_as == name else f"its usual settings name {known_as!r}; use Planning(planner={name!r})"


PLANNERS: Registry[Planner] = Registry(
    "planner", _OURS, group="suffice.planners", needs=("usual", "plan"), complaint=_misnamed, instances=True
)


def planning_with(
    name: str, strength: float | None = None, delta: float | None = None, discount: float | None = None
) -> Planning:
    """The usual settings of a planner, except what is given here.

    >>> from suffice.planning.planner import planning_with
    >>> planning_with("pessimistic", strength=1.0) == suffice.Planning(strength=1.0, safe=False)
    True
    """
    usual = PLANNERS[name].usual
    return replace(
        usual,
        strength=usual.strength if strength is None else strength,
        delta=usual.delta if delta is None else delta,
        discount=discount,
    )


def plan_on(rdp: RDP, planning: Planning | None = None, tally: Tally | None = None) -> Plan:
    """The best plan on an automaton, by its own counts or by those of other episodes; among equals the first action.

    >>> suffice.plan_on(model.rdp, suffice.GREEDY)
    <Plan: an action in 9 of 11 states, elsewhere as logged, worth 5>
    """
    planning = planning or Planning()
    return PLANNERS[planning.name].plan(rdp, tally or rdp.own_tally(), planning)


def backward_induction(rdp: RDP) -> Plan:
    """The best plan if frequencies were probabilities."""
    return plan_on(rdp, GREEDY)
