"""Move one pointer per episode through a stationary automaton, and count the letters from a step on.

Episodes are rows here, `word` [N, H+1], because each is followed as far as its transitions are known. A step has two
labels: its node in a `tree` of the steps since the start, and the state of a reference automaton. A row of counts has
the cells of the tree, then those of the automaton, once for each depth 0, 1, …, `depth` or deeper, and each cell has
a count for each side. Theory: docs/theory.md, section 8.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suffice.kernels.array_types import Codes, Int32, Int64
from suffice.kernels.jit import jit, jit_unless_rare


class Steps(NamedTuple):
    """The steps of episodes, as kernels read them."""

    word: Codes  # [N, H+1] letters; those after the last step of an episode are not read
    last: Int32  # [N] the last step of each episode, at most H
    weight: Int64  # [N], or empty for 1 each
    symbol_of: Int32  # [X]


class Labels(NamedTuple):
    """Labels of steps, and the cells in which a label counts action, reward and observation of a letter; −1: none."""

    tau: Int32  # [M, Y] the reference automaton, with all transitions
    cells: Int32  # [M, X, 3]
    tree: Int32  # [T, Y] below the given depth
    tree_cells: Int32  # [T, X, 3]
    depth: int
    first: int  # number of cells of the tree
    width: int  # number of cells of the automaton at one depth


@jit
def side_of(episode):
    """Return 0 or 1, pseudo-random but fixed for each episode: a bit of splitmix64."""
    z = np.uint64(episode) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((z ^ (z >> np.uint64(31))) & np.uint64(1))


@jit
def count_tree(labels, steps, episodes, begin, since, sign, row, met, marks):
    """Count letters from the steps `since` on in the cells of the tree that begins at the steps `begin`.

    With sign 0 counts are by side: half of the weight on each, and the odd one on the side of the episode; otherwise
    the weight with this sign is in the first column. An action or outcome that is new to a label is counted in a cell
    for new ones, or not at all. Nodes without a mark are marked and added to `met`; their number is returned.
    """
    # arrays are taken out of tuples, and functions of arrays not called in loops: each would count a reference
    word, last, weight, symbol_of = steps.word, steps.last, steps.weight, steps.symbol_of
    tree, cells, depth, n = labels.tree, labels.tree_cells, labels.depth, 0
    for i in range(episodes.size):
        e, node, one = episodes[i], 0, 1
        if weight.size:
            one = weight[e]
        side, half = 0, 0
        if sign:
            one *= sign
        else:
            side, half, one = side_of(e), one // 2, one % 2
        for u in range(begin[i], min(begin[i] + depth, last[e] + 1)):
            x = word[e, u]
            if u >= since[i]:
                if not marks[node]:
                    marks[node], met[n] = True, node
                    n += 1
                for part in range(3):
                    cell = cells[node, x, part]
                    if cell >= 0:
                        row[cell, side] += one
                        if half:
                            row[cell, 0] += half
                            row[cell, 1] += half
            node = tree[node, symbol_of[x]]
    return n


@jit
def count_states(labels, steps, episodes, begin, since, label, sign, row, met, marks):
    """Count letters like `count_tree`, but in the cells of the automaton, which starts with a label."""
    word, last, weight, symbol_of, tau = steps.word, steps.last, steps.weight, steps.symbol_of, labels.tau
    cells, depth, first, width, n = labels.cells, labels.depth, labels.first, labels.width, 0
    for i in range(episodes.size):
        e, here, one = episodes[i], label, 1
        if weight.size:
            one = weight[e]
        side, half = 0, 0
        if sign:
            one *= sign
        else:
            side, half, one = side_of(e), one // 2, one % 2
        for u in range(begin[i], last[e] + 1):
            x = word[e, u]
            if u >= since[i]:
                if not marks[here]:
                    marks[here], met[n] = True, here
                    n += 1
                block = first + min(u - begin[i], depth) * width
                for part in range(3):
                    cell = cells[here, x, part]
                    if cell >= 0:
                        row[block + cell, side] += one
                        if half:
                            row[block + cell, 0] += half
                            row[block + cell, 1] += half
            here = tau[here, symbol_of[x]]
    return n


@jit_unless_rare
def follow(tau, steps, episodes, path, at, first, stride, labels, label_of, rows):
    """Move pointers as far as transitions are known, and count for each state what follows its first visits.

    Rows are [Q, D, 2]. The first `first` states are not counted. Pointers do not follow the last letter, because the
    episode is cut there. Of long logs only each `stride`-th episode is counted.
    """
    word, last, weight, symbol_of, reference = steps.word, steps.last, steps.weight, steps.symbol_of, labels.tau
    cells, tree, tree_cells = labels.cells, labels.tree, labels.tree_cells
    depth, begin, width = labels.depth, labels.first, labels.width
    for e in episodes:
        here = at[e]
        while here < last[e]:
            q = tau[path[e, here], symbol_of[word[e, here]]]
            if q < 0:
                break
            here += 1
            path[e, here] = q
            known, u = q < first or e % stride != 0, 0
            while not known and u < here:
                known = path[e, u] == q
                u += 1
            if known:
                continue
            amount, side, node, label = 1, side_of(e), 0, label_of[q]
            if weight.size:
                amount = weight[e]
            half, one = amount // 2, amount % 2
            for u in range(here, last[e] + 1):
                x = word[e, u]
                block = begin + min(u - here, depth) * width
                for part in range(3):
                    cell = cells[label, x, part]
                    if cell >= 0:
                        rows[q, block + cell, side] += one
                        if half:
                            rows[q, block + cell, 0] += half
                            rows[q, block + cell, 1] += half
                if u < here + depth:
                    for part in range(3):
                        cell = tree_cells[node, x, part]
                        if cell >= 0:
                            rows[q, cell, side] += one
                            if half:
                                rows[q, cell, 0] += half
                                rows[q, cell, 1] += half
                    node = tree[node, symbol_of[x]]
                label = reference[label, symbol_of[x]]
        at[e] = here


@jit_unless_rare
def first_visits(path, episodes, start, joined, stride, n_states):
    """Return the first visits of episodes to states before a step of each: (begin [Q+1], episodes, steps, starts).

    With `joined` that step belongs to it. Episodes that are in no state's sample are omitted.
    """
    seen, begin = np.full(n_states, -1, np.int64), np.zeros(n_states + 1, np.int64)
    for i in range(episodes.size):
        e = episodes[i]
        for u in range(start[i] + joined if e % stride == 0 else 0):
            q = path[e, u]
            if seen[q] != i:
                seen[q] = i
                begin[q + 1] += 1
    for q in range(n_states):
        begin[q + 1] += begin[q]
        seen[q] = -1
    free = begin[:-1].copy()
    visitors, visits, since = (
        np.empty(begin[-1], np.int64),
        np.empty(begin[-1], np.int64),
        np.empty(begin[-1], np.int64),
    )
    for i in range(episodes.size):
        e = episodes[i]
        for u in range(start[i] + joined if e % stride == 0 else 0):
            q = path[e, u]
            if seen[q] != i:
                seen[q] = i
                visitors[free[q]], visits[free[q]], since[free[q]] = e, u, start[i]
                free[q] += 1
    return begin, visitors, visits, since


@jit_unless_rare
def trace(tau, steps):
    """Return the states of every episode, [N, H+1], in an automaton with all transitions; 0 after its last step."""
    word, last, symbol_of = steps.word, steps.last, steps.symbol_of
    path = np.zeros(word.shape, np.int32)
    for e in range(path.shape[0]):
        for u in range(last[e]):
            path[e, u + 1] = tau[path[e, u], symbol_of[word[e, u]]]
    return path


@jit_unless_rare
def count_letters(path, steps, n_states):
    """Count how often each state meets each letter, [Q, X]."""
    word, last, weight = steps.word, steps.last, steps.weight
    counts = np.zeros((n_states, steps.symbol_of.size), np.int64)
    for e in range(path.shape[0]):
        amount = weight[e] if weight.size else 1
        for u in range(last[e] + 1):
            counts[path[e, u], word[e, u]] += amount
    return counts


@jit_unless_rare
def transitions(path, steps, counted, n_states, most):
    """Return the visits of each transition, state · Y + symbol, in order: (begin [Q·Y+1], episodes, steps).

    Only symbols that are `counted` [Y] have visits, and at most `most` of each transition are returned.
    """
    word, last, symbol_of, n_symbols = steps.word, steps.last, steps.symbol_of, counted.size
    begin = np.zeros(n_states * n_symbols + 1, np.int64)
    for e in range(path.shape[0]):
        for u in range(last[e]):
            y = symbol_of[word[e, u]]
            if counted[y]:
                begin[path[e, u] * n_symbols + y + 1] += 1
    for key in range(begin.size - 1):
        begin[key + 1] = begin[key] + min(begin[key + 1], most)
    free = begin[:-1].copy()
    episodes, visits = np.empty(begin[-1], np.int32), np.empty(begin[-1], np.int32)
    for e in range(path.shape[0]):
        for u in range(last[e]):
            y = symbol_of[word[e, u]]
            key = path[e, u] * n_symbols + y
            if counted[y] and free[key] < begin[key + 1]:
                episodes[free[key]], visits[free[key]] = e, u
                free[key] += 1
    return begin, episodes, visits
