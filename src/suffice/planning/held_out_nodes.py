"""Nodes that stand for histories which are valued together: states of an automaton, or refinements of them.

A refinement divides states by what came before: the edge that led to the state, the last two edges, the first
observation, the step, or the whole history. Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from suffice.kernels.array_types import Int64
from suffice.kernels.contingency import distinct
from suffice.planning.held_out_walk import HeldOutWalk

HISTORY = "history"


@dataclass(frozen=True, slots=True, eq=False)
class Nodes:
    """Nodes of the decisions; those of a layer are numbered one after the other."""

    node: Int64  # [H, n] node before each decision
    place: Int64  # [U] place of each node
    base: Int64  # [U] the same node without refinement

    @classmethod
    def of(cls, walk: HeldOutWalk) -> Nodes:
        """Make one node for each place that occurs."""
        places, node = distinct(walk.place)
        return cls(node, places, np.arange(len(places)))

    def refined(self, walk: HeldOutWalk, refinement: str) -> Nodes:
        """Divide nodes by one of `REFINEMENTS`."""
        before = REFINEMENTS[refinement](walk)
        return self.among(before) if refinement == HISTORY else self.divide(before)

    def divide(self, extra: Int64) -> Nodes:
        """Divide nodes by a further number [H, n]."""
        size = int(extra.max()) + 1
        keys, node = distinct(self.node * size + extra)
        return Nodes(node, self.place[keys // size], keys // size)

    def among(self, larger: Int64) -> Nodes:
        """Divide nodes by a further number [H, n] that is larger at later decisions, and number them in this order."""
        size = len(self.place)
        keys, node = distinct(larger * size + self.node)
        return Nodes(node, self.place[keys % size], keys % size)


def _edges(walk: HeldOutWalk, before: Int64) -> Int64:
    """Number the pairs [H, n] of what was before the previous decision and the symbol that followed it."""
    shifted = np.concatenate([np.zeros_like(before[:1]), before[:-1] + 1])
    return distinct(shifted * (int(walk.symbol.max()) + 1) + walk.symbol)[1]


def _histories(walk: HeldOutWalk) -> Int64:
    """Number the histories [H, n]."""
    found, size, used = np.empty_like(walk.symbol), int(walk.symbol.max()) + 1, 0
    history = np.zeros_like(walk.symbol[0])
    for t, symbol in enumerate(walk.symbol):
        keys, history = distinct(history * size + symbol)
        found[t] = history + used
        used += len(keys)
    return found


REFINEMENTS: dict[str, Callable[[HeldOutWalk], Int64]] = {  # what came before each decision, as numbers [H, n]
    "edge": lambda walk: _edges(walk, walk.place),
    "two edges": lambda walk: _edges(walk, _edges(walk, walk.place)),
    "first observation": lambda walk: np.broadcast_to(walk.symbol[0], walk.symbol.shape),
    "step": lambda walk: np.broadcast_to(np.arange(len(walk.symbol))[:, None], walk.symbol.shape),
    HISTORY: _histories,
}
