"""`model.evaluate_in`: the figures of `suffice evaluate --domain`, for domains and Gymnasium environments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suffice
from suffice import Controller, DomainEvaluation
from support.cli import ok


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluation")
    maze = suffice.make("t-maze", {"length": "2"})
    suffice.learn(suffice.simulate(maze.model(4), 2000, 4, np.random.default_rng(1))).save(folder / "maze.model")
    return folder


@pytest.mark.parametrize(
    ("words", "chosen"),
    [
        ("--domain t-maze --set length=2 --episodes 200 --seed 3", {"episodes": 200, "seed": 3}),
        ("--domain t-maze --set length=2 --exact", {"exact": True}),
        ("--domain suffice/TMaze-v0 --set length=2 --episodes 40", {"domain": "suffice/TMaze-v0", "episodes": 40}),
    ],
)
def test_evaluate_in_returns_what_the_command_prints_as_json(here: Path, words: str, chosen: dict[str, Any]) -> None:
    printed = json.loads(ok("evaluate", "maze.model", *words.split(), "--json"))
    domain, model = chosen.pop("domain", "t-maze"), suffice.load("maze.model")
    found = model.evaluate_in(domain, options={"length": 2}, **chosen)
    assert {"model": "maze.model", "domain": domain} | json.loads(json.dumps(found.to_dict())) == printed


def test_evaluate_in_takes_domains_finite_models_and_names(here: Path) -> None:
    model, maze = suffice.load("maze.model"), suffice.make("t-maze", {"length": "2"})
    found = [model.evaluate_in(each, exact=True) for each in (maze, maze.model(4))]
    found.append(model.evaluate_in("t-maze", exact=True, options={"length": 2}))
    assert len({json.dumps(each.to_dict()) for each in found}) == 1
    assert isinstance(found[0], DomainEvaluation) and found[0].exact and found[0].optimal_value == 4


def test_evaluate_in_exact_equals_exact_value(here: Path) -> None:
    model, finite = suffice.load("maze.model"), suffice.make("t-maze", {"length": "2"}).model(4)
    assert model.plan is not None
    plan = Controller.on_automaton(model.planned, finite.alphabet, model.plan.actions)
    found = model.evaluate_in(finite, exact=True, behaviour=plan)
    expected = suffice.exact_value(finite, plan, 4)
    assert found.policy.mean_return[:2] == (float(expected.mean_return), 0.0) and found.behaviour == found.policy


def test_evaluate_in_prints_measures_and_sentences(here: Path) -> None:
    found = suffice.load("maze.model").evaluate_in("t-maze", exact=True, options={"length": 2})
    printed = " ".join(ok("evaluate", "maze.model", "--domain", "t-maze", "--set", "length=2", "--exact").split())
    for line in (*found.table, *found.sentences):
        assert " ".join(line.split()) in printed
    assert "of the possible gain" in str(found) and repr(found).startswith("<DomainEvaluation: mean return")


def test_evaluate_in_reports_progress_to_the_end(here: Path) -> None:
    shares: list[float] = []
    model = suffice.load("maze.model")
    model.evaluate_in("t-maze", episodes=50, options={"length": 2}, progress=lambda done, of: shares.append(done / of))
    assert shares == sorted(shares) and shares[-1] == 1


@pytest.mark.parametrize(
    ("domain", "chosen", "message"),
    [
        ("t-maze", {"episodes": 0}, "episodes=0 is too few"),
        ("t-maze", {"seed": -1}, "seed=-1 is negative"),
        ("corridor", {}, "something else|another process|corridor"),
        ("t-mase", {}, "t-maze"),
        ("suffice/TMaze-v0", {"exact": True}, "Leave out exact=True"),
        ("suffice/TMaz-v0", {}, "not a registered Gymnasium environment"),
        ("suffice/TMaze-v0", {"options": {"size": 2}}, "size"),
    ],
)
def test_evaluate_in_refuses_impossible_requests(here: Path, domain: str, chosen: dict[str, Any], message: str) -> None:
    with pytest.raises(suffice.SufficeError, match=message):
        suffice.load("maze.model").evaluate_in(domain, **chosen)


def test_evaluate_in_refuses_options_of_a_domain_object(here: Path) -> None:
    maze = suffice.make("t-maze", {"length": "2"})
    with pytest.raises(suffice.SettingsError, match="options belong to a domain that is given by name"):
        suffice.load("maze.model").evaluate_in(maze, options={"length": 2})
