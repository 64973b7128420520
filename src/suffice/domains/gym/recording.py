"""Episodes of an environment as a log: one row per decision, ends and cuts told apart."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from suffice.data.alphabet import Value
from suffice.data.logs.steps import StepColumns
from suffice.domains.gym.requests import finite_reward, refuse_endless, require_counts, require_environment
from suffice.domains.gym.spaces import refuse_continuous, refuse_varying, word_of
from suffice.domains.gym.translation import Env, words_of
from suffice.errors import SettingsError
from suffice.planning.policy import Policy

Chooser = Callable[[Any], Any]


def record(
    env: Env,
    episodes: int,
    *,
    choose: Policy | Chooser | None = None,
    epsilon: float = 0.0,
    horizon: int | None = None,
    seed: int | None = None,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> pa.Table:
    """Play episodes and log them, as a table to learn from or to write to a file.

    Actions are random, or those of `choose`: a policy, which plays with its memory, or what makes an action of each
    observation; if that has `reset`, it is called before each episode. With probability `epsilon` a random action takes
    their place, and a policy takes note of it. An episode that reaches `horizon` is cut there. The entries of a Dict
    space, and of vectors, become columns of their own; an action of several parts becomes one text, such as "0,1".

    >>> import gymnasium
    >>> suffice.register()
    >>> table = suffice.domains.gym.recording.record(gymnasium.make("suffice/Corridor-v0"), 100, seed=1)
    >>> table.num_rows, table.column_names[-4:]
    (500, ['action', 'reward', 'terminated', 'truncated'])
    """
    require_environment(env, "record each of several on its own")
    require_counts(episodes, horizon)
    if not 0 <= epsilon <= 1:
        raise SettingsError(f"epsilon is a probability between 0 and 1, not {epsilon!r}; try 0.2")
    refuse_continuous(env.action_space)
    refuse_varying(env.action_space, env.observation_space)
    rng = np.random.default_rng(seed)
    luck = rng.spawn(1)[0]  # its own: an environment of the same seed draws the same numbers as `rng`
    if seed is not None:
        env.action_space.seed(int(luck.integers(2**31)))
    recording = _Recording(env, _player(env, choose, None if seed is None else rng), epsilon, luck, horizon)
    for number in range(episodes):
        recording.play(number, None if number else seed)
        progress(number + 1, episodes)
    return recording.table()


class _Recording:
    """A log that grows an episode at a time."""

    def __init__(
        self, env: Env, player: _Player, epsilon: float, luck: np.random.Generator, horizon: int | None
    ) -> None:
        self._env, self._actions, self._player = env, env.action_space, player
        self._epsilon, self._luck, self._horizon = epsilon, luck, horizon
        self._steps = StepColumns("the environment")
        self._rewards: list[float] = []
        self._terminated: list[bool] = []
        self._truncated: list[bool] = []

    def play(self, number: int, seed: int | None) -> None:
        observation, _ = self._env.reset(seed=seed)
        self._player.reset()
        t, over = 0, False
        while not over:
            action = self._player.choose(observation, number, t)
            if self._epsilon and self._luck.random() < self._epsilon:
                action = self._actions.sample()
            self._steps.add(number, t, (observation, word_of(self._actions, action), 0.0))  # now: it may change
            observation, reward, terminated, truncated, _ = self._env.step(action)
            self._player.did(action)
            self._rewards.append(finite_reward(reward, number, t))
            t += 1
            over = bool(terminated or truncated or t == self._horizon)
            self._terminated.append(bool(terminated))
            self._truncated.append(over and not terminated)
            if self._horizon is None and not over:
                refuse_endless(number, t)

    def table(self) -> pa.Table:
        table = self._steps.table().drop_columns("reward")
        brought = {"reward": self._rewards, "terminated": self._terminated, "truncated": self._truncated}
        for name, values in brought.items():
            table = table.append_column(name, pa.array(values))
        return table


# ---------------------------------------------------------------- who plays


class _Player:
    """Acts at random."""

    def __init__(self, env: Env) -> None:
        self._actions = env.action_space

    def reset(self) -> None:
        """An episode begins."""

    def choose(self, observation: Any, episode: int, t: int) -> Any:
        return self._actions.sample()

    def did(self, action: Any) -> None:
        """What was really done."""


class _FunctionPlayer(_Player):
    """Acts as a function of what is seen."""

    def __init__(self, env: Env, chooser: Chooser) -> None:
        super().__init__(env)
        self._chooser = chooser

    def reset(self) -> None:
        if callable(begin := getattr(self._chooser, "reset", None)):
            begin()

    def choose(self, observation: Any, episode: int, t: int) -> Any:
        action = self._chooser(observation)
        if action not in self._actions:
            raise SettingsError(f"episode {episode}, step {t}: {action!r} was chosen, not one of {self._actions}")
        return action


class _Follower(_Player):
    """Acts as a policy does that remembers what was done."""

    def __init__(self, env: Env, policy: Policy) -> None:
        super().__init__(env)
        self._policy, self._words = policy, words_of(env, policy.alphabet)
        self._done: Value | None = None

    def reset(self) -> None:
        self._policy.reset()
        self._done = None

    def choose(self, observation: Any, episode: int, t: int) -> Any:
        self._policy.observe(self._done, self._words.features(observation), strict=False)
        return self._words.action(self._policy.act())

    def did(self, action: Any) -> None:
        self._done = self._words.word(action)


def _player(env: Env, choose: Policy | Chooser | None, rng: np.random.Generator | None) -> _Player:
    if choose is None:
        return _Player(env)
    if isinstance(choose, Policy):
        return _Follower(env, choose.spawn(1, rng)[0])
    if not callable(choose):
        raise SettingsError(
            f"a {type(choose).__name__} cannot choose; give model.policy(), or a function of what is seen"
        )
    return _FunctionPlayer(env, choose)
