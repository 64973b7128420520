"""Adding numbers up: those of an episode, and those of many without rounding."""

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import at, jit


@jit
def add_values(word, values, total):
    """Add the values of its letters to the total of each episode, in the order of the steps."""
    for t in range(word.shape[0]):
        for e in range(total.size):
            total[e] += values[word[t, e]]


@jit
def squares(numbers, square, rest):
    """The squares, and what rounding took from them; false if one of the two may have left the range of floats."""
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


@jit
def significands(bits, times, half):
    """How many floats have each sign and exponent, and the sums of the halves of their significands, [3, 2^12]."""
    sums = np.zeros((3, 1 << 12), dtype=np.int64)
    below = (1 << half) - 1
    for e in range(bits.size):
        kind, n = at((bits[e] >> 52) & 0xFFF), times[e] if times.size > 0 else 1
        sums[0, kind] += n
        sums[1, kind] += n * ((bits[e] >> half) & below)
        sums[2, kind] += n * (bits[e] & below)
    return sums
