"""Whole episodes of a policy, in one environment or in many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv
from gymnasium.vector.utils import concatenate, create_empty_array, iterate
from numpy.typing import NDArray

from suffice.domains.gym.requests import (
    finite_reward,
    refuse_endless,
    require_counts,
    require_environment,
    require_environments,
    require_policy,
)
from suffice.domains.gym.translation import Env, Envs, Words, words_of, words_of_each
from suffice.errors import LogError, SettingsError
from suffice.kernels.array_types import Int64, Mask
from suffice.planning.policy import Policy


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Played:
    """What episodes brought.

    >>> suffice.domains.gym.rollouts.Played.of([[0.0, 1.0], [0.0], [1.0, 1.0]], fallbacks=1)
    <Played: 3 episodes, mean return 1 ± 0.58, 20.00% of steps fell back>
    """

    returns: NDArray[np.float64]  # [n]
    steps: Int64  # [n] decisions
    success: Mask  # [n] whether any reward was positive
    fallbacks: int  # steps that no logged history had taken
    rewards: tuple[float, ...]  # those that occurred, in order

    @classmethod
    def of(cls, episodes: Sequence[Sequence[float]], fallbacks: int) -> Played:
        """From the rewards of each episode."""
        return cls(
            np.array([sum(rewards) for rewards in episodes], np.float64),
            np.array([len(rewards) for rewards in episodes], np.int64),
            np.array([any(reward > 0 for reward in rewards) for rewards in episodes], np.bool_),
            fallbacks,
            tuple(sorted(set(chain.from_iterable(episodes)))),
        )

    def __repr__(self) -> str:
        n = len(self.returns)
        told = f"<Played: {n} episode{'s' if n > 1 else ''}, mean return {self.returns.mean():.4g}"
        if np.ptp(self.returns) > 1e-9 * np.abs(self.returns).max():  # less is how sums are rounded
            told += f" ± {self.returns.std(ddof=1) / np.sqrt(n):.2g}"
        return told + (f", {self.fallbacks / self.steps.sum():.2%} of steps fell back>" if self.fallbacks else ">")


def play(env: Env, policy: Policy, episodes: int, seed: int | None = None, horizon: int | None = None) -> Played:
    """Play episodes of at most `horizon` steps, with a copy of the policy.

    Usually the horizon is the model's, but a discounted plan on a stationary model goes on until the environment ends
    it. The seed is for both environment and policy. Without one, each goes on with its own randomness.

    >>> import gymnasium
    >>> suffice.register()
    >>> suffice.domains.gym.rollouts.play(gymnasium.make("suffice/Corridor-v0"), model.policy(), episodes=100, seed=1)
    <Played: 100 episodes, mean return 5>
    """
    require_environment(env, "use play_vector for several in one")
    limit = _limit(policy, episodes, horizon)
    words = words_of(env, policy.alphabet)
    player = _copies(policy, 1, seed)[0]
    seeds = chain([seed], repeat(None, episodes - 1))
    return Played.of([_episode(env, player, words, limit, n, s) for n, s in enumerate(seeds)], player.fallbacks)


def _episode(env: Env, player: Policy, words: Words, limit: int | None, n: int, seed: int | None) -> list[float]:
    observation, _ = env.reset(seed=seed)
    player.reset()
    rewards: list[float] = []
    over = False
    while not over and len(rewards) != limit:
        action = words.action(player.act(words.features(observation)))
        observation, reward, terminated, truncated, _ = env.step(action)
        rewards.append(finite_reward(reward, n, len(rewards)))
        over = terminated or truncated
        if limit is None and not over:
            refuse_endless(n, len(rewards))
    return rewards


def _limit(policy: Policy, episodes: int, horizon: int | None) -> int | None:
    """Steps of an episode; None, if only the environment ends it."""
    require_policy(policy)
    require_counts(episodes, horizon)
    return policy.rdp.limit if horizon is None else horizon


def _copies(policy: Policy, n: int, seed: int | None) -> list[Policy]:
    """Children of a seed differ from the generator that an environment makes of the same seed."""
    return policy.spawn(n, None if seed is None else np.random.default_rng(seed))


class VectorPolicy:
    """A policy for all sub-environments of a vector environment, with a memory for each.

        observations, _ = envs.reset()
        policy.reset()
        while …:
            observations, rewards, terminated, truncated, _ = envs.step(policy.act(observations))
            policy.ended(terminated | truncated)

    Where episodes do not begin by themselves (AutoresetMode.DISABLED), whoever ends them resets the environment, as
    ever: `envs.reset(options={"reset_mask": terminated | truncated})`.

    >>> import gymnasium
    >>> suffice.register()
    >>> envs = gymnasium.make_vec("suffice/Corridor-v0", num_envs=3)
    >>> observations, _ = envs.reset(seed=1)
    >>> suffice.domains.gym.rollouts.VectorPolicy(envs, model.policy(), seed=1).act(observations)
    array([1, 1, 1])
    """

    def __init__(self, envs: Envs, policy: Policy, seed: int | None = None) -> None:
        require_environments(envs)
        require_policy(policy)
        self.mode = envs.metadata.get("autoreset_mode")
        if not isinstance(self.mode, AutoresetMode):
            raise SettingsError(
                "the environment does not say how its episodes begin; set envs.metadata['autoreset_mode'] to an "
                "AutoresetMode of gymnasium.vector"
            )
        self.policies = _copies(policy, envs.num_envs, seed)
        self.resting: Mask = np.zeros(envs.num_envs, np.bool_)  # where the next step begins an episode, nothing else
        self._words = words_of_each(envs, policy.alphabet)
        self._observations, self._actions = envs.observation_space, envs.single_action_space
        self.reset()

    @property
    def fallbacks(self) -> int:
        """Steps that no logged history had taken."""
        return sum(policy.fallbacks for policy in self.policies)

    def reset(self, which: Mask | None = None) -> None:
        """Episodes begin with the next observations, in all or in some sub-environments."""
        chosen = np.ones_like(self.resting) if which is None else which
        for i in np.flatnonzero(chosen):
            self.policies[i].reset()
        self.resting &= ~chosen

    def act(self, observations: Any) -> Any:
        """An action for each sub-environment; any will do where it rests, and what is seen there is of no interest."""
        players = zip(self.policies, self._words, self._each(observations), self.resting, strict=True)
        actions = [
            words.action(policy.alphabet.actions[0] if resting else policy.act(words.features(observation)))
            for policy, words, observation, resting in players
        ]
        empty: Any = create_empty_array(self._actions, len(actions))
        return concatenate(self._actions, actions, empty)

    def _each(self, observations: Any) -> list[Any]:
        try:
            each = list(iterate(self._observations, observations))
        except (TypeError, ValueError, LookupError, AttributeError):
            each = []
        if len(each) != len(self.policies):
            raise LogError(
                f"these are no observations of {len(self.policies)} sub-environments; give act() what envs.reset() or "
                "envs.step() returned"
            )
        return each

    def ended(self, over: Mask) -> None:
        """Take note, after each step, of the sub-environments whose episode is over."""
        self.reset(over)
        if self.mode is AutoresetMode.NEXT_STEP:
            self.resting = over.copy()


def play_vector(
    envs: Envs, policy: Policy, episodes: int, seed: int | None = None, horizon: int | None = None
) -> Played:
    """As `play`, in all sub-environments at once; the results come one sub-environment after the other.

    Each has its share of the episodes, whatever their length, and what it plays beyond does not count: short episodes
    are no more likely to be among the first than long ones are.

    >>> import gymnasium
    >>> suffice.register()
    >>> envs = gymnasium.make_vec("suffice/Corridor-v0", num_envs=8)
    >>> suffice.domains.gym.rollouts.play_vector(envs, model.policy(), episodes=100, seed=1)
    <Played: 100 episodes, mean return 5>
    """
    limit = _limit(policy, episodes, horizon)
    players = VectorPolicy(envs, policy, seed)
    n = envs.num_envs
    quota = [episodes // n + (i < episodes % n) for i in range(n)]
    books: list[list[list[float]]] = [[[]] for _ in range(n)]  # each one's rewards by episode; the last still runs
    fallbacks = 0
    observations, _ = envs.reset(seed=seed)
    while any(len(book) <= share for book, share in zip(books, quota, strict=True)):
        actions, plays = players.act(observations), ~players.resting
        observations, rewards, terminated, truncated, _ = envs.step(actions)
        for i in np.flatnonzero(plays):
            book = books[i]
            book[-1].append(finite_reward(rewards[i], len(book) - 1, len(book[-1]), f"sub-environment {i}, "))
        ended = terminated | truncated
        cut = ~ended & np.array([len(book[-1]) == limit for book in books])
        if limit is None:
            refuse_endless(*max(((len(book) - 1, len(book[-1])) for book in books), key=lambda pair: pair[1]))
        for i in np.flatnonzero(ended | cut):
            fallbacks += players.policies[i].fallbacks if len(books[i]) == quota[i] else 0
            books[i].append([])
        players.ended(ended)
        idle = ended | cut if players.mode is AutoresetMode.DISABLED else cut  # all others begin by themselves
        if idle.any():
            players.reset(cut)
            observations = _begin_in(envs, idle)
    counted = [rewards for book, share in zip(books, quota, strict=True) for rewards in book[:share]]
    return Played.of(counted, fallbacks)


def _begin_in(envs: Envs, which: Mask) -> Any:
    """Begin episodes in some sub-environments, which not every vector environment can do while others go on."""
    able = envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    if not able and not isinstance(envs.unwrapped, SyncVectorEnv | AsyncVectorEnv):
        raise SettingsError(
            "the episodes of this vector environment are longer than the horizon; limit them when it is made, or use "
            "a SyncVectorEnv, which can begin anew"
        )
    observations, _ = envs.reset(options={"reset_mask": which})
    return observations
