"""Importance sampling with weights of whole episodes, which does not rely on an automaton if propensities are known.

The estimate is per decision and self-normalised, with sums over the held-out episodes i and w_it = ρ_i1⋯ρ_it:

    Σ_t m_t,    m_t = Σ_i w_it r_it / Σ_i w_it

Normalised weights keep it within the range of the logged rewards. With h_it = w_it / Σ_i w_it, its variance is that of
leaving out one episode at a time, Σ_i (Σ_t h_it (r_it − m_t) / (1 − h_it))². Episodes that are still observed stand for
those that were cut off. Weights and rare rewards make it skewed: the effect of one more effective
episode at each step, the whole range of its rewards away, is added to the error. With fewer than ten effective
episodes, (Σw)²/Σw² at the step that has the fewest, the return is unknown. Reference: Precup, Sutton and Singh (2000),
*Eligibility traces for off-policy policy evaluation*. Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from suffice.evidence.estimates import Estimate, sum_of_squares
from suffice.kernels.array_types import Float, Mask, UInt64
from suffice.planning.held_out_walk import ENDED, HeldOutWalk

LEAST_EFFECTIVE_EPISODES = 10  # effective episodes below which weights of episodes are not evidence
LEAST_LEFT_OUT = 0.02  # limits the influence of a single episode that has nearly all of the weight


class EpisodeWeighted(NamedTuple):
    """The estimate by importance sampling, with the coverage of the policy by the episodes."""

    estimate: Estimate
    effective: float  # effective number of episodes at the last step
    fewest: float  # at the step that has the fewest
    matched: float  # share of the episodes in which the policy could have taken every action


def episode_weighted(walk: HeldOutWalk, spans: Float, group: UInt64 | None = None) -> EpisodeWeighted:
    """Estimate the return of the walk's policy; `spans` [H] is the range of the rewards of each decision."""
    acts, seen = walk.action != ENDED, _stands_for(walk)
    factors, times = walk.discount ** np.arange(len(spans)), walk.weight
    weight = np.cumprod(_ratios(walk, acts), axis=0) * seen  # [H, n]
    total, squares = ((times * each).sum(axis=1) for each in (weight, weight**2))
    effective = np.where(squares > 0, total**2 / np.where(squares > 0, squares, 1.0), 0.0)
    share = weight / np.where(total > 0, total, 1.0)[:, None]  # h
    reward = walk.reward * factors[: len(weight), None]
    mean = (times * share * reward).sum(axis=1)
    off = (share * (reward - mean[:, None]) / np.maximum(1 - share, LEAST_LEFT_OUT)).sum(axis=0)
    after = np.full(len(spans) - len(weight), effective[-1])  # decisions after all episodes have ended
    one_more = float(np.sum(factors * spans / (np.concatenate([effective, after]) + 1)))
    error = math.sqrt(sum_of_squares(off, times, group)) + one_more
    last = np.count_nonzero(seen, axis=0) - 1  # the last decision that was observed
    matched = float(np.average(weight[last, np.arange(weight.shape[1])] > 0, weights=times))
    return EpisodeWeighted(Estimate(float(mean.sum()), error), float(effective[-1]), float(effective.min()), matched)


def _ratios(walk: HeldOutWalk, acts: Mask) -> Float:
    """Return the importance ratios ρ [H, n]; 1 after the end, and 0 if the behaviour never takes the action.

    Unknown propensities are the frequencies of actions in each place.
    """
    size = walk.n_actions
    mu = walk.mu
    if mu is None:
        code = walk.place * size + np.maximum(walk.action, 0)
        taken = np.bincount(code[acts], np.broadcast_to(walk.weight, acts.shape)[acts], len(walk.target[0]) * size)
        visits = taken.reshape(-1, size).sum(axis=1)
        mu = taken[code] / np.maximum(visits[walk.place], 1)
    rows = zip(walk.target, walk.place, walk.action, strict=True)
    target = np.array([chances[place, action] for chances, place, action in rows])
    return np.where(acts, np.where(mu > 0, target / np.where(mu > 0, mu, 1.0), 0.0), 1.0)


def _stands_for(walk: HeldOutWalk) -> Float:
    """Return [H, n], for how many episodes each stands at a decision: for itself and those that were cut off before.

    An episode that ends before it is cut off is always observed to its end, so that ends would count too much. The
    inverse of the share that is not cut off, given the step, corrects this (inverse probability of censoring).
    """
    acts = walk.action != ENDED
    if walk.cut is None:
        return np.ones(acts.shape)
    at_risk = np.maximum((acts * walk.weight).sum(axis=1), 1)
    goes_on = 1 - (walk.cut * walk.weight).sum(axis=1) / at_risk  # [H] share that is not cut off after the decision
    left = np.concatenate([[1.0], np.cumprod(goes_on)[:-1]])  # [H] before it
    last = np.maximum(acts.sum(axis=0) - 1, 0)  # an ended episode stands for as many as at its last decision
    until = np.minimum(np.arange(len(acts))[:, None], last)
    return np.where(acts | walk.ended(), 1 / np.maximum(left, 1e-9)[until], 0.0)
