"""Tests of `suffice evaluate --log`: held-out episodes, other logs and logged probabilities."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from suffice.data.encoding.columns import Columns
from suffice.data.logs.reading import read_log
from suffice.models.held_out import find_held_out
from suffice.models.model import Model
from suffice.planning.off_policy import evaluate_off_policy
from support.cli import MAZE, ok, suffice, unwrapped
from support.evaluated_models import EPISODES, evaluated, log_of, make_models

pytestmark = pytest.mark.filterwarnings("ignore:Cyclopts application invoked without tokens")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with logs and models of a T-maze."""
    return make_models(tmp_path_factory)


# By a log

ESTIMATORS = ("log", "model_based", "importance", "doubly_robust")


def assert_same(found: dict[str, Any], right: Any) -> None:
    for name in ESTIMATORS:
        estimate = getattr(right, name)
        if estimate.known:
            assert (found[f"{name}_value"], found[f"{name}_value_stderr"]) == estimate[:2]
            assert found[f"{name}_interval"] == list(estimate.interval())
        else:
            assert found[f"{name}_value"] is found[f"{name}_value_stderr"] is found[f"{name}_interval"] is None
        assert found[f"{name}_unknown"] == right.unknown.get(name)
    assert (found["mean_return"], found["mean_return_stderr"]) == (
        found["doubly_robust_value"],
        found["doubly_robust_value_stderr"],
    )
    assert found["possible_returns"] == list(right.possible)
    for name in ("effective", "matched", "unseen", "rare", "episodes"):
        assert found[name] == getattr(right, name)
    assert found["gaps"] == [gap._asdict() for gap in right.gaps]


def test_evaluate_finds_the_held_out_episodes(here: Path) -> None:
    """The JSON has the estimates of the library, for any format and row order of the log."""
    episodes, loaded = log_of("log.parquet"), Model.load("held.model")
    _, rest, chosen = episodes.divide(0.3, np.random.default_rng(0))
    assert loaded.plan is not None and rest.total == len(chosen) == 2700
    right = evaluate_off_policy(loaded.rdp, loaded.plan, rest)
    found = evaluated("held.model", "--log", "log.parquet")
    assert_same(found, right)
    assert found["behaviour"] == "estimated" and found["log"] == "log.parquet"
    table = pq.read_table("log.parquet")
    pq.write_table(table.take(np.random.default_rng(1).permutation(len(table))), "shuffled.parquet")
    assert_same(evaluated("held.model", "--log", "shuffled.parquet"), right)


def test_learn_does_not_use_the_held_out_episodes(here: Path) -> None:
    """The counts of the automaton are those of the other episodes."""
    episodes, rdp = log_of("log.parquet"), Model.load("held.model").rdp
    used, *_ = episodes.divide(0.3, np.random.default_rng(0))
    assert used.total == 6300 and rdp.tally(used).counts.tolist() == rdp.counts.tolist()


def test_evaluate_uses_all_episodes_of_another_log(here: Path) -> None:
    for model in ("a.model", "held.model"):
        loaded = Model.load(model)
        assert loaded.plan is not None
        found = evaluated(model, "--log", "other.parquet")
        assert_same(found, evaluate_off_policy(loaded.rdp, loaded.plan, log_of("other.parquet")))
        assert found["episodes"] == 3000


def test_evaluate_prints_estimates_and_coverage_as_text(here: Path) -> None:
    found, said = evaluated("held.model", "--log", "log.parquet"), ok("evaluate", "held.model", "--log", "log.parquet")
    assert said.startswith("held.model by 2,700 episodes of log.parquet, held out:\n")
    new = ok("evaluate", "held.model", "--log", "other.parquet")
    assert new.startswith("held.model by 3,000 episodes of other.parquet, assumed to be new:\n")
    rows = dict(re.findall(r"^  (logged behaviour|policy, [a-z -]+?) +(\S+)   \S+ to \S+$", said, re.M))
    names = ("logged behaviour", "policy, model-based", "policy, importance", "policy, doubly robust")
    for row, name in zip(names, ESTIMATORS, strict=True):
        assert float(rows[row]) == pytest.approx(found[f"{name}_value"], rel=1e-3, abs=0.005)  # two decimals
        assert len(rows[row].partition(".")[2]) >= 2
    assert "Probabilities of the logged actions: estimated in each state.\n" in said
    coverage = f"Coverage: {100 * found['matched']:.3g}% of these episodes take only actions that the policy might take"
    assert f"{coverage} (effective sample size {found['effective']:,.0f}). " in unwrapped(said)
    assert "The log has at least 10 examples of each decision of the policy." in unwrapped(said) and not found["rare"]


def test_evaluate_lists_decisions_with_few_examples(here: Path) -> None:
    """A model of a hundred episodes chooses actions that are rare in the log."""
    ok("simulate", *MAZE, "--episodes", "100", "--seed", "8", "-o", "few.parquet")
    ok("learn", "few.parquet", "-o", "few.model", "--planner", "greedy")
    found, said = (
        evaluated("few.model", "--log", "other.parquet"),
        ok("evaluate", "few.model", "--log", "other.parquet"),
    )
    assert 0 < len(found["gaps"]) <= 5 and found["rare"] > 0
    actions = Model.load("few.model").rdp.alphabet.actions
    for gap in found["gaps"]:
        assert gap["visits"] < 10
    printed = re.findall(r"^  (\S+), logged (\d+) times, in (\S+)% of episodes, after ", said, re.M)
    assert [(action, int(visits)) for action, visits, _ in printed] == [
        (str(actions[gap["action"]]), gap["visits"]) for gap in found["gaps"]
    ]
    assert [float(share) / 100 for *_, share in printed] == pytest.approx([g["share"] for g in found["gaps"]], rel=5e-3)
    (rare,) = re.findall(r"The log has fewer than 10 examples of (\S+)% of the policy's decisions\.", unwrapped(said))
    assert float(rare) / 100 == pytest.approx(found["rare"], rel=5e-3)  # three digits


def test_evaluate_reports_that_no_episode_follows_the_policy(here: Path) -> None:
    """Unknown estimates are null in JSON, which has no infinity, with a reason beside them."""
    ok("simulate", *MAZE, "--episodes", "3", "--seed", "1", "-o", "few.parquet")
    found, said = evaluated("a.model", "--log", "few.parquet"), ok("evaluate", "a.model", "--log", "few.parquet")
    assert found["matched"] == found["effective"] == 0
    for name in ("importance", "doubly_robust"):
        assert found[f"{name}_value_stderr"] is None and found[f"{name}_interval"] is None
    assert found["mean_return_stderr"] is None and found["log_value_stderr"] > 0
    assert found["importance_value"] is None and found["doubly_robust_value"] is None
    assert (found["importance_unknown"], found["doubly_robust_unknown"]) == ("no_match", "wide_interval")
    assert found["log_unknown"] is None
    assert re.search(r"^  policy, importance +unknown: no episode follows the policy$", said, re.M)
    wide = "the interval would span most of the possible range"
    assert re.search(rf"^  policy, doubly robust +unknown: {wide}$", said, re.M)
    assert "nan" not in said and " inf" not in said.replace("suffice info", "")
    assert "Infinity" not in ok("evaluate", "a.model", "--log", "few.parquet", "--json")


def test_evaluate_uses_logged_probabilities(here: Path) -> None:
    loaded = Model.load("a.model")
    assert loaded.plan is not None
    episodes = read_log("chance.parquet", Columns(propensity="chance"))
    report = episodes.report
    assert report.propensities is not None
    found = evaluated("a.model", "--log", "chance.parquet", "--propensity-column", "chance")
    assert_same(found, evaluate_off_policy(loaded.rdp, loaded.plan, episodes, report.propensities))
    assert found["behaviour"] == "logged"
    without = evaluated("a.model", "--log", "other.parquet")
    assert without["doubly_robust_value_stderr"] != found["doubly_robust_value_stderr"]
    assert without["model_based_value"] == found["model_based_value"]
    said = ok("evaluate", "a.model", "--log", "chance.parquet", "--propensity-column", "chance")
    assert "Probabilities of the logged actions: logged in a column.\n" in said


def test_evaluate_uses_logged_probabilities_of_held_out_episodes(here: Path) -> None:
    options = ("--propensity-column", "chance")
    ok("learn", "chance.parquet", "-o", "b.model", "--hold-out", "0.5", "--stationary", "no", *options)
    found, loaded = evaluated("b.model", "--log", "chance.parquet", *options), Model.load("b.model")
    episodes = read_log("chance.parquet", Columns(propensity="chance"))
    report = episodes.report
    _, rest, _ = episodes.divide(0.5, np.random.default_rng(0))
    assert loaded.plan is not None and report.propensities is not None
    held = find_held_out(loaded, episodes, report.propensities)
    assert sorted(held.episodes.word.T.tolist()) == sorted(rest.word.T.tolist())
    assert_same(found, evaluate_off_policy(loaded.rdp, loaded.plan, held.episodes, held.propensities))
    assert found["episodes"] == 1500


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
def test_learn_hold_out_suggests_a_command_that_evaluates_the_held_out_episodes(
    here: Path, log: str, options: str
) -> None:
    ok("check", "log.parquet", "--write-schema", "schema.json")
    said = ok("learn", log, "-o", "b.model", "--hold-out", "0.25", *options.split())
    hint = re.findall(r"^Next +suffice (.*?)(?:   or   .*)?$", said, re.M)[0]
    episodes = {"log.parquet": EPISODES, "chance.parquet": 3000}[log]
    assert json.loads(ok(*shlex.split(hint), "--json"))["episodes"] == episodes / 4


def test_evaluate_refuses_a_log_read_with_other_episodes_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Half of 400 episodes are truncated: dropped when learning, and not when the horizon is shorter."""
    monkeypatch.chdir(tmp_path)
    rows = [(e, t, t, (e + t) % 2, 1, e % 2 == 1 and t == 1) for e in range(400) for t in range(3 - e % 2)]
    names = ("episode", "step", "o", "action", "reward", "truncated")
    pq.write_table(pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))), "log.parquet")
    ok("learn", "log.parquet", "-o", "a.model", "--drop-truncated", "--hold-out", "0.25")
    ran = suffice("evaluate", "a.model", "--log", "log.parquet", "--horizon", "2", "--json")
    assert ran.code == 2 and "the episodes are not the same as when a.model was learned" in ran.err


def test_evaluate_finds_the_held_out_episodes_of_a_split(here: Path) -> None:
    ok("learn", "log.parquet", "-o", "b.model", "--hold-out", "0.25", "--split", "--max-states", "40")
    assert evaluated("b.model", "--log", "log.parquet")["episodes"] == EPISODES / 4


def test_evaluate_refuses_a_log_cut_to_a_shorter_horizon(here: Path) -> None:
    ran = suffice("evaluate", "a.model", "--log", "other.parquet", "--horizon", "2")
    assert ran.code == 2 and "cut to 2 decisions, and a.model plans 4. Leave out --horizon" in ran.err


@pytest.mark.parametrize("options", ["--horizon 3", "--schema schema.json"])
def test_evaluate_refuses_the_training_log_however_it_is_read(here: Path, options: str) -> None:
    ok("check", "log.parquet", "--write-schema", "schema.json")
    ran = suffice("evaluate", "a.model", "--log", "log.parquet", *options.split())
    assert ran.code == 2 and "a.model was learned from all of log.parquet" in ran.err


def test_evaluate_refuses_a_log_with_other_observation_columns(here: Path) -> None:
    ran = suffice("evaluate", "a.model", "--log", "other.parquet", "--observations", "bit1,bit2")
    assert (ran.code, ran.out) == (2, "")
    assert "the log's observations are bit1, bit2, the model's bit1, bit2, bit3" in ran.err


def test_evaluate_log_reports_decisions_after_unseen_histories(here: Path) -> None:
    ok("simulate", "t-maze", "--horizon", "4", "--set", "length=1", "--episodes", "500", "-o", "short.parquet")
    found, said = (
        evaluated("a.model", "--log", "short.parquet"),
        ok("evaluate", "a.model", "--log", "short.parquet"),
    )
    assert found["unseen"] > 0.05
    assert f"{100 * found['unseen']:.3g}% of these decisions followed a history that the model has not seen.\n" in said
    assert "has not seen" not in ok("evaluate", "a.model", "--log", "other.parquet")


def test_evaluate_uses_the_bins_of_the_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Action 1 is right above 0, the edge of the model's bins; nearly all values of the other log are above."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name, shift in (("log.parquet", 0.0), ("other.parquet", 3.0)):
        x, action = rng.normal(size=2000) + shift, rng.integers(2, size=2000)
        columns = {"episode": np.arange(2000), "step": np.zeros(2000, int), "x": x, "action": action}
        pq.write_table(pa.table(columns | {"reward": ((x > 0) == action).astype(float)}), name)
    ok("learn", "log.parquet", "-o", "a.model", "--bin", "x=2")
    found = evaluated("a.model", "--log", "other.parquet")
    assert found["doubly_robust_value"] == pytest.approx(1, abs=0.05)
