"""Edge cases: one episode, one action or observation, horizon 1, frequencies 0 and 1, the smallest and largest δ.

For every log and every setting, the learner decides as the literal one does, without warnings, and all numbers are
finite.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import suffice
from oracle import distinctness
from suffice.data.episodes import Episodes
from suffice.evidence.adaptive import AdaptiveLanguages
from suffice.evidence.bounds import BOUNDS, LIKELIHOOD_RATIO, PAPER, TWO_SAMPLE, Bound, larger_root
from suffice.evidence.estimates import Estimate
from suffice.evidence.statistic import Statistic
from suffice.kernels import comparing, tables
from suffice.kernels.comparing import DIFFERENCE, FISHER, LIKELIHOOD
from suffice.learning.adact_h import Settings, adact_h
from suffice.planning.planner import GREEDY, Planning
from suffice.planning.regorl import Solution, Split, regorl
from support.literal_learner import assert_agreement
from support.samples import STATISTICS, coins, from_values, layer_at, sample_of, side_by_side

pytestmark = pytest.mark.filterwarnings("error")

SMALLEST = math.ulp(0.0)  # above 0
DELTAS = (SMALLEST, 1e-300, 1e-3, 0.5, 1 - 2.0**-53)


def episode(start: int, *steps: tuple[int, int, float]) -> list[tuple[Any, Any, float]]:
    """Make an episode from its start and the action, observation and reward of each step, with o_⊥ at the end."""
    whole = [(None, (start,), 0.0), *((action, (seen,), reward) for action, seen, reward in steps)]
    return [*whole[:-1], (whole[-1][0], None, whole[-1][2])]


LOGS: dict[str, Episodes] = {
    "one episode": from_values([episode(0, (0, 1, 0.0), (1, 0, 1.0))]),
    "one episode of one step": from_values([episode(0, (0, 0, 0.0))]),
    "two that differ": from_values([episode(0, (0, 0, 0.0)), episode(1, (0, 0, 1.0))]),
    "horizon 1": coins(np.random.default_rng(0), 1, 60, effect=0.9),
    "all equal": from_values([episode(0, (0, 1, 0.0), (1, 0, 1.0))] * 300),
    "all different": from_values([episode(i, (0, i, i / 7), (0, i, 1.0)) for i in range(4)]),
    "one action": from_values([episode(i % 2, (0, i // 2 % 2, 0.0), (0, 0, float(i % 2))) for i in range(120)]),
    "one observation": from_values([episode(0, (i % 2, 0, 0.0), (i // 2 % 2, 0, i % 2)) for i in range(120)]),
    "one of each": from_values([episode(0, (0, 0, 0.0), (0, 0, 0.0))] * 30),
    "never and always": from_values([episode(s, (0, 0, float(s)), (0, 0, 1.0)) for s in (0, 1) for _ in range(99)]),
    "one against many": from_values(
        [episode(0, (0, 0, 0.0), (0, 0, 0.0))] * 500 + [episode(1, (0, 0, 1.0), (0, 0, 1.0))]
    ),
}


@pytest.mark.parametrize("log", LOGS)
@pytest.mark.parametrize("name", ["1,1,1", "1,2,1", "conjunctions", "prefixes"])
def test_adact_h_agrees_with_literal_learner_on_edge_cases(name: str, log: str) -> None:
    """There may be a single word or prefix; thresholds exceed the largest possible difference, or are near 0."""
    for bound in BOUNDS:
        for delta in (1e-300, 0.00317, 0.99997):
            assert_agreement(LOGS[log], name, bound, {"delta": delta})


@pytest.mark.parametrize("bound", BOUNDS.values(), ids=BOUNDS)
@pytest.mark.parametrize("name", [*STATISTICS, "adaptive"])
def test_adact_h_returns_finite_numbers_on_edge_cases(name: str, bound: Bound) -> None:
    statistic = AdaptiveLanguages() if name == "adaptive" else STATISTICS[name]
    for episodes in LOGS.values():
        for delta in (1e-300, 0.5, 1 - 2.0**-53):
            _see_numbers(episodes, Settings(statistic, bound, delta))
        _see_numbers(episodes, Settings(statistic, bound, confidence=0.999999999999))


def _see_numbers(episodes: Episodes, settings: Settings) -> None:
    learned = adact_h(episodes, settings)
    assert int(learned.rdp.counts[0].sum()) == episodes.total
    for decision in learned.decisions:
        placement = decision.placement
        numbers = [placement.distance, placement.threshold, placement.detectable]
        assert all(x is None or (math.isfinite(x) and x >= 0) for x in numbers), placement
        if placement.promoted and placement.nearest is not None:
            assert placement.distance is not None and placement.threshold is not None
            assert placement.distance >= placement.threshold
    assert "nan" not in learned.promise.sentence and "inf" not in learned.promise.sentence


def test_adact_h_with_smallest_delta_merges_everything() -> None:
    """The smallest δ is refused where it would have to be divided among tests."""
    episodes = LOGS["one against many"]
    for bound in BOUNDS.values():
        learned = adact_h(episodes, Settings(bound=bound, delta=SMALLEST))
        assert set(learned.rdp.layers.tolist()) == {1}
        with pytest.raises(suffice.SufficeError, match=r"delta=5e-324 is too small to be divided among 6 families"):
            adact_h(episodes, Settings(AdaptiveLanguages(), bound, SMALLEST))
    with pytest.raises(suffice.SufficeError, match="between 0 and 1"):
        regorl(episodes, split=Split(SMALLEST))


@pytest.mark.parametrize("stationary", [False, True], ids=["layers", "one layer"])
@pytest.mark.parametrize("log", LOGS)
def test_regorl_returns_finite_numbers_on_edge_cases(log: str, stationary: bool) -> None:
    episodes = LOGS[log]
    if stationary and episodes.horizon < 2:
        with pytest.raises(suffice.SufficeError, match="at least two decisions"):
            regorl(episodes, stationary=True)
        return
    for delta in (SMALLEST, 0.5, 1 - 2.0**-53):
        for planning in (Planning(delta=delta), Planning(strength=16.0, delta=delta, safe=False)):
            _see_plan(regorl(episodes, Settings(delta=delta), planning, stationary=stationary))
    _see_plan(regorl(episodes, planning=GREEDY, stationary=stationary))
    if stationary:
        _see_plan(regorl(episodes, planning=Planning(discount=0.9), stationary=True))
        _see_plan(regorl(episodes, Settings(delta=1e-300, strict=True), stationary=True))


def _see_plan(solution: Solution) -> None:
    plan = solution.plan
    assert np.isfinite(plan.values).all() and np.isfinite(plan.lower).all()
    assert math.isfinite(solution.prediction.value) and solution.prediction.error >= 0
    assert math.isfinite(solution.behaviour.value) and solution.behaviour.error >= 0
    assert solution.lower_bound is None or math.isfinite(solution.lower_bound)
    assert (solution.lower_bound is None) == (solution.judged is None)
    assert "nan" not in solution.sentence


# ---------------------------------------------------------------- thresholds


def sizes_and_levels() -> Any:
    counts = st.sampled_from([1, 2, 3, 10**3, 10**10, 2**40])
    return st.tuples(counts, counts, st.sampled_from([1, 2, 10**6, 10**300]), st.sampled_from(DELTAS))


@given(sizes_and_levels())
def test_bound_thresholds_equal_literal_formulas_down_to_smallest_delta(drawn: tuple[int, int, int, float]) -> None:
    n1, n2, size, delta = drawn
    ln_size = math.log(size)
    for bound, literal in ((PAPER, distinctness.paper_threshold), (TWO_SAMPLE, distinctness.two_sample_threshold)):
        found = float(bound.threshold(n1, np.array([n2]), size, delta)[0])
        assert found == pytest.approx(literal(ln_size, delta, n1, n2), rel=1e-14)
        assert math.isfinite(found) and found > 0
    found = float(LIKELIHOOD_RATIO.threshold(n1, np.array([n2]), size, delta)[0])
    assert found == pytest.approx(distinctness.likelihood_ratio_threshold(ln_size, delta), rel=1e-12)


@pytest.mark.parametrize("level", [-1e-16, -1e-12, -1e-6, -0.01, -1.0, -700.0, -1500.0])
def test_larger_root_is_accurate_where_both_roots_meet(level: float) -> None:
    """Near that point s − ln(1 + s) is s²/2, so s = √(−2 level)."""
    s = larger_root(level) - 2 * math.log(2)
    assert s > 0 and s - math.log1p(s) == pytest.approx(-level, rel=1e-6)
    if level > -1e-5:
        assert s == pytest.approx(math.sqrt(-2 * level), rel=1e-2)


@pytest.mark.parametrize("kind", [DIFFERENCE, LIKELIHOOD, FISHER])
@pytest.mark.parametrize("name", STATISTICS)
def test_judge_decides_distinct_exactly_from_the_threshold_on(name: str, kind: int) -> None:
    """All bounds use the rule L ≥ threshold (docs/theory.md, section 4)."""
    statistic: Statistic = STATISTICS[name]
    bound = PAPER if kind == DIFFERENCE else next(b for b in BOUNDS.values() if b.kind == kind)
    rng = np.random.default_rng(1)
    letters = [(2, 1, 0), (2, 1, 1), (3, 0, 1)]
    one, other = ([(letters[i],) for i in rng.choice(3, size, p=p)] for size, p in ((40, (0.7, 0.2, 0.1)), (55, None)))
    episodes = side_by_side(one, other)
    layer = layer_at(1, statistic, episodes, sample_of(episodes), bound=bound)
    layer.promote(1)
    never = np.full(1, math.inf)
    reached = layer.judge(kind, 0, never, never, 0.1).distance
    assert reached > 0
    for threshold, distinct in (
        (reached, True),
        (math.nextafter(reached, 0), True),
        (math.nextafter(reached, math.inf), False),
    ):
        limit = np.full(1, threshold)
        assert layer.judge(kind, 0, limit, limit, 0.1).alone == distinct


def test_adact_h_promotes_exactly_from_the_threshold_on() -> None:
    tested = [
        decision.placement
        for statistic in (*STATISTICS.values(), AdaptiveLanguages())
        for decision in adact_h(
            coins(np.random.default_rng(0), 2, 600, effect=0.9), Settings(statistic, PAPER, 0.5)
        ).decisions
        if decision.placement.threshold is not None and decision.placement.distance is not None
    ]
    assert any(v.promoted for v in tested) and not all(v.promoted for v in tested)
    assert all(v.promoted == (v.distance >= v.threshold) for v in tested)  # type: ignore[operator]


@pytest.mark.parametrize("kind", [DIFFERENCE, LIKELIHOOD, FISHER])
def test_evidence_of_single_samples_agrees_with_definition(kind: int) -> None:
    """With n = 1 on one side or both, and p = 0 or 1, the evidence agrees with the definition and is not negative."""
    for n2 in (1, 2, 7, 10**5, 2**40 - 1):
        for k1, k2 in ((0, 0), (1, n2), (0, n2), (1, 0), (1, n2 // 2), (0, n2 // 2)):
            found = comparing.evidence(kind, k1, 1, k2, n2, 0.0, math.inf)
            if kind == DIFFERENCE:
                exact = abs(Fraction(k1) - Fraction(k2, n2))
            elif kind == LIKELIHOOD:
                exact = distinctness.likelihood_ratio(k1, 1, k2, n2)
            else:  # the single element is each of the n₂ + 1 with the same probability
                same = k1 + k2 if k1 else n2 + 1 - k1 - k2
                exact = -math.log(same / (n2 + 1)) if 2 * same < n2 + 1 else 0.0
            assert found == pytest.approx(float(exact), rel=1e-9, abs=2e-9), (k1, k2, n2)


@given(st.integers(1, 2**39), st.integers(1, 2**39), st.data())
def test_cross_has_exact_sign_for_any_counts(n1: int, n2: int, data: st.DataObject) -> None:
    k1, k2 = data.draw(st.integers(0, n1)), data.draw(st.integers(0, n2))
    d = k1 * n2 - k2 * n1
    found = tables.cross(k1, n1, k2, n2)
    assert (found > 0, found < 0) == (d > 0, d < 0)
    assert abs(Fraction(found) - d) <= abs(d) * Fraction(1, 2**51)
    assert (comparing.evidence(LIKELIHOOD, k1, n1, k2, n2, 0.0, math.inf) == 0) >= (d == 0)


# ---------------------------------------------------------------- estimates


def test_estimate_bounds_are_never_nan() -> None:
    unsure = Estimate(2.0, math.inf)
    assert unsure.lower(0.5) == 2.0 and unsure.lower(0.4) == -math.inf and unsure.interval() == (-math.inf, math.inf)
    for delta in DELTAS:
        assert math.isfinite(Estimate(2.0, 1.0).lower(delta))
