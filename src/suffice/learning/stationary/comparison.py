"""Compare suffixes of episodes with the states of a round of the stationary learner."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.evidence.events import Witness
from suffice.kernels import futures, stationary
from suffice.kernels.array_types import Int32, Int64
from suffice.kernels.evidence import DEPTH
from suffice.kernels.futures import Candidate, Room
from suffice.learning.refinement import EQUAL, EQUAL_BALANCE
from suffice.learning.stationary.labels import Labelling, PointerLog


class Near(NamedTuple):
    """Evidence from the comparison of a candidate with a state."""

    state: int
    evidence: float  # ln E that they differ
    balance: float  # Σ ln e; below 0 the evidence is in favour of a merge
    most_distinct: int  # the cell that differs most, or -1
    split: int  # how the rows were split when they differ most


@dataclass(frozen=True, slots=True, eq=False)
class Samples:
    """Samples of the states of a round so far, as comparisons need them."""

    steps: PointerLog
    labelling: Labelling
    path: Int32  # [N, H+1] the state of each episode at each step
    label: Int64  # [Q] the label of each state
    rows: Int64  # [at least Q, D, 2] counts after the first visit of each episode, by side
    stride: int  # every `stride`-th episode is in the sample of a state
    strict: bool
    room: Room


class Comparison:
    """Comparison of the suffixes of some episodes with states."""

    def __init__(self, samples: Samples, episodes: Int64, start: Int64, joined: bool) -> None:
        self._states = samples
        # strided arrays would compile the kernels a second time
        episodes, start = np.ascontiguousarray(episodes), np.ascontiguousarray(start)
        visits = stationary.first_visits(samples.path, episodes, start, joined, samples.stride, len(samples.label))
        self._candidate = Candidate(episodes, start, *visits)
        self._rows: tuple[Near, tuple[Int64, Int64]] | None = None  # of the last comparison

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
        r, made = self._states, self._states.labelling
        found = futures.screen(
            made.labels, made.tree, r.steps.walked, self._candidate, np.array(states), r.rows, EQUAL, enough, r.room
        )
        return np.asarray(found)

    def undecided(self, states: list[int], threshold: float) -> list[int]:
        """Return the states that the episodes are not distinct from; if there are none, the least distinct."""
        found = self.with_states(self.worth_comparing(states, threshold))
        left = [near.state for near in found if near.evidence < threshold]
        return left or [min(found, key=lambda near: near.evidence).state]

    def with_states(self, states: list[int]) -> list[Near]:
        """Compare the episodes with states."""
        r, made = self._states, self._states.labelling
        found = futures.weigh_states(
            made.labels, made.tree, made.automaton, r.steps.walked, self._candidate, np.array(states), r.label, r.rows,
            r.strict, EQUAL, r.room,
        )  # fmt: skip
        return [Near(*near) for near in zip(states, *(part.tolist() for part in found), strict=True)]

    def witness(self, near: Near) -> Witness | None:
        """Return the event that differs most."""
        return self._states.labelling.witness(near.most_distinct, *self.rows(near)) if near.most_distinct >= 0 else None

    def rows(self, near: Near) -> tuple[Int64, Int64]:
        """Return both rows of counts, split as they differ most."""
        if self._rows is not None and self._rows[0] == near:
            return self._rows[1]
        r, made = self._states, self._states.labelling
        one, other = futures.rows_of(
            made.labels, made.tree, made.automaton, r.steps.walked, self._candidate, near.state,
            int(r.label[near.state]), r.rows, near.split, r.room,
        )  # fmt: skip
        self._rows = near, (one, other)
        return one, other


def nearest(found: list[Near], threshold: float) -> Near:
    """Return the state with most evidence for a merge among those not distinct; else the least distinct."""
    possible = [f for f in found if f.evidence < threshold]
    if not possible:
        least = min(f.evidence for f in found)
        return next(f for f in found if f.evidence <= least + EQUAL_BALANCE)
    least = min(f.balance for f in possible)
    return next(f for f in possible if f.balance <= least + EQUAL_BALANCE)  # the first of equals
