"""A model as columns of JSON for the explorer's page, which load fast even with thousands of states.

Lists of unequal length, such as the events of each state, are stored in one column with offsets: those of state q are
at begin[q] to begin[q + 1]. Actions and observations are codes of the alphabet, texts are indices into `texts`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from suffice.automata.describe import describe_witness
from suffice.automata.histories import History, show
from suffice.automata.rdp import BEHAVE, RDP
from suffice.automata.state_summary import arrivals
from suffice.data.alphabet import PAD
from suffice.kernels.array_types import Float, Int64
from suffice.learning.borderline import BorderlineMerge
from suffice.models.explanations import reasons
from suffice.models.model import Model
from suffice.models.model_data import ended_states
from suffice.models.sentences import plan_sentence
from suffice.planning.backward_induction import action_values, behaviour_values
from suffice.planning.plan import Plan, fold_places
from suffice.view.arrows import Arrow, arrows_of
from suffice.view.brief_labels import Usage, brief_labels
from suffice.view.explorer.places import Places, find_places
from suffice.view.labels import Line

MOST_REASONS = 4  # other states from which the page explains the difference of a state
MOST_UNDECIDED = 3  # undecided merges shown at a state
MOST_AT_STEPS = 200_000  # values of a stationary model by state and step; larger models have one value per state


def model_data(model: Model, name: str) -> dict[str, Any]:
    """Return everything that the page shows about a model."""
    rdp, about, texts = model.rdp, model.about, _Texts()
    alphabet, promise = rdp.alphabet, about.promise
    arrows, worth = arrows_of(rdp), _StateValues.of(model)
    lines = _labels(rdp, arrows)
    places = find_places(rdp, arrows, lines)
    data = {
        "title": name,
        "stationary": rdp.stationary,
        "horizon": rdp.horizon,
        "episodes": about.episodes,
        "layers": rdp.layers.tolist(),
        "advice": plan_sentence(about),
        "guarantees": [sentence for sentence in (promise.sentence, promise.second_sentence) if sentence],
        "legend": Usage.of(rdp).legend(rdp),
        "discount": _discount(model),
        "actions": [None, "pad", *map(str, alphabet.actions)],
        "observations": [None, *(f"({', '.join(map(str, values))})" for values in alphabet.observations)],
        "symbols": dict(zip(("action", "observation"), rdp.symbols.T.tolist(), strict=True)),
        "states": _states(model, worth, places) | _arrivals(rdp, texts),
        "events": _events(rdp),
        "choices": _choices(worth),
        "at_steps": _at_steps(model),
        "arrows": _arrows(arrows, lines, places, texts),
        "reasons": _reasons(model, texts),
        "doubts": _undecided(model, texts),
    }
    return data | {"texts": texts.known}


class _Texts:
    """A list of texts without duplicates."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self._number.setdefault(text, len(self._number))

    @property
    def known(self) -> list[str]:
        return list(self._number)


def plan_of(model: Model) -> Plan:
    """Return the plan on the layers of the automaton; without a plan, the behaviour policy."""
    if model.plan is not None:
        return model.plan
    layers = model.planned
    nothing = np.zeros(layers.n_states)
    return Plan(np.full(layers.n_states, BEHAVE, np.int64), nothing, nothing, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class _StateValues:
    """Expected returns of each state; for a stationary automaton, at the step where the plan visits it most."""

    plan: Plan  # on the states of the automaton
    behaviour: Float  # [Q] under the behaviour policy
    choices: Float  # [Q, actions] of an action followed by the plan; NaN if it was never taken

    @classmethod
    def of(cls, model: Model) -> _StateValues:
        rdp, layers, plan = model.rdp, model.planned, plan_of(model)
        place = fold_places(rdp, plan)
        by_state = Plan(plan.actions[place], plan.values[place], plan.lower[place], plan.error)
        discount = _discount(model)
        if discount is not None:
            choices = action_values(rdp, by_state, rdp.own_tally(), discount)
            return cls(by_state, behaviour_values(rdp, discount), choices)
        choices = action_values(layers, plan, layers.own_tally())
        return cls(by_state, behaviour_values(layers)[place], choices[place])


def _discount(model: Model) -> float | None:
    return model.about.plan.endless if model.about.plan else None


def _states(model: Model, worth: _StateValues, places: Places) -> dict[str, Any]:
    rdp, plan = model.rdp, worth.plan
    visits = rdp.counts.sum(axis=1) + (0 if rdp.cut is None else rdp.cut.sum(axis=1))
    if rdp.final is not None:
        visits[rdp.final] = model.about.episodes
    x, y = np.round(places.states, 1).T.tolist()
    found = {
        "x": x,
        "y": y,
        "visits": visits.tolist(),
        "behaviour": _short(worth.behaviour),
        "over": sorted(ended_states(rdp)),
    }
    found |= _typical(rdp)
    if model.plan is None:
        return found
    return found | {"value": _short(plan.values), "lower": _short(plan.lower), "planned": _codes(plan.actions).tolist()}


def _arrivals(rdp: RDP, texts: _Texts) -> dict[str, Any]:
    """Return what all arrivals at each state share, and what varies among them, as indices of texts."""
    found = arrivals(rdp)
    return {name: [texts.number(getattr(each, name)) for each in found] for name in ("common", "varies")}


def _codes(actions: Int64) -> Int64:
    """Return the alphabet's codes of a plan's actions; BEHAVE is unchanged."""
    return np.where(actions == BEHAVE, BEHAVE, actions + PAD + 1)


def _typical(rdp: RDP) -> dict[str, Any]:
    """Return a shortest history to each state as its last state and symbol; −1 if there is none."""
    histories = rdp.typical_histories()
    return {"before": list(histories.source), "by": list(histories.by)}


def _events(rdp: RDP) -> dict[str, Any]:
    """Return every letter counted in each state, grouped by action, the most frequent first."""
    sources, letters = rdp.cells()
    count = rdp.counts[sources, letters]
    order = np.lexsort((letters, -count, rdp.letters[letters, 0], sources))
    sources, letters, count = sources[order], letters[order], count[order]
    symbols = rdp.symbol_of_letter()[letters]
    return {
        "begin": _begins(np.bincount(sources, minlength=rdp.n_states)),
        "symbol": symbols.tolist(),
        "reward": _short(np.array(rdp.alphabet.rewards)[rdp.letters[letters, 2]]),
        "count": count.tolist(),
        "target": rdp.tau[sources, symbols].tolist(),
    }


def _choices(worth: _StateValues) -> dict[str, Any]:
    """Return the value of each tried action in each state, if the plan is followed afterwards."""
    states, actions = np.nonzero(~np.isnan(worth.choices))
    return {
        "begin": _begins(np.bincount(states, minlength=len(worth.choices))),
        "action": (actions + PAD + 1).tolist(),
        "worth": _short(worth.choices[states, actions]),
    }


def _at_steps(model: Model) -> dict[str, Any] | None:
    """Return actions and values by state and step for a stationary model, where they depend on the step."""
    if not model.rdp.stationary or _discount(model) is not None:
        return None
    (layers, stands), plan = model.rdp.unroll(), plan_of(model)
    if layers.n_states > MOST_AT_STEPS:
        return None
    found = {"step": layers.layer_of(), "state": stands, "planned": _codes(plan.actions)}
    columns: dict[str, Any] = {name: column[:-1].tolist() for name, column in found.items()}  # without the final state
    columns["behaviour"] = _short(behaviour_values(layers)[:-1])
    return columns if model.plan is None else columns | {"value": _short(plan.values[:-1])}


def _arrows(arrows: Sequence[Arrow], lines: Sequence[Sequence[Line]], places: Places, texts: _Texts) -> dict[str, Any]:
    columns: dict[str, Any] = {
        name: [getattr(arrow, name) for arrow in arrows] for name in ("source", "target", "count", "symbols")
    }
    columns["lines"] = [[texts.number(line.text) for line in some] for some in lines]
    columns["line_actions"] = [[list(line.actions) for line in some] for some in lines]
    if places.labels is not None and places.curves is not None:
        x, y = np.round(places.labels, 1).T.tolist()
        columns |= {"x": x, "y": y, "curves": np.round(places.curves.reshape(len(arrows), 8), 1).tolist()}
    return columns


def _labels(rdp: RDP, arrows: Sequence[Arrow]) -> list[list[Line]]:
    """Return brief labels of all arrows."""
    usage, lines = Usage.of(rdp), []
    for q, leaving in groupby(arrows, lambda arrow: arrow.source):
        lines += brief_labels(rdp, usage, q, [arrow.symbols for arrow in leaving])
    return lines


def _reasons(model: Model, texts: _Texts) -> dict[str, Any]:
    """Return the events that distinguish each state from others."""
    by_state, alphabet = reasons(model.rdp, model.decisions, MOST_REASONS), model.rdp.alphabet
    found = [reason for some in by_state for reason in some]
    return {
        "begin": _begins([len(some) for some in by_state]),
        "other": [reason.other for reason in found],
        "text": [texts.number(describe_witness(reason.witness, alphabet)) for reason in found],
        "first": [texts.number(_shown(reason.first)) for reason in found],
        "learned": [int(reason.learned) for reason in found],
    }


def _undecided(model: Model, texts: _Texts) -> dict[str, Any]:
    """Return the undecided merges of each state; none if they are not available."""
    found: dict[int, list[BorderlineMerge]] = {}
    alphabet = model.rdp.alphabet
    for merge in model.undecided_if_known() or ():
        found.setdefault(model.rdp.run(merge.histories[1]), []).append(merge)
    rows = [(q, merge) for q, some in sorted(found.items()) for merge in some[:MOST_UNDECIDED]]
    return {
        "state": [q for q, _ in rows],
        "candidate": [texts.number(show(merge.histories[0])) for _, merge in rows],
        "text": [texts.number(describe_witness(merge.witness, alphabet)) for _, merge in rows],
        "episodes": [round(merge.episodes) for _, merge in rows],
    }


def _shown(history: History) -> str:
    return show(history) if history else ""


def _begins(sizes: Sequence[int] | Int64) -> list[int]:
    return [0, *np.cumsum(np.asarray(sizes, np.int64)).tolist()]


def _short(values: Iterable[float]) -> list[float]:
    """Round to six significant digits, which keeps the page small."""
    return [float(f"{value:.6g}") + 0.0 for value in values]
