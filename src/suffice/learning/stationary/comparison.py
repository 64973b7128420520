"""Comparing episodes, from a step of each on, with the states of a round."""

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
    """How a candidate compares with a state."""

    state: int
    evidence: float  # ln E that they differ
    balance: float
    telling: int  # the cell that differs most, or -1
    split: int  # and how rows were split there


class Scratch:
    """Tables that the comparisons of a round fill and clear in turn, so that none of them allocates its own."""

    def __init__(self, size: int) -> None:
        self.mine = np.zeros((2, size), np.int64)  # what the episodes of a comparison met, by side
        self.twice = np.zeros(size, np.int64)  # what both rows of a comparison count
        self._owner: Comparison | None = None  # whose `mine` is
        self._cells = np.zeros(0, np.int64)  # in which it has counts

    def is_of(self, comparison: Comparison) -> bool:
        """Whether `mine` still holds what a comparison filled in."""
        return self._owner is comparison

    def clear(self) -> None:
        """Empty `mine`."""
        self.mine[:, self._cells] = 0

    def keep(self, comparison: Comparison, cells: Int64) -> None:
        """Note whose `mine` is now, and in which cells it has counts."""
        self._owner, self._cells = comparison, cells


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """What the states of a round have seen so far, as comparisons need it."""

    steps: PointerLog
    labelling: Labelling
    path: Int32  # [N, H+1] the state of each episode at each step
    label: Int64  # [Q] the label of each state
    rows: Int64  # [at least Q, 2, cells] what followed the first visit of each episode, by side
    stride: int  # every so many episodes' visits are a state's sample
    strict: bool
    scratch: Scratch


class Comparison:
    """Episodes from a step of each on, against states."""

    def __init__(self, samples: Samples, episodes: Int64, start: Int64, joined: bool) -> None:
        self._states, self._joined = samples, joined
        # every so many of them would have kernels compiled anew
        self._episodes, self._start = np.ascontiguousarray(episodes), np.ascontiguousarray(start)
        self._label, self._tables = UNSEEN, (np.zeros(0, np.int64), np.zeros(0, np.int64))  # of what was met last

    def worth_comparing(self, states: list[int], threshold: float) -> list[int]:
        """Without those that the tree alone tells apart; if it tells all apart, the one it does so least."""
        if self._states.strict:
            return states
        enough = threshold + math.log(2 * (DEPTH + 2))  # it is one of as many ways to deal out, and to label
        found = self._screened(states, enough)
        left = [s for s, evidence in zip(states, found.tolist(), strict=True) if evidence < enough]
        return left or [states[int(found.argmin())]]

    def likest(self, states: list[int]) -> int:
        """The state that the tree tells it apart from least."""
        found = self._screened(states, math.inf)
        return states[int(np.argmax(found <= found.min() + EQUAL_BALANCE))]  # the oldest of equals

    def _screened(self, states: list[int], enough: float) -> NDArray[np.float64]:
        r, labels = self._states, self._states.labelling.labels
        rows, (tables, _) = self._met(0)
        found = evidence_kernels.screen(
            rows.sum(axis=0), tables, r.labelling.tree_tables.begin, r.labelling.tree_group, np.array(states), enough,
            r.rows, r.path, self._episodes, self._start, self._joined, r.stride, r.steps.word, r.steps.weight,
            r.steps.symbol_of, labels.tree, labels.tree_cells, EQUAL,
        )  # fmt: skip
        return np.asarray(found)

    def undecided(self, states: list[int], threshold: float) -> list[int]:
        """Those it is not distinct from; if it is from all, the least distinct."""
        found = [self.with_state(s) for s in self.worth_comparing(states, threshold)]
        left = [near.state for near in found if near.evidence < threshold]
        return left or [min(found, key=lambda near: near.evidence).state]

    def with_state(self, state: int) -> Near:
        """How they compare."""
        r, made = self._states, self._states.labelling
        mine, touched = self._met(int(r.label[state]))
        self._count_twice(state, 1)
        found = evidence_kernels.weigh(
            mine, r.rows[state], r.scratch.twice, touched[0], made.tree_tables.begin, made.tree_group, touched[1],
            made.tables.begin, made.group, DEPTH, r.strict, EQUAL,
        )  # fmt: skip
        self._count_twice(state, -1)
        return Near(state, *found)

    def witness(self, near: Near) -> Witness | None:
        """What differs most."""
        return self._states.labelling.witness(near.telling, *self.rows(near)) if near.telling >= 0 else None

    def rows(self, near: Near) -> tuple[Int64, Int64]:
        """Both rows, split as they differ most."""
        r, state = self._states, near.state
        mine, _ = self._met(int(r.label[state]))
        theirs = r.rows[state]
        if near.split:
            return mine[1].copy(), theirs[0]
        self._count_twice(state, 1)
        rows = mine.sum(axis=0), theirs.sum(axis=0) - r.scratch.twice
        self._count_twice(state, -1)
        return rows

    def _count_twice(self, state: int, sign: int) -> None:
        """Note what both rows count, or clear that away."""
        r, steps = self._states, self._states.steps
        if sign < 0 and len(self._episodes) * steps.horizon > len(r.scratch.twice):
            r.scratch.twice[:] = 0
            return
        stationary.meet_twice(
            r.labelling.labels, steps.symbol_of, steps.word, steps.weight, self._episodes, self._start, r.path, state,
            int(r.label[state]), self._joined, r.stride, sign, r.scratch.twice,
        )  # fmt: skip

    def _met(self, label: int) -> tuple[Int64, tuple[Int64, Int64]]:
        """What the episodes met, by side, seen from a label, and in which tables; until it is asked again."""
        r = self._states
        labels, steps = r.labelling.labels, r.steps
        if self._label != label or not r.scratch.is_of(self):
            r.scratch.clear()
            stationary.meet_tied(
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
    """Of the states it is not distinct from the one that most speaks for; if there are none, the least distinct."""
    possible = [f for f in found if f.evidence < threshold]
    if not possible:
        least = min(f.evidence for f in found)
        return next(f for f in found if f.evidence <= least + EQUAL_BALANCE)
    least = min(f.balance for f in possible)
    return next(f for f in possible if f.balance <= least + EQUAL_BALANCE)  # the oldest of equals
