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
def _count_lanes(words, out):
    """How many words have each bit set: carry-save adders eight words at a time, then slices of a binary counter."""
    slices = np.zeros(48, dtype=np.uint64)
    n = words.size - words.size % 8
    ones, twos, fours = np.uint64(0), np.uint64(0), np.uint64(0)
    for i in range(0, n, 8):
        ones, a = _add3(ones, words[i], words[i + 1])
        ones, b = _add3(ones, words[i + 2], words[i + 3])
        twos, c = _add3(twos, a, b)
        ones, a = _add3(ones, words[i + 4], words[i + 5])
        ones, b = _add3(ones, words[i + 6], words[i + 7])
        twos, d = _add3(twos, a, b)
        fours, carry = _add3(fours, c, d)
        level = 3
        while carry != np.uint64(0):
            slices[level], carry = slices[level] ^ carry, slices[level] & carry
            level += 1
    slices[0], slices[1], slices[2] = ones, twos, fours
    for i in range(n, words.size):
        carry, level = words[i], 0
        while carry != np.uint64(0):
            slices[level], carry = slices[level] ^ carry, slices[level] & carry
            level += 1
    for b in range(out.size):
        for level in range(slices.size):
            out[b] += np.int64((slices[level] >> np.uint64(b)) & np.uint64(1)) << level


@jit
def count_bits(candidate, bits, weight, n_candidates, n_columns, grouped):
    """How often each candidate's suffixes have each bit set, [C, columns], from bits [W, N].

    `grouped` [N] is room to sort a word of every suffix by candidate.
    """
    counts = np.zeros((n_candidates, 64 * bits.shape[0]), dtype=np.int64)
    if weight.size > 0:
        for w in range(bits.shape[0]):
            for e in range(candidate.size):
                row = counts[candidate[e], 64 * w : 64 * w + 64]
                for b in range(64):
                    row[b] += weight[e] * np.int64((bits[w, e] >> np.uint64(b)) & np.uint64(1))
        return counts[:, :n_columns]
    start = np.zeros(n_candidates + 1, dtype=np.int64)
    for e in range(candidate.size):
        start[candidate[e] + 1] += 1
    for c in range(n_candidates):
        start[c + 1] += start[c]
    for w in range(bits.shape[0]):
        place = start[:-1].copy()
        for e in range(candidate.size):
            c = candidate[e]
            grouped[place[c]] = bits[w, e]
            place[c] += 1
        for c in range(n_candidates):
            _count_lanes(grouped[start[c] : start[c + 1]], counts[c, 64 * w : 64 * w + 64])
    return counts[:, :n_columns]
