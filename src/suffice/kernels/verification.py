"""Count what followed every transition of a stationary automaton, and test whether its target is one state.

Three rows of counts for each transition: what followed its first use by each episode, for episodes of side 1; and what
followed first visits of its target that came through it, by side. Labels are the states of the automaton itself.
Counts and sums of evidence are kept, so that after a change only what it concerns is counted and evaluated again.
Theory: docs/theory.md, section 8.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suffice.kernels.array_types import Float, Int32, Int64, Mask
from suffice.kernels.evidence import evaluate, ln_mean, results_for
from suffice.kernels.jit import jit_unless_rare
from suffice.kernels.stationary import side_of


class Counted(NamedTuple):
    """An automaton, which of its transitions are counted, and in which cells."""

    tau: Int32  # [Q, Y] without gaps
    edge_of: Int32  # [Q, Y] −1: not counted
    cells: Int32  # [Q, X, 3]


class UseCounts(NamedTuple):
    """What followed each of E transitions, in W cells; arrays may have room for more."""

    rows: Int64  # [E, W, 3]
    states: Int64  # [Q, W, 2] what followed first visits of targets, by side: sums of rows
    total: Int64  # [E] episodes
    met: Mask  # [E, Q] labels with counts
    stale: Mask  # [E, Q] labels whose counts have changed since they were evaluated
    sums: Float  # [E, Q, 4, W] evidence at each label, by split and group, for each weight


@jit_unless_rare
def episodes_using(tau, steps):
    """Return [Q, Y] the weight of episodes that use each transition, and [N] those that come to an unknown one."""
    word, last, weight, symbol_of = steps.word, steps.last, steps.weight, steps.symbol_of
    used, total = np.full(tau.shape, -1, np.int64), np.zeros(tau.shape, np.int64)
    stopped = np.zeros(word.shape[0], np.bool_)
    for e in range(word.shape[0]):
        q, u, amount = 0, 0, 1
        if weight.size:
            amount = weight[e]
        while u < last[e] and q >= 0:
            y = symbol_of[word[e, u]]
            if used[q, y] != e:
                used[q, y] = e
                total[q, y] += amount
            q = tau[q, y]
            u += 1
        stopped[e] = q < 0
    return total, stopped


@jit_unless_rare
def count_uses(counted, steps, episodes, sign, again, counts):
    """Add what followed transitions in some episodes, or with sign −1 subtract it.

    Only `again`, when something was counted before, it is added to the sums for states, too.
    """
    tau, edge_of, cells = counted
    word, last, weight, symbol_of = steps.word, steps.last, steps.weight, steps.symbol_of
    rows, states, total, met = counts.rows, counts.states, counts.total, counts.met
    used, visited = np.full(total.size, -1, np.int64), np.full(tau.shape[0], -1, np.int64)
    for e in episodes:
        q, side, amount = 0, side_of(e), 1
        if weight.size:
            amount = weight[e]
        for u in range(last[e]):
            y = symbol_of[word[e, u]]
            edge, q = edge_of[q, y], tau[q, y]
            if edge < 0:
                continue
            uses, visits = used[edge] != e, visited[q] != e
            used[edge], visited[q] = e, e
            total[edge] += sign * amount * uses
            both = amount // 2 + (amount % 2) * side  # of an episode with a weight, half on each side
            one, first, other = sign * both * uses, sign * (amount - both) * visits, sign * both * visits
            if one == 0 and first == 0 and other == 0:
                continue
            label = q
            for v in range(u + 1, last[e] + 1):
                x, met[edge, label] = word[e, v], True
                for part in range(3):
                    cell = cells[label, x, part]
                    if cell >= 0:
                        rows[edge, cell, 0] += one
                        rows[edge, cell, 1] += first
                        rows[edge, cell, 2] += other
                        if again:
                            states[q, cell, 0] += first
                            states[q, cell, 1] += other
                label = tau[label, symbol_of[x]]


@jit_unless_rare
def add_up_uses(target, tables, counts):
    """Add up the rows of all ways to each state."""
    rows, states, begin, of_node = counts.rows, counts.states, tables.begin, tables.of_node
    for i in range(target.size):
        for node in np.flatnonzero(counts.met[i]):
            for x in range(begin[of_node[node]], begin[of_node[node + 1]]):
                states[target[i], x, 0] += rows[i, x, 1]
                states[target[i], x, 1] += rows[i, x, 2]


@jit_unless_rare
def evidence_of_uses(target, tables, counts, equal):
    """Return ln E [E] that what followed a transition differs from what followed other ways to its target.

    Groups are divided by way (first visits through the transition, and through others) or by side (uses of the
    transition on side 1, and first visits on side 0); outcomes and choices are separate. E is the mean of all.
    """
    begin, group, of_node, found = tables.begin, tables.group, tables.of_node, np.zeros(target.size)
    rows, states, met, stale, sums = counts.rows, counts.states, counts.met, counts.stale, counts.sums
    one, other = np.zeros(rows.shape[1], np.int64), np.zeros(rows.shape[1], np.int64)
    mixed, total, highest, at = results_for(begin.size - 1, equal)
    for i in range(target.size):
        evidence, q = np.zeros((4, equal.size)), target[i]
        for node in np.flatnonzero(met[i]):  # other tables are empty on one side, and contribute nothing
            here, end = of_node[node], of_node[node + 1]
            for split in range(2 if stale[i, node] else 0):
                for x in range(begin[here], begin[end]):
                    if split:
                        one[x], other[x] = rows[i, x, 0], states[q, x, 0]
                    else:
                        one[x] = rows[i, x, 1] + rows[i, x, 2]
                        other[x] = states[q, x, 0] + states[q, x, 1] - one[x]
                at[here:end], sums[i, node, 2 * split : 2 * split + 2] = -1, 0.0
                evaluate(one, other, begin, here, end, equal, mixed, total, highest, at)
                for t in range(here, end):
                    for w in range(equal.size):
                        sums[i, node, 2 * split + group[t], w] += mixed[t, w]
            stale[i, node] = False
            for k in range(4):
                for w in range(equal.size):
                    evidence[k, w] += sums[i, node, k, w]
        found[i] = ln_mean(evidence.ravel())
    return found
