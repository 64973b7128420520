"""Frequent prefixes as rows: counts agree with the definition, and limits cut lengths, not results."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from oracle import random_episodes
from oracle.adact import spell
from oracle.prefixes import frequent_prefixes
from suffice.data.episodes import Episodes, weights
from suffice.domains.tasks.delayed_match import DelayedMatch
from suffice.evidence import prefix_rows
from suffice.evidence.adaptive import LADDER, AdaptiveLanguages
from suffice.evidence.languages import Family
from suffice.evidence.prefix_rows import PREFIXES, FutureWords, PrefixTable, affordable_steps
from suffice.evidence.statistic import StatisticOptions
from suffice.learning.adact_h import Settings, adact_h
from suffice.learning.layers import learn_layers
from support.samples import coins, everything


def random_log(seed: int) -> Episodes:
    rng = np.random.default_rng(seed)
    return random_episodes(rng, int(rng.integers(1, 5)), 2, 3, 2, 3, 150, early_end=0.2, weighted=seed % 2 == 0)


def table_of(episodes: Episodes, t: int, candidate: Any, n: int, cuts: tuple[int, ...] = ()) -> PrefixTable:
    """Count the prefixes from step t, with the episodes divided at `cuts`."""
    limits = [0, *cuts, episodes.n]
    parts = []
    for a, b in pairwise(limits):
        some = episodes.columns(slice(a, b))
        parts.append(FutureWords(candidate[a:b].copy(), some.word[t:], weights(some)))
    return PrefixTable.of(parts, n, len(episodes.letters))


@pytest.mark.parametrize("fewest", [1, 5, 40])
@pytest.mark.parametrize("seed", range(6))
def test_prefix_table_agrees_with_the_definition(seed: int, fewest: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(prefix_rows, "FEWEST", fewest)
    episodes = random_log(seed)
    candidate = np.random.default_rng(seed).integers(0, 3, episodes.n).astype(np.uint32)  # of four, one is empty
    log, weight = spell(episodes), [1] * episodes.n if episodes.weight is None else episodes.weight.tolist()
    code = {letter: x for x, letter in enumerate(map(tuple, episodes.letters.tolist()))}
    for t in range(1, episodes.horizon + 1):
        found = table_of(episodes, t, candidate, 4)
        right = frequent_prefixes([(steps[t:], n) for steps, n in zip(log, weight, strict=True)], fewest)
        assert found.steps == episodes.horizon - t + 1
        assert found.prefixes == tuple(tuple(code[letter] for letter in prefix) for prefix in right)
        for prefix, column in zip(right, found.rows.T.tolist(), strict=True):
            members = [e for e in range(episodes.n) if log[e][t : t + len(prefix)] == prefix]
            assert column == [sum(weight[e] for e in members if candidate[e] == c) for c in range(4)]
        divided = table_of(episodes, t, candidate, 4, cuts=(1, 60))
        assert divided.prefixes == found.prefixes and np.array_equal(divided.rows, found.rows)


@pytest.mark.parametrize("limit", ["MOST_CELLS", "MOST_COUNTS"])
def test_prefix_table_has_shorter_prefixes_if_the_limits_are_low(limit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    episodes = coins(np.random.default_rng(0), 3, 1_000)
    candidate = np.zeros(episodes.n, np.uint32)
    whole = table_of(episodes, 1, candidate, 1)
    deepest = sum(len(prefix) == whole.steps for prefix in whole.prefixes)
    room = {"MOST_CELLS": len(episodes.letters) * deepest, "MOST_COUNTS": len(whole.prefixes) - 1}
    monkeypatch.setattr(prefix_rows, limit, room[limit])
    short = table_of(episodes, 1, candidate, 1)
    assert 0 < short.steps < whole.steps
    assert short.prefixes == tuple(prefix for prefix in whole.prefixes if len(prefix) <= short.steps)


def test_affordable_steps_fall_with_the_size_of_the_log(monkeypatch: pytest.MonkeyPatch) -> None:
    episodes = random_log(3)
    sizes = [episodes.n * (episodes.horizon + 1) * steps for steps in (1, 2, 3)]
    found = []
    for size in sizes:
        monkeypatch.setattr(prefix_rows, "MOST_STEPS", size)
        found.append(affordable_steps(episodes.outline))
    assert found == [0, 2, 3]  # single steps alone would add nothing to conjunctions


@pytest.mark.parametrize(("n", "seeds"), [(5_000, 5), (1_000_000, 1)])
def test_default_layers_find_all_states_of_delayed_match(n: int, seeds: int) -> None:
    for seed in range(seeds):
        episodes = DelayedMatch().simulate(n, 5, np.random.default_rng(seed))
        learned = learn_layers(episodes, Settings())
        assert learned.rdp.layers.tolist() == [1, 2, 2, 2, 2, 2, 1]
        assert learned.promise.second_steps is None
        adaptive = adact_h(episodes, Settings(AdaptiveLanguages()))
        assert adaptive.rdp.layers.tolist() == [1, 2, 2, 2, 2, 2, 1]
        assert LADDER[adaptive.needed.layers[0]] == PREFIXES and adaptive.needed.left_out == ()
        blind = adact_h(episodes, Settings(AdaptiveLanguages(LADDER[:-2])))
        assert blind.rdp.n_states == 7


def test_learners_say_which_sequences_they_did_not_compare(monkeypatch: pytest.MonkeyPatch) -> None:
    episodes = DelayedMatch().simulate(2_000, 5, np.random.default_rng(0))
    for steps in (2, 1, 5):
        monkeypatch.setattr(prefix_rows, "MOST_STEPS", steps * 2_000 * 6)
        promise, found = (learned := learn_layers(episodes, Settings())).promise, learned.rdp.n_states
        if steps == 5:
            assert found == 12 and promise.second_steps is None and "Sequences" not in promise.second_sentence
            continue
        assert found < 12 and promise.second_steps == (steps if steps > 1 else 0)
        assert f"Sequences of more than {steps} steps were not compared" in promise.second_sentence
        adaptive = adact_h(episodes, Settings(AdaptiveLanguages((Family(), PREFIXES))))
        assert adaptive.rdp.n_states < 12 and [str(name) for name in adaptive.needed.left_out] == [
            "prefixes" if steps == 1 else "prefixes of more than 2 steps"
        ]


@pytest.mark.parametrize("threads", [1, 2])
def test_prefix_rungs_give_the_same_result_on_any_number_of_threads(threads: int) -> None:
    episodes = DelayedMatch().simulate(20_000, 5, np.random.default_rng(1))
    order = np.random.default_rng(2).permutation(episodes.n)
    for statistic in (AdaptiveLanguages((Family(), PREFIXES)), AdaptiveLanguages()):
        one = adact_h(episodes, Settings(statistic))
        other = adact_h(episodes.columns(order), Settings(statistic, threads=threads))
        assert everything(one) == everything(other)


def test_statistic_options_make_a_ladder_with_prefixes_again() -> None:
    made = AdaptiveLanguages((Family(), PREFIXES))
    assert made.options.make() == made
    assert StatisticOptions(family="adaptive").make().ladder[-1] == PREFIXES


def test_prefixes_of_the_refinement_rarely_split_logs_without_memory() -> None:
    """At δ = 0.05 at most 5 % of the tests may split, within three standard errors."""
    split = tests = 0
    for seed in range(150):
        learned = learn_layers(coins(np.random.default_rng(seed), 2, 200, effect=0.0), Settings(delta=0.05))
        split += learned.rdp.n_states > learned.rdp.horizon + 2
        tests += learned.promise.second_tests
    assert tests >= 150 and split <= 0.05 * tests + 3 * (0.05 * tests) ** 0.5
