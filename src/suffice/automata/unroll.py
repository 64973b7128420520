"""Unrolling: a stationary automaton as a layered one over its horizon.

A layer holds the states that can be reached at its step. Counts are those of the states, whatever the step. What the
last action shows is not seen any more: its outcomes differ by their rewards alone, as in the log.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from suffice.automata.vocabulary import UNSEEN, Vocabulary
from suffice.errors import ModelError
from suffice.kernels.array_types import Int32, Int64

MOST_UNROLLED = 1 << 29  # cells of the tables that unrolling makes: four gigabytes each


class Layers(NamedTuple):
    """An unrolled automaton, one table for each of layers 0..H."""

    tau: list[Int64]  # [Q_t, Y] places in the next layer
    counts: list[Int64]  # [Q_t, X]
    origin: list[Int64]  # [Q_t] the state that each unrolled state stands for


def unroll(
    vocabulary: Vocabulary, tau: Int32, counts: Int64, cut: Int64 | None, horizon: int, most: int | None
) -> Layers:
    """Unroll transitions [Q, Y] and counts [Q, X] over a horizon; refused if that takes more than `most` states."""
    origin = _reached(tau, horizon, _room(vocabulary, most))
    moves = []
    for now, then in pairwise(origin):
        moves.append(np.where(tau[now] == UNSEEN, UNSEEN, np.searchsorted(then, tau[now])))
    ending = _counts_when_cut(vocabulary, counts, cut)[origin[-1]]
    last = np.zeros((len(ending), len(vocabulary.symbols)), np.int64)
    np.add.at(last.T, vocabulary.symbol_of_letter(), ending.T)
    moves.append(np.where(last > 0, 0, UNSEEN))
    return Layers(moves, [*(counts[now] for now in origin[:-1]), ending], origin)


def _room(vocabulary: Vocabulary, most: int | None) -> int:
    room = MOST_UNROLLED // max(len(vocabulary.letters), len(vocabulary.symbols))
    return room if most is None else min(most, room)


def _reached(tau: Int32, horizon: int, most: int) -> list[Int64]:
    """The states that can be reached at each step."""
    reached, states = [np.zeros(1, np.int64)], 2  # the first and the final one
    for _ in range(horizon):
        targets = tau[reached[-1]]
        reached.append(np.unique(targets[targets != UNSEEN]).astype(np.int64))
        states += max(len(reached[-1]), 1)
        if states > most:
            raise ModelError(f"over {horizon:,} steps this automaton has more than {most:,} states")
    return reached


def _counts_when_cut(vocabulary: Vocabulary, counts: Int64, cut: Int64 | None) -> Int64:
    """[Q, X] with o_⊥ in place of what was seen, and what was met at the last step itself."""
    found = np.zeros_like(counts)
    np.add.at(found.T, vocabulary.when_cut(), counts.T)
    return found if cut is None else found + cut
