"""`suffice learn` and `suffice info` about plans: planners, halves and the second look."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suffice.automata.rdp import BEHAVE
from suffice.models.model import Model
from suffice.planning.planner import GREEDY, Planning
from suffice.planning.regorl import mean_return, regorl
from suffice.view.arrows import over
from support.cli import ok
from support.evaluated_models import EPISODES, about, expected, log_of, make_models

pytestmark = pytest.mark.filterwarnings("ignore:Cyclopts application invoked without tokens")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with logs and models of a T-maze."""
    return make_models(tmp_path_factory)


def learned(*options: str) -> dict[str, Any]:
    """What `learn` says of a model b.model with these options."""
    return json.loads(ok("learn", "log.parquet", "-o", "b.model", "--json", *options))


# What learn and info say

PLAN_FIELDS = {
    "planner", "strength", "delta", "value", "error", "predicted", "predicted_error", "lower_bound", "behaviour_value",
    "sentence", "split", "proved_lower", "proved_upper",
    "discount", "behaviour_error", "accuracy", "max_states",
}  # fmt: skip
OLD_FIELDS = {
    "states", "horizon", "layers", "candidates", "languages", "metric", "family", "bound", "delta", "confidence", "cut",
    "forced_share", "promise", "seconds", "bytes", "episodes", "log_hash", "version",
}  # fmt: skip


def test_learn_says_what_the_plan_will_bring(here: Path) -> None:
    said = ok("learn", "log.parquet", "-o", "b.model").splitlines()
    plan = about("b.model")["plan"]
    assert plan["sentence"] in said and plan["sentence"] in ok("info", "b.model").splitlines()
    promised = re.search(
        r"Predicted return (\S+) per episode \(lower bound (\S+), if the automaton is right\); logged mean return "
        r"(\S+)\. ",
        plan["sentence"],
    )
    assert promised is not None
    figures = [float(plan[name]) for name in ("predicted", "lower_bound", "behaviour_value")]
    assert [float(text) for text in promised.groups()] == pytest.approx(figures, rel=5e-3)
    assert said[-1] == "Next: suffice explore b.model -o b.html   or   suffice report b.model"


def test_learn_says_whether_to_follow_the_plan(here: Path) -> None:
    """If its lower bound is above what the log brought; to do as the log did is no better than the log."""
    plan = about("a.model")["plan"]
    assert plan["lower_bound"] > plan["behaviour_value"] and plan["sentence"].startswith("Follow the plan: ")
    plan = learned("--strength", "1e6")["plan"]
    assert plan["lower_bound"] < plan["behaviour_value"]
    assert plan["sentence"].startswith("Keep the logged behaviour: ")


def test_info_describes_the_plan_to_scripts(here: Path) -> None:
    plan, loaded = about("a.model")["plan"], Model.load("a.model")
    assert set(plan) == PLAN_FIELDS
    assert (plan["planner"], plan["strength"], plan["delta"], plan["split"]) == ("safe", 0.01, 0.05, False)
    assert plan["proved_lower"] is plan["proved_upper"] is None
    assert loaded.plan is not None and (plan["value"], plan["error"]) == (loaded.plan.value, loaded.plan.error)
    assert plan["lower_bound"] == pytest.approx(plan["predicted"] - 1.6448536 * plan["predicted_error"])
    assert plan["behaviour_value"] == mean_return(log_of("log.parquet"))
    assert plan["predicted"] == regorl(log_of("log.parquet")).prediction.value


@pytest.mark.parametrize("model", ["a.model", "none.model", "held.model"])
def test_info_keeps_its_old_promises(here: Path, model: str) -> None:
    said = about(model)
    assert set(said) >= OLD_FIELDS | {"plan", "second_look", "held_out"}
    assert (said["plan"] is None) == (model == "none.model")
    assert said["second_look"] == (model != "none.model") and said["held_out"] == (0.3 if model == "held.model" else 0)
    lists = [said[name] for name in ("layers", "candidates", "languages")]
    assert [len(values) for values in lists] == [said["horizon"] + 2] * 3
    assert said["states"] == sum(said["layers"]) and said["promise"]["tests"] > 0
    assert said["log_hash"] == log_of("log.parquet").digest(ordered=model == "held.model")
    assert said["episodes"] == (6300 if model == "held.model" else EPISODES)


def test_learn_and_info_say_the_same(here: Path) -> None:
    for options in ("", "--split", "--planner none", "--hold-out 0.2"):
        assert learned(*options.split()) == about("b.model")


def test_states_are_shown_with_what_to_do(here: Path) -> None:
    loaded = Model.load("a.model")
    plan, rdp = loaded.plan, loaded.rdp
    assert plan is not None
    rows = [line for line in ok("info", "a.model", "--states").splitlines() if re.match(r"  layer \d+ state \d+", line)]
    inner = sorted(set(range(rdp.n_states)) - over(rdp))
    assert len(rows) == len(inner)
    for q, row in list(zip(inner, rows, strict=True))[1:]:
        words = row.split("%")[1].split()
        action = "as logged" if plan.actions[q] == BEHAVE else str(rdp.alphabet.actions[plan.actions[q]])
        assert " ".join(words).startswith(f"{action} ")
        assert float(words[len(action.split())]) == pytest.approx(plan.values[q], rel=1e-3)
    assert "as logged" not in ok("info", "none.model", "--states")


def test_the_policy_is_exported(here: Path) -> None:
    ok("export", "a.model", "--format", "json", "-o", "a.json")
    exported, loaded = json.loads((here / "a.json").read_text()), Model.load("a.model")
    rows, plan, offsets = exported["policy"], loaded.plan, loaded.rdp.offsets()
    assert plan is not None
    places = [(t, q) for t in range(1, exported["horizon"] + 1) for q in range(exported["layers"][t])]
    assert [(row["t"], row["state"]) for row in rows] == places
    transitions = {(row["t"], row["state"], row["action"]) for row in exported["transitions"]}
    kinds = set()
    for row in rows:
        q = int(offsets[row["t"]]) + row["state"]
        assert row["value"] == plan.values[q]
        if row["action"] is None:
            kinds.add("as logged")
            assert sum(row["chances"].values()) == pytest.approx(1) and plan.actions[q] == BEHAVE
        else:
            kinds.add("over" if row["action"] == "pad" else "acts")
            assert "chances" not in row and (row["t"], row["state"], row["action"]) in transitions
    assert kinds >= {"over", "acts"}
    ok("export", "none.model", "--format", "json", "-o", "none.json")
    assert json.loads((here / "none.json").read_text())["policy"] == []


def test_what_is_left_to_the_log_is_exported_with_its_chances(here: Path) -> None:
    learned("--strength", "1e6")
    ok("export", "b.model", "--format", "json", "-o", "b.json")
    rows = json.loads((here / "b.json").read_text())["policy"]
    behaving = [row for row in rows if row["action"] is None]
    assert behaving and {row["action"] for row in rows} == {None, "pad"}
    for row in behaving:
        assert set(row["chances"]) == set("ENSW") and max(row["chances"].values()) < 0.5


# How to plan


@pytest.mark.parametrize(
    ("options", "planning"),
    [
        ("--planner safe", Planning()),
        ("--planner pessimistic", Planning(safe=False)),
        ("--planner greedy", GREEDY),
        ("--planner subsampled", Planning(subsample=True)),
        ("--strength 0.5", Planning(strength=0.5)),
        ("--strength 0", Planning(strength=0)),
        ("--planner pessimistic --strength 0.001", Planning(strength=0.001, safe=False)),
        ("--planner subsampled --strength 0.1 --seed 4", Planning(strength=0.1, subsample=True)),
    ],
)
def test_planners_are_those_of_the_library(here: Path, options: str, planning: Planning) -> None:
    said = learned(*options.split())["plan"]
    rng = np.random.default_rng(4 if "--seed" in options else 0)
    right = regorl(log_of("log.parquet"), planning=planning, rng=rng)
    found = Model.load("b.model").plan
    assert (said["planner"], said["strength"]) == (planning.name, planning.strength)
    assert found is not None and found.actions.tolist() == right.plan.actions.tolist()
    assert found.values.tolist() == right.plan.values.tolist() and said["predicted"] == right.prediction.value
    assert said["proved_lower"] is said["proved_upper"] is right.bracket is None


def test_planners_differ(here: Path) -> None:
    plans = {}
    for options in ("--planner safe", "--planner greedy", "--planner subsampled", "--strength 1e6"):
        learned(*options.split())
        plan = Model.load("b.model").plan
        assert plan is not None
        plans[options] = plan.actions.tobytes()
    assert len(set(plans.values())) >= 3


def test_a_subsampled_plan_of_a_split_is_proved_to_be_within_a_bracket(here: Path) -> None:
    plan = learned("--split", "--planner", "subsampled")["plan"]
    assert plan["proved_lower"] <= plan["proved_upper"]
    assert plan["proved_lower"] <= expected("b.model").mean_return <= 4 <= plan["proved_upper"] + 1e-9


def test_who_is_too_cautious_does_as_the_log(here: Path) -> None:
    plan = learned("--strength", "1e6")["plan"]
    assert plan["value"] == pytest.approx(plan["behaviour_value"])
    found = Model.load("b.model").plan
    assert found is not None and set(found.actions.tolist()) == {BEHAVE}


# Halves


def per_test(delta: float, max_states: int) -> float:
    actions, observations, _ = log_of("log.parquet").suffix_alphabet()
    return delta / (4 * len(actions) * len(observations) * max_states)


@pytest.mark.parametrize(
    ("options", "delta", "max_states"),
    [("", 0.05, 1000), ("--delta 0.2", 0.2, 1000), ("--delta 0.1 --max-states 20", 0.1, 20)],
)
def test_a_split_divides_delta_as_the_paper_does(here: Path, options: str, delta: float, max_states: int) -> None:
    said = learned("--split", *options.split())
    assert said["delta"] == pytest.approx(per_test(delta, max_states)) and said["second_look"] is False
    assert said["plan"]["split"] is True and said["plan"]["delta"] == pytest.approx(delta / 2)
    assert said["episodes"] == EPISODES / 2
    assert f"with about {100 * (1 - delta / 2):.3g} % confidence" in said["plan"]["sentence"]
    assert "The automaton comes from one half of the episodes" in said["plan"]["sentence"]
    assert f"within ε of the best policy with probability {1 - delta:g}" in said["plan"]["sentence"]


def test_a_split_says_whether_an_accuracy_is_proved(here: Path) -> None:
    for accuracy, told in (("30", "is proved."), ("0.5", "is not proved; that takes more episodes.")):
        plan = learned("--split", "--planner", "subsampled", "--accuracy", accuracy, "--max-states", "40")["plan"]
        gap = plan["proved_upper"] - plan["proved_lower"]
        assert (gap <= float(accuracy)) == (accuracy == "30")
        assert plan["sentence"].endswith(f"The requested accuracy of {accuracy} {told}")
        assert "Proved, with probability 0.95, if the process has at most 40 states" in plan["sentence"]


def test_seeds_choose_the_halves(here: Path) -> None:
    models = set()
    for seed in ("0", "0", "1"):
        learned("--split", "--seed", seed)
        models.add((here / "b.model").read_bytes())
    assert len(models) == 2


# The second look


@pytest.mark.parametrize(
    ("options", "looks"),
    [
        ("", True),
        ("--planner greedy", True),
        ("--strength 0.1", True),
        ("--hold-out 0.2", True),
        ("--seed 3", True),
        ("--horizon 3", True),
        ("--threads 1", True),
        ("--metric prefixes", False),
        ("--metric sketch", False),
        ("--family 1,1,1", False),
        ("--bound fisher", False),
        ("--bound paper", False),
        ("--delta 0.001", False),
        ("--confidence 0.9", False),
        ("--cut 0.01", False),
        ("--split", False),
        ("--no-second-look", False),
        ("--planner none", False),
        ("--second-look", True),
        ("--planner none --second-look", True),
        ("--delta 0.01 --second-look", True),
        ("--metric prefixes --bound paper --second-look", True),
        ("--confidence 0.9 --second-look", True),
    ],
)
def test_a_second_look_is_taken_unless_a_test_or_level_is_chosen(here: Path, options: str, looks: bool) -> None:
    said = ok("learn", "log.parquet", "-o", "b.model", *options.split())
    assert about("b.model")["second_look"] is looks
    assert ("Refinement: no false split" in said) is looks
