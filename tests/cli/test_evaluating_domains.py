"""Tests of `suffice evaluate --domain` in domains and Gymnasium environments."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.exact.values import best_plan, evaluate
from suffice.domains.tasks.t_maze import TMaze
from suffice.evidence.estimates import Estimate
from suffice.models.summary import with_error
from support.cli import ok
from support.evaluated_models import DOMAIN, about, evaluated, expected, make_models
from support.paths import ROOT

pytestmark = pytest.mark.filterwarnings("ignore:Cyclopts application invoked without tokens")

TIGER = str(ROOT / "examples/pomdp/tiger.POMDP")
MEASURES = ("mean_return", "return_per_step", "success_rate")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with logs and models of a T-maze."""
    return make_models(tmp_path_factory)


# In a domain


def test_evaluate_compares_policy_behaviour_and_optimum(here: Path) -> None:
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


def test_evaluate_prints_the_values_of_its_json_as_text(here: Path) -> None:
    found, said = evaluated("a.model", *DOMAIN), ok("evaluate", "a.model", *DOMAIN)
    assert said.startswith("a.model in t-maze, horizon 4, 10,000 episodes:\n")
    for name in MEASURES:
        row = next(line for line in said.splitlines() if line.strip().startswith(name.replace("_", " ")))
        cells = re.findall(r"(\S+) ± (\S+)", row)
        for cell, column in zip(cells, (found, found["behaviour"]), strict=True):
            assert float(cell[0]) == pytest.approx(column[name], abs=column[f"{name}_stderr"] / 10 + 1e-5)
            assert float(cell[1]) == pytest.approx(column[f"{name}_stderr"], rel=0.05)
    assert "\nThe optimal mean return is 4.\n" in said
    predicted = re.search(r"\nPredicted return (\S+) \(lower bound (\S+)\)\.\n", said)
    figures = (found["predicted_value"], found["predicted_lower_bound"])
    assert predicted is not None and tuple(map(float, predicted.groups())) == pytest.approx(figures, abs=0.006)
    again = "suffice evaluate a.model --domain t-maze --exact --set length=2"
    assert said.endswith(f"\nNext: suffice info a.model --states   or   {again}\n")


def test_evaluate_exact_gives_the_values_of_the_library(here: Path) -> None:
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
    assert f"the policy achieves {share:.1%} of the possible gain over the behaviour policy.\n" in said
    assert f"{float(right.mean_return):.6g}" in said and said.endswith("Next: suffice info a.model --states\n")


def test_evaluate_gives_the_same_result_for_the_same_seed(here: Path) -> None:
    def run(*options: str) -> str:
        return ok("evaluate", "a.model", *DOMAIN, "--episodes", "300", "--json", *options)

    assert run("--seed", "3") == run("--seed", "3") != run("--seed", "4")
    assert run() == run("--seed", "0") and json.loads(run())["episodes"] == 300


def test_evaluate_gives_no_standard_error_for_one_episode(here: Path) -> None:
    found = evaluated("a.model", *DOMAIN, "--episodes", "1")
    assert {found[f"{name}_stderr"] for name in MEASURES} == {None}
    assert ok("evaluate", "a.model", *DOMAIN, "--episodes", "1").count(" ± ?") == 6


def test_evaluate_compares_with_the_behaviour_option(here: Path) -> None:
    found = evaluated("a.model", *DOMAIN, "--exact", "--behaviour", "a.model", "--epsilon", "0")
    assert {name: found[name] for name in MEASURES} == {name: found["behaviour"][name] for name in MEASURES}


def test_evaluate_reports_decisions_after_unseen_histories(here: Path) -> None:
    found = evaluated("a.model", "--domain", "t-maze", "--set", "length=1", "--episodes", "500")
    assert found["unseen"] > 0.05
    said = ok("evaluate", "a.model", "--domain", "t-maze", "--set", "length=1", "--episodes", "500")
    assert f"{100 * found['unseen']:.3g}% of the decisions followed a history that is not in the log.\n" in said


def test_evaluate_accepts_a_pomdp_file(tmp_path: Path) -> None:
    log, model = str(tmp_path / "log.parquet"), str(tmp_path / "tiger.model")
    ok("simulate", TIGER, "--horizon", "4", "--episodes", "2000", "-o", log)
    ok("learn", log, "-o", model, "--stationary", "no")
    exact, tried = (evaluated(model, "--domain", TIGER, *options) for options in (("--exact",), ()))
    assert exact["horizon"] == 4 and exact["behaviour"]["mean_return"] < exact["mean_return"] <= exact["optimal_value"]
    assert abs(tried["mean_return"] - exact["mean_return"]) <= 4 * tried["mean_return_stderr"]


# In an environment


def test_evaluate_runs_a_gymnasium_environment(here: Path) -> None:
    args = ("a.model", "--domain", "suffice/TMaze-v0", "--set", "length=2", "--episodes", "1000")
    found, right = evaluated(*args), expected("a.model")
    for name in MEASURES:
        assert abs(found[name] - float(getattr(right, name))) <= 4 * found[f"{name}_stderr"] + 1e-12
    assert found["behaviour"] is None and found["optimal_value"] is None and found["horizon"] == 4
    assert (found["episodes"], found["fallbacks"], found["exact"]) == (1000, 0, False)
    assert evaluated(*args) == found
    said = ok("evaluate", *args)
    assert said.startswith("a.model in suffice/TMaze-v0, 1,000 episodes of at most 4 steps:\n")
    mean = with_error(Estimate(found["mean_return"], found["mean_return_stderr"]))
    assert re.search(rf"^  mean return +{re.escape(mean)}$", said, re.M)
    assert f"\nThe logged mean return is {found['behaviour_value']:.4g}.\n" in said


def test_evaluate_passes_options_to_the_environment(here: Path) -> None:
    known, longer = (
        evaluated("a.model", "--domain", "suffice/TMaze-v0", "--set", f"length={length}", "--episodes", "200")
        for length in (2, 3)
    )
    assert longer["mean_return"] < known["mean_return"]


def test_evaluate_uses_the_horizon_of_the_model_in_environments_of_this_package(here: Path) -> None:
    """The horizon determines the length of this maze, unless an option does."""
    ok("simulate", "t-maze", "--horizon", "4", "--episodes", "9000", "-o", "long.parquet")
    ok("learn", "long.parquet", "-o", "long.model", "--stationary", "no")
    found, right = (
        evaluated("long.model", "--domain", "suffice/TMaze-v0", "--episodes", "500"),
        expected("long.model", TMaze()),
    )
    assert found["fallbacks"] == 0
    assert abs(found["mean_return"] - float(right.mean_return)) <= 4 * found["mean_return_stderr"] + 1e-12


def test_evaluate_passes_the_seed_to_the_environment(here: Path) -> None:
    ok("learn", "log.parquet", "-o", "b.model", "--strength", "1e6")
    args = ("b.model", "--domain", "suffice/TMaze-v0", "--set", "length=2", "--episodes", "100")
    assert evaluated(*args, "--seed", "1") == evaluated(*args, "--seed", "1")
    assert evaluated(*args, "--seed", "1")["mean_return"] != evaluated(*args, "--seed", "2")["mean_return"]
