"""Arrays of a model file: automaton, decisions and plan, with their declared types and shapes, and checks when read."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.automata.rdp import BEHAVE, RDP
from suffice.data.alphabet import Alphabet
from suffice.data.encoding.encoder import Encoder
from suffice.files.archives import Shape
from suffice.learning.merging import shapes_of_decisions
from suffice.models.header import LARGEST, Header
from suffice.planning.plan import Plan

RDP_ARRAYS = ("letters", "symbols", "layers", "tau", "counts")
_PLAN_ARRAYS = ("actions", "values", "lower")


def declared_arrays(about: Header, decisions: int, cut: bool) -> dict[str, tuple[str, Shape]]:
    """Return the arrays that belong to a header, with their types and shapes; X, Y and P are free."""
    states = sum(about.layers)
    shapes: dict[str, tuple[str, Shape]] = {
        "letters": ("iu", ("X", 3)),
        "symbols": ("iu", ("Y", 2)),
        "layers": ("i8", (len(about.layers),)),
        "tau": ("i4", (states, "Y")),
        "counts": ("i8", (states, "X")),
    }
    shapes |= {"cut": ("i8", (states, "X"))} if cut else {}
    shapes |= shapes_of_decisions(decisions)
    for name in _PLAN_ARRAYS if about.plan else ():
        shapes[f"plan_{name}"] = "i8" if name == "actions" else "f8", ("P",)
    return shapes


def alphabet_of(about: Header) -> Alphabet:
    """Return the alphabet that a header describes."""
    observations = tuple(map(tuple, about.observations))
    return Alphabet(tuple(about.actions), Encoder.from_data(about.encoder).features, observations, tuple(about.rewards))


def refuse_invalid_decisions(arrays: dict[str, Any], rdp: RDP) -> None:
    """Refuse decisions on layers, states and symbols that the automaton does not have."""
    names = ("layer", "state", "symbol", "n", "target", "nearest")
    layer, state, symbol, n, target, nearest = (arrays[f"decision_{name}"] for name in names)
    before = rdp.layer_at(1)  # layers that a transition advances
    if np.any((layer < before) | (layer >= len(rdp.layers))):
        raise ValueError("its decisions refer to layers that do not exist")
    here = rdp.layers[layer]
    wrong = (state < 0) | (state >= rdp.layers[layer - before]) | (symbol < 0) | (symbol >= len(rdp.symbols)) | (n < 0)
    if np.any(wrong | (target < 0) | (target >= here) | (nearest < -1) | (nearest >= here)):
        raise ValueError("its decisions do not match its automaton")


def arrays_of(rdp: RDP) -> dict[str, Any]:
    """Return the arrays of an automaton by name."""
    cut = {} if rdp.cut is None else {"cut": rdp.cut}
    return {name: getattr(rdp, name) for name in RDP_ARRAYS} | cut


def arrays_of_plan(plan: Plan | None) -> dict[str, Any]:
    """Return the arrays of a plan by name; none without a plan."""
    return {} if plan is None else {f"plan_{name}": getattr(plan, name) for name in _PLAN_ARRAYS}


def plan_of(about: Header, arrays: dict[str, Any], rdp: RDP) -> Plan | None:
    """Return the plan of a model file, after checking that it fits the automaton; None without a plan."""
    if about.plan is None:
        return None
    actions, values, lower = (arrays[f"plan_{name}"] for name in _PLAN_ARRAYS)
    if len(actions) != rdp.unrolled_states(most=actions.size):
        raise ValueError("its plan does not match its automaton")
    if not (np.abs(values) <= LARGEST).all() or not (np.abs(lower) <= LARGEST).all():  # also if not a number
        raise ValueError("its plan has values that are not finite, or too large")
    if actions.min() < BEHAVE or actions.max() >= len(rdp.alphabet.actions):
        raise ValueError("its plan has actions that do not exist")
    return Plan(actions, values, lower, about.plan.error)
