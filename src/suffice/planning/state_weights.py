"""Off-policy estimation with importance weights of states instead of whole episodes.

The weight of an episode, ρ_1⋯ρ_t, becomes useless after a few steps. Here a *node* stands for all histories that are
valued together. By induction over the steps, with sums over the held-out episodes i that took action a in node u, and
ω_i = 1/μ_i(a):

    Q(u, a) = (n · Σ ω_i (r_i + V(u'_i)) / Σ ω_i + Q_0(u, a)) / (n + 1),    n = (Σ ω_i)² / Σ ω_i²
    V(u)    = Σ_a π(a | u) Q(u, a)

Q_0, a prior value, counts as one visit. The same sums, forwards, give the probability d(u) that the policy visits a
node, so that episode i has the weight w_i = d(u) π(a | u) ω_i / Σ ω_i. This is the doubly robust estimate with
marginalised weights that are normalised within every pair of node and action: where the episodes have such pairs, its
corrections replace Q_0. It is a mean of logged rewards and prior values, so it stays within their range.

There are three kinds of nodes, each finer than the one before, whose values are its prior: states (with the values of
the training episodes as prior), *candidates* (states with the edge that led to them) and states with the last two
edges. The estimate is that of the candidates. Where the automaton is wrong, finer nodes have other values, so the
difference between the coarsest and the finest estimate is part of the error.

The rest of the error is that of the influence function, φ_i = V(u_1)/N + Σ_t w_i (r_i + V(u') − Q(u, a)). It holds for
known and for estimated μ, because factors of ω that are the same within a pair cancel. One more visit of each pair,
half the range of the remaining return away, is added to the variance: a few visits that agree prove little.

References: Xie, Ma and Wang (2019), *Towards optimal off-policy evaluation for reinforcement learning with marginalized
importance sampling*; Kallus and Uehara (2020), *Double reinforcement learning for efficient off-policy evaluation in
Markov decision processes*. Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from suffice.evidence.estimates import Estimate, sum_of_squares
from suffice.kernels.array_types import Float, Int64, Mask
from suffice.planning.held_out_walk import HeldOutWalk

TINY = 1e-300  # replaces 0 as a divisor


class StateWeighted(NamedTuple):
    """Estimates of a policy's return for the three kinds of nodes."""

    by_state: Estimate
    by_candidate: Estimate
    by_two_edges: Estimate

    @property
    def misfit(self) -> float:
        """The difference between the coarsest and the finest estimate, which is large where the automaton is wrong."""
        return self.by_state.value - self.by_two_edges.value


class _Nodes(NamedTuple):
    """The nodes of one step."""

    of_episode: Int64  # [N]
    place: Int64  # [U] their places in the state tracker
    ended: Mask  # [U] whether the episodes have ended

    @classmethod
    def of(cls, key: Int64, place: Int64, acts: Mask) -> _Nodes:
        """Number the distinct keys [N] of the episodes."""
        _, first, of_episode = np.unique(key, return_index=True, return_inverse=True)
        return cls(of_episode, place[first], ~acts[first])

    def above(self, coarse: _Nodes) -> Int64:
        """Return [U], the coarser node that each node is part of."""
        part_of = np.zeros(len(self.place), np.int64)
        part_of[self.of_episode] = coarse.of_episode
        return part_of


class _Pairs(NamedTuple):
    """The pairs of node and action of one step."""

    of_episode: Int64  # [N] node and action as one number
    omega: Float  # [N] inverse probability of the action; 0 after the end, or if it is not known what followed
    total: Float  # [U · A] sum of ω
    n: Float  # [U · A] effective number of visits
    gain: Float  # [N] reward and value of the next node
    values: Float  # [U, A] Q


def state_weighted(walk: HeldOutWalk, values: Float, widths: Float) -> StateWeighted:
    """Estimate the return of the walk's policy.

    `values` [P, A] are those of the training episodes, `widths` [H] is the range of the rewards of each decision.
    """
    left = np.cumsum(widths[::-1])[::-1]
    places = walk.place.astype(np.int64)
    nodes = [_Nodes.of(place * 2 + acts, place, acts) for place, acts in zip(places, walk.acts, strict=True)]
    prior = [values[here.place] for here in nodes]
    found = []
    for back in range(3):
        if back:
            finer = [_finer(walk, here, t, back) for t, here in enumerate(nodes)]
            prior = [q[fine.above(here)] for q, fine, here in zip(prior, finer, nodes, strict=True)]
            nodes = finer
        estimate, prior = _estimate(walk, nodes, prior, left)
        found.append(estimate)
    return StateWeighted(*found)


def _finer(walk: HeldOutWalk, here: _Nodes, t: int, back: int) -> _Nodes:
    """Divide the nodes before decision t + 1 by the edge that was taken `back` steps before."""
    if t + 1 < back:
        return here
    edge = walk.edge[t + 1 - back]
    key = here.of_episode * (int(edge.max()) + 1) + edge
    return _Nodes.of(key, here.place[here.of_episode], ~here.ended[here.of_episode])


def _estimate(walk: HeldOutWalk, nodes: list[_Nodes], prior: list[Float], left: Float) -> tuple[Estimate, list[Float]]:
    """Return the estimate for some nodes, and their values Q [U, A] at each step."""
    pairs, value = _backward(walk, nodes, prior)
    n = float(walk.times.sum())
    mean = float((walk.times * value).sum()) / n
    influence, extra = (value - mean) / n, 0.0
    visited = _sums(nodes[0].of_episode, walk.times / n, len(nodes[0].place))  # d
    for t, (here, pair) in enumerate(zip(nodes, pairs, strict=True)):
        flow = np.where(here.ended[:, None], 0.0, visited[:, None] * walk.target[here.place]).reshape(-1)
        weight = (flow / np.maximum(pair.total, TINY))[pair.of_episode] * pair.omega
        own_share = (pair.n / (pair.n + 1))[pair.of_episode]
        influence += weight * own_share * (pair.gain - pair.values.reshape(-1)[pair.of_episode])
        extra += float(np.sum((flow * left[t] / 2 / (pair.n + 1)) ** 2))
        if t + 1 < len(nodes):
            visited = _sums(nodes[t + 1].of_episode, walk.times * weight, len(nodes[t + 1].place))
    error = math.sqrt(sum_of_squares(influence, walk.times, walk.group) + extra)
    return Estimate(mean, error), [pair.values for pair in pairs]


def _backward(walk: HeldOutWalk, nodes: list[_Nodes], prior: list[Float]) -> tuple[list[_Pairs], Float]:
    """Compute Q from the last step to the first; return it with the value [N] of each episode's first node."""
    pairs, later, n_actions = [], np.zeros(len(walk.times)), walk.target.shape[1]
    for t in range(len(nodes) - 1, -1, -1):
        here = nodes[t]
        of_episode, size = here.of_episode * n_actions + walk.action[t], len(here.place) * n_actions
        omega, gain = np.where(walk.acts[t], walk.known[t] / walk.mu[t], 0.0), walk.reward[t] + later
        total, squares, sums = (_sums(of_episode, walk.times * each, size) for each in (omega, omega**2, omega * gain))
        n, mean = total**2 / np.maximum(squares, TINY), sums / np.maximum(total, TINY)
        values = ((n * mean + prior[t].reshape(-1)) / (n + 1)).reshape(-1, n_actions)
        pairs.append(_Pairs(of_episode, omega, total, n, gain, values))
        value = np.where(here.ended, 0.0, (walk.target[here.place] * values).sum(axis=1))
        later = value[here.of_episode]
    return pairs[::-1], later


def _sums(group: Int64, numbers: Float | Int64, size: int) -> Float:
    """Return the sums of numbers in each of `size` groups."""
    return np.asarray(np.bincount(group, numbers, size), float)
