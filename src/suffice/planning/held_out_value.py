"""Estimate the return of a plan from episodes that neither the plan nor its automaton was made from.

The episodes are walked along the automaton. With the frequencies of what followed each *cell* (a node and an action),
backward induction gives the value of the plan, and forward recursion the probability d of each cell under the plan. The
estimate is linear in what an episode shows, to first order: a visit of cell c with reward r and next node y adds

    d(c) / n_c · (r + V(y) − Q(c))

to it, its *influence*. The variance of the estimate is the sum of the squared influences of independent episodes, and
of one more visit of each cell that is half of the possible range away, because a few visits that happen to agree prove
little. What the training episodes promise of the plan never counts: the plan was chosen for it, so it is too high.
Where held-out episodes never took the plan's action, or were all cut off then, the value of the logged behaviour counts
instead.

If the probabilities μ of the logged actions are known, visits count 1/μ times (`held_out_cells`). This is the doubly
robust estimate with marginalised weights, normalised within every cell (Xie, Ma and Wang 2019; Kallus and Uehara 2020).

Nodes are the states of the automaton or, to notice merges that matter for the value, *refinements* of them by what came
before (`held_out_nodes`). A refined cell has one more visit, worth what the cell without refinement is worth. If the
automaton is right, all of them have the same expectation. If it is wrong, refined nodes show part of the error, and
their larger variance the rest. In a stationary automaton nodes are the same at every step, and so are the frequencies,
except at the last step, where the log is cut.

The same refinements give a test of the automaton (`lack_of_fit`). Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from suffice.automata.rdp import RDP
from suffice.data.episodes import Episodes
from suffice.evidence.estimates import sum_of_squares
from suffice.kernels.array_types import Float, Int64, Mask, UInt64
from suffice.planning.held_out_cells import CUT, Cells
from suffice.planning.held_out_nodes import HISTORY, Nodes
from suffice.planning.held_out_walk import ENDED, HeldOutWalk
from suffice.planning.lack_of_fit import lack_of_fit
from suffice.planning.plan import Plan


class HeldOutValue(NamedTuple):
    """Estimated return of a plan, and how much each episode contributes to its error."""

    value: float
    influence: Float  # [n] of one episode each; with weights, of one of the episodes that it stands for
    rare: float  # variance that is added for cells with few visits

    def variance(
        self,
        weight: Int64 | None,
        less: Float | float = 0.0,
        caution: float = 1.0,
        group: UInt64 | None = None,
    ) -> float:
        """Return the variance of the estimate, or of its difference from a mean with influences `less`.

        `caution` is the factor by which the error of cells with few visits counts more. Episodes of a `group` may
        depend on each other.
        """
        return sum_of_squares(self.influence - less, weight, group) + caution**2 * self.rare


class HeldOutPlan:
    """A plan walked by held-out episodes: its value and the fit of its automaton, by refinement.

    Parameters
    ----------
    rdp
        The automaton. The plan is one on its layers: see `RDP.layered`.
    plan
        The plan.
    episodes
        Held-out episodes, with the horizon of the automaton.
    spans
        [H] difference between the largest and the smallest possible reward of each decision.
    discount
        Factor by which rewards count less per step. Default: 1.
    propensity
        Probabilities [H+1, n] with which the behaviour policy took the logged actions. Default: not known.
    """

    def __init__(
        self,
        rdp: RDP,
        plan: Plan,
        episodes: Episodes,
        spans: Float,
        discount: float = 1.0,
        propensity: Float | None = None,
    ) -> None:
        self.walk = HeldOutWalk.of(rdp, plan, episodes, discount, propensity)
        self._left = _remaining(spans, discount)
        self._base = _Recursion(self.walk, Nodes.of(self.walk), self._left)

    def value(self, refinement: str | None = None) -> HeldOutValue:
        """Estimate the return of the plan, with nodes refined by one of `REFINEMENTS`."""
        if refinement is None:
            return self._base.estimate()
        # A history occurs at one decision only, so that decisions share no nodes.
        walk = replace(self.walk, pooled=False) if refinement == HISTORY else self.walk
        return _Recursion(walk, self._base.nodes.refined(walk, refinement), self._left, self._base).estimate()

    def difference(self, other: HeldOutPlan, weight: Int64 | None, group: UInt64 | None = None) -> tuple[float, float]:
        """Return by how much this plan returns more than another one on the same episodes, and the variance.

        The nodes distinguish whatever one of the two automata distinguishes.
        """
        if other is self:
            return 0.0, 0.0
        here, there = self.beside(other), other.beside(self)
        return here.value - there.value, here.variance(weight, there.influence, group=group)

    def beside(self, other: HeldOutPlan) -> HeldOutValue:
        """Estimate the return of the plan, with nodes divided by the places of another automaton."""
        place, rows = other.walk.place, len(self.walk.place)
        missing = max(rows - len(place), 0)  # decisions after all episodes have ended
        extra = np.vstack([place[:rows], np.zeros((missing, place.shape[1]), np.int64)])
        return _Recursion(self.walk, self._base.nodes.divide(extra), self._left, self._base).estimate()

    def fit(self, refinement: str, tested: Mask | None = None) -> tuple[float, float]:
        """Return the statistic of the lack-of-fit test, less its expectation, and its variance (`lack_of_fit`)."""
        states = self._base.nodes
        return lack_of_fit(self.walk, states, states.refined(self.walk, refinement), tested)


def _remaining(spans: Float, discount: float) -> Float:
    """Return [H], the range of the return from each decision on."""
    if discount == 1.0:
        return np.cumsum(spans[::-1])[::-1]
    left, later = np.zeros(len(spans)), 0.0
    for t in range(len(spans) - 1, -1, -1):
        left[t] = later = spans[t] + discount * later
    return left


class _Recursion:
    """Values of nodes under a plan, by backward induction, and influences, by forward recursion."""

    def __init__(self, walk: HeldOutWalk, nodes: Nodes, left: Float, base: _Recursion | None = None) -> None:
        """Compute the values; `base` is the recursion without refinement, which rarely visited cells lean on."""
        self.nodes, self._walk, self._left, self._base = nodes, walk, left, base
        horizon = len(walk.action)
        low, high = nodes.node.min(axis=1), nodes.node.max(axis=1) + 1
        if walk.pooled:
            low, high = np.zeros_like(low), np.full_like(high, len(nodes.place))
        self._range = [slice(*pair) for pair in zip(low.tolist(), high.tolist(), strict=True)]  # [H] nodes
        self._first = nodes.node[0] - low[0]  # [n]
        self._cells = self._count(nodes.node - low[:, None])
        self._chance: list[Float] = []  # [H] of [C] probability of each cell's action under the plan
        self._q: list[Float] = []  # [H] of [C]
        self._v: list[Float] = []  # [H] of [U]
        after = np.zeros(1)
        for t in range(horizon - 1, -1, -1):
            after = self._backward(t, after)
        for values in (self._chance, self._q, self._v):
            values.reverse()

    def _count(self, node: Int64) -> list[Cells]:
        """Count the cells of each decision, given nodes [H, n] that are numbered from 0 in each layer.

        A stationary automaton has two tables, one for the last decision.
        """
        walk = self._walk
        ends = np.vstack([walk.ended()[1:], np.ones((1, node.shape[1]), bool)])
        after = np.where(ends, ENDED, np.vstack([node[1:], node[:1]]))
        if walk.cut is not None:
            after[walk.cut] = CUT
        last = len(node) - 1
        blocks = [slice(0, last), slice(last, None)] if walk.pooled else [slice(t, t + 1) for t in range(last + 1)]
        found = [Cells(walk, rows, node[rows], after[rows]) for rows in blocks]
        return [found[0]] * last + [found[1]] if walk.pooled else found

    def _backward(self, t: int, after: Float) -> Float:
        """Compute the values of the cells and nodes of a decision from those of the next."""
        cells, here = self._cells[t], self._range[t]
        place = self.nodes.place[here]
        q = cells.means(self._walk.discount * after)
        if self._base is None:
            prior = self._walk.prior[t][place]
        else:  # one more visit, worth the same cell without refinement
            prior, prior_of_cell = self._base.look_up(t, self.nodes.base[here], cells)
            q = (cells.n * q + prior_of_cell) / (cells.n + 1)
        chance = np.where(cells.known, self._walk.target[t][place[cells.node], cells.action], 0.0)
        known = np.bincount(cells.node, chance, len(place))
        v = np.bincount(cells.node, chance * q, len(place)) + (1 - known) * prior
        self._chance.append(chance)
        self._q.append(q)
        self._v.append(v)
        return v

    def look_up(self, t: int, node: Int64, cells: Cells) -> tuple[Float, Float]:
        """Return the values of nodes [U], given as in `Nodes.base`, and of cells [C] on refined nodes."""
        own, node = self._cells[t], node - self._range[t].start
        key = node[cells.node] * self._walk.n_actions + cells.action
        return self._v[t][node], self._q[t][np.searchsorted(own.key, key)]

    def estimate(self) -> HeldOutValue:
        """Return the value of the plan, and the influence of each episode."""
        weight, total = self._walk.weight, self._walk.weight.sum()
        first = self._v[0][self._first]
        value = float((weight * first).sum() / total)
        influence, rare = self._forward(np.bincount(self._first, weight, len(self._v[0])) / total)
        return HeldOutValue(value, (first - value) / total + influence, rare)

    def _forward(self, share: Float) -> tuple[Float, float]:
        """Add up the plan's use of each cell; return influences [n], and the variance of rare and unseen cells."""
        influence, rare, missing, horizon = np.zeros(len(self._walk.weight)), 0.0, 0.0, len(self._cells)
        for t, (cells, chance, q) in enumerate(zip(self._cells, self._chance, self._q, strict=True)):
            if t == 0 or self._cells[t - 1] is not cells:
                cells.begin_sums()
            flow = share[cells.node] * chance  # [C] probability of the cell under the plan
            unknown = share - np.bincount(cells.node, flow, len(share))
            missing += float(((unknown * self._left[t] / 2) ** 2).sum())
            per_visit = cells.per_visit(flow, self._base is not None)
            cells.share += per_visit
            cells.expected += per_visit * q
            cells.rare += flow / (cells.n + 1) * self._left[t] / 2
            if t + 1 < horizon:
                discount = self._walk.discount
                cells.later += discount * per_visit[cells.source] * cells.following(self._v[t + 1])
                arrived = np.bincount(*cells.moved(flow), len(self._v[t + 1]))
                share = np.asarray(discount * arrived, float)
            if t + 1 == horizon or self._cells[t + 1] is not cells:
                found, variance = cells.end_sums()
                influence, rare = influence + found, rare + variance
        return influence, missing + rare
