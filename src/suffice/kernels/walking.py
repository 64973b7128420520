"""Move episodes through a layered automaton, and count by candidate."""

from __future__ import annotations

import numpy as np

from suffice.kernels import small
from suffice.kernels.jit import at, jit, jit_unless_small


@jit_unless_small(small.advance)
def advance(candidate, join, candidate_of, letters, word):
    """Take one step in every episode: candidate of the last layer → state → candidate of this layer."""
    for e in range(candidate.size):
        candidate[e] = candidate_of[at(join[candidate[e]] * letters + word[e])]


@jit_unless_small(small.advance_and_meet)
def advance_and_meet(candidate, join, candidate_of, word, following, last, weight, tables):
    """Call `advance`, and count how often each new candidate meets each letter next and last, [2, C, X]."""
    letters = tables.shape[2]
    weighted = weight.size > 0
    for e in range(candidate.size):
        c = at(candidate_of[at(join[candidate[e]] * letters + word[e])])
        candidate[e] = c
        w = weight[e] if weighted else 1
        tables[0, c, following[e]] += w
        tables[1, c, last[e]] += w


@jit
def advance_along(state, after, edge_of, first, word, following, weight, table):
    """Take one step in every episode: a state and a letter give an edge and the next state, [Q · X] each.

    Count how often edges are followed by each letter, from edge `first` on; the last row is for all later edges.
    """
    beyond, letters = table.shape[0] - 1, table.shape[1]
    weighted = weight.size > 0
    for e in range(state.size):
        taken = at(state[e] * letters + word[e])
        state[e] = after[taken]
        table[at(min(edge_of[taken] - first, beyond)), following[e]] += weight[e] if weighted else 1


@jit_unless_small(small.count_along)
def count_along(after, word, length, weight, counts):
    """Walk from state 0 along `after` [Q, X], and count the letters [2, Q, X] before the last step and at it.

    Of each episode the first `length` steps are walked.
    """
    state = np.zeros(word.shape[1], dtype=np.int64)
    weighted = weight.size > 0
    for t in range(word.shape[0]):
        for e in range(state.size):
            if t < length[e]:
                q, x = state[e], word[t, e]
                counts[1 if t == length[e] - 1 else 0, q, x] += weight[e] if weighted else 1
                state[e] = after[q, x]


@jit
def tally_along(state, tau, symbol, letter, action, word, weight, counts, lost):
    """Take one step in every episode of any log; state −1 means that the episode has left the automaton.

    Count the letters of episodes that stay, and the actions of those that leave. `symbol`, `letter` and `action` give
    the codes of the automaton for the letters of the log, [X], −1 where it has none.
    """
    weighted = weight.size > 0
    for e in range(state.size):
        q, x = state[e], word[e]
        if q < 0:
            continue
        y = symbol[x]
        state[e] = tau[q, y] if y >= 0 else -1
        w = weight[e] if weighted else 1
        if state[e] >= 0 and letter[x] >= 0:
            counts[q, letter[x]] += w
        elif action[x] >= 0:
            lost[q, action[x]] += w


@jit_unless_small(small.relabel)
def relabel(group, of_group):
    """Replace each group by its value in `of_group`."""
    for e in range(group.size):
        group[e] = of_group[group[e]]


@jit_unless_small(small.add_rows)
def add_rows(table, of_row, n):
    """Add up the rows [R, V] that have the same value in `of_row`, [n, V]."""
    out = np.zeros((n, table.shape[1]), dtype=np.int64)
    for r in range(table.shape[0]):
        for v in range(table.shape[1]):
            out[of_row[r], v] += table[r, v]
    return out


@jit_unless_small(small.cross_count)
def cross_count(group, of_group, value, weight, n_groups, n_values):
    """Count how often each group meets each value, [G, V]; episode e is in the group of_group[group[e]]."""
    counts = np.zeros((n_groups, n_values), dtype=np.int64)
    weighted = weight.size > 0
    for e in range(group.size):
        counts[at(of_group[group[e]]), value[e]] += weight[e] if weighted else 1
    return counts


@jit
def tally(candidate, value, weight, n_candidates, n_values):
    """Count how often each candidate meets each of many values: (start [C+1], value, count), grouped by candidate.

    A counting sort by candidate, then one histogram reused for each candidate: O(N), independent of C·V.
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


@jit_unless_small(small.meet)
def meet(after, cell_of, label_of, row_of, candidate, word, weight, first, rows):
    """Count how often the episodes of each candidate meet each cell, rows [R, D]; −1 in `row_of`: not counted.

    A state and a letter give a cell. Rows have the cells from `first` on; the last one counts all later cells, too.
    Episodes start at the first row of `word` in the label of their candidate, [C], and follow `after`.
    """
    weighted, last = weight.size > 0, rows.shape[1] - 1
    label = np.empty(candidate.size, np.uint32)
    chosen, row = np.empty(candidate.size, np.int64), np.empty(candidate.size, np.int64)
    n = 0
    for e in range(candidate.size):
        if row_of[at(candidate[e])] >= 0:
            label[n], chosen[n], row[n] = label_of[at(candidate[e])], e, row_of[at(candidate[e])]
            n += 1
    for u in range(word.shape[0]):
        for i in range(n):
            state, x = label[i], word[u, at(chosen[i])]
            rows[at(row[i]), at(min(cell_of[state, x] - first, last))] += weight[at(chosen[i])] if weighted else 1
            label[i] = after[state, x]


@jit_unless_small(small.meet_from)
def meet_from(after, cell_of, labels, which, candidate, word, weight, first, rows):
    """Apply `meet` to the episodes of one candidate, from each of several labels, rows [L, D]."""
    weighted, last = weight.size > 0, rows.shape[1] - 1
    for e in range(candidate.size):
        if candidate[e] == which:
            for i in range(labels.size):
                state = at(labels[i])
                for u in range(word.shape[0]):
                    x = word[u, e]
                    rows[i, at(min(cell_of[state, x] - first, last))] += weight[e] if weighted else 1
                    state = at(after[state, x])
