"""Counts of what followed the transitions of a stationary automaton, kept while transitions get states of their own.

A transition that gets a state of its own changes the paths of the episodes that use it, and of these only the step
after each use. So only these episodes are counted again. Evaluated again are, of all transitions, the labels of the
old target and of the new state; and, as a whole, the transitions to and from these two.
"""

from __future__ import annotations

import numpy as np

from suffice.automata.rdp import UNSEEN
from suffice.kernels import stationary, verification
from suffice.kernels.array_types import Float, Int32, Int64
from suffice.kernels.evidence import Tables
from suffice.learning.refinement import EQUAL
from suffice.learning.stationary.labels import CHOICE, CountTables, PointerLog
from suffice.learning.stationary.pointers import Edge
from suffice.learning.stationary.reference import completed


def bytes_of_uses(n: int, states: int, width: int) -> int:
    """Return the size of the counts and the evidence of n transitions."""
    return n * (3 * 8 * width + states * (4 * 8 * len(EQUAL) + 2) + 8)


def bytes_of_states(states: int, width: int) -> int:
    """Return the size of the counts of states."""
    return 2 * 8 * states * width


class Uses:
    """What followed some transitions of an automaton, in all episodes."""

    def __init__(self, steps: PointerLog, tau: Int32, edges: Int64, tables: CountTables, splits: int = 0) -> None:
        """Count what followed transitions [E, 2] in tables of the states, with room for a number of splits."""
        self._steps, self._whole = steps, completed(tau)
        self._cells = tables.of_letters(steps)
        self._tables = tables.grouped_by((tables.kinds == CHOICE).astype(np.int64))
        self._edge_of = np.full(tau.shape, UNSEEN, np.int32)
        self._edge_of[tuple(edges.T)] = np.arange(len(edges))
        self._target = self._whole[tuple(edges.T)].astype(np.int64)
        self.room = splits
        leaving = int(np.count_nonzero(self._edge_of >= 0, axis=1).max(initial=0))
        n, q, width = len(edges) + splits * leaving, len(tau) + splits, tables.widest(splits)
        self._counts = verification.UseCounts(
            rows=np.zeros((n, width, 3), np.int64),
            states=np.zeros((q, width, 2), np.int64),
            total=np.zeros(n, np.int64),
            met=np.zeros((n, q), bool),
            stale=np.ones((n, q), bool),
            sums=np.zeros((n, q, 4, len(EQUAL))),
        )
        self._count(np.arange(len(steps.word)), 1, again=False)
        verification.add_up_uses(self._target, self._tables, self._counts)

    @property
    def n(self) -> Int64:
        """The number of episodes [E] that used each transition."""
        return self._counts.total[: len(self._target)]

    def evidence(self) -> Float:
        """Return ln E [E] that each transition is distinct from the other ways to its target."""
        return np.asarray(verification.evidence_of_uses(self._target, self._tables, self._counts, EQUAL))

    def numbers(self, edges: Int64) -> Int32:
        """Return the places of transitions [·, 2] in the results."""
        return np.asarray(self._edge_of[tuple(edges.T)])

    def split(self, edge: Edge) -> None:
        """Give a transition a state of its own, which continues like its target."""
        self.room -= 1
        before, new, users = int(self._whole[edge]), len(self._whole), self._users(edge)
        self._count(users, -1)
        self._whole = np.concatenate([self._whole, self._whole[before][None]])
        self._whole[edge] = self._target[self._edge_of[edge]] = new
        self._add_tables(before)
        leaving = np.flatnonzero(self._edge_of[before] >= 0)
        self._edge_of = np.concatenate([self._edge_of, np.full((1, self._whole.shape[1]), UNSEEN, np.int32)])
        self._edge_of[new, leaving] = len(self._target) + np.arange(len(leaving))
        self._target = np.concatenate([self._target, self._whole[new, leaving]])
        self._count(users, 1)
        stale, numbers = self._counts.stale, self._edge_of[[before, new]]
        stale[:, [before, new]] = True
        stale[numbers[numbers >= 0]] = True
        stale[: len(self._target)][np.isin(self._target, [before, new])] = True

    def _count(self, episodes: Int64, sign: int, again: bool = True) -> None:
        counted = verification.Counted(self._whole, self._edge_of, self._cells)
        verification.count_uses(counted, self._steps.walked, episodes, sign, again, self._counts)

    def _users(self, edge: Edge) -> Int64:
        """Return the episodes that use a transition."""
        steps = self._steps
        path = stationary.trace(self._whole, steps.walked)
        here = (path == edge[0]) & (steps.symbol_of[steps.word] == edge[1])
        return np.flatnonzero((here & (np.arange(path.shape[1]) < steps.last[:, None])).any(axis=1))

    def _add_tables(self, state: int) -> None:
        """Add tables for a new state that has seen what a state has seen."""
        begin, group, of_node = self._tables
        tables = np.arange(of_node[state], of_node[state + 1])
        more = begin[tables + 1] - begin[of_node[state]] + begin[-1]
        cells = self._cells[state]
        copied = np.where(cells >= 0, cells - begin[of_node[state]] + begin[-1], UNSEEN).astype(np.int32)
        self._cells = np.concatenate([self._cells, copied[None]])
        self._tables = Tables(
            np.concatenate([begin, more]),
            np.concatenate([group, group[tables]]),
            np.append(of_node, of_node[-1] + len(tables)),
        )
