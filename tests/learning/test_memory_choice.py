"""`surprise` agrees with its definition, and `is_stationary` chooses the automaton that fits the process."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pytest

from oracle import random_episodes
from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import DUMMY, STOP
from suffice.data.episodes import Episodes
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import MemoryLimitError
from suffice.learning import memory_choice
from suffice.learning.adact_h import Settings, adact_h
from suffice.learning.layers import learn_layers
from suffice.learning.memory_choice import CLEAR_STANDARD_ERRORS, HELD_OUT, Stationarity, is_stationary, surprise
from suffice.learning.stationary.learner import learn_stationary
from support.samples import of_one_feature, rising


@cache
def log(seed: int) -> Episodes:
    rng = np.random.default_rng(seed)
    how: dict[str, Any] = {"early_end": 0.3 * (seed % 2), "weighted": seed % 3 == 0}
    return random_episodes(rng, int(rng.integers(2, 6)), 2, 3, 2, 3, 120, **how)


def by_definition(rdp: RDP, episodes: Episodes) -> list[float]:
    """Return the bits of each episode, by the counts of its states from step 1 on, or of the most similar state.

    Of the last step only action and reward count, with the counts of the last step. A lost history has no counts; then
    all letters are as probable as in the whole log.
    """
    letters = [tuple(letter) for letter in rdp.letters.tolist()]
    symbols = [tuple(symbol) for symbol in rdp.symbols.tolist()]
    layer = [0 if rdp.stationary else t for t, n in enumerate(rdp.layers.tolist()) for _ in range(n)]
    met = {(q, x): int(k) for q, row in enumerate(rdp.counts.tolist()) for x, k in zip(letters, row, strict=True)}
    cut = (
        {}
        if rdp.cut is None
        else {(q, x): int(rdp.cut[q, i]) for q in range(rdp.n_states) for i, x in enumerate(letters)}
    )
    tau = {
        (q, y): int(rdp.tau[q, i])
        for q in range(rdp.n_states)
        for i, y in enumerate(symbols)
        if rdp.tau[q, i] != UNSEEN
    }
    seen = {x: sum(met[q, x] for q in range(rdp.n_states)) + 0.5 for x in letters}

    def like(t: int, y: Any) -> int | None:
        arrived: Counter[int] = Counter()
        for (q, z), target in tau.items():
            if z == y and (rdp.stationary or layer[q] == t):
                arrived[target] += sum(met[q, x] for x in letters if x[:2] == y)
        return min(arrived, key=lambda p: (-arrived[p], p)) if arrived.total() else None

    found = []
    for column in episodes.word.T.tolist():
        bits, q = 0.0, 0  # type: float, int | None
        for t, x in enumerate([letters[code] for code in column[:-1]]):
            if t:
                visits = 0 if q is None else sum(met[q, z] for z in letters)
                times = 0 if q is None else met[q, x]
                bits -= math.log2((times + seen[x] / sum(seen.values())) / (visits + 1))
            q = tau.get((q, x[:2]), like(t, x[:2])) if q is not None else like(t, x[:2])
        a, _, r = letters[column[-1]]
        alike = [z for z in letters if (z[0], z[2]) == (a, r)]
        here = {z: 0 if q is None else met[q, z] + cut.get((q, z), 0) for z in letters}
        expected = sum(seen[z] for z in alike) / sum(seen.values())
        bits -= math.log2((sum(here[z] for z in alike) + expected) / (sum(here.values()) + 1))
        found.append(bits)
    return found


@pytest.mark.parametrize("seed", [0, 1, 2, 3, 5, 6])
def test_surprise_agrees_with_definition(seed: int) -> None:
    """Checked on the training episodes, and on others with unseen histories."""
    episodes = log(seed)
    few = episodes.columns(np.arange(6))
    for rdp in (adact_h(few, Settings(delta=0.3)).rdp, learn_stationary(few, Settings(delta=0.3)).rdp):
        assert (rdp.run_all(episodes) == UNSEEN).any(), "some histories must be unseen"
        assert surprise(rdp, few) == pytest.approx(by_definition(rdp, few), rel=1e-9)
        assert surprise(rdp, episodes) == pytest.approx(by_definition(rdp, episodes), rel=1e-9)


def test_surprise_is_zero_for_certain_steps() -> None:
    action = np.full((6, 400), 2)
    observation = np.ones_like(action)
    action[0], observation[-1] = DUMMY, STOP
    rewards = np.zeros_like(action)
    episodes = Episodes.from_steps(of_one_feature(1), action, observation, rewards)
    rdp = learn_stationary(episodes).rdp
    assert surprise(rdp, episodes) == pytest.approx(np.zeros(400), abs=0.01)


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_is_stationary_compares_costs_of_held_out_episodes(seed: int) -> None:
    """Weighted means over episodes, and the standard error of the mean difference."""
    episodes, settings = log(seed), Settings(delta=0.01)
    found = is_stationary(episodes, settings, rng=np.random.default_rng(7))
    some, others, _ = episodes.divide(HELD_OUT, np.random.default_rng(7))
    assert others.total == round(0.3 * episodes.total)
    in_layers, stationary = learn_layers(some, settings).rdp, learn_stationary(some, settings).rdp
    assert found.states == (in_layers.n_states, stationary.n_states)
    weights = [1] * others.n if others.weight is None else others.weight.tolist()
    costs = [
        [bits for bits, k in zip(by_definition(rdp, others), weights, strict=True) for _ in range(k)]
        for rdp in (in_layers, stationary)
    ]
    assert found.layered == pytest.approx(np.mean(costs[0])) and found.tied == pytest.approx(np.mean(costs[1]))
    differences = np.subtract(*costs)
    assert found.error == pytest.approx(np.std(differences, ddof=1) / math.sqrt(len(differences)))
    assert found == is_stationary(episodes, settings, rng=np.random.default_rng(7)), "the result is reproducible"


def test_is_stationary_without_second_look_uses_unrefined_layers() -> None:
    episodes = log(1)
    some = episodes.divide(HELD_OUT, np.random.default_rng(0))[0]
    found = is_stationary(episodes, Settings(delta=0.3), second_look=False)
    assert found.states[0] == adact_h(some, Settings(delta=0.3)).rdp.n_states


def test_is_stationary_reports_progress() -> None:
    reported: list[tuple[int, int]] = []
    is_stationary(log(1), progress=lambda done, of: reported.append((done, of)))
    shares = [done / of for done, of in reported]
    assert shares == sorted(shares) and shares[-1] == 1 and 0.5 in shares


@pytest.mark.parametrize(
    ("gap", "stationary"),
    [(-1.0, True), (0.0, True), (CLEAR_STANDARD_ERRORS * 0.1, True), (CLEAR_STANDARD_ERRORS * 0.1 + 1e-9, False)],
)
def test_stationarity_chooses_layers_only_if_clearly_better(gap: float, stationary: bool) -> None:
    found = Stationarity(0.0, gap, 0.1, (30, 5))
    assert found.stationary == stationary == found.summary()["stationary"]
    assert found.sentence.startswith("Stationary automaton: " if stationary else "Layered automaton: ")
    assert "bits with 5 stationary states" in found.sentence and "bits with 30 states in layers" in found.sentence
    assert set(found.summary()) == {
        "stationary",
        "layered_bits",
        "tied_bits",
        "error_bits",
        "layered_states",
        "tied_states",
    }


def alternating(n: int, horizon: int = 6) -> Episodes:
    """Draw a log where one action is rewarded at odd steps, the other at even ones: two states suffice."""
    rng = np.random.default_rng(1)
    action = rng.integers(2, size=(horizon + 1, n)) + 2
    observation = np.ones_like(action)
    action[0], observation[-1] = DUMMY, STOP
    reward = (action - 2 == np.arange(horizon + 1)[:, None] % 2).astype(np.int64)
    reward[0] = 0
    return Episodes.from_steps(of_one_feature(1), action, observation, reward)


def test_is_stationary_chooses_layers_for_process_that_depends_on_step() -> None:
    for n in (300, 1000):
        found = is_stationary(rising(n))
        assert not found.stationary and found.tied - found.layered > 2 * found.error
        assert found.states[0] == 10 and found.states[1] <= 5, "a stationary automaton cannot count these steps"


def test_is_stationary_chooses_stationary_for_alternating_process() -> None:
    """A stationary automaton is chosen although the process depends on the step."""
    found = is_stationary(alternating(500))
    assert found.stationary and found.states[1] == 3


def test_is_stationary_chooses_stationary_for_t_maze() -> None:
    episodes = TMaze(length=3).simulate(600, 9, np.random.default_rng(0))
    found = is_stationary(episodes)
    assert found.stationary and found.states[0] > 2 * found.states[1]
    assert found.tied < found.layered, "600 episodes are too few for layers"
    weighted = replace(episodes, weight=np.full(episodes.n, 2))
    assert is_stationary(weighted).stationary


@pytest.mark.parametrize("episodes", [alternating(19), alternating(500, 1)], ids=["few", "short"])
def test_is_stationary_chooses_layers_untested_for_few_or_short_episodes(episodes: Episodes) -> None:
    found = is_stationary(episodes)
    assert not found.stationary and found.summary()["tied_bits"] is None
    assert found.sentence.startswith("Layered automaton: with one decision per episode, or fewer than 20 episodes")
    assert is_stationary(alternating(20)).states[1] > 0


def test_is_stationary_chooses_layers_if_a_stationary_automaton_does_not_fit(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object) -> None:
        raise MemoryLimitError("too large")

    monkeypatch.setattr(memory_choice, "learn_stationary", refuse)
    found = is_stationary(alternating(100))
    assert not found.stationary and found.summary()["tied_bits"] is None and found.states[0] > 0
    assert found.sentence.startswith("Layered automaton: learning a stationary one needs more memory than the limit")
