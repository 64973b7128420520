"""How to learn and plan once the data are read: what the learner runs from, and what a checkpoint compares."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, fields, replace
from typing import Literal

from suffice.errors import SettingsError, is_number, is_whole, parameter
from suffice.evidence.bounds import BOUNDS
from suffice.evidence.language_counts import LanguageCounts
from suffice.evidence.statistic import Statistic, StatisticOptions
from suffice.learning.adact_h import Settings
from suffice.models.header import Header, Planned
from suffice.models.model import Model
from suffice.planning.planner import Planning, planner_of, planning_with
from suffice.planning.regorl import Split
from suffice.version import __version__


def all_cores() -> Settings:
    """Return the default settings with one thread per available core; the result does not depend on the threads."""
    free = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Settings(threads=free or 1)


@dataclass(frozen=True, slots=True)
class Choices:
    """How to learn and plan once the data are read.

    Attributes
    ----------
    settings
        Statistic, test, level, threads and memory of the learner.
    planning
        Planner and its settings; None for no plan.
    split
        Learn from one half of the episodes and plan on the other, as in the paper; None uses all for both.
    second_look
        Refine the layers after the AdaCT-H pass.
    stationary
        Learn one automaton for every step, or layers; "auto" compares kinds of memory on held-out episodes.
    hold_out
        Share of the episodes that is not learned from; None for none.
    seed
        Seed of everything that is random, such as the halves of a split.
    """

    settings: Settings = field(default_factory=all_cores)
    planning: Planning | None = field(default_factory=Planning)
    split: Split | None = None
    second_look: bool = True
    stationary: bool | Literal["auto"] = "auto"
    hold_out: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        planning, stationary = self.planning, parameter("stationary", True)
        if self.stationary not in (False, True, "auto"):
            raise SettingsError(
                f"{parameter('stationary', self.stationary)} is not a choice. Choose True, False or 'auto'."
            )
        if self.stationary and (self.split is not None or (planning is not None and planning.subsample)):
            other = parameter("split", True) if self.split is not None else parameter("planning", "subsampled")
            raise SettingsError(
                f"{other} is proved for layers only, so it cannot be combined with "
                f"{parameter('stationary', self.stationary)}. Leave one of them out."
            )
        if self.stationary is True and (self.settings.statistic, self.settings.bound) != (LanguageCounts(), None):
            raise SettingsError(
                f"{stationary} compares states by e-values, so it cannot be combined with another statistic or bound. "
                "Leave one of them out."
            )
        if not self.stationary and planning is not None and planning.endless is not None:
            raise SettingsError(
                f"{parameter('discount', planning.discount)} needs an automaton without layers. Add {stationary} or "
                f"{parameter('objective', 'discounted')}, or leave out {parameter('discount')}."
            )
        if not self.stationary and self.settings.strict:
            raise SettingsError(
                f"{parameter('strict', True)} applies to {stationary} only. Add it, or use "
                f"{parameter('second_look', False)} instead, which has the same effect on layers."
            )
        if self.split is not None and (planning is None or self.second_look):
            other = parameter("plan", False) if planning is None else parameter("second_look", True)
            raise SettingsError(f"{parameter('split')} cannot be combined with {other}. Leave one of them out.")
        if self.hold_out is not None and not (is_number(self.hold_out) and 0 < self.hold_out < 1):
            raise SettingsError(f"{parameter('hold_out', self.hold_out)} is not a share between 0 and 1. Try 0.2.")
        if planning is not None:
            planner_of(planning)  # refuses an unknown planner
        if not is_whole(self.seed):
            raise SettingsError(f"{parameter('seed', self.seed)} is not a whole number. Use 0 or more.")
        if self.seed < 0:
            raise SettingsError(f"{parameter('seed', self.seed)} is negative. Use 0 or more.")

    @property
    def at_random(self) -> bool:
        """Return whether some of the episodes are chosen at random."""
        subsampled = self.planning is not None and self.planning.subsample
        return self.stationary is True or subsampled or self.hold_out is not None or self.split is not None

    @classmethod
    def of(cls, model: Model) -> Choices:
        """Return the choices a model was learned with, except the held-out share, which belongs to its log."""
        about, plan, split = model.about, model.about.plan, None
        settings = replace(all_cores(), confidence=about.confidence, cut=about.cut, strict=about.strict)
        if not model.rdp.stationary:
            settings = replace(settings, statistic=statistic_of(about))
            usual = settings.chosen_bound.name == about.bound
            settings = settings if usual else replace(settings, bound=BOUNDS[about.bound])
        if plan is not None and plan.split:
            split = Split(2 * plan.delta, plan.accuracy, plan.max_states or Split().max_states)
        elif about.confidence is None:
            settings = replace(settings, delta=about.delta)
        if about.compared:
            look = plan is not None if model.rdp.stationary else about.second_look
            return cls(settings, _planning_of(plan), split, look, "auto")
        return cls(settings, _planning_of(plan), split, about.second_look, model.rdp.stationary)


def _planning_of(plan: Planned | None) -> Planning | None:
    if plan is None:
        return None
    delta = None if plan.split else plan.delta  # a split has its own
    discount, objective = plan.discount, plan.aim.name
    return planning_with(plan.planner, strength=plan.strength, delta=delta, discount=discount, objective=objective)


def statistic_of(about: Header) -> Statistic:
    """Return the statistic that a model was learned with."""
    ladder = () if about.needed is None else tuple(about.needed.ladder)
    return StatisticOptions(about.metric, about.family, ladder, about.seed).make()


def describe_choices(choices: Choices) -> dict[str, object]:
    """Return what a result depends on besides its log, for the check of a checkpoint."""
    settings, options = choices.settings, choices.settings.statistic.options
    ladder = options.ladder
    described: dict[str, object] = {
        "suffice": __version__,
        "metric": options.metric,
        "family": " ".join(ladder) or options.family,
        "memory": settings.memory if ladder else None,  # decides which families are too large
        "seed of the sketch": options.seed,
        "bound": settings.chosen_bound.name,
        "delta": settings.delta,
        "confidence": settings.confidence,
        "cut": settings.cut,
        "strict": settings.strict,
        "second_look": choices.second_look,
        "stationary": choices.stationary,
        "hold_out": choices.hold_out,
        "seed": choices.seed,
    }
    for name, chosen in (("plan", choices.planning), ("split", choices.split)):
        described[name] = "no" if chosen is None else "yes"
        if chosen is not None:
            described |= {f"{part.name} of the {name}": getattr(chosen, part.name) for part in fields(chosen)}
    return described
