"""The command line about policies: what `learn` plans and says, and `evaluate` in domains, environments and by logs."""

from __future__ import annotations

import json
import math
import re
import shlex
import zipfile
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from suffice.automata.rdp import BEHAVE
from suffice.data.encoding.columns import Columns
from suffice.data.episodes import Episodes
from suffice.data.logs.reading import read_log
from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.exact.values import Evaluation, best_plan, evaluate
from suffice.domains.tasks.t_maze import TMaze
from suffice.models.model import Model
from suffice.planning.controller import Controller
from suffice.planning.off_policy import judge
from suffice.planning.planner import GREEDY, Planning
from suffice.planning.regorl import mean_return, regorl
from suffice.view.arrows import over
from support.cli import MAZE, contents, ok, suffice
from support.paths import ROOT

pytestmark = pytest.mark.filterwarnings("ignore:Cyclopts application invoked without tokens")

TIGER = str(ROOT / "examples/pomdp/tiger.POMDP")
DOMAIN = ("--domain", "t-maze", "--set", "length=2")
MEASURES = ("mean_return", "return_per_step", "success_rate")
EPISODES = 9000


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with logs and models of a T-maze."""
    folder = tmp_path_factory.mktemp("policies")

    def path(name: str) -> str:
        return str(folder / name)

    ok("simulate", *MAZE, "--episodes", str(EPISODES), "-o", path("log.parquet"))
    ok("simulate", *MAZE, "--episodes", "3000", "--seed", "5", "-o", path("other.parquet"))
    ok("learn", path("log.parquet"), "-o", path("a.model"))
    ok("learn", path("log.parquet"), "-o", path("held.model"), "--hold-out", "0.3")
    ok("learn", path("log.parquet"), "-o", path("none.model"), "--planner", "none")
    table = pq.read_table(folder / "other.parquet")
    rng = np.random.default_rng(0)
    pq.write_table(table.append_column("chance", pa.array(rng.uniform(0.2, 0.3, len(table)))), path("chance.parquet"))
    return folder


def about(name: str) -> dict[str, Any]:
    return json.loads(ok("info", name, "--json"))


def learned(*options: str) -> dict[str, Any]:
    """What `learn` says of a model b.model with these options."""
    return json.loads(ok("learn", "log.parquet", "-o", "b.model", "--json", *options))


def evaluated(*args: str) -> dict[str, Any]:
    return json.loads(ok("evaluate", *args, "--json"))


def expected(model: str, domain: Any = None, horizon: int = 4) -> Evaluation:
    """By the library."""
    loaded = Model.load(model)
    finite = (domain or TMaze(length=2)).model(horizon)
    assert loaded.plan is not None
    return evaluate(finite, Controller.on_automaton(loaded.rdp, finite.alphabet, loaded.plan.actions), horizon)


def log_of(name: str) -> Episodes:
    return read_log(name)[0]


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
        r"The plan is predicted to bring (\S+) per episode, likely at least (\S+) if the automaton "
        r"is right; the log brought (\S+)\. ",
        plan["sentence"],
    )
    assert promised is not None
    figures = [float(plan[name]) for name in ("predicted", "lower_bound", "behaviour_value")]
    assert [float(text) for text in promised.groups()] == pytest.approx(figures, rel=1e-3)
    assert said[-1] == "Next: suffice explore b.model -o b.html   or   suffice report b.model"


def test_learn_says_whether_to_follow_the_plan(here: Path) -> None:
    """If its lower bound is above what the log brought; to do as the log did is no better than the log."""
    plan = about("a.model")["plan"]
    assert plan["lower_bound"] > plan["behaviour_value"] and plan["sentence"].startswith("Follow the plan: ")
    plan = learned("--strength", "1e6")["plan"]
    assert plan["lower_bound"] < plan["behaviour_value"]
    assert plan["sentence"].startswith("Keep to what the log did for now: ")


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
        assert plan["sentence"].endswith(f"The accuracy of {accuracy} that was asked for {told}")
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
    assert ("A second look compared merged histories" in said) is looks


# Mistakes

MISTAKES = [
    ("learn log.parquet -o b --planner bold", 'Invalid value "bold" for --planner'),
    ("learn log.parquet -o b --planner greedy --strength 1", "--planner greedy is not; leave it out"),
    ("learn log.parquet -o b --planner none --strength 1", "--planner none is not; leave it out"),
    ("learn log.parquet -o b --planner none --split", "--split and --hold-out are for a plan"),
    ("learn log.parquet -o b --planner none --hold-out 0.2", "--split and --hold-out are for a plan"),
    ("learn log.parquet -o b --strength=-1", "the strength of pessimism is a number from 0 on, not -1; try 0.01"),
    ("learn log.parquet -o b --strength inf", "the strength of pessimism is a number from 0 on, not inf"),
    ("learn log.parquet -o b --strength much", "--strength"),
    ("learn log.parquet -o b --accuracy 0.1", "--accuracy can be proved for --planner subsampled only"),
    ("learn log.parquet -o b --planner subsampled --accuracy 0.1", "--accuracy and --max-states go with --split"),
    ("learn log.parquet -o b --max-states 50", "--accuracy and --max-states go with --split"),
    ("learn log.parquet -o b --split --planner subsampled --accuracy 0", "accuracy must be above 0, not 0"),
    ("learn log.parquet -o b --split --planner subsampled --accuracy nan", "accuracy must be above 0, not nan"),
    ("learn log.parquet -o b --split --max-states 0", "max_states must be at least 1, not 0"),
    ("learn log.parquet -o b --split --max-states 2.5", "--max-states needs a whole number, not 2.5"),
    ("learn log.parquet -o b --split --delta 1", "delta is a probability between 0 and 1, not 1"),
    ("learn log.parquet -o b --split --second-look", "--split is the paper's way, which takes no second look"),
    ("learn log.parquet -o b --split --confidence 0.9", "--split divides δ as the paper does; leave --confidence out"),
    ("learn log.parquet -o b --hold-out 0", "a share of 0 of 9,000 episodes leaves one side empty"),
    ("learn log.parquet -o b --hold-out 1", "a share of 1 of 9,000 episodes leaves one side empty"),
    ("learn log.parquet -o b --hold-out 0.00001", "a share of 1e-05 of 9,000 episodes leaves one side empty"),
    ("learn log.parquet -o b --hold-out nan", "a share of nan of 9,000 episodes leaves one side empty"),
    ("learn log.parquet -o b --second-look --no-second-look", "specified multiple times"),
    ("learn log.parquet -o b --propensity-column p", "there is no column 'p'"),
    ("learn log.parquet -o b --propensity-column reward", "column 'reward' is asked for twice; give it one role"),
    ("evaluate a.model", "say where to evaluate: either --domain NAME or --log LOG"),
    ("evaluate a.model --domain t-maze --log log.parquet", "say where to evaluate: either --domain NAME or --log LOG"),
    ("evaluate --domain t-maze", "MODEL requires an argument"),
    ("evaluate nothing.model --domain t-maze", "nothing.model: there is no such file; make one with: suffice learn"),
    ("evaluate log.parquet --domain t-maze", "log.parquet: this is no model file, or a damaged one"),
    ("evaluate none.model --domain t-maze", "none.model: this model has no plan: learn it again, without --planner"),
    ("evaluate none.model --log other.parquet", "none.model: this model has no plan"),
    ("evaluate a.model --domain t-mase", "unknown domain: 't-mase'; did you mean 't-maze'?"),
    ("evaluate a.model --domain nothing.POMDP", "nothing.POMDP: the file cannot be read"),
    ("evaluate a.model --domain t-maze --set lenght=2", "did you mean 'length'?"),
    ("evaluate a.model --domain t-maze --episodes 0", "--episodes must be at least 1, not 0"),
    ("evaluate a.model --domain t-maze --seed=-1", "--seed must be 0 or more, not -1"),
    ("evaluate a.model --domain t-maze --horizon 3", "--horizon 3 is about a log, and none is named; leave it out"),
    ("evaluate a.model --domain t-maze --propensity-column p", "--propensity-column p is about a log"),
    ("evaluate a.model --domain suffice/TMaze-v0 --exact", "--exact needs a finite model, which suffice/TMaze-v0 does"),
    ("evaluate a.model --domain suffice/TMaze-v0 --set lenght=2", "did you mean 'length'?"),
    ("evaluate a.model --domain suffice/TMaze-v0 --behaviour a.model", "suffice/TMaze-v0 is a Gymnasium id"),
    ("evaluate a.model --domain suffice/TMaze-v0 --set length", "--set length should read --set OPTION=VALUE"),
    ("evaluate a.model --domain suffice/Cookie-v0", "take a model learned from its episodes"),
    ("evaluate a.model --domain CartPole-v1", "take a model learned from its episodes"),
    ("evaluate a.model --log other.parquet --exact", "--exact, --episodes and --seed are for --domain NAME"),
    ("evaluate a.model --log other.parquet --seed 1", "--exact, --episodes and --seed are for --domain NAME"),
    ("evaluate a.model --log other.parquet --set length=2", "--set length=2 is about a domain, and none is named"),
    ("evaluate a.model --log nothing.parquet", "nothing.parquet: there is no such file"),
    ("evaluate a.model --log log.parquet", "a.model was learned from all of log.parquet, which would flatter it"),
    ("evaluate a.model --log other.parquet --propensity-column p", "there is no column 'p'"),
    ("evaluate a.model --log other.parquet --propensity-column bit1", "column 'bit1': a propensity is the probability"),
]


@pytest.mark.parametrize(("command", "complaint"), MISTAKES, ids=[command for command, _ in MISTAKES])
def test_a_mistake_is_one_line_and_writes_nothing(here: Path, command: str, complaint: str) -> None:
    before = contents(here)
    ran = suffice(*shlex.split(command))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("suffice: ") and ran.err.endswith("\n") and ran.err.count("\n") == 1
    assert complaint in ran.err
    assert contents(here) == before


def test_an_option_that_an_environment_does_not_have_is_one_line(here: Path) -> None:
    ran = suffice("evaluate", "a.model", "--domain", "CartPole-v1", "--set", "colour=blue")
    assert (ran.code, ran.out) == (2, "") and ran.err.count("\n") == 1
    assert ran.err.startswith("suffice: CartPole-v1 cannot be made with --set colour=blue: ")


@pytest.mark.parametrize(
    ("domain", "told"),
    [
        ("cookie", "its actions are E, N, S, W, the domain's down, eat, left, press, right, up; "),
        ("cheese", "its features are bit1, bit2, bit3, the domain's walls; "),
    ],
)
def test_a_model_of_another_domain_is_refused_with_both_alphabets(here: Path, domain: str, told: str) -> None:
    ran = suffice("evaluate", "a.model", "--domain", domain)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"suffice: a.model is a model of something else than {domain}: {told}"
        "name the domain it was learned from, with the same --set\n"
    )


def test_a_model_of_other_observations_is_refused(here: Path) -> None:
    ok("simulate", *MAZE, "--set", "noise=true", "--episodes", "300", "-o", "noisy.parquet")
    ok("learn", "noisy.parquet", "-o", "noisy.model")
    ran = suffice("evaluate", "noisy.model", *DOMAIN)
    four = "(0, 1, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)"
    assert ran.code == 2 and f"its observations are {four}, (1, 1, 1), the domain's {four}; " in ran.err
    assert evaluated("noisy.model", *DOMAIN, "--set", "noise=true", "--episodes", "50")["episodes"] == 50


# In a domain


def test_a_policy_is_tried_beside_the_behaviour_and_the_best(here: Path) -> None:
    found, right = evaluated("a.model", *DOMAIN), expected("a.model")
    behaviour = TMaze(length=2).model(4)
    usual = evaluate(behaviour, behaviour.usual, 4)
    for name in MEASURES:
        for column, exact in ((found, right), (found["behaviour"], usual)):
            error = column[f"{name}_stderr"]
            assert abs(column[name] - float(getattr(exact, name))) <= 4 * error + 1e-12
        assert found["behaviour"][f"{name}_stderr"] > 0
    assert found["optimal_value"] == best_plan(minimal_rdp(behaviour, 4)).value == 4
    assert (found["episodes"], found["seed"], found["horizon"], found["exact"]) == (10_000, 0, 4, False)
    plan = about("a.model")["plan"]
    assert found["predicted_value"] == plan["predicted"] and found["predicted_lower_bound"] == plan["lower_bound"]
    assert found["behaviour_value"] == plan["behaviour_value"] and found["unseen"] == 0
    assert (found["model"], found["domain"]) == ("a.model", "t-maze")


def test_people_are_told_the_same(here: Path) -> None:
    found, said = evaluated("a.model", *DOMAIN), ok("evaluate", "a.model", *DOMAIN)
    assert said.startswith("a.model in t-maze, horizon 4, 10,000 episodes:\n")
    for name in MEASURES:
        row = next(line for line in said.splitlines() if line.strip().startswith(name.replace("_", " ")))
        cells = re.findall(r"(\S+) ± (\S+)", row)
        for cell, column in zip(cells, (found, found["behaviour"]), strict=True):
            assert float(cell[0]) == pytest.approx(column[name], rel=1e-5)
            assert float(cell[1]) == pytest.approx(column[f"{name}_stderr"], rel=0.05)
    assert "\nThe best policy brings 4 on average.\n" in said
    assert f"Predicted were {found['predicted_value']:.6g}, at least {found['predicted_lower_bound']:.6g}." in said
    again = "suffice evaluate a.model --domain t-maze --exact --set length=2"
    assert said.endswith(f"\nNext: suffice info a.model --states   or   {again}\n")


def test_exact_values_are_those_of_the_library(here: Path) -> None:
    found, right = evaluated("a.model", *DOMAIN, "--exact"), expected("a.model")
    behaviour = TMaze(length=2).model(4)
    usual = evaluate(behaviour, behaviour.usual, 4)
    for name in MEASURES:
        assert found[name] == float(getattr(right, name)) and found[f"{name}_stderr"] == 0
        assert found["behaviour"][name] == float(getattr(usual, name))
    assert found["exact"] is True and "episodes" not in found and "seed" not in found
    said = ok("evaluate", "a.model", *DOMAIN, "--exact")
    assert said.startswith("a.model in t-maze, horizon 4, expected values:\n") and "±" not in said
    share = (float(right.mean_return) - float(usual.mean_return)) / (4 - float(usual.mean_return))
    assert f"the policy has {share:.1%} of what can be gained over the behaviour.\n" in said
    assert f"{float(right.mean_return):.6g}" in said and said.endswith("Next: suffice info a.model --states\n")


def test_a_seed_stands_for_a_result(here: Path) -> None:
    def run(*options: str) -> str:
        return ok("evaluate", "a.model", *DOMAIN, "--episodes", "300", "--json", *options)

    assert run("--seed", "3") == run("--seed", "3") != run("--seed", "4")
    assert run() == run("--seed", "0") and json.loads(run())["episodes"] == 300


def test_a_single_episode_has_no_standard_error(here: Path) -> None:
    found = evaluated("a.model", *DOMAIN, "--episodes", "1")
    assert {found[f"{name}_stderr"] for name in MEASURES} == {None}
    assert ok("evaluate", "a.model", *DOMAIN, "--episodes", "1").count(" ± ?") == 6


def test_the_behaviour_to_compare_with_may_be_named(here: Path) -> None:
    found = evaluated("a.model", *DOMAIN, "--exact", "--behaviour", "a.model", "--epsilon", "0")
    assert {name: found[name] for name in MEASURES} == {name: found["behaviour"][name] for name in MEASURES}


def test_histories_that_no_log_had_are_mentioned(here: Path) -> None:
    found = evaluated("a.model", "--domain", "t-maze", "--set", "length=1", "--episodes", "500")
    assert found["unseen"] > 0.05
    said = ok("evaluate", "a.model", "--domain", "t-maze", "--set", "length=1", "--episodes", "500")
    assert f"{found['unseen']:.2%} of the decisions came after a history that the log did not have.\n" in said


def test_a_file_is_a_domain_too(tmp_path: Path) -> None:
    log, model = str(tmp_path / "log.parquet"), str(tmp_path / "tiger.model")
    ok("simulate", TIGER, "--horizon", "4", "--episodes", "2000", "-o", log)
    ok("learn", log, "-o", model)
    exact, tried = (evaluated(model, "--domain", TIGER, *options) for options in (("--exact",), ()))
    assert exact["horizon"] == 4 and exact["behaviour"]["mean_return"] < exact["mean_return"] <= exact["optimal_value"]
    assert abs(tried["mean_return"] - exact["mean_return"]) <= 4 * tried["mean_return_stderr"]


# In an environment


def test_a_gymnasium_environment_is_played(here: Path) -> None:
    args = ("a.model", "--domain", "suffice/TMaze-v0", "--set", "length=2", "--episodes", "1000")
    found, right = evaluated(*args), expected("a.model")
    for name in MEASURES:
        assert abs(found[name] - float(getattr(right, name))) <= 4 * found[f"{name}_stderr"] + 1e-12
    assert found["behaviour"] is None and found["optimal_value"] is None and found["horizon"] == 4
    assert (found["episodes"], found["fallbacks"], found["exact"]) == (1000, 0, False)
    assert evaluated(*args) == found
    said = ok("evaluate", *args)
    assert said.startswith("a.model in suffice/TMaze-v0, 1,000 episodes of at most 4 steps:\n")
    assert f"{found['mean_return']:.6g} ± {found['mean_return_stderr']:.2g}" in said


def test_options_reach_the_environment(here: Path) -> None:
    args = ("a.model", "--domain", "suffice/TMaze-v0", "--set", "length=2", "--episodes", "200")
    noisy = evaluated(*args, "--set", "noise=true")
    assert noisy["fallbacks"] > 0.1 and noisy["mean_return"] < evaluated(*args)["mean_return"]


def test_an_environment_of_ours_has_the_horizon_of_the_model(here: Path) -> None:
    """Which decides how long this maze is, unless an option does."""
    ok("simulate", "t-maze", "--horizon", "4", "--episodes", "9000", "-o", "long.parquet")
    ok("learn", "long.parquet", "-o", "long.model")
    found, right = (
        evaluated("long.model", "--domain", "suffice/TMaze-v0", "--episodes", "500"),
        expected("long.model", TMaze()),
    )
    assert found["fallbacks"] == 0
    assert abs(found["mean_return"] - float(right.mean_return)) <= 4 * found["mean_return_stderr"] + 1e-12


def test_the_seed_of_an_environment_counts(here: Path) -> None:
    ok("learn", "log.parquet", "-o", "b.model", "--strength", "1e6")
    args = ("b.model", "--domain", "suffice/TMaze-v0", "--set", "length=2", "--episodes", "100")
    assert evaluated(*args, "--seed", "1") == evaluated(*args, "--seed", "1")
    assert evaluated(*args, "--seed", "1")["mean_return"] != evaluated(*args, "--seed", "2")["mean_return"]


# By a log

ESTIMATORS = ("log", "model_based", "importance", "doubly_robust")


def assert_same(found: dict[str, Any], right: Any) -> None:
    for name in ESTIMATORS:
        estimate = getattr(right, name)
        assert (found[f"{name}_value"], found[f"{name}_value_stderr"]) == tuple(estimate)
        assert found[f"{name}_interval"] == list(estimate.interval())
    assert (found["mean_return"], found["mean_return_stderr"]) == tuple(right.doubly_robust)
    for name in ("effective", "matched", "unseen", "rare", "episodes"):
        assert found[name] == getattr(right, name)
    assert found["gaps"] == [gap._asdict() for gap in right.gaps]


def test_held_out_episodes_are_found_again(here: Path) -> None:
    """As JSON, those of the library; whatever the format of the log and the order of its rows."""
    episodes, loaded = log_of("log.parquet"), Model.load("held.model")
    _, rest, chosen = episodes.divide(0.3, np.random.default_rng(0))
    assert loaded.plan is not None and rest.total == len(chosen) == 2700
    right = judge(loaded.rdp, loaded.plan, rest)
    found = evaluated("held.model", "--log", "log.parquet")
    assert_same(found, right)
    assert found["behaviour"] == "estimated" and found["log"] == "log.parquet"
    table = pq.read_table("log.parquet")
    pq.write_table(table.take(np.random.default_rng(1).permutation(len(table))), "shuffled.parquet")
    assert_same(evaluated("held.model", "--log", "shuffled.parquet"), right)


def test_held_out_episodes_were_not_learned_from(here: Path) -> None:
    """The automaton counts the others, and no other."""
    episodes, rdp = log_of("log.parquet"), Model.load("held.model").rdp
    used, *_ = episodes.divide(0.3, np.random.default_rng(0))
    assert used.total == 6300 and rdp.tally(used).counts.tolist() == rdp.counts.tolist()


def test_another_log_is_used_whole(here: Path) -> None:
    for model in ("a.model", "held.model"):
        loaded = Model.load(model)
        assert loaded.plan is not None
        found = evaluated(model, "--log", "other.parquet")
        assert_same(found, judge(loaded.rdp, loaded.plan, log_of("other.parquet")))
        assert found["episodes"] == 3000


def test_a_log_is_told_to_people(here: Path) -> None:
    found, said = evaluated("held.model", "--log", "log.parquet"), ok("evaluate", "held.model", "--log", "log.parquet")
    assert said.startswith("held.model by 2,700 episodes of log.parquet, held out:\n")
    new = ok("evaluate", "held.model", "--log", "other.parquet")
    assert new.startswith("held.model by 3,000 episodes of other.parquet, taken to be new:\n")
    rows = dict(re.findall(r"^  (the log itself|policy, [a-z -]+?) +(\S+)   \S+ to \S+$", said, re.M))
    names = ("the log itself", "policy, model-based", "policy, importance", "policy, doubly robust")
    for row, name in zip(names, ESTIMATORS, strict=True):
        assert float(rows[row]) == pytest.approx(found[f"{name}_value"], rel=1e-3)
    assert "Probabilities of the logged actions: estimated in each state.\n" in said
    assert f"Coverage: in {found['matched']:.2%} of these episodes" in said
    assert f"they count as {found['effective']:,.0f}." in said


def test_gaps_are_named(here: Path) -> None:
    """A model of a hundred episodes does what the log rarely did."""
    ok("simulate", *MAZE, "--episodes", "100", "--seed", "8", "-o", "few.parquet")
    ok("learn", "few.parquet", "-o", "few.model", "--planner", "greedy")
    found, said = (
        evaluated("few.model", "--log", "other.parquet"),
        ok("evaluate", "few.model", "--log", "other.parquet"),
    )
    assert 0 < len(found["gaps"]) <= 5 and found["rare"] > 0
    actions = Model.load("few.model").rdp.alphabet.actions
    for gap in found["gaps"]:
        line = f"  {actions[gap['action']]}, logged {gap['visits']} times, in {gap['share']:.2%} of episodes, after "
        assert line in said and gap["visits"] < 10
    assert f"The log has fewer than 10 examples of {found['rare']:.2%} of the policy's decisions." in said


def test_a_log_that_never_does_what_the_policy_would_proves_nothing(here: Path) -> None:
    """And says so, to people and to machines, whose JSON has no infinity."""
    ok("simulate", *MAZE, "--episodes", "3", "--seed", "1", "-o", "few.parquet")
    found, said = evaluated("a.model", "--log", "few.parquet"), ok("evaluate", "a.model", "--log", "few.parquet")
    assert found["matched"] == found["effective"] == 0
    for name in ("importance", "doubly_robust"):
        assert found[f"{name}_value_stderr"] is None and found[f"{name}_interval"] is None
    assert found["mean_return_stderr"] is None and found["log_value_stderr"] > 0
    assert found["importance_value"] is None and found["doubly_robust_value"] is not None
    assert re.search(r"^  policy, importance +not available: no episode does what the policy would$", said, re.M)
    assert re.search(r"^  policy, doubly robust .*   unknown: no episode does what the policy would$", said, re.M)
    assert "nan" not in said and " inf" not in said.replace("suffice info", "")
    assert "Infinity" not in ok("evaluate", "a.model", "--log", "few.parquet", "--json")


def test_logged_probabilities_are_used(here: Path) -> None:
    loaded = Model.load("a.model")
    assert loaded.plan is not None
    episodes, report = read_log("chance.parquet", Columns(propensity="chance"))
    assert report.propensities is not None
    found = evaluated("a.model", "--log", "chance.parquet", "--propensity-column", "chance")
    assert_same(found, judge(loaded.rdp, loaded.plan, episodes, report.propensities))
    assert found["behaviour"] == "logged"
    without = evaluated("a.model", "--log", "other.parquet")
    assert without["importance_value"] != found["importance_value"]
    assert without["model_based_value"] == found["model_based_value"]
    said = ok("evaluate", "a.model", "--log", "chance.parquet", "--propensity-column", "chance")
    assert "Probabilities of the logged actions: the log's own column.\n" in said


def test_logged_probabilities_of_held_out_episodes(here: Path) -> None:
    options = ("--propensity-column", "chance")
    ok("learn", "chance.parquet", "-o", "b.model", "--hold-out", "0.25", *options)
    found, loaded = evaluated("b.model", "--log", "chance.parquet", *options), Model.load("b.model")
    episodes, report = read_log("chance.parquet", Columns(propensity="chance"))
    _, rest, chosen = episodes.divide(0.25, np.random.default_rng(0))
    assert loaded.plan is not None and report.propensities is not None
    assert_same(found, judge(loaded.rdp, loaded.plan, rest, report.propensities[:, chosen]))
    assert found["episodes"] == 750


@pytest.mark.parametrize(
    ("log", "options"),
    [
        ("log.parquet", "--schema schema.json"),
        ("chance.parquet", "--propensity-column chance"),
        ("log.parquet", "--horizon 3"),
        ("log.parquet", "--observations bit1,bit2"),
        ("log.parquet", "--bin bit1=2"),
    ],
)
def test_learn_says_how_to_evaluate_what_was_held_out(here: Path, log: str, options: str) -> None:
    ok("check", "log.parquet", "--write-schema", "schema.json")
    said = ok("learn", log, "-o", "b.model", "--hold-out", "0.25", *options.split())
    hint = said.splitlines()[-1].removeprefix("Next: suffice ").split("   or   ")[0]
    episodes = {"log.parquet": EPISODES, "chance.parquet": 3000}[log]
    assert json.loads(ok(*shlex.split(hint), "--json"))["episodes"] == episodes / 4


def test_held_out_episodes_cannot_be_found_where_more_of_the_log_is_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of 400 episodes are truncated: dropped when learning, and not when the horizon is shorter."""
    monkeypatch.chdir(tmp_path)
    rows = [(e, t, t, (e + t) % 2, 1, e % 2 == 1 and t == 1) for e in range(400) for t in range(3 - e % 2)]
    names = ("episode", "step", "o", "action", "reward", "truncated")
    pq.write_table(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), "log.parquet")
    ok("learn", "log.parquet", "-o", "a.model", "--drop-truncated", "--hold-out", "0.25")
    ran = suffice("evaluate", "a.model", "--log", "log.parquet", "--horizon", "2", "--json")
    assert ran.code == 2 and "other episodes are kept than when a.model was learned" in ran.err


def test_what_a_split_held_out_is_found(here: Path) -> None:
    ok("learn", "log.parquet", "-o", "b.model", "--hold-out", "0.25", "--split", "--max-states", "40")
    assert evaluated("b.model", "--log", "log.parquet")["episodes"] == EPISODES / 4


def test_a_log_that_is_cut_is_no_log_of_early_ends(here: Path) -> None:
    ran = suffice("evaluate", "a.model", "--log", "other.parquet", "--horizon", "2")
    assert ran.code == 2 and "cut to 2 decisions, where a.model plans 4; leave --horizon out" in ran.err


@pytest.mark.parametrize("options", ["--horizon 3", "--schema schema.json"])
def test_a_log_that_was_learned_from_is_refused_however_it_is_read(here: Path, options: str) -> None:
    ok("check", "log.parquet", "--write-schema", "schema.json")
    ran = suffice("evaluate", "a.model", "--log", "log.parquet", *options.split())
    assert ran.code == 2 and "a.model was learned from all of log.parquet" in ran.err


def test_a_log_of_other_features_is_refused(here: Path) -> None:
    ran = suffice("evaluate", "a.model", "--log", "other.parquet", "--observations", "bit1,bit2")
    assert (ran.code, ran.out) == (2, "")
    assert "the log's observations are bit1, bit2, the model's bit1, bit2, bit3" in ran.err


def test_histories_that_were_not_learned_from_are_mentioned(here: Path) -> None:
    ok("simulate", "t-maze", "--horizon", "4", "--set", "length=1", "--episodes", "500", "-o", "short.parquet")
    found, said = (
        evaluated("a.model", "--log", "short.parquet"),
        ok("evaluate", "a.model", "--log", "short.parquet"),
    )
    assert found["unseen"] > 0.05
    assert f"{found['unseen']:.2%} of their decisions came after a history that was not learned from.\n" in said
    assert "not learned from" not in ok("evaluate", "a.model", "--log", "other.parquet")


def test_a_log_is_binned_as_the_one_that_was_learned_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Action 1 is right above 0, which is the edge of the model's bins; in the other log nearly all is above."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, shift in (("log.parquet", 0.0), ("other.parquet", 3.0)):
        x, action = rng.normal(size=2000) + shift, rng.integers(2, size=2000)
        columns = {"episode": np.arange(2000), "step": np.zeros(2000, int), "x": x, "action": action}
        pq.write_table(pa.table(columns | {"reward": ((x > 0) == action).astype(float)}), name)
    ok("learn", "log.parquet", "-o", "a.model", "--bin", "x=2")
    found = evaluated("a.model", "--log", "other.parquet")
    assert found["doubly_robust_value"] == pytest.approx(1, abs=0.05)


# For machines, and without a trace


@pytest.mark.parametrize(
    "args",
    [
        ("a.model", *DOMAIN),
        ("a.model", *DOMAIN, "--exact"),
        ("a.model", "--domain", "suffice/TMaze-v0", "--set", "length=2", "--episodes", "20"),
        ("held.model", "--log", "log.parquet"),
        ("a.model", "--log", "chance.parquet", "--propensity-column", "chance"),
    ],
    ids=["tried", "exact", "environment", "held out", "propensities"],
)
def test_json_and_nothing_else_and_no_file_is_touched(here: Path, args: tuple[str, ...]) -> None:
    before = contents(here)
    found = evaluated(*args)
    assert isinstance(found, dict)
    for name in ("mean_return", "mean_return_stderr"):
        assert math.isfinite(found[name])
    ok("evaluate", *args)
    assert contents(here) == before


# Behaving as a model plans


def test_a_simulation_follows_the_plan_of_a_model(here: Path) -> None:
    """With much caution that is to behave as the log did, although better is known."""
    ok("learn", "log.parquet", "-o", "b.model", "--strength", "1e6")
    brought = {}
    for model in ("a.model", "b.model", "none.model"):
        ok("simulate", *MAZE, "--episodes", "2000", "--behaviour", model, "--epsilon", "0", "-o", "played.csv")
        brought[model] = mean_return(log_of("played.csv"))
    assert brought["a.model"] == pytest.approx(float(expected("a.model").mean_return), abs=0.2)
    right = float(expected("b.model").mean_return)
    assert brought["b.model"] == pytest.approx(right, abs=0.2) and right < brought["a.model"] - 1
    assert brought["none.model"] > right + 1  # no plan: the best by plain estimates


def test_some_of_the_actions_are_any(here: Path) -> None:
    ok("simulate", *MAZE, "--episodes", "2000", "--behaviour", "a.model", "-o", "played.csv")
    loaded, finite = Model.load("a.model"), TMaze(length=2).model(4)
    assert loaded.plan is not None
    policy = Controller.on_automaton(loaded.rdp, finite.alphabet, loaded.plan.actions, Fraction(1, 10))
    right = float(evaluate(finite, policy, 4).mean_return)
    assert mean_return(log_of("played.csv")) == pytest.approx(right, abs=0.2)
    assert right < float(expected("a.model").mean_return) - 0.1


# The same bytes


@pytest.mark.parametrize(
    "options", ["", "--planner greedy", "--planner subsampled", "--split", "--hold-out 0.2", "--strength 0.5"]
)
def test_models_with_a_plan_are_the_same_to_the_byte(here: Path, options: str) -> None:
    models = set()
    for threads in ("1", "2", "2"):
        ok("learn", "log.parquet", "-o", "b.model", "--threads", threads, *options.split())
        models.add((here / "b.model").read_bytes())
    assert len(models) == 1
    again = here / "again.model"
    Model.load("b.model").save(again)
    assert again.read_bytes() in models


# Models from before there were plans


def before_plans(path: Path) -> None:
    """What an older version would have written."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist() if not name.startswith("plan_")}
    header = json.loads(entries["header.json"])
    for name in ("plan", "second_look", "held_out"):
        del header[name]
    entries["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)


def test_older_models_still_load(here: Path) -> None:
    was = about("a.model")
    before_plans(here / "a.model")
    said = about("a.model")
    assert said == was | {"plan": None, "second_look": False, "held_out": 0.0}
    assert Model.load("a.model").plan is None
    assert "predicted" not in ok("info", "a.model", "--states", "--decisions", "2")
    ok("export", "a.model", "--format", "json", "-o", "a.json")
    assert json.loads((here / "a.json").read_text())["policy"] == []
    ok("compare", "a.model", "held.model")
    ok("simulate", *MAZE, "--episodes", "20", "--behaviour", "a.model", "-o", "played.csv")
    ran = suffice("evaluate", "a.model", *DOMAIN)
    assert ran.code == 2 and "a.model: this model has no plan" in ran.err and ran.err.count("\n") == 1


@pytest.mark.parametrize("entry", ["plan_actions.npy", "plan_values.npy", "plan_lower.npy"])
def test_a_plan_that_is_incomplete_is_refused(here: Path, entry: str) -> None:
    with zipfile.ZipFile("a.model") as archive:
        entries = {name: archive.read(name) for name in archive.namelist() if name != entry}
    with zipfile.ZipFile("a.model", "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    ran = suffice("evaluate", "a.model", *DOMAIN)
    assert ran.code == 2 and "a.model: this model file is damaged" in ran.err and ran.err.count("\n") == 1
