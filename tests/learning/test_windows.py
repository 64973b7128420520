"""Windows of the last observations agree with their definition, and are the right memory where they should be."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import Any

import numpy as np
import pytest

import suffice
from oracle import random_episodes
from oracle.windows import window_counts
from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.episodes import Episodes
from suffice.errors import MemoryLimitError, SettingsError
from suffice.learning.adact_h import Settings
from suffice.learning.windows import learn_window, longest_window, windows_of


@cache
def log(seed: int) -> Episodes:
    rng = np.random.default_rng(seed)
    how: dict[str, Any] = {"early_end": 0.3 * (seed % 2), "weighted": seed % 3 == 0}
    return random_episodes(rng, int(rng.integers(1, 6)), 2, 3, 2, 3, 80, **how)


def rows(counts: Any) -> Counter[tuple[int, ...]]:
    return Counter(tuple(row) for row in counts.tolist() if any(row))


def rows_by_definition(rdp: RDP, episodes: Episodes, length: int) -> tuple[Counter[tuple[int, ...]], ...]:
    letters = [tuple(letter) for letter in rdp.letters.tolist()]
    found = []
    for table in window_counts(episodes, length):
        windows = {window for window, _ in table}
        found.append(Counter(tuple(table[window, letter] for letter in letters) for window in windows))
    return tuple(found)


@pytest.mark.parametrize("length", [0, 1, 2, 3])
@pytest.mark.parametrize("seed", range(6))
def test_learn_window_counts_agree_with_definition(seed: int, length: int) -> None:
    """States have no names, so that the rows of their counts are compared as multisets."""
    episodes = log(seed)
    rdp = learn_window(episodes, length).rdp
    before, last = rows_by_definition(rdp, episodes, length)
    assert rdp.cut is not None and rdp.stationary
    assert rows(rdp.counts) == before
    assert rows(rdp.cut) == last


@pytest.mark.parametrize("seed", range(4))
def test_learn_window_leads_equal_windows_to_one_state(seed: int) -> None:
    episodes = log(seed)
    rdp = learn_window(episodes, 2).rdp
    states, seen = rdp.run_all(episodes), episodes.letters[:, 1][episodes.word]
    assert (states != UNSEEN).all()
    known: dict[tuple[int, ...], int] = {}
    for t in range(2, len(states)):
        for n in range(episodes.n):
            if seen[t - 1, n]:
                window = (int(seen[t - 2, n]), int(seen[t - 1, n]))
                assert known.setdefault(window, int(states[t, n])) == states[t, n]
    assert len(set(known.values())) == len(known)


def test_learn_window_does_not_depend_on_order_or_threads() -> None:
    episodes = log(2)
    rdp = learn_window(episodes, 2).rdp
    shuffled = episodes.columns(np.random.default_rng(0).permutation(episodes.n))
    for other in (learn_window(shuffled, 2).rdp, learn_window(episodes, 2, Settings(threads=3)).rdp):
        assert np.array_equal(other.tau, rdp.tau) and np.array_equal(other.counts, rdp.counts)


def test_learn_window_refuses_tables_that_do_not_fit_and_bad_lengths() -> None:
    many = random_episodes(np.random.default_rng(0), 2, 20, 2000, 2, 3, 4000)
    with pytest.raises(MemoryLimitError, match="last 2 observations has"):
        learn_window(many, 2, Settings(memory=1 << 20))
    for length in (-1, 1.5):
        with pytest.raises(SettingsError, match="is not a number of observations"):
            learn_window(log(0), length)  # type: ignore[arg-type]


def test_windows_of_is_empty_if_windows_cannot_be_numbered() -> None:
    assert len(windows_of(log(0), longest_window(log(0).alphabet.n_observations) + 1)) == 0


def test_learn_window_plans_the_optimum_of_repeat_previous() -> None:
    """The last two observations suffice, and one does not."""
    domain = suffice.make("repeat-previous", k=2)
    model = domain.model(6)
    episodes = suffice.simulate(model, 2_000, 6, np.random.default_rng(0))
    values = []
    for length in (1, 2):
        rdp = learn_window(episodes, length).rdp.layered()
        plan = suffice.plan_on(rdp, suffice.Planning())
        policy = suffice.Controller.on_automaton(rdp, model.alphabet, plan.actions)
        values.append(float(suffice.exact_value(model, policy, 6).mean_return))
    assert values[0] == pytest.approx(0.25) and values[1] == pytest.approx(1.0)
