"""Stationary automata on the command line."""

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
    ok("learn", str(folder / "log.parquet"), "-o", str(folder / "layers.model"))
    return folder


def test_learning_says_what_it_found(here: Path) -> None:
    out = ok("learn", "log.parquet", "-o", "b.model", "--stationary")
    assert out.splitlines()[0].startswith("10 states, the same at every step, from 2,000 episodes in ")
    assert "there is no false split" in out and "layer" not in out.split("Next:")[0].replace("in layers", "layer")
    again = ok("learn", "log.parquet", "-o", "c.model", "--stationary=yes", "--threads", "1")
    assert Path("b.model").read_bytes() == Path("c.model").read_bytes() and "10 states" in again


def test_no_is_the_default(here: Path) -> None:
    ok("learn", "log.parquet", "-o", "b.model", "--stationary", "no")
    assert Path("b.model").read_bytes() == Path("layers.model").read_bytes()


def test_info_tells_the_same_to_people_and_machines(here: Path) -> None:
    told = json.loads(ok("info", "a.model", "--json"))
    assert told["stationary"] is True and told["states"] == 10 and told["layers"] == [10] and told["horizon"] == 9
    assert len(told["candidates"]) == 1 and told["metric"] == "outcomes" and told["family"] is None
    assert json.loads(ok("info", "layers.model", "--json"))["stationary"] is False
    out = ok("info", "a.model", "--states", "--decisions", "50")
    assert out.startswith("10 states, the same at every step")
    rows = [line for line in out.splitlines() if line.startswith(("  state ", "  over: "))]
    assert len(rows) == 10 and "layer" not in "".join(rows)  # one state is where episodes are over
    shares = [float(share) for row in rows for share in re.findall(r"(?:state|over: state) \d+ +([\d.]+)%", row)]
    assert len(shares) == 10 and sum(shares) == pytest.approx(100, abs=1)
    assert "Told apart, for example, by:" in out


def test_a_model_is_compared_with_the_truth_and_with_models(here: Path) -> None:
    assert ok("compare", "a.model", "t-maze", *MAZE).splitlines()[:-1] == ["Equal up to renaming of states."]
    told = json.loads(ok("compare", "a.model", "t-maze", "--set", "length=4", "--json"))
    assert told["equal"] is False and told["difference"]["history"]
    assert "the first is stationary, the other layered" in ok("compare", "a.model", "layers.model")
    ok("learn", "log.parquet", "-o", "b.model", "--stationary")
    assert ok("compare", "a.model", "b.model").splitlines()[:-1] == ["Equal up to renaming of states."]


def test_it_is_evaluated_in_a_domain_and_by_a_log(here: Path) -> None:
    exact = json.loads(ok("evaluate", "a.model", "--domain", "t-maze", *MAZE, "--exact", "--json"))
    assert exact["horizon"] == 9
    assert exact["mean_return"] == pytest.approx(exact["optimal_value"], abs=0.3)
    assert exact["mean_return"] > exact["behaviour"]["mean_return"] + 1
    tried = json.loads(ok("evaluate", "a.model", "--domain", "t-maze", *MAZE, "--episodes", "4000", "--json"))
    assert tried["mean_return"] == pytest.approx(exact["mean_return"], abs=5 * tried["mean_return_stderr"])
    by_log = json.loads(ok("evaluate", "a.model", "--log", "log.parquet", "--json"))
    assert by_log["episodes"] == 400
    assert by_log["model_based_value"] == pytest.approx(exact["mean_return"], abs=1)


def test_exports_are_written(here: Path) -> None:
    for kind, sign in (("json", '"layers": [\n  10\n ]'), ("dot", "digraph rdp"), ("pomdp", "discount: 1.0")):
        ok("export", "a.model", "--format", kind, "-o", f"a.{kind}")
        assert sign in Path(f"a.{kind}").read_text()
    assert '"t"' not in Path("a.json").read_text()


def test_a_discounted_plan_is_for_ever(here: Path) -> None:
    ok("learn", "log.parquet", "-o", "b.model", "--stationary", "--discount", "0.9")
    assert json.loads(ok("info", "b.model", "--json"))["plan"]["discount"] == 0.9
    assert Model.load("b.model").policy().rdp.stationary
    exact = json.loads(ok("evaluate", "b.model", "--domain", "t-maze", *MAZE, "--exact", "--json"))
    assert exact["mean_return"] > exact["behaviour"]["mean_return"] + 1


def test_without_a_plan_there_is_an_automaton(here: Path) -> None:
    ok("learn", "log.parquet", "-o", "b.model", "--stationary", "--planner", "none")
    assert ok("compare", "b.model", "t-maze", *MAZE).splitlines()[:-1] == ["Equal up to renaming of states."]
    assert json.loads(ok("info", "b.model", "--json"))["plan"] is None


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--stationary --metric prefixes", "Leave out --metric, --family and --bound"),
        ("--stationary --family 1,1,1", "Leave out --metric, --family and --bound"),
        ("--stationary --bound paper", "Leave out --metric, --family and --bound"),
        ("--stationary --split", "Leave them out, or --stationary"),
        ("--stationary --planner subsampled", "Leave them out, or --stationary"),
        ("--stationary auto --split", "Leave them out, or --stationary"),
        ("--stationary --second-look", "--second-look refines layers"),
        ("--discount 0.9", "Add --stationary, or leave it out"),
        ("--stationary --discount 1", "from 0 to 0.999"),
        ("--stationary --discount -0.5", "from 0 to 0.999"),
        ("--stationary --discount 0.9 --planner none", "--discount has no effect with --planner none"),
        ("--stationary --horizon 1", "at least two decisions; leave --stationary out"),
        ("--stationary --memory 1KB", "raise --memory"),
        ("--stationary --delta 0.01 --confidence 0.9", "Leave one of them out"),
        ("--stationary=perhaps", ""),
        ("--strict", "--strict applies to --stationary only"),
    ],
)
def test_options_that_do_not_go_together_are_refused(here: Path, options: str, said: str) -> None:
    code, out, err = suffice("learn", "log.parquet", "-o", "b.model", *options.split())
    assert (code, out) == (2, "") and said in err and not Path("b.model").exists()
    assert one_line(err) or options.endswith("perhaps")


def test_auto_folds_a_maze(here: Path) -> None:
    out = ok("learn", "log.parquet", "-o", "b.model", "--stationary", "auto")
    assert out.startswith("Fold time: one automaton for all steps predicts as well or better.")
    assert ok("compare", "b.model", "t-maze", *MAZE).splitlines()[:-1] == ["Equal up to renaming of states."]
    told = json.loads(ok("learn", "log.parquet", "-o", "c.model", "--stationary", "auto", "--json"))
    assert told["stationarity"]["stationary"] is True and told["stationary"] is True
    assert Path("b.model").read_bytes() == Path("c.model").read_bytes()


def test_auto_keeps_the_layers_of_what_depends_on_the_step(here: Path) -> None:
    write_log(rising(400), "steps.parquet")
    out = ok("learn", "steps.parquet", "-o", "b.model", "--stationary", "auto", "--discount", "0.9")
    assert out.startswith("Keep the layers: what happens depends on the step.")
    ok("learn", "steps.parquet", "-o", "c.model")
    assert Path("b.model").read_bytes() == Path("c.model").read_bytes(), "as if nothing had been said of time"
    told = json.loads(ok("learn", "steps.parquet", "-o", "d.model", "--stationary", "auto", "--json"))
    assert told["stationary"] is False and told["stationarity"]["stationary"] is False
    assert told["stationarity"]["tied_bits"] > told["stationarity"]["layered_bits"]
