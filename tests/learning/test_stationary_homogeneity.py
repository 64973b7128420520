"""The test of all ways to a state is what it is by definition, keeps its level, and finds what few episodes decide."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

from oracle import homogeneity as oracle
from suffice.domains.tasks.cookie import Cookie
from suffice.domains.tasks.t_maze import TMaze
from suffice.kernels import permutation
from suffice.lab.scoring import value_of
from suffice.learning.adact_h import Settings
from suffice.learning.refinement import EQUAL
from suffice.learning.stationary import division
from suffice.learning.stationary.division import ways_to_states
from suffice.learning.stationary.homogeneity import Ways, ln_gammas
from suffice.learning.stationary.labels import PointerLog
from suffice.learning.stationary.learner import learn_stationary
from suffice.learning.stationary.reference import last_observation
from support.samples import coins
from support.stationary_logs import DOMAINS, log, one_round, spelled


@pytest.mark.parametrize("case", [1, 2, 4, 5, DOMAINS[0], DOMAINS[2]], ids=str)
def test_ways_to_states_agree_with_literal_counts(case: Any) -> None:
    """Entries, outcomes by way, and the evidence of every division."""
    steps, known = PointerLog.of(log(case)), spelled(case)
    tau = one_round(steps, last_observation(steps), Settings(delta=0.3)).tau
    symbols = known.symbols
    compared = 0
    for target, ways, followed in ways_to_states(steps, tau):
        whole = {(q, y): int(followed.tau[q, i]) for i, y in enumerate(symbols) for q in range(len(tau))}
        by_edge: dict[Any, Any] = {(int(q), symbols[y]): Counter() for q, y in ways.edges}
        n = Counter[Any]()
        for edge, _, outcomes in oracle.entries(known, whole, target):
            n[edge] += 1
            if edge in by_edge:
                by_edge[edge].update(outcomes)
        assert ways.n.tolist() == [n[edge] for edge in by_edge]
        both = sum(by_edge.values(), Counter())
        tables = Counter((label, kind) for label, kind, _ in both)
        varying = sum(count for (label, kind, _), count in both.items() if tables[label, kind] > 1)
        assert ways.counts.sum() == varying
        for inside in product((False, True), repeat=min(len(by_edge), 3)):
            chosen = [by_edge[edge] for edge, is_in in zip(by_edge, inside, strict=False) if is_in]
            row = ways.counts[: len(inside)][np.array(inside, bool)].sum(axis=0)
            if len(both) and varying:
                found = separation(ways, row)
                assert found == pytest.approx(oracle.separation(sum(chosen, Counter()), both), abs=1e-9)
                compared += 1
    assert compared


def separation(ways: Ways, row: Any) -> float:
    """Return the evidence of one division, as that of two rows."""
    both = ways.counts.sum(axis=0)
    tables = both, ways.begin, EQUAL, ln_gammas(both, ways.begin)
    return float(permutation._separation.py_func(row, *tables))


def test_divide_finds_parts_that_no_single_change_improves() -> None:
    rng, begin = np.random.default_rng(0), np.array([0, 2, 5])
    for _ in range(20):
        counts = rng.integers(0, 12, (4, 5))
        ways = Ways(np.zeros((4, 2), np.int64), np.ones(4, np.int64), counts, begin, np.arange(5))
        best, inside = permutation.divide(counts, (both := counts.sum(axis=0), begin, EQUAL, ln_gammas(both, begin)))
        assert best == pytest.approx(max(0.0, separation(ways, counts[inside].sum(axis=0))))
        for i in range(4):
            changed = inside.copy()
            changed[i] = not changed[i]
            assert separation(ways, counts[changed].sum(axis=0)) <= best + 1e-8


def test_p_values_of_ways_to_one_state_reach_a_level_at_most_that_often() -> None:
    """Coins have no memory: with the last observation as the state, what follows never depends on the way."""
    delta, tests, rejected = 0.05, 0, 0
    for seed in range(60):
        steps = PointerLog.of(coins(np.random.default_rng(seed), 6, 60))
        tau = last_observation(steps)
        for _, ways, followed in ways_to_states(steps, tau):
            if ways.affordable(delta):
                tests, rejected = (
                    tests + 1,
                    rejected + (ways.p_value(steps, followed, delta, np.random.default_rng(3)) <= delta),
                )
    assert tests > 100
    assert rejected <= binom.ppf(0.999, tests, delta)


def test_learn_stationary_finds_the_cue_that_twenty_episodes_decide() -> None:
    """T-maze from 10,000 episodes: 39 come to the junction in time, and half of them turn (fresh seeds: 95 of 100)."""
    model = TMaze().model(5)
    values = [
        value_of(learn_stationary(TMaze().simulate(10_000, 5, np.random.default_rng(seed))).rdp, model).mean_return
        for seed in range(20, 30)
    ]
    assert sum(value > 3.96 for value in values) >= 8


@pytest.mark.long
def test_learn_stationary_finds_where_the_cookie_is() -> None:
    """Cookie from 30,000 uniform episodes: two ways lead to knowing it, and neither decides alone (fresh: 33 of 40)."""
    model = Cookie().model(9)
    values = [
        value_of(learn_stationary(Cookie().simulate(30_000, 9, np.random.default_rng(seed))).rdp, model).mean_return
        for seed in range(20, 40)
    ]
    assert sum(value > 0.99 for value in values) >= 13


def test_separated_ways_leave_no_transition_to_a_removed_state(monkeypatch: pytest.MonkeyPatch) -> None:
    """Transitions that were unseen may be assigned to the new state; then it stays."""
    separated, closed = division._separated, []

    def checked(steps: Any, tau: Any, ways: Any) -> Any:
        found = separated(steps, tau, ways)
        closed.append(bool(found.max() < len(found)))
        return found if closed[-1] else tau

    monkeypatch.setattr(division, "_separated", checked)
    monkeypatch.setattr(division, "_differ", lambda steps, tau, ways: False)  # would read beyond the table
    for seed in (43, 73):
        learn_stationary(Cookie().simulate(500, 9, np.random.default_rng(seed)), Settings())
    assert closed and all(closed)
