"""Count what followed every transition of a stationary automaton, and test whether its target is one state.

Three rows of counts for each transition: what followed its first use by each episode, for episodes of side 1; and what
followed first visits of its target that came through it, by side. Labels are the states of the automaton itself.
Theory: docs/theory.md, section 8.
"""

from __future__ import annotations

import numpy as np

from suffice.kernels.evidence import evaluate, ln_mean, results_for
from suffice.kernels.jit import jit_unless_rare
from suffice.kernels.stationary import side_of


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
def count_uses(tau, steps, edge_of, cells, rows):
    """Count [E, W, 3] what followed transitions; `edge_of` [Q, Y] is −1 for those that are not counted.

    Returns the number of episodes [E] that used each.
    """
    word, last, weight, symbol_of = steps.word, steps.last, steps.weight, steps.symbol_of
    used, visited = np.full(rows.shape[0], -1, np.int64), np.full(tau.shape[0], -1, np.int64)
    total = np.zeros(rows.shape[0], np.int64)
    for e in range(word.shape[0]):
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
            total[edge] += amount * uses
            both = amount // 2 + (amount % 2) * side  # of an episode with a weight, half on each side
            one, first, other = both * uses, (amount - both) * visits, both * visits
            if one == 0 and first == 0 and other == 0:
                continue
            label = q
            for v in range(u + 1, last[e] + 1):
                x = word[e, v]
                for part in range(3):
                    cell = cells[label, x, part]
                    if cell >= 0:
                        rows[edge, cell, 0] += one
                        rows[edge, cell, 1] += first
                        rows[edge, cell, 2] += other
                label = tau[label, symbol_of[x]]
    return total


@jit_unless_rare
def evidence_of_uses(rows, target, begin, group, equal):
    """Return ln E [E] that what followed a transition differs from what followed other ways to its target.

    Groups are divided by way (first visits through the transition, and through others) or by side (uses of the
    transition on side 1, and first visits on side 0); outcomes and choices are separate. E is the mean of all.
    """
    n, width = rows.shape[0], rows.shape[1]
    found, states = np.zeros(n), np.zeros((target.max() + 1, width, 2), np.int64)
    for i in range(n):
        for x in range(width):
            states[target[i], x, 0] += rows[i, x, 1]
            states[target[i], x, 1] += rows[i, x, 2]
    one, other = np.zeros(width, np.int64), np.zeros(width, np.int64)
    mixed, total, highest, at = results_for(begin.size - 1, equal)
    for i in range(n):
        evidence, q = np.zeros((4, equal.size)), target[i]
        for split in range(2):
            for x in range(width):
                if split:
                    one[x], other[x] = rows[i, x, 0], states[q, x, 0]
                else:
                    one[x] = rows[i, x, 1] + rows[i, x, 2]
                    other[x] = states[q, x, 0] + states[q, x, 1] - one[x]
            at[:] = -1
            evaluate(one, other, begin, 0, begin.size - 1, equal, mixed, total, highest, at)
            for t in range(begin.size - 1):
                for w in range(equal.size):
                    evidence[2 * split + group[t], w] += mixed[t, w]
        found[i] = ln_mean(evidence.ravel())
    return found
