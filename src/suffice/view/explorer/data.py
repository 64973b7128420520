"""A model as plain columns, which is what the explorer's page reads: small, and quick to load with thousands of states.

Lists of unequal length, such as what was met in each state, are one column and where each begins in it: those of state
q are at begin[q] to begin[q + 1]. Actions and observations go by their codes in the alphabet, texts by their number.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.doubts import Doubt
from suffice.episodes import PAD
from suffice.model import Model
from suffice.planner import BEHAVE, Plan, action_values, behaviour_values, fold_places
from suffice.rdp import RDP, History, show
from suffice.reasons import reasons
from suffice.view.arrows import Arrow, arrows_of, over
from suffice.view.explorer.places import find_places
from suffice.view.fewest_words import Usage, fewest_words
from suffice.view.labels import Line

MOST_REASONS = 4  # why a state is one of its own: against so many of its neighbours
MOST_DOUBTS = 3  # at a state
MOST_AT_STEPS = 200_000  # values of a stationary model by state and step; beyond, those of the states must do


def model_data(model: Model, name: str) -> dict[str, Any]:
    """All that the page shows of a model."""
    rdp, about, texts = model.rdp, model.about, _Texts()
    alphabet, promise = rdp.alphabet, about.promise
    said = [promise.sentence, promise.second_look_sentence, about.plan.sentence if about.plan else ""]
    data = {
        "title": name,
        "stationary": rdp.stationary,
        "horizon": rdp.horizon,
        "episodes": about.episodes,
        "layers": rdp.layers.tolist(),
        "said": [sentence for sentence in said if sentence],
        "legend": Usage.of(rdp).legend(rdp),
        "discount": about.plan.discount if about.plan else None,
        "actions": [None, "pad", *map(str, alphabet.actions)],
        "observations": [None, *(f"({', '.join(map(str, values))})" for values in alphabet.observations)],
        "symbols": dict(zip(("action", "observation"), rdp.symbols.T.tolist(), strict=True)),
        "states": _states(model),
        "events": _events(rdp),
        "choices": _choices(model),
        "at_steps": _at_steps(model),
        "arrows": _arrows(rdp, texts),
        "reasons": _reasons(model, texts),
        "doubts": _doubts(model, texts),
    }
    places = data["arrows"].pop("places")
    data["states"] |= places
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


def _states(model: Model) -> dict[str, Any]:
    """Those of a stationary automaton as they are where the plan is most often in them."""
    rdp, plan = model.rdp, plan_of(model)
    place = fold_places(rdp, plan) if rdp.stationary else np.arange(rdp.n_states)
    discount = model.about.plan.discount if model.about.plan else None
    worth = behaviour_values(model.planned)[place] if discount is None else behaviour_values(rdp, discount)
    visits = rdp.counts.sum(axis=1) + (0 if rdp.cut is None else rdp.cut.sum(axis=1))
    if not rdp.stationary:
        visits[-1] = model.about.episodes
    found = {"visits": visits.tolist(), "behaviour": _short(worth), "over": sorted(over(rdp))}
    found |= _typical(rdp)
    if model.plan is None:
        return found
    planned = np.where(plan.actions == BEHAVE, BEHAVE, plan.actions + PAD + 1)[place]
    return found | {
        "value": _short(plan.values[place]),
        "lower": _short(plan.lower[place]),
        "planned": planned.tolist(),  # action codes, or BEHAVE
    }


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


def _choices(model: Model) -> dict[str, Any]:
    """What each action that was tried is worth in each state, if the plan goes on from there."""
    rdp, plan = model.rdp, plan_of(model)
    discount = model.about.plan.discount if model.about.plan else None
    layers, place = model.planned, fold_places(rdp, plan) if rdp.stationary else np.arange(rdp.n_states)
    if discount is None:
        worth = action_values(layers, plan, layers.own_tally())[place]
    else:
        folded = Plan(plan.actions[place], plan.values[place], plan.lower[place], plan.error)
        worth = action_values(rdp, folded, rdp.own_tally(), discount)
    states, actions = np.nonzero(~np.isnan(worth))
    return {
        "begin": _begins(np.bincount(states, minlength=rdp.n_states)),
        "action": (actions + PAD + 1).tolist(),
        "worth": _short(worth[states, actions]),
    }


def _at_steps(model: Model) -> dict[str, Any] | None:
    """What the plan does, and what is to come, in each state at each step: of a stationary model it is not the same."""
    if not model.rdp.stationary or (model.about.plan and model.about.plan.discount is not None):
        return None
    (layers, stands), plan = model.rdp.unroll(), plan_of(model)
    if layers.n_states > MOST_AT_STEPS:
        return None
    planned = np.where(plan.actions == BEHAVE, BEHAVE, plan.actions + PAD + 1)
    found = {"step": layers.layer_of(), "state": stands, "planned": planned}
    columns: dict[str, Any] = {name: column[:-1].tolist() for name, column in found.items()}  # without the final state
    columns["behaviour"] = _short(behaviour_values(layers)[:-1])
    return columns if model.plan is None else columns | {"value": _short(plan.values[:-1])}


def _arrows(rdp: RDP, texts: _Texts) -> dict[str, Any]:
    arrows = arrows_of(rdp)
    lines = _labels(rdp, arrows)
    places = find_places(rdp, arrows, lines)
    columns: dict[str, Any] = {
        name: [getattr(arrow, name) for arrow in arrows] for name in ("source", "target", "count", "symbols")
    }
    columns["lines"] = [[texts.number(line.text) for line in some] for some in lines]
    columns["line_actions"] = [[list(line.actions) for line in some] for some in lines]
    if places.labels is not None and places.curves is not None:
        columns |= {"x": np.round(places.labels[:, 0], 1).tolist(), "y": np.round(places.labels[:, 1], 1).tolist()}
        columns["curves"] = np.round(places.curves.reshape(len(arrows), 8), 1).tolist()
    x, y = np.round(places.states, 1).T.tolist()
    return columns | {"places": {"x": x, "y": y}}


def _labels(rdp: RDP, arrows: Sequence[Arrow]) -> list[list[Line]]:
    """In the fewest words that tell the arrows out of a state apart."""
    usage, lines = Usage.of(rdp), []
    for q, leaving in groupby(arrows, lambda arrow: arrow.source):
        lines += fewest_words(rdp, usage, q, [arrow.symbols for arrow in leaving])
    return lines


def _reasons(model: Model, texts: _Texts) -> dict[str, Any]:
    """Why each state is one of its own."""
    by_state = reasons(model.rdp, model.decisions, MOST_REASONS)
    found = [reason for some in by_state for reason in some]
    return {
        "begin": _begins([len(some) for some in by_state]),
        "other": [reason.other for reason in found],
        "text": [texts.number(reason.text) for reason in found],
        "first": [texts.number(_shown(reason.first)) for reason in found],
        "learned": [int(reason.learned) for reason in found],
    }


def _doubts(model: Model, texts: _Texts) -> dict[str, Any]:
    """Merges that were undecided, at the state that they ended in."""
    found: dict[int, list[Doubt]] = {}
    for doubt in model.undecided():
        found.setdefault(model.rdp.run(doubt.histories[1]), []).append(doubt)
    rows = [(q, doubt) for q, some in sorted(found.items()) for doubt in some[:MOST_DOUBTS]]
    return {
        "state": [q for q, _ in rows],
        "candidate": [texts.number(show(doubt.histories[0])) for _, doubt in rows],
        "text": [texts.number(doubt.witness) for _, doubt in rows],
        "episodes": [round(doubt.episodes) for _, doubt in rows],
    }


def _shown(history: History) -> str:
    return show(history) if history else ""


def _begins(sizes: Sequence[int] | NDArray[np.int64]) -> list[int]:
    return [0, *np.cumsum(np.asarray(sizes, np.int64)).tolist()]


def _short(values: Iterable[float]) -> list[float]:
    """Six digits are more than anybody reads."""
    return [float(f"{value:.6g}") + 0.0 for value in values]
