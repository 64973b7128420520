"""Hash prefixes, and add, query and compare Count-Min-Sketches. Theory: docs/theory.md, section 5."""

from __future__ import annotations

import math

import numpy as np

from suffice.kernels.jit import EQUAL_DISTANCE, jit

_P61 = np.uint64((1 << 61) - 1)


@jit
def _mulmod61(a, b):
    """Return a·b mod 2⁶¹−1 in 64-bit arithmetic."""
    low, high = np.uint64(0xFFFFFFFF), np.uint64(32)
    al, ah, bl, bh = a & low, a >> high, b & low, b >> high
    middle = al * bh + ah * bl  # < 2⁶², because a, b < 2⁶¹
    # a·b = ah·bh·2⁶⁴ + middle·2³² + al·bl, and 2⁶¹ ≡ 1
    total = (ah * bh << np.uint64(3)) + (middle >> np.uint64(29))
    total += ((middle & np.uint64(0x1FFFFFFF)) << high) % _P61
    low_part = al * bl
    total += (low_part & _P61) + (low_part >> np.uint64(61))
    return total % _P61


@jit
def hash_prefixes(word, episode, base, out):
    """Hash all prefixes of some suffixes by polynomials mod 2⁶¹−1, [ℓ, n]: h(e·x) = h(e)·base + x + 1."""
    for i in range(episode.size):
        h = np.uint64(1)
        for u in range(word.shape[0]):
            h = (_mulmod61(h, base) + np.uint64(word[u, episode[i]]) + np.uint64(1)) % _P61
            out[u, i] = h


@jit
def _cell(key, multiplier, j, width):
    """Return the column of a key in row j: vector multiply-shift, pairwise independent on the halves of the key."""
    half = np.uint64(32)
    h = multiplier[j, 0] * (key >> half) + multiplier[j, 1] * (key & np.uint64(0xFFFFFFFF)) + multiplier[j, 2]
    return np.int64(((h >> half) * np.uint64(width)) >> half)


@jit
def sketch_add(cells, multiplier, keys, counts):
    """Add counts of keys to every row, cells [d, w]."""
    depth, width = cells.shape
    for i in range(keys.size):
        for j in range(depth):
            cells[j, _cell(keys[i], multiplier, j, width)] += counts[i]


@jit
def sketch_query(cells, multiplier, key, worth):
    """Return the estimate of one key, the minimum over rows; may stop as soon as it is at most `worth`."""
    depth, width = cells.shape
    least = cells[0, _cell(key, multiplier, 0, width)]
    for j in range(1, depth):
        if least <= worth:
            break
        least = min(least, cells[j, _cell(key, multiplier, j, width)])
    return least


@jit
def sketch_query_all(cells, multiplier, keys):
    """Return the estimates of many keys."""
    out = np.empty(keys.size, dtype=np.int64)
    for i in range(keys.size):
        out[i] = sketch_query(cells, multiplier, keys[i], -1)
    return out


@jit
def _mass(nodes, cumulative, low, high):
    """Count the suffixes of a sorted list of leaves that are in a subtree."""
    return cumulative[np.searchsorted(nodes, high)] - cumulative[np.searchsorted(nodes, low)]


@jit
def _compare_sketch(row, n1, other, n2, tree, word, example, base, multiplier, resolution, floor, ceiling):
    end, parent, depth, first_leaf = tree
    nodes1, cumulative1, cells1 = row
    nodes2, cumulative2, cells2 = other
    path = np.empty(word.shape[0] + 1, dtype=np.uint64)
    most1, most2 = np.empty(word.shape[0] + 1, np.int64), np.empty(word.shape[0] + 1, np.int64)
    path[0], most1[0], most2[0] = np.uint64(1), n1, n2
    most, where, length = floor, -1, 0
    v = 1
    while v < end.size and most < ceiling:
        e = example[first_leaf[v]]
        mass1 = _mass(nodes1, cumulative1, v, end[v]) if cells1.size == 0 else 0
        mass2 = _mass(nodes2, cumulative2, v, end[v]) if cells2.size == 0 else 0
        heavy = True
        for u in range(depth[parent[v]], depth[v]):
            path[u + 1] = (_mulmod61(path[u], base) + np.uint64(word[u, e]) + np.uint64(1)) % _P61
            if cells1.size > 0:
                mass1 = sketch_query(cells1[u], multiplier, path[u + 1], -1)
            if cells2.size > 0:
                mass2 = sketch_query(cells2[u], multiplier, path[u + 1], -1)
            k1, k2 = min(mass1, most1[u]), min(mass2, most2[u])
            most1[u + 1], most2[u + 1] = k1, k2
            heavy = max(k1 / n1, k2 / n2) > max(most, resolution)
            if not heavy:
                break
            value = abs(k1 / n1 - k2 / n2)
            if value > most:
                most, where, length = value, v, u + 1
        v = v + 1 if heavy else end[v]
    return most, where, length


@jit
def compare_sketch(row, n1, other, n2, tree, word, example, base, multiplier, resolution, low, high, least):
    """Return the largest difference of estimated prefix frequencies, its node and the length of the prefix.

    Only prefixes more frequent than `resolution` are compared. A row is (leaf nodes, cumulative counts, cells
    [ℓ, d, w]): a sketch if it has cells, else an exact list. An estimate is the minimum over the prefixes of a prefix,
    so it does not grow with the prefix, and subtrees can be skipped. For the other parameters see `compare_trees`.
    """
    if low < math.inf:
        found = _compare_sketch(row, n1, other, n2, tree, word, example, base, multiplier, resolution, low, high)
        if found[1] >= 0 and found[0] >= high:
            return found
    stop = least + 2 * EQUAL_DISTANCE
    return _compare_sketch(row, n1, other, n2, tree, word, example, base, multiplier, resolution, 0.0, stop)
