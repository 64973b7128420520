"""Distances between samples are pseudometrics, do not fall for larger families, and reach known limits."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from laws.logs import LETTERS, samples
from suffice.evidence.languages import Family, patterns_of
from suffice.evidence.prefix_sketch import PrefixSketches
from suffice.evidence.prefix_tree import PrefixCounts
from suffice.kernels.comparing import DIFFERENCE
from support.samples import KINDS, distance, distances, languages, side_by_side

FEW = settings(deadline=None, max_examples=40)
FAMILIES = ["conjunctions", "1,1,1", "2,1,1", "1,2,1", "1,1,2", "2,2,1", "1,2,2", "1,1,3"]
METRICS = {name: languages(name) for name in FAMILIES} | {"prefixes": PrefixCounts()}


def lengths(n: int, most: int = 2) -> st.SearchStrategy[tuple[Any, ...]]:
    """Draw several samples of suffixes of one length."""
    return st.integers(1, most).flatmap(lambda length: st.tuples(*[samples(length)] * n))


def frequencies(sample: list[Any]) -> Counter[Any]:
    return Counter({x: k / len(sample) for x, k in Counter(sample).items()})


def differences(x: list[Any], y: list[Any]) -> list[float]:
    p, q = frequencies(x), frequencies(y)
    return [abs(p[e] - q[e]) for e in {*p, *q}]


@pytest.mark.parametrize("name", METRICS)
@FEW
@given(lengths(3))
def test_statistic_distances_are_pseudometrics(name: str, drawn: Any) -> None:
    x, y, z = drawn
    log = side_by_side(x, y, z, x + x)
    d = {(a, b): d for b in range(4) for a, d in enumerate(distances(METRICS[name], log, range(4), b))}
    assert d[0, 0] == d[1, 1] == d[0, 3] == 0
    assert all(d[a, b] == d[b, a] <= 1 for a, b in d)
    assert d[0, 2] <= d[0, 1] + d[1, 2] + 1e-12


@pytest.mark.parametrize("name", METRICS)
@FEW
@given(lengths(2))
def test_evidence_of_every_kind_is_symmetric_and_zero_for_equal_samples(name: str, drawn: Any) -> None:
    x, y = drawn
    log = side_by_side(x, y, x + x + x)
    for kind in KINDS:
        assert distance(METRICS[name], log, 0, 2, kind) == 0
        there, back = distance(METRICS[name], log, 0, 1, kind), distance(METRICS[name], log, 1, 0, kind)
        assert there == pytest.approx(back, rel=1e-9, abs=1e-12)


@FEW
@given(lengths(2))
def test_sketch_distance_is_zero_for_equal_samples(drawn: Any) -> None:
    x, y = drawn
    log = side_by_side(x, y, x + x)
    assert distance(PrefixSketches(), log, 0, 2) == 0
    assert distance(PrefixSketches(), log, 0, 1) == distance(PrefixSketches(), log, 1, 0)


@settings(deadline=None, max_examples=20)
@given(lengths(2))
def test_language_distance_does_not_fall_as_i_j_or_k_grows(drawn: Any) -> None:
    log = side_by_side(*drawn)
    d = {ijk: distance(languages("{},{},{}".format(*ijk)), log, 0, 1) for ijk in product((1, 2), repeat=3)}
    d |= {ijk: distance(languages("{},{},{}".format(*ijk)), log, 0, 1) for ijk in [(3, 1, 1), (1, 3, 1), (1, 1, 3)]}
    for smaller, larger in product(d, repeat=2):
        if all(a <= b for a, b in zip(smaller, larger, strict=True)):
            assert d[smaller] <= d[larger] + 1e-12


def test_family_levels_i_j_and_k_each_distinguish_other_samples() -> None:
    """One more level of patterns or languages shows which action is rewarded, longer words the order of two steps."""
    pays = side_by_side([((2, 0, 0),), ((3, 0, 1),)], [((2, 0, 1),), ((3, 0, 0),)])
    assert [distance(languages(f), pays, 0, 1) for f in ("1,1,1", "1,2,1", "2,1,1", "1,1,2")] == [0, 0, 0.5, 0.5]
    a, b, c = (2, 0, 0), (3, 0, 0), (2, 0, 1)
    order = side_by_side([(a, b, c, a)], [(a, c, b, a)])
    assert [distance(languages(f), order, 0, 1) for f in ("1,1,1", "3,1,1", "1,1,3", "1,2,1")] == [0, 0, 0, 1]


SQUARES = [[x for x in LETTERS if x[part] == 0] for part in (1, 2)]  # of actions and rewards, actions and observations


@settings(deadline=None, max_examples=30)
@given(lengths(2))
def test_distance_by_words_of_full_length_is_at_least_the_prefix_distance(drawn: Any) -> None:
    """L_{m+2,ℓ,1} ≥ L∞^p ≥ L∞ with m = 1 feature."""
    x, y = drawn
    log = side_by_side(x, y)
    prefixes = distance(PrefixCounts(), log, 0, 1)
    assert distance(languages(f"3,{len(x[0])},1"), log, 0, 1) >= prefixes - 1e-12
    assert prefixes >= max(differences(x, y)) - 1e-12


@settings(deadline=None, max_examples=20)
@given(st.sampled_from(SQUARES).flatmap(lambda letters: st.tuples(samples(2, letters), samples(2, letters))))
def test_distance_at_boolean_level_two_is_at_least_the_prefix_distance(drawn: Any) -> None:
    log = side_by_side(*drawn)
    assert distance(languages("3,2,2"), log, 0, 1) >= distance(PrefixCounts(), log, 0, 1) - 1e-12


@FEW
@given(lengths(2, most=3))
def test_prefix_distance_equals_its_definition(drawn: Any) -> None:
    x, y = drawn
    expected = max(max(differences([s[:u] for s in x], [s[:u] for s in y])) for u in range(1, len(x[0]) + 1))
    assert distance(PrefixCounts(), side_by_side(x, y), 0, 1) == pytest.approx(expected, abs=1e-12)


@FEW
@given(samples(1), samples(1))
def test_distance_by_conjunctions_of_one_letter_is_at_least_that_of_letters(x: Any, y: Any) -> None:
    """L ≥ L∞ where ℓ = 1."""
    assert distance(languages("conjunctions"), side_by_side(x, y), 0, 1) >= max(differences(x, y)) - 1e-12


@FEW
@given(samples(1), samples(1))
def test_distance_at_deep_boolean_levels_of_one_letter_is_total_variation(x: Any, y: Any) -> None:
    log = side_by_side(x, y)
    variation = sum(differences(x, y)) / 2
    assert distance(languages("6,1,1"), log, 0, 1) == pytest.approx(variation, abs=1e-12)
    assert distance(languages("1,1,3"), log, 0, 1) == pytest.approx(distance(languages("3,1,1"), log, 0, 1), abs=1e-12)


def test_pattern_level_six_has_every_set_of_eight_letters() -> None:
    log = side_by_side([(letter,) for letter in LETTERS])
    assert [patterns_of(Family(i), log).formal for i in (1, 6)] == [6, 2**8 - 1]


@pytest.mark.parametrize("name", METRICS)
@FEW
@given(lengths(2))
def test_statistic_distances_do_not_exceed_total_variation(name: str, drawn: Any) -> None:
    x, y = drawn
    assert distance(METRICS[name], side_by_side(x, y), 0, 1, DIFFERENCE) <= sum(differences(x, y)) / 2 + 1e-12
