"""What an agent explores: counts of tries against a literal count, and targets that are reached."""

from __future__ import annotations

from collections import Counter

import numpy as np

from suffice.domains.agent.exploration import Exploration
from suffice.domains.agent.knowledge import Knowledge
from suffice.domains.simulation import simulate
from suffice.learning.stationary.learner import learn_stationary
from suffice.models.model import Model


def test_exploration_counts_how_often_an_action_followed_a_transition() -> None:
    episodes = simulate("cookie", 200, rng=1)
    learned = learn_stationary(episodes)
    found = Exploration.of(learned.rdp, learned.decisions, episodes)
    literal: Counter[tuple[int, int, int]] = Counter()
    states = learned.rdp.run_all(episodes)
    for i in range(episodes.n):
        letters = episodes.letters[episodes.word[:, i]]
        for t in range(episodes.horizon):
            if letters[t + 1, 0] > 1:
                symbol = learned.rdp.symbols_in(episodes)[episodes.word[t, i]]
                literal[int(states[t, i]), int(symbol), int(letters[t + 1, 0]) - 2] += 1
    edges = zip(found.transitions.state[found.places], found.transitions.symbol[found.places], strict=True)
    expected = [[literal[q, y, a] for a in range(found.tries.shape[1])] for q, y in edges]
    assert found.tries.tolist() == expected


def test_exploration_prefers_targets_that_were_tried_less_often() -> None:
    episodes = simulate("cookie", 200, rng=1)
    learned = learn_stationary(episodes)
    found = Exploration.of(learned.rdp, (), episodes)
    assert np.isclose(found.weights.sum(), 1)
    chance = found.reaching.chance[:, -1]
    for k in np.flatnonzero(chance > 0):
        order = np.argsort(found.tries[k], kind="stable")
        assert (np.diff(found.weights[k][order]) <= 1e-15).all()
    drawn = found.draw(np.random.default_rng(1))
    assert drawn is not None
    assert found.weights[drawn.policy, drawn.action] > 0


def test_knowledge_acts_as_its_plan() -> None:
    episodes = simulate("corridor", 300, rng=1)
    learned = learn_stationary(episodes)
    known = Knowledge.of(learned, Model.of(learned, episodes).encoder, episodes)
    layered, stands = learned.rdp.unroll()
    layer = layered.layer_of()
    for place in range(1, len(stands) - 1):
        assert known.best_action(int(layer[place]), int(stands[place])) == known.plan.actions[place]
    assert known.best_action(3, learned.rdp.n_states) == -1  # a lost history
