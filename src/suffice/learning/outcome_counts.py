"""Counts of what follows merged histories along the automaton of the AdaCT-H pass, for its refinement.

Histories of a candidate start in a state of the automaton and are followed for some steps; in each state that they
reach, the outcomes of each action are counted. `learning.refinement` compares these counts.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.episodes import weights
from suffice.data.log import room_for_counts
from suffice.data.queries import EpisodesView
from suffice.evidence.events import InState, New, OutcomeAt, Shown, Witness
from suffice.kernels import walking
from suffice.kernels.array_types import Int32, Int64


class ReferenceAutomaton:
    """The automaton of the AdaCT-H pass, with the cells in which outcomes along it are counted.

    A *cell* counts a letter in a state, a *table* is the cells of a state and an action; its last cell counts letters
    that the state has never seen with the action. Outcomes of actions that the state has never seen are counted in one
    cell after all tables, which is not used. Histories are followed for some steps, and meet the cells of these layers.
    """

    def __init__(self, rdp: RDP, steps: int) -> None:
        self.rdp, self.steps = rdp, steps
        self.symbol_of_letter = rdp.symbol_of_letter()
        action = rdp.letters[:, 0]
        states, letters = np.nonzero(rdp.counts)
        seen = np.zeros((rdp.n_states, rdp.alphabet.n_actions), bool)
        seen[states, action[letters]] = True
        table_of = np.cumsum(seen).reshape(seen.shape) - 1  # [Q, A]
        table = table_of[states, action[letters]]  # ascending: letters are ordered by action
        sizes = np.bincount(table, minlength=int(seen.sum())) + 1
        self.begin = np.concatenate([[0], np.cumsum(sizes)])  # [G+1] the first cell of each table
        cells = int(self.begin[-1]) + 1
        other = np.where(seen, self.begin[table_of + 1] - 1, cells - 1)  # [Q, A]
        self.cell_of = np.ascontiguousarray(other[:, action], np.uint32)  # [Q, X]
        self.cell_of[states, letters] = np.arange(len(states)) + table  # each earlier table has one more cell
        self._tables = np.argwhere(seen)  # [G, 2] state and action
        self.offsets, self._layer_of = rdp.offsets(), rdp.layer_of()
        self._first_table = np.searchsorted(self._tables[:, 0], self.offsets)  # of each layer; it never reaches earlier
        self.widest = max(map(self.cells, range(rdp.horizon + 2)))
        self._letter_of = np.full(cells, -1)
        self._letter_of[self.cell_of[states, letters]] = letters

    def completed(self) -> Int32:
        """Return transitions [Q, Y] without gaps: an unseen one leads to the symbol's usual target, or any state."""
        rdp = self.rdp
        like, offsets = rdp.most_like(), rdp.offsets()
        largest = [
            offsets[t] + rdp.counts[offsets[t] : offsets[t + 1]].sum(axis=1).argmax() for t in range(1, rdp.horizon + 2)
        ]
        like = np.where(like == UNSEEN, np.array(largest)[:, None], like)
        layer = np.minimum(rdp.layer_of(), rdp.horizon)  # the final state has no transitions
        return np.where(rdp.tau == UNSEEN, like[layer], rdp.tau).astype(np.int32)

    def tables(self, layer: int) -> slice:
        """Return the tables that histories of a layer meet while they are followed."""
        last = min(layer + self.steps, self.rdp.horizon + 1)
        return slice(int(self._first_table[layer]), int(self._first_table[last]))

    def tables_from(self, layer: int) -> Int64:
        """Return the limits of the tables that histories of a layer meet, counted from the first of their cells."""
        met = self.tables(layer)
        return np.asarray(self.begin[met.start : met.stop + 1] - self.begin[met.start])

    def first_cell(self, layer: int) -> int:
        """Return the first cell of a layer, as histories of the layer never reach earlier cells."""
        return int(self.begin[self._first_table[layer]])

    def cells(self, layer: int) -> int:
        """Return the number of cells that histories of a layer meet, with the one for actions that were not seen."""
        met = self.tables(layer)
        return int(self.begin[met.stop] - self.begin[met.start]) + 1

    def witness(self, cell: int, one: Int64, other: Int64, first: int) -> Witness:
        """Return the witness for a cell in which two rows of counts, from cell `first` on, differ."""
        rdp = self.rdp
        table = int(np.searchsorted(self.begin, cell, side="right")) - 1
        state, action = (int(code) for code in self._tables[table])
        letter, layer = int(self._letter_of[cell]), int(self._layer_of[state])
        what = Shown(*rdp.letters[letter].tolist()) if letter >= 0 else New(action)
        k1, k2 = int(one[cell - first]), int(other[cell - first])
        begin, end = self.begin[table] - first, self.begin[table + 1] - first
        n1, n2 = (int(row[begin:end].sum()) for row in (one, other))
        place = InState(layer, state - int(self.offsets[layer]))
        return Witness(OutcomeAt(place, what), k1, n1, k2, n2)


class AutomatonWalk(NamedTuple):
    """Tables of the AdaCT-H automaton for queries that follow episodes along it."""

    after: NDArray[np.uint32]  # [Q, X] the next state
    cell_of: NDArray[np.uint32]  # [Q, X]


class FollowedSteps(NamedTuple):
    """The steps for which histories of a layer are followed, and the cells that they meet."""

    t: int  # the first step
    steps: int
    first: int  # the first cell
    cells: int  # D

    @classmethod
    def of(cls, reference: ReferenceAutomaton, t: int) -> FollowedSteps:
        """Return the steps that histories of layer t are followed for."""
        return cls(t, reference.steps, reference.first_cell(t), reference.cells(t))

    def letters(self, view: EpisodesView) -> NDArray[Any]:
        """Return the letters of these steps, [U, N]."""
        begin = self.t - view.since
        return view.episodes.word[begin : begin + self.steps]

    def rows_at_once(self, memory: int, answers: int) -> int:
        """Return how many rows of outcomes are counted at a time; see `room_for_counts`."""
        return max(1, room_for_counts(memory) // (answers * 8 * self.cells))


class OutcomeCounts(NamedTuple):
    """Query that counts [R, D], the outcomes of some candidates, starting in their labels."""

    walk: AutomatonWalk
    followed: FollowedSteps
    labels: Int32  # [C]
    row_of: Int64  # [C] row of each candidate; −1: not counted

    def __call__(self, view: EpisodesView) -> Int64:
        rows = np.zeros((int(self.row_of.max()) + 1, self.followed.cells), np.int64)
        met = view.group, self.followed.letters(view), weights(view.episodes), self.followed.first, rows
        walking.meet(self.walk.after, self.walk.cell_of, self.labels, self.row_of, *met)
        return rows

    def combine(self, answers: list[Int64]) -> Int64:
        return _into_first(answers)


class OutcomeCountsFrom(NamedTuple):
    """Query that counts [L, D], the outcomes of one candidate's episodes, starting in each of some labels."""

    walk: AutomatonWalk
    followed: FollowedSteps
    candidate: int
    labels: Int32  # [L]

    def __call__(self, view: EpisodesView) -> Int64:
        rows = np.zeros((len(self.labels), self.followed.cells), np.int64)
        met = view.group, self.followed.letters(view), weights(view.episodes), self.followed.first, rows
        walking.meet_from(self.walk.after, self.walk.cell_of, self.labels, self.candidate, *met)
        return rows

    def combine(self, answers: list[Int64]) -> Int64:
        return _into_first(answers)


def row_numbers(counted: Int64, n: int) -> Int64:
    """Return [n], the row of each candidate in a table of those that are counted; −1 for the others."""
    row_of = np.full(n, -1, np.int64)
    row_of[counted] = np.arange(len(counted))
    return row_of


def _into_first(tables: list[Int64]) -> Int64:
    """Add up tables in place, to save memory."""
    for table in tables[1:]:
        tables[0] += table
    return tables[0]
