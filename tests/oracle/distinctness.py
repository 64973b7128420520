"""Tests of two samples by definition: the distance of one event, and the threshold over all events.

An event occurs k₁ times in n₁ suffixes of one sample and k₂ times in n₂ of the other; K = k₁ + k₂, n = n₁ + n₂.
Theory: docs/theory.md, section 4.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Literal

Bound = Literal["paper", "two-sample", "likelihood-ratio", "fisher"]

CLOSE = 10**7  # tables whose probabilities agree to 1 part in CLOSE count as equally probable

comb = lru_cache(maxsize=1 << 16)(math.comb)


def difference(k1: int, n1: int, k2: int, n2: int) -> float:
    """Return |k₁/n₁ − k₂/n₂|, rounded once."""
    return abs(k1 * n2 - k2 * n1) / (n1 * n2)


def likelihood_ratio(k1: int, n1: int, k2: int, n2: int) -> float:
    """Return G = n₁·kl(k₁/n₁, K/n) + n₂·kl(k₂/n₂, K/n), with natural logarithms and 0 ln 0 = 0."""
    g = scaled_kl(k1, n1, k1 + k2, n1 + n2) + scaled_kl(k2, n2, k1 + k2, n1 + n2)
    return max(0.0, g)  # rounding alone can make it negative


def scaled_kl(k: int, n: int, total_k: int, total_n: int) -> float:
    """Return n·kl(k/n, K/N) for Bernoulli distributions."""
    yes = k * math.log(k * total_n / (n * total_k)) if k else 0.0
    no = (n - k) * math.log((n - k) * total_n / (n * (total_n - total_k))) if n - k else 0.0
    return yes + no


@lru_cache(maxsize=4096)
def table_weights(n1: int, n2: int, total_k: int) -> dict[int, int]:
    """Return the probabilities of the tables with these margins by k₁, in units of 1 / C(n, K)."""
    possible = range(max(0, total_k - n2), min(n1, total_k) + 1)
    return {x: comb(n1, x) * comb(n2, total_k - x) for x in possible}


@lru_cache(maxsize=1 << 16)
def fisher_p(k1: int, n1: int, k2: int, n2: int) -> Fraction:
    """Return Fisher's two-sided exact p-value: all tables of these margins that are not more probable than this one."""
    weights = table_weights(n1, n2, k1 + k2)
    limit = weights[k1] * (CLOSE + 1)
    return Fraction(sum(w for w in weights.values() if w * CLOSE <= limit), comb(n1 + n2, k1 + k2))


@lru_cache(maxsize=1 << 16)
def smallest_p(n1: int, n2: int, total_k: int) -> Fraction:
    """Return the smallest p-value that the margins allow, that of the least probable table."""
    weights = table_weights(n1, n2, total_k)
    k1 = min(weights, key=weights.__getitem__)
    return fisher_p(k1, n1, total_k - k1, n2)


def fisher_evidence(k1: int, n1: int, k2: int, n2: int) -> float:
    """Return −ln p, as the difference of two logarithms if p is too small for a float."""
    p = fisher_p(k1, n1, k2, n2)
    return abs(math.log(p)) if p > 1e-300 else math.log(p.denominator) - math.log(p.numerator)


def event_distance(bound: Bound, k1: int, n1: int, k2: int, n2: int) -> float:
    """Return the evidence of one event between two samples, by the measure of the bound."""
    if bound == "fisher":
        return fisher_evidence(k1, n1, k2, n2)
    if bound == "likelihood-ratio":
        return likelihood_ratio(k1, n1, k2, n2)
    return difference(k1, n1, k2, n2)


def paper_threshold(log_size: float, delta: float, n1: int, n2: int) -> float:
    """Return √(2 ln(4|X|/δ) / min(n₁, n₂))."""
    return math.sqrt(2 * (math.log(4) + log_size - math.log(delta)) / min(n1, n2))


def two_sample_threshold(log_size: float, delta: float, n1: int, n2: int) -> float:
    """Return √(½ ln(2|X|/δ) (1/n₁ + 1/n₂))."""
    return math.sqrt((math.log(2) + log_size - math.log(delta)) / 2 * (1 / n1 + 1 / n2))


@lru_cache
def likelihood_ratio_threshold(log_size: float, delta: float) -> float:
    """Return x*, the larger root of 4(1 + x − 2 ln 2)e^{−x} = δ/|X|, by bisection to the last bit.

    The left side is 1 at x = 2 ln 2, its maximum, and falls to 0 beyond.
    """

    def excess(x: float) -> float:
        return math.log(4) + math.log(1 + x - 2 * math.log(2)) - x - (math.log(delta) - log_size)

    low, high = 2 * math.log(2), 4.0
    while excess(high) > 0:
        high *= 2
    while low < (middle := (low + high) / 2) < high:
        low, high = (middle, high) if excess(middle) > 0 else (low, middle)
    return high


def tarone_kappa(events_by_k: Mapping[int, int], delta: float, n1: int, n2: int) -> int:
    """Return Tarone's κ, the smallest positive integer with #{events whose smallest p-value is ≤ δ/κ} ≤ κ.

    `events_by_k` has the number of events that occur K times in both samples together. The number of testable events
    falls as κ grows, so bisection finds the smallest κ.
    """
    reach = [(smallest_p(n1, n2, total_k), count) for total_k, count in events_by_k.items()]

    def enough(kappa: int) -> bool:
        return sum(count for p, count in reach if p * kappa <= Fraction(delta)) <= kappa

    low, high = 0, max(1, sum(events_by_k.values()))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def fisher_threshold(events_by_k: Mapping[int, int], delta: float, n1: int, n2: int) -> float:
    """Return ln(κ/δ) with Tarone's κ."""
    return math.log(tarone_kappa(events_by_k, delta, n1, n2)) - math.log(delta)


def threshold(bound: Bound, log_size: float, events_by_k: Mapping[int, int], delta: float, n1: int, n2: int) -> float:
    """Return the distance at which two samples are distinct; infinite if there are no events."""
    if log_size == -math.inf:
        return math.inf
    if bound == "paper":
        return paper_threshold(log_size, delta, n1, n2)
    if bound == "two-sample":
        return two_sample_threshold(log_size, delta, n1, n2)
    if bound == "likelihood-ratio":
        return likelihood_ratio_threshold(log_size, delta)
    return fisher_threshold(events_by_k, delta, n1, n2)
