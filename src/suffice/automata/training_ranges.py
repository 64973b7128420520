"""The range of rewards at each step, by the counts of an automaton."""

from __future__ import annotations

import numpy as np

from suffice.automata.rdp import RDP
from suffice.data.possible_returns import RewardRanges


def training_ranges(rdp: RDP) -> RewardRanges:
    """Return the range of the rewards that the states of each layer have; those of the log, if learned in layers.

    The counts of a stationary automaton are those of all steps, so that a layer of it has every reward of its states.
    """
    layered = rdp.layered()
    rewards, offsets = np.array(layered.alphabet.rewards)[layered.letters[:, 2]], layered.offsets()
    low, high = np.zeros(layered.horizon + 1), np.zeros(layered.horizon + 1)
    for t in range(layered.horizon + 1):
        seen = rewards[(layered.counts[offsets[t] : offsets[t + 1]] > 0).any(axis=0)]
        if len(seen):
            low[t], high[t] = seen.min(), seen.max()
    return RewardRanges(low, high)
