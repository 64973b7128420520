"""The nodes and arrows of a drawing: all states of an automaton, or the most visited ones and a summary of the others.

States that the log or the plan visits often are drawn. The other states of a column are combined into one node, which
has the visits and arrows of all of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from suffice.automata.rdp import BEHAVE, RDP
from suffice.data.alphabet import PAD
from suffice.kernels.array_types import Float, Int64
from suffice.models.model_data import ended_states
from suffice.planning.plan import Plan
from suffice.view.arrows import Arrow, arrows_of
from suffice.view.layout import Layout, arrange, columns_of

GATHERED = -1  # replaces the state of a node that combines several states
FEWEST_NODES, USUAL_NODES, MOST_ARROWS = 4, 60, 240  # limits of nodes, and of arrows that can still be followed
COLUMN_ROWS = 3  # nodes per column on average; if there are more columns than that allows, the last are combined


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """The nodes of a drawing and the arrows between them."""

    node_of: Int64  # [Q] node that shows each state
    states: Int64  # [n] state of each node, or GATHERED
    column: Int64  # [n]
    visits: Int64  # [n] number of visits in the log
    values: Float  # [n] mean value under the plan; 0 without a plan
    over: NDArray[np.bool_]  # [n] whether the episode has ended
    arrows: tuple[Arrow, ...]  # arrows between nodes

    def __len__(self) -> int:
        return len(self.states)

    def holds(self) -> Int64:
        """Return the number of states [n] that each node shows."""
        return np.bincount(self.node_of, minlength=len(self))

    def layout(self) -> Layout:
        """Arrange the nodes; nodes that combine states are at the bottom of their column."""
        pairs = np.array([(arrow.source, arrow.target) for arrow in self.arrows], np.int64).reshape(-1, 2)
        return arrange(self.column, pairs, self.states == GATHERED)


def scene_of(rdp: RDP, plan: Plan | None, most: int | None = None) -> Scene:
    """Return a scene of at most `most` nodes; by default as many as have at most MOST_ARROWS arrows."""
    if most is not None:
        return _scene(rdp, plan, most)
    most = USUAL_NODES
    while len((scene := _scene(rdp, plan, most)).arrows) > MOST_ARROWS and most > FEWEST_NODES:
        most = max(2 * min(most, rdp.n_states) // 3, FEWEST_NODES)
    return scene


def _scene(rdp: RDP, plan: Plan | None, most: int) -> Scene:
    visits = np.asarray(rdp.counts.sum(axis=1))
    column, kept = columns_of(rdp), np.ones(rdp.n_states, bool)
    if rdp.n_states > most:
        column, joined = _cut(rdp, column, most // COLUMN_ROWS)
        kept = _kept(rdp, plan, column, joined, most)
    # States that are drawn keep their order; nodes that combine states follow.
    states = np.flatnonzero(kept)
    gathered = np.unique(column[~kept])
    node_of = np.where(kept, np.cumsum(kept) - 1, len(states) + np.searchsorted(gathered, column))
    n = len(states) + len(gathered)
    weight = visits + 1e-9  # states without visits have equal weight
    values = np.zeros(rdp.n_states) if plan is None else plan.values
    finished = np.isin(np.arange(rdp.n_states), sorted(ended_states(rdp)))
    return Scene(
        node_of=node_of,
        states=np.concatenate([states, np.full(len(gathered), GATHERED)]),
        column=np.concatenate([column[states], gathered]),
        visits=np.bincount(node_of, visits, n).astype(np.int64),
        values=np.bincount(node_of, weight * values, n) / np.bincount(node_of, weight, n),
        over=np.bincount(node_of, ~finished, n) == 0,
        arrows=tuple(arrows_of(rdp, node_of)),
    )


def expected_visits(rdp: RDP, plan: Plan) -> Float:
    """Return the expected number of visits [Q] per episode under the plan, with frequencies as probabilities."""
    sources, letters = rdp.cells()
    action, planned = rdp.letters[letters, 0], plan.actions[sources]
    follows = (planned == BEHAVE) | (action == planned + PAD + 1) | (action <= PAD)
    sources, letters = sources[follows], letters[follows]
    times = rdp.counts[sources, letters].astype(float)
    rates = times / np.bincount(sources, times, rdp.n_states)[sources]
    targets = rdp.tau[sources, rdp.symbol_of_letter()[letters]]
    share: Float = np.zeros(rdp.n_states)
    share[0] = 1.0
    total = share.copy()
    if rdp.stationary:
        for _ in range(rdp.horizon + 1):
            share = np.asarray(np.bincount(targets, share[sources] * rates, rdp.n_states), float)
            total += share
        return total
    offsets = rdp.offsets()
    for edges in pairwise(np.searchsorted(sources, offsets[:-1]).tolist()):  # only these lead to the next layer
        leaving = slice(*edges)
        np.add.at(total, targets[leaving], total[sources[leaving]] * rates[leaving])
    return total


def _cut(rdp: RDP, column: Int64, most: int) -> tuple[Int64, NDArray[np.bool_]]:
    """Combine all columns beyond `most` into one, except that of the final state.

    Returns the new columns [Q] and whether each state is in the combined column [Q].
    """
    if column.max() <= most:
        return column, np.zeros(len(column), bool)
    cut = np.minimum(column, most)
    if rdp.final is not None:
        cut[rdp.final] = most + 1
    return cut, cut == most


def _kept(rdp: RDP, plan: Plan | None, column: Int64, joined: NDArray[np.bool_], most: int) -> NDArray[np.bool_]:
    """Return which states [Q] are drawn: the first, the most visited, and any that would be combined alone."""
    visits = np.asarray(rdp.counts.sum(axis=1, dtype=float))
    score = visits / max(visits.sum(), 1.0)
    if plan is not None:
        score += expected_visits(rdp, plan) / (rdp.horizon + 2)
    score[sorted(ended_states(rdp))] = 0.0  # ended episodes are not informative
    score[0] = np.inf
    columns = np.bincount(column)
    ranked = np.lexsort((np.arange(rdp.n_states), -np.round(score, 12)))
    kept = np.zeros(rdp.n_states, bool)
    kept[ranked[~joined[ranked]][: max(most - np.count_nonzero(columns), 1)]] = True
    alone = columns - np.bincount(column, kept, len(columns)) == 1
    return np.asarray(kept | alone[column])
