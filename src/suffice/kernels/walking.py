"""Walking the automaton forward, and counting by candidate."""

from __future__ import annotations

import numpy as np

from suffice.kernels.jit import jit


@jit
def advance(candidate, join, candidate_of, letters, word, following, weight, n_candidates):
    """One step of every episode: candidate of the last layer → state → candidate of this layer.

    Returns how often each candidate is followed by each letter, [C, X]. `following` is empty after the last step;
    then every episode counts under letter 0, so that row sums are sample sizes all the same.
    """
    counts = np.zeros((n_candidates, letters), dtype=np.int64)
    last, weighted = following.size == 0, weight.size > 0
    for e in range(candidate.size):
        c = candidate_of[join[candidate[e]] * letters + word[e]]
        candidate[e] = c
        counts[c, 0 if last else following[e]] += weight[e] if weighted else 1
    return counts


@jit
def cross_count(candidate, value, weight, n_candidates, n_values):
    """How often each candidate meets each value, [C, V]."""
    counts = np.zeros((n_candidates, n_values), dtype=np.int64)
    weighted = weight.size > 0
    for e in range(candidate.size):
        counts[candidate[e], value[e]] += weight[e] if weighted else 1
    return counts


@jit
def tally(candidate, value, weight, n_candidates, n_values):
    """The same counts where values are many: (start [C+1], value, count), sparse, grouped by candidate.

    A counting sort by candidate, then one scratch histogram reused for each group: O(N) whatever C·V is.
    """
    n = candidate.size
    weighted = weight.size > 0
    place = np.zeros(n_candidates + 1, dtype=np.int64)
    for e in range(n):
        place[candidate[e] + 1] += 1
    for c in range(n_candidates):
        place[c + 1] += place[c]
    bounds = place.copy()
    grouped = np.empty(n, dtype=np.uint32)
    mass = np.empty(n if weighted else 0, dtype=np.int64)
    for e in range(n):
        p = place[candidate[e]]
        place[candidate[e]] = p + 1
        grouped[p] = value[e]
        if weighted:
            mass[p] = weight[e]
    scratch = np.zeros(n_values, dtype=np.int64)
    values = np.empty(n, dtype=np.uint32)
    counts = np.empty(n, dtype=np.int64)
    start = np.zeros(n_candidates + 1, dtype=np.int64)
    m = 0
    for c in range(n_candidates):
        first = m
        for p in range(bounds[c], bounds[c + 1]):
            v = grouped[p]
            if scratch[v] == 0:
                values[m] = v
                m += 1
            scratch[v] += mass[p] if weighted else 1
        for i in range(first, m):
            counts[i] = scratch[values[i]]
            scratch[values[i]] = 0
        start[c + 1] = m
    return start, values[:m].copy(), counts[:m].copy()
