"""The range of possible returns: the smallest and largest reward logged at each step, added up over the steps.

Padding after an early end has reward 0 and counts like any other step, so that 0 is possible at every step before which
an episode ended. No policy that takes logged actions can be shown by the log to have a return outside of this range;
predictions, bounds and estimates are limited to it.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from suffice.data.log import Log, run_query
from suffice.data.queries import EpisodesView
from suffice.kernels.array_types import Float


class PossibleReturns(NamedTuple):
    """The smallest and the largest possible return of an episode."""

    low: float = -math.inf
    high: float = math.inf


class RewardRanges(NamedTuple):
    """The smallest and the largest reward of each step."""

    low: Float  # [H+1]
    high: Float  # [H+1]

    def joined(self, other: RewardRanges) -> RewardRanges:
        """Return the ranges that contain both."""
        return RewardRanges(np.minimum(self.low, other.low), np.maximum(self.high, other.high))

    def returns(self) -> PossibleReturns:
        """Return the range of the sum over all steps."""
        return PossibleReturns(math.fsum(self.low), math.fsum(self.high))


class _RewardRangesQuery(NamedTuple):
    """Query for the range of rewards at each step."""

    rewards: Float  # [X] of each letter

    def __call__(self, view: EpisodesView) -> RewardRanges:
        """Return the ranges of some episodes; see `Query`."""
        episodes = view.episodes
        steps = [self.rewards[word] for word in episodes.word]
        if episodes.length is not None:  # a part of the log in which no episode gets this far says nothing
            steps = [rewards[episodes.observed(t)] for t, rewards in enumerate(steps)]
            return RewardRanges(
                np.array([step.min(initial=math.inf) for step in steps]),
                np.array([step.max(initial=-math.inf) for step in steps]),
            )
        return RewardRanges(np.array([step.min() for step in steps]), np.array([step.max() for step in steps]))

    def combine(self, answers: list[RewardRanges]) -> RewardRanges:
        """Join the ranges of parts of the log; see `Query`."""
        found = answers[0]
        for answer in answers[1:]:
            found = found.joined(answer)
        return found


def reward_ranges(log: Log, threads: int = 1) -> RewardRanges:
    """Return the smallest and largest reward that a log has at each step, or at any where all episodes were cut off."""
    rewards = np.array(log.alphabet.rewards, float)[log.letters[:, 2]]
    low, high = run_query(log, _RewardRangesQuery(rewards), threads)
    unseen = low > high  # never at the first step
    return RewardRanges(np.where(unseen, low.min(), low), np.where(unseen, high.max(), high))


def possible_returns(log: Log, threads: int = 1) -> PossibleReturns:
    """Return the range of returns that the rewards in a log allow."""
    return reward_ranges(log, threads).returns()
