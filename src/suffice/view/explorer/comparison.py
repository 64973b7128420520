"""Comparison of two automata by the states that the same histories lead to."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.automata.compare import compare
from suffice.automata.histories import show
from suffice.automata.rdp import RDP, UNSEEN


def comparison_data(first: RDP, second: RDP) -> dict[str, Any]:
    """Return whether two automata are equal, the shortest history that distinguishes them, and pairs of states."""
    difference = compare(first, second)
    index = {second.symbol(y): y for y in range(len(second.symbols))}
    theirs = [index.get(first.symbol(y), UNSEEN) for y in range(len(first.symbols))]
    pairs = _pairs(first, second, theirs)
    return {
        "equal": difference is None,
        "history": "" if difference is None else show(difference.history),
        "reason": "" if difference is None else difference.reason,
        "symbols": theirs,  # symbol of the second automaton for each symbol of the first
        "first": [p for p, _ in pairs],
        "second": [q for _, q in pairs],
    }


def _pairs(first: RDP, second: RDP, theirs: list[int]) -> list[tuple[int, int]]:
    """Return the pairs of states that are reached together along transitions that both automata have."""
    known = np.flatnonzero(np.array(theirs) != UNSEEN)
    ours, others = first.tau[:, known], second.tau[:, np.array(theirs, np.int64)[known]]
    found, waiting = {(0, 0)}, [(0, 0)]
    while waiting:
        p, q = waiting.pop()
        both = (ours[p] != UNSEEN) & (others[q] != UNSEEN)
        for pair in zip(ours[p][both].tolist(), others[q][both].tolist(), strict=True):
            if pair not in found:
                found.add(pair)
                waiting.append(pair)
    return sorted(found)
