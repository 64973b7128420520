"""Unroll a stationary automaton to a layered one over its horizon.

A layer holds the states that can be reached at its step. The counts of a state are those of all steps together. The
observation after the last action is o_⊥, as in the log, so outcomes of the last step differ only in their rewards.
Theory: docs/theory.md, section 8.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suffice.automata.row_tables import LayeredSuccessors, SharedRows
from suffice.automata.vocabulary import UNSEEN, Vocabulary
from suffice.data.memory_limit import memory_limit, resident_bytes
from suffice.errors import ModelError, parameter
from suffice.kernels.array_types import Int32, Int64

MOST_SMALL = 1 << 16  # states that are never refused
UNROLLED_STATE = 100  # bytes of a state in layers, with its row, its number and the values of a plan


class Unrolled(NamedTuple):
    """The tables of an unrolled automaton, with a final state that stands for no state."""

    layers: Int64  # [H+2] number of states of each layer
    tau: LayeredSuccessors  # [Q, Y]
    counts: SharedRows  # [Q, X]
    origin: Int64  # the stationary state of each unrolled state


def unroll(
    vocabulary: Vocabulary, tau: Int32, counts: Int64, cut: Int64 | None, horizon: int, most: int | None
) -> Unrolled:
    """Unroll transitions [Q, Y] and counts [Q, X] over a horizon; refuse more than `most` states.

    The rows of a state are the same at every step but the last, and are stored once.
    """
    reached = _reached(tau, horizon, most)
    layers = np.array([*map(len, reached), 1], np.int64)
    n, states, origin = int(layers.sum()), len(tau), np.concatenate(reached)
    layer = np.repeat(np.arange(len(layers)), layers)
    row = np.append(np.where(layer[:-1] == horizon, states, 0) + origin, 2 * states)
    place = np.full((len(layers), states + 1), UNSEEN, np.int32)  # the last column is that of UNSEEN
    place[layer[:-1], origin] = np.arange(n - 1)
    place[-1, 0] = n - 1
    last = _counts_when_cut(vocabulary, counts, cut)
    met = np.zeros((states, len(vocabulary.symbols)), np.int64)
    np.add.at(met.T, vocabulary.symbol_of_letter(), last.T)
    moves = np.concatenate([tau, np.where(met > 0, 0, UNSEEN), np.full((1, tau.shape[1]), UNSEEN)])
    shared = np.concatenate([counts, last, np.zeros_like(last[:1])])
    layer[-1] = len(layers) - 2  # the final state leads nowhere
    return Unrolled(
        layers, LayeredSuccessors(moves.astype(np.int32), row, layer, place), SharedRows(shared, row), origin
    )


def unrolled_states(tau: Int32, horizon: int, most: int) -> int:
    """Return the number of states of an unrolled automaton without its tables; refuse more than `most`."""
    return sum(map(len, _reached(tau, horizon, most))) + 1


def _reached(tau: Int32, horizon: int, most: int | None) -> list[Int64]:
    """List the states that can be reached at each step; the same as before where all episodes were cut off earlier."""
    reached, states = [np.zeros(1, np.int64)], 2  # the first and the final state
    most = max((memory_limit() - resident_bytes()) // UNROLLED_STATE, MOST_SMALL) if most is None else most
    following: dict[bytes, Int64] = {}  # the same sets return at most steps of a long horizon
    for _ in range(horizon):
        if (then := following.get(reached[-1].tobytes())) is None:
            targets = tau[reached[-1]]
            then = np.unique(targets[targets != UNSEEN]).astype(np.int64)
            then = then if len(then) else reached[-1]  # layers have states
            following[reached[-1].tobytes()] = then
        reached.append(then)
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
