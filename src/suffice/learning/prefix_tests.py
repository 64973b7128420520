"""Comparison of merged candidates by prefixes, the last test of the refinement (docs/theory.md, section 9)."""

from __future__ import annotations

import math

import numpy as np

from suffice.data.episodes import Outline
from suffice.engines.engine import Engine
from suffice.evidence.bounds import FISHER_EXACT
from suffice.evidence.events import Witness
from suffice.evidence.prefix_rows import NextSteps, PrefixTable, affordable_steps
from suffice.evidence.rows import RowLayer
from suffice.evidence.statistic import Judgement
from suffice.kernels.array_types import Int64
from suffice.learning.merging import Placement

MOST_FIRST_STEPS = 1 << 22  # cells of a table of candidates and their next letters
SHARE = 1 / 16  # of a test's failure probability δ; the rest is for outcomes along the automaton


class PrefixTests:
    """Tests of a candidate against one state of its layer, by Fisher's exact test on all frequent prefixes."""

    def __init__(self, engine: Engine, log: Outline, t: int, sizes: Int64, delta: float) -> None:
        """Count the prefixes of layer t by candidate, when the first test is made."""
        self._engine, self._log, self._t, self._sizes = engine, log, t, sizes
        self._delta = SHARE * delta
        self._state_sizes: list[int] = []
        self._placed: list[tuple[int, int]] = []  # candidates and their states, before the first test
        self._layer: RowLayer | None = None
        self.steps = log.horizon - t + 1  # length up to which prefixes are compared
        self.length = min(affordable_steps(log), self.steps)  # up to which they are counted; 0: not at all
        if not self._delta or len(sizes) * len(log.letters) > MOST_FIRST_STEPS:  # too small to be divided, or too large
            self.length = 0

    def distinct(self, c: int, s: int) -> Judgement | None:
        """Return the comparison of candidate c with state s if they are distinct, else None."""
        self.steps = min(self.steps, self.length)
        if not self.length:
            return None
        if FISHER_EXACT.attainable(int(self._sizes[c]), self._state_sizes[s]) < -math.log(self._delta):
            return None  # the samples are too small
        layer = self._counted()
        low, high = FISHER_EXACT.thresholds(0, np.zeros(1, np.int64), 1, layer.events, self._delta)
        found = layer.compare_pair(FISHER_EXACT.kind, c, s, low, high, self._delta)
        return found._replace(nearest=s) if found.alone else None

    def place(self, c: int, s: int) -> None:
        """Record that candidate c became or joined state s."""
        if s == len(self._state_sizes):
            self._state_sizes.append(0)
        self._state_sizes[s] += int(self._sizes[c])
        self._placed.append((c, s))
        if self._layer is not None:
            self._repeat(self._layer, [(c, s)])

    def placement(self, c: int, found: Judgement) -> Placement:
        """Return the placement of a candidate that becomes a state, with the evidence of a comparison."""
        layer, s = self._counted(), found.nearest
        witness = Witness(layer.event(found.event), *layer.counts(c, s, found.event))
        return Placement(
            s, promoted=True, nearest=s, distance=found.distance, threshold=found.threshold, witness=witness
        )

    def _counted(self) -> RowLayer:
        if self._layer is None:
            parts = self._engine.run_query(NextSteps(self._t, self.length))
            table = PrefixTable.of(parts, len(self._sizes), len(self._log.letters))
            self.steps, self._layer = table.steps, table.layer(self._sizes, self._log.letters)
            self._repeat(self._layer, self._placed)
        return self._layer

    def _repeat(self, layer: RowLayer, placed: list[tuple[int, int]]) -> None:
        for c, s in placed:
            if s == layer.n_states:
                layer.promote(c)
            else:
                layer.absorb(c, s)
