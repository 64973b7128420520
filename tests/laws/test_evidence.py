"""Cheap bounds that replace the sums of Fisher's test, compared with exact integers."""

from __future__ import annotations

import math
import random
from fractions import Fraction
from math import comb

import pytest

from suffice.kernels import comparing
from suffice.kernels.comparing import FISHER
from suffice.kernels.jit import interpreted

MOST_TABLE_EVIDENCE = interpreted(comparing._most_table_evidence)  # no entry point for Python
MOST_LIKELIHOOD_RATIO = interpreted(comparing._most_likelihood_ratio)
SIZES = (1, 3, 10, 50, 400)
TIE = Fraction(1, 10**7)  # tables whose probabilities differ by less than this factor count as equally probable


def ln(p: Fraction) -> float:
    return math.log(p.numerator) - math.log(p.denominator)


def exact_evidence(k1: int, n1: int, k2: int, n2: int) -> float:
    """Return −ln p of Fisher's exact test by its definition."""
    k, seen = k1 + k2, comb(n1, k1) * comb(n2, k2)
    tables = [comb(n1, x) * comb(n2, k - x) for x in range(max(0, k - n2), min(k, n1) + 1)]
    return max(-ln(Fraction(sum(t for t in tables if t <= seen * (1 + TIE)), comb(n1 + n2, k))), 0.0)


def tables(seed: int, how_many: int) -> list[tuple[int, int, int, int]]:
    rng = random.Random(seed)
    found = []
    for _ in range(how_many):
        n1, n2 = (rng.randint(1, rng.choice(SIZES)) for _ in range(2))
        k1, k2 = (rng.choice((0, n, rng.randint(0, n), rng.randint(0, n))) for n in (n1, n2))
        found.append((k1, n1, k2, n2))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_fisher_evidence_is_exact_between_worth_and_ceiling(seed: int) -> None:
    rng = random.Random(seed)
    for table in tables(seed, 700):
        true = exact_evidence(*table)
        worth = rng.choice((0.0, true * rng.random(), true * 1.01 + 0.01, 5.0))
        ceiling = rng.choice((math.inf, true * rng.random() + 1e-9, true * 1.5 + 1e-9))
        found, close = comparing.evidence(FISHER, *table, worth, ceiling), 1e-6 * (1 + true)
        not_worth_it = found == 0 and true <= worth + close
        reaches_the_ceiling = ceiling <= found <= true + close
        assert not_worth_it or reaches_the_ceiling or abs(found - true) <= close, (table, worth, ceiling, found, true)


@pytest.mark.parametrize("seed", range(2))
def test_cheap_bounds_of_table_evidence_are_valid(seed: int) -> None:
    for k1, n1, k2, n2 in tables(seed, 1500):
        k, n = k1 + k2, n1 + n2
        least = (min(k, n - k, n1, n2) - 1) * math.log(2)
        assert comparing.most_evidence(n1, n2, k) >= least - 1e-9  # the bound used by `attainable`
        if 0 < k < n:
            table = -ln(Fraction(comb(n1, k1) * comb(n2, k2), comb(n, k)))
            most = MOST_TABLE_EVIDENCE(k1, n1, k2, n2, MOST_LIKELIHOOD_RATIO(k1, n1, k2, n2))
            assert most >= table - 1e-9
