"""Tests that decide whether two samples of futures come from different states.

A bound answers one query: given how often each of |X| events occurs in two samples of sizes n₁ and n₂, do their
distributions differ, with failure probability δ? They do if the evidence of some event, by the bound's `measure`,
reaches its `threshold`. Each bound is valid by a union bound over the |X| events. Theory: docs/theory.md, section 4.

To add a bound, write a class like those below and a line in `tables.BOUNDS`. What it must say is its name, measure and
threshold. Sample sizes, which `suffice exact` shows, are shown as not available unless it says them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar, Final, Protocol, runtime_checkable

import numpy as np

from suffice.evidence import tables
from suffice.evidence.measures import Contrast, FisherEvidence, FrequencyDifference, LogLikelihoodRatio, Measure
from suffice.kernels.array_types import Float, Int64
from suffice.registry import Registry


@runtime_checkable
class Bound(Protocol):
    """A valid test of "same distribution of futures".

    >>> suffice.TWO_SAMPLE.threshold(100, np.array([100, 10_000]), size=1, delta=0.05).round(3)
    array([0.192, 0.136])
    >>> suffice.BOUNDS["fisher"] is suffice.FISHER_EXACT
    True
    """

    @property
    def name(self) -> str:
        """As the command line and model files call it."""

    @property
    def measure(self) -> Measure:
        """How evidence is measured."""

    @property
    def allows_estimates(self) -> bool:
        """Whether its proof covers estimated counts, those of a sketch."""
        return False

    def threshold(self, n1: int, n2: Int64, size: int, delta: float, estimates: bool = False) -> Float:
        """The evidence from which samples of n₁ and n₂ suffixes are distinct, for |X| = size ≥ 1 events."""
        raise NotImplementedError

    def thresholds(
        self, n1: int, n2: Int64, size: int, events: float, delta: float, estimates: bool = False
    ) -> tuple[Float, Float]:
        """Values between which the threshold lies for samples in which `events` of the |X| events are told apart.

        Where they differ, Tarone's correction of Fisher's test decides between them.
        """
        exact = self.threshold(n1, n2, size, delta, estimates)
        return exact, exact

    def sufficient(
        self, distance: float, share: float, ln_size: float, delta: float, estimates: bool = False
    ) -> float | None:
        """Suffixes m of a candidate that provably suffice for a difference of `distance`; None: not known.

        `share` is that of the rarest candidate among N = 2m/share episodes. For m the threshold is at most distance/2.
        """
        return None

    def likely(self, contrast: Contrast, size: int, delta: float) -> float | None:
        """Episodes at which mean evidence reaches the threshold; None: not known."""
        return None

    @property
    def kind(self) -> int:
        """The code of its measure in `kernels.comparing`."""
        return self.measure.kernel

    def attainable(self, n1: int, n2: int) -> float:
        """The most evidence that an event can show between samples of n₁ and n₂ suffixes."""
        return self.measure.attainable(n1, n2)

    def detectable(self, threshold: float, n1: int, n2: int) -> float:
        """An observed difference of frequencies that reaches the threshold; above 1 the samples are too small."""
        return self.measure.detectable(threshold, n1, n2)


@dataclass(frozen=True, slots=True)
class PaperBound(Bound):
    """The paper's test on the largest difference of frequencies, which covers estimated counts as well.

    Distinct if max |p̂₁ − p̂₂| ≥ √(2 ln(4|X|/δ) / min(n₁, n₂)); with estimates, twice that with ln(8|X|/δ).
    Valid by Hoeffding's inequality for each sample (paper, Theorems 1 and 2).
    """

    name: ClassVar[str] = "paper"
    measure: ClassVar[Measure] = FrequencyDifference()
    allows_estimates: ClassVar[bool] = True

    def threshold(self, n1: int, n2: Int64, size: int, delta: float, estimates: bool = False) -> Float:
        """See `Bound`."""
        constant, factor = (8, 2.0) if estimates else (4, 1.0)
        ln = math.log(constant) - math.log(delta) + math.log(size)  # constant / δ can be too large for a float
        return np.asarray(factor * np.sqrt(2 * ln / np.minimum(n1, n2)))

    def sufficient(
        self, distance: float, share: float, ln_size: float, delta: float, estimates: bool = False
    ) -> float | None:
        """See `Bound`; m = 8 ln(4|X|/δ)/μ₀², or 32 ln(8|X|/δ)/μ₀² with estimates."""
        factor, constant = (32, 8) if estimates else (8, 4)
        return factor * (math.log(constant / delta) + ln_size) * (1 / distance**2)

    def likely(self, contrast: Contrast, size: int, delta: float) -> float | None:
        """See `Bound`."""
        n = min(contrast.n1, contrast.n2)
        return 2 * (math.log(4) - math.log(delta) + math.log(size)) / (n * contrast.gap**2)


@dataclass(frozen=True, slots=True)
class TwoSampleBound(Bound):
    """Hoeffding's test on the largest difference of frequencies.

    Distinct if max |p̂₁ − p̂₂| ≥ √(½ ln(2|X|/δ) (1/n₁ + 1/n₂)).
    Valid by Hoeffding's inequality for the difference itself.
    """

    name: ClassVar[str] = "two-sample"
    measure: ClassVar[Measure] = FrequencyDifference()

    def threshold(self, n1: int, n2: Int64, size: int, delta: float, estimates: bool = False) -> Float:
        """See `Bound`."""
        return np.asarray(np.sqrt(0.5 * (math.log(2) - math.log(delta) + math.log(size)) * (1 / n1 + 1 / n2)))

    def sufficient(
        self, distance: float, share: float, ln_size: float, delta: float, estimates: bool = False
    ) -> float | None:
        """See `Bound`; m = 4 ln(2|X|/δ)/μ₀²."""
        return 4 * (math.log(2 / delta) + ln_size) * (1 / distance**2)

    def likely(self, contrast: Contrast, size: int, delta: float) -> float | None:
        """See `Bound`."""
        ln = math.log(2) - math.log(delta) + math.log(size)
        return 0.5 * ln * (1 / contrast.n1 + 1 / contrast.n2) / contrast.gap**2


@dataclass(frozen=True, slots=True)
class LikelihoodRatioBound(Bound):
    """Likelihood-ratio test.

    Distinct if max G ≥ x*, the larger root of 4(1 + x − 2 ln 2)e^{−x} = δ/|X|, with G as in `LogLikelihoodRatio`.
    Valid by Chernoff's bound for each sample; see `larger_root`.
    """

    name: ClassVar[str] = "likelihood-ratio"
    measure: ClassVar[Measure] = LogLikelihoodRatio()

    def threshold(self, n1: int, n2: Int64, size: int, delta: float, estimates: bool = False) -> Float:
        """See `Bound`."""
        return np.full(len(n2), larger_root(math.log(delta) - math.log(size)))

    def sufficient(
        self, distance: float, share: float, ln_size: float, delta: float, estimates: bool = False
    ) -> float | None:
        """See `Bound`; m = 4 x*/μ₀², because G ≥ m (p̂₁ − p̂₂)² by Pinsker's inequality."""
        return 4 * larger_root(math.log(delta) - ln_size) * (1 / distance**2)

    def likely(self, contrast: Contrast, size: int, delta: float) -> float | None:
        """See `Bound`."""
        return larger_root(math.log(delta) - math.log(size)) / contrast.evidence


@dataclass(frozen=True, slots=True)
class FisherBound(Bound):
    """Fisher's exact test with Tarone's correction.

    Distinct if max −ln p ≥ ln(κ/δ), with κ ≤ |X| the number of events that could reach this with their margins.
    Valid because events that cannot reach the threshold cannot fail (Tarone 1990).
    """

    name: ClassVar[str] = "fisher"
    measure: ClassVar[Measure] = FisherEvidence()

    def threshold(self, n1: int, n2: Int64, size: int, delta: float, estimates: bool = False) -> Float:
        """See `Bound`; without the correction, κ = |X|."""
        return np.full(len(n2), math.log(size) - math.log(delta))

    def thresholds(
        self, n1: int, n2: Int64, size: int, events: float, delta: float, estimates: bool = False
    ) -> tuple[Float, Float]:
        """See `Bound`; κ is between 1 and the number of events, and computed only where it decides."""
        low = np.full(len(n2), -math.log(delta))
        return low, low + math.log(max(1.0, events))

    def sufficient(
        self, distance: float, share: float, ln_size: float, delta: float, estimates: bool = False
    ) -> float | None:
        """See `Bound`; m = 4 (ln(|X|/δ) + ½ ln 2N + ln(m + 1))/μ₀².

        A table has probability e^−G B(k₁; n₁) B(k₂; n₂) / B(k; n) with B a binomial's probability of its own mean, at
        most 1 and at least 1/√(2n), so that p, the sum over at most min(n₁, n₂) + 1 tables, is at most
        (min + 1) √(2N) e^−G; G grows with min faster than ln(min + 1) does, so min = m decides.
        """
        unit = 1 / distance**2
        m = unit
        for _ in range(100):  # logarithms of m grow so slowly that this settles at once
            m = 4 * (ln_size - math.log(delta) + 0.5 * math.log(4 * m / share) + math.log(m + 1)) * unit
        return m

    def likely(self, contrast: Contrast, size: int, delta: float) -> float | None:
        """See `Bound`; Tarone's correction leaves at most the events that differ at all."""
        return (contrast.noise - math.log(delta)) / contrast.evidence


PAPER = PaperBound()
TWO_SAMPLE = TwoSampleBound()
LIKELIHOOD_RATIO = LikelihoodRatioBound()
FISHER_EXACT = FisherBound()
BOUNDS: Final[Registry[Bound]] = tables.BOUNDS


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
