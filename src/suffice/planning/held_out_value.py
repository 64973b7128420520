"""Estimate the return of a plan from episodes that neither the plan nor its automaton was made from.

The episodes are walked along the automaton. With the frequencies of what followed each *cell* (a node and an action),
backward induction gives the value of the plan, and forward recursion the probability d of each cell under the plan. The
estimate is linear in what an episode shows, to first order: a visit of cell c with reward r and next node y adds

    d(c) / n_c · (r + V(y) − Q(c))

to it, its *influence*. The variance of the estimate is the sum of the squared influences of independent episodes, and
of one more visit of each cell that is half of the possible range away, because a few visits that happen to agree prove
little. What the training episodes promise of the plan never counts: the plan was chosen for it, so it is too high.
Where held-out episodes never took the plan's action, the value of the logged behaviour counts instead.

Nodes are the states of the automaton or, to notice merges that matter for the value, *refinements* of them by what came
before: the edge that led to the state, the last two edges, the first observation, or the whole history. A refined cell
has one more visit, worth what the cell without refinement is worth. If the
automaton is right, all of them have the same expectation. If it is wrong, refined nodes show part of the error, and
their larger variance the rest. In a stationary automaton nodes are the same at every step, and so are the frequencies,
except at the last step, where the log is cut.

The same refinements give a test of the automaton (`lack_of_fit`). Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from suffice.automata.rdp import BEHAVE, RDP
from suffice.automata.state_tracker import StateTracker
from suffice.data.alphabet import PAD, Value
from suffice.data.episodes import Episodes, known_outcomes, observed_decisions
from suffice.evidence.estimates import sum_of_squares
from suffice.kernels.array_types import Float, Int64, Mask, UInt64
from suffice.planning.backward_induction import behaviour_values
from suffice.planning.contingency import distinct, excess_of_tables
from suffice.planning.plan import Plan

HISTORY = "history"
ENDED = -1  # action after the end of an episode, and the node that it leads to
CUT = -2  # the node after the last decision of an episode that was cut off: it goes on, but where is not known


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
    """

    def __init__(self, rdp: RDP, plan: Plan, episodes: Episodes, spans: Float, discount: float = 1.0) -> None:
        self._walk = _walk(rdp, plan, episodes, discount)
        self._left = _remaining(spans, discount)
        self._base = _Recursion(self._walk, _states(self._walk), self._left)

    def value(self, refinement: str | None = None) -> HeldOutValue:
        """Estimate the return of the plan, with nodes refined by one of `REFINEMENTS`."""
        if refinement is None:
            return self._base.estimate()
        if refinement == HISTORY:  # it occurs at one decision only, so that decisions share no nodes
            nodes, walk = self._base.nodes.among(REFINEMENTS[HISTORY](self._walk)), replace(self._walk, pooled=False)
        else:
            nodes, walk = self._refined(refinement), self._walk
        return _Recursion(walk, nodes, self._left, self._base).estimate()

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
        place, rows = other._walk.place, len(self._walk.place)
        missing = max(rows - len(place), 0)  # decisions after all episodes have ended
        extra = np.vstack([place[:rows], np.zeros((missing, place.shape[1]), np.int64)])
        return _Recursion(self._walk, self._base.nodes.divide(extra), self._left, self._base).estimate()

    def fit(self, refinement: str, tested: Mask | None = None) -> tuple[float, float]:
        """Return the statistic of the lack-of-fit test, less its expectation, and its variance (`lack_of_fit`)."""
        return lack_of_fit(self._walk, self._base.nodes, self._refined(refinement), tested)

    def _refined(self, refinement: str) -> _Nodes:
        return self._base.nodes.divide(REFINEMENTS[refinement](self._walk))


@dataclass(frozen=True, slots=True, eq=False)
class _Walk:
    """Held-out episodes along an automaton; row t of [H, n] is the t-th decision, counted from 0."""

    place: Int64  # [H, n] place before each decision; those of a layer are numbered one after the other
    symbol: Int64  # [H, n] symbol that led there
    action: Int64  # [H, n] number of the action; A if the automaton does not have it, ENDED if nothing is to count
    cut: Mask | None  # [H, n] whether the episode was cut off after the decision; None: no episode was
    over: Mask | None  # [H, n] whether the episode has ended before the decision; None: where nothing is to count
    reward: Float  # [H, n]
    weight: Float  # [n]
    target: list[Float]  # [H] tables [P, A + 1] of the plan's action probabilities
    prior: list[Float]  # [H] tables [P] of the values of places under the logged behaviour, from the training episodes
    pooled: bool  # whether all decisions share their nodes, as in a stationary automaton
    discount: float = 1.0

    def ended(self) -> Mask:
        """Return [H, n], whether the episode has ended before the decision."""
        return np.asarray(self.action == ENDED if self.over is None else self.over)


def _remaining(spans: Float, discount: float) -> Float:
    """Return [H], the range of the return from each decision on."""
    if discount == 1.0:
        return np.cumsum(spans[::-1])[::-1]
    left, later = np.zeros(len(spans)), 0.0
    for t in range(len(spans) - 1, -1, -1):
        left[t] = later = spans[t] + discount * later
    return left


def _walk(rdp: RDP, plan: Plan, episodes: Episodes, discount: float) -> _Walk:
    word, codes = episodes.word, episodes.letters[:, 0]
    known: dict[Value | None, int] = {action: number for number, action in enumerate(rdp.alphabet.actions)}
    numbers = np.array([known.get(episodes.alphabet.action(code), len(known)) for code in codes.tolist()])
    tracker = StateTracker.of(rdp)
    order = np.argsort(np.concatenate([rdp.layer_of(), np.arange(len(rdp.layers))]), kind="stable")
    target, prior = (_stationary_plan if rdp.stationary else _layered_plan)(rdp, plan, tracker, order, discount)
    action: Int64 = np.where(codes > PAD, numbers, ENDED)[word[1:]]
    over: Mask | None = None
    cut: Mask | None = None
    if episodes.length is not None:  # what was not observed is not counted, and is not an end
        seen = observed_decisions(episodes)
        cut, over = seen & ~known_outcomes(episodes), (action == ENDED) & seen
        action = np.where(seen, action, ENDED)
    # With layers, nothing follows once all episodes have ended; one such decision marks that the last one is not cut.
    lasts = len(action) if rdp.stationary else min(len(action), int((action != ENDED).any(axis=1).sum()) + 1)
    return _Walk(
        place=np.argsort(order)[tracker.along(episodes)[:lasts]],
        symbol=episodes.symbols()[1][word[:lasts]].astype(np.int64),
        action=action[:lasts],
        cut=None if cut is None else cut[:lasts],
        over=None if over is None else over[:lasts],
        reward=np.array(episodes.alphabet.rewards)[episodes.letters[:, 2]][word[1 : lasts + 1]],
        weight=np.ones(episodes.n) if episodes.weight is None else episodes.weight.astype(float),
        target=target[:lasts],
        prior=prior[:lasts],
        pooled=rdp.stationary,
        discount=discount,
    )


def _layered_plan(
    rdp: RDP, plan: Plan, tracker: StateTracker, order: Int64, discount: float
) -> tuple[list[Float], list[Float]]:
    """Return the plan's action probabilities and values by place, which are the same tables for all decisions."""
    own = behaviour_values(rdp, discount)
    values = np.concatenate([own, _mean_by_layer(rdp, own)])[order]
    return [_frequencies(tracker.choices(plan.actions))[order]] * rdp.horizon, [values] * rdp.horizon


def _stationary_plan(
    rdp: RDP, plan: Plan, tracker: StateTracker, order: Int64, discount: float
) -> tuple[list[Float], list[Float]]:
    """Return the plan's action probabilities and values by place, for each decision; the plan is one on layers."""
    layered, state = rdp.unroll()
    layer, inner = layered.layer_of(), np.arange(layered.n_states - 1)
    own = behaviour_values(layered, discount)
    usual, mean = _frequencies(tracker.choices(np.full(rdp.n_states, BEHAVE))), _mean_by_layer(layered, own)
    target, prior = [], []
    for t in range(1, rdp.horizon + 1):
        copies = inner[layer[inner] == t]
        acting = copies[plan.actions[copies] != BEHAVE]
        chances, values = usual.copy(), np.full(len(usual), mean[t])
        chances[state[acting]] = 0.0
        chances[state[acting], plan.actions[acting]] = 1.0
        values[state[copies]] = own[copies]
        target.append(chances[order])
        prior.append(values[order])
    return target, prior


def _mean_by_layer(rdp: RDP, values: Float) -> Float:
    """Return the mean value of each layer over the training episodes, for histories that have left the automaton."""
    layer, visits = rdp.layer_of(), rdp.counts.sum(axis=1)
    return np.asarray(np.bincount(layer, visits * values) / np.maximum(np.bincount(layer, visits), 1))


def _frequencies(choices: Int64) -> Float:
    """Return the probabilities [P, A + 1] of choices: uniform where nothing is known, 0 for unknown actions."""
    total = choices.sum(axis=1, keepdims=True)
    chances = np.where(total > 0, choices / np.maximum(total, 1), 1 / choices.shape[1])
    return np.pad(chances, ((0, 0), (0, 1)))


@dataclass(frozen=True, slots=True, eq=False)
class _Nodes:
    """Nodes of the decisions; those of a layer are numbered one after the other."""

    node: Int64  # [H, n] node before each decision
    place: Int64  # [U] place of each node
    base: Int64  # [U] the same node without refinement

    def divide(self, extra: Int64) -> _Nodes:
        """Divide nodes by a further number [H, n]."""
        size = int(extra.max()) + 1
        keys, node = distinct(self.node * size + extra)
        return _Nodes(node, self.place[keys // size], keys // size)

    def among(self, larger: Int64) -> _Nodes:
        """Divide nodes by a further number [H, n] that is larger at later decisions, and number them in this order."""
        size = len(self.place)
        keys, node = distinct(larger * size + self.node)
        return _Nodes(node, self.place[keys % size], keys % size)


def _states(walk: _Walk) -> _Nodes:
    """Make one node for each place that occurs."""
    places, node = distinct(walk.place)
    return _Nodes(node, places, np.arange(len(places)))


def _edges(walk: _Walk, before: Int64) -> Int64:
    """Number the pairs [H, n] of what was before the previous decision and the symbol that followed it."""
    shifted = np.concatenate([np.zeros_like(before[:1]), before[:-1] + 1])
    return distinct(shifted * (int(walk.symbol.max()) + 1) + walk.symbol)[1]


def _histories(walk: _Walk) -> Int64:
    """Number the histories [H, n]."""
    found, size, used = np.empty_like(walk.symbol), int(walk.symbol.max()) + 1, 0
    history = np.zeros_like(walk.symbol[0])
    for t, symbol in enumerate(walk.symbol):
        keys, history = distinct(history * size + symbol)
        found[t] = history + used
        used += len(keys)
    return found


REFINEMENTS: dict[str, Callable[[_Walk], Int64]] = {  # what came before each decision, as numbers [H, n]
    "edge": lambda walk: _edges(walk, walk.place),
    "two edges": lambda walk: _edges(walk, _edges(walk, walk.place)),
    "first observation": lambda walk: np.broadcast_to(walk.symbol[0], walk.symbol.shape),
    "step": lambda walk: np.broadcast_to(np.arange(len(walk.symbol))[:, None], walk.symbol.shape),
    HISTORY: _histories,
}


def lack_of_fit(walk: _Walk, states: _Nodes, refined: _Nodes, tested: Mask | None = None) -> tuple[float, float]:
    """Test whether what came before a state predicts what follows an action there.

    For each cell, the table of refined nodes against outcomes (reward and next node) is tested (`excess_of_tables`).
    The last decision is left out, because nothing is observed after it. Only episodes `tested` [n] count, once each.

    Returns
    -------
    tuple of float
        The sum of X² over all cells, less its mean, and its variance.
    """
    last, actions = len(walk.action) - 1, walk.target[0].shape[1]
    live = walk.action[:last] != ENDED
    if walk.cut is not None:
        live &= ~walk.cut[:last]
    if tested is not None:
        live &= tested
    if not live.any():
        return 0.0, 0.0
    action = walk.action[:last][live]
    times = np.broadcast_to(walk.weight if tested is None else tested.astype(float), live.shape)[live]
    after = np.where(walk.ended()[1:], 0, states.node[1:] + 1)[live]
    rewards = np.unique(walk.reward)
    return excess_of_tables(
        states.node[:last][live] * actions + action,
        refined.node[:last][live] * actions + action,
        after * len(rewards) + np.searchsorted(rewards, walk.reward[:last][live]),
        times,
    )


class _Cells:
    """Pairs of a node and an action, with what followed them: of one decision, or of all that share their nodes."""

    def __init__(self, node: Int64, action: Int64, reward: Float, weight: Float, after: Int64, actions: int) -> None:
        """Count [T, n] decisions; `after` are the next nodes."""
        self.live = action != ENDED  # [T, n]
        self.key, self.cell = distinct(node[self.live] * actions + action[self.live])
        self.node, self.action = np.divmod(self.key, actions)  # [C]
        self._reward, times = reward, np.broadcast_to(weight, action.shape)[self.live]
        size = len(self.key)
        self.n = np.bincount(self.cell, times, size)  # [C] visits
        self.rewards = np.bincount(self.cell, times * reward[self.live], size)  # [C]
        width = int(after.max(initial=ENDED)) + 3
        pairs, self.arrow = distinct(self.cell * width + after[self.live] + 2)
        self.source, self.after = np.divmod(pairs, width) - np.array([[0], [2]])  # [K] cells with the next node
        self.times = np.bincount(self.arrow, times, len(self.source))  # [K]
        self._goes_on = self.after >= 0  # [K]
        self._cut = bool((self.after == CUT).any())
        if self._cut:
            went, all_went = (
                np.bincount(self.source, self.times * mask, size) for mask in (self._goes_on, self.after != ENDED)
            )
            self._more = np.where(went > 0, all_went / np.maximum(went, 1e-300), 1.0)  # [C] that go on per known one
            self._went = went

    def begin_sums(self) -> None:
        """Begin the sums over decisions that `_Recursion` makes in its forward pass."""
        self.share, self.expected, self.rare = (np.zeros(len(self.n)) for _ in range(3))  # [C]
        self.later = np.zeros(len(self.source))  # [K]

    def end_sums(self) -> tuple[Float, float]:
        """Return [n], the influence of the decisions of each episode, and the variance of rarely visited cells."""
        found = np.zeros(self.live.shape)
        gained = self.share[self.cell] * self._reward[self.live]
        found[self.live] = gained + self.later[self.arrow] - self.expected[self.cell]
        rare = float((self.rare**2).sum())
        del self.share, self.expected, self.rare, self.later  # to save memory
        return np.asarray(found.sum(axis=0)), rare

    def gains(self, values: Float) -> Float:
        """Return [C], the sum of reward and next value over the visits of each cell."""
        later = np.bincount(self.source, self.times * self.following(values), len(self.n))
        return np.asarray(self.rewards + later)

    def following(self, values: Float) -> Float:
        """Return [K], the values of the nodes that followed, 0 after the end.

        Where episodes were cut off, they go on like the others of the cell: each of those counts for several, and the
        value of a cut-off visit is their mean.
        """
        found = np.where(self._goes_on, values[np.maximum(self.after, 0)], 0.0)
        if not self._cut:
            return found
        mean = np.bincount(self.source, self.times * found, len(self.n)) / np.maximum(self._went, 1e-300)
        mean = np.where(self._went > 0, mean, 0.0)[self.source]
        more = self._more[self.source]
        return np.where(self._goes_on, mean + more * (found - mean), np.where(self.after == CUT, mean, 0.0))

    def moved(self, flow: Float) -> tuple[Int64, Float]:
        """Return the nodes that episodes go on to, and the probability of each, given that of the cells [C]."""
        share = (flow / self.n)[self.source] * self.times
        if self._cut:
            share = share * self._more[self.source]
        return self.after[self._goes_on], share[self._goes_on]


class _Recursion:
    """Values of nodes under a plan, by backward induction, and influences, by forward recursion."""

    def __init__(self, walk: _Walk, nodes: _Nodes, left: Float, base: _Recursion | None = None) -> None:
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

    def _count(self, node: Int64) -> list[_Cells]:
        """Count the cells of each decision, given nodes [H, n] that are numbered from 0 in each layer.

        A stationary automaton has two tables, one for the last decision.
        """
        walk = self._walk
        ends = np.vstack([walk.ended()[1:], np.ones((1, node.shape[1]), bool)])
        after = np.where(ends, ENDED, np.vstack([node[1:], node[:1]]))
        if walk.cut is not None:
            after[walk.cut] = CUT
        actions = walk.target[0].shape[1]

        def cells(rows: slice) -> _Cells:
            return _Cells(node[rows], walk.action[rows], walk.reward[rows], walk.weight, after[rows], actions)

        last = len(node) - 1
        if walk.pooled:
            return [cells(slice(0, last))] * last + [cells(slice(last, None))]
        return [cells(slice(t, t + 1)) for t in range(last + 1)]

    def _backward(self, t: int, after: Float) -> Float:
        """Compute the values of the cells and nodes of a decision from those of the next."""
        cells, here = self._cells[t], self._range[t]
        place = self.nodes.place[here]
        gains, visits = cells.gains(self._walk.discount * after), cells.n
        if self._base is None:
            prior = self._walk.prior[t][place]
        else:  # one more visit, worth the same cell without refinement
            prior, prior_of_cell = self._base.look_up(t, self.nodes.base[here], cells)
            gains, visits = gains + prior_of_cell, visits + 1
        chance = self._walk.target[t][place[cells.node], cells.action]
        q = gains / visits
        known = np.bincount(cells.node, chance, len(place))
        v = np.bincount(cells.node, chance * q, len(place)) + (1 - known) * prior
        self._chance.append(chance)
        self._q.append(q)
        self._v.append(v)
        return v

    def look_up(self, t: int, node: Int64, cells: _Cells) -> tuple[Float, Float]:
        """Return the values of nodes [U], given as in `_Nodes.base`, and of cells [C] on refined nodes."""
        own, node = self._cells[t], node - self._range[t].start
        actions = self._walk.target[t].shape[1]
        return self._v[t][node], self._q[t][np.searchsorted(own.key, node[cells.node] * actions + cells.action)]

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
            per_visit = flow / (cells.n + (self._base is not None))
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
