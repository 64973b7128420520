"""Sentences about a model, and the JSON of `suffice info`, both made from the numbers in its header."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from msgspec import to_builtins

from suffice.evidence.adaptive import languages_needed
from suffice.learning.stationary.learner import DEPTH_NAMES, Depths
from suffice.models.header import Header
from suffice.planning.subsampling import Bracket
from suffice.planning.verdict import Forecast, Halves, PlanVerdict


def sentences(about: Header) -> list[str]:
    """Return the sentences on the guarantee, the refinement, the languages needed and the plan, without empty ones."""
    promise = about.promise
    found = (promise.sentence, promise.second_sentence, needed_sentence(about), plan_sentence(about))
    return [sentence for sentence in found if sentence]


def forecast_of(about: Header) -> Forecast | None:
    """Return the predicted return of the plan and what it is based on; None without a plan."""
    plan, halves = about.plan, None
    if plan is None:
        return None
    if plan.split:
        lower, upper = plan.proved_lower, plan.proved_upper
        bracket = None if lower is None or upper is None else Bracket(lower, upper)
        halves = Halves(2 * plan.delta, plan.accuracy, plan.max_states or 0, sum(about.layers), bracket)
    return Forecast(
        PlanVerdict(plan.verdict, tuple(plan.verdict_reasons)),
        plan.predicted,
        plan.lower_bound,
        plan.behaviour_value,
        math.inf if plan.best_return is None else plan.best_return,
        plan.delta,
        len(about.layers) - 2 if about.steps is None else about.steps,
        plan.endless,
        plan.judged is not None,
        halves,
        plan.aim,
    )


def plan_sentence(about: Header) -> str:
    """Return the sentence on the plan and its expected return; empty without a plan."""
    forecast = forecast_of(about)
    return "" if forecast is None else forecast.sentence


def needed_sentence(about: Header) -> str:
    """Return which languages, or how many steps ahead, distinguish the states; empty if these were fixed."""
    needed = about.needed
    if needed is None:
        return ""
    if needed.states:
        return Depths.of_states(needed.states).sentence
    return languages_needed(needed.ladder, needed.layers[1:], needed.left_out)


def info_json(about: Header) -> dict[str, Any]:
    """Return guarantee, plan and languages needed, with their sentences, for `suffice info --json`."""
    return {"needed": _needed_json(about), "promise": _promise_json(about), "plan": _plan_json(about)}


def _promise_json(about: Header) -> Mapping[str, Any]:
    promise = about.promise
    return {
        "sentence": promise.sentence,
        "paper_sentence": promise.paper_sentence,
        "false_split": promise.split,
        "tests": promise.tests,
        "detectable": promise.detectable,
        "detectable_worst": promise.detectable_worst,
        "paper": promise.paper,
        "second_look_sentence": promise.second_sentence,
        "second_look_tests": promise.second_tests,
        "second_look_false_split": promise.second_split,
    }


def _plan_json(about: Header) -> Mapping[str, Any] | None:
    if about.plan is None:
        return None
    found: dict[str, Any] = to_builtins(about.plan)
    elsewhere = ("verdict", "verdict_reasons", "best_return")  # not among the keys under "plan"
    found = {name: value for name, value in found.items() if name not in elsewhere}
    names = list(found)
    names.insert(names.index("split"), "sentence")
    return {name: plan_sentence(about) if name == "sentence" else found[name] for name in names}


def _needed_json(about: Header) -> Mapping[str, Any] | None:
    needed = about.needed
    if needed is None:
        return None
    ladder, layers = needed.ladder, needed.layers
    if needed.states:
        (farthest,) = Depths.of_states(needed.states).layers
        ladder, layers = list(DEPTH_NAMES), [DEPTH_NAMES[farthest] if farthest >= 0 else None]
    return {"sentence": needed_sentence(about), "ladder": ladder, "layers": layers, "left_out": needed.left_out}
