"""A model as data: `model.states`, `model.to_dict` and `model.to_networkx`."""

from __future__ import annotations

import builtins
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pandas
import pytest

import suffice
from suffice import Model
from suffice.errors import naming_options
from suffice.models.model_data import ended_states, state_rows
from support.cli import ok, unwrapped


@pytest.fixture(scope="module", params=[False, True], ids=["layers", "stationary"])
def model(request: pytest.FixtureRequest) -> Model:
    maze = suffice.make("t-maze")
    episodes = suffice.simulate(maze.model(5), 2000, 5, np.random.default_rng(1))
    return suffice.learn(episodes, stationary=request.param)


def without(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Make imports of a package fail."""
    original = builtins.__import__

    def fail(name: str, *rest: Any, **more: Any) -> Any:
        if name.split(".")[0] == package:
            raise ImportError(name)
        return original(name, *rest, **more)

    monkeypatch.delitem(sys.modules, package, raising=False)
    monkeypatch.setattr(builtins, "__import__", fail)


def test_states_table_has_a_row_for_each_state(model: Model) -> None:
    table, rdp, plan = model.states, model.rdp, model.own_plan
    assert isinstance(table, pandas.DataFrame) and len(table) == model.n_states == rdp.n_states
    assert table.index.name == "state" and list(table.index) == list(range(model.n_states))
    assert list(table["label"]) == rdp.labels() and np.allclose(table["share"], rdp.shares())
    assert plan is not None and np.allclose(table["value"].astype(float), plan.values)
    assert set(table.index[table["ended"]]) == ended_states(rdp)
    for q, row in table[1:].iterrows():
        if not row["ended"]:
            action = plan.actions[q]
            assert row["action"] == ("as logged" if action < 0 else rdp.alphabet.actions[action])
            assert row["example"]
    layers = table["layer"]
    assert layers.isna().all() if rdp.stationary else list(layers) == rdp.layer_of().tolist()


def test_states_are_a_list_of_dicts_without_pandas(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "pandas")
    assert model.states == state_rows(model)


def test_states_without_a_plan_have_no_actions() -> None:
    episodes = suffice.simulate(suffice.make("corridor").model(5), 300, 5, np.random.default_rng(1))
    bare = suffice.learn(episodes, plan=False)
    assert all(row["action"] is None and row["value"] is None for row in state_rows(bare))
    assert bare.verdict is None


def test_to_dict_is_what_info_prints_as_json(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model.save("a.model")
    printed = json.loads(ok("info", "a.model", "--json"))
    with naming_options():  # the sentence of the guarantee names a parameter
        assert json.loads(json.dumps(model.to_dict())) == printed


def test_info_states_prints_the_rows_of_states(model: Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    model.save("a.model")
    printed = unwrapped(ok("info", "a.model", "--states"))
    for row in state_rows(model)[1:]:
        if not row["ended"]:
            assert f"e.g. {row['example']}" in printed


class FakeGraph:
    """The part of `networkx.MultiDiGraph` that is used, for machines without networkx."""

    def __init__(self, **attributes: Any) -> None:
        self.graph = attributes
        self.nodes: dict[int, dict[str, Any]] = {}
        self.arrows: list[tuple[int, int, dict[str, Any]]] = []

    def add_node(self, node: int, **attributes: Any) -> None:
        self.nodes[node] = attributes

    def add_edge(self, source: int, target: int, **attributes: Any) -> None:
        self.arrows.append((source, target, attributes))


def test_to_networkx_has_states_and_transitions_with_attributes(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("networkx")
    module.MultiDiGraph = FakeGraph  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "networkx", module)
    graph, rdp = model.to_networkx(), model.rdp
    assert graph.graph == {"horizon": 5, "stationary": rdp.stationary}
    assert [{"state": q} | graph.nodes[q] for q in graph.nodes] == state_rows(model)
    assert len(graph.arrows) == np.count_nonzero(rdp.tau >= 0)
    assert sum(edge["count"] for *_, edge in graph.arrows) == rdp.counts.sum()
    for source in range(model.n_states):
        shares = [edge["share"] for start, _, edge in graph.arrows if start == source]
        assert not shares or sum(shares) == pytest.approx(1)
    rewards = np.array(rdp.alphabet.rewards)[rdp.letters[:, 2]]
    total = sum(edge["reward"] * edge["count"] for *_, edge in graph.arrows)
    assert total == pytest.approx(float((rdp.counts * rewards).sum()))


def test_to_networkx_makes_a_graph_that_networkx_understands(model: Model) -> None:
    networkx = pytest.importorskip("networkx")
    graph = model.to_networkx()
    assert isinstance(graph, networkx.MultiDiGraph) and graph.number_of_nodes() == model.n_states
    assert set(networkx.descendants(graph, 0)) | {0} == set(range(model.n_states))


def test_to_networkx_names_the_command_that_installs_networkx(model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    without(monkeypatch, "networkx")
    with pytest.raises(suffice.MissingError, match=r"pip install 'suffice\[graphs\]'"):
        model.to_networkx()
