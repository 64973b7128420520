"""Patterns met ahead: 64 languages to a machine word."""

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import jit


@jit
def add_hits(word, hits, following, bits):
    """The patterns that each suffix meets, from those that the rest of it meets: bits of both are [W, N]."""
    for w in range(bits.shape[0]):
        for e in range(word.size):
            bits[w, e] = following[w, e] | hits[word[e], w]


@jit
def _add3(a, b, c):
    """Full adder on 64 lanes: sum and carry."""
    half = a ^ b
    return half ^ c, (a & b) | (half & c)


@jit
def _add_lanes(words, slices):
    """Count the words that have each bit set, 64 lanes at once: slices[i] holds bit i of every lane's count.

    Eight words at a time go through a tree of full adders before a carry ripples on.
    """
    n = words.size - words.size % 8
    ones, twos, fours = slices[0], slices[1], slices[2]
    for i in range(0, n, 8):
        ones, a = _add3(ones, words[i], words[i + 1])
        ones, b = _add3(ones, words[i + 2], words[i + 3])
        twos, c = _add3(twos, a, b)
        ones, a = _add3(ones, words[i + 4], words[i + 5])
        ones, b = _add3(ones, words[i + 6], words[i + 7])
        twos, d = _add3(twos, a, b)
        fours, carry = _add3(fours, c, d)
        _ripple(carry, 3, slices)
    slices[0], slices[1], slices[2] = ones, twos, fours
    for i in range(n, words.size):
        _ripple(words[i], 0, slices)


@jit
def _ripple(carry, level, slices):
    while carry != np.uint64(0):
        slices[level], carry = slices[level] ^ carry, slices[level] & carry
        level += 1


CHUNK = 1 << 15  # episodes whose words are sorted at a time: they stay in the cache
LEVELS = 40  # of the counters: more than any count has bits


@jit
def count_bits(candidate, bits, weight, n_candidates, n_columns):
    """How often each candidate's suffixes have each bit set, [C, columns], from bits [W, N]."""
    counts = np.zeros((n_candidates, 64 * bits.shape[0]), dtype=np.int64)
    for w in range(bits.shape[0]):
        if weight.size > 0:
            _count_weighted(candidate, bits[w], weight, counts[:, 64 * w : 64 * w + 64])
        else:
            _count_unweighted(candidate, bits[w], counts[:, 64 * w : 64 * w + 64])
    return counts[:, :n_columns]


@jit
def _count_weighted(candidate, words, weight, counts):
    for e in range(candidate.size):
        row = counts[candidate[e]]
        for b in range(64):
            row[b] += weight[e] * np.int64((words[e] >> np.uint64(b)) & np.uint64(1))


@jit
def _count_unweighted(candidate, words, counts):
    """Sort the words by candidate, a chunk at a time, and add each candidate's up."""
    n_candidates = counts.shape[0]
    slices = np.zeros((n_candidates, LEVELS), dtype=np.uint64)
    grouped = np.empty(CHUNK, dtype=np.uint64)
    end = np.empty(n_candidates + 1, dtype=np.int64)
    for begin in range(0, candidate.size, CHUNK):
        stop = min(begin + CHUNK, candidate.size)
        end[:] = 0
        for e in range(begin, stop):
            end[candidate[e] + 1] += 1
        for c in range(n_candidates):
            end[c + 1] += end[c]
        for e in range(begin, stop):  # end[c] runs from where the candidate's words begin to where they end
            c = candidate[e]
            grouped[end[c]] = words[e]
            end[c] += 1
        first = 0
        for c in range(n_candidates):
            _add_lanes(grouped[first : end[c]], slices[c])
            first = end[c]
    for c in range(n_candidates):
        for level in range(LEVELS):
            if slices[c, level] == np.uint64(0):
                continue
            for b in range(64):
                counts[c, b] += np.int64((slices[c, level] >> np.uint64(b)) & np.uint64(1)) << level
