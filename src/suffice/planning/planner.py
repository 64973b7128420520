"""Planners, which make a plan from the counts of an automaton, and the table of their names.

`PLANNERS` is the table of planners, by the names that `learn(planning=...)`, `--planner` and model files use. A planner
is an object with default settings (`usual`) and a method `plan`; `Planning` holds the settings. The project's own
planners are in `vi_lcb` and `subsampling`. Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Protocol

from suffice.errors import SettingsError, alternatives, is_number, parameter, require_type
from suffice.planning.objective import Objective, ObjectiveName
from suffice.registry import Lazy, Registry

if TYPE_CHECKING:  # the command line reads the table at every start, which must be fast
    from suffice.automata.rdp import RDP
    from suffice.automata.tally import Tally
    from suffice.planning.plan import Plan

MOST_PATIENT = 0.999  # largest discount: it looks thousands of steps ahead, which takes seconds to compute
DEFAULT_STRENGTH = 0.01  # chosen by experiment on domains and sizes that are not reported on: docs/decisions/0010

_OWN: Final = {
    "safe": Lazy("suffice.planning.vi_lcb:SAFE"),
    "greedy": Lazy("suffice.planning.vi_lcb:BY_FREQUENCIES"),
    "pessimistic": Lazy("suffice.planning.vi_lcb:PESSIMISTIC"),
    "subsampled": Lazy("suffice.planning.subsampling:SUBSAMPLED"),
}


@dataclass(frozen=True, slots=True)
class Planning:
    """Settings of a planner, which also say which of the project's planners is used.

    Parameters
    ----------
    strength
        Strength c of pessimism: the penalty for actions that were rarely taken, at least 0. 0 means no penalty.
    delta
        Failure probability of the penalties and of the lower bound on the predicted return.
    safe
        Keep the logged behaviour in every state where no action has a lower bound above its value.
    subsample
        Plan on subsampled, independent counts, as the paper's proof requires.
    discount
        With the objective "discounted": its factor per step, over the log's horizon. Otherwise: discount factor for a
        plan without a horizon on a stationary automaton, at most 0.999. None: plan for the log's horizon, undiscounted.
    objective
        What is maximised and predicted: "return", "per-step" or "discounted".
    planner
        Name of a planner that another package registered. Default: one of the project's own planners, chosen by
        `strength`, `safe` and `subsample`.

    Examples
    --------
    >>> suffice.Planning(strength=0.1).name, suffice.GREEDY.name
    ('safe', 'greedy')
    >>> suffice.learn(episodes, planning=suffice.Planning(strength=1000)).plan  # too cautious for any action
    <Plan: an action in 0 of 11 states, elsewhere as logged, worth 2.475>
    """

    strength: float = DEFAULT_STRENGTH  # c; 0: greedy
    delta: float = 0.05
    safe: bool = True
    subsample: bool = False
    discount: float | None = None  # of the objective; otherwise only for stationary automata
    planner: str = ""  # of another package
    objective: ObjectiveName = "return"

    def __post_init__(self) -> None:
        given: object = self.strength
        if isinstance(given, str):
            raise SettingsError(
                f"{parameter('strength', given)} is not a number. To choose a planner by name, pass "
                f"{parameter('planning', given if given in _OWN else 'safe')}."
            )
        if not (self.strength >= 0 and math.isfinite(self.strength)):
            raise SettingsError(
                f"{parameter('strength', self.strength)} is not a number of at least 0. Try {DEFAULT_STRENGTH}."
            )
        aim = self.aim  # refuses an unknown objective, or one without its discount
        if self.objective != "return" and self.subsample:
            raise SettingsError(
                f"{parameter('objective', self.objective)} cannot be combined with "
                f"{parameter('planning', 'subsampled')}, which is proved for returns. Leave one of them out."
            )
        if aim.per_step and self.discount is not None:
            raise SettingsError(
                f"{parameter('discount', self.discount)} has no effect with {parameter('objective', 'per-step')}. "
                "Leave one of them out."
            )
        discount = self.endless
        if discount is not None and not (is_number(discount) and 0 <= discount <= MOST_PATIENT):
            raise SettingsError(
                f"{parameter('discount', self.discount)} is not a number from 0 to {MOST_PATIENT}. Try 0.99."
            )
        if not 0 < self.delta < 1:
            raise SettingsError(f"{parameter('delta', self.delta)} is not a probability between 0 and 1. Try 0.05.")
        if not isinstance(self.planner, str):
            raise SettingsError(f"{parameter('planner', self.planner)} is not the name of a planner. Give a text.")
        if self.planner in _OWN:
            raise SettingsError(
                f"planner={self.planner!r} is for planners of other packages. Choose this one with "
                f"{parameter('planning', self.planner)}, or by strength, safe and subsample."
            )
        if self.planner and self.subsample:
            raise SettingsError(
                f"subsample=True cannot be combined with planner={self.planner!r}. Leave out one of them."
            )

    @property
    def aim(self) -> Objective:
        """What the plan maximises and what its prediction is about."""
        return Objective(self.objective, self.discount if self.objective == "discounted" else None)

    @property
    def endless(self) -> float | None:
        """The discount of a plan without a horizon; None for a plan over the horizon."""
        return self.discount if self.objective == "return" else None

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
    """An algorithm that makes a plan."""

    @property
    def usual(self) -> Planning:
        """Default settings, whose `name` is that of this planner; a strength of 0 means that it has no penalty."""

    def plan(self, rdp: RDP, tally: Tally, planning: Planning) -> Plan:
        """Make a plan on an automaton from the counts of some episodes."""


def _misnamed(name: str, planner: Planner) -> str:
    """Describe the problem if a planner's default settings name another planner."""
    known_as = getattr(planner.usual, "name", None)
    return "" if known_as == name else f"its usual settings name {known_as!r}; use Planning(planner={name!r})"


PLANNERS: Registry[Planner] = Registry(
    "planner", _OWN, group="suffice.planners", needs=("usual", "plan"), complaint=_misnamed, instances=True
)


def planner_of(planning: Planning) -> Planner:
    """Return the planner that settings name; refuse one that does not exist."""
    return _planner_named(planning.name, "planner")


def planning_with(
    name: str,
    strength: float | None = None,
    delta: float | None = None,
    discount: float | None = None,
    objective: ObjectiveName = "return",
) -> Planning:
    """Return the default settings of a planner, with some of them replaced.

    Parameters
    ----------
    name
        Name of a planner: "safe", "greedy", "pessimistic", "subsampled", or one that another package registered.
    strength, delta
        See `Planning`. Default: those of the planner.
    discount
        See `Planning`. Default: no discount.
    objective
        See `Planning`. Default: the return.

    Returns
    -------
    Planning
        The settings.

    Examples
    --------
    >>> from suffice.planning.planner import planning_with
    >>> planning_with("pessimistic", strength=1.0) == suffice.Planning(strength=1.0, safe=False)
    True
    >>> planning_with("gredy")
    Traceback (most recent call last):
        ...
    suffice.errors.SettingsError: planning='gredy' is not a planner. Choose 'safe', 'greedy', 'pessimistic' or \
'subsampled'.
    """
    usual = _planner_named(name, "planning").usual
    return replace(
        usual,
        strength=usual.strength if strength is None else strength,
        delta=usual.delta if delta is None else delta,
        discount=discount,
        objective=objective,
    )


def as_planning(planning: Planning | str | None) -> Planning:
    """Convert what a user may pass as `planning` to settings: None means the default, a text names a planner."""
    if planning is None:
        return Planning()
    return planning if isinstance(planning, Planning) else planning_with(planning)


def _planner_named(name: object, role: str) -> Planner:
    """Look up a planner; `role` is the parameter that the user named it with."""
    if not isinstance(name, str) or name not in PLANNERS:
        raise SettingsError(f"{parameter(role, name)} is not a planner. Choose {alternatives(PLANNERS)}.")
    return PLANNERS[name]


def plan_on(rdp: RDP, planning: Planning | str | None = None, tally: Tally | None = None) -> Plan:
    """Make the best plan on an automaton; among equally good actions the first one is chosen.

    Parameters
    ----------
    rdp
        The automaton, in layers; for a plan without a horizon, a stationary one.
    planning
        Settings of the planner, or its name. Default: the safe planner.
    tally
        Counts of other episodes (`RDP.tally`). Default: the automaton's own counts.

    Returns
    -------
    Plan
        An action, or the logged behaviour, for each state of the automaton.

    Examples
    --------
    >>> suffice.plan_on(model.rdp, "greedy")
    <Plan: an action in 9 of 11 states, elsewhere as logged, worth 5>
    """
    require_type("rdp", rdp, Lazy("suffice.automata.rdp:RDP").load(), "an automaton. Pass model.rdp.")
    planning = as_planning(planning)
    if planning.endless is not None and not rdp.stationary:
        raise SettingsError(
            f"{parameter('discount', planning.discount)} is only for stationary automata. Leave it out, learn with "
            f"{parameter('stationary', True)}, or add {parameter('objective', 'discounted')}."
        )
    planner, counts = planner_of(planning), tally or rdp.own_tally()
    if not planning.aim.per_step:
        return planner.plan(rdp, counts, planning)
    from suffice.planning.per_step import plan_per_step

    for_returns = replace(planning, objective="return")
    return plan_per_step(rdp, counts, lambda shifted: planner.plan(shifted, counts, for_returns))


def backward_induction(rdp: RDP) -> Plan:
    """Make the plan that is optimal if the observed frequencies are the true probabilities."""
    return plan_on(rdp, GREEDY)
