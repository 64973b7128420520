"""Tables of outcomes and the e-values of columns, against their definitions."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

import suffice
from oracle import columns as oracle
from suffice.data.columnar import ColumnarLog
from suffice.kernels import columns as kernels
from suffice.learning.columns.column_evidence import EvidenceTables
from suffice.learning.columns.features import Feature, codes_of, project
from suffice.learning.columns.outcome_tables import FEWEST_EVENTS, MOST_OUTCOMES, coins_of, outcome_tables, walk
from suffice.learning.stationary.learner import learn_stationary
from support.wide_logs import log_without_cause

TABLES = [
    [[3, 0], [1, 4]],
    [[0, 5], [2, 2]],
    [[2, 1, 0], [0, 3, 1]],
    [[1, 1], [2, 0], [0, 3]],
    [[4, 0, 1], [0, 2, 2], [1, 1, 1]],
    [[0, 0], [2, 3]],
]


def log_factorials(n: int) -> np.ndarray:
    return np.array([math.lgamma(i + 1) for i in range(n + 1)])


@pytest.mark.parametrize("table", TABLES)
def test_log_e_value_is_that_of_the_definition(table):
    counts = np.array(table, np.int64)
    pool = np.zeros(counts.shape[1])
    found = kernels.log_e_value(counts, len(table), counts.shape[1], 1.0, pool, log_factorials(50))
    assert found == pytest.approx(math.log(oracle.e_value(table)), abs=1e-9)
    assert found == pytest.approx(oracle.scaled_log_e_value(table, 1.0), abs=1e-9)
    scaled = kernels.log_e_value(counts, len(table), counts.shape[1], 1.7, pool, log_factorials(50))
    assert scaled == pytest.approx(oracle.scaled_log_e_value(table, 1.7), abs=1e-9)


def test_log_e_value_of_equal_copies_is_that_of_one_copy():
    """Events that all occur eight times are an eighth as many: the penalty for estimating shares is that of few."""
    counts = np.array([[5, 1, 2], [0, 4, 3]], np.int64)
    pool, factorials = np.zeros(3), log_factorials(200)
    one = kernels.log_e_value(counts, 2, 3, 1.0, pool, factorials)
    assert kernels.log_e_value(8 * counts, 2, 3, 8.0, pool, factorials) == pytest.approx(one, abs=1e-9)


@pytest.mark.parametrize("outcomes", [[0, 0, 1, 1, 1], [0, 1, 2, 0, 1], [0, 0, 0, 0, 1]])
@pytest.mark.parametrize("values", [[0, 0, 0, 1, 1], [0, 1, 2, 2, 1]])
def test_e_value_has_expectation_one_if_values_and_outcomes_are_independent(values, outcomes):
    """Given the margins every assignment of outcomes to values is equally likely: the mean over all is exactly 1."""
    size, k = max(values) + 1, max(outcomes) + 1
    total, several, n = Fraction(0), Fraction(0), 0
    for assigned in permutations(outcomes):
        table = [[0] * k for _ in range(size)]
        for value, outcome in zip(values, assigned, strict=True):
            table[value][outcome] += 1
        total += oracle.e_value(table)
        several += oracle.category_e_value(table)
        n += 1
    assert total / n == 1
    assert several / n == 1


@pytest.fixture(scope="module")
def small() -> tuple[ColumnarLog, np.ndarray, EvidenceTables]:
    """A log of a maze, the states along its automaton, and its tables."""
    episodes = suffice.simulate(suffice.make("t-maze", length=2), 150, 6, rng=3)
    log = ColumnarLog.of_episodes(episodes)
    one = project(log, [Feature("bit1")])
    path = walk(learn_stationary(one).rdp, one)
    return log, path, EvidenceTables.of(outcome_tables(log, path, coins_of(log)), log)


def spelled_events(log: ColumnarLog, path: np.ndarray) -> dict[oracle.Name, list[oracle.Event]]:
    coins = coins_of(log).tolist()
    parts = (array.T.tolist() for array in (path, log.action, log.reward))
    return oracle.events(*parts, [log.horizon] * log.n, coins)


def test_outcome_tables_are_those_of_the_definition(small):
    log, path, evidence = small
    tables = evidence.tables
    expected = {
        name: events
        for name, events in spelled_events(log, path).items()
        if len(events) >= FEWEST_EVENTS and len({outcome for *_, outcome in events}) > 1
    }
    names = [
        (int(kind), *place, bool(later))
        for kind, place, later in zip(tables.kind, tables.place.tolist(), tables.next_state, strict=True)
    ]
    assert sorted(names) == sorted(expected)
    assert {name[0] for name in names} == {0, 1, 2}
    for i, name in enumerate(names):
        part = slice(tables.begin[i], tables.begin[i + 1])
        rank = oracle.ranks([outcome for *_, outcome in expected[name]], MOST_OUTCOMES)
        cells = sorted((t * log.n + e, rank[outcome]) for e, t, outcome in expected[name])
        assert sorted(zip(tables.cell[part].tolist(), tables.outcome[part].tolist(), strict=True)) == cells
        assert tables.effect[i] == pytest.approx(oracle.design_effect(expected[name]))


def test_evidence_of_categories_is_the_mean_of_the_tables(small):
    """Every kind of arrival has the same weight, and so has every table of a kind."""
    log, path, evidence = small
    codes, values = codes_of(log, Feature("bit2"))
    by_kind: dict[int, list[float]] = {}
    for name, events in spelled_events(log, path).items():
        rank = oracle.ranks([outcome for *_, outcome in events], MOST_OUTCOMES)
        if len(events) < FEWEST_EVENTS or len(rank) < 2:
            continue
        table = [[0] * len(set(rank.values())) for _ in range(values)]
        for e, t, outcome in events:
            table[codes[t, e]][rank[outcome]] += 1
        by_kind.setdefault(name[0], []).append(math.exp(oracle.scaled_log_e_value(table, oracle.design_effect(events))))
    expected = np.mean([np.mean(found) for found in by_kind.values()])
    assert evidence.of_categories(Feature("bit2"), codes, values).log_e == pytest.approx(math.log(expected), abs=1e-6)


def test_outcome_tables_have_one_event_of_a_group(small):
    """Episodes of a group depend on each other; where every visit counts, the design effect is that of groups."""
    log, path, _ = small
    unit = np.arange(log.n) % 30
    grouped = ColumnarLog.of(replace(log.base, group=unit.astype(np.uint64)), log.columns)
    tables = outcome_tables(grouped, path, coins_of(grouped))
    names = zip(tables.kind.tolist(), tables.place.tolist(), tables.next_state.tolist(), strict=True)
    by_name = spelled_events(grouped, path)
    assert set(tables.kind.tolist()) == {0, 1, 2}
    for i, (kind, place, later) in enumerate(names):
        events = by_name[(kind, *place, bool(later))]
        part = slice(tables.begin[i], tables.begin[i + 1])
        found = unit[tables.cell[part] % log.n]
        expected = {unit[e] for e, *_ in events}
        assert set(found.tolist()) == expected
        assert len(found) == (len(events) if kind == 0 else len(expected))
        assert set(tables.cell[part].tolist()) <= {t * log.n + e for e, t, _ in events}
        rank = oracle.ranks([outcome for *_, outcome in events], MOST_OUTCOMES)
        if kind == 0:
            ranked = [(e, t, rank[outcome]) for e, t, outcome in events]
            assert tables.effect[i] == pytest.approx(oracle.design_effect(ranked, unit.tolist()))
        else:
            assert tables.effect[i] == 1


def test_evidence_of_cuts_is_the_mean_over_cuts():
    """A cut is a column of two categories, so the evidence of numbers is the mean over such columns."""
    log = log_without_cause(np.random.default_rng(1), n=100, horizon=3)
    evidence = EvidenceTables.of(outcome_tables(log, np.zeros((4, 100), np.int32), coins_of(log)), log)
    numbers = log.column("number0").numbers
    within = np.sort(numbers[log.decides])
    edges = [within[i * len(within) // 32] for i in range(1, 32)]
    each = [evidence.of_categories(Feature("number0"), (numbers >= edge).astype(np.int64), 2).log_e for edge in edges]
    found = evidence.of_cuts(log, Feature("number0", ()))
    assert found.log_e == pytest.approx(math.log(np.mean(np.exp(each))), abs=1e-9)
    assert found.feature.cuts is not None and found.feature.cuts[0] in edges


def test_evidence_of_grouped_episodes_does_not_count_weights(small):
    """A weight stands for equal independent episodes, and those of one group are not independent."""
    log, path, _ = small
    group = (np.arange(log.n) % 30).astype(np.uint64)
    found = []
    for weight in (None, np.full(log.n, 20, np.int64)):
        grouped = ColumnarLog.of(replace(log.base, group=group, weight=weight), log.columns)
        evidence = EvidenceTables.of(outcome_tables(grouped, path, coins_of(log)), grouped)
        found.append(evidence.of_categories(Feature("bit2"), *codes_of(grouped, Feature("bit2"))).log_e)
    assert found[0] == found[1]
