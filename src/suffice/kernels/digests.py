"""A hash of many episodes that adds up, however they are divided."""

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import jit


@jit
def _scramble(z):
    """Every bit of the result depends on every bit given (the finish of splitmix64)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@jit
def mix(word, weight, first, ordered):
    """[2] the sums of two hashes of each episode, taken as often as its weight says; if `ordered`, of its place too."""
    total = np.zeros(2, np.uint64)
    weighted = weight.size > 0
    n = word.shape[1]
    state = np.empty((2, n), np.uint64)
    for e in range(n):
        place = np.uint64(first + e + 1) if ordered else np.uint64(0)
        state[0, e] = _scramble(place ^ np.uint64(0x9E3779B97F4A7C15))
        state[1, e] = _scramble(place ^ np.uint64(0xD1B54A32D192ED03))
    for t in range(word.shape[0]):
        for e in range(n):
            x = np.uint64(word[t, e])
            state[0, e] = _scramble(state[0, e] + x * np.uint64(0x9E3779B97F4A7C15) + np.uint64(1))
            state[1, e] = _scramble(state[1, e] ^ (x * np.uint64(0xD1B54A32D192ED03) + np.uint64(7)))
    for e in range(n):
        times = np.uint64(weight[e]) if weighted else np.uint64(1)
        total[0] += state[0, e] * times
        total[1] += state[1, e] * times
    return total
