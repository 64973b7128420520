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
from suffice.kernels.tables import ln_table

DEPTH = 3  # steps since the start that labels of the tree tell apart
FINE_NODES = 64  # nodes of the sum over all tables lie closer than their distance to its ends, divided by this
COARSE_NODES, COARSE_FROM = 8, 1 << 10  # the same for tables of so many, where it costs time; off by less than 0.002
ROUNDING_ERROR = 1e-12  # what is below it is rounding
EQUAL_EVIDENCE = 1e-9  # cells that tell as much but for this are equal; the first is the most telling
LARGEST_EXPONENT = 600.0  # exp of more is no double
LN_NEVER = np.cumsum([0.0] + [math.log1p(-0.5 / i) for i in range(1, 1 << 12)])  # as far as it is looked up


@jit
def fold(one, other, begin, equal):
    """Evidence that two rows of counts come from different futures: (ln E, Σ ln e, the most telling cell).

    Tables are the ranges `begin` of cells, each divided outcome by outcome. In E each e is mixed with 1 by the weights
    `equal`, which bounds what tables that do not differ cost, and E is the mean over these weights.
    """
    mixed = np.zeros(equal.size)
    total, most, telling = 0.0, 0.0, -1
    for g in range(begin.size - 1):
        here, size = begin[g], begin[g + 1] - begin[g]
        added, highest, at = _fold_table(one[here : here + size], other[here : here + size], equal, mixed)
        total += added
        if highest > most + EQUAL_EVIDENCE:
            most, telling = highest, here + at
    return _ln_mean(mixed), total, telling


@jit
def weigh(mine, theirs, twice, tree_tables, tree_begin, tree_group, tables, begin, group, depth, strict, equal):
    """The same for rows that know several labels of each step: (ln E, balance, the most telling cell, its split).

    The rows hold cells of a tree, by what happened since the start, and behind them, for each of the depths
    0, 1, …, `depth` (or deeper), cells of a reference automaton. Labels may come from the tree down to any depth k and
    from the automaton beyond it, or from the tree alone. Tables are of outcomes (group d of the tree, 0 of the
    automaton) or of choices (from `depth` on, and 1). Both rows [2, D] are by side, and what they both count is
    `twice`. So that nothing is, they are split by steps (0: the state's row without what is counted twice) or by sides
    (1: one side of each). E is the mean over splits, labels and groups; the balance is the ln of the mean over labels
    of Π e, of outcomes, split by steps unless that leaves nothing. A strict E is split by sides, with labels of the
    tree alone. Only the tables named are looked at: those in which `mine` has counts.
    """
    labels, most, telling, told = depth + 2, 0.0, -1, 0
    evidence, balance = np.zeros((2 * 2 * labels, equal.size)), np.zeros((2, labels))
    for split in range(2):
        mixed, total = np.zeros((2 * (2 * depth + 1), equal.size)), np.zeros(2 * (2 * depth + 1))
        for g in tree_tables:
            one, other = _two(tree_begin[g + 1] - tree_begin[g])
            _add_split(split, mine, theirs, twice, tree_begin[g], one, other)
            c, d = divmod(tree_group[g], depth)
            at = c * (2 * depth + 1) + d
            added, highest, x = _fold_table(one, other, equal, mixed[at])
            total[at] += added
            if highest > most + EQUAL_EVIDENCE and (split or not strict):
                most, telling, told = highest, tree_begin[g] + x, split
        for g in tables:
            one, other = _two(begin[g + 1] - begin[g])
            added, highest, x, here = 0.0, 0.0, 0, np.zeros(equal.size)
            for k in range(depth, -1, -1):
                more = _add_split(split, mine, theirs, twice, tree_begin[-1] + k * begin[-1] + begin[g], one, other)
                at = group[g] * (2 * depth + 1) + depth + k
                if more:
                    for w in range(equal.size):
                        here[w] = 0.0
                    added, highest, x = _fold_table(one, other, equal, here)
                for w in range(equal.size):
                    mixed[at, w] += here[w]
                total[at] += added
                if highest > most + EQUAL_EVIDENCE and not strict:
                    most, telling, told = highest, tree_begin[-1] + begin[g] + x, split
        for k in range(labels):  # the tree above k, the automaton from there on; in the end the tree alone
            for part in range(2 * depth + 1):
                if part < min(k, depth) or part == depth + k:
                    balance[split, k] += total[part]
                    for c in range(2):
                        for w in range(equal.size):
                            evidence[(split * 2 + c) * labels + k, w] += mixed[c * (2 * depth + 1) + part, w]
    by_steps = _ln_mean(balance[0])
    if strict:
        evidence = evidence[3 * labels - 1 :: labels].copy()
    return _ln_mean(evidence.ravel()), by_steps if by_steps != 0.0 else _ln_mean(balance[1]), telling, told


@jit
def _two(size):
    """Room for both sides of a table."""
    return np.zeros(size, np.int64), np.zeros(size, np.int64)


@jit
def _add_split(split, mine, theirs, twice, begin, one, other):
    """Add some cells of both rows, nothing counted twice; whether there was anything to add."""
    before, after = 0, 0
    for x in range(one.size):
        before += one[x] + other[x]
        if split == 0:
            one[x] += mine[0, begin + x] + mine[1, begin + x]
            other[x] += theirs[0, begin + x] + theirs[1, begin + x] - twice[begin + x]
        else:
            one[x] += mine[1, begin + x]
            other[x] += theirs[0, begin + x]
        after += one[x] + other[x]
    return after > before


@jit
def screen(
    row, tables, begin, group, states, enough, rows, path, episodes, start, joined, stride, word, weight, symbol_of,
    tree, tree_cells, equal,
):  # fmt: skip
    """[S] ln E by the tree alone of a candidate against some states, each step on one side; or a bound that is enough.

    The last weight of `equal` is the largest: whatever the other tables say, they cost no more than its logarithm each.

    What the candidate's episodes met in the tree of a state they had been in before is the candidate's: it is taken
    from the state's row, and put back. Rows [Q, 2, D] are by side.
    """
    found, least = np.zeros(states.size), math.log(equal[-1])
    width = 0
    for g in tables:
        width += begin[g + 1] - begin[g]
    for s in range(states.size):
        state, left = states[s], width
        _take(
            -1, rows[state, 0], path, episodes, start, joined, stride, word, weight, symbol_of, tree, tree_cells, state
        )
        mixed = np.zeros((2, equal.size))
        for g in tables:
            one, other = _two(begin[g + 1] - begin[g])
            for x in range(one.size):
                one[x] = row[begin[g] + x]
                other[x] = rows[state, 0, begin[g] + x] + rows[state, 1, begin[g] + x]
            _fold_table(one, other, equal, mixed[group[g] // DEPTH])
            left -= one.size
            if max(mixed[0, -1], mixed[1, -1]) + left * least - math.log(mixed.size) >= enough:
                mixed[:, -1] += left * least
                break
        _take(
            1, rows[state, 0], path, episodes, start, joined, stride, word, weight, symbol_of, tree, tree_cells, state
        )
        found[s] = _ln_mean(mixed.ravel())
    return found


@jit
def _take(sign, row, path, episodes, start, joined, stride, word, weight, symbol_of, tree, cells, state):
    """Add or subtract what episodes met, from `start` on, within the tree of a state visited before."""
    for i in range(episodes.size):
        e, visit, until = episodes[i], 0, start[i] + joined
        while visit < until and path[e, visit] != state:
            visit += 1
        if visit == until or start[i] - visit >= DEPTH or e % stride != 0:
            continue
        amount, node = sign * (weight[e] if weight.size > 0 else 1), 0
        for u in range(visit, min(visit + DEPTH, word.shape[1])):
            x = word[e, u]
            for part in range(3):
                if u >= start[i] and cells[part, node, x] >= 0:
                    row[cells[part, node, x]] += amount
            node = tree[node, symbol_of[x]]


@jit
def _ln_mean(logarithms):
    """ln of the mean of what these are the logarithms of."""
    best, total = logarithms[0], 0.0
    for value in logarithms:
        best = max(best, value)
    for value in logarithms:
        total += math.exp(value - best)
    return best + math.log(total / logarithms.size)


@jit
def _fold_table(one, other, equal, mixed):
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
            ln_e = _ln_e(one[x], n1, other[x], n2)
            total += ln_e
            if ln_e > most + EQUAL_EVIDENCE:
                most, telling = ln_e, x
            e = math.exp(min(ln_e, LARGEST_EXPONENT))
            for w in range(equal.size):
                mixed[w] += math.log(equal[w] + (1 - equal[w]) * e)
            n1 -= one[x]
            n2 -= other[x]
    return total, most, telling


@jit
def _ln_e(k1, n1, k2, n2):
    """ln(Q/P₀) of k₁ in n₁ and k₂ in n₂."""
    k, n = k1 + k2, n1 + n2
    low, high = max(0, k - n2), min(n1, k)
    if low == high:  # the margins leave nothing to chance
        return 0.0
    mine = _ln_free(k1, n1) + _ln_free(k2, n2)
    # the terms are convex in k, so a straight line between nodes lies above them, and the sum is exact or too large
    here = math.exp(_ln_free(low, n1) + _ln_free(k - low, n2) - mine)
    total, at = 0.0, low
    fine = FINE_NODES if n < COARSE_FROM else COARSE_NODES
    while at < high:
        following = min(at + min(at - low, high - at) // fine + 1, high)
        there = math.exp(_ln_free(following, n1) + _ln_free(k - following, n2) - mine)
        total += (following - at) * (here + there) / 2 + (here - there) / 2
        here, at = there, following
    total += here
    ln_e = -math.log(total) - ln_table(k1, n1, k2, n2)
    return ln_e if abs(ln_e) > ROUNDING_ERROR else 0.0


@jit
def _ln_free(k, n):
    """ln of the probability of k in n where the frequency is Beta(½, ½) distributed."""
    return ln_never(k) + ln_never(n - k)


@jit
def ln_never(k):
    """The same of none in k, ∏ (1 − 1/2i): beyond the table a series in k + ¼, cut off below the rounding."""
    if k < LN_NEVER.size:
        return LN_NEVER[k]
    x = k + 0.25
    return -0.5 * math.log(math.pi * x) - 1 / (64 * x * x)
