"""Arrows of a drawing, which combine all transitions between the same two states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.automata.rdp import RDP
from suffice.kernels.array_types import Int64


@dataclass(frozen=True, slots=True)
class Arrow:
    """An arrow from one state, or group of states, to another."""

    source: int
    target: int
    symbols: tuple[int, ...]  # symbols of the automaton that take the arrow, in increasing order
    count: int  # number of logged steps along the arrow


def arrows_of(rdp: RDP, node_of: Int64 | None = None) -> list[Arrow]:
    """Return the arrows ordered by source, then by their first symbol; `node_of` [Q] assigns states to groups."""
    node = np.arange(rdp.n_states) if node_of is None else node_of
    edges = rdp.edges()
    ends = zip(node[edges.source].tolist(), node[edges.target].tolist(), strict=True)
    ways: dict[tuple[int, int], tuple[set[int], list[int]]] = {}
    for pair, y, count in zip(ends, edges.symbol.tolist(), edges.times.tolist(), strict=True):
        met, counts = ways.setdefault(pair, (set(), []))
        met.add(y)
        counts.append(count)
    return [Arrow(*pair, tuple(sorted(met)), sum(counts)) for pair, (met, counts) in ways.items()]
