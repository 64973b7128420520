"""Whole episodes of a policy, in one environment or in many at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import gymnasium
import numpy as np
from gymnasium.vector import AsyncVectorEnv, AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.vector.utils import iterate
from numpy.typing import NDArray

from suffice.episodes import Int64, Mask
from suffice.errors import SettingsError
from suffice.playing.words import Env, Envs, Words, words_of, words_of_each
from suffice.policy import Policy


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Played:
    """What episodes brought."""

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
        return f"<Played: {len(self.returns)} episodes, mean return {self.returns.mean():.4g}>"


def play(env: Env, policy: Policy, episodes: int, seed: int | None = None, horizon: int | None = None) -> Played:
    """Play episodes of at most `horizon` steps (usually the model's), with a copy of the policy.

    The seed is for both environment and policy. Without one, each goes on with its own randomness.
    """
    if not isinstance(policy, Policy):
        raise SettingsError("a policy plays: give model.policy()")
    if not isinstance(env, gymnasium.Env):
        raise SettingsError("this is no single environment; use play_vector for several in one")
    limit = _limit(policy, episodes, horizon)
    words = words_of(env, policy.alphabet)
    player = _copies(policy, 1, seed)[0]
    seeds = chain([seed], repeat(None, episodes - 1))
    return Played.of([_episode(env, player, words, limit, s) for s in seeds], player.fallbacks)


def _episode(env: Env, player: Policy, words: Words, limit: int, seed: int | None) -> list[float]:
    observation, _ = env.reset(seed=seed)
    player.reset()
    rewards: list[float] = []
    over = False
    while not over and len(rewards) < limit:
        action = words.action(player.act(words.features(observation)))
        observation, reward, terminated, truncated, _ = env.step(action)
        rewards.append(float(reward))
        over = terminated or truncated
    return rewards


def _limit(policy: Policy, episodes: int, horizon: int | None) -> int:
    if episodes < 1:
        raise SettingsError(f"{episodes} episodes cannot be played; ask for 1 or more")
    if horizon is not None and horizon < 1:
        raise SettingsError(f"a horizon of {horizon} leaves no action; use 1 or more")
    return policy.rdp.horizon if horizon is None else horizon


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
    """

    def __init__(self, envs: Envs, policy: Policy, seed: int | None = None) -> None:
        if not isinstance(envs, VectorEnv):
            raise SettingsError("this is no vector environment; make one with gymnasium.make_vec, or use play")
        self.mode = envs.metadata.get("autoreset_mode")
        if not isinstance(self.mode, AutoresetMode):
            raise SettingsError(
                "the environment does not say how its episodes begin; set envs.metadata['autoreset_mode'] to an "
                "AutoresetMode of gymnasium.vector"
            )
        self.policies = _copies(policy, envs.num_envs, seed)
        self.resting: Mask = np.zeros(envs.num_envs, np.bool_)  # where the next step begins an episode, nothing else
        self._words = words_of_each(envs, policy.alphabet)
        self._observations, self._dtype = envs.observation_space, envs.action_space.dtype
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

    def act(self, observations: Any) -> NDArray[Any]:
        """An action for each sub-environment; any will do where it rests, and what is seen there is of no interest."""
        players = zip(self.policies, self._words, iterate(self._observations, observations), self.resting, strict=True)
        actions = [
            words.action(policy.alphabet.actions[0] if resting else policy.act(words.features(observation)))
            for policy, words, observation, resting in players
        ]
        return np.array(actions, self._dtype)

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
            books[i][-1].append(float(rewards[i]))
        ended = terminated | truncated
        cut = ~ended & np.array([len(book[-1]) == limit for book in books])
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
