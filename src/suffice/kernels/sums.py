"""Sums of returns and of hashes that do not depend on how episodes are divided."""

from __future__ import annotations

import numpy as np

from suffice.kernels import small
from suffice.kernels.jit import at, jit, jit_unless_small


@jit_unless_small(small.add_values)
def add_values(word, values, total):
    """Add the values of its letters to the total of each episode, in the order of the steps."""
    for t in range(word.shape[0]):
        for e in range(total.size):
            total[e] += values[word[t, e]]


@jit_unless_small(small.squares)
def squares(numbers, square, rest):
    """Compute squares and their rounding errors; return False if one of them may exceed the range of floats."""
    for e in range(numbers.size):
        x = numbers[e]
        if abs(x) > 2.0**480 or (x != 0 and abs(x) < 2.0**-480):
            return False
        upper = x * (2.0**27 + 1)
        upper = upper - (upper - x)  # the upper half of the significand
        lower = x - upper
        square[e] = x * x
        rest[e] = ((upper * upper - square[e]) + 2 * upper * lower) + lower * lower
    return True


@jit_unless_small(small.significands)
def significands(bits, times, half):
    """Count floats by sign and exponent, and add up the halves of their significands, [3, 2^12]."""
    sums = np.zeros((3, 1 << 12), dtype=np.int64)
    below = (1 << half) - 1
    for e in range(bits.size):
        kind, n = at((bits[e] >> 52) & 0xFFF), times[e] if times.size > 0 else 1
        sums[0, kind] += n
        sums[1, kind] += n * ((bits[e] >> half) & below)
        sums[2, kind] += n * (bits[e] & below)
    return sums


@jit
def _scramble(z):
    """Mix the bits of a number, so that every bit of the result depends on all of them (end of splitmix64)."""
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@jit_unless_small(small.mix)
def mix(word, weight, length, first, ordered):
    """Return the sums of two hashes of each episode times its weight, [2]; if `ordered`, of its position too.

    The length counts if steps were not observed, that is if it is below that of the word.
    """
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
        if length.size > 0 and length[e] < word.shape[0]:
            for i in range(2):
                state[i, e] = _scramble(state[i, e] + np.uint64(length[e]))
        times = np.uint64(weight[e]) if weighted else np.uint64(1)
        total[0] += state[0, e] * times
        total[1] += state[1, e] * times
    return total


@jit_unless_small(small.hash_episodes)
def hash_episodes(word, of_letter):
    """Return a hash of each episode, [N], from those of its letters in their order; 0 leaves a letter out."""
    n = word.shape[1]
    state = np.full(n, np.uint64(0x9E3779B97F4A7C15))
    for begin in range(0, n, 4096):  # few enough for the cache
        for t in range(word.shape[0]):
            for e in range(begin, min(begin + 4096, n)):
                x = of_letter[word[t, e]]
                if x != 0:
                    state[e] = _scramble(state[e] + x)
    return state


@jit_unless_small(small.hash_attributes)
def hash_attributes(state, length, steps, group):
    """Change the hash of each episode [N] by its length, if steps were not observed, and by its group, if any."""
    for e in range(state.size):
        if length.size > 0 and length[e] < steps:
            state[e] = _scramble(state[e] + np.uint64(length[e]) * np.uint64(0xD1B54A32D192ED03))
        if group.size > 0:
            state[e] = _scramble(state[e] ^ group[e])
