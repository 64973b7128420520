"""The oracle compared with hand-computed cases, enumerations and SciPy."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.data.alphabet import DUMMY, PAD, STOP, Alphabet
from suffice.data.episodes import Episodes

from . import Conjunctions, Languages, Prefixes, SuffixAlphabet, adact_h, distance, random_episodes, suffix_alphabet
from .adact import SAME_DISTANCE, Statistic, nearest
from .distinctness import (
    Bound,
    fisher_evidence,
    fisher_p,
    fisher_threshold,
    likelihood_ratio,
    likelihood_ratio_threshold,
    paper_threshold,
    smallest_p,
    tarone_kappa,
    two_sample_threshold,
)
from .languages import (
    Pattern,
    Suffix,
    basic_patterns,
    combine,
    contains,
    language_events,
    log_size,
    patterns,
    patterns_of_level,
    words,
)
from .prefixes import log_size as prefix_log_size
from .prefixes import prefix_events

BOUNDS: list[Bound] = ["paper", "two-sample", "likelihood-ratio", "fisher"]

# Two actions, one real observation with one feature, o_⊥, one reward: Γ is a 2 × 2 square of rows and columns.
SQUARE = SuffixAlphabet((2, 3), (0, 1), (0,), (("x",),))
# The same with a second reward: a 2 × 2 × 2 cube.
CUBE = SuffixAlphabet((2, 3), (0, 1), (0, 1), (("x",),))


# Patterns


def test_patterns_of_level_equal_those_of_the_square() -> None:
    rows_columns_all = {frozenset(product((a,), (0, 1), (0,))) for a in (2, 3)}
    rows_columns_all |= {frozenset(product((2, 3), (o,), (0,))) for o in (0, 1)}
    rows_columns_all |= {SQUARE.letters()}  # reward = 0
    assert basic_patterns(SQUARE) == rows_columns_all
    assert len(patterns_of_level(SQUARE, 2)) == 5 + 4 + 4  # and four singletons, four complements of singletons
    assert len(patterns_of_level(SQUARE, 3)) == 15  # every set but the empty one
    assert len(patterns_of_level(SQUARE, 4)) == 15


def test_patterns_of_level_equal_those_of_the_cube() -> None:
    faces, edges, unions_of_two_faces = 6, 12, 12
    assert len(patterns_of_level(CUBE, 1)) == faces
    assert len(patterns_of_level(CUBE, 2)) == faces + edges + unions_of_two_faces + 1  # and the whole


def test_basic_patterns_include_features_but_none_of_stop() -> None:
    gamma = SuffixAlphabet((2,), (0, 1, 2, 3), (0,), ((0, 0), (0, 1), (1, 1)))
    observations = [{1, 2}, {3}, {1}, {2, 3}, {0}, {0, 1, 2, 3}]  # f0=0, f0=1, f1=0, f1=1, o_⊥, the only action
    assert basic_patterns(gamma) == {frozenset((2, o, 0) for o in os) for os in observations}


def test_basic_patterns_include_only_observed_features() -> None:
    gamma = SuffixAlphabet((2, 3), (1, 3), (0,), (("x",), ("y",), ("z",)))  # neither o_⊥ nor y in steps 1..H
    assert basic_patterns(gamma) == basic_patterns(SuffixAlphabet((2, 3), (1, 3), (0,), (("x",), ("?",), ("z",))))
    assert len(basic_patterns(gamma)) == 5


def test_conjunction_patterns_equal_those_of_the_square_and_the_cube() -> None:
    assert len(patterns(Conjunctions(), SQUARE)) == 2 + 2 + 4 + 1  # rows, columns, cells, reward = 0
    assert len(patterns(Conjunctions(), CUBE)) == 6 + 12 + 8  # faces, edges, corners


def test_conjunction_patterns_include_features_and_whole_observations() -> None:
    gamma = SuffixAlphabet((2, 3), (0, 1, 2, 3, 4), (0, 1), ((0, 0), (0, 1), (1, 0), (1, 1)))
    observations = 4 + 4 + 1  # features, whole observations, o_⊥
    assert len(patterns(Conjunctions(), gamma)) == (1 + 2) * (1 + observations) * (1 + 2) - 1


# Words and sizes


def test_log_size_of_families_equals_hand_computed_values() -> None:
    def sizes(statistic: Languages | Conjunctions) -> list[int]:
        return [round(math.exp(log_size(statistic, SQUARE, ell))) for ell in (1, 2, 3)]

    assert sizes(Languages(1, 1, 1)) == [5, 15, 15]
    assert sizes(Languages(1, 2, 1)) == [5, 15 + 25, 15 + 25 * 7]
    assert sizes(Languages(1, 3, 1)) == [5, 15 + 25, 15 + 25 * 7 + 125]
    assert sizes(Languages(1, 2, 2)) == [5**2, 40**2, 190**2]
    assert sizes(Languages(1, 1, 3)) == [5**4, 15**4, 15**4]
    assert sizes(Languages(2, 1, 1)) == [13, 39, 39]
    assert sizes(Conjunctions()) == [9, 27, 27]
    assert log_size(Languages(), SQUARE, 0) == -math.inf


@pytest.mark.parametrize("ell", [1, 2, 3])
@pytest.mark.parametrize("j", [1, 2, 3])
def test_log_size_equals_the_number_of_words(j: int, ell: int) -> None:
    family = sorted(basic_patterns(SQUARE), key=sorted)
    assert math.log(len(list(words(family, j, ell)))) == log_size(Languages(1, j, 1), SQUARE, ell)


def concatenate(x: frozenset[Suffix], y: frozenset[Suffix]) -> frozenset[Suffix]:
    return frozenset(u + v for u in x for v in y)


def literal_words(family: set[Pattern], letters: Pattern, n: int, ell: int) -> set[frozenset[Suffix]]:
    """C_n^ℓ(G) of the paper, as sets of strings: Γ^ℓ ∩ S_1 G_1 … S_n G_n S_{n+1}, with Γ* cut at length ℓ."""
    gaps = [frozenset({()}), frozenset(x for u in range(ell + 1) for x in product(letters, repeat=u))]
    found = set()
    for choice, sequence in product(product(gaps, repeat=n + 1), product(family, repeat=n)):
        language = choice[0]
        for gap, pattern in zip(choice[1:], sequence, strict=True):
            language = concatenate(concatenate(language, frozenset((x,) for x in pattern)), gap)
            language = frozenset(x for x in language if len(x) <= ell)
        found.add(frozenset(x for x in language if len(x) == ell))
    return found


@pytest.mark.parametrize(("i", "j", "ell"), [(1, 1, 1), (1, 1, 2), (2, 1, 2), (1, 2, 2), (1, 1, 3)])
@pytest.mark.parametrize("k", [1, 2])
def test_language_events_equal_the_languages_of_the_paper(i: int, j: int, ell: int, k: int) -> None:
    letters = SQUARE.letters()
    family = patterns_of_level(SQUARE, i)
    expected = set().union(*(literal_words(family, letters, n, ell) for n in range(1, j + 1)))
    if k == 2:
        pairs = list(product(expected, repeat=2))
        expected |= {x | y for x, y in pairs} | {x & y for x, y in pairs}
    universe = sorted(product(letters, repeat=ell))
    events = language_events(Languages(i, j, k), SQUARE, letters, universe)
    found = {frozenset(universe[s] for s in members) for members in events}
    assert found | {frozenset()} == expected | {frozenset()}


def test_contains_tries_every_split_of_a_suffix() -> None:
    a, b = frozenset({(2, 0, 0)}), frozenset({(3, 0, 0)})
    aab = ((2, 0, 0), (2, 0, 0), (3, 0, 0))
    assert contains((True, False, False), (a, b), aab)  # Γ* a b: not the first a
    assert not contains((False, False, True), (a, b), aab)  # a b Γ*
    assert contains((False, True, False), (a, b), aab)  # a Γ* b
    assert not contains((True, False), (a,), aab)  # Γ* a
    assert not contains((False, False), (a,), aab)
    assert not contains((True, True, True), (b, b), aab)


# Events for Tarone's correction


@pytest.mark.parametrize("k", [1, 2, 3])
def test_combine_counts_unordered_pairs_of_events(k: int) -> None:
    events = [frozenset(x) for x in ({1}, {1}, {1}, {2}, {1, 2}, {3}, set(), {3})]
    expected, found = list(events), Counter(events)
    for _ in range(k - 1):
        pairs = list(combinations(expected, 2))
        expected = expected + [x | y for x, y in pairs] + [x & y for x, y in pairs]
        found = combine(found)
    assert found == Counter(expected)
    assert found.total() == len(events) ** 2 ** (k - 1)


def test_language_events_join_patterns_that_agree_on_the_log() -> None:
    logged = {(2, 0, 0), (3, 0, 0)}  # o_⊥ only: on these letters the column x is empty, o_⊥ and reward 0 are all
    suffixes: list[Suffix] = [((2, 0, 0),), ((3, 0, 0),)]
    assert language_events(Languages(), SQUARE, logged, suffixes) == Counter(
        [frozenset({0}), frozenset({1}), frozenset({0, 1}), frozenset()]
    )
    suffixes = [((2, 0, 0), (2, 0, 0)), ((2, 0, 0), (3, 0, 0))]
    events = language_events(Languages(), SQUARE, logged, suffixes)
    assert events.total() == 3 * 4  # three gap forms
    assert events[frozenset({0})] == 1  # Γ* (action 2)
    assert events[frozenset({1})] == 2  # Γ* (action 3), Γ* (action 3) Γ*
    assert events[frozenset()] == 3 + 1  # the empty pattern; (action 3) Γ*
    assert events[frozenset({0, 1})] == 3 + 2  # all letters; (action 2) Γ*, Γ* (action 2) Γ*


def test_prefix_events_join_prefixes_of_the_same_suffixes() -> None:
    a, b = (2, 0, 0), (3, 0, 0)
    events = prefix_events([(a, a), (a, b), (b, a)])
    assert events == Counter(map(frozenset, [{0, 1, 2}, {0, 1}, {0}, {1}, {2}]))  # b and ba are one


# Distances of one event, and thresholds


@pytest.mark.parametrize(("n1", "n2"), [(1, 1), (3, 3), (4, 9), (12, 7), (30, 30), (100, 17)])
def test_fisher_p_agrees_with_scipy(n1: int, n2: int) -> None:
    stats = pytest.importorskip("scipy.stats")
    for k1, k2 in product(range(0, n1 + 1, 1 + n1 // 8), range(0, n2 + 1, 1 + n2 // 8)):
        p = stats.fisher_exact([[k1, n1 - k1], [k2, n2 - k2]]).pvalue
        assert float(fisher_p(k1, n1, k2, n2)) == pytest.approx(p, rel=1e-9)
        assert fisher_evidence(k1, n1, k2, n2) == pytest.approx(-math.log(p), rel=1e-9, abs=1e-9)


def test_fisher_p_equals_hand_computed_values() -> None:
    assert fisher_p(3, 3, 0, 3) == Fraction(2, 20)
    assert fisher_p(2, 3, 1, 3) == 1
    assert fisher_p(2, 2, 0, 4) == Fraction(1, 15)  # the other tail, no successes in two, is not as rare
    assert fisher_evidence(2000, 2000, 0, 2000) == pytest.approx(math.log(math.comb(4000, 2000)) - math.log(2))


def test_smallest_p_is_the_minimum_over_all_tables() -> None:
    for n1, n2 in product((1, 3, 6, 11), repeat=2):
        for total_k in range(n1 + n2 + 1):
            tables = range(max(0, total_k - n2), min(n1, total_k) + 1)
            assert smallest_p(n1, n2, total_k) == min(fisher_p(x, n1, total_k - x, n2) for x in tables)


@pytest.mark.parametrize(("delta", "kappa"), [(0.05, 1), (0.15, 2), (0.25, 3), (0.35, 3)])
def test_tarone_kappa_equals_hand_computed_values(delta: float, kappa: int) -> None:
    """Three events have K = 3 of 3 + 3 and a smallest p-value of 1/10; many others are never testable."""
    assert tarone_kappa({3: 3, 0: 1000, 6: 1000}, delta, 3, 3) == kappa
    assert fisher_threshold({3: 3}, delta, 3, 3) == pytest.approx(math.log(kappa / delta))


@given(st.dictionaries(st.integers(0, 15), st.integers(1, 30), min_size=1), st.floats(1e-4, 0.5), st.integers(1, 14))
def test_tarone_kappa_is_the_smallest_solution(events_by_k: dict[int, int], delta: float, n1: int) -> None:
    n2 = 15 - n1

    def testable(kappa: int) -> int:
        return sum(c for k, c in events_by_k.items() if smallest_p(n1, n2, k) <= Fraction(delta) / kappa)

    assert tarone_kappa(events_by_k, delta, n1, n2) == next(x for x in range(1, 10**6) if testable(x) <= x)


def test_likelihood_ratio_equals_hand_computed_values() -> None:
    assert likelihood_ratio(5, 5, 0, 5) == pytest.approx(10 * math.log(2))
    assert likelihood_ratio(1, 4, 2, 8) == 0
    assert likelihood_ratio(0, 4, 0, 8) == likelihood_ratio(4, 4, 8, 8) == 0
    kl = 0.25 * math.log(0.25 / 0.5) + 0.75 * math.log(0.75 / 0.5)
    assert likelihood_ratio(1, 4, 3, 4) == pytest.approx(8 * kl)


@pytest.mark.parametrize("log_size", [0.0, 1.0, 5.0, 20.0, 60.0])
@pytest.mark.parametrize("delta", [0.5, 0.05, 1e-3, 1e-6])
def test_likelihood_ratio_threshold_is_the_larger_root(log_size: float, delta: float) -> None:
    x = likelihood_ratio_threshold(log_size, delta)
    assert x >= 2 * math.log(2)  # where the left side has its maximum, 1
    assert 4 * (1 + x - 2 * math.log(2)) * math.exp(-x) == pytest.approx(delta / math.exp(log_size), rel=1e-12)


def test_threshold_equals_hand_computed_values() -> None:
    size, delta = 15, 0.05
    assert paper_threshold(math.log(size), delta, 100, 30) == pytest.approx(math.sqrt(2 * math.log(60 / 0.05) / 30))
    assert two_sample_threshold(math.log(size), delta, 100, 30) == pytest.approx(
        math.sqrt(0.5 * math.log(30 / 0.05) * (1 / 100 + 1 / 30))
    )


def test_paper_threshold_of_prefixes_has_the_constant_of_the_paper() -> None:
    """√(2 ln(8(ARO)^ℓ/δ) / min) for prefixes."""
    aro, ell, delta = 2 * 2 * 2, 4, 0.01
    assert paper_threshold(prefix_log_size(CUBE, ell), delta, 50, 70) == pytest.approx(
        math.sqrt(2 * math.log(8 * aro**ell / delta) / 50)
    )


# Distances of samples


letters_of_cube = st.sampled_from(sorted(CUBE.letters()))
samples = st.lists(st.tuples(letters_of_cube, letters_of_cube), min_size=1, max_size=6)
statistics: list[Statistic] = [Languages(1, 1, 1), Languages(1, 2, 1), Languages(1, 1, 2), Conjunctions(), Prefixes()]


@settings(deadline=None, max_examples=15)
@pytest.mark.parametrize("statistic", statistics, ids=str)
@given(x=samples, y=samples, z=samples)
def test_oracle_distances_are_pseudometrics(
    statistic: Statistic, x: list[Suffix], y: list[Suffix], z: list[Suffix]
) -> None:
    assert distance(statistic, CUBE, x, x) == 0
    assert distance(statistic, CUBE, x, x + x) == 0
    assert distance(statistic, CUBE, x, y) == distance(statistic, CUBE, y, x) <= 1
    detour = distance(statistic, CUBE, x, y) + distance(statistic, CUBE, y, z)
    assert distance(statistic, CUBE, x, z) <= detour + 1e-12


@settings(deadline=None, max_examples=15)
@given(x=samples, y=samples)
def test_oracle_distance_does_not_fall_for_larger_families(x: list[Suffix], y: list[Suffix]) -> None:
    small = distance(Languages(1, 1, 1), CUBE, x, y)
    for larger in (Languages(2, 1, 1), Languages(1, 2, 1), Languages(1, 1, 2), Conjunctions()):
        assert distance(larger, CUBE, x, y) >= small


def test_conjunctions_alone_distinguish_which_action_is_rewarded() -> None:
    north, south = 2, 3
    x = [((north, 0, 1),), ((south, 0, 0),)]
    y = [((north, 0, 0),), ((south, 0, 1),)]
    assert distance(Languages(1, 1, 1), CUBE, x, y) == 0
    for statistic in (Languages(2, 1, 1), Languages(1, 1, 2), Conjunctions(), Prefixes()):
        assert distance(statistic, CUBE, x, y) == 0.5


# AdaCT-H


def memory_of_one_bit(n: int) -> Episodes:
    """Return episodes in which o_0 is 0 or 1 and the first action is rewarded iff it is o_0; the rest is equal."""
    alphabet = Alphabet(actions=(0, 1), features=("f",), observations=((0,), (1,)), rewards=(0.0, 1.0))
    runs = np.array(list(product((0, 1), repeat=3)) * n).T  # [3, 8n]: o_0, a_1, a_2
    zero = np.zeros_like(runs[0])
    action = np.stack([zero + DUMMY, runs[1] + 2, runs[2] + 2])
    observation = np.stack([runs[0] + 1, zero + 1, zero + STOP])
    reward = np.stack([zero, np.where(runs[0] == runs[1], 1, 0), zero])
    return Episodes.from_steps(alphabet, action, observation, reward)


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("statistic", [Languages(2, 1, 1), Languages(1, 1, 2), Conjunctions(), Prefixes()], ids=str)
def test_oracle_adact_h_remembers_a_bit_as_long_as_it_matters(statistic: Statistic, bound: Bound) -> None:
    result = adact_h(memory_of_one_bit(64), statistic, bound, 0.05)
    assert result.layers == [1, 2, 1, 1]
    assert result.tau == {
        (0, 0, (DUMMY, 1)): 0,
        (0, 0, (DUMMY, 2)): 1,
        **{(1, q, (a, 1)): 0 for q in (0, 1) for a in (2, 3)},
        **{(2, 0, (a, STOP)): 0 for a in (2, 3)},
    }
    first, second = result.decisions[:2]
    assert (first.t, first.candidate, first.n, first.promoted, first.nearest) == (1, (0, (DUMMY, 1)), 256, True, None)
    assert (second.promoted, second.nearest) == (True, 0)
    assert second.distance is not None and second.threshold is not None and second.distance >= second.threshold
    assert [d.candidate for d in result.decisions[2:6]] == [(q, (a, 1)) for q in (0, 1) for a in (2, 3)]
    assert all(d.distance == 0 for d in result.decisions[3:6])
    assert result.decisions[-1].threshold == math.inf  # nothing follows step H
    assert len(result.log_sizes) == 2


def test_oracle_adact_h_merges_what_a_family_does_not_distinguish() -> None:
    result = adact_h(memory_of_one_bit(64), Languages(1, 1, 1), "likelihood-ratio", 0.05)
    assert result.layers == [1, 1, 1, 1]
    gamma = 2 + 2 + 2  # actions, rewards, f = 0 and o_⊥: in steps 1..H f = 1 does not occur
    assert result.log_sizes == [math.log(gamma * 3), math.log(gamma)]


def test_oracle_adact_h_merges_candidates_of_too_few_episodes() -> None:
    assert adact_h(memory_of_one_bit(1), Conjunctions(), "fisher", 0.001).layers == [1, 1, 1, 1]


def three_starts(counts: tuple[int, int, int], rewards: tuple[int, int, int]) -> Episodes:
    """Return episodes whose first observation is 0, 1 or 2 and whose other step has one action and a fixed reward."""
    alphabet = Alphabet(actions=("go",), features=("f",), observations=((0,), (1,), (2,)), rewards=(0.0, 1.0, 2.0))
    start = np.repeat([0, 1, 2], counts)
    zero = np.zeros_like(start)
    reward = np.stack([zero, np.array(rewards)[start]])
    return Episodes.from_steps(alphabet, np.stack([zero + DUMMY, zero + 2]), np.stack([start + 1, zero + STOP]), reward)


def test_oracle_adact_h_orders_by_size_then_code_and_merges_with_the_nearest() -> None:
    result = adact_h(three_starts((100, 300, 100), (0, 1, 0)), Languages(), "two-sample", 0.05)
    assert [d.candidate[1][1] for d in result.decisions[:3]] == [2, 1, 3]
    assert [d.promoted for d in result.decisions[:3]] == [True, True, False]
    assert result.decisions[2].nearest == 1
    assert result.tau[0, 0, (DUMMY, 2)] == 0
    assert result.tau[0, 0, (DUMMY, 1)] == result.tau[0, 0, (DUMMY, 3)] == 1


def test_oracle_adact_h_with_cut_promotes_no_rare_candidate() -> None:
    episodes = three_starts((300, 290, 10), (0, 1, 2))
    assert adact_h(episodes, Languages(), "fisher", 0.05).layers == [1, 3, 1]
    result = adact_h(episodes, Languages(), "fisher", 0.05, cut=0.02)
    assert result.layers == [1, 2, 1]
    rare = result.decisions[2]
    assert not rare.promoted and rare.distance is not None and rare.threshold is not None
    assert rare.distance >= rare.threshold
    assert adact_h(episodes, Languages(), "fisher", 0.05, cut=10 / 600).layers == [1, 3, 1]
    assert adact_h(episodes, Languages(), "fisher", 0.05, cut=2.0).layers == [1, 1, 1]


def test_oracle_adact_h_breaks_ties_for_the_oldest_state() -> None:
    assert nearest({0: 0.3, 1: 0.2 + SAME_DISTANCE / 2, 2: 0.2}) == 1
    assert nearest({0: 0.3, 1: 0.2 + 3 * SAME_DISTANCE, 2: 0.2}) == 2


def test_oracle_adact_h_accepts_a_delta_by_number_of_candidates() -> None:
    episodes = memory_of_one_bit(8)
    seen: list[int] = []

    def delta(candidates: int) -> float:
        seen.append(candidates)
        return 0.05 / candidates

    result = adact_h(episodes, Conjunctions(), "paper", delta)
    assert seen == [sum(d.t == t for d in result.decisions) for t in (1, 2, 3)]


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("statistic", statistics, ids=str)
def test_oracle_adact_h_treats_a_weight_as_repeated_episodes(statistic: Statistic, bound: Bound) -> None:
    light = random_episodes(np.random.default_rng(3), 2, 2, 2, 2, 2, 40, early_end=0.3, weighted=True)
    assert light.weight is not None
    word = np.repeat(light.word, light.weight, axis=1)[:, ::-1]
    heavy = Episodes(light.alphabet, light.letters, word, light.follows)
    assert adact_h(light, statistic, bound, 0.3) == adact_h(heavy, statistic, bound, 0.3)


def test_oracle_adact_h_with_a_declared_alphabet_finds_the_same_states() -> None:
    rng = np.random.default_rng(1)
    read = random_episodes(rng, 2, 2, 3, 3, 2, 6, n_features=2)
    declared = Episodes(read.alphabet, read.letters, read.word, read.follows, declared=True)
    assert len(suffix_alphabet(declared).letters()) > len(suffix_alphabet(read).letters())
    a, b = (adact_h(e, Languages(), "paper", 0.05) for e in (read, declared))
    assert all(x < y for x, y in zip(a.log_sizes, b.log_sizes, strict=True))
    assert [d.distance for d in a.decisions] == [d.distance for d in b.decisions]


# Random episodes


def test_random_episodes_have_valid_codes_and_padding() -> None:
    episodes = random_episodes(np.random.default_rng(0), 4, 2, 3, 2, 3, 200, n_features=2, early_end=0.5)
    action, observation, reward = np.moveaxis(episodes.letters[episodes.word], -1, 0)
    assert (action[0] == DUMMY).all() and (action[1:] != DUMMY).all() and (reward[0] == 0).all()
    assert (observation[-1] == STOP).all()
    padded = action == PAD
    assert padded.any() and (observation[padded] == STOP).all() and (reward[padded] == 0).all()
    assert (observation[:-1] == STOP)[~padded[:-1]].any()  # the last step of an early end
    assert ((observation[:-1] == STOP) <= padded[1:]).all()  # and nothing but padding after it


@pytest.mark.parametrize("bound", BOUNDS)
@pytest.mark.parametrize("statistic", [*statistics, Languages(2, 2, 2)], ids=str)
@pytest.mark.parametrize("horizon", [0, 1, 2])
def test_oracle_adact_h_gives_every_logged_history_a_state(statistic: Statistic, bound: Bound, horizon: int) -> None:
    episodes = random_episodes(np.random.default_rng(5), horizon, 2, 2, 1, 2, 60, early_end=0.2)
    result = adact_h(episodes, statistic, bound, 0.2, cut=0.05)
    assert len(result.layers) == horizon + 2 and result.layers[0] == result.layers[-1] == 1
    assert len(result.decisions) == len(result.tau)
    for column in episodes.word.T:
        state = 0
        for t, (a, o, _) in enumerate(episodes.letters[column].tolist()):
            state = result.tau[t, state, (a, o)]
            assert state < result.layers[t + 1]
