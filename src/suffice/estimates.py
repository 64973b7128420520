"""Numbers that come with their uncertainty."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Estimate(NamedTuple):
    """A mean and its standard error."""

    value: float
    error: float

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Two-sided, for large samples."""
        wide = NormalDist().inv_cdf((1 + confidence) / 2) * self.error
        return self.value - wide, self.value + wide

    def lower(self, delta: float) -> float:
        """One-sided: below it with probability δ, for large samples."""
        return self.value + NormalDist().inv_cdf(delta) * self.error

    @classmethod
    def mean(cls, sample: NDArray[np.float64], weight: NDArray[np.int64] | None = None) -> Estimate:
        """Of independent numbers, each standing for as many as its weight says."""
        n = len(sample) if weight is None else int(weight.sum())
        mean = float(np.average(sample, weights=weight))
        if n < 2:
            return cls(mean, math.inf)
        spread = float(np.average((sample - mean) ** 2, weights=weight)) * n / (n - 1)
        return cls(mean, (spread / n) ** 0.5)
