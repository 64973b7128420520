"""When are two samples of futures distinct? And what may a run promise? (theory.md §4)

Each bound compares the counts (k₁ of n₁, k₂ of n₂) of every event X of a family and is wrong about two equal
distributions with probability at most δ, by a union bound over |X| events:

`paper`             |p̂₁ − p̂₂| ≥ √(2 ln(4|X|/δ) / min(n₁, n₂)), twice that with ln(8|X|/δ) where counts are estimates
`two-sample`        |p̂₁ − p̂₂| ≥ √(½ ln(2|X|/δ) (1/n₁ + 1/n₂)), Hoeffding's inequality for the difference itself
`likelihood-ratio`  G = n₁ kl(p̂₁, p̄) + n₂ kl(p̂₂, p̄) ≥ x*, the larger root of 4(1 + x − 2 ln 2)e^{−x} = δ/|X|
`fisher`            −ln p ≥ ln(κ/δ), p of Fisher's exact test; Tarone's κ counts only events that could reach it
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from suffice.kernels.array_types import Float, Int64
from suffice.kernels.comparing import DIFFERENCE, FISHER, LIKELIHOOD
from suffice.kernels.tables import ln_table


@dataclass(frozen=True, slots=True)
class Bound:
    """A valid test of "same distribution of futures".

    >>> suffice.TWO_SAMPLE.threshold(100, np.array([100, 10_000]), size=1, delta=0.05).round(3)
    array([0.192, 0.136])
    >>> suffice.BOUNDS["fisher"] is suffice.FISHER_EXACT
    True
    """

    name: str
    kind: int
    allows_estimates: bool = False  # the paper's Theorem 1 covers sketched counts; the others need true ones

    def threshold(self, n1: int, n2: Int64, size: int, delta: float, estimates: bool = False) -> Float:
        """The evidence from which samples of n₁ and n₂ suffixes are distinct, for |X| = size ≥ 1 events."""
        ln_size = math.log(size)
        if self is PAPER:
            constant, factor = (8, 2.0) if estimates else (4, 1.0)
            ln = math.log(constant) - math.log(delta) + ln_size  # constant / δ can be too large for a float
            return np.asarray(factor * np.sqrt(2 * ln / np.minimum(n1, n2)))
        if self is TWO_SAMPLE:
            return np.asarray(np.sqrt(0.5 * (math.log(2) - math.log(delta) + ln_size) * (1 / n1 + 1 / n2)))
        if self is LIKELIHOOD_RATIO:
            return np.full(len(n2), larger_root(math.log(delta) - ln_size))
        return np.full(len(n2), ln_size - math.log(delta))

    def attainable(self, n1: int, n2: int) -> float:
        """No event shows more evidence between samples of n₁ and n₂ suffixes: one that holds for all of one side and
        none of the other shows it, G = n₁ ln(n/n₁) + n₂ ln(n/n₂) or p ≥ 1 / C(n, n₁).
        """
        if self.kind == DIFFERENCE:
            return 1.0
        n = n1 + n2
        if self.kind == LIKELIHOOD:
            return n1 * math.log(n / n1) + n2 * math.log(n / n2)
        return -float(ln_table(n1, n1, 0, n2))

    def detectable(self, threshold: float, n1: int, n2: int) -> float:
        """An observed difference of frequencies that certainly passes the threshold (for `fisher`: nearly so); above
        1 none does, as the samples are too small.

        By Pinsker's inequality G ≥ 2 (p̂₁ − p̂₂)² n₁n₂/(n₁+n₂); −ln p approaches G as samples grow.
        """
        return threshold if self.kind == DIFFERENCE else math.sqrt(threshold * (n1 + n2) / (2 * n1 * n2))


PAPER = Bound("paper", DIFFERENCE, allows_estimates=True)
TWO_SAMPLE = Bound("two-sample", DIFFERENCE)
LIKELIHOOD_RATIO = Bound("likelihood-ratio", LIKELIHOOD)
FISHER_EXACT = Bound("fisher", FISHER)
BOUNDS = {bound.name: bound for bound in (PAPER, TWO_SAMPLE, LIKELIHOOD_RATIO, FISHER_EXACT)}


@lru_cache(maxsize=1024)
def larger_root(ln_level: float) -> float:
    """x* with ln 4 + ln(1 + x − 2 ln 2) − x = ln_level ≤ 0, x ≥ 2 ln 2.

    Each n·kl(p̂, p) exceeds x with probability at most 2e^{−x} (Chernoff), so the sum of two is dominated by
    2 ln 2 + Gamma(2, 1), whose tail is 4(1 + x − 2 ln 2)e^{−x}. With x = 2 ln 2 + s the equation is
    s − ln(1 + s) = −ln_level. The left side is convex, so Newton's steps from the right come closer and never cross.
    """
    s = 2 - 2 * ln_level  # to the right, as s − ln(1 + s) ≥ s/2 − 1
    for _ in range(100):
        above = s - math.log1p(s) + ln_level
        if above <= 1e-16 * s:
            break
        s -= above * (1 + s) / s
    return 2 * math.log(2) + s
