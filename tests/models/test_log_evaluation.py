"""`model.evaluate`: the estimates of `suffice evaluate --log`, on held-out episodes or on another log."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest

import suffice
from suffice import Episodes, LogEvaluation, Model, read_log
from suffice.planning.off_policy import evaluate_off_policy
from support.cli import ok


def corridor(n: int, seed: int = 0) -> Episodes:
    return suffice.simulate(suffice.make("corridor").model(5), n, 5, np.random.default_rng(seed))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluation")
    for name, seed in (("log", 1), ("other", 2)):
        suffice.write_log(corridor(600, seed), folder / f"{name}.parquet")
    suffice.learn(folder / "log.parquet", hold_out=0.25).save(folder / "held.model")
    return folder


@pytest.mark.parametrize("log", ["log.parquet", "other.parquet"])
def test_evaluate_returns_what_the_command_prints_as_json(here: Path, log: str) -> None:
    printed = json.loads(ok("evaluate", "held.model", "--log", log, "--json"))
    found = suffice.load("held.model").evaluate(log)
    assert {"model": "held.model", "log": log} | json.loads(json.dumps(found.to_dict())) == printed
    assert found.held_out == (log == "log.parquet") and found.n_episodes == (150 if found.held_out else 600)


def test_evaluate_prints_what_the_command_prints(here: Path) -> None:
    found = suffice.load("held.model").evaluate("log.parquet")
    printed = " ".join(ok("evaluate", "held.model", "--log", "log.parquet").split())
    for line in (*found.table, *found.sentences, *found.gaps):
        assert " ".join(line.split()) in printed
    assert str(found).startswith("the model by 150 episodes of log.parquet, held out:")


def test_evaluate_finds_held_out_episodes_in_files_and_episodes(here: Path) -> None:
    """The content of a log decides, not where it is."""
    model = suffice.load("held.model")
    Path("log.parquet").rename("renamed.parquet")
    given = read_log("renamed.parquet")
    found = [model.evaluate(log) for log in ("renamed.parquet", given, [given], ["renamed.parquet"])]
    assert all(each.held_out for each in found)
    assert len({json.dumps(each.to_dict()) for each in found}) == 1


def test_evaluate_estimates_equal_off_policy_evaluation(here: Path) -> None:
    model, other = suffice.load("held.model"), corridor(600, 2)
    found = model.evaluate(other)
    assert model.plan is not None
    assert found.off_policy == evaluate_off_policy(model.planned, model.plan, other)
    assert isinstance(found, LogEvaluation) and isinstance(found.off_policy, suffice.OffPolicyEvaluation)
    for name in ("log", "model_based", "importance", "doubly_robust"):
        assert getattr(found, name) == getattr(found.off_policy, name)
    assert found.interval(0.9) == found.doubly_robust.interval(0.9)
    low, high = found.interval()
    assert low <= 5 <= high  # the optimum, which the plan reaches


def test_evaluate_uses_logged_propensities(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = ["episode,step,seen,action,reward,chance"]
    for episode in range(200):
        action = int(rng.integers(2))
        rows.append(f"{episode},0,x,{action},{action},0.5")
    (tmp_path / "log.csv").write_text("\n".join(rows))
    model = suffice.learn(tmp_path / "log.csv", columns={"propensity": "chance"}, hold_out=0.5)
    found = model.evaluate(tmp_path / "log.csv")
    assert found.logged and found.to_dict()["behaviour"] == "logged" and "logged in a column" in str(found)
    assert found.importance.value == pytest.approx(1, abs=4 * found.importance.error)


def test_evaluate_reports_that_too_few_episodes_follow_the_policy(here: Path) -> None:
    found = suffice.load("held.model").evaluate(corridor(4, seed=9))
    assert not found.enough and math.isinf(found.doubly_robust.error) and math.isnan(found.doubly_robust.value)
    assert found.to_dict()["doubly_robust_interval"] is None and found.to_dict()["importance_value"] is None
    assert "Too few episodes follow the policy" in str(found) and "not known" in repr(found)
    assert found.interval() == found.off_policy.possible == (0, 5)


@pytest.mark.parametrize("learned", [{}, {"plan": False}])
def test_evaluate_refuses_learned_episodes_and_missing_plans(learned: dict[str, bool]) -> None:
    model = suffice.learn(corridor(100), plan=learned.get("plan", True))
    with pytest.raises(suffice.SufficeError, match=r"hold_out=0\.2" if model.plan else "has no plan"):
        model.evaluate(corridor(100))


def test_evaluate_names_the_parameter_that_fixes_the_horizon(here: Path) -> None:
    model: Model = suffice.learn("log.parquet", horizon=3, hold_out=0.25)
    assert model.evaluate("log.parquet", horizon=3).held_out
    with pytest.raises(suffice.SufficeError, match="horizon"):
        model.evaluate("log.parquet")
    with pytest.raises(suffice.SufficeError, match="cut to 2 decisions"):
        model.evaluate("log.parquet", horizon=2)


def test_evaluate_refuses_a_log_with_values_that_the_model_has_not_seen() -> None:
    rows = {"episode": [], "step": [], "cue": [], "action": [], "reward": []}  # type: ignore[var-annotated]
    rng = np.random.default_rng(0)
    for episode in range(200):
        for step in range(3):
            cue, action = int(rng.integers(2)), int(rng.integers(2))
            for name, value in zip(rows, (episode, step, cue, action, int(cue == action)), strict=True):
                rows[name].append(value)
    model = suffice.learn(rows)
    other = rows | {"cue": [cue + 7 for cue in rows["cue"]]}
    with pytest.raises(suffice.LogError, match=r"100% of the decisions follow a history that .* has not seen\. Use"):
        model.evaluate(other)
