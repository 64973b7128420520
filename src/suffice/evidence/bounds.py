"""Tests that decide whether two samples of futures come from different states.

A bound answers one question: given how often each of |X| events occurs in two samples of sizes n₁ and n₂, do the
distributions differ, with failure probability δ? They are distinct if the evidence of some event, by the bound's
`measure`, reaches its `threshold`. Each bound is valid by a union bound over the |X| events. Theory: docs/theory.md,
section 4; paper, Theorems 1 and 2.

To add a bound, write a class like those below and a line in `tables.BOUNDS`. It must define its name, measure and
threshold. `suffice exact` shows sample sizes as not available unless the bound also defines `sufficient` and `likely`.
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
    """Test of whether two samples of suffixes have the same distribution.

    Inherit from this class to add a bound: define `name`, `measure` and `threshold`, with a proof that samples of the
    same distribution reach the threshold with probability at most δ.

    Examples
    --------
    >>> suffice.TWO_SAMPLE.threshold(100, np.array([100, 10_000]), size=1, delta=0.05).round(3)
    array([0.192, 0.136])
    >>> suffice.BOUNDS["fisher"] is suffice.FISHER_EXACT
    True
    """

    @property
    def name(self) -> str:
        """Name of the bound on the command line and in model files."""

    @property
    def measure(self) -> Measure:
        """Measure of the evidence that an event gives."""

    @property
    def allows_estimates(self) -> bool:
        """Whether the proof covers estimated counts, such as those of a sketch."""
        return False

    def threshold(self, n1: int, n2: Int64, size: int, delta: float, estimates: bool = False) -> Float:
        """Return the evidence at which two samples are distinct.

        Parameters
        ----------
        n1
            Size of the first sample, in suffixes.
        n2
            Sizes of the samples that it is compared with.
        size
            Number of events |X|, at least 1.
        delta
            Failure probability δ of each test.
        estimates
            Whether counts are estimates of a sketch.

        Returns
        -------
        Float
            A threshold for each element of `n2`.
        """
        raise NotImplementedError

    def thresholds(
        self, n1: int, n2: Int64, size: int, events: float, delta: float, estimates: bool = False
    ) -> tuple[Float, Float]:
        """Return a lower and an upper limit of the threshold.

        They differ only for Fisher's test, where Tarone's correction determines the threshold between them.

        Parameters
        ----------
        n1
            Size of the first sample, in suffixes.
        n2
            Sizes of the samples that it is compared with.
        size
            Number of events |X|, at least 1.
        events
            Number of events that are distinct on these samples, at most |X|.
        delta
            Failure probability δ of each test.
        estimates
            Whether counts are estimates of a sketch.

        Returns
        -------
        tuple of Float
            The limits, each with a value for each element of `n2`.
        """
        exact = self.threshold(n1, n2, size, delta, estimates)
        return exact, exact

    def sufficient(
        self, distance: float, share: float, ln_size: float, delta: float, estimates: bool = False
    ) -> float | None:
        """Return the sample size m that provably suffices to detect a difference.

        With m suffixes on each side the threshold is at most distance/2.

        Parameters
        ----------
        distance
            Distinguishability μ₀: difference in the probability of some event.
        share
            Share of the rarest candidate among N = 2m/share episodes.
        ln_size
            Logarithm of the number of events |X|.
        delta
            Failure probability δ of each test.
        estimates
            Whether counts are estimates of a sketch.

        Returns
        -------
        float or None
            Suffixes of the rarest candidate. None: not known for this bound.
        """
        return None

    def likely(self, contrast: Contrast, size: int, delta: float) -> float | None:
        """Return the number of episodes at which the mean evidence reaches the threshold.

        Parameters
        ----------
        contrast
            The two states that are compared.
        size
            Number of events |X|.
        delta
            Failure probability δ of each test.

        Returns
        -------
        float or None
            Number of episodes. None: not known for this bound.
        """
        return None

    @property
    def kind(self) -> int:
        """Code of the measure in `kernels.comparing`."""
        return self.measure.kernel

    def attainable(self, n1: int, n2: int) -> float:
        """Return the largest evidence that an event can give between samples of n₁ and n₂ suffixes.

        Parameters
        ----------
        n1, n2
            Sizes of the samples.

        Returns
        -------
        float
            Evidence, in units of the measure.
        """
        return self.measure.attainable(n1, n2)

    def detectable(self, threshold: float, n1: int, n2: int) -> float:
        """Return an observed difference of frequencies that reaches a threshold.

        Parameters
        ----------
        threshold
            Evidence at which the samples are distinct.
        n1, n2
            Sizes of the samples.

        Returns
        -------
        float
            Difference of frequencies. Above 1: the samples are too small to detect any.
        """
        return self.measure.detectable(threshold, n1, n2)


@dataclass(frozen=True, slots=True)
class PaperBound(Bound):
    """The paper's test on the largest difference of frequencies. It also covers estimated counts.

    Distinct if max |p̂₁ − p̂₂| ≥ √(2 ln(4|X|/δ) / min(n₁, n₂)); with estimates, twice that with ln(8|X|/δ).
    Valid because by Hoeffding's inequality each p̂ is within half of the threshold of p with probability at least
    1 − δ/(2|X|). With estimates, half of the threshold and half of δ cover the error of the sketch. Paper, Theorems 1
    and 2; docs/theory.md, section 4.
    """

    name: ClassVar[str] = "paper"
    measure: ClassVar[Measure] = FrequencyDifference()
    allows_estimates: ClassVar[bool] = True

    def threshold(self, n1: int, n2: Int64, size: int, delta: float, estimates: bool = False) -> Float:
        """Return the threshold for each size in n₂."""
        constant, factor = (8, 2.0) if estimates else (4, 1.0)
        ln = math.log(constant) - math.log(delta) + math.log(size)  # constant / δ can be too large for a float
        return np.asarray(factor * np.sqrt(2 * ln / np.minimum(n1, n2)))

    def sufficient(
        self, distance: float, share: float, ln_size: float, delta: float, estimates: bool = False
    ) -> float | None:
        """Return m = 8 ln(4|X|/δ)/μ₀², or 32 ln(8|X|/δ)/μ₀² with estimates."""
        factor, constant = (32, 8) if estimates else (8, 4)
        return factor * (math.log(constant / delta) + ln_size) * (1 / distance**2)

    def likely(self, contrast: Contrast, size: int, delta: float) -> float | None:
        """Return the episodes at which the mean evidence reaches the threshold."""
        n = min(contrast.n1, contrast.n2)
        return 2 * (math.log(4) - math.log(delta) + math.log(size)) / (n * contrast.gap**2)


@dataclass(frozen=True, slots=True)
class TwoSampleBound(Bound):
    """Two-sample Hoeffding test on the largest difference of frequencies.

    Distinct if max |p̂₁ − p̂₂| ≥ √(½ ln(2|X|/δ) (1/n₁ + 1/n₂)).
    Valid because p̂₁ − p̂₂ is a sum of n₁ + n₂ independent terms of ranges 1/n₁ and 1/n₂, whose squared ranges add up to
    1/n₁ + 1/n₂: Hoeffding's inequality, two-sided, at level δ/|X| for each event (docs/theory.md, section 4).
    """

    name: ClassVar[str] = "two-sample"
    measure: ClassVar[Measure] = FrequencyDifference()

    def threshold(self, n1: int, n2: Int64, size: int, delta: float, estimates: bool = False) -> Float:
        """Return the threshold for each size in n₂."""
        return np.asarray(np.sqrt(0.5 * (math.log(2) - math.log(delta) + math.log(size)) * (1 / n1 + 1 / n2)))

    def sufficient(
        self, distance: float, share: float, ln_size: float, delta: float, estimates: bool = False
    ) -> float | None:
        """Return m = 4 ln(2|X|/δ)/μ₀² suffixes; see `Bound`."""
        return 4 * (math.log(2 / delta) + ln_size) * (1 / distance**2)

    def likely(self, contrast: Contrast, size: int, delta: float) -> float | None:
        """Return the episodes at which the mean evidence reaches the threshold."""
        ln = math.log(2) - math.log(delta) + math.log(size)
        return 0.5 * ln * (1 / contrast.n1 + 1 / contrast.n2) / contrast.gap**2


@dataclass(frozen=True, slots=True)
class LikelihoodRatioBound(Bound):
    """Likelihood-ratio test on the event with the largest G.

    Distinct if max G ≥ x*, the larger root of 4(1 + x − 2 ln 2)e^{−x} = δ/|X|, with G = n₁ kl(p̂₁, p̄) + n₂ kl(p̂₂, p̄)
    and p̄ the pooled frequency. Valid because p̄ minimises this sum over p, and for the true p the sum exceeds x with
    probability at most 4(1 + x − 2 ln 2)e^{−x} by Chernoff's bound; see `larger_root` (docs/theory.md, section 4).
    """

    name: ClassVar[str] = "likelihood-ratio"
    measure: ClassVar[Measure] = LogLikelihoodRatio()

    def threshold(self, n1: int, n2: Int64, size: int, delta: float, estimates: bool = False) -> Float:
        """Return the threshold for each size in n₂."""
        return np.full(len(n2), larger_root(math.log(delta) - math.log(size)))

    def sufficient(
        self, distance: float, share: float, ln_size: float, delta: float, estimates: bool = False
    ) -> float | None:
        """Return m = 4 x*/μ₀², because G ≥ m (p̂₁ − p̂₂)² by Pinsker's inequality."""
        return 4 * larger_root(math.log(delta) - ln_size) * (1 / distance**2)

    def likely(self, contrast: Contrast, size: int, delta: float) -> float | None:
        """Return the episodes at which the mean evidence reaches the threshold."""
        return larger_root(math.log(delta) - math.log(size)) / contrast.evidence


@dataclass(frozen=True, slots=True)
class FisherBound(Bound):
    """Fisher's exact test of each event, with Tarone's correction for the number of events.

    Distinct if max −ln p ≥ ln(κ/δ), with κ ≤ |X| the number of testable events: those whose smallest p-value attainable
    given n₁, n₂ and k₁ + k₂ is at most δ/κ. Valid because, given these margins, p ≤ δ/κ has probability at most δ/κ for
    a testable event and 0 for the others (Tarone 1990; docs/theory.md, section 4).
    """

    name: ClassVar[str] = "fisher"
    measure: ClassVar[Measure] = FisherEvidence()

    def threshold(self, n1: int, n2: Int64, size: int, delta: float, estimates: bool = False) -> Float:
        """Return ln(|X|/δ), the threshold without the correction, where κ = |X|."""
        return np.full(len(n2), math.log(size) - math.log(delta))

    def thresholds(
        self, n1: int, n2: Int64, size: int, events: float, delta: float, estimates: bool = False
    ) -> tuple[Float, Float]:
        """Return ln(1/δ) and ln(events/δ); κ is computed only where the evidence lies between them."""
        low = np.full(len(n2), -math.log(delta))
        return low, low + math.log(max(1.0, events))

    def sufficient(
        self, distance: float, share: float, ln_size: float, delta: float, estimates: bool = False
    ) -> float | None:
        """Return the solution m of m = 4 (ln(|X|/δ) + ½ ln 2N + ln(m + 1))/μ₀².

        A table has probability e^−G B(k₁; n₁) B(k₂; n₂) / B(k; n), where B is the probability that a binomial variable
        equals its mean: at most 1 and at least 1/√(2n). The p-value is a sum over at most min(n₁, n₂) + 1 tables and so
        at most (min + 1) √(2N) e^−G. G grows faster with min than ln(min + 1) does, so min = m is the critical case.
        """
        unit = 1 / distance**2
        m = unit
        for _ in range(100):  # a fixed point, reached after a few steps because logarithms of m grow slowly
            m = 4 * (ln_size - math.log(delta) + 0.5 * math.log(4 * m / share) + math.log(m + 1)) * unit
        return m

    def likely(self, contrast: Contrast, size: int, delta: float) -> float | None:
        """Return the episodes needed; Tarone's correction counts at most the events that differ."""
        return (contrast.noise - math.log(delta)) / contrast.evidence


PAPER = PaperBound()
TWO_SAMPLE = TwoSampleBound()
LIKELIHOOD_RATIO = LikelihoodRatioBound()
FISHER_EXACT = FisherBound()
BOUNDS: Final[Registry[Bound]] = tables.BOUNDS


@lru_cache(maxsize=1024)
def larger_root(ln_level: float) -> float:
    """Return x* ≥ 2 ln 2 with ln 4 + ln(1 + x* − 2 ln 2) − x* = ln_level ≤ 0.

    Each n·kl(p̂, p) exceeds x with probability at most 2e^{−x} (Chernoff), so the sum of two independent ones is
    dominated by 2 ln 2 + Gamma(2, 1), whose tail is 4(1 + x − 2 ln 2)e^{−x}. With x = 2 ln 2 + s the equation is
    s − ln(1 + s) = −ln_level. The left side is convex, so Newton's method from the right converges without crossing
    the root.
    """
    s = 2 - 2 * ln_level  # right of the root, because s − ln(1 + s) ≥ s/2 − 1
    for _ in range(100):
        above = s - math.log1p(s) + ln_level
        if above <= 1e-16 * s:
            break
        s -= above * (1 + s) / s
    return 2 * math.log(2) + s
