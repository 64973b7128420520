"""Unroll a stationary automaton to a layered one over its horizon.

A layer holds the states that can be reached at its step. The counts of a state are those of all steps together. The
observation after the last action is o_⊥, as in the log, so outcomes of the last step differ only in their rewards.
Theory: docs/theory.md, section 8.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suffice.automata.vocabulary import UNSEEN, Vocabulary
from suffice.errors import ModelError, parameter
from suffice.kernels.array_types import Int32, Int64

MOST_UNROLLED = 1 << 29  # largest number of cells of an unrolled table: four gigabytes


class Unrolled(NamedTuple):
    """The tables of an unrolled automaton, with a final state that stands for no state."""

    layers: Int64  # [H+2] number of states of each layer
    tau: Int32  # [Q, Y]
    counts: Int64  # [Q, X]
    origin: Int64  # the stationary state of each unrolled state


def unroll(
    vocabulary: Vocabulary, tau: Int32, counts: Int64, cut: Int64 | None, horizon: int, most: int | None
) -> Unrolled:
    """Unroll transitions [Q, Y] and counts [Q, X] over a horizon; refuse more than `most` states."""
    origin = _reached(tau, horizon, _room(vocabulary, most))
    layers = np.array([*map(len, origin), 1], np.int64)
    offsets = np.cumsum(layers)
    n, place = int(offsets[-1]), np.full(len(tau) + 1, UNSEEN, np.int32)  # its last entry is that of UNSEEN
    moves = np.full((n, len(vocabulary.symbols)), UNSEEN, np.int32)
    met = np.zeros((n, len(vocabulary.letters)), np.int64)
    for t, then in enumerate(origin[1:]):
        now = slice(offsets[t] - layers[t], offsets[t])
        place[then] = np.arange(offsets[t], offsets[t + 1])
        moves[now], met[now] = place[tau[origin[t]]], counts[origin[t]]
    now = slice(offsets[-2] - layers[-2], offsets[-2])
    met[now] = _counts_when_cut(vocabulary, counts, cut)[origin[-1]]
    last = np.zeros((len(origin[-1]), len(vocabulary.symbols)), np.int64)
    np.add.at(last.T, vocabulary.symbol_of_letter(), met[now].T)
    moves[now] = np.where(last > 0, n - 1, UNSEEN)
    return Unrolled(layers, moves, met, np.concatenate(origin))


def unrolled_states(vocabulary: Vocabulary, tau: Int32, horizon: int, most: int) -> int:
    """Return the number of states of an unrolled automaton without its tables; refuse more than `most`."""
    return sum(map(len, _reached(tau, horizon, _room(vocabulary, most)))) + 1


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
