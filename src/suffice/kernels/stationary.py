"""Move one pointer per episode through a stationary automaton, and count the letters from a step on.

Episodes are rows here, `word` [N, H+1], because each is followed as far as its transitions are known. A step has two
labels: its node in a `tree` of the steps since the start, and the state of a reference automaton. A row of counts has
the cells of the tree, then those of the automaton, once for each depth 0, 1, …, `depth` or deeper. Theory:
docs/theory.md, section 8.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suffice.kernels.array_types import Int32
from suffice.kernels.jit import jit


class Labels(NamedTuple):
    """Labels of steps, and the cells in which a label counts action, reward and observation of a letter; −1: none."""

    tau: Int32  # [M, Y] the reference automaton, with all transitions
    cells: Int32  # [3, M, X]
    tree: Int32  # [T, Y] below the given depth
    tree_cells: Int32  # [3, T, X]
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
def _add(labels, symbol_of, word, start, since, label, amount, row):
    """Count the letters of an episode from step `since` on, with labels that begin at step `start`.

    An action or outcome that is new to a label is counted in a cell for new ones, or not at all.
    """
    node = 0
    for u in range(start, word.size):
        x, depth = word[u], u - start
        if u >= since:
            block = labels.first + min(depth, labels.depth) * labels.width
            for part in range(3):
                if labels.cells[part, label, x] >= 0:
                    row[block + labels.cells[part, label, x]] += amount
                if depth < labels.depth and labels.tree_cells[part, node, x] >= 0:
                    row[labels.tree_cells[part, node, x]] += amount
        y = symbol_of[x]
        label = labels.tau[label, y]
        if depth < labels.depth - 1:
            node = labels.tree[node, y]


@jit
def _add_sides(labels, symbol_of, word, episode, start, label, weight, rows):
    """Count an episode on its side; of an episode with a weight, half on each side, and the odd one on its side."""
    side = side_of(episode)
    for s in range(2):
        amount = weight // 2 + (weight % 2 if s == side else 0)
        if amount:
            _add(labels, symbol_of, word, start, start, label, amount, rows[s])


@jit
def follow(tau, symbol_of, word, weight, episodes, path, at, first, stride, labels, label_of, rows):
    """Move pointers as far as transitions are known, and count for each state what follows its first visits.

    Rows [Q, 2, D] are by the side of the episode. The first `first` states are not counted. Pointers do not follow the
    last letter, because the log ends there. Of long logs only each `stride`-th episode is counted.
    """
    weighted = weight.size > 0
    for e in episodes:
        while at[e] < word.shape[1] - 1:
            target = tau[path[e, at[e]], symbol_of[word[e, at[e]]]]
            if target < 0:
                break
            at[e] += 1
            path[e, at[e]] = target
            known = target < first or e % stride != 0
            for u in range(at[e]):
                known |= path[e, u] == target
            if not known:
                weighs = weight[e] if weighted else 1
                _add_sides(labels, symbol_of, word[e], e, at[e], label_of[target], weighs, rows[target])


@jit
def count_from(labels, symbol_of, word, weight, episodes, start, label, rows):
    """Count the letters of some episodes from a step of each on, starting at a label, rows [2, D] by side."""
    weighted = weight.size > 0
    for i in range(episodes.size):
        e, weighs = episodes[i], weight[episodes[i]] if weighted else 1
        _add_sides(labels, symbol_of, word[e], e, start[i], label, weighs, rows)


@jit
def cells_met(labels, symbol_of, word, episodes, start, label):
    """Return the cells in which `count_from` counts these episodes, with repetitions."""
    found, n = np.empty(6 * episodes.size * word.shape[1], np.int64), 0
    for i in range(episodes.size):
        e, here, node = episodes[i], label, 0
        for u in range(start[i], word.shape[1]):
            x, depth = word[e, u], u - start[i]
            block = labels.first + min(depth, labels.depth) * labels.width
            for part in range(3):
                if labels.cells[part, here, x] >= 0:
                    found[n] = block + labels.cells[part, here, x]
                    n += 1
                if depth < labels.depth and labels.tree_cells[part, node, x] >= 0:
                    found[n] = labels.tree_cells[part, node, x]
                    n += 1
            here = labels.tau[here, symbol_of[x]]
            if depth < labels.depth - 1:
                node = labels.tree[node, symbol_of[x]]
    return found[:n].copy()


@jit
def meet_twice(labels, symbol_of, word, weight, episodes, start, path, state, label, joined, stride, sign, row):
    """Count what is in both the row of a state and that of a candidate; `sign` −1 subtracts it.

    These are the letters of the candidate's episodes that had visited the state before.
    """
    weighted = weight.size > 0
    for i in range(episodes.size):
        e, visit, until = episodes[i], 0, start[i] + joined  # an episode that joined the state is counted there
        while visit < until and path[e, visit] != state:
            visit += 1
        if visit < until and e % stride == 0:
            _add(labels, symbol_of, word[e], visit, start[i], label, sign * (weight[e] if weighted else 1), row)


@jit
def trace(tau, symbol_of, word):
    """Return the states of every episode, [N, H+1], in an automaton with all transitions."""
    path = np.zeros(word.shape, np.int32)
    for e in range(word.shape[0]):
        for u in range(word.shape[1] - 1):
            path[e, u + 1] = tau[path[e, u], symbol_of[word[e, u]]]
    return path


@jit
def count_letters(path, word, weight, n_states, n_letters):
    """Count how often each state meets each letter, [Q, X]."""
    counts = np.zeros((n_states, n_letters), np.int64)
    weighted = weight.size > 0
    for e in range(word.shape[0]):
        for u in range(word.shape[1]):
            counts[path[e, u], word[e, u]] += weight[e] if weighted else 1
    return counts


@jit
def group(keys, n, most):
    """Return the positions of each key 0..n−1, in order and at most `most` of each: (positions, begin [n+1])."""
    size = np.zeros(n, np.int64)
    for key in keys:
        size[key] += 1
    begin = np.zeros(n + 1, np.int64)
    for k in range(n):
        begin[k + 1] = begin[k] + min(size[k], most)
    free = begin[:-1].copy()
    places = np.empty(begin[-1], np.int64)
    for i in range(keys.size):
        key = keys[i]
        if free[key] < begin[key + 1]:
            places[free[key]] = i
            free[key] += 1
    return places, begin


@jit
def likelihoods(tau, symbol_of, word, weight, episodes, start, within, ln_chance, states):
    """Return the ln-likelihood of the letters of episodes from a step of each on, if they start in a state, [S]."""
    weighted = weight.size > 0
    found = np.zeros(states.size)
    for s in range(states.size):
        for i in range(episodes.size):
            e, state, total = episodes[i], states[s], 0.0
            for u in range(start[i], min(start[i] + within, word.shape[1])):
                x = word[e, u]
                total += ln_chance[state, x]
                state = tau[state, symbol_of[x]]
            found[s] += total * (weight[e] if weighted else 1)
    return found
