"""Two groups of episodes walk the same automaton: what they meet, and whether it differs.

At every state and action the outcomes of both groups form a table of counts. If the groups have the same future, each
table is a random division of what both saw together (multivariate hypergeometric, P₀). The evidence against that is

    e = Q(table) / P₀(table),   Q: each group has frequencies of its own, Beta(½, ½) distributed, given the same margins

whose mean under P₀ is 1, so that products over tables are at least 1/δ with probability at most δ (Markov).
"""

from __future__ import annotations

import math

import numpy as np

from suffice.kernels.jit import jit

FINE = 64  # nodes of the sum over all tables lie closer than their distance to its ends, divided by this
EXACT = 1e-12  # what is below it is rounding
LN_PI = math.log(math.pi)
LARGEST = 600.0  # exp of more is no double


@jit
def walk_on(tau, symbol_of_letter, word, episodes, start, first, labels):
    """Let some episodes walk from a state at step `first`: their states at all later steps, labels [H+2, N]."""
    for i in range(episodes.size):
        e, state = episodes[i], start
        labels[first, e] = state
        for u in range(first, word.shape[0]):
            state = tau[state, symbol_of_letter[word[u, e]]]
            labels[u + 1, e] = state


@jit
def meet(labels, word, cell_of, candidate, weight, first, rows):
    """How often the episodes of each candidate meet each cell (state and letter) from step `first` on, rows [C, D]."""
    weighted = weight.size > 0
    for u in range(first, word.shape[0]):
        for e in range(candidate.size):
            cell = cell_of[labels[u, e], word[u, e]]
            if cell >= 0:
                rows[candidate[e], cell] += weight[e] if weighted else 1


@jit
def fold(one, other, begin, ln_gamma, equal):
    """Evidence that two rows of counts come from different futures: (ln E, Σ ln e, the most telling cell).

    Tables are the ranges `begin` of cells, each divided outcome by outcome. In E each e is mixed with 1 by the weights
    `equal`, which bounds what tables that do not differ cost, and E is the mean over these weights.
    """
    mixed = np.zeros(equal.size)
    total, most, telling = 0.0, 0.0, -1
    for g in range(begin.size - 1):
        n1, n2, outcomes = 0, 0, 0
        for x in range(begin[g], begin[g + 1]):
            n1 += one[x]
            n2 += other[x]
            outcomes += one[x] + other[x] > 0
        if outcomes < 2:
            continue
        for x in range(begin[g], begin[g + 1]):
            if n1 == 0 or n2 == 0:
                break
            if one[x] + other[x] > 0:
                ln_e = _ln_e(one[x], n1, other[x], n2, ln_gamma)
                total += ln_e
                if ln_e > most:
                    most, telling = ln_e, x
                e = math.exp(min(ln_e, LARGEST))
                for w in range(equal.size):
                    mixed[w] += math.log(equal[w] + (1 - equal[w]) * e)
                n1 -= one[x]
                n2 -= other[x]
    best = mixed.max()
    return best + math.log(np.exp(mixed - best).mean()), total, telling


@jit
def _ln_e(k1, n1, k2, n2, ln_gamma):
    """ln(Q/P₀) of k₁ in n₁ and k₂ in n₂."""
    k, n = k1 + k2, n1 + n2
    low, high = max(0, k - n2), min(n1, k)
    if low == high:  # the margins leave nothing to chance
        return 0.0
    mine = _ln_free(k1, n1, ln_gamma) + _ln_free(k2, n2, ln_gamma)
    # the terms are convex in k, so a straight line between nodes lies above them, and the sum is exact or too large
    here = math.exp(_ln_free(low, n1, ln_gamma) + _ln_free(k - low, n2, ln_gamma) - mine)
    total, at = 0.0, low
    while at < high:
        following = min(at + min(at - low, high - at) // FINE + 1, high)
        there = math.exp(_ln_free(following, n1, ln_gamma) + _ln_free(k - following, n2, ln_gamma) - mine)
        total += (following - at) * (here + there) / 2 + (here - there) / 2
        here, at = there, following
    total += here
    p0 = _ln_choose(n1, k1, ln_gamma) + _ln_choose(n2, k2, ln_gamma) - _ln_choose(n, k, ln_gamma)
    ln_e = -math.log(total) - p0
    return ln_e if abs(ln_e) > EXACT else 0.0


@jit
def _ln_free(k, n, ln_gamma):
    """ln of the probability of k in n where the frequency is Beta(½, ½) distributed."""
    return (
        _ln_choose(n, k, ln_gamma)
        + _ln_gamma(1, k, ln_gamma)
        + _ln_gamma(1, n - k, ln_gamma)
        - _ln_gamma(0, n, ln_gamma)
        - LN_PI
    )


@jit
def _ln_choose(n, k, ln_gamma):
    return _ln_gamma(0, n, ln_gamma) - _ln_gamma(0, k, ln_gamma) - _ln_gamma(0, n - k, ln_gamma)


@jit
def _ln_gamma(half, k, ln_gamma):
    """ln Γ(k + 1), or with `half` ln Γ(k + ½); by table [2, L] as far as it goes."""
    if k < ln_gamma.shape[1]:
        return ln_gamma[half, k]
    return math.lgamma(k + (0.5 if half else 1.0))
