"""E-values for the hypothesis that two groups of episodes have the same future. Theory: docs/theory.md, section 8.

At every label and action the outcomes of both groups form a table of counts. If the groups have the same future, each
table is a random division of the outcomes of both (multivariate hypergeometric, P₀). The e-value of a table is

    e = Q(table) / P₀(table),   Q: each group has its own frequencies, distributed as Beta(½, ½), given the same margins

Its mean under P₀ is 1, so by Markov's inequality a product over tables reaches 1/δ with probability at most δ.
"""

from __future__ import annotations

import math

import numpy as np

from suffice.kernels.jit import jit
from suffice.kernels.tables import ln_table

DEPTH = 3  # steps since the start that labels of the tree distinguish
FINE_NODES = 64  # the sum over all tables has a node at least every (distance to its ends) / FINE_NODES
COARSE_NODES, COARSE_FROM = 8, 1 << 10  # the same for tables with this many counts; the error is below 0.002
ROUNDING_ERROR = 1e-12  # smaller values are rounding errors
EQUAL_EVIDENCE = 1e-9  # evidence that differs by less is equal; of equal cells the first is reported
LARGEST_EXPONENT = 600.0  # exp of more could exceed the range of doubles
LN_NEVER = np.cumsum([0.0] + [math.log1p(-0.5 / i) for i in range(1, 1 << 12)])  # table of `ln_never`


@jit
def evidence_of_rows(one, other, begin, equal):
    """Return the evidence that two rows of counts have different futures: (ln E, Σ ln e, cell with the largest e).

    Tables are the ranges `begin` of cells, each divided outcome by outcome. In E each e is mixed with 1 by the weights
    `equal`, which limits the loss by tables that do not differ, and E is the mean over these weights.
    """
    mixed = np.zeros(equal.size)
    total, most, where = 0.0, 0.0, -1
    for g in range(begin.size - 1):
        here, size = begin[g], begin[g + 1] - begin[g]
        added, highest, at = _table_evidence(one[here : here + size], other[here : here + size], equal, mixed)
        total += added
        if highest > most + EQUAL_EVIDENCE:
            most, where = highest, here + at
    return _ln_mean(mixed), total, where


@jit
def weigh(mine, theirs, twice, tree_tables, tree_begin, tree_group, tables, begin, group, depth, strict, equal):
    """Return the evidence of rows with several labels of each step: (ln E, balance, most distinct cell, its split).

    A row has the cells of a tree, by the steps since the start, and then, for each of the depths 0, 1, …, `depth` (or
    deeper), the cells of a reference automaton. Labels come from the tree down to any depth k and from the automaton
    beyond it, or from the tree alone. Tables are of outcomes (group d of the tree, 0 of the automaton) or of choices
    (from `depth` on, and 1). Both rows [2, D] are by side, and `twice` has what both of them count. To count nothing
    twice, rows are split by steps (0: the row of the state without `twice`) or by sides (1: one side of each). E is the
    mean over splits, labels and groups. The balance is the ln of the mean over labels of Π e over outcomes, split by
    steps unless that leaves nothing. A strict E is split by sides, with labels of the tree alone. Only the given tables
    are used, those in which `mine` has counts.
    """
    labels, most, where, where_split = depth + 2, 0.0, -1, 0
    evidence, balance = np.zeros((2 * 2 * labels, equal.size)), np.zeros((2, labels))
    for split in range(2):
        mixed, total = np.zeros((2 * (2 * depth + 1), equal.size)), np.zeros(2 * (2 * depth + 1))
        for g in tree_tables:
            one, other = _two(tree_begin[g + 1] - tree_begin[g])
            _add_split(split, mine, theirs, twice, tree_begin[g], one, other)
            c, d = divmod(tree_group[g], depth)
            at = c * (2 * depth + 1) + d
            added, highest, x = _table_evidence(one, other, equal, mixed[at])
            total[at] += added
            if highest > most + EQUAL_EVIDENCE and (split or not strict):
                most, where, where_split = highest, tree_begin[g] + x, split
        for g in tables:
            one, other = _two(begin[g + 1] - begin[g])
            added, highest, x, here = 0.0, 0.0, 0, np.zeros(equal.size)
            for k in range(depth, -1, -1):
                more = _add_split(split, mine, theirs, twice, tree_begin[-1] + k * begin[-1] + begin[g], one, other)
                at = group[g] * (2 * depth + 1) + depth + k
                if more:
                    for w in range(equal.size):
                        here[w] = 0.0
                    added, highest, x = _table_evidence(one, other, equal, here)
                for w in range(equal.size):
                    mixed[at, w] += here[w]
                total[at] += added
                if highest > most + EQUAL_EVIDENCE and not strict:
                    most, where, where_split = highest, tree_begin[-1] + begin[g] + x, split
        for k in range(labels):  # the tree above depth k and the automaton from there on; the last k is the tree alone
            for part in range(2 * depth + 1):
                if part < min(k, depth) or part == depth + k:
                    balance[split, k] += total[part]
                    for c in range(2):
                        for w in range(equal.size):
                            evidence[(split * 2 + c) * labels + k, w] += mixed[c * (2 * depth + 1) + part, w]
    by_steps = _ln_mean(balance[0])
    if strict:
        evidence = evidence[3 * labels - 1 :: labels].copy()
    return _ln_mean(evidence.ravel()), by_steps if by_steps != 0.0 else _ln_mean(balance[1]), where, where_split


@jit
def _two(size):
    """Return empty counts for both sides of a table."""
    return np.zeros(size, np.int64), np.zeros(size, np.int64)


@jit
def _add_split(split, mine, theirs, twice, begin, one, other):
    """Add some cells of both rows, counting nothing twice; return whether there was anything to add."""
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
    """Return ln E, by the tree alone, of a candidate against some states [S], or a lower bound that is `enough`.

    The last weight of `equal` is the largest: each of the remaining tables reduces ln E by at most its logarithm. Steps
    that the candidate's episodes took in the tree of a state visited before are counted for the candidate only: they
    are subtracted from the row of the state and added again. Rows [Q, 2, D] are by side.
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
            _table_evidence(one, other, equal, mixed[group[g] // DEPTH])
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
    """Add or subtract the counts of episodes, from `start` on, within the tree of a state visited before."""
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
    """Return ln of the mean of exp of the given values."""
    best, total = logarithms[0], 0.0
    for value in logarithms:
        best = max(best, value)
    for value in logarithms:
        total += math.exp(value - best)
    return best + math.log(total / logarithms.size)


@jit
def _table_evidence(one, other, equal, mixed):
    """Divide a table outcome by outcome: (Σ ln e, the largest ln e, its cell); add ln(w + (1−w)e) to `mixed`."""
    n1, n2, outcomes = 0, 0, 0
    for x in range(one.size):
        n1 += one[x]
        n2 += other[x]
        outcomes += one[x] + other[x] > 0
    total, most, where = 0.0, 0.0, 0
    if outcomes < 2:
        return total, most, where
    for x in range(one.size):
        if n1 == 0 or n2 == 0:
            break
        if one[x] + other[x] > 0:
            ln_e = _ln_e(one[x], n1, other[x], n2)
            total += ln_e
            if ln_e > most + EQUAL_EVIDENCE:
                most, where = ln_e, x
            e = math.exp(min(ln_e, LARGEST_EXPONENT))
            for w in range(equal.size):
                mixed[w] += math.log(equal[w] + (1 - equal[w]) * e)
            n1 -= one[x]
            n2 -= other[x]
    return total, most, where


@jit
def _ln_e(k1, n1, k2, n2):
    """Return ln(Q/P₀) of the table with k₁ of n₁ and k₂ of n₂."""
    k, n = k1 + k2, n1 + n2
    low, high = max(0, k - n2), min(n1, k)
    if low == high:  # only one table has these margins
        return 0.0
    mine = _ln_free(k1, n1) + _ln_free(k2, n2)
    # the terms are convex in k, so a straight line between nodes is above them, and the sum is exact or too large
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
    """Return ln of the probability of k in n if the frequency is distributed as Beta(½, ½)."""
    return ln_never(k) + ln_never(n - k)


@jit
def ln_never(k):
    """Return ln of the same probability of none in k, ∏ (1 − 1/2i); beyond the table by a series in k + ¼."""
    if k < LN_NEVER.size:
        return LN_NEVER[k]
    x = k + 0.25
    return -0.5 * math.log(math.pi * x) - 1 / (64 * x * x)
