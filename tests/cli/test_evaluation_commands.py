"""Tests of `suffice evaluate`: mistakes, JSON, reproducible models, and models of earlier versions."""

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
    """Make a folder with logs and models of a T-maze."""
    return make_models(tmp_path_factory)


# Mistakes

MISTAKES = [
    (
        "learn log.parquet -o b --planner bold",
        "--planner bold: there is no such choice. Choose safe, greedy, pessimistic, subsampled or none.",
    ),
    (
        "learn log.parquet -o b --planner greedy --strength 1",
        "has no effect with --planner greedy. Leave one of them out.",
    ),
    ("learn log.parquet -o b --planner none --strength 1", "has no effect with --planner none. Leave one of them out."),
    (
        "learn log.parquet -o b --planner none --split",
        "--split is for a plan, and --planner none makes none. Leave one of them out.",
    ),
    (
        "learn log.parquet -o b --planner none --hold-out 0.2",
        "--hold-out 0.2 is for a plan, and --planner none makes none. Leave one of them out.",
    ),
    ("learn log.parquet -o b --strength=-1", "--strength -1 is not a number of at least 0. Try 0.01."),
    ("learn log.parquet -o b --strength inf", "--strength inf is not a number of at least 0. Try 0.01."),
    ("learn log.parquet -o b --strength much", "--strength much is not a number. Use a number such as 0.1."),
    (
        "learn log.parquet -o b --accuracy 0.1",
        "--accuracy 0.1 can be proved with --split and --planner subsampled only. Add both, or leave out",
    ),
    (
        "learn log.parquet -o b --planner subsampled --accuracy 0.1",
        "--accuracy 0.1 applies to --split only. Add it, or leave out --accuracy.",
    ),
    (
        "learn log.parquet -o b --max-states 50",
        "--max-states 50 applies to --split only. Add it, or leave out --max-states.",
    ),
    (
        "learn log.parquet -o b --split --planner subsampled --accuracy 0",
        "--accuracy 0 is not a number above 0. Give the",
    ),
    (
        "learn log.parquet -o b --split --planner subsampled --accuracy nan",
        "--accuracy nan is not a number above 0. Give the",
    ),
    (
        "learn log.parquet -o b --split --max-states 0",
        "--max-states 0 is not a number of states. Use 1 or more, such as 1000.",
    ),
    ("learn log.parquet -o b --split --max-states 2.5", "--max-states 2.5 is not a whole number."),
    ("learn log.parquet -o b --split --delta 1", "--delta 1 is not a probability between 0 and 1. Try 0.05."),
    (
        "learn log.parquet -o b --split --second-look",
        "--split cannot be combined with --second-look. Leave one of them out.",
    ),
    (
        "learn log.parquet -o b --split --confidence 0.9",
        "--confidence 0.9 cannot be combined with --split, which divides δ as the paper does. Use --delta instead.",
    ),
    ("learn log.parquet -o b --hold-out 0", "--hold-out 0 is not a share between 0 and 1. Try 0.2."),
    ("learn log.parquet -o b --hold-out 1", "--hold-out 1 is not a share between 0 and 1."),
    ("learn log.parquet -o b --hold-out 3", "--hold-out 3 is not a share between 0 and 1. Try 0.2."),
    (
        "learn log.parquet -o b --hold-out 0.00001",
        "a share of 1e-05 of 9,000 episodes leaves one part empty. Choose another share, or log more",
    ),
    ("learn log.parquet -o b --hold-out nan", "--hold-out nan is not a share between 0 and 1."),
    ("learn log.parquet -o b --second-look --no-second-look", "is given twice. Leave one out."),
    ("learn log.parquet -o b --propensity-column p", "there is no column 'p'"),
    (
        "learn log.parquet -o b --propensity-column reward",
        "log.parquet: column 'reward' is used as reward and propensity. Give it one role.",
    ),
    ("evaluate a.model", "evaluate: exactly one of --domain and --log is needed. Add --domain NAME or --log LOG."),
    ("evaluate a.model --domain t-maze --log log.parquet", "exactly one of --domain and --log is needed."),
    ("evaluate --domain t-maze", "evaluate: MODEL is missing. Usage: suffice evaluate MODEL --domain DOMAIN"),
    ("evaluate nothing.model --domain t-maze", "nothing.model: there is no such file. Make one with: suffice learn"),
    ("evaluate log.parquet --domain t-maze", "log.parquet: this is not a model file, or it is damaged"),
    (
        "evaluate none.model --domain t-maze",
        "none.model: this model has no plan. Learn it again without --planner none",
    ),
    ("evaluate none.model --log other.parquet", "none.model: this model has no plan"),
    ("evaluate a.model --domain t-mase", "'t-mase' is not a domain. Did you mean 't-maze'?"),
    ("evaluate a.model --domain nothing.POMDP", "nothing.POMDP: the file cannot be read"),
    ("evaluate a.model --domain t-maze --set lenght=2", "Did you mean 'length'?"),
    ("evaluate a.model --domain t-maze --episodes 0", "--episodes 0 is too few. Use 1 or more."),
    ("evaluate a.model --domain t-maze --seed=-1", "--seed -1 is negative. Use 0 or more."),
    (
        "evaluate a.model --domain t-maze --horizon 3",
        "--horizon 3 applies to logs only, and none is given. Leave it out.",
    ),
    ("evaluate a.model --domain t-maze --propensity-column p", "--propensity-column p applies to logs only"),
    ("evaluate a.model --domain suffice/TMaze-v0 --exact", "--exact needs a finite model, and suffice/TMaze-v0 is"),
    ("evaluate a.model --domain suffice/TMaze-v0 --set lenght=2", "Did you mean 'length'?"),
    (
        "evaluate a.model --domain suffice/TMaze-v0 --behaviour a.model",
        "does not apply to Gymnasium environments such as suffice/TMaze-v0",
    ),
    (
        "evaluate a.model --domain suffice/TMaze-v0 --set length",
        "--set length: the value is missing. Write --set OPTION=VALUE.",
    ),
    ("evaluate a.model --domain suffice/Cookie-v0", "features room. Use a model learned from its episodes."),
    ("evaluate a.model --domain CartPole-v1", "the model does not fit the environment: it has actions E, N, S, W and"),
    ("evaluate a.model --log other.parquet --exact", "--exact, --episodes and --seed apply to --domain only"),
    ("evaluate a.model --log other.parquet --seed 1", "--exact, --episodes and --seed apply to --domain only"),
    (
        "evaluate a.model --log other.parquet --set length=2",
        "--set length=2 applies to domains only, and none is given.",
    ),
    ("evaluate a.model --log nothing.parquet", "nothing.parquet: there is no such file"),
    (
        "evaluate a.model --log log.parquet",
        "a.model was learned from all of log.parquet, so that an evaluation on it would be biased",
    ),
    ("evaluate a.model --log other.parquet --propensity-column p", "there is no column 'p'"),
    (
        "evaluate a.model --log other.parquet --propensity-column bit1",
        "column 'bit1': 0 is not a probability, above 0 and at most 1",
    ),
]


@pytest.mark.parametrize(("command", "complaint"), MISTAKES, ids=[command for command, _ in MISTAKES])
def test_mistakes_in_planning_and_evaluation_print_one_line_and_write_nothing(
    here: Path, command: str, complaint: str
) -> None:
    before = contents(here)
    ran = suffice(*shlex.split(command))
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("suffice: ") and ran.err.endswith("\n") and ran.err.count("\n") == 1
    assert complaint in ran.err
    assert contents(here) == before


def test_evaluate_refuses_options_that_the_environment_does_not_have(here: Path) -> None:
    ran = suffice("evaluate", "a.model", "--domain", "CartPole-v1", "--set", "colour=blue")
    assert (ran.code, ran.out) == (2, "") and ran.err.count("\n") == 1
    assert ran.err.startswith("suffice: CartPole-v1: the environment cannot be created with --set colour=blue (")
    assert ran.err.endswith("). Change the options or the environment.\n")


@pytest.mark.parametrize(
    ("domain", "difference"),
    [
        ("cookie", "Its actions are E, N, S, W, those of the domain down, eat, left, press, right, up. "),
        ("cheese", "Its features are bit1, bit2, bit3, those of the domain walls. "),
    ],
)
def test_evaluate_refuses_a_model_of_another_domain_and_names_both_alphabets(
    here: Path, domain: str, difference: str
) -> None:
    ran = suffice("evaluate", "a.model", "--domain", domain)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == (
        f"suffice: a.model was not learned from {domain}. {difference}"
        "Name the domain it was learned from, with the same --set.\n"
    )


def test_evaluate_refuses_a_model_with_other_observations(here: Path) -> None:
    ok("simulate", *MAZE, "--set", "noise=true", "--episodes", "300", "-o", "noisy.parquet")
    ok("learn", "noisy.parquet", "-o", "noisy.model")
    ran = suffice("evaluate", "noisy.model", *DOMAIN)
    four = "(0, 1, 0), (0, 1, 1), (1, 0, 1), (1, 1, 0)"
    assert ran.code == 2 and f"Its observations are {four}, (1, 1, 1), those of the domain {four}. " in ran.err
    assert evaluated("noisy.model", *DOMAIN, "--set", "noise=true", "--episodes", "50")["episodes"] == 50


# JSON


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
def test_evaluate_json_prints_only_json_and_changes_no_file(here: Path, args: tuple[str, ...]) -> None:
    before = contents(here)
    found = evaluated(*args)
    assert isinstance(found, dict)
    for name in ("mean_return", "mean_return_stderr"):
        assert math.isfinite(found[name])
    ok("evaluate", *args)
    assert contents(here) == before


# Simulation with the plan of a model


def test_simulate_behaviour_follows_the_plan_of_a_model(here: Path) -> None:
    """A plan with a large strength keeps the logged behaviour."""
    ok("learn", "log.parquet", "-o", "b.model", "--strength", "1e6")
    returns = {}
    for model in ("a.model", "b.model", "none.model"):
        ok("simulate", *MAZE, "--episodes", "2000", "--behaviour", model, "--epsilon", "0", "-o", "played.csv")
        returns[model] = mean_return(log_of("played.csv"))
    assert returns["a.model"] == pytest.approx(float(expected("a.model").mean_return), abs=0.2)
    right = float(expected("b.model").mean_return)
    assert returns["b.model"] == pytest.approx(right, abs=0.2) and right < returns["a.model"] - 1
    assert returns["none.model"] > right + 1  # no plan: the best by plain estimates


def test_simulate_behaviour_takes_random_actions_with_probability_epsilon(here: Path) -> None:
    ok("simulate", *MAZE, "--episodes", "2000", "--behaviour", "a.model", "-o", "played.csv")
    loaded, finite = Model.load("a.model"), TMaze(length=2).model(4)
    assert loaded.plan is not None
    policy = Controller.on_automaton(loaded.rdp, finite.alphabet, loaded.plan.actions, Fraction(1, 10))
    right = float(evaluate(finite, policy, 4).mean_return)
    assert mean_return(log_of("played.csv")) == pytest.approx(right, abs=0.2)
    assert right < float(expected("a.model").mean_return) - 0.1


# Equal bytes


@pytest.mark.parametrize(
    "options", ["", "--planner greedy", "--planner subsampled", "--split", "--hold-out 0.2", "--strength 0.5"]
)
def test_learn_with_a_plan_gives_equal_bytes_for_any_threads(here: Path, options: str) -> None:
    models = set()
    for threads in ("1", "2", "2"):
        ok("learn", "log.parquet", "-o", "b.model", "--threads", threads, *options.split())
        models.add((here / "b.model").read_bytes())
    assert len(models) == 1
    again = here / "again.model"
    Model.load("b.model").save(again)
    assert again.read_bytes() in models


# Models of versions without plans


def before_plans(path: Path) -> None:
    """Change a model file into one that an older version would have written."""
    with zipfile.ZipFile(path) as archive:
        entries = {name: archive.read(name) for name in archive.namelist() if not name.startswith("plan_")}
    header = json.loads(entries["header.json"])
    for name in ("plan", "second_look", "held_out"):
        del header[name]
    entries["header.json"] = json.dumps(header).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)


def test_info_and_other_commands_read_models_without_a_plan(here: Path) -> None:
    was = about("a.model")
    before_plans(here / "a.model")
    said = about("a.model")
    without = dict.fromkeys(("plan", "verdict", "predicted", "lower_bound", "logged", "objective"))
    assert said == was | without | {"verdict_reasons": [], "second_look": False, "held_out": 0.0}
    assert Model.load("a.model").plan is None
    assert "predicted" not in ok("info", "a.model", "--states", "--decisions", "2")
    ok("export", "a.model", "--format", "json", "-o", "a.json")
    assert json.loads((here / "a.json").read_text())["policy"] == []
    ok("compare", "a.model", "held.model")
    ok("simulate", *MAZE, "--episodes", "20", "--behaviour", "a.model", "-o", "played.csv")
    ran = suffice("evaluate", "a.model", *DOMAIN)
    assert ran.code == 2 and "a.model: this model has no plan" in ran.err and ran.err.count("\n") == 1


@pytest.mark.parametrize("entry", ["plan_actions.npy", "plan_values.npy", "plan_lower.npy"])
def test_evaluate_refuses_a_model_with_an_incomplete_plan(here: Path, entry: str) -> None:
    with zipfile.ZipFile("a.model") as archive:
        entries = {name: archive.read(name) for name in archive.namelist() if name != entry}
    with zipfile.ZipFile("a.model", "w") as archive:
        for name, data in entries.items():
            archive.writestr(name, data)
    ran = suffice("evaluate", "a.model", *DOMAIN)
    assert ran.code == 2 and "a.model: this model file is damaged" in ran.err and ran.err.count("\n") == 1
