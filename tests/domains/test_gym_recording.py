"""Recording of environments as logs: columns, players and refusals."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pyarrow as pa
import pytest
from gymnasium.spaces import Box, Dict, Discrete, Graph, MultiBinary, MultiDiscrete, OneOf, Sequence, Space, Text, Tuple
from gymnasium.vector import SyncVectorEnv

import suffice
from suffice.data.logs.steps import table_of_steps
from suffice.domains.gym import requests
from suffice.domains.gym.automaton_state import AutomatonState
from suffice.domains.gym.environment import DomainEnv
from suffice.domains.gym.recording import record
from suffice.domains.gym.rollouts import play, play_vector
from suffice.domains.gym.spaces import action_of, word_of
from suffice.domains.registry import DOMAINS
from suffice.errors import LogError, SettingsError, SufficeError
from suffice.planning.policy import Policy


class Echo(gymnasium.Env[Any, Any]):
    """Environment that shows a cue, then the actions; after three steps a last action equal to the cue gives 1."""

    action_space: Space[Any] = Discrete(2)
    observation_space: Space[Any] = Dict(cue=Discrete(3), heat=Box(0, 1, (1,), np.float32), arm=MultiDiscrete([9, 9]))
    steps: int = 3

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.cue, self.t, self.done = int(self.np_random.integers(2)), 0, []  # type: int, int, list[Any]
        return self.seen(), {}

    def seen(self) -> Any:
        shown = self.cue if self.t == 0 else 2
        return {"cue": shown, "heat": np.array([0.1 * self.t], np.float32), "arm": np.array([self.t, 7])}

    def number(self, action: Any) -> int:
        return int(action)

    def step(self, action: Any) -> Any:
        assert action in self.action_space
        self.t += 1
        self.done.append(action)
        over = self.t == self.steps
        return self.seen(), float(over and self.number(action) == self.cue), over, False, {}


def rows(table: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = table.to_pylist()
    return found


@pytest.fixture(scope="module")
def echo() -> suffice.Model:
    return suffice.learn(record(Echo(), 2000, seed=1))


# Columns


def test_record_makes_a_column_of_each_part_of_an_observation() -> None:
    table = record(Echo(), 2, choose=lambda seen: 1, seed=1)
    assert table.column_names == [
        "episode", "step", "cue", "heat", "arm.0", "arm.1", "action", "reward", "terminated", "truncated"
    ]  # fmt: skip
    cue = rows(table)[0]["cue"]
    assert rows(table)[:3] == [
        {"episode": 0, "step": t, "cue": 2 if t else cue, "heat": [0, 0.1, 0.2][t], "arm.0": t, "arm.1": 7, "action": 1}
        | {"reward": float(t == 2 and cue == 1), "terminated": t == 2, "truncated": False}
        for t in range(3)
    ]


def test_record_distinguishes_truncated_from_terminated() -> None:
    cut = rows(record(Echo(), 2, horizon=2, seed=1))
    assert [(row["terminated"], row["truncated"]) for row in cut] == [(False, False), (False, True)] * 2


def test_record_copies_observations_that_the_environment_changes_later() -> None:
    class Same(Echo):
        observation_space = Box(0, 9, (2,))
        board = np.zeros(2)

        def seen(self) -> Any:
            self.board[:] = self.t
            return self.board

    assert record(Same(), 1)["observation.0"].to_pylist() == [0, 1, 2]


def test_record_is_reproducible_and_draws_actions_independently_of_the_environment() -> None:
    """An environment that draws numbers like random actions, from the same seed, must not draw the same ones."""

    class Coin(Echo):
        observation_space = Discrete(2)

        def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
            gymnasium.Env.reset(self, seed=seed)
            self.t, self.cue, self.done = 0, 0, []
            return self.seen(), {}

        def seen(self) -> Any:
            return int(self.np_random.integers(2)) if self.t < self.steps else 0

    once, again, other = (record(Coin(), 300, seed=seed) for seed in (5, 5, 6))
    assert once.equals(again) and not once.equals(other)
    for table in (once, other):
        alike = np.mean(table["observation"].to_numpy() == table["action"].to_numpy())
        assert 0.4 < alike < 0.6


def test_record_reports_progress_after_each_episode() -> None:
    reported: list[tuple[int, int]] = []
    record(Echo(), 3, progress=lambda done, of: reported.append((done, of)))
    assert reported == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize("name", ["log.parquet", "log.csv", "log.csv.gz", "log.arrow"])
def test_write_log_stores_a_recorded_table(name: str, tmp_path: Path) -> None:
    table = record(Echo(), 20, seed=1)
    suffice.write_log(table, tmp_path / name)
    written, recorded = suffice.learn(tmp_path / name), suffice.learn(table)
    assert written.rdp.n_states == recorded.rdp.n_states and suffice.compare(written.rdp, recorded.rdp) is None


def test_write_log_refuses_tables_that_csv_would_change_and_other_objects(tmp_path: Path) -> None:
    texts = record(Echo(), 3, seed=1).append_column("code", pa.array(["007"] * 9))
    with pytest.raises(LogError, match=r"column 'code'.*parquet"):
        suffice.write_log(texts, tmp_path / "log.csv")
    suffice.write_log(texts, tmp_path / "log.parquet")
    for wrong in ([{"action": 1}], {"action": [1]}):
        with pytest.raises(LogError, match=r"Pass Episodes, or the table that suffice\.record returns"):
            suffice.write_log(wrong, tmp_path / "log.parquet")  # type: ignore[arg-type]


# Players


def test_record_of_a_policy_uses_its_memory(echo: suffice.Model) -> None:
    policy = echo.policy()
    for epsilon, least, most in ((0.0, 1.0, 1.0), (1.0, 0.4, 0.6), (0.5, 0.65, 0.85)):
        table = record(Echo(), 400, choose=policy, epsilon=epsilon, seed=3)
        assert least <= sum(table["reward"].to_pylist()) / 400 <= most
    assert (policy.steps, policy.fallbacks) == (0, 0), "a copy plays"


class Noting(Policy):
    """Policy that notes what it observes."""

    def __init__(self, model: suffice.Model) -> None:
        super().__init__(model.planned, model.required_plan())
        self.noted: list[Any] = []  # shared by copies

    def observe(self, action: Any, observation: object, *, strict: bool = True) -> None:
        self.noted.append(action)
        super().observe(action, observation, strict=strict)


def test_record_of_a_policy_reports_executed_actions_to_it(echo: suffice.Model) -> None:
    policy = Noting(echo)
    table = record(Echo(), 200, choose=policy, epsilon=0.5, seed=1)
    done = table["action"].to_pylist()
    assert policy.noted == [done[i - 1] if i % 3 else None for i in range(600)] and set(done) == {0, 1}


def test_record_of_a_policy_continues_after_unknown_random_actions() -> None:
    class Wider(Echo):
        action_space = Discrete(3)

    known = suffice.learn(record(Wider(), 300, choose=lambda seen: int(seen["arm"][0]) % 2, seed=1))
    assert known.rdp.alphabet.actions == (0, 1)
    table = record(Wider(), 100, choose=known.policy(), epsilon=0.5, seed=1)
    assert set(table["action"].to_pylist()) == {0, 1, 2}


def test_record_of_a_policy_translates_actions_to_those_of_the_environment() -> None:
    suffice.register()
    maze = suffice.make("t-maze")
    model = suffice.learn(suffice.simulate(maze.model(5), 3000, 5, np.random.default_rng(0)))
    table = record(gymnasium.make("suffice/TMaze-v0", horizon=5), 20, choose=model.policy(), seed=1)
    assert set(table["action"].to_pylist()) <= set(range(4)) and sum(table["reward"].to_pylist()) > 0


class Alternating:
    """Function with memory."""

    def __init__(self) -> None:
        self.resets = self.n = 0

    def reset(self) -> None:
        self.resets, self.n = self.resets + 1, 0

    def __call__(self, seen: Any) -> int:
        self.n += 1
        return self.n % 2


def test_record_resets_a_function_with_memory_before_each_episode() -> None:
    behaviour = Alternating()
    assert record(Echo(), 4, choose=behaviour)["action"].to_pylist() == [1, 0, 1] * 4 and behaviour.resets == 4


# Joint actions

JOINT: list[tuple[Space[Any], Any, Any]] = [
    (Discrete(3, start=5), 6, 6),
    (MultiDiscrete([3]), np.array([2]), 2),
    (MultiDiscrete([3, 2]), np.array([2, 1]), "2,1"),
    (MultiDiscrete([[2, 3], [4, 5]]), np.array([[0, 1], [2, 3]]), "0,1,2,3"),
    (MultiBinary(3), np.array([0, 1, 1], np.int8), "0,1,1"),
    (Tuple((Discrete(4), MultiDiscrete([2, 2]))), (3, np.array([0, 1])), "3,0,1"),
    (Dict(b=Discrete(2), a=Discrete(9, start=-4)), {"a": -3, "b": 1}, None),
    (Tuple((Discrete(2), Text(3))), (1, "up"), "1,up"),
    (Text(3, charset="ab,"), "a,b", "a,b"),
    (Box(0, 9, (2,), np.int16), np.array([4, 5], np.int16), "4,5"),
]


@pytest.mark.parametrize(("space", "action", "word"), JOINT, ids=lambda x: " ".join(str(x).split()))
def test_word_of_and_action_of_convert_joint_actions_both_ways(space: Space[Any], action: Any, word: Any) -> None:
    if word is None:
        word = ",".join(str(action[name]) for name in space.spaces)  # type: ignore[attr-defined]
    assert word_of(space, action) == word
    back = action_of(space, word)
    assert back in space and repr(back) == repr(action if not isinstance(space, Dict) else {n: action[n] for n in back})


@pytest.mark.parametrize(
    ("space", "word"),
    [(MultiDiscrete([3, 2]), word) for word in ("2", "2,2", "2,1,0", "a,b", 2, "", "2, 1", "1.5,0")]
    + [(Discrete(2), "1"), (Discrete(2), 2), (Discrete(2), 0.5), (Text(3), 1), (MultiDiscrete([3]), "1")],
    ids=str,
)  # fmt: skip
def test_action_of_refuses_values_that_are_not_actions(space: Space[Any], word: Any) -> None:
    with pytest.raises(ValueError, match="is not in"):
        action_of(space, word)


def joint(space: Space[Any]) -> type[Echo]:
    class Joint(Echo):
        action_space = space

        def number(self, action: Any) -> int:
            parts = action.values() if isinstance(action, dict) else action
            return int(sum(int(np.sum(part)) for part in parts) == 1)

    return Joint


@pytest.mark.parametrize(
    "space",
    [MultiDiscrete([2, 2]), MultiBinary(2), Tuple((Discrete(2), Discrete(2))), Dict(x=Discrete(2), y=Discrete(2))],
    ids=lambda space: type(space).__name__,
)
def test_play_after_record_works_with_joint_actions(space: Space[Any]) -> None:
    make = joint(space)
    model = suffice.learn(record(make(), 1500, seed=1), stationary=False)
    assert model.rdp.alphabet.actions == ("0,0", "0,1", "1,0", "1,1")
    assert play(make(), model.policy(), 50, seed=1).returns.tolist() == [1.0] * 50
    envs = SyncVectorEnv([make] * 3)
    assert play_vector(envs, model.policy(), 30, seed=1).returns.tolist() == [1.0] * 30
    shown = AutomatonState(make(), model)
    shown.reset(seed=1)
    for _ in range(3):
        shown.step(shown.action_space.sample())
    assert shown.fallbacks == 0


# Refusals


# Domains of this package


@pytest.mark.parametrize("name", DOMAINS.own)
def test_play_after_record_and_learn_works_in_every_domain(name: str) -> None:
    env = DomainEnv(suffice.make(name), horizon=3)
    table = record(env, 40, seed=1)
    model = suffice.learn(table, stationary=False)
    known = model.rdp.alphabet.actions
    assert known == tuple(range(len(env.alphabet.actions)))  # the numbers of the action space
    played = play(env, model.policy(), 5, seed=2)
    beside = play_vector(SyncVectorEnv([lambda: env]), model.policy(), 5, seed=2)
    assert len(played.returns) == len(beside.returns) == 5
    again = play(env, model.policy(), 40, seed=1)
    assert again.fallbacks < again.steps.sum() / 2  # observations of the environment are those of the log


def test_play_after_record_and_learn_works_with_numbered_actions_of_a_pomdp_file(tmp_path: Path) -> None:
    text = Path("examples/pomdp/tiger.POMDP").read_text(encoding="utf-8")
    for place, action in enumerate(("listen", "open-left", "open-right")):
        text = text.replace(action, str(place))
    text = text.replace("actions: 0 1 2", "actions: 3")
    (tmp_path / "tiger.POMDP").write_text(text, encoding="utf-8")
    env = DomainEnv(suffice.make(str(tmp_path / "tiger.POMDP")), horizon=3)
    assert env.alphabet.features == ("observation",)  # the name of the recorded column as well
    model = suffice.learn(record(env, 200, seed=1), stationary=False)
    assert play(env, model.policy(), 50, seed=2).fallbacks == 0


def test_play_finds_the_columns_that_a_model_reads_of_a_recorded_vector() -> None:
    env = DomainEnv(suffice.make("corridor"), horizon=3)
    model = suffice.learn(record(env, 200, seed=1), observations=["observation.2", "observation.0"], stationary=False)
    assert set(model.rdp.alphabet.features) == {"observation.0", "observation.2"}
    assert play(env, model.policy(), 50, seed=2).fallbacks == 0


def test_play_refuses_a_model_of_another_domain_with_numbered_actions() -> None:
    finite = suffice.make("rotating-mab").model(3)
    model = suffice.learn(suffice.simulate(finite, n=50, horizon=3, rng=np.random.default_rng(1)))
    with pytest.raises(SufficeError, match="the model does not fit the environment"):
        play(DomainEnv(suffice.make("cheese"), horizon=3), model.policy(), 5)


def refused(attempt: Callable[[], Any], kind: type[SufficeError]) -> str:
    with pytest.raises(kind) as caught:
        attempt()
    assert "\n" not in str(caught.value)
    return str(caught.value)


def with_spaces(actions: Space[Any] | None = None, observations: Space[Any] | None = None) -> Echo:
    env = Echo()
    env.action_space, env.observation_space = actions or env.action_space, observations or env.observation_space
    return env


@pytest.mark.parametrize(
    ("attempt", "message"),
    [
        (lambda: record("Courier-v0", 5), "gymnasium.make('Courier-v0')"),  # type: ignore[arg-type]
        (lambda: record(SyncVectorEnv([Echo]), 5), "not a single environment"),  # type: ignore[arg-type]
        (lambda: record(Echo(), 2.5), "episodes=2.5 is not a whole number"),  # type: ignore[arg-type]
        (lambda: record(Echo(), None), "episodes=None is not a whole number"),  # type: ignore[arg-type]
        (lambda: record(Echo(), 0), "episodes=0 leaves nothing to play"),
        (lambda: record(Echo(), 1, horizon=0), "horizon=0 leaves no action"),
        (lambda: record(Echo(), 1, horizon=1.5), "horizon=1.5 is not a whole number"),  # type: ignore[arg-type]
        (lambda: record(Echo(), 1, epsilon=1.5), "epsilon=1.5 is not a probability"),
        (lambda: record(Echo(), 1, choose=7), "choose is of type int"),  # type: ignore[arg-type]
        (lambda: record(Echo(), 1, choose=lambda seen: "left"), "episode 0, step 0: choose returned 'left'"),
        (lambda: record(Echo(), 1, choose=lambda seen: int(seen["arm"][0]) + 1), "step 1: choose returned 2"),
        (lambda: record(with_spaces(Box(-1, 1, (2,))), 1), "is continuous. Choose among a few levels with a wrapper"),
        (lambda: record(with_spaces(Tuple((Discrete(2), Box(-1, 1)))), 1), "is continuous"),
        (lambda: record(with_spaces(None, Sequence(Discrete(2))), 1), "varying number of values"),
        (lambda: record(with_spaces(None, Dict(a=Graph(Discrete(2), None))), 1), "varying number of values"),
        (lambda: record(with_spaces(OneOf((Discrete(2), Discrete(3)))), 1), "varying number of values"),
    ],
)
def test_record_refuses_invalid_arguments(attempt: Callable[[], Any], message: str) -> None:
    assert message in refused(attempt, SettingsError)


def test_record_refuses_an_episode_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    class Endless(Echo):
        steps = -1

    monkeypatch.setattr(requests, "LONGEST_EPISODE", 200)
    message = refused(lambda: record(Endless(), 1), SettingsError)
    assert message.startswith("episode 0 has not ended after 200 steps. Truncate") and message.endswith("horizon=1000.")
    assert record(Endless(), 1, horizon=300).num_rows == 300


@pytest.mark.parametrize("reward", [None, np.nan, np.inf, np.array([1.0, 2.0]), np.array([]), "5", [None]], ids=repr)
def test_record_and_play_refuse_rewards_that_are_not_finite_numbers(reward: Any, echo: suffice.Model) -> None:
    class Odd(Echo):
        def step(self, action: Any) -> Any:
            seen, paid, *rest = super().step(action)
            return seen, reward if self.t == 2 else paid, *rest

    for attempt in (lambda: record(Odd(), 1), lambda: play(Odd(), echo.policy(), 1)):
        assert refused(attempt, LogError).startswith("episode 0, step 1: the reward ")


@pytest.mark.parametrize("reward", [1, True, np.float32(0.1), np.array([2.5]), np.array(3)], ids=repr)
def test_record_accepts_any_finite_number_as_reward(reward: Any) -> None:
    class Fine(Echo):
        def step(self, action: Any) -> Any:
            seen, _, *rest = super().step(action)
            return seen, reward, *rest

    assert record(Fine(), 1)["reward"].to_pylist() == [float(f"{float(np.sum(reward)):.6g}")] * 3


def test_record_refuses_two_values_of_one_column_name() -> None:
    class Clash(Echo):
        observation_space = Dict({"a.0": Discrete(2), "a": MultiDiscrete([2, 2])})

        def seen(self) -> Any:
            return {"a.0": 0, "a": np.array([1, 1])}

    message = refused(lambda: record(Clash(), 1), LogError)
    assert "['a.0'] and ['a'][0] would both be the column 'a.0'. Rename one." in message


# Steps as columns


def test_step_columns_accept_equal_structures_of_other_types() -> None:
    """Accept an array, a list and a tuple; a dict in another order; numbers of numpy and of Python."""
    first = ({"a": np.array([1, 2]), "b": 3, "c": np.array([[0.5]], np.float32)}, 0, 0.0)
    forms = [
        ({"b": np.int64(3), "c": 0.5, "a": [1, 2]}, 0, 0.0),
        ({"a": (1, np.int8(2)), "b": np.array(3), "c": [0.5]}, np.int64(0), 0.0),
    ]
    for order in ([first, *forms], [*forms, first], forms[::-1]):
        table = table_of_steps([order], "steps")
        assert [[table[name][t].as_py() for name in ("a.0", "a.1", "b", "c")] for t in range(len(order))] == [
            [1, 2, 3, 0.5]
        ] * len(order)


@pytest.mark.parametrize("other", [{"a": 1}, {"a": [1, 2, 3]}, {"a": [1, 2], "b": 1}, [1, 2], {"a": {"x": 1, "y": 2}}])
def test_step_columns_refuse_steps_of_another_structure(other: Any) -> None:
    with pytest.raises(LogError, match=r"episode 0, step 1: it has .*, unlike the steps before"):
        table_of_steps([[({"a": np.array([1, 2])}, 0, 0.0), (other, 0, 0.0)]], "steps")
