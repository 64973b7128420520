"""A model as plain columns, which is what the explorer's page reads: small, and quick to load with thousands of states.

Lists of unequal length, such as what was met in each state, are one column and where each begins in it: those of state
q are at begin[q] to begin[q + 1]. Actions and observations go by their codes in the alphabet, texts by their number.
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
from suffice.models.sentences import plan_sentence
from suffice.planning.backward_induction import action_values, behaviour_values
from suffice.planning.plan import Plan, fold_places
from suffice.view.arrows import Arrow, arrows_of, terminated_states
from suffice.view.brief_labels import Usage, brief_labels
from suffice.view.explorer.places import Places, find_places
from suffice.view.labels import Line

MOST_REASONS = 4  # why a state is one of its own: against so many of its neighbours
MOST_DOUBTS = 3  # at a state
MOST_AT_STEPS = 200_000  # values of a stationary model by state and step; beyond, those of the states must do


def model_data(model: Model, name: str) -> dict[str, Any]:
    """All that the page shows of a model."""
    rdp, about, texts = model.rdp, model.about, _Texts()
    alphabet, promise = rdp.alphabet, about.promise
    arrows, worth = arrows_of(rdp), _StateValues.of(model)
    lines = _labels(rdp, arrows)
    places = find_places(rdp, arrows, lines)
    said = [promise.sentence, promise.second_sentence, plan_sentence(about)]
    data = {
        "title": name,
        "stationary": rdp.stationary,
        "horizon": rdp.horizon,
        "episodes": about.episodes,
        "layers": rdp.layers.tolist(),
        "said": [sentence for sentence in said if sentence],
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
        "doubts": _doubts(model, texts),
    }
    return data | {"texts": texts.known}


class _Texts:
    """Each text once."""

    def __init__(self) -> None:
        self._number: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self._number.setdefault(text, len(self._number))

    @property
    def known(self) -> list[str]:
        return list(self._number)


def plan_of(model: Model) -> Plan:
    """The plan on the layers of the automaton; without one, to behave as the log did."""
    if model.plan is not None:
        return model.plan
    layers = model.planned
    nothing = np.zeros(layers.n_states)
    return Plan(np.full(layers.n_states, BEHAVE, np.int64), nothing, nothing, 0.0)


@dataclass(frozen=True, slots=True, eq=False)
class _StateValues:
    """What is to come in each state; of a stationary automaton where the plan is most often in it."""

    plan: Plan  # on the automaton's own states
    behaviour: Float  # [Q] if one goes on as the log did
    choices: Float  # [Q, actions] if one takes an action and then follows the plan; NaN where it was never taken

    @classmethod
    def of(cls, model: Model) -> _StateValues:
        rdp, layers, plan = model.rdp, model.planned, plan_of(model)
        place = fold_places(rdp, plan)
        folded = Plan(plan.actions[place], plan.values[place], plan.lower[place], plan.error)
        discount = _discount(model)
        if discount is not None:
            choices = action_values(rdp, folded, rdp.own_tally(), discount)
            return cls(folded, behaviour_values(rdp, discount), choices)
        choices = action_values(layers, plan, layers.own_tally())
        return cls(folded, behaviour_values(layers)[place], choices[place])


def _discount(model: Model) -> float | None:
    return model.about.plan.discount if model.about.plan else None


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
        "over": sorted(terminated_states(rdp)),
    }
    found |= _typical(rdp)
    if model.plan is None:
        return found
    return found | {"value": _short(plan.values), "lower": _short(plan.lower), "planned": _codes(plan.actions).tolist()}


def _arrivals(rdp: RDP, texts: _Texts) -> dict[str, Any]:
    """What all arrivals at each state share, and what varies among them, as numbers of texts."""
    found = arrivals(rdp)
    return {name: [texts.number(getattr(each, name)) for each in found] for name in ("common", "varies")}


def _codes(actions: Int64) -> Int64:
    """Of actions of a plan, or BEHAVE."""
    return np.where(actions == BEHAVE, BEHAVE, actions + PAD + 1)


def _typical(rdp: RDP) -> dict[str, Any]:
    """A shortest history to each state as the state before it and the symbol that leads on; −1 where none does."""
    histories = rdp.typical_histories()
    symbols = {rdp.symbol(y): y for y in range(len(rdp.symbols))}
    ends = {history: q for q, history in reversed(list(enumerate(histories)))}
    before: list[tuple[int, int]] = []
    for q, history in enumerate(histories):
        reached = q > 0 and history
        before.append((ends[history[:-1]], symbols[history[-1]]) if reached else (-1, -1))
    return {"before": [q for q, _ in before], "by": [y for _, y in before]}


def _events(rdp: RDP) -> dict[str, Any]:
    """Every letter that every state met, by action, the most frequent first."""
    sources, letters = np.nonzero(rdp.counts)
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
    """What each action that was tried is worth in each state, if the plan goes on from there."""
    states, actions = np.nonzero(~np.isnan(worth.choices))
    return {
        "begin": _begins(np.bincount(states, minlength=len(worth.choices))),
        "action": (actions + PAD + 1).tolist(),
        "worth": _short(worth.choices[states, actions]),
    }


def _at_steps(model: Model) -> dict[str, Any] | None:
    """What the plan does, and what is to come, in each state at each step: of a stationary model it is not the same."""
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
    """In the fewest words that tell the arrows out of a state apart."""
    usage, lines = Usage.of(rdp), []
    for q, leaving in groupby(arrows, lambda arrow: arrow.source):
        lines += brief_labels(rdp, usage, q, [arrow.symbols for arrow in leaving])
    return lines


def _reasons(model: Model, texts: _Texts) -> dict[str, Any]:
    """Why each state is one of its own."""
    by_state, alphabet = reasons(model.rdp, model.decisions, MOST_REASONS), model.rdp.alphabet
    found = [reason for some in by_state for reason in some]
    return {
        "begin": _begins([len(some) for some in by_state]),
        "other": [reason.other for reason in found],
        "text": [texts.number(describe_witness(reason.witness, alphabet)) for reason in found],
        "first": [texts.number(_shown(reason.first)) for reason in found],
        "learned": [int(reason.learned) for reason in found],
    }


def _doubts(model: Model, texts: _Texts) -> dict[str, Any]:
    """Merges that were undecided, at the state that they ended in; none where that is not known."""
    found: dict[int, list[BorderlineMerge]] = {}
    alphabet = model.rdp.alphabet
    for doubt in model.undecided_if_known() or ():
        found.setdefault(model.rdp.run(doubt.histories[1]), []).append(doubt)
    rows = [(q, doubt) for q, some in sorted(found.items()) for doubt in some[:MOST_DOUBTS]]
    return {
        "state": [q for q, _ in rows],
        "candidate": [texts.number(show(doubt.histories[0])) for _, doubt in rows],
        "text": [texts.number(describe_witness(doubt.witness, alphabet)) for _, doubt in rows],
        "episodes": [round(doubt.episodes) for _, doubt in rows],
    }


def _shown(history: History) -> str:
    return show(history) if history else ""


def _begins(sizes: Sequence[int] | Int64) -> list[int]:
    return [0, *np.cumsum(np.asarray(sizes, np.int64)).tolist()]


def _short(values: Iterable[float]) -> list[float]:
    """Six digits are more than anybody reads."""
    return [float(f"{value:.6g}") + 0.0 for value in values]
