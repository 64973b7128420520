"""Whether two groups of episodes that walked along the same labels met different things.

At every label and action the outcomes of both groups form a table of counts. If the groups have the same future, each
table is a random division of what both saw together (multivariate hypergeometric, P₀). The evidence against that is

    e = Q(table) / P₀(table),   Q: each group has frequencies of its own, Beta(½, ½) distributed, given the same margins

whose mean under P₀ is 1, so that products over tables are at least 1/δ with probability at most δ (Markov).
"""

from __future__ import annotations

import math

import numpy as np

from suffice.kernels.jit import jit

DEPTH = 3  # steps that the tree of `screen` goes down
FINE = 64  # nodes of the sum over all tables lie closer than their distance to its ends, divided by this
EXACT = 1e-12  # what is below it is rounding
LN_PI = math.log(math.pi)
LARGEST = 600.0  # exp of more is no double


@jit
def fold(one, other, begin, ln_gamma, equal):
    """Evidence that two rows of counts come from different futures: (ln E, Σ ln e, the most telling cell).

    Tables are the ranges `begin` of cells, each divided outcome by outcome. In E each e is mixed with 1 by the weights
    `equal`, which bounds what tables that do not differ cost, and E is the mean over these weights.
    """
    mixed = np.zeros(equal.size)
    total, most, telling = 0.0, 0.0, -1
    for g in range(begin.size - 1):
        here, size = begin[g], begin[g + 1] - begin[g]
        added, highest, at = _fold_table(one[here : here + size], other[here : here + size], ln_gamma, equal, mixed)
        total += added
        if highest > most:
            most, telling = highest, here + at
    return _ln_mean(mixed), total, telling


@jit
def weigh(mine, theirs, twice, tree_tables, tree_begin, tree_group, tables, begin, group, depth, ln_gamma, equal):
    """The same for rows that know several labels of each step: (ln E, balance, the most telling cell, its split).

    The rows hold cells of a tree, by what happened since the start, and behind them, for each of the depths
    0, 1, …, `depth` (or deeper), cells of a reference automaton. Labels may come from the tree down to any depth k and
    from the automaton beyond it, or from the tree alone. Tables are of outcomes (group d of the tree, 0 of the
    automaton) or of choices (from `depth` on, and 1). Both rows [2, D] are by side, and what they both count is
    `twice`. So that nothing is, they are split by steps (0: the state's row without what is counted twice) or by sides
    (1: one side of each). E is the mean over splits, labels and groups; the balance is the ln of the mean over labels
    of Π e, of outcomes, split by steps unless that leaves nothing. Only the tables named are looked at: those in which
    `mine` has counts.
    """
    evidence, balance = np.zeros((2, 2, depth + 2, equal.size)), np.zeros((2, depth + 2))
    most, telling, told = 0.0, -1, 0
    for split in range(2):
        mixed, total = np.zeros((2, 2 * depth + 1, equal.size)), np.zeros((2, 2 * depth + 1))
        for g in tree_tables:
            one, other = _split(split, mine, theirs, twice, tree_begin[g], tree_begin[g + 1])
            c, d = divmod(tree_group[g], depth)
            added, highest, at = _fold_table(one, other, ln_gamma, equal, mixed[c, d])
            total[c, d] += added
            if highest > most:
                most, telling, told = highest, tree_begin[g] + at, split
        for g in tables:
            size, c = begin[g + 1] - begin[g], group[g]
            one, other = np.zeros(size, np.int64), np.zeros(size, np.int64)
            for k in range(depth, -1, -1):
                here = tree_begin[-1] + k * begin[-1] + begin[g]
                added_one, added_other = _split(split, mine, theirs, twice, here, here + size)
                one += added_one
                other += added_other
                added, highest, at = _fold_table(one, other, ln_gamma, equal, mixed[c, depth + k])
                total[c, depth + k] += added
                if highest > most:
                    most, telling, told = highest, tree_begin[-1] + begin[g] + at, split
        for k in range(depth + 2):
            for d in range(min(k, depth)):
                evidence[split, :, k] += mixed[:, d]
                balance[split, k] += total[0, d]
            if k <= depth:
                evidence[split, :, k] += mixed[:, depth + k]
                balance[split, k] += total[0, depth + k]
    by_steps = _ln_mean(balance[0])
    return _ln_mean(evidence.ravel()), by_steps if by_steps != 0.0 else _ln_mean(balance[1]), telling, told


@jit
def _split(split, mine, theirs, twice, begin, end):
    """Some cells of both rows, nothing counted twice."""
    if split == 0:
        return mine[0, begin:end] + mine[1, begin:end], theirs[0, begin:end] + theirs[1, begin:end] - twice[begin:end]
    return mine[1, begin:end].copy(), theirs[0, begin:end].copy()


@jit
def screen(
    row, tables, begin, group, rows, path, episodes, start, joined, word, weight, symbol_of, tree, cell, choice,
    ln_gamma, equal,
):  # fmt: skip
    """[Q] ln E by the tree alone of a candidate against every state, each step on one side.

    What the candidate's episodes met in the tree of a state they had been in before is the candidate's: it is taken
    from the state's row, and put back. Rows [Q, 2, D] are by side.
    """
    found = np.zeros(rows.shape[0])
    for state in range(rows.shape[0]):
        _take(-1, rows[state, 0], path, episodes, start, joined, word, weight, symbol_of, tree, cell, choice, state)
        mixed = np.zeros((2, equal.size))
        for g in tables:
            here, there = begin[g], begin[g + 1]
            theirs = rows[state, 0, here:there] + rows[state, 1, here:there]
            _fold_table(row[here:there], theirs, ln_gamma, equal, mixed[group[g] // DEPTH])
        _take(1, rows[state, 0], path, episodes, start, joined, word, weight, symbol_of, tree, cell, choice, state)
        found[state] = _ln_mean(mixed.ravel())
    return found


@jit
def _take(sign, row, path, episodes, start, joined, word, weight, symbol_of, tree, cell, choice, state):
    """Add or subtract what episodes met, from `start` on, within the tree of a state visited before."""
    for i in range(episodes.size):
        e, visit, until = episodes[i], 0, start[i] + joined
        while visit < until and path[e, visit] != state:
            visit += 1
        if visit == until or start[i] - visit >= DEPTH:
            continue
        amount, node = sign * (weight[e] if weight.size > 0 else 1), 0
        for u in range(visit, min(visit + DEPTH, word.shape[1])):
            x = word[e, u]
            if u >= start[i] and choice[node, x] >= 0:
                row[cell[node, x]] += amount
                row[choice[node, x]] += amount
            node = tree[node, symbol_of[x]]


@jit
def _ln_mean(logarithms):
    """ln of the mean of what these are the logarithms of."""
    best = logarithms.max()
    return best + math.log(np.exp(logarithms - best).mean())


@jit
def _fold_table(one, other, ln_gamma, equal, mixed):
    """One table, divided outcome by outcome: Σ ln e, the largest ln e and its cell; adds ln(w + (1−w)e) to `mixed`."""
    n1, n2, outcomes = 0, 0, 0
    for x in range(one.size):
        n1 += one[x]
        n2 += other[x]
        outcomes += one[x] + other[x] > 0
    total, most, telling = 0.0, 0.0, 0
    if outcomes < 2:
        return total, most, telling
    for x in range(one.size):
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
    return total, most, telling


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
