"""A layer whose events are columns, with a row of counts for each candidate and each state."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from suffice.data.log import SMALL
from suffice.evidence.events import Event
from suffice.evidence.languages import refuse_if_over
from suffice.evidence.statistic import Judgement
from suffice.kernels import comparing, distinct
from suffice.kernels.array_types import Float, Int64, Mask

UNLIMITED = 1 << 62  # bytes


class StateComparisons(NamedTuple):
    """Comparisons of a candidate with some of the states; distinct where the evidence reaches the threshold."""

    evidence: Float  # [Q] exact where not distinct
    event: Int64  # [Q] event with this evidence
    threshold: Float  # [Q] or another value that gives the same decision


class RowLayer:
    """Candidates and states as rows of counts over the same events."""

    def __init__(
        self,
        row_of: Callable[[int], Int64],  # candidate → [E]
        sizes: Int64,  # [C]
        multiplicity: Float,  # [E] number of languages that each event stands for
        event: Callable[[int], Event],  # column → event
        memory: int = UNLIMITED,  # bytes, of which states may take half
    ) -> None:
        self._row_of = row_of
        self._sizes = sizes
        self._multiplicity = multiplicity
        self._memory = memory
        self.event = cache(event)
        self.events = float(multiplicity.sum())
        self._row = np.zeros(0, np.int64)
        self._current = -1
        self._n_states = 0
        self._states = np.zeros((0, len(multiplicity)), np.int64)  # [capacity, E]
        self._state_sizes = np.zeros_like(sizes)
        self._best, self._event = np.zeros(len(sizes)), np.zeros(len(sizes), np.int64)
        self._room = self._make_room()

    @property
    def n_states(self) -> int:
        """Number of states so far."""
        return self._n_states

    def _candidate(self, c: int) -> Int64:
        if c != self._current:
            self._row, self._current = self._row_of(c), c
        return self._row

    def judge(self, kind: int, c: int, low: Float, high: Float, delta: float) -> Judgement:
        """Compare candidate c with every state of the layer."""
        row, n = self._candidate(c), self._sizes[c]
        return Judgement(
            *comparing.judge_rows(kind, row, n, *self._room, low, high, self._multiplicity, math.log(delta))
        )

    def compare_pair(self, kind: int, c: int, q: int, low: Float, high: Float, delta: float) -> Judgement:
        """Compare candidate c with state q alone; thresholds, of one state, as in `judge`."""
        one = tuple(column[q : q + 1] for column in self._room)
        row, n = self._candidate(c), self._sizes[c]
        return Judgement(*comparing.judge_rows(kind, row, n, *one, low, high, self._multiplicity, math.log(delta)))

    def compare_each(self, kind: int, c: int, asked: Mask, low: Float, high: Float, delta: float) -> StateComparisons:
        """Compare candidate c with each state selected by `asked` [Q]; thresholds as in `judge`."""
        row, n, (states, sizes, _, event) = self._candidate(c), self._sizes[c], self._room
        compared = StateComparisons(np.zeros(len(asked)), event.copy(), high.copy())
        distinct.compare_each(
            kind, row, n, states, sizes, asked, low, high, self._multiplicity, math.log(delta), event, *compared
        )
        return compared

    def tarone_threshold(self, c: int, q: int, delta: float) -> float:
        """Return Tarone's threshold ln(κ/δ) for candidate c and state q."""
        row, n, (states, sizes, _, _) = self._candidate(c), self._sizes[c], self._room
        return float(comparing.tarone_threshold(row, n, states[q], sizes[q], self._multiplicity, math.log(delta)))

    def counts(self, c: int, q: int, event: int) -> tuple[int, int, int, int]:
        """Return the counts of an event in candidate c and state q, and their sizes."""
        k1, k2 = self._candidate(c)[event], self._states[q, event]
        return int(k1), int(self._sizes[c]), int(k2), int(self._state_sizes[q])

    def promote(self, c: int) -> None:
        """Make candidate c the next state."""
        q = self._n_states
        if q == len(self._states):
            capacity = min(max(4, 2 * q), len(self._sizes))
            table = f"the table of {capacity:,} states and {len(self._multiplicity):,} languages"
            refuse_if_over(max(SMALL, self._memory // 2), 8 * len(self._multiplicity) * (q + capacity), table)
            grown = np.zeros((capacity, self._states.shape[1]), np.int64)
            grown[:q] = self._states
            self._states = grown
        self._states[q] = self._candidate(c)
        self._state_sizes[q] = self._sizes[c]
        self._n_states += 1
        self._room = self._make_room()

    def _make_room(self) -> tuple[Int64, Int64, Float, Int64]:
        """Return views of the states, their sizes, distances and events; a search starts at the last event found."""
        n = self._n_states
        return self._states[:n], self._state_sizes[:n], self._best[:n], self._event[:n]

    def absorb(self, c: int, q: int) -> None:
        """Add the suffixes of candidate c to state q."""
        self._states[q] += self._candidate(c)
        self._state_sizes[q] += self._sizes[c]
