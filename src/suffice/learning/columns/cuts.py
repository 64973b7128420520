"""Cuts of numbers, written with as few digits as nearly the same division of the rows needs."""

from __future__ import annotations

import numpy as np

from suffice.data.columnar import ColumnarLog
from suffice.data.encoding.binning import LOWEST
from suffice.learning.columns.features import Feature

DIGITS = range(1, 17)
MOVED = 500  # a cut may move over one in this number of rows on each side


def readable_cuts(log: ColumnarLog, feature: Feature) -> tuple[float, ...]:
    """Return the cuts of a feature, each replaced by a short number that divides the log in nearly the same way."""
    numbers = log.column(feature.column).numbers
    assert numbers is not None and feature.cuts is not None
    inside = np.sort(numbers[log.decides & (numbers > -np.inf)])
    slack = len(inside) // MOVED
    found = []
    for cut in feature.cuts:
        if cut == LOWEST:
            found.append(cut)
            continue
        place = int(np.searchsorted(inside, cut))  # the first row of the upper range
        low, high = inside[max(place - 1 - slack, 0)], inside[min(place + slack, len(inside) - 1)]
        found.append(_shortest(float(low), float(cut), float(high)))
    return tuple(found) if len(set(found)) == len(found) else feature.cuts


def _shortest(low: float, cut: float, high: float) -> float:
    """Return the number nearest to a cut with fewest digits, above `low` and at most `high`."""
    for digits in DIGITS:
        rounded = float(f"{cut:.{digits}g}")
        if low < rounded <= high:
            return rounded
    return cut
