"""Sums without rounding: independent of order and partition, and equal to sums of fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import reduce
from operator import add

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from suffice.errors import SufficeError
from suffice.evidence.estimates import BLOCK_NUMBERS, Estimate, Moments, exact_sum

FINITE = st.floats(allow_nan=False, allow_infinity=False)
WEIGHT = st.integers(0, 2**40) | st.integers(0, 3)


@given(arrays(np.float64, st.integers(0, 30), elements=FINITE), st.data())
def test_exact_sum_and_moments_equal_sums_of_fractions(numbers: np.ndarray, data: st.DataObject) -> None:
    weight = data.draw(arrays(np.int64, len(numbers), elements=WEIGHT))
    exact = [Fraction(x) for x in numbers.tolist()]
    assert exact_sum(numbers) == sum(exact)
    found = Moments.of(numbers, weight)
    assert found.n == sum(weight.tolist())
    assert found.total == sum(w * x for w, x in zip(weight.tolist(), exact, strict=True))
    assert found.squares == sum(w * x * x for w, x in zip(weight.tolist(), exact, strict=True))
    assert Moments.of(numbers) == Moments.of(numbers, np.ones(len(numbers), np.int64))


@given(arrays(np.float64, st.integers(1, 30), elements=st.floats(-1e9, 1e9)), st.randoms(use_true_random=False))
def test_moments_do_not_depend_on_order_or_partition(numbers: np.ndarray, random: object) -> None:
    whole = Moments.of(numbers)
    places = list(range(len(numbers)))
    random.shuffle(places)  # type: ignore[attr-defined]
    parts = np.array_split(numbers[places], 4)
    assert reduce(add, map(Moments.of, parts)) == whole
    assert reduce(add, map(Moments.of, parts)).estimate() == Estimate.mean(numbers)


@given(arrays(np.float64, st.integers(2, 30), elements=FINITE))
def test_estimate_mean_is_rounded_once_and_has_an_error(numbers: np.ndarray) -> None:
    found = Estimate.mean(numbers)
    exact = [Fraction(x) for x in numbers.tolist()]
    mean = sum(exact) / len(exact)
    assert found.value == float(mean)
    square = sum((x - mean) ** 2 for x in exact) / (len(exact) - 1) / len(exact)
    assert abs(Fraction(found.error) ** 2 - square) <= square / 10**15 or found.error < 1e-300


def test_exact_sum_is_exact_for_several_blocks_with_weights_up_to_ten_billion() -> None:
    rng = np.random.default_rng(0)
    numbers, weight = rng.normal(size=BLOCK_NUMBERS + 3), rng.integers(0, 10**10, BLOCK_NUMBERS + 3)
    each = zip(weight.tolist(), numbers.tolist(), strict=True)
    assert exact_sum(numbers, weight) == sum(Fraction(w) * Fraction(x) for w, x in each)
    assert float(exact_sum(numbers)) == math.fsum(numbers)


def test_estimate_of_equal_numbers_has_no_error() -> None:
    """0.1² is not exact: rounded squares would give an error of 10⁻⁹, or the root of a negative number."""
    for same in (0.1, -0.3, 1e300, 5e-324, 0.0):
        for n in (2, 7, 10**6):
            assert Estimate.mean(np.array([same]), np.array([n])) == Estimate(same, 0.0)


def test_estimate_measures_a_small_spread_around_a_large_mean() -> None:
    numbers = 1e9 + np.array([0.0, 2.0**-20])
    assert Estimate.mean(numbers) == Estimate(1e9 + 2.0**-21, 2.0**-21)


@pytest.mark.parametrize("wrong", [math.inf, -math.inf, math.nan])
def test_estimate_refuses_infinite_and_missing_numbers(wrong: float) -> None:
    with pytest.raises(SufficeError, match="infinite or missing terms"):
        Estimate.mean(np.array([1.0, wrong]))
