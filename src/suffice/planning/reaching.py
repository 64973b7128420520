"""Policies that take a given transition of a stationary automaton as surely as possible within a number of decisions.

The probability W_k(q) of taking the transition within k decisions from state q on satisfies, with the frequencies of
the log as probabilities,

    W_0 = 0,   W_k(q) = max_a Σ_o P(o | q, a) · (1 if (q, ao) is the transition, else W_{k−1}(τ(q, ao)))

Actions that were never taken in a state are not considered. Theory: docs/theory.md, section 13.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import PAD, STOP
from suffice.kernels.array_types import Float, Int64

MOST_CELLS = 1 << 22  # of a table by transition to reach and known transition that is computed at once


@dataclass(frozen=True, slots=True, eq=False)
class Transitions:
    """The transitions of a stationary automaton that a further decision can follow, with their frequencies."""

    state: Int64  # [E] where each begins
    symbol: Int64  # [E]
    target: Int64  # [E]
    count: Int64  # [E] how often each was taken
    chance: Float  # [E] share among those of its state and action; of all first steps, if it begins an episode
    action: Int64  # [E] index of its action; UNSEEN at the beginning of an episode
    n_states: int
    n_actions: int

    @classmethod
    def of(cls, rdp: RDP) -> Transitions:
        """Collect the transitions of an automaton."""
        taken = rdp.taken()
        state, symbol = np.nonzero(taken)
        action = rdp.symbols[symbol, 0].astype(np.int64) - (PAD + 1)
        action = np.where(action < 0, UNSEEN, action)
        count, n_actions = taken[state, symbol], len(rdp.alphabet.actions)
        row = state * (n_actions + 1) + action + 1
        order = np.argsort(row, kind="stable")
        state, symbol, action, count, row = (part[order] for part in (state, symbol, action, count, row))
        total = np.bincount(row, count, minlength=rdp.n_states * (n_actions + 1))
        chance = count / total[row]
        # after padding nothing is decided, and after the end neither
        kept = rdp.symbols[symbol, 0] != PAD
        state, symbol, action, count, chance = (part[kept] for part in (state, symbol, action, count, chance))
        target = rdp.tau[state, symbol].astype(np.int64)
        return cls(state, symbol, target, count, chance, action, rdp.n_states, n_actions)

    def continuing(self, rdp: RDP) -> Int64:
        """Return the transitions after which an episode goes on."""
        return np.flatnonzero(rdp.symbols[self.symbol, 1] != STOP)


@dataclass(frozen=True, slots=True, eq=False)
class Reaching:
    """For each of some transitions, the policy that takes it most surely, and its probability."""

    actions: NDArray[np.int16]  # [K, H+1, Q] by the number of decisions left; UNSEEN where it cannot be reached
    chance: Float  # [K, H+1] probability of taking it within this many decisions, from the start of an episode

    @classmethod
    def to(cls, moves: Transitions, chosen: Int64, horizon: int) -> Reaching:
        """Compute the policies for the chosen transitions."""
        size = max(1, MOST_CELLS // max(len(moves.state), moves.n_states * moves.n_actions, 1))
        parts = [_reach(moves, chosen[begin : begin + size], horizon) for begin in range(0, len(chosen), size)]
        if not parts:
            return cls(np.zeros((0, horizon + 1, moves.n_states), np.int16), np.zeros((0, horizon + 1)))
        return cls(*(np.concatenate(part) for part in zip(*parts, strict=True)))


def _reach(moves: Transitions, chosen: Int64, horizon: int) -> tuple[NDArray[np.int16], Float]:
    """Compute `Reaching` for transitions whose tables fit into memory together."""
    first = np.flatnonzero(moves.action == UNSEEN)
    later = np.flatnonzero(moves.action != UNSEEN)
    row = moves.state[later] * moves.n_actions + moves.action[later]
    begin = np.flatnonzero(np.diff(row, prepend=-1))
    k, cells = len(chosen), moves.n_states * moves.n_actions
    hit_later, hit_first = chosen[:, None] == later, chosen[:, None] == first  # [K, E]
    best = np.zeros((k, moves.n_states))
    actions, chance = np.full((k, horizon + 1, moves.n_states), UNSEEN, np.int16), np.zeros((k, horizon + 1))

    def started() -> Float:
        gains = np.where(hit_first, 1.0, best[:, moves.target[first]])
        return np.asarray(gains @ moves.chance[first])

    chance[:, 0] = started()
    for left in range(1, horizon + 1):
        gains = np.where(hit_later, 1.0, best[:, moves.target[later]]) * moves.chance[later]
        table = np.zeros((k, cells))
        if len(begin):
            table[:, row[begin]] = np.add.reduceat(gains, begin, axis=1)
        by_action = table.reshape(k, moves.n_states, moves.n_actions)
        best = by_action.max(axis=2)
        actions[:, left] = np.where(best > 0, by_action.argmax(axis=2), UNSEEN)
        chance[:, left] = started()
    return actions, chance
