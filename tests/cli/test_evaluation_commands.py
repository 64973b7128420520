"""`suffice evaluate`: mistakes, output for scripts, reproducible models, and models of earlier versions."""

from __future__ import annotations

import json
import math
import shlex
import zipfile
from fractions import Fraction
from pathlib import Path

import pytest

from suffice.domains.exact.values import evaluate
from suffice.domains.tasks.t_maze import TMaze
from suffice.models.model import Model
from suffice.planning.controller import Controller
from suffice.planning.regorl import mean_return
from support.cli import MAZE, contents, ok, suffice
from support.evaluated_models import DOMAIN, about, evaluated, expected, log_of, make_models

pytestmark = pytest.mark.filterwarnings("ignore:Cyclopts application invoked without tokens")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with logs and models of a T-maze."""
    return make_models(tmp_path_factory)


# Mistakes

MISTAKES = [
    ("learn log.parquet -o b --planner bold", 'Invalid value "bold" for --planner'),
    ("learn log.parquet -o b --planner greedy --strength 1", "has no effect with --planner greedy"),
    ("learn log.parquet -o b --planner none --strength 1", "has no effect with --planner none"),
    ("learn log.parquet -o b --planner none --split", "--split and --hold-out are for a plan"),
    ("learn log.parquet -o b --planner none --hold-out 0.2", "--split and --hold-out are for a plan"),
    ("learn log.parquet -o b --strength=-1", "the strength of pessimism is a number from 0 on, not -1; try 0.01"),
    ("learn log.parquet -o b --strength inf", "the strength of pessimism is a number from 0 on, not inf"),
    ("learn log.parquet -o b --strength much", "--strength"),
    ("learn log.parquet -o b --accuracy 0.1", "--accuracy can be proved with --planner subsampled only"),
    ("learn log.parquet -o b --planner subsampled --accuracy 0.1", "--accuracy and --max-states belong to --split"),
    ("learn log.parquet -o b --max-states 50", "--accuracy and --max-states belong to --split"),
    ("learn log.parquet -o b --split --planner subsampled --accuracy 0", "accuracy must be above 0, not 0"),
    ("learn log.parquet -o b --split --planner subsampled --accuracy nan", "accuracy must be above 0, not nan"),
    ("learn log.parquet -o b --split --max-states 0", "max_states must be at least 1, not 0"),
    ("learn log.parquet -o b --split --max-states 2.5", "--max-states needs a whole number, not 2.5"),
    ("learn log.parquet -o b --split --delta 1", "a probability between 0 and 1, not 1"),
    ("learn log.parquet -o b --split --second-look", "--split needs a plan and excludes --second-look"),
    (
        "learn log.parquet -o b --split --confidence 0.9",
        "--split divides δ as the paper does. Use --delta instead of --confidence",
    ),
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
    (
        "evaluate none.model --domain t-maze",
        "none.model: this model has no plan. Learn it again without --planner none",
    ),
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
    (
        "evaluate a.model --log log.parquet",
        "a.model was learned from all of log.parquet, so that an evaluation on it would be biased",
    ),
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
    assert ran.err.startswith("suffice: CartPole-v1: the environment cannot be made with colour='blue': ")


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
