"""Warnings about a log: `check` and `learn` report them as data and as text."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import suffice
from suffice.data.alphabet import Alphabet
from suffice.data.encoding.encoder import Encoder
from suffice.data.episodes import Episodes
from suffice.models.log_warnings import LEVEL, LogWarning, log_warnings
from support.bad_logs import coin_log, drifting_log, with_leak
from support.cli import ok


def warnings_of(episodes: Episodes) -> tuple[LogWarning, ...]:
    return log_warnings(episodes, Encoder.of_features(episodes.alphabet.features))


def codes(episodes: Episodes) -> list[str]:
    return [warning.code for warning in warnings_of(episodes)]


def log_of(columns: dict[str, np.ndarray], n: int, horizon: int) -> Episodes:
    """Noise with the given columns, [H, N] each."""
    rng = np.random.default_rng(0)
    rows = [tuple(int(v) for v in row) for row in np.stack([c.ravel() for c in columns.values()], axis=1)]
    alphabet = Alphabet((0, 1), tuple(columns), tuple(set(rows)), (0.0, 1.0))
    code = {row: i for i, row in enumerate(alphabet.observations, 1)}
    observation = np.zeros((horizon + 1, n), int)
    observation[:-1] = np.reshape([code[row] for row in rows], (horizon, n))
    action, reward = rng.integers(2, 4, (horizon + 1, n)), rng.integers(0, 2, (horizon + 1, n))
    action[0], reward[0] = 0, 0
    return Episodes.from_steps(alphabet, action, observation, reward)


def test_log_warnings_names_each_constructed_problem() -> None:
    clean = suffice.simulate("corridor", 1000)
    assert codes(clean) == []
    assert codes(Episodes.joined([clean, clean])) == ["copies"]
    assert codes(coin_log(0, 1000, 15, 0.8)) == ["dependent_rewards"]
    assert codes(drifting_log(0, 1000, 10, 0.5, 0.9)) == ["drift"]
    assert "leak" in codes(with_leak(clean, lambda reward: reward))


def test_log_warnings_reports_facts_about_columns() -> None:
    rng, shape = np.random.default_rng(0), (6, 200)
    few, many = rng.integers(0, 2, shape), rng.integers(0, 10**6, shape)
    own = np.broadcast_to(np.arange(200), shape)
    found = warnings_of(log_of({"few": few, "same": np.zeros(shape, int), "also": np.ones(shape, int)}, 200, 6))
    assert [(warning.code, warning.columns) for warning in found] == [("constant", ("same", "also"))]
    found = warnings_of(log_of({"few": few, "patient": own}, 200, 6))
    assert [(warning.code, warning.columns) for warning in found] == [("identifier", ("patient",))]
    assert "constant in each episode, 200 values in 200 episodes" in found[0].text
    found = warnings_of(log_of({"few": few, "laboratory": many}, 200, 6))
    assert [(warning.code, warning.columns) for warning in found] == [("nearly_unique", ("laboratory",))]
    assert found[0].level is None and "observations or use bins={'laboratory': 8}" in found[0].text
    assert codes(log_of({"few": few}, 200, 6)) == codes(log_of({"same": np.zeros(shape, int)}, 200, 6)) == []


def test_log_warnings_reports_equal_rewards() -> None:
    assert [warning.columns for warning in warnings_of(suffice.simulate("two-keys", 50))] == [("reward",)]


def test_log_warnings_are_the_same_at_every_call_and_absent_for_weights() -> None:
    episodes = coin_log(0, 300, 15, 0.8)
    assert warnings_of(episodes) == warnings_of(episodes) != ()
    assert warnings_of(replace(episodes, weight=np.full(300, 2))) == ()


def test_drift_text_shows_the_ranges_of_binned_columns(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    lines = ["episode,step,pulse,action,reward"]
    for episode in range(400):
        for step in range(4):
            pulse = rng.random()
            treat = rng.random() < 0.5 + 0.5 * (pulse < 0.5) * episode / 400
            lines.append(f"{episode},{step},{pulse:.6f},{int(treat)},{rng.integers(2)}")
    (tmp_path / "log.csv").write_text("\n".join(lines))
    (warning,) = suffice.check(tmp_path / "log.csv", bins={"pulse": "0.5,"}).warnings
    assert warning.code == "drift" and "after pulse=below 0.5" in warning.text


@pytest.fixture
def doubled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    episodes = suffice.simulate("corridor", 300)
    suffice.write_log(Episodes.joined([episodes, episodes]), "log.csv")
    return tmp_path


def test_check_and_learn_report_copies_and_what_to_do(doubled: Path) -> None:
    printed = " ".join(ok("check", "log.csv").split())
    assert "Warning: each of the 64 distinct episodes occurs an even number of times" in printed
    assert "so remove them." in printed and "No errors found, but read the warnings above" in printed
    learned = " ".join(ok("learn", "log.csv", "-o", "log.model").split())
    assert "Careful" in learned and "as if episodes had been copied under new ids" in learned


def test_check_and_learn_have_the_warnings_as_json(doubled: Path) -> None:
    for command in (("check", "log.csv"), ("learn", "log.csv", "-o", "log.model")):
        (warning,) = json.loads(ok(*command, "--json"))["warnings"]
        assert (warning["code"], warning["level"], warning["distinct"]) == ("copies", LEVEL / 4, warning["even"])
        assert warning["text"].startswith("each of the")


def test_info_shows_the_warnings_from_the_notes_beside_the_model(doubled: Path) -> None:
    learned = json.loads(ok("learn", "log.csv", "-o", "log.model", "--json"))
    assert json.loads(ok("info", "log.model", "--json")) == learned and len(learned["warnings"]) == 1
    assert "copied under new ids" in " ".join(ok("info", "log.model").split())
    notes = Path("log.model.run.json")
    for damage in ('"even":', '"copies"', '"numbers":'):
        text = notes.read_text()
        notes.write_text(text.replace(damage, '"x":' if damage.endswith(":") else '"x"'))
        assert json.loads(ok("info", "log.model", "--json"))["warnings"] == []
        notes.write_text(text)


def test_model_shows_the_warnings_of_its_log_and_its_file_does_not_store_them(doubled: Path) -> None:
    model = suffice.learn("log.csv")
    assert [warning.code for warning in model.warnings] == ["copies"]
    assert "copied under new ids" in repr(model) and "copied under new ids" in model._repr_html_()
    model.save("saved.model")
    assert suffice.load("saved.model").warnings == ()
