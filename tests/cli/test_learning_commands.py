"""Tests of `suffice learn` and `suffice info`: summary, planners, --split and refinement."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suffice.automata.rdp import BEHAVE
from suffice.models.model import Model
from suffice.models.model_data import ended_states
from suffice.planning.planner import GREEDY, Planning
from suffice.planning.regorl import mean_return, regorl
from support.cli import ok, unwrapped
from support.evaluated_models import EPISODES, about, expected, log_of, make_models

pytestmark = pytest.mark.filterwarnings("ignore:Cyclopts application invoked without tokens")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with logs and models of a T-maze."""
    return make_models(tmp_path_factory)


def learned(*options: str) -> dict[str, Any]:
    """Return the JSON that `learn` prints for b.model with these options."""
    return json.loads(ok("learn", "log.parquet", "-o", "b.model", "--json", "--stationary", "no", *options))


# Output of learn and info

PLAN_FIELDS = {
    "planner", "strength", "delta", "value", "error", "predicted", "predicted_error", "lower_bound", "behaviour_value",
    "sentence", "split", "proved_lower", "proved_upper",
    "discount", "behaviour_error", "accuracy", "max_states", "gain", "gain_error", "gain_lower_bound",
    "misfit", "judged",
}  # fmt: skip
OLD_FIELDS = {
    "states", "horizon", "layers", "candidates", "languages", "metric", "family", "bound", "delta", "confidence", "cut",
    "forced_share", "promise", "seconds", "bytes", "episodes", "log_hash", "version",
}  # fmt: skip


def rows_of(said: str) -> dict[str, str]:
    """Return the text of each label of a summary, with wrapped lines joined."""
    found: dict[str, str] = {}
    width = re.match(r".*?  +", said)
    assert width is not None
    for line in said.splitlines():
        label, text = line[: width.end()].strip(), line[width.end() :]
        label = label or list(found)[-1]
        found[label] = f"{found[label]} {text}" if label in found else text
    return found


def test_learn_prints_a_short_summary_with_the_advice_first(here: Path) -> None:
    said = ok("learn", "log.parquet", "-o", "b.model")
    rows, plan = rows_of(said), about("b.model")["plan"]
    assert [label for label in rows if label != "Careful"] == [
        "Follow the plan", "Logged return", "Memory", "Columns", "Guarantee", "Saved", "Details", "Next",
    ]  # fmt: skip
    advice = rows["Follow the plan"].partition(";")[0]
    figures = re.findall(r"-?\d+\.\d+", advice + rows["Logged return"].partition(",")[0])
    right = [float(plan[name]) for name in ("predicted", "lower_bound", "behaviour_value")]
    assert [float(text) for text in figures] == pytest.approx(right, abs=0.006)
    assert re.fullmatch(r"\S+ per episode expected, at least \S+ with 95 % confidence", advice)
    assert rows["Follow the plan"].partition("; ")[2].startswith("gain at least ")
    assert float(rows["Follow the plan"].split()[-1]) == pytest.approx(plan["gain_lower_bound"], abs=0.006)
    begins = "Follow the plan: held-out episodes show that it returns more than the logged behaviour. Predicted return "
    assert plan["sentence"].startswith(begins) and "; logged mean return " in plan["sentence"]
    assert "Prediction and bound come from cross-fitting" in plan["sentence"]
    low, high = map(float, re.findall(r"interval (\S+) to (\S+)", rows["Logged return"])[0])
    assert low < right[2] < high and high - low == pytest.approx(2 * 1.96 * plan["behaviour_error"], abs=0.02)
    assert rows["Columns"] == "bit1, bit2, bit3" and rows["Saved"].startswith("b.model (learned in ")
    assert rows["Next"] == "suffice explore b.model -o b.html   or   suffice report b.model"
    assert "--why" in rows["Details"] and max(map(len, said.splitlines())) <= 120


@pytest.mark.parametrize("options", ["", "--split", "--planner none", "--strength 1e6", "--hold-out 0.2 --bin bit1=2"])
def test_learn_claims_a_confidence_only_where_one_holds(here: Path, options: str) -> None:
    """Predictions come from episodes that did not make the plan; only that of --split assumes a right automaton."""
    said = ok("learn", "log.parquet", "-o", "b.model", *options.split())
    assert ("% confidence" in said.splitlines()[0]) is (options != "--planner none")
    assert ("if the automaton is right" in said) is (options == "--split")
    assert "plan and prediction share episodes" not in said


def test_learn_prints_the_details_with_why(here: Path) -> None:
    details = ok("learn", "log.parquet", "-o", "b.model", "--why", "--stationary", "no")
    short, said = ok("learn", "log.parquet", "-o", "b.model", "--stationary", "no"), about("b.model")
    for sentence in (said["promise"]["sentence"], said["promise"]["second_look_sentence"], said["plan"]["sentence"]):
        assert sentence in unwrapped(details) and sentence in unwrapped(ok("info", "b.model"))
        assert sentence not in unwrapped(short)
    assert "Examples of events that distinguish states:" in details and len(short.splitlines()) <= 12
    assert details.splitlines()[-1].startswith("Next ")


def test_learn_advises_to_follow_a_plan_only_if_held_out_episodes_show_a_gain(here: Path) -> None:
    found = about("a.model")
    assert found["plan"]["gain"] > 1.96 * found["plan"]["gain_error"] and found["verdict"] == "follow"
    said = ok("learn", "log.parquet", "-o", "b.model", "--strength", "1e6")  # the plan is the logged behaviour
    found = about("b.model")
    assert abs(found["plan"]["gain"]) <= 1.96 * found["plan"]["gain_error"] and found["verdict"] == "no difference"
    assert said.splitlines()[0].startswith("No difference  no clear gain over the log; plan: ")
    assert found["plan"]["sentence"].startswith("No difference: held-out episodes show no clear difference between")


def test_info_json_has_verdict_memory_columns_and_returns(here: Path) -> None:
    found = about("a.model")
    assert (found["verdict"], found["verdict_reasons"]) == ("follow", ["better_on_held_out"])
    assert found["memory"] == "layers" and found["columns_ignored"] == []
    assert found["columns"] == [{"name": f"bit{i}", "kind": "category", "groups": None} for i in (1, 2, 3)]
    names = {"predicted": "predicted", "lower_bound": "lower_bound", "logged": "behaviour_value"}
    assert {name: found[name] for name in names} == {name: found["plan"][other] for name, other in names.items()}
    bare = about("none.model")
    assert [bare[name] for name in ("verdict", "verdict_reasons", *names)] == [None, [], None, None, None]
    binned = learned("--bin", "bit2=2")
    assert binned["columns"][1] == {"name": "bit2", "kind": "number", "cuts": binned["bins"]["bit2"]}


def test_info_json_describes_the_plan(here: Path) -> None:
    plan, loaded = about("a.model")["plan"], Model.load("a.model")
    assert set(plan) == PLAN_FIELDS
    assert (plan["planner"], plan["strength"], plan["delta"], plan["split"]) == ("safe", 0.01, 0.05, False)
    assert plan["proved_lower"] is plan["proved_upper"] is None
    assert loaded.plan is not None and (plan["value"], plan["error"]) == (loaded.plan.value, loaded.plan.error)
    assert plan["lower_bound"] < plan["predicted"] and plan["judged"] == log_of("log.parquet").total
    assert plan["behaviour_value"] == mean_return(log_of("log.parquet"))
    assert plan["predicted"] == regorl(log_of("log.parquet")).prediction.value


@pytest.mark.parametrize("model", ["a.model", "none.model", "held.model"])
def test_info_json_keeps_its_keys_for_every_kind_of_model(here: Path, model: str) -> None:
    said = about(model)
    assert set(said) >= OLD_FIELDS | {"plan", "second_look", "held_out"}
    assert (said["plan"] is None) == (model == "none.model")
    assert said["second_look"] == (model != "none.model") and said["held_out"] == (0.3 if model == "held.model" else 0)
    lists = [said[name] for name in ("layers", "candidates", "languages")]
    assert [len(values) for values in lists] == [said["horizon"] + 2] * 3
    assert said["states"] == sum(said["layers"]) and said["promise"]["tests"] > 0
    assert said["log_hash"] == log_of("log.parquet").digest()
    assert said["episodes"] == (6300 if model == "held.model" else EPISODES)


def test_learn_json_equals_info_json(here: Path) -> None:
    for options in ("", "--split", "--planner none", "--hold-out 0.2"):
        assert learned(*options.split()) == about("b.model")


def test_info_states_shows_action_and_value_of_each_state(here: Path) -> None:
    loaded = Model.load("a.model")
    plan, rdp = loaded.plan, loaded.rdp
    assert plan is not None
    rows = [line for line in ok("info", "a.model", "--states").splitlines() if re.match(r"  layer \d+ state \d+", line)]
    inner = sorted(set(range(rdp.n_states)) - ended_states(rdp))
    assert len(rows) == len(inner)
    for q, row in list(zip(inner, rows, strict=True))[1:]:
        words = row.split("%")[1].split()
        action = "as logged" if plan.actions[q] == BEHAVE else str(rdp.alphabet.actions[plan.actions[q]])
        assert " ".join(words).startswith(f"{action} ")
        assert float(words[len(action.split())]) == pytest.approx(plan.values[q], rel=1e-3)
    assert "as logged" not in ok("info", "none.model", "--states")


def test_export_json_contains_the_policy(here: Path) -> None:
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


def test_export_json_contains_probabilities_of_the_logged_behaviour(here: Path) -> None:
    learned("--strength", "1e6")
    ok("export", "b.model", "--format", "json", "-o", "b.json")
    rows = json.loads((here / "b.json").read_text())["policy"]
    behaving = [row for row in rows if row["action"] is None]
    assert behaving and {row["action"] for row in rows} == {None, "pad"}
    for row in behaving:
        assert set(row["chances"]) == set("ENSW") and max(row["chances"].values()) < 0.5


# Planners


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
def test_learn_planner_gives_the_plan_of_the_library(here: Path, options: str, planning: Planning) -> None:
    said = learned(*options.split())["plan"]
    rng = np.random.default_rng(4 if "--seed" in options else 0)
    right = regorl(log_of("log.parquet"), planning=planning, rng=rng)
    found = Model.load("b.model").plan
    assert (said["planner"], said["strength"]) == (planning.name, planning.strength)
    assert found is not None and found.actions.tolist() == right.plan.actions.tolist()
    assert found.values.tolist() == right.plan.values.tolist() and said["predicted"] == right.prediction.value
    assert said["proved_lower"] is said["proved_upper"] is right.bracket is None


def test_learn_planners_give_different_plans(here: Path) -> None:
    plans = {}
    for options in ("--planner safe", "--planner greedy", "--planner subsampled", "--strength 1e6"):
        learned(*options.split())
        plan = Model.load("b.model").plan
        assert plan is not None
        plans[options] = plan.actions.tobytes()
    assert len(set(plans.values())) >= 3


def test_learn_split_subsampled_proves_bounds_on_the_return(here: Path) -> None:
    plan = learned("--split", "--planner", "subsampled")["plan"]
    assert plan["proved_lower"] <= plan["proved_upper"]
    assert plan["proved_lower"] <= expected("b.model").mean_return <= 4 <= plan["proved_upper"] + 1e-9


def test_learn_with_a_large_strength_keeps_the_logged_behaviour(here: Path) -> None:
    plan = learned("--strength", "1e6")["plan"]
    assert plan["value"] == pytest.approx(plan["behaviour_value"])
    found = Model.load("b.model").plan
    assert found is not None and set(found.actions.tolist()) == {BEHAVE}


# --split


def per_test(delta: float, max_states: int) -> float:
    actions, observations, _ = log_of("log.parquet").suffix_alphabet()
    return delta / (4 * len(actions) * len(observations) * max_states)


@pytest.mark.parametrize(
    ("options", "delta", "max_states"),
    [("", 0.05, 1000), ("--delta 0.2", 0.2, 1000), ("--delta 0.1 --max-states 20", 0.1, 20)],
)
def test_learn_split_divides_delta_as_in_the_paper(here: Path, options: str, delta: float, max_states: int) -> None:
    said = learned("--split", *options.split())
    assert said["delta"] == pytest.approx(per_test(delta, max_states)) and said["second_look"] is False
    assert said["plan"]["split"] is True and said["plan"]["delta"] == pytest.approx(delta / 2)
    assert said["episodes"] == EPISODES / 2
    sentence = said["plan"]["sentence"]
    assert f" with about {100 * (1 - delta / 2):.3g} % confidence, if the automaton is right); " in sentence
    assert "The automaton comes from one half of the episodes and the plan from the other; " in sentence
    assert f"(within ε of the best policy with probability {1 - delta:g}, if N is large enough)" in sentence
    assert sentence.endswith(" is for plans on independent counts: use --planner subsampled.")


def test_learn_split_reports_whether_the_accuracy_is_proved(here: Path) -> None:
    proved = "Proved, with probability 0.95, if the process has at most 40 states and N is large enough"
    for accuracy, reached in (("30", True), ("0.5", False)):
        plan = learned("--split", "--planner", "subsampled", "--accuracy", accuracy, "--max-states", "40")["plan"]
        gap = plan["proved_upper"] - plan["proved_lower"]
        assert (gap <= float(accuracy)) is reached
        result = "is proved." if reached else "is not proved; that takes more episodes."
        assert proved in plan["sentence"]
        assert plan["sentence"].endswith(f" The requested accuracy of {accuracy} {result}")


def test_learn_split_chooses_halves_by_the_seed(here: Path) -> None:
    models = set()
    for seed in ("0", "0", "1"):
        learned("--split", "--seed", seed)
        models.add((here / "b.model").read_bytes())
    assert len(models) == 2


# Refinement


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
def test_learn_refines_unless_a_test_or_level_is_chosen(here: Path, options: str, looks: bool) -> None:
    said = ok("learn", "log.parquet", "-o", "b.model", "--why", "--stationary", "no", *options.split())
    assert about("b.model")["second_look"] is looks
    assert ("Refinement: no false split with probability at least " in unwrapped(said)) is looks
    assert (Model.load("b.model").about.promise.second_sentence != "") is looks
    assert "under assumptions" in rows_of(said)["Guarantee"]
