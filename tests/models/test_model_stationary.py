"""Models of stationary automata: saved, loaded and exported."""

from __future__ import annotations

import io
import json
import zipfile
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suffice.automata.compare import compare
from suffice.automata.rdp import UNSEEN
from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.exact.values import best_plan
from suffice.domains.pomdp.writing import to_pomdp
from suffice.domains.registry import make
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SufficeError
from suffice.learning.stationary.learner import learn_stationary
from suffice.models.export import to_dot, to_json
from suffice.models.model import Model
from suffice.planning.planner import GREEDY, Planning, plan_on
from suffice.planning.regorl import regorl
from support.stationary_automata import one_line, suffice

# Saved


@cache
def models() -> dict[str, Model]:
    episodes = TMaze(length=3).simulate(1000, 9, np.random.default_rng(0))
    return {
        "planned": Model.of(regorl(episodes, stationary=True), episodes),
        "forever": Model.of(regorl(episodes, planning=Planning(discount=0.9), stationary=True), episodes),
        "planless": Model.of(learn_stationary(episodes), episodes),
    }


@pytest.mark.parametrize("name", ["planned", "forever", "planless"])
def test_load_returns_a_stationary_model_as_saved(tmp_path: Path, name: str) -> None:
    model = models()[name]
    model.save(tmp_path / "a.model")
    loaded = Model.load(tmp_path / "a.model")
    loaded.save(tmp_path / "b.model")
    assert (tmp_path / "a.model").read_bytes() == (tmp_path / "b.model").read_bytes()
    assert loaded.about == model.about and loaded.decisions == model.decisions
    assert loaded.rdp.steps == 9 and loaded.rdp.stationary and compare(loaded.rdp, model.rdp) is None
    assert (loaded.plan is None) == (name == "planless")
    if loaded.plan is not None and model.plan is not None:
        assert loaded.plan.actions.tolist() == model.plan.actions.tolist()
    assert loaded.about.layers == [model.rdp.n_states] == loaded.rdp.layers.tolist()
    assert len(loaded.about.candidates) == 1 and loaded.about.languages == [0]
    assert (loaded.about.metric, loaded.about.family, loaded.about.bound) == ("outcomes", None, "e-values")


def npy(array: Any) -> bytes:
    buffer = io.BytesIO()
    np.save(buffer, array)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("header", "arrays"),
    [
        ({"steps": None}, {}),
        ({"steps": -1}, {}),
        ({"steps": 2.5}, {}),
        ({"steps": 8}, {}),
        ({"layers": [3]}, {}),
        ({"layers": [6, 6]}, {"layers": np.array([6, 6])}),
        ({"layers": [1, 10, 1]}, {"layers": np.array([1, 10, 1])}),
        ({}, {"layers": np.array([9])}),
        ({}, {"cut": np.zeros((3, 3), np.int64)}),
        ({"steps": 10**9}, {}),
        ({}, {"plan_actions": np.zeros(10, np.int64)}),
    ],
    ids=str,
)
def test_load_refuses_contradicting_steps_and_layers(tmp_path: Path, header: Any, arrays: Any) -> None:
    path = tmp_path / "a.model"
    models()["planned"].save(path)
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist()}
    entries["header.json"] = json.dumps(json.loads(entries["header.json"]) | header).encode()
    entries |= {f"{name}.npy": npy(array) for name, array in arrays.items()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    with pytest.raises(SufficeError, match="this model file is damaged") as refused:
        Model.load(path)
    assert "\n" not in str(refused.value)
    ran = suffice("info", str(path))
    assert ran[0] == 2 and one_line(ran[2])


# Exported


def keys_within(content: Any) -> set[str]:
    if isinstance(content, dict):
        return {*content, *(key for value in content.values() for key in keys_within(value))}
    return {key for value in content for key in keys_within(value)} if isinstance(content, list) else set()


@pytest.mark.parametrize("name", ["planned", "forever", "planless"])
def test_to_json_of_a_stationary_model_has_no_steps(name: str) -> None:
    model = models()[name]
    rdp, found = model.rdp, json.loads(to_json(model))
    assert list(found) == ["horizon", "delta", "metric", "bound", "layers", "transitions", "policy"]
    assert found["layers"] == [rdp.n_states] and found["horizon"] == 9
    assert "t" not in keys_within(found)
    taken = rdp.taken()
    rows = {
        (row["state"], row["action"], tuple((row["observation"] or {}).values())): row for row in found["transitions"]
    }
    assert len(rows) == len(found["transitions"]) == (rdp.tau != UNSEEN).sum()
    for q, y in np.argwhere(rdp.tau != UNSEEN).tolist():
        action, observation = rdp.symbol(y)
        row = rows[q, action, observation or ()]
        assert set(row) == {"state", "action", "observation", "next", "count", "rewards"}
        assert (row["next"], row["count"]) == (rdp.tau[q, y], taken[q, y])
        seen = {r: k for o, r, k in rdp.outputs(q, action) if o == observation}
        assert dict(row["rewards"]) == seen
    if name == "planless":
        assert found["policy"] == []
        return
    assert [row["state"] for row in found["policy"]] == list(range(1, rdp.n_states))
    for row in found["policy"]:
        assert set(row) <= {"state", "action", "value", "chances"} and set(row) >= {"state", "action", "value"}
        assert row["action"] in (*rdp.alphabet.actions, None, "pad") and ("chances" in row) == (row["action"] is None)
    assert found["policy"][-1]["action"] == "pad", "the end"


def test_to_dot_of_a_stationary_model_has_every_state_and_arrow() -> None:
    rdp, text = models()["planned"].rdp, to_dot(models()["planned"])
    assert "rank=same" not in text
    arrows = {(q, int(rdp.tau[q, y])) for q, y in np.argwhere(rdp.tau != UNSEEN).tolist()}
    assert text.count(" -> ") == len(arrows) and all(f"  {q} -> {p} " in text for q, p in arrows)
    assert all(f'  {q} [label="{q}"];' in text for q in range(rdp.n_states))


def test_to_pomdp_of_a_stationary_model_has_its_layers(tmp_path: Path) -> None:
    """Its best policy has the value of the greedy plan on the layers."""
    model = models()["planned"]
    (tmp_path / "a.POMDP").write_text(to_pomdp(model))
    read = make(str(tmp_path / "a.POMDP"), {}).model(10)
    best = float(best_plan(minimal_rdp(read, 10)).value)
    assert best == pytest.approx(plan_on(model.planned, GREEDY).value, abs=1e-6)
