"""Decision rule for a candidate: find the nearest state, or conclude that the candidate is distinct from all states.

The rule is the same for every kind of layer. Theory: docs/theory.md, section 2.
"""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from suffice.evidence.statistic import Judgement
from suffice.kernels import comparing
from suffice.kernels.array_types import Float, Int64


class Comparable(Protocol):
    """The methods of a layer that the decision rule needs."""

    def compare(self, kind: int, c: int, low: Float, high: Float) -> tuple[Float, Int64]:
        """Return the evidence between candidate c and each state, and the event that gives it (−1: none).

        Evidence is exact for the nearest of the states below `low` [Q] and, if there are none, for those between `low`
        and `high` [Q]. The search for a state may stop once its evidence reaches `high` or that of a nearer state.
        """

    def testable(self, c: int, q: int, delta: float) -> int:
        """Return Tarone's κ, the number of testable events, for Fisher's test of candidate c and state q."""


def judge(layer: Comparable, kind: int, c: int, low: Float, high: Float, delta: float) -> Judgement:
    """Compare candidate c with every state; `kernels.comparing.judge_rows` does the same for rows of counts."""

    def threshold(q: int) -> float:
        return math.log(layer.testable(c, q, delta)) - math.log(delta) if low[q] < high[q] else float(low[q])

    distances, events = layer.compare(kind, c, low, high)
    nearest = comparing.nearest(distances, low, high)
    if nearest == -2:
        between = np.flatnonzero((distances >= low) & (distances < high))
        exact = high.copy()
        exact[between] = [threshold(int(q)) for q in between]
        nearest = comparing.nearest(distances, exact, exact)
    alone = nearest < 0
    if alone:  # the nearest state is still reported
        infinite = np.full(len(high), math.inf)
        distances, events = layer.compare(kind, c, infinite, infinite)
        nearest = comparing.nearest(distances, infinite, infinite)
    return Judgement(nearest, alone, float(distances[nearest]), threshold(nearest), int(events[nearest]))
