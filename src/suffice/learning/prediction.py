"""How well an automaton predicts episodes that it was not learned from, in bits.

In its current state, an automaton predicts the observation and the reward that follow the logged action; an outcome of
predicted probability p costs log₂ 1/p bits. Actions are not predicted: how the logger acts does not matter for a plan.
The differences between the costs of the same episodes with two automata are independent, so their mean has a valid
standard error. Theory: docs/theory.md, section 8.
"""

from __future__ import annotations

import numpy as np

from suffice.automata.rdp import RDP
from suffice.automata.state_tracker import StateTracker
from suffice.data.episodes import Episodes
from suffice.kernels.array_types import Float, Int64


def outcome_bits(rdp: RDP, episodes: Episodes) -> Float:
    """Return [N], the bits that the outcomes of each episode cost; letters must be those of the automaton.

    Each state counts one more visit, in which letters are as frequent as in the whole log. At the last observed step,
    where the log is cut, only the reward is predicted.
    """
    tracker, symbol = StateTracker.of(rdp), rdp.symbol_of_letter()
    usual = rdp.counts.sum(axis=0) + 0.5
    usual /= usual.sum()
    counts = np.zeros((len(tracker.astray), len(usual)))  # places of lost histories have no counts
    counts[: rdp.n_states] = rdp.counts
    action, pairs = (
        rdp.letters[:, 0].astype(np.int64),
        np.unique(rdp.letters[:, [0, 2]], axis=0, return_inverse=True)[1],
    )
    cost = _bits(counts + usual, np.arange(len(usual)), action)
    if rdp.cut is not None:
        counts[: rdp.n_states] += rdp.cut
    last = _bits(counts + usual, pairs.reshape(-1), action)
    place, total = np.zeros(episodes.n, np.int32), np.zeros(episodes.n)
    ends = np.full(episodes.n, episodes.horizon) if episodes.length is None else episodes.length - 1
    for t, word in enumerate(episodes.word[:-1]):
        if t:
            total += np.where(t < ends, cost[place, word], 0.0)
        if episodes.length is not None:
            total += np.where(t == ends, last[place, word], 0.0)
        place = tracker.next_places(place, symbol[word])
    return np.asarray(total + np.where(ends == episodes.horizon, last[place, episodes.word[-1]], 0.0))


def _bits(times: Float, outcome: Int64, action: Int64) -> Float:
    """Return [P, X], the bits of each letter's outcome given its action, from how often letters occur [P, X]."""
    together, given = (_added(times, keys) for keys in (outcome, action))
    return np.asarray(np.log2(given[:, action]) - np.log2(together[:, outcome]))


def _added(times: Float, keys: Int64) -> Float:
    """Return [P, K], the sums of columns with the same key."""
    found = np.zeros((int(keys.max(initial=-1)) + 1, len(times)))
    np.add.at(found, keys, times.T)
    return found.T
