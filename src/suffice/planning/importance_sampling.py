"""Importance sampling with weights of whole episodes, which does not rely on an automaton if propensities are known.

The estimate is per decision and self-normalised, with sums over the held-out episodes i and w_it = ρ_i1⋯ρ_it:

    Σ_t m_t,    m_t = Σ_i w_it r_it / Σ_i w_it

Normalised weights keep it within the range of the logged rewards. With h_it = w_it / Σ_i w_it, its variance is that of
leaving out one episode at a time, Σ_i (Σ_t h_it (r_it − m_t) / (1 − h_it))². Episodes that are still observed stand for
those that were cut off (`held_out_walk`). Weights and rare rewards make it skewed: the effect of one more effective
episode at each step, the whole range of its rewards away, is added to the error. With fewer than ten effective
episodes, (Σw)²/Σw² at the step that has the fewest, the return is unknown. Reference: Precup, Sutton and Singh (2000),
*Eligibility traces for off-policy policy evaluation*. Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from suffice.evidence.estimates import Estimate, sum_of_squares
from suffice.kernels.array_types import Float
from suffice.planning.held_out_walk import HeldOutWalk

LEAST_EFFECTIVE_EPISODES = 10  # effective episodes below which weights of episodes are not evidence
LEAST_LEFT_OUT = 0.02  # limits the influence of a single episode that has nearly all of the weight


class EpisodeWeighted(NamedTuple):
    """The estimate by importance sampling, with the coverage of the policy by the episodes."""

    estimate: Estimate
    effective: float  # effective number of episodes at the last step
    fewest: float  # at the step that has the fewest
    matched: float  # share of the episodes in which the policy could have taken every action


def episode_weighted(walk: HeldOutWalk, widths: Float) -> EpisodeWeighted:
    """Estimate the return of the walk's policy; `widths` [H] is the range of the rewards of each decision."""
    weight = np.cumprod(walk.ratios(), axis=0) * walk.seen  # [H, N]
    total, squares = ((walk.times * each).sum(axis=1) for each in (weight, weight**2))
    effective = np.where(squares > 0, total**2 / np.where(squares > 0, squares, 1.0), 0.0)
    share = weight / np.where(total > 0, total, 1.0)[:, None]  # h
    mean = (walk.times * share * walk.reward).sum(axis=1)
    off = (share * (walk.reward - mean[:, None]) / np.maximum(1 - share, LEAST_LEFT_OUT)).sum(axis=0)
    error = math.sqrt(sum_of_squares(off, walk.times, walk.group)) + float(np.sum(widths / (effective + 1)))
    last = np.count_nonzero(walk.seen, axis=0) - 1  # the last decision that was observed
    matched = float(np.average(weight[last, np.arange(weight.shape[1])] > 0, weights=walk.times))
    return EpisodeWeighted(Estimate(float(mean.sum()), error), float(effective[-1]), float(effective.min()), matched)
