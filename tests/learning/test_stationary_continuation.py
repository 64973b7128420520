"""Continued automata, and logs whose logger learned while it acted."""

from __future__ import annotations

import numpy as np
import pytest

from suffice.automata.compare import compare
from suffice.data.alphabet import Alphabet
from suffice.data.episodes import Episodes
from suffice.domains.simulation import simulate
from suffice.learning.adact_h import Settings
from suffice.learning.stationary.continuation import continue_stationary
from suffice.learning.stationary.learner import learn_stationary

ADAPTIVE = Settings(adaptive_logger=True)


def drifting_log(seed: int, n: int = 1200, horizon: int = 5) -> Episodes:
    """A memoryless process whose logger remembers its first observation, and changes over the log."""
    rng = np.random.default_rng(seed)
    alphabet = Alphabet(("a", "b"), ("o",), ((0,), (1,)), (0.0, 1.0))
    observation = rng.integers(1, 3, (horizon + 1, n))
    likes = np.where(observation[0] == 1, np.linspace(0.05, 0.95, n), np.linspace(0.95, 0.05, n))
    action = 2 + (rng.random((horizon + 1, n)) < likes)
    reward = (rng.random((horizon + 1, n)) < 0.5).astype(np.int64)
    action[0], reward[0], observation[-1] = 0, 0, 0
    return Episodes.from_steps(alphabet, action, observation, reward)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_learn_stationary_ignores_choices_of_an_adaptive_logger(seed: int) -> None:
    log = drifting_log(seed)
    assert learn_stationary(log).rdp.n_states > 2
    assert learn_stationary(log, ADAPTIVE).rdp.n_states == 2  # the beginning, and one state


def test_learn_stationary_of_an_adaptive_logger_finds_the_states_that_outcomes_show() -> None:
    log = simulate("mini-hall", 4000, rng=3)
    assert compare(learn_stationary(log, ADAPTIVE).rdp, learn_stationary(log).rdp) is None


def test_continue_stationary_keeps_transitions_and_counts_all_episodes() -> None:
    log = simulate("corridor", 300, rng=1)
    earlier = learn_stationary(log[:150].compact(), ADAPTIVE)
    found = continue_stationary(log, earlier.rdp, earlier.decisions, ADAPTIVE)
    assert compare(found.rdp, learn_stationary(log, ADAPTIVE).rdp) is None
    assert found.rdp.counts[0].sum() == 300


def test_continue_stationary_adds_transitions_and_states_that_only_new_episodes_show() -> None:
    log = simulate("mini-hall", 5000, rng=4)
    earlier = learn_stationary(log[:400].compact(), ADAPTIVE)
    found = continue_stationary(log, earlier.rdp, earlier.decisions, ADAPTIVE)
    assert found.rdp.n_states > earlier.rdp.n_states
    assert not found.rdp.unseen_decisions(log).any()


def test_continue_stationary_of_the_same_log_changes_nothing() -> None:
    log = simulate("corridor", 300, rng=1)
    earlier = learn_stationary(log)
    found = continue_stationary(log, earlier.rdp, earlier.decisions)
    assert np.array_equal(found.rdp.tau, earlier.rdp.tau)
    assert np.array_equal(found.rdp.counts, earlier.rdp.counts)
