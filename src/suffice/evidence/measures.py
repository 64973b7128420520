"""Measures of evidence: how much more often an event occurs in one sample than in another.

The evidence of an event that occurs k₁ times among n₁ futures and k₂ times among n₂, with p̂ = k/n and p̄ of both
samples together. `kernels.comparing` computes all of them. Theory: docs/theory.md, section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

from suffice.kernels.comparing import DIFFERENCE, FISHER, LIKELIHOOD
from suffice.kernels.tables import ln_table


class Contrast(NamedTuple):
    """Two states that a learner compares, n₁ and n₂ their shares of the episodes."""

    n1: float
    n2: float
    gap: float  # the largest difference between them in the probability of an event
    evidence: float  # mean of the largest G per episode
    noise: float  # ln of the number of events: about the evidence that chance alone shows


class Measure(Protocol):
    """A measure of evidence."""

    @property
    def kernel(self) -> int:
        """Its code in `kernels.comparing`."""

    @property
    def power(self) -> int:
        """Evidence as a share of its threshold grows like the number of episodes to the power of 1/power."""

    def attainable(self, n1: int, n2: int) -> float:
        """The most evidence between samples of n₁ and n₂: that of an event of all of one and none of the other."""

    def detectable(self, threshold: float, n1: int, n2: int) -> float:
        """An observed difference of frequencies that surely reaches the threshold; above 1 none does."""

    def episodes_to_rank(self, contrast: Contrast) -> float:
        """Episodes after which the difference exceeds what chance alone shows."""


@dataclass(frozen=True, slots=True)
class FrequencyDifference:
    """|p̂₁ − p̂₂|."""

    kernel: ClassVar[int] = DIFFERENCE
    power: ClassVar[int] = 2  # the evidence stays, and thresholds fall with the square root

    def attainable(self, n1: int, n2: int) -> float:
        """See `Measure`."""
        return 1.0

    def detectable(self, threshold: float, n1: int, n2: int) -> float:
        """See `Measure`."""
        return threshold

    def episodes_to_rank(self, contrast: Contrast) -> float:
        """See `Measure`."""
        return 0.5 * contrast.noise * (1 / contrast.n1 + 1 / contrast.n2) / contrast.gap**2


@dataclass(frozen=True, slots=True)
class LogLikelihoodRatio:
    """G = n₁ kl(p̂₁, p̄) + n₂ kl(p̂₂, p̄)."""

    kernel: ClassVar[int] = LIKELIHOOD
    power: ClassVar[int] = 1

    def attainable(self, n1: int, n2: int) -> float:
        """See `Measure`; n₁ ln(n/n₁) + n₂ ln(n/n₂)."""
        n = n1 + n2
        return n1 * math.log(n / n1) + n2 * math.log(n / n2)

    def detectable(self, threshold: float, n1: int, n2: int) -> float:
        """See `Measure`; G ≥ 2 (p̂₁ − p̂₂)² n₁n₂/(n₁+n₂) by Pinsker's inequality."""
        return _by_pinsker(threshold, n1, n2)

    def episodes_to_rank(self, contrast: Contrast) -> float:
        """See `Measure`."""
        return contrast.noise / contrast.evidence


@dataclass(frozen=True, slots=True)
class FisherEvidence:
    """−ln p, with p the two-sided p-value of Fisher's exact test."""

    kernel: ClassVar[int] = FISHER
    power: ClassVar[int] = 1

    def attainable(self, n1: int, n2: int) -> float:
        """See `Measure`; p ≥ 1 / C(n, n₁)."""
        return -float(ln_table(n1, n1, 0, n2))

    def detectable(self, threshold: float, n1: int, n2: int) -> float:
        """See `Measure`; nearly so, because −ln p approaches G as samples grow."""
        return _by_pinsker(threshold, n1, n2)

    def episodes_to_rank(self, contrast: Contrast) -> float:
        """See `Measure`."""
        return contrast.noise / contrast.evidence


def _by_pinsker(threshold: float, n1: int, n2: int) -> float:
    return math.sqrt(threshold * (n1 + n2) / (2 * n1 * n2))
