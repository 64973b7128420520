"""Walking a cyclic automaton, one pointer for each episode, and what a pointer meets from some step on.

Here episodes lie one after the other, `word` [N, H+1], because each is followed as far as it gets. A step is told by
labels: by its place in a `tree` of what happened since the start, and by the state of a reference automaton. A row of
counts has the cells of the tree, then those of the automaton, once for each depth 0, 1, …, `depth` or deeper.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suffice.kernels.array_types import Int32
from suffice.kernels.jit import jit


class Labels(NamedTuple):
    """How steps are labelled, and where each label counts a letter's choice, reward and observation; −1: nowhere."""

    tau: Int32  # [M, Y] the reference automaton, complete
    cells: Int32  # [3, M, X]
    tree: Int32  # [T, Y] below the given depth
    tree_cells: Int32  # [3, T, X]
    depth: int
    first: int  # cells of the tree
    width: int  # cells of the automaton at one depth


@jit
def side_of(episode):
    """0 or 1, as by a coin, but always the same: a bit of splitmix64."""
    z = np.uint64(episode) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64((z ^ (z >> np.uint64(31))) & np.uint64(1))


@jit
def _add(labels, symbol_of, word, start, since, label, amount, row):
    """Count the letters of an episode from step `since` on, as seen from step `start` and a label there.

    To a label an action, or what it brings, may be new: then it is counted as such, or not at all.
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
    """Count an episode on its side; of many alike half on each, and the odd one on its side."""
    side = side_of(episode)
    for s in range(2):
        amount = weight // 2 + (weight % 2 if s == side else 0)
        if amount:
            _add(labels, symbol_of, word, start, start, label, amount, rows[s])


@jit
def follow(tau, symbol_of, word, weight, episodes, path, at, first, stride, labels, label_of, rows):
    """Let pointers walk as far as transitions are known; a state gets what follows its first visit in each episode.

    Rows [Q, 2, D] keep the two sides apart that episodes are dealt out to. The first `first` states are of no interest;
    the last letter is not walked along, because the log was cut there. Of long logs each `stride`-th episode counts.
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
def meet_tied(labels, symbol_of, word, weight, episodes, start, label, rows):
    """What some episodes meet from a step of each on, seen from a label, rows [2, D] by side."""
    weighted = weight.size > 0
    for i in range(episodes.size):
        e, weighs = episodes[i], weight[episodes[i]] if weighted else 1
        _add_sides(labels, symbol_of, word[e], e, start[i], label, weighs, rows)


@jit
def cells_met(labels, symbol_of, word, episodes, start, label):
    """The cells in which `meet_tied` counts these episodes, each as often as it does."""
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
    """What both a state's row and a candidate's count: what episodes meet that had been there; `sign` −1 undoes it."""
    weighted = weight.size > 0
    for i in range(episodes.size):
        e, visit, until = episodes[i], 0, start[i] + joined  # one that has joined the state counts there already
        while visit < until and path[e, visit] != state:
            visit += 1
        if visit < until and e % stride == 0:
            _add(labels, symbol_of, word[e], visit, start[i], label, sign * (weight[e] if weighted else 1), row)


@jit
def trace(tau, symbol_of, word):
    """[N, H+1] the states of every episode along an automaton that never stops."""
    path = np.zeros(word.shape, np.int32)
    for e in range(word.shape[0]):
        for u in range(word.shape[1] - 1):
            path[e, u + 1] = tau[path[e, u], symbol_of[word[e, u]]]
    return path


@jit
def count_letters(path, word, weight, n_states, n_letters):
    """[Q, X] how often each state meets each letter."""
    counts = np.zeros((n_states, n_letters), np.int64)
    weighted = weight.size > 0
    for e in range(word.shape[0]):
        for u in range(word.shape[1]):
            counts[path[e, u], word[e, u]] += weight[e] if weighted else 1
    return counts


@jit
def group(keys, n, most):
    """The places of each key 0..n−1, in order and at most so many: (places, begin [n+1])."""
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
    """[S] the ln-likelihood of what episodes met from a step of each on, had they been in these states then."""
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
