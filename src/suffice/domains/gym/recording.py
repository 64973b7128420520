"""Recording of an environment's episodes as a log with one row per decision."""

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
    """Play episodes in a Gymnasium environment and record them as a log.

    Entries of a Dict observation, and of vectors, become columns. An action of several parts becomes one text, such as
    "0,1". The columns `terminated` and `truncated` distinguish the end of an episode from a time limit.

    Parameters
    ----------
    env
        A single environment with finitely many actions.
    episodes
        Number of episodes to play.
    choose
        What acts: None draws from the action space uniformly; a policy (`model.policy()`) uses its memory; a function
        returns an action for each observation. If the function has a method `reset`, that is called before each
        episode.
    epsilon
        Probability with which a random action replaces the chosen one, at each step.
    horizon
        Number of steps after which an episode is truncated. Default: only the environment ends episodes.
    seed
        Seed for the environment, the random actions and the policy. Default: each continues with its own randomness.
    progress
        Function called after each episode with the number of recorded episodes and the total.

    Returns
    -------
    pyarrow.Table
        One row per decision: `episode`, `step`, the observation columns, `action`, `reward`, `terminated`,
        `truncated`. `suffice.learn` accepts it, and `suffice.write_log` writes it to a file.

    Examples
    --------
    >>> import gymnasium
    >>> suffice.register()
    >>> table = suffice.record(gymnasium.make("suffice/Corridor-v0"), 100, seed=1)
    >>> table.num_rows, table.column_names[-4:]
    (500, ['action', 'reward', 'terminated', 'truncated'])
    >>> suffice.learn(table).rdp.n_states
    8
    """
    require_environment(env, "Record each sub-environment separately.")
    require_counts(episodes, horizon, seed)
    if not 0 <= epsilon <= 1:
        raise SettingsError(f"epsilon={epsilon!r} is not a probability. Use a number from 0 to 1, such as 0.2.")
    refuse_continuous(env.action_space)
    refuse_varying(env.action_space, env.observation_space)
    rng = np.random.default_rng(seed)
    luck = rng.spawn(1)[0]  # independent of the environment, which may draw the same numbers as `rng`
    if seed is not None:
        env.action_space.seed(int(luck.integers(2**31)))
    recording = _Recording(env, _player(env, choose, None if seed is None else rng), epsilon, luck, horizon)
    for number in range(episodes):
        recording.play(number, None if number else seed)
        progress(number + 1, episodes)
    return recording.table()


class _Recording:
    """A log under construction, to which episodes are added."""

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
            self._steps.add(
                number, t, (observation, word_of(self._actions, action), 0.0)
            )  # before the step, which may change the observation in place
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
        added = {"reward": self._rewards, "terminated": self._terminated, "truncated": self._truncated}
        for name, values in added.items():
            table = table.append_column(name, pa.array(values))
        return table


# ---------------------------------------------------------------- players


class _Player:
    """Player that draws actions from the action space."""

    def __init__(self, env: Env) -> None:
        self._actions = env.action_space

    def reset(self) -> None:
        """Prepare for a new episode."""

    def choose(self, observation: Any, episode: int, t: int) -> Any:
        return self._actions.sample()

    def did(self, action: Any) -> None:
        """Take note of the action that was executed."""


class _FunctionPlayer(_Player):
    """Player that calls a function with each observation."""

    def __init__(self, env: Env, chooser: Chooser) -> None:
        super().__init__(env)
        self._chooser = chooser

    def reset(self) -> None:
        if callable(begin := getattr(self._chooser, "reset", None)):
            begin()

    def choose(self, observation: Any, episode: int, t: int) -> Any:
        action = self._chooser(observation)
        if action not in self._actions:
            raise SettingsError(
                f"episode {episode}, step {t}: choose returned {action!r}, which is not an action of "
                f"{self._actions}. Return one of its actions."
            )
        return action


class _Follower(_Player):
    """Player that follows a policy, which observes the executed actions."""

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
            f"choose is of type {type(choose).__name__}. Pass model.policy(), or a function of the observation."
        )
    return _FunctionPlayer(env, choose)
