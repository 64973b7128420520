"""All transitions between the same two states as one arrow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.episodes import PAD
from suffice.rdp import RDP, UNSEEN


@dataclass(frozen=True, slots=True)
class Arrow:
    """From one state to another."""

    source: int
    target: int
    symbols: tuple[int, ...]  # of the automaton, in order
    count: int  # how often it was taken


def arrows_of(rdp: RDP) -> list[Arrow]:
    """By source, then by the first symbol that leads along the arrow."""
    taken = rdp.taken()
    ways: dict[tuple[int, int], list[int]] = {}
    for q, y in np.argwhere(rdp.tau != UNSEEN).tolist():
        ways.setdefault((q, int(rdp.tau[q, y])), []).append(y)
    return [Arrow(q, target, tuple(ys), int(taken[q, ys].sum())) for (q, target), ys in ways.items()]


def over(rdp: RDP) -> set[int]:
    """The states in which an episode is over: those that padding alone leaves, and the final one of layers."""
    known, pad = rdp.tau != UNSEEN, rdp.symbols[:, 0] == PAD
    padded = known[:, pad].any(axis=1) & ~known[:, ~pad].any(axis=1)
    return {*np.flatnonzero(padded).tolist(), *([] if rdp.stationary else [rdp.n_states - 1])}
