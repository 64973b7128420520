"""Exports of a model: JSON with the documented keys, and DOT that Graphviz can read."""

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
def test_to_json_has_the_documented_keys(case: str) -> None:
    content, horizon = exported(case), log(case).horizon
    assert list(content) == ["horizon", "delta", "metric", "bound", "layers", "transitions", "policy"]
    assert (content["horizon"], content["delta"], content["metric"], content["bound"]) == (
        horizon,
        0.01,
        "languages",
        "fisher",
    )
    assert len(content["layers"]) == horizon + 2 and content["layers"][0] == content["layers"][-1] == 1
    assert content["layers"] == model(case).rdp.layers.tolist() and content["policy"] == []
    keys = ["t", "state", "action", "observation", "next", "count", "rewards"]
    assert content["transitions"] and all(list(row) == keys for row in content["transitions"])


@pytest.mark.parametrize("case", CASES)
def test_to_json_numbers_states_per_layer(case: str) -> None:
    content = exported(case)
    assert {row["t"] for row in content["transitions"]} == set(range(content["horizon"] + 1))
    for row in content["transitions"]:
        assert 0 <= row["state"] < content["layers"][row["t"]]
        assert 0 <= row["next"] < content["layers"][row["t"] + 1]
    entered = {(0, 0)} | {(row["t"] + 1, row["next"]) for row in content["transitions"]}
    assert entered == {(t, q) for t, width in enumerate(content["layers"]) for q in range(width)}


@pytest.mark.parametrize("case", CASES)
def test_to_json_numbers_states_in_the_order_of_promotion(case: str) -> None:
    """The first state of a layer is the largest candidate, which is placed first."""
    promoted: dict[int, list[int]] = {}
    for decision in model(case).decisions:
        if decision.placement.promoted:
            promoted.setdefault(decision.layer, []).append(decision.placement.target)
    content = exported(case)
    assert [promoted[t] for t in range(1, content["horizon"] + 2)] == [list(range(n)) for n in content["layers"][1:]]
    for t in range(content["horizon"] + 1):
        rows = [row for row in content["transitions"] if row["t"] == t]
        assert max(rows, key=lambda row: row["count"])["count"] in [r["count"] for r in rows if r["next"] == 0]


@pytest.mark.parametrize("case", CASES)
def test_to_json_counts_add_up(case: str) -> None:
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
def test_to_json_transitions_equal_those_of_the_log(case: str) -> None:
    """Following the exported rows gives the states of the automaton, and the counts and rewards of the log."""
    episodes, rdp, content = log(case), model(case).rdp, exported(case)
    features = episodes.alphabet.features
    rows = {(r["t"], r["state"], r["action"], json.dumps(r["observation"])): r for r in content["transitions"]}
    assert len(rows) == len(content["transitions"]) == np.count_nonzero(rdp.tau != UNSEEN)
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
def test_to_json_writes_special_symbols_as_documented(case: str) -> None:
    """The dummy action is null, at t = 0 only; o_⊥ is null, always at t = H; "pad" only after an early end."""
    content, early = exported(case), case != "hall"
    names = list(log(case).alphabet.features)
    for row in content["transitions"]:
        assert (row["action"] is None) == (row["t"] == 0)
        assert row["observation"] is None or list(row["observation"]) == names
        if row["t"] == content["horizon"] or row["action"] == "pad":
            assert row["observation"] is None
        if row["action"] == "pad":
            assert row["t"] >= 2 and [r for r, _ in row["rewards"]] == [0]
    assert any(row["action"] == "pad" for row in content["transitions"]) == early
    assert any(row["observation"] is None and row["t"] < content["horizon"] for row in content["transitions"]) == early


def test_to_json_keeps_types_of_values() -> None:
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
    """Read nodes and arrows, and check that quotes and brackets are balanced."""
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
def test_to_dot_has_a_node_per_state_and_an_arrow_per_pair(case: str) -> None:
    rdp = model(case).rdp
    nodes, arrows = read_dot(to_dot(model(case)))
    assert nodes == [str(q) for q in range(rdp.n_states)]
    sources, symbols = np.nonzero(rdp.tau != UNSEEN)
    pairs = set(zip(sources.tolist(), rdp.tau[sources, symbols].tolist(), strict=True))
    assert len(arrows) == len(pairs) and {(int(a), int(b)) for a, b in arrows} == pairs


def test_to_dot_labels_list_every_symbol() -> None:
    text = to_dot(model("maze"))
    labels = [label for found in re.findall(r'-> \d+ \[label="(.*)"\];', text) for label in found.split(r"\n")]
    assert len(labels) == len(exported("maze")["transitions"])
    assert {"(0, 1, 1)", "(1, 1, 0)", "N → (end)", "pad", "W → (1, 0, 1)"} <= set(labels)


def test_to_dot_escapes_any_text() -> None:
    nasty = ('say "hi"', "back\\slash", "{brace", "new\nline", "end\\", 'both\\"')
    alphabet = Alphabet(nasty, ("o",), tuple((v,) for v in nasty), ())
    n = np.arange(len(nasty))
    episodes = Episodes.from_steps(
        alphabet, np.stack([0 * n, n + 2]), np.stack([n + 1, 0 * n]), np.stack([0 * n, 0 * n])
    )
    nodes, arrows = read_dot(to_dot(Model.of(adact_h(episodes), episodes)))
    assert nodes == ["0", "1", "2"] and arrows == [("0", "1"), ("1", "2")]
