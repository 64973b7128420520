"""Test of an automaton on held-out episodes: whether what came before a state predicts what follows it.

Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

import numpy as np

from suffice.kernels.array_types import Mask
from suffice.kernels.contingency import excess_of_tables
from suffice.planning.held_out_nodes import Nodes
from suffice.planning.held_out_walk import ENDED, HeldOutWalk


def lack_of_fit(walk: HeldOutWalk, states: Nodes, refined: Nodes, tested: Mask | None = None) -> tuple[float, float]:
    """Test whether what came before a state predicts what follows an action there.

    For each cell, the table of refined nodes against outcomes (reward and next node) is tested (`excess_of_tables`).
    The last decision is left out, because nothing is observed after it. Only episodes `tested` [n] count, once each.

    Returns
    -------
    tuple of float
        The sum of X² over all cells, less its mean, and its variance.
    """
    last, actions = len(walk.action) - 1, walk.n_actions
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
