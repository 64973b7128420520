"""The interface of the agent: episodes, rounds of learning, determinism, saving and continuing."""

from __future__ import annotations

from pathlib import Path

import gymnasium
import numpy as np
import pytest

import suffice
from suffice.domains.agent.agent import FIRST_ROUND, Agent
from suffice.domains.agent.automata import held_out_bits
from suffice.domains.agent.experience import ADAPTIVE
from suffice.domains.agent.training import train
from suffice.errors import LogError, SettingsError, SufficeError


@pytest.fixture(scope="module")
def keys() -> Agent:
    return train("two-keys", 1300, seed=5)


def play(agent: Agent, episodes: int, seed: int = 0) -> None:
    env = gymnasium.make("suffice/RotatingMAB-v0")
    for number in range(agent.n_episodes, episodes):
        observation, _ = env.reset(seed=seed + number)
        agent.reset(observation)
        while agent.acting:
            observation, reward, terminated, truncated, _ = env.step(agent.act())
            agent.observe(reward, observation, terminated, truncated)


def test_agent_learns_in_a_gymnasium_loop() -> None:
    agent = Agent(actions=[0, 1], seed=1)
    play(agent, 100)
    assert [found.episodes for found in agent.rounds] == [20, 30, 45, 67]
    played = suffice.play(gymnasium.make("suffice/RotatingMAB-v0"), agent.policy(), episodes=200, seed=7)
    assert played.returns.mean() > 8.5  # 9 is the optimum, 5.5 what random actions return


def test_agent_reaches_what_uniform_actions_hardly_ever_reach(keys: Agent) -> None:
    played = suffice.play(gymnasium.make("suffice/TwoKeys-v0"), keys.policy(), episodes=200, seed=7)
    assert played.returns.mean() > 0.9
    explored = [
        value
        for value, purpose in zip(keys.experience.returns, keys.experience.purposes, strict=True)
        if purpose != "exploit"
    ]
    assert np.mean(explored) > 10 / 2900  # a uniform episode succeeds once in 2,900


def test_agent_with_the_same_seed_gives_the_same_log_and_model(tmp_path: Path) -> None:
    for name in "ab":
        agent = train("corridor", 150, seed=3)
        suffice.write_log(agent.table(), tmp_path / f"{name}.csv")
        agent.model().save(tmp_path / f"{name}.model")
    for suffix in (".csv", ".model"):
        assert (tmp_path / f"a{suffix}").read_bytes() == (tmp_path / f"b{suffix}").read_bytes()
    assert not train("corridor", 150, seed=4).table().equals(agent.table())


@pytest.mark.parametrize("at", [7, 20, 33, 101])
def test_agent_saved_at_any_time_continues_to_the_same_bytes(at: int, tmp_path: Path) -> None:
    whole = train("t-maze", 150, seed=2)
    part = train("t-maze", at, seed=2)
    if at > FIRST_ROUND:
        part.policy()  # looking at what was learned changes nothing
    part.save(tmp_path / "part.agent")
    continued = train("t-maze", 150, agent=Agent.load(tmp_path / "part.agent"))
    for name, agent in (("whole", whole), ("continued", continued)):
        agent.save(tmp_path / f"{name}.agent")
        agent.model().save(tmp_path / f"{name}.model")
    for suffix in (".agent", ".model"):
        assert (tmp_path / f"whole{suffix}").read_bytes() == (tmp_path / f"continued{suffix}").read_bytes()


@pytest.mark.parametrize("start", ["episodes", "file", "model"])
@pytest.mark.parametrize("at", [0, 7, 25])
def test_agent_that_started_from_a_log_or_a_model_continues_to_the_same_bytes(
    start: str, at: int, tmp_path: Path
) -> None:
    log = suffice.simulate("rotating-mab", 60, rng=1)
    suffice.write_log(log, tmp_path / "log.csv")
    given: dict[str, object] = {"log": log if start == "episodes" else tmp_path / "log.csv"}
    if start == "model":
        given = {"like": suffice.learn(log, stationary=True)}

    whole = train("rotating-mab", 40, seed=2, **given)  # type: ignore[arg-type]
    part = Agent([0, 1], horizon=10, seed=2, observations="all", **given)  # type: ignore[arg-type]
    if at:
        train("rotating-mab", at, agent=part)
    part.save(tmp_path / "part.agent")
    (tmp_path / "log.csv").unlink()  # the agent file holds it
    continued = train("rotating-mab", 40, agent=Agent.load(tmp_path / "part.agent"))
    assert [found.episodes for found in continued.rounds] == [*([0] if "log" in given else []), 20, 30]
    for name, agent in (("whole", whole), ("continued", continued)):
        agent.save(tmp_path / f"{name}.agent")
        agent.model().save(tmp_path / f"{name}.model")
    for suffix in (".agent", ".model"):
        assert (tmp_path / f"whole{suffix}").read_bytes() == (tmp_path / f"continued{suffix}").read_bytes()


def test_agent_saved_within_an_episode_begins_that_episode_again(tmp_path: Path) -> None:
    agent = Agent(actions=[0, 1], seed=1)
    play(agent, 25)
    env = gymnasium.make("suffice/RotatingMAB-v0")
    agent.reset(env.reset(seed=25)[0])
    agent.observe(*_order(env.step(agent.act())))
    agent.save(tmp_path / "a.agent")
    again = Agent.load(tmp_path / "a.agent")
    play(again, 40)
    whole = Agent(actions=[0, 1], seed=1)
    play(whole, 40)
    assert again.table().equals(whole.table())


def _order(step: tuple[object, ...]) -> tuple[object, ...]:
    observation, reward, terminated, truncated, _ = step
    return reward, observation, terminated, truncated


def test_agent_file_that_is_damaged_is_refused(tmp_path: Path) -> None:
    train("corridor", 30, seed=1).save(tmp_path / "a.agent")
    content = bytearray((tmp_path / "a.agent").read_bytes())
    content[len(content) // 2] ^= 0xFF
    (tmp_path / "b.agent").write_bytes(content)
    with pytest.raises(LogError, match=r"b\.agent"):
        Agent.load(tmp_path / "b.agent")


def test_agent_log_says_that_its_logger_adapts_and_is_learned_as_such(keys: Agent, tmp_path: Path) -> None:
    suffice.write_log(keys.table(), tmp_path / "keys.csv")
    assert keys.table().column_names[-1] == ADAPTIVE
    offline = suffice.learn(tmp_path / "keys.csv", stationary=True, plan=False)
    assert suffice.read_log(tmp_path / "keys.csv").report.columns.adaptive_logger == ADAPTIVE
    assert not [warning for warning in offline.warnings if warning.code == "drift"]
    known, reading = keys.latest()
    assert offline.encoder.features == known.encoder.features == ("room", "key", "carrying")
    fresh = suffice.learn_stationary(reading.here, keys.settings)
    assert np.array_equal(offline.rdp.tau, fresh.rdp.tau)
    assert held_out_bits(known.rdp, reading.here) <= held_out_bits(fresh.rdp, reading.here)


@pytest.mark.long
@pytest.mark.parametrize("seed", [31, 32, 33])
def test_agent_log_learned_with_default_settings_keeps_the_columns_and_states_of_a_round(seed: int) -> None:
    agent = train("two-keys", 1300, seed=seed)
    offline, (known, reading) = suffice.learn(agent.table()), agent.latest()
    assert offline.encoder.features == known.encoder.features
    fresh = suffice.learn_stationary(reading.here, agent.settings)  # the agent keeps this or a better one
    assert np.array_equal(offline.rdp.tau, fresh.rdp.tau)


def test_model_of_an_agent_warns_that_no_level_is_proved(tmp_path: Path) -> None:
    model = train("rotating-mab", 60, seed=1).model()
    model.save(tmp_path / "a.model")
    for found in (model, suffice.load(tmp_path / "a.model")):
        assert "the logger learned while it acted" in repr(found)
    assert "is then not proved" in model.report()
    log = suffice.simulate("rotating-mab", 60, rng=1)
    assert "the logger learned" not in repr(suffice.learn(log, stationary=True))


def test_agent_starts_from_a_log_or_a_model() -> None:
    log = suffice.simulate("rotating-mab", 300, rng=1)
    agent = Agent(actions=[0, 1], log=log, horizon=10)
    assert agent.rounds[0].states == 3
    model = suffice.learn(log, stationary=True)
    again = train("rotating-mab", 30, like=model, seed=1)
    assert again.rounds[0].states == 3


def test_agent_steps_out_of_order_are_refused() -> None:
    agent = Agent(actions=[0, 1])
    with pytest.raises(SufficeError, match="has not begun"):
        agent.act()
    agent.reset(0)
    with pytest.raises(SufficeError, match="no action was chosen"):
        agent.observe(0.0, 0)
    with pytest.raises(SufficeError, match="no episodes"):
        agent.learn()


@pytest.mark.parametrize("wrong", ["ab", [1], [1, 1], [None, 1]])
def test_agent_refuses_what_is_not_a_list_of_actions(wrong: object) -> None:
    with pytest.raises(SettingsError, match="actions"):
        Agent(actions=wrong)  # type: ignore[arg-type]
