"""Compare what followed a candidate with what followed states of a stationary automaton, many states in one call.

The counts of the candidate in the tree are the same for every state; those in the reference automaton depend on the
label of the state only, so states are taken in the order of their labels. Theory: docs/theory.md, section 8.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suffice.kernels.array_types import Int64, Mask
from suffice.kernels.evidence import Chosen, Work, results_for, weigh, weigh_tree
from suffice.kernels.jit import jit, jit_unless_rare
from suffice.kernels.stationary import count_states, count_tree


class Candidate(NamedTuple):
    """Episodes from a step of each on, and their earlier visits to states."""

    episodes: Int64
    start: Int64
    begin: Int64  # [Q+1] the range of visits of each state
    visitors: Int64  # the episode of each visit
    visits: Int64  # its step
    since: Int64  # the step from which the episode belongs to the candidate


class Room(NamedTuple):
    """Tables that comparisons fill and clear in turn, all zero in between, to save allocations."""

    mine: Int64  # [D, 2] counts of a candidate, by side
    twice: Int64  # [D, 2] counts that are in both rows of a comparison, in the first column
    node_met: Mask  # [T] whether the candidate has met a node of the tree
    label_met: Mask  # [M] whether it has met a label of the automaton
    met: Int64  # [max(T, M)] room for a list of them
    node_twice: Mask  # [T] the same for `twice`, with a list and its length
    label_twice: Mask  # [M]
    nodes_twice: Int64  # [T]
    labels_twice: Int64  # [M]
    n_twice: Int64  # [2]


@jit_unless_rare
def screen(labels, tree, steps, candidate, states, rows, equal, enough, room):
    """Return ln E by the tree alone of a candidate against some states [S], or a lower bound that is `enough`."""
    found, mine, twice = np.zeros(states.size), room.mine, room.twice
    nodes = _count_tree(labels, steps, candidate, room)
    chosen = _tables_met(nodes, tree, 0, 1, 0, mine)
    one, other = np.zeros(chosen.begin[-1], np.int64), np.zeros(chosen.begin[-1], np.int64)
    results = results_for(chosen.first.size, equal)
    for s in range(states.size):
        twin = _count_twice(labels, steps, candidate, states[s], False, 0, room)
        found[s] = weigh_tree(mine, rows[states[s]], twice, chosen, labels.depth, equal, enough, one, other, results)
        if twin:
            _clear_twice(tree, tree, labels, room)
    _clear(nodes, tree, 0, 1, 0, mine, room.node_met)
    return found


@jit_unless_rare
def weigh_states(labels, tree, tables, steps, candidate, states, label_of, rows, strict, equal, room):
    """Compare a candidate with states [S]: ln E, balance, the cell that differs most, and its split (see `weigh`)."""
    evidence, balance = np.zeros(states.size), np.zeros(states.size)
    cell, split = np.zeros(states.size, np.int64), np.zeros(states.size, np.int64)
    depth, width, mine, twice = labels.depth, labels.width, room.mine, room.twice
    nodes = _count_tree(labels, steps, candidate, room)
    tree_met = _tables_met(nodes, tree, 0, 1, 0, mine)
    label, here, work = -1, np.zeros(0, np.int64), _work_for(tree_met, tables, depth, width, equal)
    for s in np.argsort(label_of[states], kind="mergesort"):
        q = states[s]
        if label_of[q] != label:
            _clear(here, tables, labels.first, depth + 1, width, mine, room.label_met)
            label = label_of[q]
            here = _count_states(labels, steps, candidate, label, room)
        twin = _count_twice(labels, steps, candidate, q, True, label, room)
        found = weigh(mine, rows[q], twice, tree_met, here, tables, labels.first, width, depth, strict, equal, work)
        evidence[s], balance[s], cell[s], split[s] = found
        if twin:
            _clear_twice(tree, tables, labels, room)
    _clear(here, tables, labels.first, depth + 1, width, mine, room.label_met)
    _clear(nodes, tree, 0, 1, 0, mine, room.node_met)
    return evidence, balance, cell, split


@jit_unless_rare
def rows_of(labels, tree, tables, steps, candidate, state, label, rows, split, room):
    """Return both rows [D] of a comparison with one state, counting nothing twice."""
    nodes, here = _count_tree(labels, steps, candidate, room), _count_states(labels, steps, candidate, label, room)
    _count_twice(labels, steps, candidate, state, True, label, room)
    mine, twice = room.mine, room.twice
    one, other = np.zeros(mine.shape[0], np.int64), np.zeros(mine.shape[0], np.int64)
    for x in range(one.size):
        if split:
            one[x], other[x] = mine[x, 1], rows[state, x, 0]
        else:
            one[x], other[x] = mine[x, 0] + mine[x, 1], rows[state, x, 0] + rows[state, x, 1] - twice[x, 0]
    _clear_twice(tree, tables, labels, room)
    _clear(here, tables, labels.first, labels.depth + 1, labels.width, room.mine, room.label_met)
    _clear(nodes, tree, 0, 1, 0, room.mine, room.node_met)
    return one, other


@jit
def _count_tree(labels, steps, candidate, room):
    """Count a candidate in the tree, and return the nodes that it met, in order."""
    start = candidate.start
    n = count_tree(labels, steps, candidate.episodes, start, start, 0, room.mine, room.met, room.node_met)
    return np.sort(room.met[:n])


@jit
def _count_states(labels, steps, candidate, label, room):
    """Count a candidate in the automaton, from a label on, and return the labels that it met, in order."""
    start = candidate.start
    n = count_states(labels, steps, candidate.episodes, start, start, label, 0, room.mine, room.met, room.label_met)
    return np.sort(room.met[:n])


@jit
def _count_twice(labels, steps, candidate, state, deep, label, room):
    """Count what is in both rows: letters of the candidate in episodes that visited the state before.

    Only with `deep` also in the automaton, from a label on. Returns whether there is anything.
    """
    a, b = candidate.begin[state], candidate.begin[state + 1]
    if a == b:
        return False
    visitors, visits, since, n = candidate.visitors[a:b], candidate.visits[a:b], candidate.since[a:b], room.n_twice
    n[0] = count_tree(labels, steps, visitors, visits, since, 1, room.twice, room.nodes_twice, room.node_twice)
    if deep:
        n[1] = count_states(
            labels, steps, visitors, visits, since, label, 1, room.twice, room.labels_twice, room.label_twice
        )
    return True


@jit
def _clear_twice(tree, tables, labels, room):
    """Remove what is counted in both rows."""
    n, twice = room.n_twice, room.twice
    _clear(room.nodes_twice[: n[0]], tree, 0, 1, 0, twice, room.node_twice)
    _clear(room.labels_twice[: n[1]], tables, labels.first, labels.depth + 1, labels.width, twice, room.label_twice)
    n[0], n[1] = 0, 0


@jit
def _work_for(tree, tables, depth, width, equal):
    """Allocate the room to work for comparisons with the chosen tables of the tree and all of the automaton."""
    most, n, several = max(tree.begin[-1], width), max(tree.first.size, tables.group.size), 0
    for node in range(tables.of_node.size - 1):
        several = max(several, tables.of_node[node + 1] - tables.of_node[node])
    found, of_table, highest, at = results_for(n, equal)
    one, other = np.zeros(most, np.int64), np.zeros(most, np.int64)
    tops, places = np.zeros((depth + 1, several)), np.zeros((depth + 1, several), np.int64)
    return Work(one, other, found, of_table, highest, at, tops, places)


@jit
def _tables_met(nodes, tables, first, depths, width, mine):
    """Return the tables of some nodes in which there are counts."""
    size, n, begin, of_node, group = 0, 0, tables.begin, tables.of_node, tables.group
    for node in nodes:
        size += of_node[node + 1] - of_node[node]
    cell, gathered, groups = np.empty(size, np.int64), np.zeros(size + 1, np.int64), np.empty(size, np.int64)
    for node in nodes:
        for g in range(of_node[node], of_node[node + 1]):
            count = 0
            for d in range(depths):
                for x in range(first + d * width + begin[g], first + d * width + begin[g + 1]):
                    count += mine[x, 0] + mine[x, 1]
            if count:
                cell[n], groups[n], gathered[n + 1] = first + begin[g], group[g], gathered[n] + begin[g + 1] - begin[g]
                n += 1
    return Chosen(cell[:n].copy(), gathered[: n + 1].copy(), groups[:n].copy())


@jit
def _clear(nodes, tables, first, depths, width, mine, marks):
    """Remove the counts of some nodes, and their marks."""
    begin, of_node = tables.begin, tables.of_node
    for node in nodes:
        marks[node] = False
        for d in range(depths):
            for x in range(first + d * width + begin[of_node[node]], first + d * width + begin[of_node[node + 1]]):
                mine[x, 0] = 0
                mine[x, 1] = 0
