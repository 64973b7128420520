"""Exact distances between states: values on the domains of the paper, and relations between families."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest

from oracle.distinctness import fisher_p, likelihood_ratio
from suffice.domains.domain import Domain
from suffice.domains.exact.samples import sufficient
from suffice.domains.exact.truth import by_languages, by_prefixes, by_sum
from suffice.domains.tasks.cheat_mab import CheatMAB
from suffice.domains.tasks.cheese import Cheese
from suffice.domains.tasks.cookie import Cookie
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.delayed_match import DelayedMatch
from suffice.domains.tasks.flickering_grid import FlickeringGrid
from suffice.domains.tasks.malfunction_mab import MalfunctionMAB
from suffice.domains.tasks.memory_length import MemoryLength
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.domains.tasks.repeat_previous import RepeatPrevious
from suffice.domains.tasks.rotating_maze import RotatingMaze
from suffice.domains.tasks.symbol import Symbol
from suffice.domains.tasks.t_maze import TMaze
from suffice.domains.tasks.two_keys import TwoKeys
from suffice.evidence.bounds import BOUNDS, Bound
from suffice.evidence.languages import CONJUNCTIONS, Family
from support.exact_models import (
    ALL_DOMAINS,
    DELTA,
    SINGLE,
    distinguishability,
    named,
    pattern,
    truth,
)

PAPERS_FIVE: list[Domain] = [Corridor(), TMaze(), Cookie(), Cheese(), MiniHall()]


# ---------------------------------------------------------------- the domains of the paper


def test_truth_of_corridor_and_t_maze_has_known_layers() -> None:
    assert truth(Corridor()).minimal.n_states == 11
    assert truth(TMaze()).minimal.layers == (1, 2, 3, 4, 5, 4, 1)


@cache
def by_prefixes_of(domain: Domain, delta: float = DELTA) -> Any:
    return by_prefixes(truth(domain).minimal, delta)[0]


@pytest.mark.parametrize("domain", [Corridor(), TMaze(), MiniHall()], ids=named)
def test_by_languages_with_single_components_is_zero(domain: Domain) -> None:
    found = distinguishability(domain, SINGLE)
    assert found.value == 0 and isinstance(found.value, Fraction | int)
    assert {needed.sufficient for needed in found.needed.values()} == {math.inf}
    assert {needed.likely for needed in found.needed.values()} == {math.inf}


@pytest.mark.parametrize("domain", PAPERS_FIVE, ids=named)
def test_by_languages_with_conjunctions_is_positive(domain: Domain) -> None:
    found = distinguishability(domain, CONJUNCTIONS)
    assert found.value > 0 and isinstance(found.value, Fraction)
    for needed in found.needed.values():
        assert 0 < needed.likely <= needed.sufficient < math.inf


@pytest.mark.parametrize("domain", PAPERS_FIVE, ids=named)
def test_by_languages_event_has_its_probabilities_in_simulated_episodes(domain: Domain) -> None:
    """Frequencies are within five standard errors, and impossible events do not occur."""
    near = distinguishability(domain, CONJUNCTIONS).closest
    horizon, n = domain.default_horizon, 300_000
    episodes = domain.simulate(n, horizon, np.random.default_rng(1))
    rdp = truth(domain).minimal.rdp()
    state = rdp.run_all(episodes)[near.layer] - rdp.offsets()[near.layer]
    alphabet, steps = episodes.alphabet, episodes.letters.tolist()
    words = [(alphabet.action(a), alphabet.observation(o), alphabet.rewards[r]) for a, o, r in steps]
    when, what = near.event.split(", ", 1)
    inside = pattern(what, set(words), alphabet.features)
    met = np.array([word in inside for word in words])[episodes.word[near.layer :]]
    ends = {"at the next step": met[0], "at the last step": met[-1]}
    hit = ends[when] if when in ends else met.any(axis=0)
    for q, p in zip(near.states, near.probabilities, strict=True):
        there = hit[state == q]
        assert len(there) > 100
        assert abs(there.mean() - float(p)) <= 5 * math.sqrt(float(p * (1 - p)) / len(there))


# ---------------------------------------------------------------- laws


@pytest.mark.parametrize(
    "domain",
    [d for d in ALL_DOMAINS if not isinstance(d, FlickeringGrid | RotatingMaze | TwoKeys)],
    ids=named,
)
def test_distances_of_families_are_ordered(domain: Domain) -> None:
    """Distances grow from single components to conjunctions to half of L₁^p.

    Conjunctions contain the single components. The difference on an event equals that on its complement, so that L₁^p
    is at least twice any difference on a language or prefix. Complete suffixes are prefixes.
    """
    minimal = truth(domain).minimal
    single, conjunctions = (distinguishability(domain, family).value for family in (SINGLE, CONJUNCTIONS))
    prefixes, total = by_prefixes_of(domain).value, by_sum(minimal).value
    assert 0 <= single <= conjunctions <= total / 2 and 0 < prefixes <= total / 2
    assert total <= 2 * minimal.horizon and max(prefixes, conjunctions) <= 1


@pytest.mark.parametrize("domain", [Corridor(), TMaze(), CheatMAB(), MemoryLength(), Symbol()], ids=named)
def test_by_languages_grows_with_the_family(domain: Domain) -> None:
    deep = by_languages(truth(domain).minimal, Family(2, 1, 1), DELTA).value
    assert deep >= distinguishability(domain, SINGLE).value


@pytest.mark.parametrize("family", ["1,1,1", "2,1,1", "1,2,1", "conjunctions"])
def test_families_of_single_steps_are_blind_to_delayed_match_and_prefixes_are_not(family: str) -> None:
    """Words of two patterns of one component are blind too: the difference is in three (probe, action and reward)."""
    domain = DelayedMatch(delay=1)
    minimal = truth(domain).minimal
    found = by_languages(minimal, Family.parse(family), DELTA)
    assert found.value == 0 and found.closest is not None and found.closest.layer < minimal.horizon
    assert all(needed.sufficient == math.inf for needed in found.needed.values())
    assert by_prefixes_of(domain).value > 0


def test_conjunctions_are_blind_to_the_order_of_two_suits_in_repeat_previous() -> None:
    domain = RepeatPrevious(suits=2, k=3)
    assert distinguishability(domain, CONJUNCTIONS).value == 0 < by_prefixes_of(domain).value


@pytest.mark.parametrize("bound", BOUNDS.values(), ids=lambda bound: bound.name)
def test_sufficient_grows_with_the_difficulty_of_the_task(bound: Bound) -> None:
    easy = sufficient(bound, Fraction(1, 4), 0.1, math.log(100), 1e-2)
    assert easy < sufficient(bound, Fraction(1, 4), 0.1, math.log(100), 1e-3)  # smaller delta
    assert easy < sufficient(bound, Fraction(1, 5), 0.1, math.log(100), 1e-2)  # smaller difference
    assert easy < sufficient(bound, Fraction(1, 4), 0.05, math.log(100), 1e-2)  # rarer candidates
    assert easy < sufficient(bound, Fraction(1, 4), 0.1, math.log(1000), 1e-2)  # more languages
    assert sufficient(bound, Fraction(0), 0.1, math.log(100), 1e-2) == math.inf
    if bound is BOUNDS["paper"]:
        assert easy < sufficient(bound, Fraction(1, 4), 0.1, math.log(100), 1e-2, sketch=True)
        assert easy == pytest.approx(16 * math.log(4 * 100 / 1e-2) / (0.1 / 16))  # docs/theory.md, section 4
    if bound is BOUNDS["two-sample"]:
        assert easy == pytest.approx(8 * math.log(2 * 100 / 1e-2) / (0.1 / 16))


@pytest.mark.parametrize("domain", [Corridor(), TMaze(), MalfunctionMAB(), Symbol()], ids=named)
@pytest.mark.parametrize("bound", BOUNDS)
def test_episodes_needed_decrease_as_delta_grows(domain: Domain, bound: str) -> None:
    levels = [distinguishability(domain, CONJUNCTIONS, delta).needed[bound] for delta in (1e-6, DELTA, 0.1)]
    assert levels[0].sufficient > levels[1].sufficient > levels[2].sufficient
    assert levels[0].likely >= levels[1].likely >= levels[2].likely
    pair = [by_prefixes_of(domain, delta).needed[bound] for delta in (1e-6, 0.1)]
    assert pair[0].sufficient > pair[1].sufficient and pair[0].likely is None


@pytest.mark.parametrize(("n1", "n2"), [(1, 1), (3, 5), (10, 10), (7, 40)])
def test_fisher_p_value_is_at_most_the_bound_of_the_sufficiency_proof(n1: int, n2: int) -> None:
    """The p-value is at most (m + 1) √(2n) e^−G with m the smaller sample."""
    for k1 in range(n1 + 1):
        for k2 in range(n2 + 1):
            limit = (min(n1, n2) + 1) * math.sqrt(2 * (n1 + n2)) * math.exp(-likelihood_ratio(k1, n1, k2, n2))
            assert float(fisher_p(k1, n1, k2, n2)) <= limit * (1 + 1e-6)
