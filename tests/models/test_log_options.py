"""Parameters about a log: those without effect are refused, and bins are those of an earlier model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import suffice
from support.cli import suffice as run


def table(n: int = 60, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    rows = np.arange(3 * n)
    return pd.DataFrame(
        {
            "episode": rows // 3,
            "step": rows % 3,
            "x": rng.integers(0, 4, 3 * n),
            "action": rng.integers(0, 2, 3 * n),
            "reward": rng.integers(0, 2, 3 * n).astype(float),
        }
    )


@pytest.mark.parametrize(
    "options",
    [
        {"columns": {"reward": "zzz"}},
        {"observations": "zzz"},
        {"drop_truncated": True},
        {"max_values": 3},
        {"schema": "schema.json"},
        {"bins": {"zzz": 3}},
        {"bins": {"zzz": suffice.Bins((1.0,))}},
    ],
)
def test_reading_options_are_refused_for_episodes(options: dict[str, Any]) -> None:
    episodes = suffice.read_log(table())
    name = next(iter(options))
    for call in (
        lambda: suffice.learn(episodes, **options),
        lambda: suffice.learn([episodes], **options),
        lambda: suffice.check(episodes, **options),
        lambda: suffice.Learner(**options).fit(episodes),
    ):
        with pytest.raises(suffice.SettingsError, match=f"^{name}"):
            call()
    if name != "bins":
        with pytest.raises(suffice.SettingsError, match=f"^{name}"):
            suffice.learn(episodes).evaluate(episodes[:30], **options)


def test_episodes_with_other_bins_than_the_model_are_refused() -> None:
    plain, binned = suffice.read_log(table()), suffice.read_log(table(seed=1), bins={"x": 2})
    model = suffice.learn(plain)
    for call in (
        lambda: model.evaluate(binned),
        lambda: suffice.learn(binned, like=model),
        lambda: model.explore(log=binned),
        lambda: suffice.learn([plain, binned]),
        lambda: suffice.learn(binned).evaluate(plain),
    ):
        with pytest.raises(suffice.SettingsError, match="column 'x': these Episodes were read with other bins"):
            call()


def test_bins_other_than_those_of_the_earlier_model_are_refused(tmp_path: Path) -> None:
    model = suffice.learn(table(), bins={"x": 2})
    with pytest.raises(suffice.SettingsError, match=r"bins=.*: the earlier model has its own bins of this column"):
        suffice.learn(table(seed=1), like=model, bins={"x": 3})
    with pytest.raises(suffice.SettingsError, match=r"bins=.*: the earlier model does not bin this column"):
        suffice.learn(table(seed=1), like=model, bins={"action": 2})
    again = suffice.learn(table(seed=1), like=model, bins=model.bins)
    assert again.bins == model.bins


def test_observations_are_names_separated_by_commas_and_spaces() -> None:
    log = table().assign(y=1)
    assert suffice.learn(log, observations="x, y").columns.observations == ("x", "y")


def test_check_refuses_an_empty_selection() -> None:
    with pytest.raises(suffice.LogError, match="there are no episodes"):
        suffice.check(suffice.read_log(table())[:0])


def test_check_reports_on_the_selected_episodes() -> None:
    log = table()
    log.loc[log.episode >= 50, "x"] = 9
    episodes = suffice.read_log(log[(log.episode < 50) | (log.step < 2)])
    report = suffice.check(episodes[:50]).report
    assert (report.rows, report.episodes, report.lengths, report.padded) == (150, 50, (3, 3.0, 3), 0)
    assert report.values["x"] == 4
    report = suffice.check(episodes[50:]).report
    assert (report.rows, report.episodes, report.lengths, report.padded) == (20, 10, (2, 2.0, 2), 10)


def test_check_of_cut_episodes_reports_like_the_check_of_a_log() -> None:
    log = table()
    one, other = suffice.check(suffice.read_log(log), horizon=2).report, suffice.check(log, horizon=2).report
    assert (one.horizon, one.cut, one.padded, one.lost) == (2, 60, 0, other.lost)
    assert (one.notes, one.lengths, one.rows) == (other.notes, other.lengths, other.rows)
    assert suffice.read_log(log).padded(5).report.padded == 60  # type: ignore[union-attr]


def test_learner_keeps_the_names_of_columns() -> None:
    log = table().rename(columns={"action": "drug", "reward": "outcome"})
    learner = suffice.Learner(columns={"action": "drug", "reward": "outcome"}).fit(log)
    assert (learner.model_.columns.action, learner.model_.columns.reward) == ("drug", "outcome")


def test_read_log_takes_what_learn_takes(tmp_path: Path) -> None:
    plain, binned = suffice.read_log(table()), suffice.read_log(table(), bins={"x": "2"})
    assert binned.report is not None and list(binned.report.bins) == ["x"]
    suffice.write_schema(plain.alphabet, tmp_path / "s.json")
    assert suffice.read_log(table(), schema=str(tmp_path / "s.json")).declared
    model = suffice.learn(binned)
    for like in (model, binned.report, model.encoder):
        again = suffice.read_log(table(seed=1), like=like).report
        assert again is not None and again.bins == model.bins


def test_episodes_are_selected_by_ranges_and_masks_of_pandas() -> None:
    episodes = suffice.read_log(table())
    assert list(episodes[range(3)]) == list(episodes[:3])
    assert len(episodes[pd.Series([True] * 5 + [False] * 55)]) == 5
    with pytest.raises(suffice.SettingsError, match="horizon=2: episodes of 3 decisions cannot be padded to it"):
        episodes.padded(2)


def test_learn_command_refuses_bins_other_than_those_of_the_earlier_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    table().to_csv("log.csv", index=False)
    suffice.learn("log.csv", bins={"x": 2}).save("a.model")
    ran = run("learn", "log.csv", "-o", "b.model", "--like", "a.model", "--bin", "x=3")
    assert ran.code == 2 and "--bin x=3: the earlier model has its own bins of this column" in ran.err


def test_evaluate_looks_only_at_the_actions_and_rewards_of_the_selected_episodes() -> None:
    log = table(seed=1)
    log.loc[log.episode == 59, ["action", "reward"]] = [7, 100.0]
    model, episodes = suffice.learn(table()), suffice.read_log(log)
    assert model.evaluate(episodes[:50]).n_episodes == 50
    with pytest.raises(suffice.LogError, match="the log has reward 100"):
        model.evaluate(episodes)
