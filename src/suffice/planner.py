"""From the counts of an automaton to a plan: backward induction over its layers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suffice.episodes import PAD, Int64
from suffice.rdp import RDP, UNSEEN

Float = NDArray[np.float64]

NO_ACTION = -1


@dataclass(frozen=True, slots=True, eq=False)
class Plan:
    """What each state is worth, and the action that is worth it."""

    values: Float  # [Q] the mean return still to come under the plan, as far as the counts tell
    actions: Int64  # [Q] place in the alphabet's actions, NO_ACTION where none was ever taken


def backward_induction(rdp: RDP) -> Plan:
    """The best plan if frequencies were probabilities; among equals the first action."""
    of_letter, offsets = rdp.symbol_of_letter(), rdp.offsets()
    action, reward = rdp.letters[:, 0], np.array(rdp.alphabet.rewards)[rdp.letters[:, 2]]
    values, actions = np.zeros(rdp.n_states), np.full(rdp.n_states, NO_ACTION, np.int64)
    by_action = np.zeros((len(rdp.letters), rdp.alphabet.n_actions))
    by_action[np.arange(len(rdp.letters)), action] = 1
    for t in range(rdp.horizon, -1, -1):
        layer = slice(offsets[t], offsets[t + 1])
        counts, targets = rdp.counts[layer], rdp.tau[layer][:, of_letter]
        gains = counts * (reward + np.where(targets == UNSEEN, 0.0, values[targets]))
        times, total = counts @ by_action, gains @ by_action
        mean = np.where(times > 0, total / np.maximum(times, 1), -np.inf)
        values[layer] = mean.max(axis=1)
        real = mean[:, PAD + 1 :]
        chosen = real.argmax(axis=1)
        actions[layer] = np.where(real.max(axis=1) > -np.inf, chosen, NO_ACTION)
    return Plan(values, actions)
