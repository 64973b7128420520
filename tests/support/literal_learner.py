"""Compare learned automata with those of the literal learner in `oracle`."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from oracle import Conjunctions, Languages, Prefixes, random_episodes
from oracle import adact_h as literal
from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.episodes import Episodes
from suffice.evidence.bounds import BOUNDS
from suffice.evidence.prefix_tree import PrefixCounts
from suffice.learning.adact_h import Learned, Settings, adact_h
from support.samples import languages

CLOSE = {"rel_tol": 1e-9, "abs_tol": 1e-9}
FAMILIES = [(i, j, k) for i in (1, 2) for j in (1, 2) for k in (1, 2)]
PAIRS = {f"{i},{j},{k}": (Languages(i, j, k), languages(f"{i},{j},{k}")) for i, j, k in FAMILIES}
PAIRS |= {"conjunctions": (Conjunctions(), languages("conjunctions")), "prefixes": (Prefixes(), PrefixCounts())}

# levels with many digits, so that no distance equals a threshold by accident
SHAPES: dict[str, dict[str, Any]] = {
    "plain": {"delta": 0.3137},
    "weights": {"delta": 0.05317, "weighted": True, "early_end": 0.3},
    "early ends, cut": {"delta": 0.4171, "early_end": 0.3, "cut": 0.1713},
    "features": {"delta": 0.1713, "n_features": 2, "cut": 0.0831},
    "declared": {"delta": 1.7e-3, "declared": True, "n_features": 2},
    "confidence": {"delta": 0.5, "confidence": 0.8137, "early_end": 0.1, "weighted": True},
}


@cache
def random_log(name: str, shape: str, seed: int, size: int = 1) -> Episodes:
    """Return a random log, small where literal families are slow: words and Boolean levels grow with the patterns."""
    options = SHAPES[shape]
    rng = np.random.default_rng([seed, *f"{name} {shape}".encode()])
    wanted = {k: v for k, v in options.items() if k in ("weighted", "early_end", "declared", "n_features")}
    horizon, n = int(rng.integers(1, 4)), int(rng.integers(100, 400 * size))
    observations, rewards = options.get("n_features", 1) + 1, 2
    if name in ("1,2,2", "2,1,2", "2,2,1", "2,2,2"):
        horizon, n, observations, rewards = 2, 2 * n, 1 + seed % 2, 2 - seed % 2
        wanted["n_features"] = 1
    return random_episodes(rng, horizon, 2, observations, rewards, 3, n, **wanted)


def assert_agreement(
    episodes: Episodes, name: str, bound: str, options: dict[str, Any], ended_apart: bool = False
) -> Learned:
    slow, fast = PAIRS[name]
    delta, cut, confidence = options["delta"], options.get("cut", 0.0), options.get("confidence")
    learned = adact_h(episodes, Settings(fast, BOUNDS[bound], delta, confidence, cut), ended_apart=ended_apart)
    level = (lambda c: (1 - confidence) / ((episodes.horizon + 1) * c)) if confidence else delta
    truth = literal(episodes, slow, bound, level, cut, ended_apart=ended_apart)

    rdp = learned.rdp
    assert rdp.layers.tolist() == truth.layers
    symbols = [tuple(codes) for codes in rdp.symbols.tolist()]
    assert dict(transitions(rdp)) == truth.tau
    assert meetings(rdp) == walk(episodes, truth.tau)
    for size, log_size in zip(learned.languages, truth.log_sizes, strict=False):
        assert math.isclose(math.log(size), log_size, **CLOSE)
    for found, right in zip(learned.decisions, truth.decisions, strict=True):
        verdict = found.placement
        assert (found.layer, (found.state, symbols[found.symbol]), found.n) == (right.t, right.candidate, right.n)
        assert (verdict.promoted, verdict.nearest) == (right.promoted, right.nearest)
        assert verdict.target == truth.tau[found.layer - 1, found.state, symbols[found.symbol]]
        distinct = right.threshold is not None and right.distance >= right.threshold
        assert verdict.forced == (distinct and not right.promoted)
        if right.distance is not None:
            assert math.isclose(verdict.distance, right.distance, **CLOSE)
        if right.threshold is not None and right.threshold < math.inf:
            assert math.isclose(verdict.threshold, right.threshold, **CLOSE)
    return learned


def transitions(rdp: RDP) -> Iterator[tuple[tuple[int, int, tuple[int, int]], int]]:
    """Return τ in the form of the oracle: (t, number of q in its layer, ao) → number in the next layer."""
    layer, offsets = rdp.layer_of(), rdp.offsets()
    for q, y in zip(*np.nonzero(rdp.tau != UNSEEN), strict=True):
        t = int(layer[q])
        yield (t, int(q - offsets[t]), tuple(rdp.symbols[y].tolist())), int(rdp.tau[q, y] - offsets[t + 1])


def meetings(rdp: RDP) -> dict[tuple[int, int, int], int]:
    layer, offsets = rdp.layer_of(), rdp.offsets()
    return {
        (int(layer[q]), int(q - offsets[layer[q]]), int(x)): int(rdp.counts[q, x])
        for q, x in zip(*np.nonzero(rdp.counts), strict=True)
    }


def walk(episodes: Episodes, tau: dict[Any, int]) -> dict[tuple[int, int, int], int]:
    """Count how often each state meets each letter, episode by episode."""
    counts: Counter[tuple[int, int, int]] = Counter()
    weights = [1] * episodes.n if episodes.weight is None else episodes.weight.tolist()
    for column, weight in zip(episodes.word.T.tolist(), weights, strict=True):
        q = 0
        for t, x in enumerate(column):
            counts[t, q, x] += weight
            q = tau[t, q, tuple(episodes.letters[x, :2].tolist())]
    return counts
