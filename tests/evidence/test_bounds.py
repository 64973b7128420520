"""Bounds: their formulas, their false positives on equal distributions, and their power on different ones."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as options
from hypothesis import strategies as st

from oracle.distinctness import fisher_evidence, likelihood_ratio
from suffice.evidence.bounds import BOUNDS, FISHER_EXACT, LIKELIHOOD_RATIO, PAPER, TWO_SAMPLE, Bound, larger_root
from suffice.evidence.rows import RowLayer
from suffice.kernels import comparing
from suffice.kernels.comparing import DIFFERENCE, FISHER, LIKELIHOOD
from suffice.learning.adact_h import adact_h
from support.samples import DELTA, KINDS, NEVER_DISTINCT, coins, settings

# Thresholds


@pytest.mark.parametrize("size", [1, 7, 10**4, 10**40])
@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-6])
def test_larger_root_solves_its_equation(delta: float, size: int) -> None:
    x = larger_root(math.log(delta) - math.log(size))
    assert x > 2 * math.log(2)  # the left side has its maximum there: the smaller root is below
    left = math.log(4) + math.log(1 + x - 2 * math.log(2)) - x
    assert left == pytest.approx(math.log(delta) - math.log(size), rel=1e-12)


def test_bound_thresholds_equal_their_formulas() -> None:
    n1, n2, size, delta = 70, np.array([50, 90]), 12, 0.03
    assert PAPER.threshold(n1, n2, size, delta) == pytest.approx(
        [math.sqrt(2 * math.log(4 * 12 / 0.03) / 50), math.sqrt(2 * math.log(4 * 12 / 0.03) / 70)]
    )
    assert TWO_SAMPLE.threshold(n1, n2, size, delta) == pytest.approx(
        [math.sqrt(0.5 * math.log(2 * 12 / 0.03) * (1 / 70 + 1 / n)) for n in (50, 90)]
    )
    assert LIKELIHOOD_RATIO.threshold(n1, n2, size, delta) == pytest.approx([larger_root(math.log(0.03 / 12))] * 2)


@pytest.mark.parametrize(("statistic", "factor", "constant"), [("prefixes", 2, 8), ("sketch", 8, 16)])
def test_paper_bound_on_prefixes_has_the_constants_of_the_paper(statistic: str, factor: int, constant: int) -> None:
    """√(2 ln(8(ARO)^ℓ/δ)/min) and, for the sketch, √(8 ln(16(ARO)^ℓ/δ)/min); here A = 2, R = 2, O = 2 and o_⊥."""
    horizon, delta = 3, 0.03
    learned = adact_h(coins(np.random.default_rng(0), horizon, 500), settings(statistic, "paper", delta))
    aro = 2 * 3 * 2
    second = learned.decisions[1]
    expected = math.sqrt(factor * math.log(constant * aro**horizon / delta) / min(second.n, 500 - second.n))
    assert second.placement.threshold == pytest.approx(expected)
    assert learned.languages == (2 * aro**3, 2 * aro**2, 2 * aro, 0)


# Evidence of one event


def evidence(kind: int, k1: int, n1: int, k2: int, n2: int) -> float:
    layer = RowLayer(lambda c: np.array([(k1, k2)[c]]), np.array([n1, n2]), np.ones(1), str)
    layer.promote(1)
    return layer.judge(kind, 0, *NEVER_DISTINCT, DELTA).distance


tables = st.tuples(st.integers(1, 2000), st.integers(1, 2000)).flatmap(
    lambda n: st.tuples(st.integers(0, n[0]), st.just(n[0]), st.integers(0, n[1]), st.just(n[1]))
)


@options(deadline=None, max_examples=200)
@given(tables)
def test_evidence_equals_its_definition(table: tuple[int, int, int, int]) -> None:
    k1, n1, k2, n2 = table
    assert evidence(DIFFERENCE, *table) == pytest.approx(abs(k1 / n1 - k2 / n2), abs=1e-12)
    assert evidence(LIKELIHOOD, *table) == pytest.approx(likelihood_ratio(*table), rel=1e-9, abs=1e-9)
    assert evidence(FISHER, *table) == pytest.approx(fisher_evidence(*table), rel=1e-9, abs=1e-9)


@options(deadline=None, max_examples=100)
@given(tables, st.sampled_from(KINDS))
def test_evidence_is_symmetric_and_zero_for_equal_frequencies(table: tuple[int, int, int, int], kind: int) -> None:
    k1, n1, k2, n2 = table
    assert evidence(kind, k1, n1, k2, n2) == pytest.approx(evidence(kind, k2, n2, k1, n1), rel=1e-9, abs=1e-12)
    assert evidence(kind, n1 - k1, n1, n2 - k2, n2) == pytest.approx(evidence(kind, *table), rel=1e-9, abs=1e-9)
    assert evidence(kind, k1, n1, 3 * k1, 3 * n1) == 0


@pytest.mark.parametrize("n", [10**5, 10**6])
def test_evidence_of_large_samples_agrees_with_scipy(n: int) -> None:
    """These samples are beyond the table of factorials."""
    stats = pytest.importorskip("scipy.stats")
    for k1, k2, n2 in [(500, 400, n), (n // 2, n // 2 - 700, n), (30, 3, n // 7), (0, 12, n), (n, n - 9, n)]:
        p = stats.fisher_exact([[k1, n - k1], [k2, n2 - k2]]).pvalue
        assert evidence(FISHER, k1, n, k2, n2) == pytest.approx(-math.log(p), rel=1e-6)


@options(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 12), st.integers(1, 20)), max_size=12),
    st.floats(1e-4, 0.9),
)
def test_tarone_returns_the_smallest_kappa_that_covers_the_testable_events(
    events: list[tuple[float, int]], delta: float
) -> None:
    def testable(kappa: int) -> int:
        return sum(m for most, m in events if most >= math.log(kappa / delta) - 1e-12)

    most, many = (np.array([e[i] for e in events], np.float64) for i in (0, 1))
    expected = next(kappa for kappa in range(1, 10**6) if testable(kappa) <= kappa)
    assert comparing.tarone(most, many, math.log(delta)) == expected


@options(deadline=None, max_examples=60)
@given(st.integers(2, 40), st.integers(2, 40), st.integers(1, 50), st.floats(0.001, 0.5))
def test_bound_detectable_difference_reaches_the_threshold(n1: int, n2: int, size: int, delta: float) -> None:
    for bound in (PAPER, TWO_SAMPLE, LIKELIHOOD_RATIO):
        threshold = float(bound.threshold(n1, np.array([n2]), size, delta)[0])
        enough = bound.detectable(threshold, n1, n2)
        for k1 in range(n1 + 1):
            for k2 in range(n2 + 1):
                if enough < 1 and abs(k1 / n1 - k2 / n2) >= enough + 1e-12:
                    value = abs(k1 / n1 - k2 / n2) if bound.kind == DIFFERENCE else likelihood_ratio(k1, n1, k2, n2)
                    assert value >= threshold - 1e-9


def test_fisher_bound_detectable_difference_reaches_the_threshold() -> None:
    for n1, n2, kappa in [(10, 10, 1), (30, 40, 2), (300, 300, 5), (1000, 200, 40), (2000, 1999, 300)]:
        threshold = math.log(kappa / 0.01)
        enough = FISHER_EXACT.detectable(threshold, n1, n2)
        assert enough < 1
        for k2 in range(0, math.floor(n2 * (1 - enough)) + 1, math.ceil(n2 / 40)):
            assert evidence(FISHER, math.ceil(n1 * (k2 / n2 + enough)), n1, k2, n2) >= threshold


@pytest.mark.parametrize("bound", BOUNDS.values(), ids=BOUNDS)
def test_bound_detectable_is_above_one_if_no_difference_reaches_the_threshold(bound: Bound) -> None:
    n1, n2 = 5, 6
    threshold = float(bound.threshold(n1, np.array([n2]), 100, 1e-6)[0])
    assert bound.detectable(threshold, n1, n2) > 1 or evidence(bound.kind, n1, n1, 0, n2) >= threshold


# False splits, and power

COMBINATIONS = list(product(["conjunctions", "1,1,1", "1,2,1", "prefixes", "sketch"], BOUNDS))


def splits(statistic: str, bound: str, delta: float, repeats: int, n: int, effect: float = 0.0) -> int:
    """Count the logs in which a first observation that is a fair coin gives two states."""
    rng, how = np.random.default_rng([0, *f"{statistic} {bound}".encode()]), settings(statistic, bound, delta)
    return sum(int(adact_h(coins(rng, 2, n, effect), how).rdp.layers[1] == 2) for _ in range(repeats))


@pytest.mark.parametrize(("statistic", "bound"), COMBINATIONS)
def test_adact_h_splits_equal_futures_at_most_delta_of_the_time(statistic: str, bound: str) -> None:
    found = splits(statistic, bound, 0.2, 200, 200)
    assert found <= 0.2 * 200
    assert found > 0 or bound != "fisher"  # exact, so much less conservative than the others


@pytest.mark.parametrize("statistic", ["conjunctions", "1,1,1", "1,2,1", "prefixes", "sketch"])
def test_fisher_bound_splits_equal_futures_at_most_a_small_delta_of_the_time(statistic: str) -> None:
    assert splits(statistic, "fisher", 0.05, 600, 200) <= 0.05 * 600


@pytest.mark.long
@pytest.mark.parametrize("delta", [0.01, 0.05, 0.5])
@pytest.mark.parametrize(("statistic", "bound"), COMBINATIONS)
def test_adact_h_splits_equal_futures_at_most_any_delta_of_the_time(statistic: str, bound: str, delta: float) -> None:
    assert splits(statistic, bound, delta, 2000, 400) <= delta * 2000


@pytest.mark.parametrize(("statistic", "bound"), COMBINATIONS)
def test_adact_h_splits_different_futures(statistic: str, bound: str) -> None:
    """The thresholds need this many episodes; the sketch with the paper's bound needs by far the most."""
    n = 5000 if (statistic, bound) == ("sketch", "paper") else 1500
    assert splits(statistic, bound, 0.05, 10, n, effect=1.0) == 10


def test_sharper_bounds_split_more_logs_of_the_same_size() -> None:
    found = {bound: splits("conjunctions", bound, 0.05, 100, 200, effect=0.5) for bound in BOUNDS}
    assert found["paper"] < found["two-sample"] < found["fisher"]
    assert found["likelihood-ratio"] < found["fisher"]
