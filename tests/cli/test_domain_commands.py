"""Tests of commands on domains: `simulate` with its behaviour policies, `exact`, and others that accept a domain."""

from __future__ import annotations

import json
import math
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from suffice.data.logs.reading import read_log
from suffice.domains.exact.truth import by_languages, truth_of
from suffice.domains.registry import DOMAINS
from suffice.domains.tasks.t_maze import TMaze
from suffice.evidence.languages import CONJUNCTIONS
from support.cli import ok, suffice
from support.paths import ROOT

pytestmark = pytest.mark.filterwarnings("ignore:Cyclopts application invoked without tokens")

TIGER = str(ROOT / "examples/pomdp/tiger.POMDP")


def exact(*args: str) -> dict[str, Any]:
    return json.loads(ok("exact", *args, "--json"))


def mean_return(path: Path) -> float:
    episodes = read_log(path)
    rewards = np.array(episodes.alphabet.rewards)[episodes.letters[:, 2]]
    return float(rewards[episodes.word].sum(axis=0).mean())


def test_exact_json_has_values_and_episodes_needed() -> None:
    said = exact("t-maze")
    assert (said["states"], said["layers"], said["horizon"]) == (20, [1, 2, 3, 4, 5, 4, 1], 5)
    assert (said["optimal_value"], said["behaviour_value"]) == (4.0, -1715 / 512)
    assert said["distinguishability"] == 1 / 1024 and said["closest"]["distance"] == "1/1024"
    assert said["closest"]["histories"] == ["(0, 1, 1)", "(1, 1, 0)"]
    truth = truth_of(TMaze().model(5), 5)
    needed = by_languages(truth.minimal, CONJUNCTIONS, 1e-3).needed
    assert set(said["episodes_needed"]) == {"paper", "two-sample", "likelihood-ratio", "fisher"}
    for bound, both in needed.items():
        assert said["episodes_needed"][bound] == math.ceil(both.sufficient)
        assert said["episodes_likely"][bound] == math.ceil(both.likely)
    assert said["rewards_tell"] is None and said["arithmetic"] == "rational"


def test_exact_prints_the_values_of_its_json_as_text() -> None:
    said = ok("exact", "t-maze")
    assert "20 states in layers 1 2 3 4 5 4 1" in said and "1/1024 ≈ 0.000976562" in said
    assert "Hardest to distinguish, in layer 1, are the states after:\n  (0, 1, 1)\n  (1, 1, 0)\n" in said
    likely = exact("t-maze")["episodes_likely"]["fisher"]
    assert said.splitlines()[-1] == f"Next: suffice simulate t-maze --episodes {3 * likely} -o log.parquet"


def test_exact_applies_horizon_family_metric_delta_and_domain_options() -> None:
    assert exact("t-maze", "--horizon", "4", "--set", "length=2")["layers"] == [1, 2, 4, 5, 5, 1]
    blind = exact("corridor", "--family", "1,1,1")
    assert blind["distinguishability"] == 0 and set(blind["episodes_needed"].values()) == {None}
    assert ok("exact", "corridor", "--family", "1,1,1").endswith("Next: suffice exact corridor --family conjunctions\n")
    assert exact("corridor", "--metric", "prefixes")["statistic"] == "prefixes"
    assert set(exact("corridor", "--metric", "sketch")["episodes_needed"]) == {"paper"}
    assert exact("corridor", "--metric", "L1")["distinguishability"] == 2
    assert (
        exact("corridor", "--delta", "1e-6")["episodes_needed"]["paper"] > exact("corridor")["episodes_needed"]["paper"]
    )
    assert exact("corridor", "--set", "enemy=0.9")["optimal_value"] == 4.5


@pytest.mark.parametrize("name", DOMAINS)
def test_exact_and_simulate_work_in_every_domain(name: str, tmp_path: Path) -> None:
    said = exact(name, "--horizon", "4")
    assert said["states"] == sum(said["layers"]) and said["optimal_value"] >= said["behaviour_value"]
    ok("simulate", name, "--horizon", "4", "--episodes", "50", "-o", str(tmp_path / "log.csv"))
    assert read_log(tmp_path / "log.csv").n == 50


def test_exact_and_simulate_accept_a_pomdp_file(tmp_path: Path) -> None:
    assert exact(TIGER, "--horizon", "4")["layers"] == [1, 1, 3, 5, 7, 1]
    log = tmp_path / "log.parquet"
    said = ok("simulate", TIGER, "--horizon", "10", "--episodes", "500", "-o", str(log))
    assert said.startswith("Wrote 500 episodes of ") and read_log(log).horizon == 10


def test_simulate_and_exact_follow_the_plan_of_a_model(tmp_path: Path) -> None:
    log, model, played = (str(tmp_path / name) for name in ("log.parquet", "maze.model", "played.csv"))
    ok("simulate", "t-maze", "--episodes", "100000", "-o", log)
    ok("learn", log, "-o", model, "--stationary", "no")
    ok("simulate", "t-maze", "--episodes", "200", "--behaviour", model, "--epsilon", "0", "-o", played)
    assert mean_return(Path(played)) == 4.0
    greedy = exact("t-maze", "--behaviour", model, "--epsilon", "0")
    assert greedy["behaviour_value"] == greedy["optimal_value"] == greedy["covered_value"] == 4.0
    some = exact("t-maze", "--behaviour", model, "--epsilon", "1/5")
    assert -3.3 < some["behaviour_value"] < 4
    again = ok("exact", "t-maze", "--behaviour", model, "--epsilon", "1/5").splitlines()[-1]
    assert f"t-maze --behaviour {model} --epsilon 1/5 --episodes" in again
    said = ok("export", model, "--format", "pomdp", "-o", str(tmp_path / "maze.POMDP"))
    command = shlex.split(said.split("Next: suffice ")[1])
    assert exact(*command[1:])["optimal_value"] == pytest.approx(4)


def test_compare_accepts_a_domain_as_second_model(tmp_path: Path) -> None:
    log, model = str(tmp_path / "log.parquet"), str(tmp_path / "corridor.model")
    ok("simulate", "corridor", "--episodes", "1000", "-o", log)
    ok("learn", log, "-o", model, "--stationary", "no")
    said = ok("compare", model, "corridor").splitlines()
    assert said == ["Equal up to renaming of states.", f"Next: suffice evaluate {model} --domain corridor --exact"]
    found = json.loads(ok("compare", model, "corridor", "--set", "enemy=0.9", "--json"))
    assert not found["equal"] and "only the second has seen this history" in found["difference"]["reason"]
    ran = suffice("compare", model, model, "--set", "enemy=0.9")
    assert ran.code == 2 and "--set enemy=0.9 applies to domains only, and none is given." in ran.err


def test_export_pomdp_writes_a_domain_for_solvers(tmp_path: Path) -> None:
    said = ok("export", "t-maze", "--format", "pomdp", "--set", "length=2", "-o", str(tmp_path / "maze.POMDP"))
    assert said.endswith("maze.POMDP --horizon 6\n")
    asked = exact(str(tmp_path / "maze.POMDP"), "--horizon", "6")
    assert asked["behaviour_value"] == exact("t-maze", "--set", "length=2")["behaviour_value"]
    assert asked["layers"][1:] == exact("t-maze", "--set", "length=2")["layers"]


def test_exact_follows_a_table_as_behaviour(tmp_path: Path) -> None:
    (tmp_path / "east.csv").write_text("bit1,bit2,bit3,E,N,S,W\n0,1,0,0,1/2,1/2,0\n,,,1,0,0,0\n")
    east = exact("t-maze", "--behaviour", str(tmp_path / "east.csv"))
    assert east["layers"] == exact("t-maze", "--set", "actions=east")["layers"]
    assert (east["optimal_value"], east["behaviour_value"]) == (4.0, 1.5)


def test_exact_reports_rewards_that_reveal_the_state(tmp_path: Path) -> None:
    (tmp_path / "secret.POMDP").write_text(
        "discount: 1.0\nvalues: reward\nstates: a b\nactions: x y\nobservations: o\n"
        "T: * identity\nO: * uniform\nR: x : a : * : * 1\n"
    )
    secret = str(tmp_path / "secret.POMDP")
    found = exact(secret, "--horizon", "3")
    assert found["rewards_tell"].startswith("Rewards carry information that observations do not: after ")
    assert found["rewards_tell"].endswith("Add the reward to the observation with --observe-reward.")
    assert found["distinguishability"] is found["episodes_needed"] is None and found["optimal_value"] == 1.5
    said = ok("exact", secret, "--horizon", "3")
    assert said.splitlines()[-1] == f"Next: suffice exact {secret} --horizon 3 --observe-reward"
    observed = exact(secret, "--horizon", "3", "--observe-reward")
    assert observed["rewards_tell"] is None and observed["distinguishability"] > 0
    ok("simulate", secret, "--horizon", "3", "--episodes", "50", "-o", str(tmp_path / "blind.csv"))
    ok("learn", str(tmp_path / "blind.csv"), "-o", str(tmp_path / "blind.model"), "--stationary", "no")
    ran = suffice("compare", str(tmp_path / "blind.model"), secret)
    assert ran.code == 2 and f"there is no automaton to compare with. {found['rewards_tell']}" in ran.err
    ok("simulate", secret, "--horizon", "3", "--observe-reward", "--episodes", "9", "-o", str(tmp_path / "log.csv"))
    assert read_log(tmp_path / "log.csv").alphabet.features == ("observation", "paid")


@pytest.mark.parametrize(
    ("command", "complaint"),
    [
        ("exact t-mase", "Did you mean 't-maze'?"),
        ("exact t-maze --horizon 0", "--horizon 0 leaves no action. Use 1 or more."),
        ("exact t-maze --delta 2", "--delta 2 is not a probability between 0 and 1. Try 0.001."),
        ("exact t-maze --metric prefixes --family 1,1,1", "--family applies to --metric languages only"),
        (
            "exact t-maze --family big",
            "--family big is not a language family. Choose conjunctions or adaptive, or I,J,K such as 1,1,1.",
        ),
        ("exact t-maze --set lenght=3", "Did you mean 'length'?"),
        ("exact corridor --set enemy=2", "enemy"),
        ("exact t-maze --behaviour nothing.csv", "nothing.csv: there is no such file. Check its name."),
        ("exact t-maze --behaviour nothing.model", "nothing.model: there is no such file"),
        ("exact t-maze --epsilon 0.3", "--epsilon needs a model as --behaviour"),
        ("exact t-maze --set length=2 --set length=3", "--set length is given twice"),
        ("exact t-maze --family 4,9,9", "do not fit into"),
        ("exact nothing.POMDP", "nothing.POMDP: the file cannot be read"),
        (f"exact {TIGER} --set noise=true", "a .POMDP file has no options. Remove noise"),
    ],
)
def test_domain_commands_print_one_line_about_a_mistake(
    command: str, complaint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ran = suffice(*shlex.split(command))
    assert (ran.code, ran.out) == (2, "") and complaint in ran.err and ran.err.count("\n") == 1


def test_simulate_refuses_to_overwrite_its_input(tmp_path: Path) -> None:
    table = tmp_path / "table.csv"
    table.write_text("E,N,S,W\n1,0,0,0\n")
    ran = suffice("simulate", "t-maze", "--episodes", "5", "--behaviour", str(table), "-o", str(table))
    assert ran.code == 2 and "this would overwrite an input file" in ran.err
    assert table.read_text() == "E,N,S,W\n1,0,0,0\n"
    model = tmp_path / "x.model"
    model.write_bytes(b"")
    ran = suffice("simulate", "t-maze", "--episodes", "5", "--behaviour", str(model), "--epsilon", "2", "-o", "x.csv")
    assert ran.code == 2 and "--epsilon 2 is not a probability. Use a number from 0 to 1, such as 0.1." in ran.err


def test_exact_stationary_counts_the_states_of_the_stationary_automaton() -> None:
    assert "An automaton that is the same at every step needs 21 states." in ok(
        "exact", "mini-hall", "--horizon", "4", "--stationary"
    )
    found = json.loads(ok("exact", "mini-hall", "--horizon", "4", "--stationary", "--json"))
    assert found["stationary_states"] == 21
    assert "stationary_states" not in json.loads(ok("exact", "corridor", "--json"))
    ran = suffice("exact", str(TIGER), "--stationary")
    assert (
        ran.code == 2
        and "the model has no finite stationary automaton, as far as " in ran.err
        and ran.err.count("\n") == 1
    )
