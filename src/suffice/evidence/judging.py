"""Which state is nearest, and is the candidate distinct from all? The rule of theory.md §2, for any kind of layer."""

from __future__ import annotations

import math
from typing import Protocol

import numpy as np

from suffice.evidence.statistic import Judgement
from suffice.kernels import comparing
from suffice.kernels.array_types import Float, Int64


class Comparable(Protocol):
    """What the rule needs of a layer."""

    def compare(self, kind: int, c: int, low: Float, high: Float) -> tuple[Float, Int64]:
        """Evidence between candidate c and each state, and the event that shows it (−1: none at all).

        Evidence is exact for the nearest of the states below `low` [Q] and, if there is none, for those between `low`
        and `high` [Q]; where it reaches `high`, or that of a nearer state, the search may stop.
        """

    def testable(self, c: int, q: int, delta: float) -> int:
        """Tarone's κ for Fisher's test between candidate c and state q."""


def judge(layer: Comparable, kind: int, c: int, low: Float, high: Float, delta: float) -> Judgement:
    """Compare candidate c with every state; `kernels.judge_rows` is the same in one call for rows of counts."""

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
    if alone:  # which state is nearest is still of interest
        infinite = np.full(len(high), math.inf)
        distances, events = layer.compare(kind, c, infinite, infinite)
        nearest = comparing.nearest(distances, infinite, infinite)
    return Judgement(nearest, alone, float(distances[nearest]), threshold(nearest), int(events[nearest]))
