"""Compare suffixes of episodes with the states of a round of the stationary learner."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.automata.rdp import UNSEEN
from suffice.evidence.events import Witness
from suffice.kernels import evidence as evidence_kernels
from suffice.kernels import stationary
from suffice.kernels.array_types import Int32, Int64
from suffice.kernels.evidence import DEPTH
from suffice.learning.refinement import EQUAL, EQUAL_BALANCE
from suffice.learning.stationary.labels import Labelling, PointerLog


class Near(NamedTuple):
    """Evidence from the comparison of a candidate with a state."""

    state: int
    evidence: float  # ln E that they differ
    balance: float  # Σ ln e; below 0 the evidence is in favour of a merge
    most_distinct: int  # the cell that differs most, or -1
    split: int  # how the rows were split when they differ most


class Scratch:
    """Tables that the comparisons of a round share, filled and cleared in turn, to save allocations."""

    def __init__(self, size: int) -> None:
        self.mine = np.zeros((2, size), np.int64)  # counts of a comparison's episodes, by side
        self.twice = np.zeros(size, np.int64)  # counts that are in both rows of a comparison
        self._owner: Comparison | None = None  # the comparison that filled `mine`
        self._cells = np.zeros(0, np.int64)  # the cells of `mine` with counts

    def is_of(self, comparison: Comparison) -> bool:
        """Return whether `mine` holds the counts of a comparison."""
        return self._owner is comparison

    def clear(self) -> None:
        """Set all counts of `mine` to 0."""
        self.mine[:, self._cells] = 0

    def keep(self, comparison: Comparison, cells: Int64) -> None:
        """Note which comparison filled `mine`, and which cells have counts."""
        self._owner, self._cells = comparison, cells


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Samples of the states of a round so far, as comparisons need them."""

    steps: PointerLog
    labelling: Labelling
    path: Int32  # [N, H+1] the state of each episode at each step
    label: Int64  # [Q] the label of each state
    rows: Int64  # [at least Q, 2, cells] counts after the first visit of each episode, by side
    stride: int  # every `stride`-th episode is in the sample of a state
    strict: bool
    scratch: Scratch


class Comparison:
    """Comparison of the suffixes of some episodes with states."""

    def __init__(self, samples: Samples, episodes: Int64, start: Int64, joined: bool) -> None:
        self._states, self._joined = samples, joined
        # strided arrays would compile the kernels a second time
        self._episodes, self._start = np.ascontiguousarray(episodes), np.ascontiguousarray(start)
        self._label, self._tables = UNSEEN, (np.zeros(0, np.int64), np.zeros(0, np.int64))  # of the last counts

    def worth_comparing(self, states: list[int], threshold: float) -> list[int]:
        """Drop the states that the tree alone shows to be distinct; if all are, return the least distinct."""
        if self._states.strict:
            return states
        enough = threshold + math.log(2 * (DEPTH + 2))  # the tree is one of 2 (DEPTH + 2) ways to split and label
        found = self._screened(states, enough)
        left = [s for s, evidence in zip(states, found.tolist(), strict=True) if evidence < enough]
        return left or [states[int(found.argmin())]]

    def most_similar(self, states: list[int]) -> int:
        """Return the state with the least evidence of a difference in the tree."""
        found = self._screened(states, math.inf)
        return states[int(np.argmax(found <= found.min() + EQUAL_BALANCE))]  # the first of equals

    def _screened(self, states: list[int], enough: float) -> NDArray[np.float64]:
        """Return the evidence of the tree against each state."""
        r, labels = self._states, self._states.labelling.labels
        rows, (tables, _) = self._own_counts(0)
        found = evidence_kernels.screen(
            rows.sum(axis=0), tables, r.labelling.tree_tables.begin, r.labelling.tree_group, np.array(states), enough,
            r.rows, r.path, self._episodes, self._start, self._joined, r.stride, r.steps.word, r.steps.weight,
            r.steps.symbol_of, labels.tree, labels.tree_cells, EQUAL,
        )  # fmt: skip
        return np.asarray(found)

    def undecided(self, states: list[int], threshold: float) -> list[int]:
        """Return the states that the episodes are not distinct from; if there are none, the least distinct."""
        found = [self.with_state(s) for s in self.worth_comparing(states, threshold)]
        left = [near.state for near in found if near.evidence < threshold]
        return left or [min(found, key=lambda near: near.evidence).state]

    def with_state(self, state: int) -> Near:
        """Compare the episodes with a state."""
        r, made = self._states, self._states.labelling
        mine, touched = self._own_counts(int(r.label[state]))
        self._count_twice(state, 1)
        found = evidence_kernels.weigh(
            mine, r.rows[state], r.scratch.twice, touched[0], made.tree_tables.begin, made.tree_group, touched[1],
            made.tables.begin, made.group, DEPTH, r.strict, EQUAL,
        )  # fmt: skip
        self._count_twice(state, -1)
        return Near(state, *found)

    def witness(self, near: Near) -> Witness | None:
        """Return the event that differs most."""
        return self._states.labelling.witness(near.most_distinct, *self.rows(near)) if near.most_distinct >= 0 else None

    def rows(self, near: Near) -> tuple[Int64, Int64]:
        """Return both rows of counts, split as they differ most."""
        r, state = self._states, near.state
        mine, _ = self._own_counts(int(r.label[state]))
        theirs = r.rows[state]
        if near.split:
            return mine[1].copy(), theirs[0]
        self._count_twice(state, 1)
        rows = mine.sum(axis=0), theirs.sum(axis=0) - r.scratch.twice
        self._count_twice(state, -1)
        return rows

    def _count_twice(self, state: int, sign: int) -> None:
        """Add the counts that are in both rows to the scratch table, or with sign −1 remove them."""
        r, steps = self._states, self._states.steps
        if sign < 0 and len(self._episodes) * steps.horizon > len(r.scratch.twice):
            r.scratch.twice[:] = 0
            return
        stationary.meet_twice(
            r.labelling.labels, steps.symbol_of, steps.word, steps.weight, self._episodes, self._start, r.path, state,
            int(r.label[state]), self._joined, r.stride, sign, r.scratch.twice,
        )  # fmt: skip

    def _own_counts(self, label: int) -> tuple[Int64, tuple[Int64, Int64]]:
        """Return the episodes' counts by side, starting in a label, and their tables; valid until the next call."""
        r = self._states
        labels, steps = r.labelling.labels, r.steps
        if self._label != label or not r.scratch.is_of(self):
            r.scratch.clear()
            stationary.count_from(
                labels, steps.symbol_of, steps.word, steps.weight, self._episodes, self._start, label, r.scratch.mine
            )
            if len(self._episodes) * steps.horizon < len(r.scratch.twice):
                cells = stationary.cells_met(labels, steps.symbol_of, steps.word, self._episodes, self._start, label)
            else:
                cells = np.flatnonzero(r.scratch.mine.any(axis=0))
            r.scratch.keep(self, cells)
            self._label, self._tables = label, r.labelling.touched(cells)
        return r.scratch.mine, self._tables


def nearest(found: list[Near], threshold: float) -> Near:
    """Return the state with most evidence for a merge among those not distinct; else the least distinct."""
    possible = [f for f in found if f.evidence < threshold]
    if not possible:
        least = min(f.evidence for f in found)
        return next(f for f in found if f.evidence <= least + EQUAL_BALANCE)
    least = min(f.balance for f in possible)
    return next(f for f in possible if f.balance <= least + EQUAL_BALANCE)  # the first of equals
