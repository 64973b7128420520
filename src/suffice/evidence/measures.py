"""Measures of evidence that an event has different probabilities in two samples.

The event occurs k₁ times among n₁ futures and k₂ times among n₂; p̂ = k/n, and p̄ is the frequency in both samples
together. `kernels.comparing` computes all measures. Theory: docs/theory.md, section 4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple, Protocol

from suffice.kernels.comparing import DIFFERENCE, FISHER, LIKELIHOOD
from suffice.kernels.jit import interpreted
from suffice.kernels.tables import ln_table

_ln_table = interpreted(ln_table)  # for single tables


class Contrast(NamedTuple):
    """Two states that a learner compares."""

    n1: float  # share of the episodes in the first state
    n2: float  # share of the episodes in the second state
    gap: float  # largest difference between them in the probability of an event
    evidence: float  # mean of the largest G per episode
    noise: float  # ln of the number of events: about the largest evidence under equal distributions


class Measure(Protocol):
    """A measure of the evidence that two samples differ."""

    @property
    def kernel(self) -> int:
        """Code of the measure in `kernels.comparing`."""

    @property
    def power(self) -> int:
        """Evidence divided by its threshold grows like the number of episodes to the power of 1/power."""

    def attainable(self, n1: int, n2: int) -> float:
        """Return the largest evidence between n₁ and n₂ futures: the event occurs in all of one sample alone."""

    def detectable(self, threshold: float, n1: int, n2: int) -> float:
        """Return an observed difference of frequencies that is sure to reach the threshold; above 1 none is."""

    def episodes_to_rank(self, contrast: Contrast) -> float:
        """Return the episodes after which the evidence exceeds that of equal distributions."""


@dataclass(frozen=True, slots=True)
class FrequencyDifference:
    """Absolute difference of frequencies, |p̂₁ − p̂₂|."""

    kernel: ClassVar[int] = DIFFERENCE
    power: ClassVar[int] = 2  # the evidence is constant, and thresholds fall with the square root

    def attainable(self, n1: int, n2: int) -> float:
        """Return 1, the largest difference of frequencies."""
        return 1.0

    def detectable(self, threshold: float, n1: int, n2: int) -> float:
        """Return the threshold, which is a difference of frequencies."""
        return threshold

    def episodes_to_rank(self, contrast: Contrast) -> float:
        """Return the episodes after which the evidence exceeds chance."""
        return 0.5 * contrast.noise * (1 / contrast.n1 + 1 / contrast.n2) / contrast.gap**2


@dataclass(frozen=True, slots=True)
class LogLikelihoodRatio:
    """Log-likelihood ratio G = n₁ kl(p̂₁, p̄) + n₂ kl(p̂₂, p̄)."""

    kernel: ClassVar[int] = LIKELIHOOD
    power: ClassVar[int] = 1

    def attainable(self, n1: int, n2: int) -> float:
        """Return n₁ ln(n/n₁) + n₂ ln(n/n₂)."""
        n = n1 + n2
        return n1 * math.log(n / n1) + n2 * math.log(n / n2)

    def detectable(self, threshold: float, n1: int, n2: int) -> float:
        """Solve threshold = 2 d² n₁n₂/(n₁+n₂) for d; G is at least this by Pinsker's inequality."""
        return _by_pinsker(threshold, n1, n2)

    def episodes_to_rank(self, contrast: Contrast) -> float:
        """Return the episodes after which the evidence exceeds chance."""
        return contrast.noise / contrast.evidence


@dataclass(frozen=True, slots=True)
class FisherEvidence:
    """−ln p, where p is the two-sided p-value of Fisher's exact test."""

    kernel: ClassVar[int] = FISHER
    power: ClassVar[int] = 1

    def attainable(self, n1: int, n2: int) -> float:
        """Return ln C(n, n₁), because p ≥ 1 / C(n, n₁)."""
        return -float(_ln_table(n1, n1, 0, n2))

    def detectable(self, threshold: float, n1: int, n2: int) -> float:
        """Return the value for G as an approximation, because −ln p approaches G as samples grow."""
        return _by_pinsker(threshold, n1, n2)

    def episodes_to_rank(self, contrast: Contrast) -> float:
        """Return the episodes after which the evidence exceeds chance."""
        return contrast.noise / contrast.evidence


def _by_pinsker(threshold: float, n1: int, n2: int) -> float:
    return math.sqrt(threshold * (n1 + n2) / (2 * n1 * n2))
