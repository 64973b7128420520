"""Tests of `suffice learn --stationary`, and of commands that read stationary models."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from suffice.data.logs.writing import write_log
from suffice.models.model import Model
from support.samples import rising
from support.stationary_automata import one_line, suffice


def ok(*args: str) -> str:
    code, out, err = suffice(*args)
    assert (code, err) == (0, ""), err
    return out


MAZE = ("--set", "length=3")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("stationary")
    ok("simulate", "t-maze", *MAZE, "--horizon", "9", "--episodes", "2000", "-o", str(folder / "log.parquet"))
    ok("learn", str(folder / "log.parquet"), "-o", str(folder / "a.model"), "--stationary", "--hold-out", "0.2")
    ok("learn", str(folder / "log.parquet"), "-o", str(folder / "layers.model"), "--stationary", "no")
    return folder


def test_learn_stationary_prints_its_memory(here: Path) -> None:
    out = ok("learn", "log.parquet", "-o", "b.model", "--stationary")
    assert "\nMemory           10 states, the same at every step, from 2,000 episodes of up to 9 steps\n" in out
    assert "no false split with probability at least" in out and "layer" not in out
    again = ok("learn", "log.parquet", "-o", "c.model", "--stationary=yes", "--threads", "1")
    assert Path("b.model").read_bytes() == Path("c.model").read_bytes() and "10 states" in again


def test_learn_chooses_the_memory_by_default(here: Path) -> None:
    ok("learn", "log.parquet", "-o", "b.model", "--stationary", "auto")
    ok("learn", "log.parquet", "-o", "c.model")
    assert Path("b.model").read_bytes() == Path("c.model").read_bytes()
    found = json.loads(ok("info", "c.model", "--json"))
    assert found["memory"] == found["memory_comparison"]["memory"] == "cycle"


@pytest.mark.parametrize(
    "options", ["--metric languages", "--family conjunctions", "--delta 0.001", "--cut 0.01", "--split"]
)
def test_learn_runs_the_algorithm_of_the_paper_if_a_test_or_level_is_chosen(here: Path, options: str) -> None:
    ok("learn", "log.parquet", "-o", "b.model", *options.split())
    ok("learn", "log.parquet", "-o", "c.model", "--stationary", "no", *options.split())
    assert Path("b.model").read_bytes() == Path("c.model").read_bytes()
    assert not Model.load("b.model").rdp.stationary and Model.load("b.model").compared is None


def test_info_shows_a_stationary_model_as_text_and_json(here: Path) -> None:
    found = json.loads(ok("info", "a.model", "--json"))
    assert found["stationary"] is True and found["states"] == 10 and found["layers"] == [10] and found["horizon"] == 9
    assert len(found["candidates"]) == 1 and found["metric"] == "outcomes" and found["family"] is None
    assert found["memory"] == "cycle"
    assert json.loads(ok("info", "layers.model", "--json"))["stationary"] is False
    out = ok("info", "a.model", "--states", "--decisions", "50")
    assert "  10 states, the same at every step, from 1,600 episodes" in out
    rows = [line for line in out.splitlines() if line.startswith(("  state ", "  over: "))]
    assert len(rows) == 10 and "layer" not in "".join(rows)  # one of them is the state after the end
    shares = [float(share) for row in rows for share in re.findall(r"(?:state|over: state) \d+ +([\d.]+)%", row)]
    assert len(shares) == 10 and sum(shares) == pytest.approx(100, abs=1)
    assert "Examples of events that distinguish states:" in out


def test_compare_accepts_stationary_models(here: Path) -> None:
    assert ok("compare", "a.model", "t-maze", *MAZE).splitlines()[:-1] == ["Equal up to renaming of states."]
    found = json.loads(ok("compare", "a.model", "t-maze", "--set", "length=4", "--json"))
    assert found["equal"] is False and found["difference"]["history"]
    assert "the first is stationary, the other layered" in ok("compare", "a.model", "layers.model")
    ok("learn", "log.parquet", "-o", "b.model", "--stationary")
    assert ok("compare", "a.model", "b.model").splitlines()[:-1] == ["Equal up to renaming of states."]


def test_evaluate_accepts_stationary_models(here: Path) -> None:
    exact = json.loads(ok("evaluate", "a.model", "--domain", "t-maze", *MAZE, "--exact", "--json"))
    assert exact["horizon"] == 9
    assert exact["mean_return"] == pytest.approx(exact["optimal_value"], abs=0.3)
    assert exact["mean_return"] > exact["behaviour"]["mean_return"] + 1
    tried = json.loads(ok("evaluate", "a.model", "--domain", "t-maze", *MAZE, "--episodes", "4000", "--json"))
    assert tried["mean_return"] == pytest.approx(exact["mean_return"], abs=5 * tried["mean_return_stderr"])
    by_log = json.loads(ok("evaluate", "a.model", "--log", "log.parquet", "--json"))
    assert by_log["episodes"] == 400
    assert by_log["model_based_value"] is None  # a few rewarded episodes: the interval spans most of the possible range
    ok("simulate", "t-maze", *MAZE, "--horizon", "9", "--episodes", "5000", "--seed", "7", "-o", "more.parquet")
    by_log = json.loads(ok("evaluate", "a.model", "--log", "more.parquet", "--json"))
    assert by_log["model_based_value"] == pytest.approx(exact["mean_return"], abs=1)


def test_export_writes_stationary_models(here: Path) -> None:
    for kind, sign in (("json", '"layers": [\n  10\n ]'), ("dot", "digraph rdp"), ("pomdp", "discount: 1.0")):
        ok("export", "a.model", "--format", kind, "-o", f"a.{kind}")
        assert sign in Path(f"a.{kind}").read_text()
    assert '"t"' not in Path("a.json").read_text()


def test_learn_discount_plans_without_a_last_step(here: Path) -> None:
    ok("learn", "log.parquet", "-o", "b.model", "--stationary", "--discount", "0.9")
    assert json.loads(ok("info", "b.model", "--json"))["plan"]["discount"] == 0.9
    assert Model.load("b.model").policy().rdp.stationary
    exact = json.loads(ok("evaluate", "b.model", "--domain", "t-maze", *MAZE, "--exact", "--json"))
    assert exact["mean_return"] > exact["behaviour"]["mean_return"] + 1


def test_learn_stationary_works_without_a_plan(here: Path) -> None:
    ok("learn", "log.parquet", "-o", "b.model", "--stationary", "--planner", "none")
    assert ok("compare", "b.model", "t-maze", *MAZE).splitlines()[:-1] == ["Equal up to renaming of states."]
    assert json.loads(ok("info", "b.model", "--json"))["plan"] is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--stationary --metric prefixes", "compares states by e-values. Leave out --metric.\n"),
        ("--stationary --family 1,1,1", "compares states by e-values. Leave out --family.\n"),
        ("--stationary --bound paper", "compares states by e-values. Leave out --bound.\n"),
        ("--stationary --split", "is proved for layers only, so it cannot be combined with --stationary"),
        ("--stationary --planner subsampled", "is proved for layers only, so it cannot be combined with --stationary"),
        ("--stationary auto --split", "is proved for layers only, so it cannot be combined with --stationary"),
        ("--stationary --second-look", "--second-look refines layers"),
        ("--stationary no --discount 0.9", "Add --stationary or --objective discounted, or leave out --discount"),
        ("--stationary --discount 1", "from 0 to 0.999"),
        ("--stationary --discount -0.5", "from 0 to 0.999"),
        (
            "--stationary --discount 0.9 --planner none",
            "--discount has no effect with --planner none. Leave one of them out.",
        ),
        (
            "--stationary --horizon 1",
            "a stationary automaton needs episodes of at least two decisions, and these have 1. Learn layers instead, ",
        ),
        ("--stationary --memory 1KB", "Raise --memory."),
        (
            "--stationary --delta 0.01 --confidence 0.9",
            "--delta and --confidence both set the level of the tests. Leave one",
        ),
        ("--stationary=perhaps", ""),
        ("--stationary no --strict", "--strict applies to --stationary only"),
    ],
)
def test_learn_refuses_options_that_cannot_be_combined(here: Path, options: str, said: str) -> None:
    code, out, err = suffice("learn", "log.parquet", "-o", "b.model", *options.split())
    assert (code, out) == (2, "") and said in err and not Path("b.model").exists()
    assert one_line(err) or options.endswith("perhaps")


def test_learn_stationary_auto_chooses_a_stationary_automaton_for_a_maze(here: Path) -> None:
    out = ok("learn", "log.parquet", "-o", "b.model", "--stationary", "auto")
    assert "10 states, the same at every step" in out and " per held-out episode to the last observation\n" in out
    assert ok("compare", "b.model", "t-maze", *MAZE).splitlines()[:-1] == ["Equal up to renaming of states."]
    found = json.loads(ok("learn", "log.parquet", "-o", "c.model", "--stationary", "auto", "--json"))
    assert found["stationarity"]["stationary"] is True and found["stationary"] is True
    assert Path("b.model").read_bytes() == Path("c.model").read_bytes()


def test_learn_stationary_auto_chooses_layers_if_rewards_depend_on_the_step(here: Path) -> None:
    write_log(rising(400), "steps.parquet")
    out = ok("learn", "steps.parquet", "-o", "b.model", "--stationary", "auto", "--discount", "0.9")
    assert "one state per step" in out and "--discount and --strict have no effect on layers" in out
    ok("learn", "steps.parquet", "-o", "c.model", "--stationary", "no")
    assert ok("compare", "b.model", "c.model").splitlines()[:-1] == ["Equal up to renaming of states."]
    found = json.loads(ok("learn", "steps.parquet", "-o", "d.model", "--stationary", "auto", "--json"))
    assert found["stationary"] is False and found["stationarity"]["stationary"] is False
    assert found["stationarity"]["tied_bits"] > found["stationarity"]["layered_bits"]
