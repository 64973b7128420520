"""Episodes of a policy in one Gymnasium environment, or in a vector environment."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
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
    """Returns, lengths, success and fallbacks of played episodes.

    Attributes
    ----------
    returns
        Return of each episode.
    steps
        Number of decisions of each episode.
    success
        Whether any reward of the episode was positive.
    fallbacks
        Number of steps that no logged history contains, where the policy used its fallback.
    rewards
        The distinct rewards that occurred, in ascending order.

    Examples
    --------
    >>> suffice.playing.Played.of([[0.0, 1.0], [0.0], [1.0, 1.0]], fallbacks=1)
    <Played: 3 episodes, mean return 1 ± 0.58, 20.00% of steps fell back>
    """

    returns: NDArray[np.float64]  # [n]
    steps: Int64  # [n]
    success: Mask  # [n]
    fallbacks: int
    rewards: tuple[float, ...]

    @classmethod
    def of(cls, episodes: Sequence[Sequence[float]], fallbacks: int) -> Played:
        """Compute the results from the rewards of each episode.

        Parameters
        ----------
        episodes
            The rewards of each episode, step by step.
        fallbacks
            Number of steps that no logged history contains.

        Returns
        -------
        Played
            The results.
        """
        return cls(
            np.array([reduce(operator.add, rewards, 0.0) for rewards in episodes], np.float64),
            np.array([len(rewards) for rewards in episodes], np.int64),
            np.array([any(reward > 0 for reward in rewards) for rewards in episodes], np.bool_),
            fallbacks,
            tuple(sorted(set(chain.from_iterable(episodes)))),
        )

    def __repr__(self) -> str:
        n = len(self.returns)
        text = f"<Played: {n} episode{'s' if n > 1 else ''}, mean return {self.returns.mean():.4g}"
        if np.ptp(self.returns) > 1e-9 * np.abs(self.returns).max():  # smaller differences are rounding errors
            text += f" ± {self.returns.std(ddof=1) / np.sqrt(n):.2g}"
        return text + (f", {self.fallbacks / self.steps.sum():.2%} of steps fell back>" if self.fallbacks else ">")


def play(env: Env, policy: Policy, episodes: int, seed: int | None = None, horizon: int | None = None) -> Played:
    """Play episodes of a policy in a Gymnasium environment.

    Parameters
    ----------
    env
        A single environment, whose episodes the model was learned from.
    policy
        The policy, `model.policy()`. A copy of it plays.
    episodes
        Number of episodes.
    seed
        Seed for both environment and policy. Default: each continues with its own randomness.
    horizon
        Number of steps after which an episode is cut. Default: the horizon of the model; a discounted plan on a
        stationary model plays until the environment ends the episode.

    Returns
    -------
    Played
        Return, length and success of each episode.

    Examples
    --------
    >>> import gymnasium
    >>> suffice.register()
    >>> suffice.play(gymnasium.make("suffice/Corridor-v0"), model.policy(), episodes=100, seed=1)
    <Played: 100 episodes, mean return 5>
    """
    require_environment(env, "Use play_vector for a vector environment.")
    limit = _limit(policy, episodes, horizon, seed)
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


def _limit(policy: Policy, episodes: int, horizon: int | None, seed: int | None) -> int | None:
    """Return the largest number of steps per episode; None if only the environment ends episodes."""
    require_policy(policy)
    require_counts(episodes, horizon, seed)
    return policy.rdp.limit if horizon is None else horizon


def _copies(policy: Policy, n: int, seed: int | None) -> list[Policy]:
    """Copy a policy; generators spawned from the seed differ from the one that an environment makes of it."""
    return policy.spawn(n, None if seed is None else np.random.default_rng(seed))


class VectorPolicy:
    """A policy for all sub-environments of a vector environment, with a memory for each.

        observations, _ = envs.reset()
        policy.reset()
        while …:
            observations, rewards, terminated, truncated, _ = envs.step(policy.act(observations))
            policy.ended(terminated | truncated)

    Where episodes do not begin automatically (AutoresetMode.DISABLED), reset the environment after `ended`:
    `envs.reset(options={"reset_mask": terminated | truncated})`.

    Parameters
    ----------
    envs
        A vector environment, for example of `gymnasium.make_vec`.
    policy
        The policy, `model.policy()`. Copies of it act, one in each sub-environment.
    seed
        Seed for the policies. Default: they continue with their own randomness.

    Examples
    --------
    >>> import gymnasium
    >>> suffice.register()
    >>> envs = gymnasium.make_vec("suffice/Corridor-v0", num_envs=3)
    >>> observations, _ = envs.reset(seed=1)
    >>> suffice.playing.VectorPolicy(envs, model.policy(), seed=1).act(observations)
    array([1, 1, 1])
    """

    def __init__(self, envs: Envs, policy: Policy, seed: int | None = None) -> None:
        require_environments(envs)
        require_policy(policy)
        self.mode = envs.metadata.get("autoreset_mode")
        if not isinstance(self.mode, AutoresetMode):
            raise SettingsError(
                "envs: the vector environment does not state how its episodes begin. Set "
                "envs.metadata['autoreset_mode'] to a gymnasium.vector.AutoresetMode."
            )
        self.policies = _copies(policy, envs.num_envs, seed)
        self.resting: Mask = np.zeros(envs.num_envs, np.bool_)  # where the next step only begins an episode
        self._words = words_of_each(envs, policy.alphabet)
        self._observations, self._actions = envs.observation_space, envs.single_action_space
        self.reset()

    @property
    def fallbacks(self) -> int:
        """Number of steps that no logged history contains."""
        return sum(policy.fallbacks for policy in self.policies)

    def reset(self, which: Mask | None = None) -> None:
        """Clear the memories, because new episodes begin with the next observations.

        Parameters
        ----------
        which
            Mask of the sub-environments. Default: all.
        """
        chosen = np.ones_like(self.resting) if which is None else which
        for i in np.flatnonzero(chosen):
            self.policies[i].reset()
        self.resting &= ~chosen

    def act(self, observations: Any) -> Any:
        """Choose an action for each sub-environment.

        Where the next step only begins an episode, the action and the observation have no meaning.

        Parameters
        ----------
        observations
            What `envs.reset()` or `envs.step()` returned.

        Returns
        -------
        Any
            A batch of actions for `envs.step()`.
        """
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
                f"observations: this is not a batch for {len(self.policies)} sub-environments. Pass what envs.reset() "
                "or envs.step() returned."
            )
        return each

    def ended(self, over: Mask) -> None:
        """Take note, after each step, of the sub-environments whose episode has ended.

        Parameters
        ----------
        over
            Mask of these sub-environments: `terminated | truncated`.
        """
        self.reset(over)
        if self.mode is AutoresetMode.NEXT_STEP:
            self.resting = over.copy()


def play_vector(
    envs: Envs, policy: Policy, episodes: int, seed: int | None = None, horizon: int | None = None
) -> Played:
    """Play episodes of a policy in all sub-environments of a vector environment at once.

    Each sub-environment contributes an equal share of the episodes, however long they are, and further episodes are
    not counted; otherwise short episodes would be over-represented.

    Parameters
    ----------
    envs
        A vector environment, for example of `gymnasium.make_vec`.
    policy
        The policy, `model.policy()`. Copies of it play.
    episodes
        Number of episodes in all.
    seed
        Seed for both environments and policies. Default: each continues with its own randomness.
    horizon
        Number of steps after which an episode is cut. Default: as for `play`.

    Returns
    -------
    Played
        Return, length and success of each episode, sub-environment by sub-environment.

    Examples
    --------
    >>> import gymnasium
    >>> suffice.register()
    >>> envs = gymnasium.make_vec("suffice/Corridor-v0", num_envs=8)
    >>> suffice.play_vector(envs, model.policy(), episodes=100, seed=1)
    <Played: 100 episodes, mean return 5>
    """
    limit = _limit(policy, episodes, horizon, seed)
    players = VectorPolicy(envs, policy, seed)
    n = envs.num_envs
    quota = [episodes // n + (i < episodes % n) for i in range(n)]
    books: list[list[list[float]]] = [
        [[]] for _ in range(n)
    ]  # rewards by sub-environment and episode; the last episode still runs
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
        idle = ended | cut if players.mode is AutoresetMode.DISABLED else cut  # all others begin automatically
        if idle.any():
            players.reset(cut)
            observations = _begin_in(envs, idle)
    counted = [rewards for book, share in zip(books, quota, strict=True) for rewards in book[:share]]
    return Played.of(counted, fallbacks)


def _begin_in(envs: Envs, which: Mask) -> Any:
    """Begin episodes in some sub-environments, which not every vector environment supports."""
    able = envs.metadata["autoreset_mode"] is AutoresetMode.DISABLED
    if not able and not isinstance(envs.unwrapped, SyncVectorEnv | AsyncVectorEnv):
        raise SettingsError(
            "envs: episodes are longer than the horizon, and this vector environment cannot reset single "
            "sub-environments. Limit episodes with a TimeLimit wrapper, or use a SyncVectorEnv."
        )
    observations, _ = envs.reset(options={"reset_mask": which})
    return observations
