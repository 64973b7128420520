"""The commands `train` and `suggest`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import suffice as library
from suffice.cli import train_commands
from suffice.cli.train_commands import live_text
from suffice.domains.agent import training
from suffice.domains.agent.training import train
from suffice.domains.agent.worlds import World
from support.cli import ok, suffice

pytestmark = pytest.mark.filterwarnings("ignore:Cyclopts application invoked without tokens")


def test_train_writes_model_log_and_learning_curve(tmp_path: Path) -> None:
    model, log, plot = (str(tmp_path / name) for name in ("a.model", "a.csv", "a.svg"))
    said = ok("train", "rotating-mab", "--episodes", "100", "--seed", "1", "-o", model, "--log", log, "--plot", plot)
    assert said.startswith("Follow the plan")
    assert f"suffice suggest {model}" in said
    for text in (said, ok("info", model)):
        assert "Careful          the logger learned while it acted" in text
    assert library.load(model).n_states == 3
    assert len(library.read_log(log)) == 100
    assert Path(plot).read_text().lstrip().startswith("<?xml")


def test_train_and_python_give_the_same_model(tmp_path: Path) -> None:
    ok("train", "corridor", "--set", "columns=3", "--horizon", "4", "--episodes", "60", "-o", str(tmp_path / "a.model"))
    agent = train("corridor", 60, horizon=4, options={"columns": 3})
    agent.model().save(tmp_path / "b.model")
    assert (tmp_path / "a.model").read_bytes() == (tmp_path / "b.model").read_bytes()


def test_train_json_has_the_rounds_beside_the_keys_of_info(tmp_path: Path) -> None:
    said = json.loads(ok("train", "corridor", "--episodes", "50", "-o", str(tmp_path / "a.model"), "--json"))
    assert [found["episodes"] for found in said["rounds"]] == [20, 30, 45]
    assert said["memory"] in ("cycle", "last observation")
    assert {"verdict", "predicted", "environment", "seed"} <= said.keys()
    assert said["adaptive_logger"] is True


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("nowhere",), "nowhere"),
        (("Pendulum-v1",), "is continuous"),
        (("corridor", "--episodes", "0"), "--episodes 0"),
        (("corridor", "--horizon", "1"), "--horizon 1"),
        (("corridor", "--set", "rows=3"), "rows is not an option"),
    ],
)
def test_train_refuses_bad_input_in_one_line(words: tuple[str, ...], message: str, tmp_path: Path) -> None:
    given = words if "--episodes" in words else (*words, "--episodes", "30")
    ran = suffice("train", *given, "-o", str(tmp_path / "a.model"))
    assert ran.code == 2
    assert message in ran.err
    assert ran.err.count("\n") == 1
    assert not (tmp_path / "a.model").exists()


FAILING = """
import gymnasium

class Failing(gymnasium.Env):
    action_space, observation_space = gymnasium.spaces.Discrete(2), gymnasium.spaces.Discrete(2)
    episodes = 0

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.t, Failing.episodes = 0, Failing.episodes + 1
        return 0, {}

    def step(self, action):
        if Failing.episodes > 40:
            raise RuntimeError("out of order")
        self.t += 1
        return 0, float(action), False, self.t == 3, {}

gymnasium.register("Failing-v0", Failing)
"""


def test_train_saves_what_was_learned_when_the_environment_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "failing.py").write_text(FAILING)
    monkeypatch.syspath_prepend(tmp_path)
    ran = suffice("train", "failing:Failing-v0", "--episodes", "60", "-o", str(tmp_path / "a.model"))
    assert ran.code == 2
    assert "RuntimeError: out of order" in ran.err
    assert "learned from 40 episodes" in ran.err
    assert library.load(tmp_path / "a.model").about.episodes == 40


def test_train_keeps_what_was_learned_when_it_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    play = training._play

    def play_until_interrupted(world: World, agent: library.Agent) -> None:
        if agent.n_episodes == 40:
            raise KeyboardInterrupt
        play(world, agent)

    monkeypatch.setattr(training, "_play", play_until_interrupted)
    with pytest.raises(KeyboardInterrupt) as stopped:
        train_commands.train("corridor", episodes=100, output=str(tmp_path / "a.model"))
    assert "what was learned from 40 episodes" in stopped.value.__notes__[0]
    assert library.load(tmp_path / "a.model").about.episodes == 40


def test_live_text_says_what_is_being_done() -> None:
    agent = train("corridor", 70, seed=1)
    text = live_text(agent, 100)
    assert text.startswith("episode 70 of 100 · 8 states · ")
    assert "returns: exploring" in text


def test_suggest_lists_what_to_try(tmp_path: Path) -> None:
    log, model = str(tmp_path / "a.csv"), str(tmp_path / "a.model")
    ok("simulate", "cookie", "--episodes", "30", "-o", log)
    ok("learn", log, "--stationary", "-o", model)
    said = ok("suggest", model, "--most", "2")
    assert said.startswith("Try next:\n  after ")
    found = json.loads(ok("suggest", model, "--most", "2", "--json"))["suggestions"]
    assert found[0]["kind"] == "rare"
    assert suffice("suggest", model, "--most", "0").code == 2
