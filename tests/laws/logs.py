"""Random logs and samples on which the laws are checked."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from hypothesis import strategies as st

from oracle import random_episodes
from suffice.data.alphabet import DUMMY
from suffice.data.episodes import Episodes
from support.samples import of_one_feature

LETTERS = list(product((2, 3), (0, 1), (0, 1)))  # two actions, o_⊥ and one observation, two rewards


def suffixes(length: int, letters: list[tuple[int, int, int]] = LETTERS) -> st.SearchStrategy[Any]:
    return st.tuples(*[st.sampled_from(letters)] * length)


def samples(length: int, letters: list[tuple[int, int, int]] = LETTERS) -> st.SearchStrategy[list[Any]]:
    return st.lists(suffixes(length, letters), min_size=1, max_size=6)


@st.composite
def small_logs(draw: st.DrawFn) -> Episodes:
    """Draw up to thirty episodes of one to three arbitrary steps, with or without weights."""
    horizon = draw(st.integers(1, 3))
    letters = list(product((2, 3), (0, 1, 2), (0, 1)))
    steps = draw(st.lists(suffixes(horizon, letters), min_size=1, max_size=30))
    codes = np.array([[(DUMMY, 1, 0), *suffix] for suffix in steps])
    weight = None
    if draw(st.booleans()):
        weight = np.array(draw(st.lists(st.integers(1, 5), min_size=len(steps), max_size=len(steps))))
    return Episodes.from_steps(of_one_feature(2), *np.moveaxis(codes, (2, 1), (0, 1)), weight)


@st.composite
def labels(draw: st.DrawFn, n: int) -> np.ndarray:
    """Draw a candidate for each of n episodes, so that none is empty."""
    drawn = draw(st.lists(st.integers(0, 4), min_size=n, max_size=n))
    return np.unique(drawn, return_inverse=True)[1].astype(np.uint32)


@st.composite
def logs(draw: st.DrawFn, weighted: bool | None = None) -> Episodes:
    """Draw 100 to 200 episodes of a random process of three states, enough to split some of its histories."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    how = {"early_end": 0.3 * draw(st.booleans()), "n_features": draw(st.integers(1, 2))}
    how["weighted"] = draw(st.booleans()) if weighted is None else weighted
    return random_episodes(rng, draw(st.integers(1, 3)), 2, 3, 2, 3, draw(st.integers(100, 200)), **how)
