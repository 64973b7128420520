"""A model as plain data: what `suffice info --json` prints, the table of states, and a graph for networkx."""

from __future__ import annotations

import operator
from functools import reduce
from typing import Any

import numpy as np
from msgspec import to_builtins

from suffice.automata.rdp import BEHAVE, RDP, UNSEEN
from suffice.automata.state_summary import arrivals
from suffice.data.alphabet import PAD
from suffice.errors import MissingError
from suffice.models.export import transitions
from suffice.models.model import Model
from suffice.models.sentences import info_json
from suffice.models.summary import summary_json

HEADER_KEYS = (
    "layers",
    "candidates",
    "languages",
    "metric",
    "family",
    "bound",
    "delta",
    "confidence",
    "cut",
    "forced_share",
    "second_look",
    "held_out",
)


def model_dict(model: Model, seconds: float | None = None, peak_bytes: int | None = None) -> dict[str, Any]:
    """Return a model's header with its guarantee and plan; time and memory come from the notes beside its file."""
    about = model.about
    return {
        "states": model.rdp.n_states,
        "horizon": model.rdp.horizon,
        "stationary": model.rdp.stationary,
        **{name: getattr(about, name) for name in HEADER_KEYS},
        "bins": {name: list(bins.cuts) for name, bins in model.bins.items()},
        **info_json(about),
        "seconds": seconds,
        "bytes": peak_bytes,
        "episodes": about.episodes,
        "log_hash": about.log_hash,
        "version": about.version,
        **summary_json(model.rdp, about),
        **({"columns_evidence": to_builtins(about.columns_found)} if about.columns_found else {}),
        "warnings": [warning.to_dict() for warning in model.warnings],
    }


def ended_states(rdp: RDP) -> set[int]:
    """Return the states in which an episode has ended: those left by padding alone, and the final one of layers."""
    pad, padded = rdp.symbols[:, 0] == PAD, np.zeros(rdp.n_states, bool)
    for rows in rdp.blocks():
        known = rdp.tau[rows] != UNSEEN
        padded[rows] = known[:, pad].any(axis=1) & ~known[:, ~pad].any(axis=1)
    return {*np.flatnonzero(padded).tolist(), *([] if rdp.final is None else [rdp.final])}


def state_rows(model: Model) -> list[dict[str, Any]]:
    """Describe every state in a row; `suffice info --states` prints them, and `Model.states` documents the keys."""
    model = model.in_words
    rdp, plan = model.rdp, model.own_plan
    ended, shares, layer, labels = ended_states(rdp), rdp.shares(), rdp.layer_of(), rdp.labels()
    rows = []
    histories = rdp.typical_histories()
    for q, arrival in enumerate(arrivals(rdp)):
        row: dict[str, Any] = {
            "state": q,
            "label": labels[q],
            "layer": None if rdp.stationary else int(layer[q]),
            "share": float(shares[q]),
            "ended": q in ended,
            "action": None,
            "value": None,
            "common": arrival.common,
            "varies": arrival.varies,
            "example": histories.brief(q) if q else "",
        }
        if plan is not None:
            row["value"] = float(plan.values[q])
            if q and q not in ended:
                logged = plan.actions[q] == BEHAVE
                row["action"] = "as logged" if logged else rdp.alphabet.actions[plan.actions[q]]
        rows.append(row)
    return rows


def state_table(model: Model) -> Any:
    """Return the rows of all states as a pandas DataFrame, or as a list of dicts where pandas is not installed."""
    rows = state_rows(model)
    try:
        import pandas
    except ImportError:
        return rows
    table = pandas.DataFrame(rows)
    table["action"] = pandas.Series([row["action"] for row in rows], dtype=object)  # integers would become floats
    return table.set_index("state")


def to_networkx(model: Model) -> Any:
    """Return the automaton as a graph; `Model.to_networkx` documents it."""
    try:
        import networkx
    except ImportError as error:
        raise MissingError(
            "to_networkx needs the package networkx. Install it with: pip install 'suffice[graphs]'"
        ) from error
    graph = networkx.MultiDiGraph(horizon=model.rdp.horizon, stationary=model.rdp.stationary)
    for row in state_rows(model):
        graph.add_node(row["state"], **{name: value for name, value in row.items() if name != "state"})
    rdp = model.in_words.rdp
    sources, symbols = np.nonzero(rdp.tau != UNSEEN)
    visits = np.maximum(rdp.counts.sum(axis=1), 1)
    edges = zip(sources.tolist(), symbols.tolist(), transitions(rdp), strict=True)
    for source, symbol, edge in edges:
        paid = reduce(operator.add, (reward * times for reward, times in edge["rewards"]), 0.0)
        graph.add_edge(
            source,
            int(rdp.tau[source, symbol]),
            action=edge["action"],
            observation=edge["observation"],
            count=edge["count"],
            share=edge["count"] / int(visits[source]),
            reward=paid / max(edge["count"], 1),
        )
    return graph
