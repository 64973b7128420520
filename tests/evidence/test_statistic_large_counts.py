"""Counts of 10¹⁰ episodes and more, by weights: they are exact or refused, and never overflow.

A log that has every episode exactly in proportion to its probability has no sampling noise: with weights multiplied by
any number, equal futures are at distance 0, and all counts are multiplied by that number.
"""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import suffice
from suffice.data.alphabet import DUMMY, STOP, Alphabet
from suffice.data.content import MOST_DRAWN
from suffice.data.episodes import MAX_EPISODES, MAX_STEPS, Episodes
from suffice.errors import LogError, SettingsError
from suffice.evidence.adaptive import AdaptiveLanguages
from suffice.evidence.bounds import BOUNDS, Bound
from suffice.evidence.language_counts import LanguageCounts
from suffice.evidence.prefix_sketch import PrefixSketches
from suffice.evidence.prefix_tree import MOST_LEAVES, PrefixCounts, refuse_if_too_large
from suffice.evidence.sketch import LARGEST_COUNT, CountMinSketch, Shape
from suffice.evidence.statistic import Statistic
from suffice.kernels import comparing, evidence, patterns, tables
from suffice.kernels.comparing import FISHER
from suffice.learning.adact_h import Settings, adact_h
from suffice.planning.off_policy import evaluate_off_policy
from suffice.planning.planner import Planning
from suffice.planning.regorl import Solution, Split, regorl

pytestmark = pytest.mark.filterwarnings("error")

HORIZON, ONCE = 3, 256
TEN_THOUSAND_MILLION = 10**10 // ONCE
MOST = MAX_EPISODES // ONCE
ALPHABET = Alphabet(("left", "right"), ("seen",), ((0,), (1,), ("A",), ("B",)), (0.0, 1.0))


def log(times: int) -> Episodes:
    """Return a log with a cue, then 0 or, three times as often, 1; the last action is rewarded if it is the cue's."""
    columns, weight = [], []
    for cue, acts, noise in itertools.product(
        (0, 1), itertools.product((0, 1), repeat=HORIZON), itertools.product((0, 1), repeat=HORIZON - 1)
    ):
        action = [DUMMY, *(2 + a for a in acts)]
        observation = [3 + cue, *(1 + o for o in noise), STOP]
        columns.append((action, observation, [0] * HORIZON + [int(acts[-1] == cue)]))
        weight.append(times * 3 ** sum(noise))
    action, observation, reward = np.array(columns).transpose(1, 2, 0)
    return Episodes.from_steps(ALPHABET, action, observation, reward, np.array(weight, np.int64))


# ---------------------------------------------------------------- learning


STATISTICS = (LanguageCounts(), PrefixCounts(), PrefixSketches(), AdaptiveLanguages())


@pytest.mark.parametrize("bound", BOUNDS.values(), ids=BOUNDS)
@pytest.mark.parametrize("statistic", STATISTICS, ids=lambda s: type(s).__name__)
def test_adact_h_learns_the_same_automaton_from_many_weighted_episodes(statistic: Statistic, bound: Bound) -> None:
    cells = isinstance(statistic, PrefixSketches) and not bound.allows_estimates  # their number grows with the episodes
    few = adact_h(log(1000), Settings(statistic, bound=bound)).rdp
    assert few.layers.tolist() == [1, 2, 2, 2, 1]
    for times in (2**31 // ONCE + 1,) if cells else (2**32 // ONCE + 1, TEN_THOUSAND_MILLION, MOST):
        learned = adact_h(log(times), Settings(statistic, bound=bound, threads=3))
        assert learned.rdp.counts.tolist() == (few.counts // 1000 * times).tolist()
        assert int(learned.rdp.counts[0].sum()) == times * ONCE > 2**31
        merged = [d.placement for d in learned.decisions if not d.placement.promoted]
        assert merged and all(v.distance == 0 for v in merged)
        distances = [
            d.placement.distance for d in learned.decisions if d.placement.promoted and d.placement.distance is not None
        ]
        assert distances and all(math.isfinite(distance) and distance > 0 for distance in distances)


@pytest.mark.parametrize("times", [TEN_THOUSAND_MILLION, MOST])
@pytest.mark.parametrize("stationary", [False, True], ids=["layers", "one layer"])
def test_regorl_plans_and_predicts_the_same_from_many_weighted_episodes(stationary: bool, times: int) -> None:
    few, many = (regorl(log(n), stationary=stationary) for n in (1000, times))
    assert many.learned.rdp.counts.tolist() == (few.learned.rdp.counts // 1000 * times).tolist()
    assert many.plan.actions.tolist() == few.plan.actions.tolist()
    assert many.prediction.value == few.prediction.value == 1
    assert many.behaviour.value == few.behaviour.value == Fraction(1, 2)
    assert many.behaviour.error == pytest.approx(0.5 / math.sqrt(times * ONCE), rel=1e-9)
    # the error falls at least with the square root of the number of visits, of which a billion are judged, and is not 0
    judged = min(times, MOST_DRAWN // 4 // ONCE)
    assert 0 < many.prediction.error < few.prediction.error * math.sqrt(1000 / judged)
    assert _finite(many)


def _finite(solution: Solution) -> bool:
    plan = solution.plan
    return all(
        np.isfinite(array).all() for array in (plan.values, plan.lower, solution.prediction[:2], solution.behaviour[:2])
    )


def test_evaluate_off_policy_gives_the_same_values_for_large_weights() -> None:
    few, many = (evaluate_off_policy(regorl(log(n)).planned, regorl(log(n)).plan, log(n)) for n in (1000, MOST))
    assert many.episodes == MOST * ONCE
    for name in ("log", "model_based", "importance", "doubly_robust"):
        one, other = getattr(few, name), getattr(many, name)
        assert other.value == pytest.approx(one.value, abs=1e-12) and 0 <= other.error <= one.error
    assert many.effective == pytest.approx(few.effective / 1000 * MOST)


def test_model_file_stores_large_counts(tmp_path: Path) -> None:
    model = suffice.learn(log(MOST))
    model.save(tmp_path / "many.model")
    again = suffice.load(tmp_path / "many.model")
    assert again.about.episodes == MOST * ONCE
    assert np.array_equal(again.rdp.counts, model.rdp.counts) and again.rdp.counts.max() == 2**39


def test_rdp_tallies_of_shards_add_up_to_that_of_the_log() -> None:
    """Weights are divided among many parts of the log; their tallies add up beyond the integers exact as floats."""
    episodes = log(MOST)
    rdp = adact_h(log(1000)).rdp
    whole, rng = rdp.tally(episodes), np.random.default_rng(0)
    assert episodes.weight is not None
    dealt = np.array([rng.multinomial(int(w) - 20, np.full(20, 0.05)) + 1 for w in episodes.weight]).T  # [20, N]
    parts = [
        rdp.tally(Episodes(episodes.alphabet, episodes.letters, episodes.word, episodes.follows, weight))
        for weight in dealt.astype(np.int64)
    ]
    assert sum((part.counts for part in parts), np.zeros_like(whole.counts)).tolist() == whole.counts.tolist()
    assert sum(int(part.visits()[0]) for part in parts) == episodes.total == MOST * ONCE


# ---------------------------------------------------------------- refusals


def weighing(*weight: int, horizon: int = HORIZON) -> Episodes:
    small = log(1) if horizon == HORIZON else log(1).padded(horizon)
    return Episodes(
        small.alphabet, small.letters, small.word[:, : len(weight)], small.follows, np.array(weight, np.int64)
    )


def test_episodes_refuse_more_than_can_be_compared() -> None:
    assert weighing(MAX_EPISODES - 1, 1).total == MAX_EPISODES
    for beyond in (
        (MAX_EPISODES, 1),
        (2**62, 2**62),
        (2**62, 2**62, 2**62, 2**62),
    ):  # the sum of the last overflows to 0
        with pytest.raises(LogError, match=r"more than 1,099,511,627,776 episodes\. Divide them"):
            weighing(*beyond)
    with pytest.raises(LogError, match="add up to more"):
        Episodes.joined([weighing(MAX_EPISODES), weighing(1)])


def test_episodes_refuse_more_steps_than_can_be_counted() -> None:
    steps = MAX_STEPS // MAX_EPISODES
    assert weighing(MAX_EPISODES, horizon=steps - 1).total == MAX_EPISODES
    with pytest.raises(LogError, match="Divide the weights"):
        weighing(MAX_EPISODES, horizon=steps)


@pytest.mark.parametrize("wrong", [0, -1, -(2**63)])
def test_episodes_refuse_weights_that_are_not_positive(wrong: int) -> None:
    with pytest.raises(LogError, match=rf"weight {wrong}, but a weight is a number of episodes\. Use 1 or more\."):
        weighing(1, wrong)


def test_regorl_refuses_to_divide_more_episodes_than_numpy_can_draw_from() -> None:
    with pytest.raises(LogError, match="cannot be divided"):
        regorl(log(TEN_THOUSAND_MILLION), split=Split())
    with pytest.raises(LogError, match="cannot be divided"):
        regorl(log(TEN_THOUSAND_MILLION), planning=Planning(subsample=True))


def test_prefix_counts_refuse_more_episodes_than_a_tree_can_number() -> None:
    episodes = log(1)
    many = np.lib.stride_tricks.as_strided(episodes.word, (HORIZON + 1, MOST_LEAVES + 1), (0, 0), writeable=False)
    with pytest.raises(SettingsError, match=r"the log has 1,073,741,825 episodes, more than"):
        refuse_if_too_large(Episodes(episodes.alphabet, episodes.letters, many, episodes.follows), 1 << 62)


def test_sketch_counts_beyond_32_bits_and_refuses_an_overflow() -> None:
    dense = CountMinSketch(Shape(3, 2, 0))
    keys = np.arange(9, dtype=np.uint64)
    dense.add(keys, np.full(9, 2**53 + 1))
    assert dense.is_dense and dense.total == 9 * (2**53 + 1) and (dense.query(keys) >= 2**53 + 1).all()
    exact = CountMinSketch(Shape(9, 99, 0))
    exact.add(keys[:2], np.array([2**53 + 1, 2**31]))
    exact.add(keys[:2], np.array([1, 2**31]))
    assert exact.query(keys[:3]).tolist() == [2**53 + 2, 2**32, 0]
    for full in (dense, exact):
        with pytest.raises(SettingsError, match="counts up to"):
            full.add(keys[:2], np.array([LARGEST_COUNT - 10, LARGEST_COUNT - 10]))
    other = CountMinSketch(dense.shape)
    other.add(keys, np.full(9, LARGEST_COUNT // 9))
    with pytest.raises(SettingsError, match="counts up to"):
        dense.merge(other)
    assert dense.total == 9 * (2**53 + 1)


# ---------------------------------------------------------------- kernels


def test_add_lanes_carries_beyond_32_bits() -> None:
    """All 64 lanes start at a power of two minus three, and nine words are added."""
    rng = np.random.default_rng(0)
    words = rng.integers(0, 2**64, 9, dtype=np.uint64)
    more = [sum(int(word) >> lane & 1 for word in words) for lane in range(64)]
    for power in (3, 31, 32, 33, 39):
        slices = np.zeros(patterns.COUNTER_BITS, np.uint64)
        for level in range(patterns.COUNTER_BITS):
            slices[level] = np.uint64(2**64 - 1) * np.uint64(((1 << power) - 3) >> level & 1)
        patterns.add_lanes(words, slices)
        counted = [
            sum((int(slices[level]) >> lane & 1) << level for level in range(patterns.COUNTER_BITS))
            for lane in range(64)
        ]
        assert counted == [(1 << power) - 3 + n for n in more]


BERNOULLI = [Fraction(1, 6), Fraction(-1, 30), Fraction(1, 42), Fraction(-1, 30), Fraction(5, 66)]
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


def ln_factorial(x: int) -> Decimal:
    """Return ln x! by definition, or by Stirling's series to forty digits."""
    if x < 2000:
        return Decimal(math.factorial(x)).ln()
    total = (Decimal(x) + Decimal("0.5")) * Decimal(x).ln() - x + (2 * PI).ln() / 2
    for i, b in enumerate(BERNOULLI, start=1):
        total += Decimal(b.numerator) / b.denominator / (2 * i * (2 * i - 1)) / Decimal(x) ** (2 * i - 1)
    return total


def ln_choose(n: int, k: int) -> Decimal:
    return ln_factorial(n) - ln_factorial(k) - ln_factorial(n - k)


def exact_likelihood_ratio(k1: int, n1: int, k2: int, n2: int) -> Decimal:
    k, n = k1 + k2, n1 + n2
    cells = ((k1, n1, k), (k2, n2, k), (n1 - k1, n1, n - k), (n2 - k2, n2, n - k))
    return sum((x * (Decimal(x) * n / (Decimal(row) * column)).ln() for x, row, column in cells if x), Decimal())


def some_tables(total: int, how_many: int) -> list[tuple[int, int, int, int]]:
    """Return tables of a total, with frequencies from rare to nearly 1, and from equal to very different."""
    rng = np.random.default_rng(total)
    found = []
    for i in range(how_many):
        n1 = int(rng.integers(1, total)) if i % 3 else int(rng.integers(1, 100))
        p = float(rng.choice([0.5, 0.01, 1e-6, 0.9999, 0.0, 1.0]))
        sizes = (n1, total - n1)
        ks = (round(n * p + rng.normal() * 4 * math.sqrt(n * p * (1 - p))) for n in sizes)
        k1, k2 = (min(max(k, 0), n) for k, n in zip(ks, sizes, strict=True))
        found.append((k1, n1, k2, total - n1))
    return found


@pytest.mark.parametrize("total", [10**5, 2**31 + 1, 10**10, MAX_EPISODES])
def test_table_kernels_are_accurate_to_nine_digits_for_large_counts(total: int) -> None:
    with localcontext() as context:
        context.prec = 50
        for k1, n1, k2, n2 in some_tables(total, 60):
            cross = k1 * n2 - k2 * n1
            assert tables.cross(k1, n1, k2, n2) == pytest.approx(cross, rel=1e-15, abs=0)
            ratio, table = exact_likelihood_ratio(k1, n1, k2, n2), ln_choose(n1, k1) + ln_choose(n2, k2)
            table -= ln_choose(n1 + n2, k1 + k2)
            assert tables.likelihood_ratio(k1, n1, k2, n2) == pytest.approx(float(ratio), rel=1e-12, abs=4e-9)
            assert tables.ln_table(k1, n1, k2, n2) == pytest.approx(float(table), rel=1e-10, abs=4e-9)
            assert tables.likeliest(n1, n2, k1 + k2) == (n1 + 1) * (k1 + k2 + 1) // (n1 + n2 + 2)


@pytest.mark.parametrize("total", [10**5, 2**31 + 1, 10**10, MAX_EPISODES])
def test_table_kernels_distinguish_equal_from_nearly_equal_frequencies(total: int) -> None:
    for k, n in ((1, 3), (2, 7), (12_345, 33_333), (1, 1), (0, 1)):
        for many in (total // n, total // (2 * n), 1):
            few = max(total // n - many, 1)
            table = k * many, n * many, k * few, n * few
            assert tables.cross(*table) == 0 == tables.likelihood_ratio(*table)
            assert comparing.evidence(FISHER, *table, 0.0, math.inf) == 0
    half = total // 2
    assert tables.cross(half, half + 1, half - 1, half) == 1
    assert tables.cross(half - 1, half, half, half + 1) == -1


@pytest.mark.parametrize(("n1", "n2"), [(10**6, 10**6), (2**32 + 1, 2**31), (10**10, 3), (7 * 10**9, 10**11)])
def test_fisher_evidence_is_exact_for_large_samples(n1: int, n2: int) -> None:
    """The event is so rare that there are few tables, each an integer."""
    for k in (1, 2, 7, 40):
        low, high = max(0, k - n2), min(k, n1)
        weights = [math.comb(n1, x) * math.comb(n2, k - x) for x in range(low, high + 1)]
        for k1 in range(low, high + 1):
            seen = weights[k1 - low]
            p = Fraction(sum(w for w in weights if w <= seen * Fraction(10**7 + 1, 10**7)), math.comb(n1 + n2, k))
            exact = math.log(p.denominator) - math.log(p.numerator)
            found = comparing.evidence(FISHER, k1, n1, k - k1, n2, 0.0, math.inf)
            assert found == pytest.approx(exact, rel=1e-9, abs=1e-9)
        least = Fraction(min(weights), math.comb(n1 + n2, k))
        ends = 2 if low < high and abs(weights[0] - weights[-1]) * 10**7 < weights[0] else 1
        most = math.log(least.denominator) - math.log(least.numerator) - math.log(ends)
        assert comparing.most_evidence(n1, n2, k) == pytest.approx(max(most, 0), rel=1e-9, abs=1e-9)


def ln_e(k1: int, n1: int, k2: int, n2: int) -> float:
    """Return ln Q/P₀ of `kernels.evidence` by fractions; common factors of all terms are left out."""
    k = k1 + k2

    def never(first: int, last: int) -> Fraction:
        return math.prod((1 - Fraction(1, 2 * i) for i in range(first + 1, last + 1)), start=Fraction(1))

    least = [min(n, n - k) for n in (n1, n2)]
    terms = [
        never(0, j) * never(0, k - j) * never(least[0], n1 - j) * never(least[1], n2 - k + j) for j in range(k + 1)
    ]
    table = Fraction(math.comb(n1, k1) * math.comb(n2, k2), math.comb(n1 + n2, k))
    e = terms[k1] / sum(terms) / table
    return math.log(e.numerator) - math.log(e.denominator)


@pytest.mark.parametrize(("n1", "n2"), [(10**5, 10**5), (2**31 + 5, 10**7), (10**10, 10**10), (2**40, 2**40 + 2**20)])
def test_evidence_of_rows_is_exact_for_large_counts(n1: int, n2: int) -> None:
    for k1, k2 in ((0, 1), (3, 3), (6, 0), (1, 11)):
        one, other = (np.array([k, n - k], np.int64) for k, n in ((k1, n1), (k2, n2)))
        _, balance, _ = evidence.evidence_of_rows(one, other, np.array([0, 2]), np.array([0.5]))
        assert balance == pytest.approx(ln_e(k1, n1, k2, n2), abs=1e-8)
