"""A small automaton written by hand, for tests of policies."""

from __future__ import annotations

from typing import Any

import numpy as np

from suffice.automata.rdp import BEHAVE, RDP, UNSEEN
from suffice.data.alphabet import Alphabet
from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.tasks.t_maze import TMaze
from suffice.planning.plan import Plan

Arrow = tuple[int, Any, Any, float, int, int]  # state, action, observation, reward, how often, next state


def automaton(layers: list[int], arrows: list[Arrow]) -> RDP:
    """Build an automaton of one feature from its transitions and counts."""
    alphabet = Alphabet(
        tuple({a for _, a, *_ in arrows} - {None, "pad"}),
        ("seen",),
        tuple({(o,) for _, _, o, *_ in arrows if o is not None}),
        tuple({r for *_, r, _, _ in arrows}),
    )
    actions = {None: 0, "pad": 1} | {a: i + 2 for i, a in enumerate(alphabet.actions)}
    observations = {None: 0} | {o[0]: i + 1 for i, o in enumerate(alphabet.observations)}
    coded = [(q, (actions[a], observations[o], alphabet.rewards.index(r)), k, p) for q, a, o, r, k, p in arrows]
    letters = sorted({letter for _, letter, _, _ in coded})
    symbols = sorted({letter[:2] for letter in letters})
    tau = np.full((sum(layers), len(symbols)), UNSEEN, np.int32)
    counts = np.zeros((sum(layers), len(letters)), np.int64)
    for q, letter, k, p in coded:
        tau[q, symbols.index(letter[:2])] = p
        counts[q, letters.index(letter)] = k
    return RDP(alphabet, np.array(letters), np.array(symbols), np.array(layers), tau, counts)


# Layer 1 has states 1 and 2, layer 2 has 3 to 5, layer 3 has 6 and 7. In state 7 the episode is already over.
SMALL = automaton(
    [1, 2, 3, 2, 1],
    [
        (0, None, "x", 0.0, 60, 1),
        (0, None, "y", 0.0, 40, 2),
        (1, "l", "x", 0.0, 30, 3),
        (1, "r", "x", 0.0, 30, 4),
        (2, "l", "y", 0.0, 5, 5),
        (2, "r", "x", 1.0, 35, 5),
        (3, "l", "y", 1.0, 20, 6),
        (3, "r", "y", 0.0, 10, 6),
        (4, "l", "y", 0.0, 30, 6),
        (5, "r", None, 1.0, 40, 7),
        (6, "l", None, 2.0, 45, 8),
        (6, "r", None, 0.0, 15, 8),
        (7, "pad", None, 0.0, 40, 8),
    ],
)
LOST = SMALL.n_states  # first of the extra states for histories that left the automaton


def plan_of(rdp: RDP, **actions: int) -> Plan:
    """Return a plan that keeps the logged behaviour except in some states, called q3 and so on."""
    chosen = np.full(rdp.n_states, BEHAVE)
    for name, action in actions.items():
        chosen[int(name[1:])] = action
    return Plan(chosen, np.zeros(rdp.n_states), np.zeros(rdp.n_states), 0.0)


# Observations of a T-maze


def of_maze() -> RDP:
    return minimal_rdp(TMaze().model(3), 3).rdp()


CUE = (0, 1, 1)
