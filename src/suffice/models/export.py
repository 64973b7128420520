"""Exports of a model for other programs: JSON with every transition, and DOT for Graphviz."""

from __future__ import annotations

import json
from itertools import pairwise
from typing import Any

import numpy as np

from suffice.automata.histories import show_symbol
from suffice.automata.rdp import RDP, UNSEEN
from suffice.errors import visible
from suffice.models.model import Model
from suffice.planning.policy import policy_rows


def to_json(model: Model) -> str:
    """Return the model as JSON, with states numbered per layer; t = 0..H leads from layer t to layer t+1.

    A stationary model has one layer and no t; its policy has the most frequent action of the plan in each state.
    """
    about, plan = model.about, model.own_plan
    exported = {
        "horizon": model.rdp.horizon,
        "delta": about.delta,
        "metric": about.metric,
        "bound": about.bound,
        "layers": about.layers,
        "transitions": transitions(model.rdp),
        "policy": [] if plan is None else policy_rows(model.rdp, plan),
    }
    return json.dumps(exported, ensure_ascii=False, indent=1)


def transitions(rdp: RDP) -> list[dict[str, Any]]:
    """List every transition with its count and its rewards."""
    addresses, of_letter, rows = rdp.addresses(), rdp.symbol_of_letter(), []
    for q, y in zip(*np.nonzero(rdp.tau != UNSEEN), strict=True):
        seen = np.flatnonzero((of_letter == y) & (rdp.counts[q] > 0))
        action, observation = rdp.symbol(int(y))
        named = None if observation is None else dict(zip(rdp.alphabet.features, observation, strict=True))
        row = {
            **addresses[q],
            "action": action,
            "observation": named,
            "next": addresses[rdp.tau[q, y]]["state"],
            "count": int(rdp.counts[q, seen].sum()),
            "rewards": [[rdp.alphabet.rewards[rdp.letters[x, 2]], int(rdp.counts[q, x])] for x in seen],
        }
        rows.append(row)
    return rows


def to_dot(model: Model) -> str:
    """Return the model for Graphviz, layers from left to right, with one arrow per pair of states and its symbols."""
    rdp, labels = model.rdp, model.rdp.labels()
    arrows: dict[tuple[int, int], list[str]] = {}
    for q, y in zip(*np.nonzero(rdp.tau != UNSEEN), strict=True):
        arrows.setdefault((int(q), int(rdp.tau[q, y])), []).append(show_symbol(rdp.symbol(int(y))))
    lines = ["digraph rdp {", "  rankdir=LR;", '  node [shape=circle, fontname="sans-serif"];']
    lines.append('  edge [fontname="sans-serif", fontsize=10];')
    nodes = [f'{q} [label="{label}"];' for q, label in enumerate(labels)]
    ranks = [] if rdp.stationary else pairwise(rdp.offsets().tolist())
    lines += [f"  {{ rank=same; {' '.join(nodes[begin:end])} }}" for begin, end in ranks] or [f"  {n}" for n in nodes]
    for (q, target), symbols in arrows.items():
        label = "\\n".join(_escaped(s) for s in symbols)
        lines.append(f'  {q} -> {target} [label="{label}"];')
    return "\n".join([*lines, "}"]) + "\n"


def _escaped(text: str) -> str:
    return visible(text).replace("\\", "\\\\").replace('"', '\\"')
