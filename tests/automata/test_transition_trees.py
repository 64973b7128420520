"""Decision trees for combinations of values that were never seen."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

import suffice
from oracle.transition_trees import predict
from suffice.automata.rdp import UNSEEN
from suffice.automata.state_tracker import StateTracker
from suffice.automata.transition_trees import TransitionTree

WHOLE = list(product((0, 1, 2), ("a", "b", "c"), (False, True)))


@pytest.mark.parametrize("seed", range(10))
def test_transition_tree_agrees_with_the_literal_tree(seed: int) -> None:
    rng = np.random.default_rng(seed)
    chosen = rng.permutation(len(WHOLE))[: int(rng.integers(1, 15))]
    examples = [WHOLE[i] for i in sorted(chosen)]
    states = rng.integers(3, 3 + int(rng.integers(1, 4)), len(examples)).astype(np.int32)
    times = rng.integers(0, 50, len(examples))
    tree = TransitionTree(examples, states, times)
    for observation in [*WHOLE, (5, "new", True), (-1, "a", False)]:
        assert tree.predict(observation) == predict(observation, examples, states.tolist(), times.tolist())


def test_transition_tree_repeats_its_examples_and_ignores_columns_without_effect() -> None:
    examples = [o for i, o in enumerate(WHOLE) if i % 2]
    following = np.array([7 if letter == "b" else 4 for _, letter, _ in examples], np.int32)
    tree = TransitionTree(examples, following, np.ones(len(examples), np.int64))
    assert [tree.predict(o) for o in WHOLE] == [7 if letter == "b" else 4 for _, letter, _ in WHOLE]


def learn_half(noise: int) -> suffice.Model:
    """Learn a maze whose observations have a further column, from half of the combinations of their values."""
    rng = np.random.default_rng(4)
    rows: dict[str, list[Any]] = {name: [] for name in ("episode", "step", "bit", "n", "action", "reward")}
    for number, episode in enumerate(suffice.simulate(suffice.make("t-maze", length=2), 4000, horizon=4, rng=4)):
        for step, (observation, action, reward) in enumerate(episode):
            bits = tuple(observation.values())
            while True:
                extra = int(rng.integers(noise))
                if (sum(bits) + extra) % 2:
                    break
            row = (number, step, "".join(map(str, bits)), extra, action, reward)
            for name, value in zip(rows, row, strict=True):
                rows[name].append(value)
    return suffice.learn(rows, observations="all", stationary=True)


def test_policy_keeps_its_value_where_half_of_the_combinations_were_never_seen() -> None:
    model = learn_half(4)
    assert len(model.rdp.alphabet.observations) <= 0.6 * 4 * len({o[0] for o in model.rdp.alphabet.observations})
    returns = []
    policy = model.policy(strict=False)
    rng = np.random.default_rng(1)
    maze = suffice.make("t-maze", length=2)
    for _ in range(300):
        policy.reset()
        outcome, total = _draw(maze.start(), rng), 0.0
        for _ in range(4):
            if outcome.state is None:
                break
            bits = "".join(map(str, outcome.observation))
            outcome = _draw(maze.step(outcome.state, policy.act((bits, int(rng.integers(4))))), rng)
            total += float(outcome.reward)
        returns.append(total)
    assert np.mean(returns) >= 0.95 * 4.0
    assert policy.fallbacks <= 0.02 * policy.steps


def _draw(outcomes: Any, rng: np.random.Generator) -> Any:
    outcomes = list(outcomes)
    chances = np.array([float(outcome.probability) for outcome in outcomes])
    return outcomes[int(rng.choice(len(outcomes), p=chances / chances.sum()))]


def test_state_tracker_follows_new_combinations_alike_in_all_its_forms() -> None:
    """One step at a time, along episodes and for all places at once."""
    train = suffice.read_log([[((i % 2, i % 3 // 2, 0), "go", i % 2), ((1, 1, i % 2), "go", 1)] for i in range(40)])
    rdp = suffice.learn(train, stationary=False).rdp
    tracker = StateTracker.of(rdp)
    new = suffice.read_log([[((i % 2, 1, 1), "go", 0), ((0, i % 2, 1), "go", 1)] for i in range(8)])
    places = tracker.along(new)
    predicted = 0
    for e in range(new.n):
        place = 0
        for t in range(new.horizon + 1):
            action, observation, _ = new.letters[new.word[t, e]]
            symbol = (new.alphabet.action(int(action)), new.alphabet.observation(int(observation)))
            assert tracker.places_after(symbol)[place] == tracker.after(place, symbol) == places[t, e]
            predicted += symbol not in tracker.known and tracker.predict(place, symbol) != UNSEEN
            place = int(places[t, e])
    assert predicted > 0
