"""Training in environments of all kinds, and in those that fail."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Tuple

import suffice
from suffice.domains.agent.training import train
from suffice.domains.agent.worlds import actions_of
from suffice.errors import SettingsError, TrainingError
from support.paths import ROOT


class Matching(gymnasium.Env[Any, Any]):
    """The action has to name the colour of the first observation, three steps later."""

    def __init__(self, kind: str = "discrete", fault: str = "") -> None:
        self.kind, self.fault, self.episodes = kind, fault, 0
        self.action_space = MultiDiscrete([2, 2]) if kind == "dict" else Discrete(2)
        spaces = {
            "discrete": Discrete(3),
            "dict": Dict(colour=Discrete(3), clock=Discrete(4)),
            "box": Box(0, 2, (2,), np.int64),
            "float": Box(0, 2, (1,), np.float32),
        }
        self.observation_space = spaces[kind]

    def _show(self, colour: int) -> Any:
        if self.kind == "dict":
            return {"colour": colour, "clock": self.t}
        if self.kind in ("box", "float"):
            return np.array([colour, 0][: self.observation_space.shape[0]], self.observation_space.dtype)  # type: ignore[index]
        return colour

    def reset(self, *, seed: int | None = None, options: Any = None) -> tuple[Any, dict[str, Any]]:
        super().reset(seed=seed)
        self.t, self.colour, self.episodes = 0, int(self.np_random.integers(2)), self.episodes + 1
        return self._show(self.colour), {}

    def step(self, action: Any) -> tuple[Any, Any, bool, bool, dict[str, Any]]:
        self.t += 1
        late = self.episodes > 60
        if late and self.fault == "raise":
            raise RuntimeError("the motor\nis stuck")
        over = self.t == 3 and not (late and self.fault == "endless")
        chosen = int(np.ravel(action)[0])
        reward: Any = float(over and chosen == self.colour)
        if late and self.fault == "nan":
            reward = float("nan")
        seen = self._show(2)
        if late and self.fault == "shape":
            seen = (seen, 1)
        if late and self.fault == "nan observation":
            seen = np.array([np.nan], np.float32)
        return seen, reward, over, False, {}


@pytest.mark.parametrize("kind", ["discrete", "dict", "box", "float"])
def test_train_learns_in_spaces_of_all_kinds(kind: str) -> None:
    agent = train(Matching(kind), 300, seed=1)
    played = suffice.play(Matching(kind), agent.policy(), episodes=100, seed=2)
    assert played.returns.mean() == 1.0


def test_train_learns_in_a_vector_environment() -> None:
    envs = gymnasium.vector.SyncVectorEnv([Matching] * 3)
    agent = train(envs, 300, seed=1)
    assert agent.n_episodes == 300
    assert suffice.play(Matching(), agent.policy(), episodes=100, seed=2).returns.mean() == 1.0
    lengths = set(agent.experience.lengths)
    assert lengths == {3}


def test_train_accepts_domains_pomdp_files_and_gymnasium_ids() -> None:
    for env in ("corridor", str(ROOT / "examples/pomdp/tiger.POMDP"), "suffice/Corridor-v0"):
        assert train(env, 25, seed=1).n_episodes == 25
    assert train(suffice.make("corridor").model(4), 25, horizon=4).rounds


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("raise", "RuntimeError: the motor is stuck"),
        ("nan", "is not a finite number"),
        ("nan observation", "the observation has NaN"),
        ("endless", "has not ended after"),
        ("shape", "unlike the steps before|it has 2 values"),
    ],
)
def test_train_keeps_what_was_learned_when_the_environment_fails(
    fault: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("suffice.domains.gym.requests.LONGEST_EPISODE", 500)
    with pytest.raises(TrainingError, match=said) as error:
        train(Matching("float" if fault == "nan observation" else "discrete", fault), 300, seed=1)
    assert "\n" not in str(error.value)
    agent = error.value.agent
    assert isinstance(agent, suffice.Agent)
    assert agent.n_episodes >= 60
    assert agent.model().n_states > 1


@pytest.mark.parametrize(
    ("space", "said"),
    [
        (Box(0, 1, (2,)), "is continuous"),
        (MultiDiscrete([20, 20, 20]), "more than 1,000 actions"),
        (gymnasium.spaces.Sequence(Discrete(2)), "varying number"),
        (gymnasium.spaces.Text(3), "cannot be listed"),
    ],
)
def test_train_refuses_actions_that_cannot_be_tried_one_by_one(space: Any, said: str) -> None:
    env = Matching()
    env.action_space = space
    with pytest.raises(SettingsError, match=said):
        train(env, 10)


def test_actions_of_lists_the_members_of_finite_spaces() -> None:
    assert actions_of(Discrete(2, start=5)) == (5, 6)
    assert actions_of(MultiBinary(2)) == ("0,0", "0,1", "1,0", "1,1")
    assert actions_of(Tuple((Discrete(2), Discrete(1)))) == ("0,0", "1,0")
    assert actions_of(Box(-1, 1, (1,), np.int8)) == (-1, 0, 1)
    assert actions_of(Dict(a=Discrete(1), b=MultiDiscrete([2]))) == ("0,0", "0,1")


def test_train_refuses_what_is_not_an_environment() -> None:
    with pytest.raises(SettingsError, match="not an environment"):
        train(3, 10)
    with pytest.raises(SettingsError, match="no default horizon"):
        train(suffice.make("corridor").model(4), 10)
    with pytest.raises(SettingsError, match="episodes"):
        train("corridor", 0)
