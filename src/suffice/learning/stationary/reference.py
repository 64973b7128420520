"""Reference automata that label steps, and how well an automaton describes a log.

The first round has labels of the last observation, or of how often it was repeated. The description length (BIC) says
which of these, and which round's automaton, is better.
"""

from __future__ import annotations

import math

import numpy as np

from suffice.automata.rdp import UNSEEN
from suffice.kernels import stationary
from suffice.kernels.array_types import Int32, Int64
from suffice.learning.stationary.grouping import observation_groups
from suffice.learning.stationary.labels import PointerLog

AIC = 1.0  # cost of a free frequency
LARGEST_TABLE = 1 << 20  # entries of the automaton that counts repeated observations


def last_observation(steps: PointerLog) -> Int32:
    """Return the automaton [G+1, Y] that remembers only the last observation, by group; state 0 has seen none."""
    groups = observation_groups(steps.episodes, steps.grouped).astype(np.int32)
    return np.tile(groups[steps.symbols[:, 1]] + 1, (int(groups.max()) + 2, 1))


def repeated_observation(steps: PointerLog) -> Int32:
    """Return the automaton [G·R+1, Y] that also counts how often in a row the last observation occurred, up to R."""
    groups = observation_groups(steps.episodes, steps.grouped).astype(np.int32)
    shown, n = groups[steps.symbols[:, 1]], int(groups.max()) + 1
    most = max(1, min(steps.horizon, LARGEST_TABLE // (n * len(steps.symbols))))
    seen, times = np.divmod(np.arange(n * most, dtype=np.int32), np.int32(most))  # times: repetitions
    again = np.where(seen[:, None] == shown, np.minimum(times + 1, most - 1)[:, None], 0)
    return np.concatenate([1 + shown[None] * most, 1 + shown[None] * most + again]).astype(np.int32)


def first_reference(steps: PointerLog) -> Int32:
    """Return the reference automaton of the first round.

    Labels are the last observation, unless its number of repetitions is far more informative, as in a long corridor;
    elsewhere finer labels only mean that fewer steps share one.
    """
    coarse, fine = last_observation(steps), repeated_observation(steps)
    return fine if outcome_description(steps, fine) < outcome_description(steps, coarse) / 2 else coarse


def outcome_description(steps: PointerLog, tau: Int32) -> float:
    """Return the description length (BIC) of outcomes given state and action: Σ ln 1/p, and ½ ln N per parameter."""
    counts = stationary.count_letters(stationary.trace(tau, steps.walked), steps.walked, len(tau))
    groups = [counts[:, steps.action_of == a] for a in np.unique(steps.action_of[steps.action_of != UNSEEN])]
    return _bits(groups, int(counts.sum()))


def description(steps: PointerLog, tau: Int32, per_frequency: float | None = None) -> float:
    """Return the description length of actions given state, and of outcomes given state and action.

    Actions of an adaptive logger are not described.
    A free frequency costs ½ ln N (BIC) unless given; a cost of 1 (AIC) estimates the length for other episodes.
    """
    counts = stationary.count_letters(stationary.trace(tau, steps.walked), steps.walked, len(tau))
    groups = [counts[:, steps.action_of == a] for a in np.unique(steps.action_of[steps.action_of != UNSEEN])]
    if steps.adaptive:
        return _bits(groups, int(counts.sum()), per_frequency)
    n_actions, choice = steps.episodes.alphabet.n_actions, np.where(steps.action_of < 0, UNSEEN, steps.action_of)
    of = [choice % n_actions == a for a in range(n_actions)]
    acts = [counts[:, at & (choice != UNSEEN)].sum(axis=1) for at in of]
    return _bits([*groups, np.stack(acts, axis=1)], int(counts.sum()), per_frequency)


def _bits(tables: list[Int64], total: int, per_frequency: float | None = None) -> float:
    """Return Σ ln 1/p of the counts of tables, each row by itself, and the cost of every free frequency."""
    found, free = 0.0, 0
    for table in tables:
        part = table[table.any(axis=1)]
        shares = part / part.sum(axis=1, keepdims=True)
        found -= float((part * np.log(np.where(part > 0, shares, 1.0))).sum())
        free += int(np.count_nonzero(part)) - len(part)
    return found + free * (math.log(max(total, 2)) / 2 if per_frequency is None else per_frequency)


def completed(tau: Int32) -> Int32:
    """Fill in unseen transitions with the target that the symbol has in most states."""
    whole = tau.copy()
    for y, column in enumerate(tau.T):
        known = column[column != UNSEEN]
        usual = np.bincount(known).argmax() if len(known) else 0
        whole[column == UNSEEN, y] = usual
    return whole
