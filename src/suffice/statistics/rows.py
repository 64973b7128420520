"""A layer whose events are columns: one row of counts per candidate and state."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np

from suffice import kernels
from suffice.statistics import Float, Int64, Judgement


class RowLayer:
    """Candidates and states as rows of counts over the same events."""

    def __init__(
        self,
        row_of: Callable[[int], Int64],  # candidate → [E]
        sizes: Int64,  # [C]
        multiplicity: Float,  # [E] how many languages each event stands for
        describe: Callable[[int], str],
    ) -> None:
        self._row_of = row_of
        self._sizes = sizes
        self._multiplicity = multiplicity
        self.describe = cache(describe)
        self.events = float(multiplicity.sum())
        self._row = np.zeros(0, np.int64)
        self._current = -1
        self._n_states = 0
        self._states = np.zeros((0, len(multiplicity)), np.int64)  # [capacity, E]
        self._state_sizes = np.zeros_like(sizes)
        self._best, self._event = np.zeros(len(sizes)), np.zeros(len(sizes), np.int64)
        self._room = self._make_room()

    def _candidate(self, c: int) -> Int64:
        if c != self._current:
            self._row, self._current = self._row_of(c), c
        return self._row

    def judge(self, kind: int, c: int, low: Float, high: Float, delta: float) -> Judgement:
        """See `Layer`."""
        row, n = self._candidate(c), self._sizes[c]
        return Judgement(*kernels.judge_rows(kind, row, n, *self._room, low, high, self._multiplicity, math.log(delta)))

    def frequencies(self, c: int, q: int, event: int) -> tuple[float, float]:
        """See `Layer`."""
        k1, k2 = self._candidate(c)[event], self._states[q, event]
        return float(k1 / self._sizes[c]), float(k2 / self._state_sizes[q])

    def promote(self, c: int) -> None:
        """See `Layer`."""
        q = self._n_states
        if q == len(self._states):
            grown = np.zeros((max(4, 2 * q), self._states.shape[1]), np.int64)
            grown[:q] = self._states
            self._states = grown
        self._states[q] = self._candidate(c)
        self._state_sizes[q] = self._sizes[c]
        self._n_states += 1
        self._room = self._make_room()

    def _make_room(self) -> tuple[Int64, Int64, Float, Int64]:
        """States and their sizes, and room for distances and events; a search begins at the event found last."""
        n = self._n_states
        return self._states[:n], self._state_sizes[:n], self._best[:n], self._event[:n]

    def absorb(self, c: int, q: int) -> None:
        """See `Layer`."""
        self._states[q] += self._candidate(c)
        self._state_sizes[q] += self._sizes[c]
