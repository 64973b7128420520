"""Models and environments for the tests of policies in Gymnasium."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Discrete
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv

from suffice.data.episodes import Episodes
from suffice.domains.domain import Domain
from suffice.domains.gym.environment import DomainEnv
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.t_maze import TMaze
from suffice.models.model import Model
from suffice.planning.regorl import regorl
from support.samples import from_values

NEXT, SAME, DISABLED = AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP, AutoresetMode.DISABLED
EARLY = TMaze(length=2)  # may end at the junction from the third step on


@cache
def logged(domain: Domain, n: int, horizon: int) -> Episodes:
    return domain.simulate(n, horizon, np.random.default_rng(0))


def learned(episodes: Episodes, **options: Any) -> Model:
    return Model.of(regorl(episodes), episodes, **options)


def maze_model() -> Model:
    """Learn a model whose plan solves the maze."""
    return learned(logged(TMaze(), 30_000, 5))


def hasty_model() -> Model:
    """Learn a model from few episodes, which mostly keeps the logged behaviour."""
    return learned(logged(EARLY, 300, 6))


def corridor_model() -> Model:
    return learned(logged(Corridor(), 300, 5))


def sync(make: Callable[[], Any], n: int = 3, mode: AutoresetMode = NEXT) -> SyncVectorEnv:
    return SyncVectorEnv([make] * n, autoreset_mode=mode)


def asynchronous(make: Callable[[], Any], n: int = 3, mode: AutoresetMode = NEXT, **options: Any) -> AsyncVectorEnv:
    return AsyncVectorEnv([make] * n, autoreset_mode=mode, **options)


early = partial(DomainEnv, EARLY, 6)


# Environments of other packages


class Recall(gymnasium.Env[Any, Any]):
    """Environment that shows 2 or 5 first; after the second observation, the matching answer 2 or 3 gives 1."""

    action_space: Any = Discrete(2, start=2)
    observation_space: Any = Box(0, 9, (2,), np.float32)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.cue, self.clock = int(self.np_random.choice([2, 5])), 0
        return self.seen(self.cue), {}

    def step(self, action: Any) -> Any:
        assert action in self.action_space
        self.clock += 1
        over = self.clock == 2
        return self.seen(0), float(over and action == {2: 2, 5: 3}[self.cue]), over, False, {}

    def seen(self, cue: int) -> Any:
        return np.array([cue, self.clock], np.float32)


# Refusals


def of_values(actions: tuple[Any, ...], observation: tuple[Any, ...]) -> Model:
    return learned(from_values([[(None, observation, 0.0), (a, None, 0.0)] for a in actions]))


# Random episodes


def wander(env: gymnasium.Env[Any, Any], seed: int) -> list[tuple[Any, Any, bool, bool]]:
    """Play an episode with random actions; return each action, observation, terminated and truncated."""
    env.action_space.seed(seed)
    steps = [(None, env.reset(seed=seed)[0], False, False)]
    while not (steps[-1][2] or steps[-1][3]):
        action = env.action_space.sample()
        observation, _, terminated, truncated, _ = env.step(action)
        steps.append((action, observation, terminated, truncated))
    return steps
