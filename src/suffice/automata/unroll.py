"""Unroll a stationary automaton to a layered one over its horizon.

A layer holds the states that can be reached at its step. The counts of a state are those of all steps together. The
observation after the last action is o_⊥, as in the log, so outcomes of the last step differ only in their rewards.
Theory: docs/theory.md, section 8.
"""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from suffice.automata.vocabulary import UNSEEN, Vocabulary
from suffice.errors import ModelError, parameter
from suffice.kernels.array_types import Int32, Int64

MOST_UNROLLED = 1 << 29  # largest number of cells of an unrolled table: four gigabytes


class Layers(NamedTuple):
    """An unrolled automaton, with one table for each of the layers 0..H."""

    tau: list[Int64]  # [Q_t, Y] places in the next layer
    counts: list[Int64]  # [Q_t, X]
    origin: list[Int64]  # [Q_t] the stationary state of each unrolled state


def unroll(
    vocabulary: Vocabulary, tau: Int32, counts: Int64, cut: Int64 | None, horizon: int, most: int | None
) -> Layers:
    """Unroll transitions [Q, Y] and counts [Q, X] over a horizon; refuse more than `most` states."""
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
    """Return the largest number of states whose tables fit into memory, at most `most`."""
    room = MOST_UNROLLED // max(len(vocabulary.letters), len(vocabulary.symbols))
    return room if most is None else min(most, room)


def _reached(tau: Int32, horizon: int, most: int) -> list[Int64]:
    """List the states that can be reached at each step."""
    reached, states = [np.zeros(1, np.int64)], 2  # the first and the final state
    for _ in range(horizon):
        targets = tau[reached[-1]]
        reached.append(np.unique(targets[targets != UNSEEN]).astype(np.int64))
        states += max(len(reached[-1]), 1)
        if states > most:
            raise ModelError(
                f"the automaton has more than {most:,} states over {horizon:,} steps. Learn it with a smaller "
                f"{parameter('horizon')}, or plan with {parameter('discount')}."
            )
    return reached


def _counts_when_cut(vocabulary: Vocabulary, counts: Int64, cut: Int64 | None) -> Int64:
    """Return counts [Q, X] with observations replaced by o_⊥, plus the counts of the last step itself."""
    found = np.zeros_like(counts)
    np.add.at(found.T, vocabulary.when_cut(), counts.T)
    return found if cut is None else found + cut
