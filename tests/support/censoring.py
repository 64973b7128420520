"""Episodes that are cut off by observation, made from complete ones."""

from __future__ import annotations

import numpy as np

from suffice.data.alphabet import PAD, STOP
from suffice.data.episodes import Episodes
from suffice.kernels.array_types import Int64


def censored_at(episodes: Episodes, last: Int64) -> Episodes:
    """Cut episodes off after `last` [N] decisions; those that ended before have ended."""
    action, observation, reward = (column[episodes.word].astype(np.int64) for column in episodes.letters.T)
    steps = np.arange(episodes.horizon + 1)[:, None]
    zero = episodes.alphabet.rewards.index(0.0)
    cut = (last < episodes.horizon) & (last <= episodes.lengths()) & (last >= 1)
    ended_there = cut & (last == episodes.lengths())  # its last decision is its end, which was observed
    cut &= ~ended_there
    unseen = cut & (steps > last)
    action, reward = np.where(unseen, PAD, action), np.where(unseen, zero, reward)
    observation = np.where(cut & (steps >= last), STOP, observation)
    length = np.where(cut, last + 1, episodes.horizon + 1).astype(np.int32)
    return Episodes.from_steps(
        episodes.alphabet, action, observation, reward, episodes.weight, episodes.declared, length, episodes.group
    )


def censored(episodes: Episodes, rng: np.random.Generator, rate: float = 0.2) -> Episodes:
    """Cut episodes off before each decision but the first with probability `rate`, whatever happened."""
    return censored_at(episodes, rng.geometric(rate, episodes.n))
