"""`refine`: its evidence consists of e-values, its decisions agree with the oracle, and it finds memory."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from scipy.special import gammaln

from laws.logs import logs
from oracle import random_episodes
from oracle import refinement as oracle
from suffice.automata.compare import compare
from suffice.automata.describe import describe_witness
from suffice.automata.histories import show_symbol
from suffice.automata.rdp import UNSEEN
from suffice.data.episodes import Episodes
from suffice.domains.domain import Domain
from suffice.domains.exact.minimal import Minimal, minimal_rdp
from suffice.domains.tasks.cheese import Cheese
from suffice.domains.tasks.cookie import Cookie
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.delayed_match import DelayedMatch
from suffice.domains.tasks.repeat_previous import RepeatPrevious
from suffice.domains.tasks.rotating_mab import RotatingMAB
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SufficeError, naming_options
from suffice.evidence.events import Prefix
from suffice.kernels import evidence as evidence_kernels
from suffice.kernels.evidence import NEVER, never
from suffice.learning.adact_h import Learned, Settings, adact_h
from suffice.learning.prefix_tests import SHARE
from suffice.learning.refinement import EQUAL, refine
from support.samples import coins, everything, from_values

Tables = list[tuple[list[int], list[int]]]


def evidence_of(tables: Tables) -> tuple[float, float, int]:
    begin = np.cumsum([0, *(len(one) for one, _ in tables)])
    rows = [np.array([k for table in tables for k in table[group]], np.int64) for group in (0, 1)]
    evidence, balance, most_distinct = evidence_kernels.evidence_of_rows(*rows, begin, EQUAL)
    return float(evidence), float(balance), int(most_distinct)


# e-values


def test_oracle_beta_probabilities_add_up_to_one() -> None:
    """The probabilities of no success in one, two and three draws are known: ½, ⅜ and 5/16."""
    for n in range(40):
        assert sum(oracle.free(k, n) for k in range(n + 1)) == 1
    assert [oracle.free(0, n) for n in (1, 2, 3)] == [Fraction(1, 2), Fraction(3, 8), Fraction(5, 16)]


@st.composite
def several_tables(draw: st.DrawFn) -> Tables:
    most = draw(st.sampled_from([1, 3, 30]))
    pairs = st.lists(st.tuples(st.integers(0, most), st.integers(0, most)), min_size=1, max_size=4)
    drawn = draw(st.lists(pairs, min_size=1, max_size=5))
    return [([k for k, _ in table], [k for _, k in table]) for table in drawn]


@hypothesis_settings(deadline=None, max_examples=100)
@given(several_tables())
def test_evidence_of_rows_agrees_with_enumeration(tables: Tables) -> None:
    evidence, balance, most_distinct = evidence_of(tables)
    right, right_balance, place = oracle.ln_evidence(tables)
    assert evidence == pytest.approx(right, rel=1e-10, abs=1e-10)
    assert balance == pytest.approx(right_balance, rel=1e-10, abs=1e-10)
    every = [e for table in tables for e in oracle.factors(*table)]
    if place is None:
        assert most_distinct == -1 or every[most_distinct] == 1
    else:
        assert oracle.ln(max(every)) - oracle.ln(every[most_distinct]) < 1e-10
    assert math.exp(evidence) == pytest.approx(float(oracle.mixture(tables)), rel=1e-9)
    back = evidence_of([(other, one) for one, other in tables])
    assert back[:2] == pytest.approx((evidence, balance), rel=1e-10, abs=1e-10)


MARGINS = [
    [((1, 1), 1)],
    [((6, 5), 4)],
    [((4, 3, 2), 4)],
    [((2, 2, 1, 1), 3)],
    [((20, 31), 17)],
    [((4, 3), 3), ((2, 2, 1), 2)],
    [((1, 5), 3), ((3, 3), 1), ((2, 4), 5)],
    [((7,), 3), ((0, 4, 0), 2), ((2, 0, 2), 2)],  # only the last can differ
]


def all_divisions(margins: list[tuple[tuple[int, ...], int]]) -> Iterator[tuple[Tables, Fraction]]:
    """Generate every division of the tables with these margins, with its probability."""
    for several in product(*(list(oracle.tables_with(outcomes, n1)) for outcomes, n1 in margins)):
        yield [(one, other) for one, other, _ in several], math.prod((p for *_, p in several), start=Fraction(1))


@pytest.mark.parametrize("margins", MARGINS, ids=str)
def test_evidence_of_rows_has_mean_one_for_equal_samples(margins: list[Any]) -> None:
    """Exactly 1, so that it is at least 1/δ with probability at most δ; the kernel agrees."""
    law = list(all_divisions(margins))
    assert sum(p for _, p in law) == 1
    assert sum(p * oracle.mixture(tables) for tables, p in law) == 1
    found = [(math.exp(evidence_of(tables)[0]), float(p)) for tables, p in law]
    assert math.fsum(e * p for e, p in found) == pytest.approx(1, abs=1e-12)
    for reached, _ in found:
        assert reached * math.fsum(p for e, p in found if e >= reached) <= 1 + 1e-12


def test_evidence_of_rows_grows_with_difference_and_falls_for_equal_samples() -> None:
    same = [evidence_of([([n, n], [n, n])]) for n in (1, 10, 100, 1000)]
    differs = [evidence_of([([3 * n, n], [n, 3 * n])]) for n in (1, 10, 100, 1000)]
    assert all(a[1] > b[1] for a, b in pairwise(same)) and same[-1][1] < -3
    assert all(a[0] < b[0] for a, b in pairwise(differs)) and differs[-1][0] > 400
    assert same[-1][0] > 3 * math.log(0.5)  # a prior of ½ bounds the loss
    certain = evidence_of([([1000, 0], [5, 0]), ([0, 7], [0, 400])])
    assert certain == (0.0, 0.0, -1)


def test_evidence_of_rows_is_capped_for_each_table() -> None:
    """Each table counts for at most e⁶⁰⁰, because larger numbers are not doubles."""
    evidence, balance, most_distinct = evidence_of([([1000, 0], [0, 1000]), ([0, 5000], [5000, 0])] * 3)
    assert 20_000 < balance < 3 * 12_000 * math.log(2) and most_distinct == 2
    assert evidence == pytest.approx(6 * (600 + math.log(0.5)) - math.log(3))


def test_never_agrees_with_log_gamma() -> None:
    tabled = len(NEVER)
    k = np.arange(tabled)
    expected = gammaln(k + 0.5) - gammaln(k + 1) - math.log(math.pi) / 2
    assert np.allclose(np.log(NEVER), expected, rtol=1e-12, atol=1e-11)
    chance = 1.0
    for n in range(1, 4 * tabled):  # by the table and without it
        chance *= 1 - 0.5 / n
        assert never(n) == pytest.approx(chance, rel=1e-12)
    for n in (tabled - 1, tabled, tabled + 1):  # half of each row by the table, half without it
        evidence = evidence_of([([n, 10], [n // 2, 5])])
        assert evidence[:2] == pytest.approx(evidence_of([([n + 1, 10], [n // 2, 5])])[:2], abs=1e-3)


def exact_in_doubles(k1: int, n1: int, k2: int, n2: int) -> float:
    """Return ln e with every term of its sum."""
    k, j = k1 + k2, np.arange(max(0, k1 + k2 - n2), min(n1, k1 + k2) + 1)

    def ln_choose(n: Any, k: Any) -> Any:
        return gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1)

    def ln_free(k: Any, n: Any) -> Any:
        return gammaln(k + 0.5) - gammaln(k + 1) + gammaln(n - k + 0.5) - gammaln(n - k + 1) - math.log(math.pi)

    terms = ln_free(j, n1) + ln_free(k - j, n2)
    total = terms.max() + math.log(np.exp(terms - terms.max()).sum())
    q = ln_free(k1, n1) + ln_free(k2, n2) - total
    return float(q - (ln_choose(n1, k1) + ln_choose(n2, k2) - ln_choose(n1 + n2, k)))


def too_small(k1: int, n1: int, k2: int, n2: int) -> float:
    """Return by how much the kernel's ln e is below the exact one."""
    return exact_in_doubles(k1, n1, k2, n2) - evidence_of([([k1, n1 - k1], [k2, n2 - k2])])[1]


@pytest.mark.parametrize(
    "table", [(365, 1450, 301, 1236), (1095, 1270, 25, 602), (558, 1440, 499, 1288), (517, 854, 303, 921)], ids=str
)
def test_evidence_of_rows_is_slightly_too_small_beyond_512_terms(table: tuple[int, int, int, int]) -> None:
    assert exact_in_doubles(*table) == pytest.approx(oracle.ln(oracle.e_value(*table)), abs=1e-8)
    assert 0 < too_small(*table) < 0.03


def test_evidence_of_rows_of_large_counts_is_never_too_large() -> None:
    """It is not much too small either: by less than 0.1 for two tables in three."""
    rng, gaps = np.random.default_rng(0), []
    for i in range(90):
        n1, n2 = (10 ** rng.uniform(3, 6.3, 2)).astype(int).tolist()
        p1, p2 = rng.random(2) ** rng.choice([1, 4, 10])
        k1, k2 = int(rng.binomial(n1, p1)), int(rng.binomial(n2, p2 if i % 2 else p1))
        gaps.append(too_small(k1, n1, k2, n2))
        assert gaps[-1] > -1e-8 * (1 + abs(exact_in_doubles(k1, n1, k2, n2)))
    assert max(gaps) < 1 and np.quantile(gaps, 2 / 3) < 0.1


@pytest.mark.parametrize("n", [600, 2_000, 20_000, 1_000_000])
def test_evidence_of_rows_error_is_bounded_for_equal_margins(n: int) -> None:
    """A node stands for at most `step` terms, so the sum is at most this many times too large."""
    step = n // 512 + 1
    for k1 in (n // 2, 52 * n // 100, n):
        assert 0 < too_small(k1, n, n - k1, n) < math.log(step)


# Agreement with the oracle


def random_log(seed: int) -> Episodes:
    rng = np.random.default_rng(seed)
    horizon, n = int(rng.integers(1, 5)), int(rng.integers(100, 200))
    return random_episodes(rng, horizon, 2, 3, 2, 4, n, early_end=0.3 * (seed % 2), weighted=seed % 3 == 0)


DOMAINS: list[tuple[Domain, int, int]] = [
    (TMaze(), 200, 5),
    (TMaze(actions="forward"), 150, 5),
    (Corridor(), 80, 5),
    (Cookie(actions="sensible"), 100, 6),
    (Cheese(), 80, 4),
    (RotatingMAB(), 150, 4),
    (DelayedMatch(delay=1), 300, 3),
    (RepeatPrevious(suits=2, k=2), 400, 4),
]
CASES = [*range(14), *DOMAINS]


@cache
def log(case: Any) -> Episodes:
    if isinstance(case, int):
        return random_log(case)
    domain, n, horizon = case
    return domain.simulate(n, horizon, np.random.default_rng(0))


@cache
def both_passes(case: Any, first: float, second: float) -> tuple[Learned, Learned]:
    """Run AdaCT-H at one δ, so that it may merge or split too much, and the refinement at another."""
    learned = replace(adact_h(log(case), Settings(delta=first)), settings=Settings(delta=second))
    return learned, refine(learned, log(case))


LEVELS = [(0.3, 0.3), (1e-3, 0.3)]
both_levels = pytest.mark.parametrize("levels", LEVELS, ids=str)
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def in_words(learned: Learned, most_distinct: Any) -> str:
    """Describe the witness of the oracle as users read it."""
    if most_distinct is None:
        return ""
    rdp = learned.rdp
    (state, action, letter), (k1, n1), (k2, n2) = most_distinct
    layer = int(rdp.layer_of()[state])
    outcome = f"{rdp.alphabet.action(action)} → an unseen outcome"
    if letter is not None:
        seen = rdp.alphabet.action(letter[0]), rdp.alphabet.observation(letter[1])
        outcome = f"{show_symbol(seen)} with reward {rdp.alphabet.rewards[letter[2]]:g}"
    place = state - sum(rdp.layers[:layer])
    return f"at step {layer}, in state {layer}.{place} before refinement, {outcome}: {k1} of {n1} against {k2} of {n2}"


@cache
def by_hand(case: Any, first: float, second: float) -> oracle.OracleRefinement:
    learned, _ = both_passes(case, first, second)
    return oracle.Refinement(learned.rdp, log(case), lambda candidates: second).run()


@both_levels
@every_case
def test_refine_agrees_with_oracle(case: Any, levels: tuple[float, float]) -> None:
    (first, found), right = both_passes(case, *levels), by_hand(case, *levels)
    rdp = found.rdp
    assert rdp.layers.tolist() == right.layers
    symbols = [tuple(symbol) for symbol in rdp.symbols.tolist()]
    for decision, verdict in zip(found.decisions, right.verdicts, strict=True):
        symbol = symbols[decision.symbol]
        assert (decision.layer, decision.state, symbol, decision.n) == (
            verdict.t,
            verdict.state,
            verdict.symbol,
            verdict.n,
        )
        assert (decision.placement.target, decision.placement.promoted) == (verdict.target, verdict.promoted)
        if verdict.nearest is not None:
            assert decision.placement.nearest == verdict.nearest
            assert decision.placement.distance == pytest.approx(verdict.evidence, rel=1e-9, abs=1e-9)
            last = decision.layer == rdp.horizon + 1
            assert decision.placement.threshold == (None if last else pytest.approx(verdict.threshold))
            if verdict.prefix is not None:
                assert decision.placement.witness.event == Prefix(verdict.prefix[0])
                assert decision.placement.witness[1:] == (*verdict.prefix[1], *verdict.prefix[2])
            elif verdict.promoted:
                assert describe_witness(decision.placement.witness, rdp.alphabet) == in_words(
                    first, verdict.most_distinct
                )
    offsets, letters = rdp.offsets(), [tuple(letter) for letter in rdp.letters.tolist()]
    counts = {(q, letters[x]): int(rdp.counts[q, x]) for q, x in np.argwhere(rdp.counts).tolist()}
    assert counts == {(int(offsets[t]) + q, letter): k for (t, q, letter), k in right.counts.items()}
    assert replace(found.promise, second_tests=0, second_split=0.0) == first.promise  # no prefix is too long
    assert found.promise.second_tests == right.tests
    assert found.promise.second_split == pytest.approx(levels[1] * right.tests)


def test_refine_cases_show_every_kind_of_decision() -> None:
    """The kinds are joining, splitting, joining a state of another label, and being the first of a label."""
    kinds: Counter[str] = Counter()
    for case, levels in product(CASES, LEVELS):
        for verdict in by_hand(case, *levels).verdicts:
            kinds["first" if verdict.nearest is None else "split" if verdict.promoted else "joined"] += 1
            kinds["moved"] += verdict.moved
            kinds["split by a prefix"] += verdict.prefix is not None
        learned, found = both_passes(case, *levels)
        kinds["grown"] += found.rdp.n_states > learned.rdp.n_states
        kinds["shrunk"] += found.rdp.n_states < learned.rdp.n_states
    assert kinds["joined"] > 300 and kinds["split"] > 30 and kinds["first"] > 100
    assert kinds["moved"] >= 10 and kinds["grown"] >= 10 and kinds["split by a prefix"] >= 2


def test_evidence_of_rows_returns_no_cell_for_uninformative_tables() -> None:
    """An example is 0 of 1 and 3 of 5, where Q = P₀."""
    for k1, n1, k2, n2 in ((0, 1, 3, 5), (1, 1, 2, 5), (1, 2, 0, 2)):
        assert oracle.e_value(k1, n1, k2, n2) == 1
        assert evidence_of([([k1, n1 - k1], [k2, n2 - k2])]) == (0.0, 0.0, -1)


def test_refine_joins_first_of_equal_states() -> None:
    rng = np.random.default_rng(29)
    horizon, n = int(rng.integers(1, 5)), int(rng.integers(100, 250))
    episodes = random_episodes(rng, horizon, 2, 3, 2, 4, n, early_end=0.3)
    learned = replace(adact_h(episodes), settings=Settings(delta=0.3))
    right = oracle.Refinement(learned.rdp, episodes, lambda candidates: 0.3).run()
    assert [d.placement.target for d in refine(learned, episodes).decisions] == [v.target for v in right.verdicts]


@both_levels
@every_case
def test_refine_decisions_explain_the_automaton(case: Any, levels: tuple[float, float]) -> None:
    found = both_passes(case, *levels)[1]
    rdp = found.rdp
    offsets, taken = rdp.offsets(), rdp.taken()
    tau = np.full_like(rdp.tau, UNSEEN)
    promoted: dict[int, list[int]] = {}
    for layer, state, symbol, n, verdict in found.decisions:
        source = int(offsets[layer - 1]) + state
        assert tau[source, symbol] == UNSEEN, "each transition is decided once"
        tau[source, symbol] = offsets[layer] + verdict.target
        assert n == taken[source, symbol] and not verdict.forced
        if verdict.promoted:
            promoted.setdefault(layer, []).append(verdict.target)
            assert verdict.distance is None or verdict.threshold is None or verdict.distance >= verdict.threshold
        else:
            assert verdict.nearest == verdict.target
            assert verdict.threshold is None or verdict.distance < verdict.threshold
    assert tau.tolist() == rdp.tau.tolist()
    assert [promoted[t] for t in range(1, rdp.horizon + 2)] == [list(range(n)) for n in rdp.layers[1:]]
    own = rdp.tally(log(case))
    assert own.counts.tolist() == rdp.counts.tolist() and not own.lost.any()
    for t in range(rdp.horizon + 1):
        assert rdp.counts[offsets[t] : offsets[t + 1]].sum() == log(case).total
    assert not rdp.counts[-1].any()


def test_refine_candidates_are_those_of_the_refinement() -> None:
    """There is one decision for each candidate."""
    for case in CASES:
        found = both_passes(case, 1e-3, 0.3)[1]
        decided = Counter(d.layer for d in found.decisions)
        assert found.candidates == tuple(decided[t] for t in range(1, found.rdp.horizon + 2))


def test_refine_never_promotes_candidates_below_the_cut() -> None:
    """AdaCT-H-A: candidates with a share of the episodes below `cut` are never promoted."""
    for case in CASES:
        episodes = log(case)
        learned = replace(adact_h(episodes, Settings(cut=0.1)), settings=Settings(delta=0.3, cut=0.1))
        assert all(
            d.n / episodes.total >= 0.1 for d in learned.decisions if d.placement.promoted and d.placement.distance
        )
        split = [d for d in refine(learned, episodes).decisions if d.placement.promoted and d.placement.distance]
        assert all(d.n / episodes.total >= 0.1 for d in split)


def test_refine_with_confidence_uses_delta_of_each_layer() -> None:
    for case in CASES[-6:]:
        learned = adact_h(log(case), Settings(confidence=0.9))
        found, horizon = refine(learned, log(case)), log(case).horizon
        right = oracle.Refinement(learned.rdp, log(case), lambda c, h=horizon: 0.1 / ((h + 1) * c)).run()
        assert [d.placement.target for d in found.decisions] == [v.target for v in right.verdicts]
        for layer in range(1, horizon + 1):
            here = [d.placement for d in found.decisions if d.layer == layer]
            thresholds = {v.threshold for v in here if not v.promoted}
            level = (1 - SHARE) * 0.1 / ((horizon + 1) * len(here))
            assert all(t == pytest.approx(-math.log(level)) for t in thresholds)
        assert found.promise.second_split <= 0.1


# Laws

FEW = hypothesis_settings(deadline=None, max_examples=25)


def refined(episodes: Episodes, delta: float = 0.3) -> Learned:
    return refine(replace(adact_h(episodes, Settings(delta=0.02)), settings=Settings(delta=delta)), episodes)


@FEW
@given(logs(weighted=True))
def test_refine_treats_weights_like_repeated_episodes(light: Episodes) -> None:
    heavy = Episodes(light.alphabet, light.letters, np.repeat(light.word, light.weight, axis=1), light.follows)
    assert everything(refined(light)) == everything(refined(heavy))


@FEW
@given(logs(), st.randoms(use_true_random=False))
def test_refine_ignores_order_of_episodes(episodes: Episodes, random: Any) -> None:
    order = list(range(episodes.n))
    random.shuffle(order)
    shuffled = episodes.columns(np.array(order))
    assert everything(refined(episodes)) == everything(refined(shuffled))


@FEW
@given(logs())
def test_refine_only_adds_to_the_promise(episodes: Episodes) -> None:
    learned = adact_h(episodes, Settings(delta=0.02))
    found = refine(learned, episodes)
    assert everything(refine(learned, episodes)) == everything(found)
    assert found.promise.tests == learned.promise.tests and found.promise.split == learned.promise.split
    assert found.promise.second_split == pytest.approx(0.02 * found.promise.second_tests)
    assert found.second_look and not learned.second_look
    assert found.settings is learned.settings


def test_refine_refuses_too_little_memory() -> None:
    """The counts of all candidates and of all steps that states have seen do not fit."""
    for case in (0, DOMAINS[0]):
        learned = adact_h(log(case), Settings(delta=0.3))
        short = replace(learned, settings=replace(learned.settings, memory=1000))
        with pytest.raises(SufficeError, match=r"Raise memory, or use second_look=False\."):
            refine(short, log(case))
        with naming_options(), pytest.raises(SufficeError, match=r"Raise --memory, or use --no-second-look\."):
            refine(short, log(case))


def test_refine_refuses_other_episodes() -> None:
    learned = adact_h(log(0))
    with pytest.raises(SufficeError, match="the episodes are not those that the automaton was learned from"):
        refine(learned, log(0).columns(slice(0, 10)))


def test_refine_makes_no_tests_with_single_candidates() -> None:
    learned = adact_h(from_values([[(None, (0,), 0.0), ("a", None, 1.0)]] * 5))
    found = refine(learned, from_values([[(None, (0,), 0.0), ("a", None, 1.0)]] * 5))
    assert found.rdp.layers.tolist() == [1, 1, 1] and found.promise.tests == 0
    assert [d.placement.nearest for d in found.decisions] == [None, None]


# Processes with memory


@cache
def truth(domain: Domain) -> Minimal:
    return minimal_rdp(domain.model(), domain.default_horizon)


def learn(domain: Domain, n: int, seed: int) -> tuple[Learned, Learned]:
    episodes = domain.simulate(n, domain.default_horizon, np.random.default_rng(seed))
    learned = adact_h(episodes)
    return learned, refine(learned, episodes)


def test_refine_finds_memory_of_t_maze_that_adact_h_misses() -> None:
    right, missed = truth(TMaze()).rdp(), 0
    for seed in range(6):
        first, second = learn(TMaze(), 33_333, seed)
        missed += compare(first.rdp, right) is not None
        assert compare(second.rdp, right) is None
        assert second.rdp.layers.tolist() == right.layers.tolist()
    assert missed >= 2, "AdaCT-H alone must miss it for some seeds"


def test_refine_finds_reward_that_depends_on_first_observation() -> None:
    """At δ = 0.001 and an effect of 0.5, three of four logs are distinguished from coins."""
    found = [refined(coins(np.random.default_rng(seed), 2, 150, effect=0.5), 1e-3) for seed in range(40)]
    assert sum(one.rdp.layers[1] == 2 for one in found) >= 30


# Processes without memory


@pytest.mark.parametrize(
    ("domain", "n", "seeds"),
    [(Corridor(), 300, 60), (TMaze(), 100_000, 5), (Cookie(actions="sensible"), 30_000, 5)],
    ids=["corridor", "t-maze", "cookie"],
)
def test_refine_keeps_correct_automata_correct(domain: Domain, n: int, seeds: int) -> None:
    right, found = truth(domain).rdp(), 0
    for seed in range(seeds):
        first, second = learn(domain, n, seed)
        if compare(first.rdp, right) is None:
            found += 1
            assert compare(second.rdp, right) is None
    assert found >= 0.8 * seeds, "AdaCT-H must be right for most seeds"


def test_refine_splits_coins_at_most_as_often_as_guaranteed() -> None:
    """Coins have no memory, and the labels, one for each layer, do not depend on the data. The 2, 4 and 4 candidates of
    three layers make 1, 3 and 3 comparisons until the first split, each false with probability at most δ. So
    P(some split) ≤ 7δ, and of 200 logs at most 1400 δ are split on average, here within three sigma.
    """
    runs, delta, split = 200, 0.02, 0
    for seed in range(runs):
        episodes = coins(np.random.default_rng(seed), 3, 200)
        blank = adact_h(episodes, Settings(delta=1e-12))
        assert blank.rdp.layers.tolist() == [1, 1, 1, 1, 1]
        found = refine(replace(blank, settings=Settings(delta=delta)), episodes)
        split += found.rdp.n_states > 5
        assert found.promise.second_tests == 7 or found.rdp.n_states > 5
    most = 7 * delta
    assert split <= runs * most + 3 * math.sqrt(runs * most * (1 - most))


def test_adact_h_and_refine_split_coins_at_most_as_often_as_guaranteed() -> None:
    """Here labels are learned from the same episodes, at a usual δ."""
    runs = 100
    found = [regular(coins(np.random.default_rng(1000 + seed), 3, 200)) for seed in range(runs)]
    most = max(one.promise.split + one.promise.second_split for one in found)
    assert 0.1 < most < 0.3
    split = sum(one.rdp.n_states > 5 for one in found)
    assert split <= runs * most + 3 * math.sqrt(runs * most * (1 - most))


def regular(episodes: Episodes) -> Learned:
    return refine(adact_h(episodes, Settings(delta=0.01)), episodes)
