"""Likelihood ratios and hypergeometric probabilities of 2×2 tables with k₁ of n₁ and k₂ of n₂ counts.

Logarithms of factorials grow with the counts, and so do the rounding errors of their differences. Beyond a table of
small factorials everything is therefore expressed by d = k₁n₂ − k₂n₁, which is small where frequencies are close.
Errors are some 10⁻¹⁶ √(n·G), below 10⁻⁸ for 10¹² episodes. Counts are below 2⁵², so they are exact as floats, and the
rounding error of a product of two is a float too.
"""

from __future__ import annotations

import math

import numpy as np

from suffice.kernels.jit import jit

EXACT = 2.0**53  # integers up to this are exact as floats

_TABLE = np.array([math.lgamma(i + 1.0) for i in range(1 << 16)])  # ln i!

_HALF_LN_2PI = 0.5 * math.log(2 * math.pi)

_STIRLING_ERRORS = np.array(
    [0.0] + [math.lgamma(i + 1.0) - (i + 0.5) * math.log(i) + i - _HALF_LN_2PI for i in range(1, 16)]
)


@jit
def _lost(a, b, product):
    """Return the rounding error of a product (Dekker): products of the halves of both factors are exact."""
    upper_a, upper_b = a * 134217729.0, b * 134217729.0  # 2²⁷ + 1
    upper_a, upper_b = upper_a - (upper_a - a), upper_b - (upper_b - b)
    a, b = a - upper_a, b - upper_b
    return ((upper_a * upper_b - product) + upper_a * b + a * upper_b) + a * b


@jit
def cross(k1, n1, k2, n2):
    """Return k₁n₂ − k₂n₁ to full precision even if both are close; 0 only if frequencies are equal."""
    k1, n1, k2, n2 = float(k1), float(n1), float(k2), float(n2)
    one, other = k1 * n2, k2 * n1
    if max(one, other) < EXACT:
        return one - other
    return (one - other) + (_lost(k1, n2, one) - _lost(k2, n1, other))


@jit
def likelihood_ratio(k1, n1, k2, n2):
    """Return G = n₁ kl(p̂₁, p̄) + n₂ kl(p̂₂, p̄) with p̄ the pooled frequency; equal frequencies give exactly 0.

    Each logarithm is written with d, for example p̂₁/p̄ = k₁n/(n₁k) = 1 + d/(n₁k).
    """
    d, k, rest = cross(k1, n1, k2, n2), float(k1 + k2), float(n1 + n2 - k1 - k2)
    g = 0.0
    if k1 > 0:
        g += k1 * math.log1p(d / (n1 * k))
    if k2 > 0:
        g += k2 * math.log1p(-d / (n2 * k))
    if k1 < n1:
        g += (n1 - k1) * math.log1p(-d / (n1 * rest))
    if k2 < n2:
        g += (n2 - k2) * math.log1p(d / (n2 * rest))
    return max(g, 0.0)


@jit
def _beyond_stirling(x):
    """Return the error of Stirling's formula, ln x! − (x ln x − x + ½ ln 2πx), for x > 0 and to within 10⁻¹¹."""
    if x < _STIRLING_ERRORS.size:
        return _STIRLING_ERRORS[x]
    inverse = 1.0 / x
    square = inverse * inverse
    return inverse * (1 / 12 - square * (1 / 360 - square / 1260))


@jit
def ln_table(k1, n1, k2, n2):
    """Return ln of the hypergeometric probability of a 2×2 table given its margins."""
    k, n = k1 + k2, n1 + n2
    if n < _TABLE.size:
        return (
            (_TABLE[n1] - _TABLE[k1] - _TABLE[n1 - k1])
            + (_TABLE[n2] - _TABLE[k2] - _TABLE[n2 - k2])
            - (_TABLE[n] - _TABLE[k] - _TABLE[n - k])
        )
    if k == 0 or k == n:
        return 0.0
    scale, rest = float(n1) * n2 * k / n * (n - k), 0.0  # factors √2πx of Stirling's formula, and its errors
    for margin in (n1, n2, k, n - k):
        rest += _beyond_stirling(margin)
    factors = 3
    for cell in (k1, n1 - k1, k2, n2 - k2):
        if cell > 0:  # 0! is 1
            scale /= cell
            rest -= _beyond_stirling(cell)
            factors -= 1
    rest -= _beyond_stirling(n)
    return 0.5 * math.log(scale) + factors * _HALF_LN_2PI + rest - likelihood_ratio(k1, n1, k2, n2)


@jit
def likeliest(n1, n2, k):
    """Return the most probable k₁ given the margins, ⌊(n₁+1)(k+1)/(n+2)⌋, in two steps of a long division."""
    whole, high, low = n1 + n2 + 2, (k + 1) >> 20, (k + 1) & 0xFFFFF
    first, left = divmod((n1 + 1) * high, whole)
    return (first << 20) + ((left << 20) + (n1 + 1) * low) // whole
