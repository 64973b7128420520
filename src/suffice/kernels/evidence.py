"""E-values for the hypothesis that two groups of episodes have the same future. Theory: docs/theory.md, section 8.

At every label and action the outcomes of both groups form a table of counts. If the groups have the same future, each
table is a random division of the outcomes of both (multivariate hypergeometric, P₀). The e-value of a table is

    e = Q(table) / P₀(table),   Q: each group has its own frequencies, distributed as Beta(½, ½), given the same margins

Its mean under P₀ is 1, so by Markov's inequality a product over tables reaches 1/δ with probability at most δ.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from suffice.kernels.array_types import Float, Int64
from suffice.kernels.jit import jit, jit_unless_rare
from suffice.kernels.tables import ln_table

DEPTH = 3  # steps since the start that labels of the tree distinguish
FINE_NODES = 64  # the sum over all tables has a node at least every (distance to its ends) / FINE_NODES
COARSE_NODES, COARSE_FROM = 8, 1 << 10  # the same for tables with this many counts; the error is below 0.002
ROUNDING_ERROR = 1e-12  # smaller values are rounding errors
AT_ONCE = 8  # tables that are evaluated before the evidence may be enough
EQUAL_EVIDENCE = 1e-9  # evidence that differs by less is equal; of equal cells the first is reported
LARGEST_EXPONENT = 600.0  # exp of more could exceed the range of doubles
NEVER = np.cumprod([1.0] + [1 - 0.5 / i for i in range(1, 1 << 12)])  # table of `never`


class Tables(NamedTuple):
    """Tables of counts, each a range of cells, in the order of their nodes (labels)."""

    begin: Int64  # [G+1] cells
    group: Int64  # [G]
    of_node: Int64  # [nodes+1] tables


class Chosen(NamedTuple):
    """Some tables, whose cells are gathered one after another."""

    first: Int64  # [C] the first cell of each in a row
    begin: Int64  # [C+1] the first cell of each when gathered
    group: Int64  # [C]


class Work(NamedTuple):
    """Room for the counts and results of tables while they are evaluated."""

    one: Int64  # [cells]
    other: Int64  # [cells]
    found: Float  # [tables, W]
    of_table: Float  # [tables]
    highest: Float  # [tables]
    at: Int64  # [tables]
    tops: Float  # [depths, tables of a node]
    places: Int64  # [depths, tables of a node]


@jit_unless_rare
def evidence_of_rows(one, other, begin, equal):
    """Return the evidence that two rows of counts have different futures: (ln E, Σ ln e, cell with the largest e).

    Tables are the ranges `begin` of cells, each divided outcome by outcome. In E each e is mixed with 1 by the weights
    `equal`, which limits the loss by tables that do not differ, and E is the mean over these weights.
    """
    n, mixed = begin.size - 1, np.zeros(equal.size)
    found, total, highest, at = results_for(n, equal)
    evaluate(one, other, begin, 0, n, equal, found, total, highest, at)
    most, where, added = 0.0, -1, 0.0
    for t in range(n):
        added += total[t]
        for w in range(equal.size):
            mixed[w] += found[t, w]
        if highest[t] > most + EQUAL_EVIDENCE:
            most, where = highest[t], begin[t] + at[t]
    return ln_mean(mixed), added, where


@jit
def weigh(mine, theirs, twice, tree, nodes, tables, first, width, depth, strict, equal, work):
    """Return the evidence of rows with several labels of each step: (ln E, balance, most distinct cell, its split).

    A row has the cells of a tree, by the steps since the start, and then, for each of the depths 0, 1, …, `depth` (or
    deeper), the `width` cells of a reference automaton. Labels come from the tree down to any depth k and from the
    automaton beyond it, or from the tree alone. Tables are of outcomes (group d of the tree, 0 of the automaton) or of
    choices (from `depth` on, and 1). Both rows [D, 2] are by side, and `twice` has what both of them count. To count
    nothing twice, rows are split by steps (0: the row of the state without `twice`) or by sides (1: one side of each).
    E is the mean over splits, labels and groups. The balance is the ln of the mean over labels of Π e over outcomes,
    split by steps unless that leaves nothing. A strict E is split by sides, with labels of the tree alone. Only the
    given tables of the tree and nodes of the automaton are used, those that `mine` has met.
    """
    labels, parts, most, where, where_split = depth + 2, 2 * depth + 1, 0.0, -1, 0
    evidence, balance = np.zeros((2 * 2 * labels, equal.size)), np.zeros((2, labels))
    mixed, total = np.zeros((2 * parts, equal.size)), np.zeros(2 * parts)
    one, other, found, of_table, highest, at = work.one, work.other, work.found, work.of_table, work.highest, work.at
    for split in range(2):
        mixed[:], total[:], one[: tree.begin[-1]], other[: tree.begin[-1]], at[: tree.first.size] = 0.0, 0.0, 0, 0, -1
        gather(split, mine, theirs, twice, tree.first, tree.begin, 0, 0, tree.first.size, one, other, at)
        evaluate(one, other, tree.begin, 0, tree.first.size, equal, found, of_table, highest, at)
        _add_parts(tree.group, depth, 0, parts, found, of_table, mixed, total)
        for t in range(tree.first.size):
            if highest[t] > most + EQUAL_EVIDENCE and (split or not strict):
                most, where, where_split = highest[t], tree.first[t] + at[t], split
        best, cell = _weigh_nodes(
            split, mine, theirs, twice, nodes, tables, first, width, depth, equal, work, mixed, total, most
        )
        if best > most and not strict:
            most, where, where_split = best, cell, split
        for k in range(labels):  # the tree above depth k and the automaton from there on; the last k is the tree alone
            for part in range(parts):
                if part < min(k, depth) or part == depth + k:
                    balance[split, k] += total[part]
                    for c in range(2):
                        for w in range(equal.size):
                            evidence[(split * 2 + c) * labels + k, w] += mixed[c * parts + part, w]
    by_steps = ln_mean(balance[0])
    if strict:
        evidence = evidence[3 * labels - 1 :: labels].copy()
    return ln_mean(evidence.ravel()), by_steps if by_steps != 0.0 else ln_mean(balance[1]), where, where_split


@jit
def _weigh_nodes(split, mine, theirs, twice, nodes, tables, first, width, depth, equal, work, mixed, total, most):
    """Add the evidence of the automaton's tables at some nodes; return the largest ln e above `most` and its cell.

    A table at depth k has the counts of all depths from k on. Where there are none at a depth it stays as it is.
    """
    begin, group, of_node, where, parts = tables.begin, tables.group, tables.of_node, -1, 2 * depth + 1
    one, other, found, of_table, highest, at = work.one, work.other, work.found, work.of_table, work.highest, work.at
    tops, places = work.tops, work.places
    for node in nodes:
        here, end = of_node[node], of_node[node + 1]
        if begin[end] - begin[here] == 2 * (end - here) and not _any_new(
            mine, theirs, begin, first, width, depth, here, end
        ):
            continue  # at most one outcome in each table
        for x in range(begin[here], begin[end]):
            one[x], other[x] = 0, 0
        for t in range(here, end):
            of_table[t], highest[t], at[t] = 0.0, 0.0, 0
            for w in range(equal.size):
                found[t, w] = 0.0
        for k in range(depth, -1, -1):
            block, counts = first + k * width, 0
            for x in range(block + begin[here], block + begin[here + 1]):  # choices: every step has one
                counts += mine[x, 0] + mine[x, 1] + theirs[x, 0] + theirs[x, 1]
            if counts:
                gather_tables(split, mine, theirs, twice, begin, block, here, end, one, other, at)
                evaluate(one, other, begin, here, end, equal, found, of_table, highest, at)
            for t in range(here, end):
                tops[k, t - here], places[k, t - here] = highest[t], at[t]
                if of_table[t] != 0.0 or found[t, 0] != 0.0:
                    part = group[t] * parts + depth + k
                    total[part] += of_table[t]
                    for w in range(equal.size):
                        mixed[part, w] += found[t, w]
        for t in range(here, end):
            for k in range(depth, -1, -1):
                if tops[k, t - here] > most + EQUAL_EVIDENCE:
                    most, where = tops[k, t - here], first + begin[t] + places[k, t - here]
    return most, where


@jit
def weigh_tree(mine, theirs, twice, tree, depth, equal, enough, one, other, results):
    """Return ln E by the tree alone, split by steps, or a lower bound that is `enough`.

    The last weight of `equal` is the largest: each of the remaining cells reduces ln E by at most its logarithm.
    """
    n, size, least, (found, total, highest, at) = tree.first.size, tree.begin[-1], math.log(equal[-1]), results
    mixed, first, begin, group = np.zeros((2, equal.size)), tree.first, tree.begin, tree.group
    for here in range(0, n, AT_ONCE):
        end = min(here + AT_ONCE, n)
        for x in range(begin[here], begin[end]):
            one[x], other[x] = 0, 0
        gather(0, mine, theirs, twice, first, begin, 0, here, end, one, other, at)
        for t in range(here, end):
            at[t] = -1
        evaluate(one, other, begin, here, end, equal, found, total, highest, at)
        for t in range(here, end):
            for w in range(equal.size):
                mixed[group[t] // depth, w] += found[t, w]
        left = (size - begin[end]) * least
        if max(mixed[0, -1], mixed[1, -1]) + left - math.log(mixed.size) >= enough:
            mixed[:, -1] += left
            break
    return ln_mean(mixed.ravel())


@jit
def results_for(n, equal):
    """Make arrays for results of tables, ln(w + (1−w)e), Σ ln e, the largest ln e and its cell (−1: not evaluated)."""
    return np.zeros((n, equal.size)), np.zeros(n), np.zeros(n), np.full(n, -1)


@jit
def _add_parts(group, divisor, part, parts, found, of_table, mixed, total):
    """Add the evidence of tables by part; groups from `divisor` on are of choices."""
    for t in range(group.size):
        c, d = divmod(group[t], divisor)
        total[c * parts + d + part] += of_table[t]
        for w in range(mixed.shape[1]):
            mixed[c * parts + d + part, w] += found[t, w]


@jit
def gather(split, mine, theirs, twice, first, begin, offset, here, end, one, other, at):
    """Add the cells of both rows, counting nothing twice; a table with more counts than before is to be evaluated."""
    for t in range(here, end):
        added, cell = 0, first[t] + offset - begin[t]
        for x in range(begin[t], begin[t + 1]):
            if split == 0:
                a = mine[cell + x, 0] + mine[cell + x, 1]
                b = theirs[cell + x, 0] + theirs[cell + x, 1] - twice[cell + x, 0]
            else:
                a, b = mine[cell + x, 1], theirs[cell + x, 0]
            one[x] += a
            other[x] += b
            added += a + b
        if added > 0:
            at[t] = -1


@jit
def _any_new(mine, theirs, begin, first, width, depth, here, end):
    """Return whether rows have counts in the last cells of some tables, for outcomes that their nodes never saw."""
    for k in range(depth + 1):
        for t in range(here, end):
            x = first + k * width + begin[t + 1] - 1
            if mine[x, 0] + mine[x, 1] + theirs[x, 0] + theirs[x, 1]:
                return True
    return False


@jit
def gather_tables(split, mine, theirs, twice, begin, block, here, end, one, other, at):
    """Add the cells of both rows like `gather`, for tables that are not gathered one after another."""
    for t in range(here, end):
        added = 0
        for x in range(begin[t], begin[t + 1]):
            if split == 0:
                a = mine[block + x, 0] + mine[block + x, 1]
                b = theirs[block + x, 0] + theirs[block + x, 1] - twice[block + x, 0]
            else:
                a, b = mine[block + x, 1], theirs[block + x, 0]
            one[x] += a
            other[x] += b
            added += a + b
        if added > 0:
            at[t] = -1


@jit
def ln_mean(logarithms):
    """Return ln of the mean of exp of the given values."""
    best, total = logarithms[0], 0.0
    for value in logarithms:
        best = max(best, value)
    for value in logarithms:
        total += math.exp(value - best)
    return best + math.log(total / logarithms.size)


@jit
def evaluate(one, other, begin, here, end, equal, found, total, highest, at):
    """Divide tables outcome by outcome: ln(w + (1−w)e) for each weight, Σ ln e, the largest ln e and its cell.

    Tables that have been evaluated are omitted.
    """
    for t in range(here, end):
        if at[t] >= 0:
            continue
        n1, n2, outcomes = 0, 0, 0
        for x in range(begin[t], begin[t + 1]):
            n1 += one[x]
            n2 += other[x]
            outcomes += one[x] + other[x] > 0
        total[t], highest[t], at[t] = 0.0, 0.0, 0
        for w in range(equal.size):
            found[t, w] = 0.0
        for x in range(begin[t], begin[t + 1] if outcomes > 1 else begin[t]):
            if n1 == 0 or n2 == 0:
                break
            if one[x] + other[x] > 0:
                ln_e = _ln_e(one[x], n1, other[x], n2)
                total[t] += ln_e
                if ln_e > highest[t] + EQUAL_EVIDENCE:
                    highest[t], at[t] = ln_e, x - begin[t]
                e = math.exp(min(ln_e, LARGEST_EXPONENT))
                for w in range(equal.size if ln_e != 0.0 else 0):
                    found[t, w] += math.log(equal[w] + (1 - equal[w]) * e)
                n1 -= one[x]
                n2 -= other[x]


@jit
def _ln_e(k1, n1, k2, n2):
    """Return ln(Q/P₀) of the table with k₁ of n₁ and k₂ of n₂."""
    k, n = k1 + k2, n1 + n2
    low, high = max(0, k - n2), min(n1, k)
    if low == high:  # only one table has these margins
        return 0.0
    # the terms are convex in k, so a straight line between nodes is above them, and the sum is exact or too large
    here = _free(low, n1) * _free(k - low, n2)
    total, at = 0.0, low
    fine = FINE_NODES if n < COARSE_FROM else COARSE_NODES
    while at < high:
        following = min(at + min(at - low, high - at) // fine + 1, high)
        there = _free(following, n1) * _free(k - following, n2)
        total += (following - at) * (here + there) / 2 + (here - there) / 2
        here, at = there, following
    total += here
    ln_e = math.log(_free(k1, n1) * _free(k2, n2) / total) - ln_table(k1, n1, k2, n2)
    return ln_e if abs(ln_e) > ROUNDING_ERROR else 0.0


@jit
def _free(k, n):
    """Return the probability of k in n if the frequency is distributed as Beta(½, ½)."""
    return never(k) * never(n - k)


@jit
def never(k):
    """Return the same probability of none in k, ∏ (1 − 1/2i); beyond the table by a series in k + ¼."""
    if k < NEVER.size:
        return NEVER[k]
    x = k + 0.25
    return (1 - 1 / (64 * x * x)) / math.sqrt(math.pi * x)
