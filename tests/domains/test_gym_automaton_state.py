"""The wrapper that adds the state of the automaton to the observation of a Gymnasium environment."""

from __future__ import annotations

import pickle
from typing import Any

import gymnasium
import pyarrow as pa
import pytest
from gymnasium.spaces import Dict, Discrete, MultiDiscrete
from gymnasium.utils.env_checker import check_env
from gymnasium.wrappers import FlattenObservation, RecordEpisodeStatistics, TimeLimit, TransformObservation

from suffice.automata.rdp import UNSEEN
from suffice.domains.domain import Domain
from suffice.domains.gym.automaton_state import AutomatonState
from suffice.domains.gym.environment import DomainEnv
from suffice.domains.gym.recording import record
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.memory_length import MemoryLength
from suffice.domains.tasks.t_maze import TMaze
from suffice.models.api import learn
from suffice.models.model import Model
from suffice.planning.regorl import regorl
from support.gym_models import (
    EARLY,
    SAME,
    Recall,
    asynchronous,
    corridor_model,
    early,
    hasty_model,
    learned,
    logged,
    maze_model,
    of_values,
    sync,
    wander,
)


@pytest.fixture(scope="module")
def maze() -> Model:
    """A model whose plan solves the maze."""
    return maze_model()


@pytest.fixture(scope="module")
def hasty() -> Model:
    """A model from few episodes, which mostly keeps the logged behaviour."""
    return hasty_model()


@pytest.fixture(scope="module")
def corridor() -> Model:
    return corridor_model()


@pytest.mark.parametrize(("domain", "horizon", "n"), [(TMaze(), 5, 30_000), (EARLY, 6, 9000), (Corridor(), 5, 300)])
def test_automaton_state_is_the_state_of_the_history(domain: Domain, horizon: int, n: int) -> None:
    model, inner = learned(logged(domain, n, horizon)), DomainEnv(domain, horizon)
    env, words = AutomatonState(inner, model), (None, *inner.alphabet.actions)
    for seed in range(200):
        history: list[Any] = []
        for action, shown, terminated, truncated in wander(env, seed):
            features = tuple(inner.features_of(shown["observation"]).values())
            history.append((words[0 if action is None else action + 1], None if terminated or truncated else features))
            assert shown["state"] == model.rdp.run(tuple(history)) != UNSEEN
    assert env.fallbacks == 0


def test_automaton_state_equals_the_state_of_the_policy(hasty: Model) -> None:
    """This includes steps after unseen histories."""
    inner, policy = DomainEnv(TMaze(length=2, noise=True), 6), hasty.policy()
    env = AutomatonState(inner, hasty)
    for seed in range(50):
        policy.reset()
        begun, *steps = wander(env, seed)
        policy.observe(None, inner.features_of(begun[1]["observation"]))
        for action, shown, terminated, truncated in steps:
            if not (terminated or truncated):
                policy.observe(inner.alphabet.actions[action], inner.features_of(shown["observation"]))
                assert shown["state"] == policy.state
    assert env.fallbacks >= policy.fallbacks > 0


def test_automaton_state_converts_numbers_that_were_logged_as_text() -> None:
    inner = DomainEnv(MemoryLength(length=2), 4)
    table = record(inner, 200, seed=1)
    text = table.column("observation").cast(pa.string())
    model = learn(table.set_column(table.column_names.index("observation"), "observation", text), stationary=False)
    assert model.rdp.alphabet.observations == (("0",), ("1",), ("2",))
    env = AutomatonState(inner, model)
    for seed in range(20):
        wander(env, seed)
    assert env.fallbacks == 0


def test_automaton_state_counts_steps_of_unseen_histories(hasty: Model) -> None:
    env = AutomatonState(DomainEnv(TMaze(length=2, noise=True), 9), hasty)
    lost = 0
    for seed in range(50):
        steps = wander(env, seed)
        assert all(shown in env.observation_space for _, shown, _, _ in steps)
        lost += sum(t > 6 for t in range(len(steps)))  # steps beyond the horizon are unseen
        assert all(shown["state"] == env.observation_space["state"].n - 1 for _, shown, _, _ in steps[8:])
    assert env.fallbacks > lost > 0


def test_automaton_state_is_the_same_for_model_policy_and_model_without_plan() -> None:
    episodes = logged(EARLY, 300, 6)
    solution = regorl(episodes)
    model, bare = Model.of(solution, episodes), Model.of(solution.learned, episodes)
    assert bare.plan is None
    for seed in range(20):
        first, *others = (wander(AutomatonState(early(), known), seed) for known in (model, bare, model.policy()))
        assert all(repr(other) == repr(first) for other in others)
    policy = model.policy()
    assert AutomatonState(early(), policy).observation_space["state"] == Discrete(policy.n_states)
    assert (policy.steps, policy.fallbacks) == (0, 0)


@pytest.mark.parametrize("name", ["TMaze", "Corridor"])
@pytest.mark.filterwarnings("error", "ignore:.*different from the unwrapped version")
def test_automaton_state_passes_the_gymnasium_checker(name: str, maze: Model, corridor: Model) -> None:
    model = {"TMaze": maze, "Corridor": corridor}[name]
    env = AutomatonState(gymnasium.make(f"suffice/{name}-v0", horizon=5), model)
    check_env(env)
    check_env(
        AutomatonState(RecordEpisodeStatistics(TimeLimit(DomainEnv(TMaze(), 5), 4)), maze), skip_render_check=True
    )
    check_env(AutomatonState(Recall(), of_values((2, 3), (0, 0))), skip_render_check=True)


def test_automaton_state_works_with_other_wrappers(maze: Model) -> None:
    env = AutomatonState(gymnasium.make("suffice/TMaze-v0", horizon=5), maze)
    assert env.observation_space == Dict(observation=MultiDiscrete([2] * 3), state=Discrete(maze.policy().n_states))
    flat = FlattenObservation(env)
    assert flat.observation_space.shape == (6 + maze.policy().n_states,) and flat.reset()[0] in flat.observation_space
    short = RecordEpisodeStatistics(TimeLimit(env, 3))
    *_, (_, last, _, truncated) = steps = wander(short, 1)
    assert len(steps) == 4 and truncated and 0 < last["state"] < maze.rdp.n_states
    state = TransformObservation(env, lambda seen: seen["state"], env.observation_space["state"])
    assert state.reset(seed=1)[0] in state.observation_space


@pytest.mark.parametrize("many", [sync, asynchronous])
def test_automaton_state_works_in_vector_environments(many: Any, corridor: Model) -> None:
    envs = many(lambda: AutomatonState(DomainEnv(Corridor(), 5), corridor), 3, SAME)
    envs.action_space.seed(1)
    seen, _ = envs.reset(seed=1)
    layers = []
    for _ in range(10):
        assert seen in envs.observation_space
        layers.append(corridor.rdp.layer_of()[seen["state"]].tolist())
        seen, *_ = envs.step(envs.action_space.sample())
    assert layers == [[t % 5 + 1] * 3 for t in range(10)] and envs.get_attr("fallbacks") == (0, 0, 0)
    envs.close()


def test_automaton_state_is_pickled_and_restored_from_its_spec(hasty: Model) -> None:
    env = TimeLimit(AutomatonState(gymnasium.make("suffice/TMaze-v0", length=2, horizon=6), hasty), 5)
    assert env.spec is not None and [wrapper.name for wrapper in env.spec.additional_wrappers] == ["AutomatonState"]
    again = [pickle.loads(pickle.dumps(env)), gymnasium.make(env.spec), env.spec.make()]
    for seed in range(5):
        assert all(repr(wander(other, seed)) == repr(wander(env, seed)) for other in again)
