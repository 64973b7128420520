"""Permutation test of the ways to a state: whether what follows depends on the transition by which it was entered.

An *entry* is a step into a state from another one, its *way* the transition. What follows, up to the next entry, is
counted in tables of label and action. If the state is one state, it does not depend on the way, so all assignments of
ways to entries with as many steps left are equally likely. Theory: docs/theory.md, section 8.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from suffice.kernels.array_types import Int32, Int64
from suffice.kernels.jit import jit, jit_unless_rare

ROUNDING_ERROR = 1e-9  # statistics that differ by less are equal


class Followed(NamedTuple):
    """An automaton with cells for the outcomes of its states, and the tables of these cells."""

    tau: Int32  # [Q, Y] without gaps
    cells: Int32  # [Q, X, 3]
    table_of: Int64  # [D] −1: not counted


@jit
def _follow(followed, steps, e, u, seen, found):
    """Write the cells of the outcomes after step u of episode e to `found`, and return their number.

    They end where the state after step u, the first of `found`, is entered again. Of each table only the first outcome
    counts; `seen` is False for all tables before and after.
    """
    tau, cells, table_of = followed
    q, n = found[0], 0
    here = q
    for v in range(u + 1, steps.last[e] + 1):
        x = steps.word[e, v]
        for part in range(1, 3):  # reward and observation
            cell = cells[here, x, part]
            if cell >= 0 and table_of[cell] >= 0 and not seen[table_of[cell]]:
                seen[table_of[cell]] = True
                found[n] = cell
                n += 1
        before, here = here, tau[here, steps.symbol_of[x]]
        if here == q and before != q:
            break
    for i in range(n):
        seen[table_of[found[i]]] = False
    return n


@jit_unless_rare
def count_entries(followed, steps, edge_of, rows):
    """Count [E, D] the outcomes after entries of states, by the transition of the entry; return the entries [E].

    `edge_of` [Q, Y] is −1 for transitions that are not counted. The first use of a transition by an episode counts, and
    its outcomes up to the next entry of the same state; transitions from a state to itself do not count.
    """
    used, total = np.full(rows.shape[0], -1, np.int64), np.zeros(rows.shape[0], np.int64)
    seen, found = np.zeros(rows.shape[1] + 1, np.bool_), np.zeros(2 * steps.word.shape[1] + 1, np.int64)
    for e in range(steps.word.shape[0]):
        q = 0
        for u in range(steps.last[e]):
            y = steps.symbol_of[steps.word[e, u]]
            edge, before, q = edge_of[q, y], q, followed.tau[q, y]
            if edge < 0 or before == q or used[edge] == e:
                continue
            used[edge], found[0] = e, q
            total[edge] += 1
            for i in range(_follow(followed, steps, e, u, seen, found)):
                rows[edge, found[i]] += 1
    return total


@jit_unless_rare
def list_entries(followed, steps, way_of, number):
    """List the entries of a state that `count_entries` counts: way and steps left [V], and the cells of its outcomes.

    `way_of` [Q, Y] is −1 for other transitions. `number` [D] is the place of a cell among those that are listed, or −1.
    Cells are listed by ranges [V+1].
    """
    ways, left, limits, met = [0], [0], [0], [0]  # the first of each only has the type
    used = np.full(way_of.max() + 1, -1, np.int64)
    seen, found = np.zeros(number.size + 1, np.bool_), np.zeros(2 * steps.word.shape[1] + 1, np.int64)
    for e in range(steps.word.shape[0]):
        q = 0
        for u in range(steps.last[e]):
            y = steps.symbol_of[steps.word[e, u]]
            way, before, q = way_of[q, y], q, followed.tau[q, y]
            if way < 0 or before == q or used[way] == e:
                continue
            used[way], found[0] = e, q
            for i in range(_follow(followed, steps, e, u, seen, found)):
                if number[found[i]] >= 0:
                    met.append(number[found[i]])
            ways.append(way)
            left.append(steps.last[e] - u - 1)
            limits.append(len(met) - 1)
    return np.array(ways[1:]), np.array(left[1:]), np.array(limits), np.array(met[1:])


@jit
def _separation(one, both, begin, equal, ln_gamma):
    """Return the evidence that outcomes differ from the others: ln of the mean over weights w of Π (w + (1 − w)e).

    A table has the Bayes factor e, own frequencies against common ones, with Dirichlet(½) priors. `one` [W] and `both`
    [W] are counts in tables `begin`, and `ln_gamma`[j] is ln Γ(j/2).
    """
    total, best = np.zeros(equal.size), -math.inf
    for t in range(begin.size - 1):
        n1, n, outcomes, ln_e = 0, 0, begin[t + 1] - begin[t], 0.0
        for x in range(begin[t], begin[t + 1]):
            n1, n = n1 + one[x], n + both[x]
        if n1 == 0 or n1 == n:
            continue
        for x in range(begin[t], begin[t + 1]):
            ln_e += ln_gamma[2 * one[x] + 1] + ln_gamma[2 * (both[x] - one[x]) + 1]
            ln_e -= ln_gamma[2 * both[x] + 1] + ln_gamma[1]
        ln_e += ln_gamma[2 * n + outcomes] + ln_gamma[outcomes]
        ln_e -= ln_gamma[2 * n1 + outcomes] + ln_gamma[2 * (n - n1) + outcomes]
        larger = max(ln_e, 0.0)  # exp of more could overflow
        for w in range(equal.size):
            total[w] += larger + math.log(equal[w] * math.exp(-larger) + (1 - equal[w]) * math.exp(ln_e - larger))
    for value in total:
        best = max(best, value)
    added = 0.0
    for value in total:
        added += math.exp(value - best)
    return best + math.log(added / total.size)


@jit
def _divide(counts, tables, inside):
    """Divide rows of counts [K, W] in two parts that differ most, and return how much; `inside` [K] is set to one part.

    Rows change sides one by one, as long as the evidence grows.
    """
    both, begin, equal, ln_gamma = tables
    part, tried, best = np.zeros(both.size, np.int64), np.zeros(both.size, np.int64), 0.0
    inside[:] = False
    while True:
        chosen, most = -1, best + ROUNDING_ERROR
        for row in range(counts.shape[0]):
            for x in range(both.size):
                tried[x] = part[x] - counts[row, x] if inside[row] else part[x] + counts[row, x]
            found = _separation(tried, both, begin, equal, ln_gamma)
            if found > most:
                chosen, most = row, found
        if chosen < 0:
            return best
        part += -counts[chosen] if inside[chosen] else counts[chosen]
        inside[chosen], best = not inside[chosen], most


@jit_unless_rare
def divide(counts, tables):
    """Divide rows of counts in two parts that differ most: how much, and [K] the rows of one part."""
    inside = np.zeros(counts.shape[0], np.bool_)
    return _divide(counts, tables, inside), inside


@jit_unless_rare
def at_least(drawn, entries, sizes, tables, observed, enough):
    """Return how many random assignments of ways have a statistic of at least the observed one; at most `enough`.

    The statistic is the evidence of the best division. `drawn` [B, V] is uniform, `entries` the stratum of each entry
    [V], in which ways are exchanged, and its cells, `sizes` [S, K] the entries of each stratum by way. Entries without
    outcomes need not be listed.
    """
    stratum, limits, met = entries
    counts, total, found = np.zeros((sizes.shape[1], tables[0].size), np.int64), sizes.sum(axis=1), 0
    inside = np.zeros(sizes.shape[1], np.bool_)
    for b in range(drawn.shape[0]):
        counts[:] = 0
        left, rest = sizes.copy(), total.copy()
        for v in range(stratum.size):
            s, way = stratum[v], 0
            place = drawn[b, v] * rest[s]
            while way < sizes.shape[1] - 1 and place >= left[s, way]:
                place -= left[s, way]
                way += 1
            while left[s, way] == 0:  # after a rounding error
                way -= 1
            left[s, way] -= 1
            rest[s] -= 1
            for i in range(limits[v], limits[v + 1]):
                counts[way, met[i]] += 1
        if _divide(counts, tables, inside) >= observed - ROUNDING_ERROR:
            found += 1
            if found == enough:
                break
    return found
