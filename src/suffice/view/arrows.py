"""All transitions between the same two states as one arrow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.automata.rdp import RDP, UNSEEN
from suffice.kernels.array_types import Int64
from suffice.models.model_data import ended_states

over = ended_states  # the name that the modules of this package use


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one state to another, or from one group of states to another."""

    source: int
    target: int
    symbols: tuple[int, ...]  # of the automaton, in order
    count: int  # how often it was taken


def arrows_of(rdp: RDP, node_of: Int64 | None = None) -> list[Arrow]:
    """By source, then by the first symbol that leads along the arrow; `node_of` [Q] puts states into groups."""
    node = np.arange(rdp.n_states) if node_of is None else node_of
    taken = rdp.taken()
    sources, symbols = np.nonzero(rdp.tau != UNSEEN)
    ends = zip(node[sources].tolist(), node[rdp.tau[sources, symbols]].tolist(), strict=True)
    ways: dict[tuple[int, int], tuple[set[int], list[int]]] = {}
    for pair, y, count in zip(ends, symbols.tolist(), taken[sources, symbols].tolist(), strict=True):
        met, counts = ways.setdefault(pair, (set(), []))
        met.add(y)
        counts.append(count)
    return [Arrow(*pair, tuple(sorted(met)), sum(counts)) for pair, (met, counts) in ways.items()]
