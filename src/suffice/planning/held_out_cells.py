"""Counts of what followed each cell, a node with an action, in held-out episodes.

If the probabilities μ of the logged actions are known, a visit counts 1/μ times, so that what the behaviour policy knew
beyond the node does not matter. The number of visits n is then the effective one, (Σ 1/μ)²/Σ 1/μ².
"""

from __future__ import annotations

import numpy as np

from suffice.kernels.array_types import Float, Int64
from suffice.kernels.contingency import distinct
from suffice.planning.held_out_walk import ENDED, HeldOutWalk

CUT = -2  # the node after the last decision of an episode that was cut off: it goes on, but where is not known
TINY = 1e-300  # replaces 0 as a divisor


class Cells:
    """Pairs of a node and an action, with what followed them: of one decision, or of all that share their nodes."""

    def __init__(self, walk: HeldOutWalk, rows: slice, node: Int64, after: Int64) -> None:
        """Count some decisions of a walk, with their nodes [T, n] and those that follow."""
        action, actions = walk.action[rows], walk.n_actions
        self.live = action != ENDED  # [T, n]
        self.key, self.cell = distinct(node[self.live] * actions + action[self.live])
        self.node, self.action = np.divmod(self.key, actions)  # [C]
        self._reward = walk.reward[rows]
        times, size = np.broadcast_to(walk.weight, action.shape)[self.live], len(self.key)
        self.n = np.asarray(np.bincount(self.cell, times, size), float)  # [C] visits, or their effective number
        self.inverse = walk.inverse_chances(rows, self.live)  # [V] of all visits
        self.total = self.n  # [C] Σ 1/μ, or visits
        if self.inverse is not None:
            squares = np.bincount(self.cell, times * self.inverse**2, size)
            times = times * self.inverse
            self.total = np.asarray(np.bincount(self.cell, times, size), float)
            self.n = self.total**2 / np.maximum(squares, TINY)
        self.rewards = np.bincount(self.cell, times * self._reward[self.live], size)  # [C]
        width = int(after.max(initial=ENDED)) + 3
        pairs, self.arrow = distinct(self.cell * width + after[self.live] + 2)
        self.source, self.after = np.divmod(pairs, width) - np.array([[0], [2]])  # [K] cells with the next node
        self.times = np.bincount(self.arrow, times, len(self.source))  # [K]
        self.known = self.n > 0  # [C] whether it is known what follows
        self._goes_on = self.after >= 0  # [K]
        self._cut = bool((self.after == CUT).any())
        if self._cut:
            went, all_went = (
                np.bincount(self.source, self.times * mask, size) for mask in (self._goes_on, self.after != ENDED)
            )
            self._more = np.where(went > 0, all_went / np.maximum(went, TINY), 1.0)  # [C] that go on per known one
            self._went = went
            self.known &= (went > 0) | (all_went == 0)

    def begin_sums(self) -> None:
        """Begin the sums over decisions that `_Recursion` makes in its forward pass."""
        self.share, self.expected, self.rare = (np.zeros(len(self.n)) for _ in range(3))  # [C]
        self.later = np.zeros(len(self.source))  # [K]

    def end_sums(self) -> tuple[Float, float]:
        """Return [n], the influence of the decisions of each episode, and the variance of rarely visited cells."""
        found = np.zeros(self.live.shape)
        gained = self.share[self.cell] * self._reward[self.live]
        gained += self.later[self.arrow] - self.expected[self.cell]
        found[self.live] = gained if self.inverse is None else gained * self.inverse
        rare = float((self.rare**2).sum())
        del self.share, self.expected, self.rare, self.later  # to save memory
        return np.asarray(found.sum(axis=0)), rare

    def means(self, values: Float) -> Float:
        """Return [C], the mean of reward and next value over the visits of each cell."""
        later = np.bincount(self.source, self.times * self.following(values), len(self.n))
        return np.asarray((self.rewards + later) / np.maximum(self.total, TINY))

    def following(self, values: Float) -> Float:
        """Return [K], the values of the nodes that followed, 0 after the end.

        Where episodes were cut off, they go on like the others of the cell: each of those counts for several, and the
        value of a cut-off visit is their mean.
        """
        found = np.where(self._goes_on, values[np.maximum(self.after, 0)], 0.0)
        if not self._cut:
            return found
        mean = np.bincount(self.source, self.times * found, len(self.n)) / np.maximum(self._went, TINY)
        mean = np.where(self._went > 0, mean, 0.0)[self.source]
        more = self._more[self.source]
        return np.where(self._goes_on, mean + more * (found - mean), np.where(self.after == CUT, mean, 0.0))

    def per_visit(self, flow: Float, one_more: bool) -> Float:
        """Return [C], the part of each cell's probability that a visit has; `one_more` visit has a part as well."""
        share = flow / np.maximum(self.total, TINY)
        return np.asarray(share * (self.n / (self.n + 1)) if one_more else share)

    def moved(self, flow: Float) -> tuple[Int64, Float]:
        """Return the nodes that episodes go on to, and the probability of each, given that of the cells [C]."""
        share = self.per_visit(flow, False)[self.source] * self.times
        if self._cut:
            share = share * self._more[self.source]
        return self.after[self._goes_on], share[self._goes_on]
