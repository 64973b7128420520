"""Count the patterns that suffixes meet, as bits with 64 patterns to a machine word."""

from __future__ import annotations

import numpy as np

from suffice.kernels import small
from suffice.kernels.jit import at, jit, jit_unless_small

CHUNK_EPISODES = 1 << 15  # episodes processed at a time, so that their words stay in the cache
COUNTER_BITS = 40  # bits of a counter, enough for any count


@jit_unless_small(small.patterns_met)
def patterns_met(word, hits, later, bits):
    """Write the patterns that suffixes meet to `bits` [W, N]: at the steps of `word` [U, N], or in `later` [W, N]."""
    for w in range(bits.shape[0]):
        for begin in range(0, word.shape[1], CHUNK_EPISODES):
            stop = min(begin + CHUNK_EPISODES, word.shape[1])
            _meet(word[:, begin:stop], hits[:, w].copy(), later[w : w + 1, begin:stop], bits[w, begin:stop])


@jit
def _meet(word, hits, later, bits):
    if later.size > 0:
        for e in range(word.shape[1]):
            bits[e] = later[0, e] | hits[word[0, e]]
    else:
        for e in range(word.shape[1]):
            bits[e] = hits[word[0, e]]
    for u in range(1, word.shape[0]):
        for e in range(word.shape[1]):
            bits[e] |= hits[word[u, e]]


@jit_unless_small(small.letters_in_patterns)
def letters_in_patterns(table, member):
    """Count how often candidates meet each pattern, [C, G], from their counts of letters, [C, X], mostly 0."""
    counts = np.zeros((table.shape[0], member.shape[1]), dtype=np.int64)
    for c in range(table.shape[0]):
        for x in range(table.shape[1]):
            if table[c, x] != 0:
                for g in range(member.shape[1]):
                    counts[c, g] += table[c, x] * member[x, g]
    return counts


@jit
def _add3(a, b, c):
    """Add three bits in each of 64 lanes: (sum, carry)."""
    half = a ^ b
    return half ^ c, (a & b) | (half & c)


@jit
def add_lanes(words, slices):
    """Count the words that have each bit set, 64 lanes at once: slices[i] holds bit i of every lane's count.

    Eight words at a time go through a tree of full adders before a carry is propagated.
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


@jit_unless_small(small.count_patterns)
def count_patterns(candidate, word, hits, later, weight, n_candidates, n_columns):
    """Count how often the suffixes of each candidate meet each pattern, [C, columns]; see `patterns_met`."""
    n, n_words = candidate.size, hits.shape[1]
    counts = np.zeros((n_candidates, 64 * n_words), dtype=np.int64)
    slices = np.zeros((n_candidates, COUNTER_BITS), dtype=np.uint64)
    bits, grouped = np.empty(min(n, CHUNK_EPISODES), dtype=np.uint64), np.empty(min(n, CHUNK_EPISODES), dtype=np.uint64)
    end = np.empty(n_candidates + 1, dtype=np.int64)
    for w in range(n_words):
        slices[:] = 0
        for begin in range(0, n, CHUNK_EPISODES):
            stop = min(begin + CHUNK_EPISODES, n)
            if word.shape[0] > 0:
                met = bits[: stop - begin]
                _meet(word[:, begin:stop], hits[:, w].copy(), later[w : w + 1, begin:stop], met)
            else:
                met = later[w, begin:stop]
            if weight.size > 0:
                _add_weighted(candidate[begin:stop], met, weight[begin:stop], counts[:, 64 * w : 64 * w + 64])
            else:
                _add_sorted(candidate[begin:stop], met, grouped, end, slices)
        _add_slices(slices, counts[:, 64 * w : 64 * w + 64])
    return counts[:, :n_columns]


@jit
def _add_weighted(candidate, words, weight, counts):
    for e in range(candidate.size):
        row = counts[candidate[e]]
        for b in range(64):
            row[b] += weight[e] * np.int64((words[e] >> np.uint64(b)) & np.uint64(1))


@jit
def _add_sorted(candidate, words, grouped, end, slices):
    """Sort the words by candidate, and add up those of each candidate."""
    end[:] = 0
    for e in range(candidate.size):
        end[at(candidate[e] + 1)] += 1
    for c in range(end.size - 1):
        end[c + 1] += end[c]
    for e in range(candidate.size):  # end[c] moves from the begin to the end of the candidate's words
        c = candidate[e]
        grouped[at(end[c])] = words[e]
        end[c] += 1
    first = 0
    for c in range(end.size - 1):
        add_lanes(grouped[first : end[c]], slices[c])
        first = end[c]


@jit
def _add_slices(slices, counts):
    for c in range(counts.shape[0]):
        for level in range(COUNTER_BITS):
            if slices[c, level] == np.uint64(0):
                continue
            for b in range(64):
                counts[c, b] += np.int64((slices[c, level] >> np.uint64(b)) & np.uint64(1)) << level
