"""Means with standard errors, and sums without rounding.

The rounded sum of floats depends on their order, so a mean over parts of a log would depend on how the log is divided.
Every float is an integer multiple of 2^−1074, and sums of integers do not depend on the order. `exact_sum` and
`Moments` are therefore exact, and the result for a log is the sum of the results for its parts. Rounding happens once,
at the end.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from suffice.errors import SufficeError
from suffice.kernels import sums
from suffice.kernels.array_types import Float, Int64, UInt64

UNIT = 1 << 1074  # every float is a multiple of 1 / UNIT
HALF_SIGNIFICAND = 26  # bits; a float's significand is stored in twice as many
TIMES = (1 << 20) - 1  # mask: weights are processed 20 bits at a time
BLOCK_NUMBERS = 1 << 16  # numbers processed at a time: 26 + 20 + 16 bits fit into an integer of 64 bits


def exact_sum(numbers: Float, weight: Int64 | None = None) -> Fraction:
    """Return Σ w·x without rounding, independent of order and partition; weights are not negative."""
    units = 0
    for part, times in _blocks(numbers, weight):
        bits = np.ascontiguousarray(part, np.float64).view(np.int64)
        if times is None:
            units += _units(bits, None)
            continue
        for shift in range(0, int(times.max()).bit_length(), TIMES.bit_length()):
            units += _units(bits, (times >> shift) & TIMES) << shift
    return Fraction(units, UNIT)


def exact_units(number: float) -> int:
    """Return a finite number in units of the smallest float, 2^−1074."""
    numerator, denominator = number.as_integer_ratio()
    return numerator * (UNIT // denominator)


def _blocks(numbers: Float, weight: Int64 | None) -> Iterator[tuple[Float, Int64 | None]]:
    for start in range(0, len(numbers), BLOCK_NUMBERS):
        block = slice(start, start + BLOCK_NUMBERS)
        yield numbers[block], None if weight is None else weight[block]


def _units(bits: Int64, times: Int64 | None) -> int:
    """Return Σ times·x in units of 2^−1074, from the bits of a block of numbers.

    Significands of numbers with the same sign and exponent are added; the implicit leading 1 is added by count.
    """
    table = sums.significands(bits, np.zeros(0, np.int64) if times is None else times, HALF_SIGNIFICAND)
    total = 0
    for one in np.flatnonzero(table[0]).tolist():
        negative, exponent = divmod(one, 1 << 11)
        if exponent == 0x7FF:
            raise SufficeError(
                "a sum has infinite or missing terms. Check that all rewards and probabilities are finite."
            )
        n, upper, lower = (int(column[one]) for column in table)
        significand = (upper << HALF_SIGNIFICAND) + lower + ((n << 52) if exponent else 0)
        total += (-significand if negative else significand) << max(exponent - 1, 0)
    return total


@dataclass(frozen=True, slots=True)
class Moments:
    """Count, sum and sum of squares of a sample, all exact. Moments of parts can be added."""

    n: int
    total: Fraction
    squares: Fraction  # sum of squares

    @classmethod
    def of(cls, sample: Float, weight: Int64 | None = None) -> Moments:
        """Return the moments of numbers, each counted as often as its weight says."""
        sample = np.asarray(sample, np.float64)
        n = len(sample) if weight is None else int(weight.sum())
        squares = (_exact_squares(part, times) for part, times in _blocks(sample, weight))
        return cls(n, exact_sum(sample, weight), sum(squares, Fraction()))

    def __add__(self, other: Moments) -> Moments:
        return Moments(self.n + other.n, self.total + other.total, self.squares + other.squares)

    def estimate(self) -> Estimate:
        """Return the mean and its standard error."""
        mean = self.total / self.n
        if self.n < 2:
            return Estimate(float(mean), math.inf)
        return Estimate(float(mean), _root((self.squares / self.n - mean**2) / (self.n - 1)))


def _exact_squares(sample: Float, weight: Int64 | None) -> Fraction:
    """Return Σ w·x² without rounding: a square is a float plus its rounding error, another float."""
    square, rest = np.empty_like(sample), np.empty_like(sample)
    if not sums.squares(sample, square, rest):
        each = (Fraction(x) ** 2 for x in sample.tolist())
        return sum(each if weight is None else (w * x for w, x in zip(weight.tolist(), each, strict=True)), Fraction())
    return exact_sum(square, weight) + (exact_sum(rest, weight) if rest.any() else 0)


def _root(square: Fraction) -> float:
    """Return the square root, also of fractions that are too large or too small for a float."""
    shift = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    return math.ldexp(math.sqrt(square / Fraction(4) ** shift), shift)


def sum_of_squares(influence: Float, weight: Int64 | Float | None = None, group: UInt64 | None = None) -> float:
    """Return the variance of a sum of influences [N] of independent episodes, or of independent groups of them.

    Within a group, influences are added before they are squared, so that any dependence within it counts; the result is
    multiplied by G/(G − 1) for G groups, because the mean is estimated from them. Infinite for a single group.
    """
    if group is None:
        squares = influence**2
        return float(np.sum(squares if weight is None else weight * squares))
    names, member = np.unique(group, return_inverse=True)
    if len(names) < 2:
        return math.inf
    total = np.bincount(member, influence if weight is None else weight * influence)
    return float(np.sum(total**2)) * len(names) / (len(names) - 1)


class Estimate(NamedTuple):
    """A mean with its standard error, limited to the range of possible values.

    The value of an unknown mean is NaN and its error infinite; its intervals are the range of possible values.
    """

    value: float
    error: float
    low: float = -math.inf  # smallest possible value
    high: float = math.inf  # largest possible value

    @property
    def known(self) -> bool:
        """Whether there is a value with a finite error."""
        return math.isfinite(self.error)

    def within(self, possible: tuple[float, float]) -> Estimate:
        """Return the estimate, limited to a range of possible values."""
        low, high = possible
        return Estimate(min(max(self.value, low), high), self.error, low, high)

    @classmethod
    def unknown(cls, possible: tuple[float, float]) -> Estimate:
        """Return the estimate of a mean of which only the range of possible values is known."""
        return cls(math.nan, math.inf, *possible)

    def interval(self, confidence: float = 0.95) -> tuple[float, float]:
        """Return a two-sided confidence interval for large samples, within the range of possible values."""
        wide = self._off((1 + confidence) / 2)
        if not math.isfinite(wide):
            return self.low, self.high
        return max(self.value - wide, self.low), min(self.value + wide, self.high)

    def lower(self, delta: float) -> float:
        """Return a one-sided lower confidence bound for large samples: the mean is below it with probability δ."""
        off = self._off(delta)
        if not math.isfinite(off):
            return self.low if off < 0 else self.high
        return min(max(self.value + off, self.low), self.high)

    def _off(self, chance: float) -> float:
        errors = NormalDist().inv_cdf(chance)
        return errors * self.error if errors else 0.0  # 0 · ∞ would be NaN

    @classmethod
    def mean(cls, sample: Float, weight: Int64 | None = None) -> Estimate:
        """Return the estimate from independent numbers, each counted as often as its weight says."""
        return Moments.of(sample, weight).estimate()
