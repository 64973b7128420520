"""Whether a narrow log predicts rewards better with all its columns than with those that were selected.

In a log with few distinct observations, all columns can be used, and a column without enough evidence of its own may
still help. So both automata are learned from one half of the episodes, and each predicts the rewards of the other half.
All columns are kept if they are better by more than a standard error or, where no column was selected, unless they are
worse by more than two. By default, a log with very few distinct observations is learned with all columns unless these
are worse: by a standard error, and by fifty bits of the whole log as well where no column was selected.
docs/decisions/0043 and 0053.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from suffice.automata.rdp import RDP
from suffice.automata.state_tracker import StateTracker
from suffice.data.alphabet import PAD
from suffice.data.columnar import ColumnarLog
from suffice.data.content import content_hashes
from suffice.data.episodes import Episodes
from suffice.errors import LogError
from suffice.kernels.array_types import Float
from suffice.learning.adact_h import Settings
from suffice.learning.columns.features import Feature, project
from suffice.learning.stationary.learner import learn_stationary

MOST_OBSERVATIONS = 64  # distinct observations of a narrow log
FEWEST_DECISIONS = 20  # per distinct observation
FEWEST_EPISODES = 20
VERY_FEW_OBSERVATIONS = 24  # distinct observations of a log that is usually learned with all columns
LEAST_BITS = 50.0  # of the whole log, by which no column at all has to be better than all of them
BETTER, NOT_WORSE = 1.0, -2.0  # standard errors by which all columns have to be better; the second if none is selected


def prefer_all(log: ColumnarLog, selected: Sequence[Feature], settings: Settings) -> bool:
    """Return whether a log is narrow, and its rewards are predicted better with all columns."""
    everything = _everything(log)
    if everything is None or not can_compare(log):
        return False
    size = len(everything.alphabet.observations)
    if size > MOST_OBSERVATIONS or np.count_nonzero(log.decides) < FEWEST_DECISIONS * size:
        return False
    gain, error = held_out_gain(log, selected, everything, settings)
    return all_are_better(selected, gain, error)


def all_are_better(selected: Sequence[Feature], gain: float, error: float) -> bool:
    """Return whether a held-out gain of all columns over the selected ones suffices to keep all."""
    return gain > (BETTER if selected else NOT_WORSE) * error


def prefer_selected(log: ColumnarLog, selected: Sequence[Feature], settings: Settings) -> bool:
    """Return whether the rewards of a log with very few observations are predicted better with the selected columns."""
    everything = _everything(log)
    if everything is None or not can_compare(log) or len(selected) == len(log.columns):
        return False
    gain, error = held_out_gain(log, selected, everything, settings)
    return selected_are_better(selected, gain, error, log.n)


def selected_are_better(selected: Sequence[Feature], gain: float, error: float, episodes: int) -> bool:
    """Return whether a held-out loss of all columns suffices to leave some out of a log with very few observations."""
    return gain < -BETTER * error and (bool(selected) or gain * episodes < -LEAST_BITS)


def can_compare(log: ColumnarLog) -> bool:
    """Return whether a log has enough episodes, and episodes that are long enough, to compare automata."""
    return log.n >= FEWEST_EPISODES and log.horizon > 1


def is_very_narrow(log: ColumnarLog) -> bool:
    """Return whether a log has so few distinct observations that it is usually learned with all columns."""
    everything = _everything(log)
    return everything is not None and len(everything.alphabet.observations) <= VERY_FEW_OBSERVATIONS


def _everything(log: ColumnarLog) -> Episodes | None:
    """Return the episodes with all columns as categories; None if that is not possible."""
    if any(column.codes is None for column in log.columns):
        return None
    try:
        return project(log, [Feature(column.name) for column in log.columns])
    except LogError:  # there are too many observations
        return None


def held_out_gain(
    log: ColumnarLog, selected: Sequence[Feature], everything: Episodes, settings: Settings
) -> tuple[float, float]:
    """Return by how many bits per episode rewards are predicted better with all columns, and the standard error."""
    order = np.argsort(content_hashes(everything), kind="stable")
    some, others = order[::2], order[1::2]
    costs = [
        reward_bits(learn_stationary(episodes.columns(some), settings).rdp, episodes.columns(others))
        for episodes in (project(log, selected), everything)
    ]
    gain = costs[0] - costs[1]
    return float(gain.mean()), float(gain.std()) / math.sqrt(len(gain))


def reward_bits(rdp: RDP, episodes: Episodes) -> Float:
    """Return [N], Σ log₂ 1/p of the rewards of each episode, given the state and the action.

    Each state and action counts one more visit, in which rewards are as frequent as with this action in the whole log.
    """
    rewards, n = len(rdp.alphabet.rewards), rdp.alphabet.n_actions
    seen = rdp.counts if rdp.cut is None else rdp.counts + rdp.cut
    counts = np.zeros((rdp.n_states, n * rewards))
    np.add.at(counts.T, rdp.letters[:, 0] * rewards + rdp.letters[:, 2], seen.T)
    met: Float = counts.reshape(rdp.n_states, n, rewards)
    usual = met.sum(axis=0) + 0.5
    usual /= usual.sum(axis=1, keepdims=True)
    places = StateTracker.of(rdp).along(episodes)
    met = np.concatenate([met, np.zeros((int(places.max()) + 1, n, rewards))])[: max(rdp.n_states, places.max() + 1)]
    cost = -np.log2((met + usual) / (met.sum(axis=2, keepdims=True) + 1))
    total = np.zeros(episodes.n)
    for t in range(1, episodes.horizon + 1):
        action, _, reward = episodes.letters[episodes.word[t]].T
        total += np.where(action > PAD, cost[places[t - 1], action, reward], 0.0)
    return total
