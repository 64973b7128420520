"""Exported JSON keeps the promise that others script against; DOT is a graph that Graphviz can read."""

from __future__ import annotations

import json
import re
from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest

from oracle import random_episodes
from suffice.automata.rdp import UNSEEN
from suffice.data.alphabet import Alphabet
from suffice.data.episodes import Episodes
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.domains.tasks.t_maze import TMaze
from suffice.learning.adact_h import Settings, adact_h
from suffice.models.export import to_dot, to_json
from suffice.models.model import Model
from support.log_files import decode

CASES = ["maze", "hall", "random", "weights"]


@cache
def log(case: str) -> Episodes:
    rng = np.random.default_rng(11)
    if case == "maze":  # three features, early ends
        return TMaze(length=1).simulate(4000, 4, rng)
    if case == "hall":  # no early ends
        return MiniHall().simulate(4000, 4, rng)
    return random_episodes(rng, 3, 2, 3, 3, 3, 500, n_features=2, early_end=0.4, weighted=case == "weights")


@cache
def model(case: str) -> Model:
    return Model.of(adact_h(log(case), Settings(delta=0.01)), log(case))


@cache
def exported(case: str) -> dict[str, Any]:
    return dict(json.loads(to_json(model(case))))


@pytest.mark.parametrize("case", CASES)
def test_the_keys_are_as_promised(case: str) -> None:
    told, horizon = exported(case), log(case).horizon
    assert list(told) == ["horizon", "delta", "metric", "bound", "layers", "transitions", "policy"]
    assert (told["horizon"], told["delta"], told["metric"], told["bound"]) == (horizon, 0.01, "languages", "fisher")
    assert len(told["layers"]) == horizon + 2 and told["layers"][0] == told["layers"][-1] == 1
    assert told["layers"] == model(case).rdp.layers.tolist() and told["policy"] == []
    keys = ["t", "state", "action", "observation", "next", "count", "rewards"]
    assert told["transitions"] and all(list(row) == keys for row in told["transitions"])


@pytest.mark.parametrize("case", CASES)
def test_states_are_numbered_per_layer(case: str) -> None:
    told = exported(case)
    assert {row["t"] for row in told["transitions"]} == set(range(told["horizon"] + 1))
    for row in told["transitions"]:
        assert 0 <= row["state"] < told["layers"][row["t"]]
        assert 0 <= row["next"] < told["layers"][row["t"] + 1]
    entered = {(0, 0)} | {(row["t"] + 1, row["next"]) for row in told["transitions"]}
    assert entered == {(t, q) for t, width in enumerate(told["layers"]) for q in range(width)}


@pytest.mark.parametrize("case", CASES)
def test_states_are_numbered_in_the_order_of_promotion(case: str) -> None:
    """So the first of a layer is the largest candidate: it is placed first."""
    promoted: dict[int, list[int]] = {}
    for decision in model(case).decisions:
        if decision.placement.promoted:
            promoted.setdefault(decision.layer, []).append(decision.placement.target)
    told = exported(case)
    assert [promoted[t] for t in range(1, told["horizon"] + 2)] == [list(range(n)) for n in told["layers"][1:]]
    for t in range(told["horizon"] + 1):
        rows = [row for row in told["transitions"] if row["t"] == t]
        assert max(rows, key=lambda row: row["count"])["count"] in [r["count"] for r in rows if r["next"] == 0]


@pytest.mark.parametrize("case", CASES)
def test_counts_add_up(case: str) -> None:
    per_layer: Counter[int] = Counter()
    entering: Counter[tuple[int, int]] = Counter({(0, 0): log(case).total})
    leaving: Counter[tuple[int, int]] = Counter()
    for row in exported(case)["transitions"]:
        assert row["count"] == sum(k for _, k in row["rewards"]) and all(k > 0 for _, k in row["rewards"])
        values = [r for r, _ in row["rewards"]]
        assert values == sorted(set(values))
        per_layer[row["t"]] += row["count"]
        entering[row["t"] + 1, row["next"]] += row["count"]
        leaving[row["t"], row["state"]] += row["count"]
    assert set(per_layer.values()) == {log(case).total}
    final = log(case).horizon + 1
    assert {place: n for place, n in entering.items() if place[0] != final} == leaving


@pytest.mark.parametrize("case", CASES)
def test_transitions_are_those_of_the_log(case: str) -> None:
    """Following the exported rows gives the automaton's states, and their counts and rewards those of the log."""
    episodes, rdp, told = log(case), model(case).rdp, exported(case)
    features = episodes.alphabet.features
    rows = {(r["t"], r["state"], r["action"], json.dumps(r["observation"])): r for r in told["transitions"]}
    assert len(rows) == len(told["transitions"]) == np.count_nonzero(rdp.tau != UNSEEN)
    offsets, seen = rdp.offsets(), Counter[Any]()
    weights = [1] * episodes.n if episodes.weight is None else episodes.weight.tolist()
    states = rdp.run_all(episodes)
    for e, (steps, weight) in enumerate(zip(decode(episodes), weights, strict=True)):
        q = 0
        for t, (action, observation, reward) in enumerate(steps):
            named = None if observation is None else dict(zip(features, observation, strict=True))
            key = (t, q, action, json.dumps(named))
            seen[*key, reward] += weight
            q = rows[key]["next"]
            assert q == states[t + 1, e] - offsets[t + 1]
    assert seen == Counter({(*key, r): k for key, row in rows.items() for r, k in row["rewards"]})


@pytest.mark.parametrize("case", CASES)
def test_special_symbols(case: str) -> None:
    """Dummy action null at t = 0 and nowhere else; o_⊥ null, always at t = H; "pad" only after an early end."""
    told, early = exported(case), case != "hall"
    names = list(log(case).alphabet.features)
    for row in told["transitions"]:
        assert (row["action"] is None) == (row["t"] == 0)
        assert row["observation"] is None or list(row["observation"]) == names
        if row["t"] == told["horizon"] or row["action"] == "pad":
            assert row["observation"] is None
        if row["action"] == "pad":
            assert row["t"] >= 2 and [r for r, _ in row["rewards"]] == [0]
    assert any(row["action"] == "pad" for row in told["transitions"]) == early
    assert any(row["observation"] is None and row["t"] < told["horizon"] for row in told["transitions"]) == early


def test_values_keep_their_types() -> None:
    alphabet = Alphabet((True, 2.5), ("n", "s"), ((1, "1"), (2, 'é"')), (0.5,))
    action, observation = np.array([[0, 0], [2, 3]]), np.array([[1, 2], [0, 0]])
    episodes = Episodes.from_steps(alphabet, action, observation, np.array([[0, 0], [1, 0]]))
    text = to_json(Model.of(adact_h(episodes), episodes))
    rows = json.loads(text)["transitions"]
    assert [row["observation"] for row in rows] == [{"n": 1, "s": "1"}, {"n": 2, "s": 'é"'}, None, None]
    assert [row["action"] for row in rows] == [None, None, True, 2.5] and rows[2]["action"] is True
    assert [row["rewards"] for row in rows] == [[[0.0, 1]], [[0.0, 1]], [[0.5, 1]], [[0.0, 1]]] and "é" in text


# DOT

QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"', re.DOTALL)


def read_dot(text: str) -> tuple[list[str], list[tuple[str, str]]]:
    """Nodes and arrows, if quotes and brackets are balanced."""
    bare = QUOTED.sub("Q", text)
    assert '"' not in bare and bare.startswith("digraph rdp {") and bare.rstrip().endswith("}")
    depth = 0
    for character in bare:
        depth += {"{": 1, "}": -1}.get(character, 0)
        assert depth >= 0
    assert depth == 0 and bare.count("[") == bare.count("]")
    nodes = re.findall(r"(?<![\w>] )\b(\d+) \[label=Q\];", re.sub(r"\d+ -> \d+ \[label=Q\];", "", bare))
    return nodes, re.findall(r"(\d+) -> (\d+) \[label=Q\];", bare)


@pytest.mark.parametrize("case", CASES)
def test_dot_has_a_node_for_each_state_and_an_arrow_for_each_pair(case: str) -> None:
    rdp = model(case).rdp
    nodes, arrows = read_dot(to_dot(model(case)))
    assert nodes == [str(q) for q in range(rdp.n_states)]
    sources, symbols = np.nonzero(rdp.tau != UNSEEN)
    pairs = set(zip(sources.tolist(), rdp.tau[sources, symbols].tolist(), strict=True))
    assert len(arrows) == len(pairs) and {(int(a), int(b)) for a, b in arrows} == pairs


def test_dot_labels_list_every_symbol() -> None:
    text = to_dot(model("maze"))
    labels = [label for found in re.findall(r'-> \d+ \[label="(.*)"\];', text) for label in found.split(r"\n")]
    assert len(labels) == len(exported("maze")["transitions"])
    assert {"(0, 1, 1)", "(1, 1, 0)", "N → (end)", "pad", "W → (1, 0, 1)"} <= set(labels)


def test_dot_survives_any_text() -> None:
    nasty = ('say "hi"', "back\\slash", "{brace", "new\nline", "end\\", 'both\\"')
    alphabet = Alphabet(nasty, ("o",), tuple((v,) for v in nasty), ())
    n = np.arange(len(nasty))
    episodes = Episodes.from_steps(
        alphabet, np.stack([0 * n, n + 2]), np.stack([n + 1, 0 * n]), np.stack([0 * n, 0 * n])
    )
    nodes, arrows = read_dot(to_dot(Model.of(adact_h(episodes), episodes)))
    assert nodes == ["0", "1", "2"] and arrows == [("0", "1"), ("1", "2")]
