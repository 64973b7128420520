"""`outcome_bits` agrees with its definition on windows."""

from __future__ import annotations

import math
from collections import Counter
from functools import cache

import numpy as np
import pytest

from oracle import random_episodes
from oracle.adact import spell
from oracle.windows import bits, window_counts
from suffice.data.alphabet import STOP
from suffice.data.episodes import Episodes
from suffice.learning.adact_h import Settings
from suffice.learning.layers import learn_layers
from suffice.learning.prediction import outcome_bits
from suffice.learning.windows import learn_window


@cache
def log(seed: int) -> Episodes:
    rng = np.random.default_rng(seed)
    return random_episodes(rng, 4, 2, 3, 2, 3, 60, early_end=0.3 * (seed % 2), weighted=seed % 3 == 0)


@pytest.mark.parametrize("seed", range(4))
def test_outcome_bits_agree_with_definition(seed: int) -> None:
    """Of the training episodes, with the last observation as the state."""
    episodes = log(seed)
    before, last = window_counts(episodes, 1)
    letters = [(a, o, r) for a, o, r in episodes.letters.tolist()]
    seen = {x: sum(n for (_, y), n in before.items() if y == x) + 0.5 for x in letters}
    usual = {x: n / sum(seen.values()) for x, n in seen.items()}
    expected = []
    for steps in spell(episodes):
        total = 0.0
        for t in range(1, len(steps)):
            window, cut = (steps[t - 1][1],), t == len(steps) - 1
            counts: Counter[tuple[int, int, int]] = Counter()
            for table in (before, last) if cut else (before,):
                counts.update({x: n for (w, x), n in table.items() if w == window})
            total -= math.log2(bits(counts, usual, steps[t], cut))
        expected.append(total)
    assert outcome_bits(learn_window(episodes, 1).rdp, episodes) == pytest.approx(expected, rel=1e-9)
    assert STOP == 0


def test_outcome_bits_do_not_depend_on_how_the_logger_acts() -> None:
    """Outcomes that are certain given the action cost nothing, however the actions are chosen."""
    rng = np.random.default_rng(0)
    action = rng.integers(2, 4, (5, 500))
    action[0] = 0
    observation = np.where(action == 3, 2, 1)
    observation[-1] = 0
    reward = (action == 3).astype(np.int64)
    episodes = Episodes.from_steps(log(0).alphabet, action, observation, reward)
    for rdp in (learn_window(episodes, 1).rdp, learn_layers(episodes, Settings()).rdp):
        assert outcome_bits(rdp, episodes).mean() < 0.1
