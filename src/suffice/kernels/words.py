"""Backward automaton that computes the membership of suffixes in words. Theory: docs/theory.md, section 3."""

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import jit


@jit
def member_row(member, letter, following, words, row):
    """Compute the membership of the suffix `letter · rest` in every word from that of `rest`.

    The row has, for n = 0..words, every word of n patterns, those with the leading gap λ before those with Γ*:
    M[λ G R] = (x ∈ G) ∧ M'[R], M[Γ* G R] = M[λ G R] ∨ M'[Γ* G R].
    """
    patterns = member.shape[1]
    row[0], row[1] = 0, 1  # λ has only the empty suffix, Γ* all
    rest, rests, here = 0, 2, 2  # begin and number of the words of n−1 patterns; begin of those of n patterns
    for _ in range(words):
        half = patterns * rests
        for g in range(patterns):
            hit = member[letter, g]
            for r in range(rests):
                i = here + g * rests + r
                row[i] = hit & following[rest + r]
                row[i + half] = row[i] | following[i + half]
        rest, rests, here = here, 2 * half, here + 2 * half


ID_BITS = 24  # a pair (id, letter) and its next id share one machine word: one cache miss per look-up
_ID = np.int64((1 << ID_BITS) - 1)


@jit
def _slot(pairs, key):
    """Return the slot of the pair `key`, or the empty slot (−1) for it, by open addressing."""
    mask = pairs.size - 1
    spread = (np.uint64(key) * np.uint64(0x9E3779B97F4A7C15)) >> np.uint64(20)
    slot = np.int64(spread & np.uint64(mask))
    while pairs[slot] >= 0 and pairs[slot] >> ID_BITS != key:
        slot = (slot + 1) & mask
    return slot


@jit
def _find_row(row_slots, rows, row):
    """Return the slot of an equal row, or the empty slot for it."""
    h = np.uint64(14695981039346656037)
    for j in range(row.size):
        h = (h ^ np.uint64(row[j])) * np.uint64(1099511628211)
    mask = row_slots.size - 1
    slot = np.int64((h >> np.uint64(15)) & np.uint64(mask))
    while row_slots[slot] >= 0:
        other, same = rows[row_slots[slot]], True
        for j in range(row.size):
            if other[j] != row[j]:
                same = False
                break
        if same:
            break
        slot = (slot + 1) & mask
    return slot


@jit
def walk_back(word, ids, begin, member, words, pairs, row_slots, rows, filled):
    """Take one backward step in every episode from `begin` on: ids[e] ← id of the suffix `word[e] · (suffix ids[e])`.

    Suffixes in the same languages share an id. `filled` = [pairs, rows] in use. The walk stops where a hash table is
    half full or there is no room for a new row, and returns the next episode, so that the caller can enlarge the table.
    """
    letters = member.shape[0]
    scratch = np.empty(rows.shape[1], dtype=np.uint8)
    for e in range(begin, word.size):
        key = np.int64(ids[e]) * letters + word[e]
        slot = _slot(pairs, key)
        if pairs[slot] < 0:
            if 2 * filled[0] >= pairs.size or 2 * filled[1] >= row_slots.size:
                return e
            member_row(member, word[e], rows[ids[e]], words, scratch)
            at = _find_row(row_slots, rows, scratch)
            if row_slots[at] < 0:
                if filled[1] >= rows.shape[0]:
                    return e
                rows[filled[1]] = scratch
                row_slots[at] = filled[1]
                filled[1] += 1
            pairs[slot] = key << ID_BITS | row_slots[at]
            filled[0] += 1
        ids[e] = pairs[slot] & _ID
    return word.size


@jit
def rehash_pairs(old, pairs):
    """Copy all pairs to a larger table."""
    for i in range(old.size):
        if old[i] >= 0:
            pairs[_slot(pairs, old[i] >> ID_BITS)] = old[i]


@jit
def rehash_rows(rows, n_rows, row_slots):
    """Enter all rows in a larger table."""
    for i in range(n_rows):
        row_slots[_find_row(row_slots, rows, rows[i])] = i


@jit
def joint_weights(rows, ids, weight):
    """Return the weight of the suffixes in both of two languages, [L, L] for u ≤ v; rows have few ones."""
    joint = np.zeros((rows.shape[1], rows.shape[1]), dtype=weight.dtype)
    ones = np.empty(rows.shape[1], dtype=np.int64)
    for i in range(ids.size):
        n = 0
        for column in range(rows.shape[1]):
            ones[n] = column
            n += rows[ids[i], column]
        for u in range(n):
            for v in range(u, n):
                joint[ones[u], ones[v]] += weight[i]
    return joint
