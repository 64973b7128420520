"""What there is to draw of an automaton: its states, or the most visited ones and the others gathered by column.

A state is kept for being passed often, by the log or by the plan. What is gathered stays in its column as one node with
the visits and arrows of all its states, so that nothing is lost but detail.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suffice.automata.rdp import BEHAVE, RDP
from suffice.data.alphabet import PAD
from suffice.kernels.array_types import Float, Int64
from suffice.planning.plan import Plan
from suffice.view.arrows import Arrow, arrows_of, over
from suffice.view.layout import Layout, arrange, columns_of

GATHERED = -1  # instead of a state
FEWEST_NODES, USUAL_NODES, MOST_ARROWS = 4, 60, 240  # nodes, and arrows among them that are not yet hair
COLUMN_ROWS = (
    3  # nodes that every column has room for; where steps are so many that it has not, the last are drawn as one
)


@dataclass(frozen=True, slots=True, eq=False)
class Scene:
    """Nodes and arrows between them."""

    node_of: Int64  # [Q] the node that shows each state
    states: Int64  # [n] the state that a node is, or GATHERED
    column: Int64  # [n]
    visits: Int64  # [n] how often the log was there
    values: Float  # [n] what the plan promises there, in the mean; 0 without a plan
    over: NDArray[np.bool_]  # [n] whether the episode is
    arrows: tuple[Arrow, ...]  # between nodes

    def __len__(self) -> int:
        return len(self.states)

    def holds(self) -> Int64:
        """[n] the number of states."""
        return np.bincount(self.node_of, minlength=len(self))

    def layout(self) -> Layout:
        """Where nodes go; those that gather others lie below."""
        pairs = np.array([(arrow.source, arrow.target) for arrow in self.arrows], np.int64).reshape(-1, 2)
        return arrange(self.column, pairs, self.states == GATHERED)


def scene_of(rdp: RDP, plan: Plan | None, most: int | None = None) -> Scene:
    """Of at most so many nodes; if that is left open, of as many as can be seen, and their arrows followed."""
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
    # Kept states keep their order; what is gathered from a column follows them.
    states = np.flatnonzero(kept)
    gathered = np.unique(column[~kept])
    node_of = np.where(kept, np.cumsum(kept) - 1, len(states) + np.searchsorted(gathered, column))
    n = len(states) + len(gathered)
    weight = visits + 1e-9  # where nobody was, all count alike
    values = np.zeros(rdp.n_states) if plan is None else plan.values
    finished = np.isin(np.arange(rdp.n_states), sorted(over(rdp)))
    return Scene(
        node_of=node_of,
        states=np.concatenate([states, np.full(len(gathered), GATHERED)]),
        column=np.concatenate([column[states], gathered]),
        visits=np.bincount(node_of, visits, n).astype(np.int64),
        values=np.bincount(node_of, weight * values, n) / np.bincount(node_of, weight, n),
        over=np.bincount(node_of, ~finished, n) == 0,
        arrows=tuple(arrows_of(rdp, node_of)),
    )


def passed(rdp: RDP, plan: Plan) -> Float:
    """[Q] how many times an episode is in each state under the plan, if frequencies were probabilities."""
    planned = plan.actions[:, None] + PAD + 1
    follows = (plan.actions[:, None] == BEHAVE) | (rdp.letters[:, 0] == planned) | (rdp.letters[:, 0] <= PAD)
    sources, letters = np.nonzero((rdp.counts > 0) & follows)
    times = rdp.counts[sources, letters].astype(float)
    rates = times / np.bincount(sources, times, rdp.n_states)[sources]
    targets = rdp.tau[sources, rdp.symbol_of_letter()[letters]]
    share: Float = np.zeros(rdp.n_states)
    share[0] = 1.0
    total = share.copy()
    for _ in range(rdp.horizon + 1):
        share = np.asarray(np.bincount(targets, share[sources] * rates, rdp.n_states), float)
        total += share
    return total


def _cut(rdp: RDP, column: Int64, most: int) -> tuple[Int64, NDArray[np.bool_]]:
    """[Q] with all columns beyond the most as one, before the final state of layers; [Q] which states that concerns."""
    if column.max() <= most:
        return column, np.zeros(len(column), bool)
    cut = np.minimum(column, most)
    if rdp.final is not None:
        cut[rdp.final] = most + 1
    return cut, cut == most


def _kept(rdp: RDP, plan: Plan | None, column: Int64, joined: NDArray[np.bool_], most: int) -> NDArray[np.bool_]:
    """[Q] the first state, and those that are passed most; no state is gathered alone."""
    visits = np.asarray(rdp.counts.sum(axis=1, dtype=float))
    score = visits / max(visits.sum(), 1.0)
    if plan is not None:
        score += passed(rdp, plan) / (rdp.horizon + 2)
    score[sorted(over(rdp))] = 0.0  # nothing is to be seen there
    score[0] = np.inf
    columns = np.bincount(column)
    ranked = np.lexsort((np.arange(rdp.n_states), -np.round(score, 12)))
    kept = np.zeros(rdp.n_states, bool)
    kept[ranked[~joined[ranked]][: max(most - np.count_nonzero(columns), 1)]] = True
    alone = columns - np.bincount(column, kept, len(columns)) == 1
    return np.asarray(kept | alone[column])
