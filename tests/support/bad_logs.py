"""Logs that mislead learners: hidden coins, a logger that changes, columns that tell the reward of their own row."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from suffice.data.alphabet import Alphabet, Value
from suffice.data.episodes import Episodes


def coin_log(seed: int, n: int, horizon: int, high: float, n_observations: int = 2) -> Episodes:
    """Pure noise, but a coin per episode makes every reward 1 with probability `high`, or 1 − `high`."""
    rng = np.random.default_rng(seed)
    alphabet = Alphabet((0, 1), ("noise",), tuple((i,) for i in range(n_observations)), (0.0, 1.0))
    action, observation = rng.integers(2, 4, (horizon + 1, n)), rng.integers(1, n_observations + 1, (horizon + 1, n))
    reward = (rng.random((horizon + 1, n)) < np.where(rng.random(n) < 0.5, high, 1 - high)).astype(np.int64)
    action[0], reward[0], observation[-1] = 0, 0, 0
    return Episodes.from_steps(alphabet, action, observation, reward)


def drifting_log(seed: int, n: int, horizon: int, first: float, last: float) -> Episodes:
    """Pure noise, whose logger takes action 1 with a probability that changes from the first to the last episode."""
    episodes = coin_log(seed, n, horizon, 0.5)
    action, observation, reward = (episodes.letters[:, i].astype(np.int64)[episodes.word] for i in range(3))
    action[1:] = 2 + (np.random.default_rng(seed + 1).random((horizon, n)) < np.linspace(first, last, n))
    return Episodes.from_steps(episodes.alphabet, action, observation, reward)


def with_leak(episodes: Episodes, revealed: Callable[[float], Value]) -> Episodes:
    """Add a column "revealed", a function of the reward of its own row."""
    alphabet = episodes.alphabet
    values = [revealed(reward) for reward in alphabet.rewards]
    pairs = tuple((*seen, value) for seen in alphabet.observations for value in dict.fromkeys(values))
    longer = Alphabet(alphabet.actions, (*alphabet.features, "revealed"), pairs, alphabet.rewards)
    code = {seen: i for i, seen in enumerate(longer.observations, 1)}
    table = np.array([[0] * len(values), *([code[*seen, value] for value in values] for seen in alphabet.observations)])
    action, observation, reward = (episodes.letters[:, i].astype(np.int64)[episodes.word] for i in range(3))
    following = np.concatenate([reward[1:], reward[:1]])
    return Episodes.from_steps(longer, action, table[observation, following], reward)
