"""Comparison of exact results for finite models with an enumeration of all episodes, and refusals."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from fractions import Fraction
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracle import Conjunctions, Languages
from oracle.exact import ExactOracle
from oracle.languages import contains, log_size
from suffice.data.alphabet import STOP
from suffice.domains.domain import Domain
from suffice.domains.exact import minimal as minimal_module
from suffice.domains.exact.distances import Closest, closest_by_prefixes, closest_by_sum, closest_in, futures
from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.exact.truth import by_languages, by_prefixes, by_sum, truth_of
from suffice.domains.exact.values import exact_value
from suffice.domains.finite import FiniteModel, Outcome
from suffice.domains.tasks.cheat_mab import CheatMAB
from suffice.domains.tasks.cheese import Cheese
from suffice.domains.tasks.cookie import Cookie
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.delayed_match import DelayedMatch
from suffice.domains.tasks.enemy_corridor import EnemyCorridor
from suffice.domains.tasks.flickering_grid import FlickeringGrid
from suffice.domains.tasks.malfunction_mab import MalfunctionMAB
from suffice.domains.tasks.memory_length import MemoryLength
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.domains.tasks.passive_t_maze import PassiveTMaze
from suffice.domains.tasks.repeat_first import RepeatFirst
from suffice.domains.tasks.repeat_previous import RepeatPrevious
from suffice.domains.tasks.rotating_mab import ResetRotatingMAB, RotatingMAB
from suffice.domains.tasks.rotating_maze import RotatingMaze
from suffice.domains.tasks.symbol import Symbol
from suffice.domains.tasks.t_maze import TMaze
from suffice.domains.tasks.two_keys import TwoKeys
from suffice.errors import SufficeError
from suffice.evidence.languages import Family
from suffice.planning.controller import Controller
from support.exact_models import (
    DELTA,
    HALF,
    Both,
    Drawn,
    assert_reward_dependence,
    assert_states,
    assert_values,
    compared,
    draw,
    draw_policy,
    in_doubles,
    named,
    pattern,
)

FAMILIES = {
    "1,1,1": Languages(1, 1, 1),
    "2,1,1": Languages(2, 1, 1),
    "conjunctions": Conjunctions(),
    "1,2,1": Languages(1, 2, 1),
    "1,1,2": Languages(1, 1, 2),
}
EXACT = ("1,1,1", "2,1,1", "conjunctions")  # the others are computed in doubles
CLOSE = 1e-12


def assert_languages(both: Both, name: str) -> None:
    """Check the distance of every pair of states, and the closest pair."""
    minimal, oracle = both.minimal, both.oracle
    least: list[Any] = []
    layers = list(futures(minimal, Family.parse(name)))
    assert [found.layer for found in layers] == list(range(minimal.horizon, 0, -1))
    for found in layers:
        size = log_size(FAMILIES[name], oracle.coding.gamma, minimal.horizon - found.layer + 1)
        assert math.isclose(math.log(found.size), size)
        near = closest_in(found)
        if minimal.layers[found.layer] == 1:
            assert near is None
            continue
        pairs = both.paired(found.layer, oracle.states)
        right = oracle.distances_by_languages(found.layer, FAMILIES[name])
        for (p, q), distance in right.items():
            here = np.abs(found.probabilities[pairs[p]] - found.probabilities[pairs[q]]).max()
            assert here == distance if name in EXACT else here == pytest.approx(float(distance), abs=CLOSE)
        by_place = {frozenset((pairs[p], pairs[q])): d for (p, q), d in right.items()}
        assert_closest(near, min(right.values()), by_place, name in EXACT)
        assert_witness(near, {pairs[q]: law for q, law in oracle.law_of_states(found.layer).items()}, oracle)
        least.append(near.distance)
    known = by_languages(minimal, Family.parse(name), DELTA)
    assert known.value == min(least, default=1)


def assert_closest(near: Closest | None, least: Fraction, by_place: dict[Any, Fraction], exactly: bool) -> None:
    assert near is not None
    if exactly:
        assert near.distance == least == by_place[frozenset(near.states)]
        assert isinstance(near.distance, Fraction | int)
    assert near.distance == pytest.approx(float(least), abs=CLOSE)
    assert by_place[frozenset(near.states)] == pytest.approx(float(least), abs=CLOSE)
    if near.probabilities:
        assert abs(near.probabilities[0] - near.probabilities[1]) == pytest.approx(near.distance, abs=CLOSE)


def assert_witness(near: Closest, laws: dict[int, Any], oracle: ExactOracle) -> None:
    """Check that the event, parsed from its text, has the stated probabilities."""
    if not near.distance:
        assert (near.event, near.probabilities) == ("", None)
        return
    letters = {step for law in laws.values() for suffix in law for step in suffix}
    inside = language(near.event, letters, oracle.definition.features)
    assert near.event.startswith((f"within {oracle.horizon - near.layer + 1} steps", "at ", "either ", "both "))
    chances = [sum(p for suffix, p in laws[q].items() if inside(suffix)) for q in near.states]
    assert near.probabilities == pytest.approx([float(p) for p in chances], abs=CLOSE)
    if isinstance(near.distance, Fraction):
        assert list(near.probabilities) == chances


def language(text: str, letters: set[Any], features: tuple[str, ...]) -> Callable[[Any], bool]:
    """Return a membership test for the language that a text describes."""
    for start, middle, how in (("either (", ") or (", any), ("both (", ") and (", all)):
        if text.startswith(start):
            parts = [language(part, letters, features) for part in text.removeprefix(start)[:-1].split(middle)]
            assert len(parts) == 2
            return lambda suffix: how(part(suffix) for part in parts)
    if simple := re.match(r"(within \d+ steps|at the next step|at the last step), ", text):
        inside = pattern(text[simple.end() :], letters, features)
        ends = {"at the next step": slice(1), "at the last step": slice(-1, None)}
        return lambda suffix: any(step in inside for step in suffix[ends.get(simple[1], slice(None))])
    body = text.removesuffix(", and then nothing")
    _, *parts = re.split(r"(?:^|, )(at the next step|at some point|directly followed by|later) ", body)
    gaps = [gap in ("at some point", "later") for gap in parts[::2]] + [body == text]
    word = [pattern(part, letters, features) for part in parts[1::2]]
    return lambda suffix: contains(gaps, word, suffix)


def read_prefix(steps: Any) -> str:
    shown = [f"{a} → ({'end' if o is None else ', '.join(map(str, o))}), {float(r):g}" for a, o, r in steps]
    return "the next steps are " + "; ".join(shown)


def assert_prefixes(both: Both) -> None:
    """Check L∞^p with its prefix, and L₁^p, for the closest states of every layer."""
    minimal, oracle = both.minimal, both.oracle
    several = [t for t in range(1, minimal.horizon + 1) if minimal.layers[t] > 1]
    largest, summed = closest_by_prefixes(minimal), closest_by_sum(minimal)
    assert [near.layer for near in largest] == [near.layer for near in summed] == several
    for near, total in zip(largest, summed, strict=True):
        pairs = both.paired(near.layer, oracle.states)
        right = oracle.distances_by_prefixes(near.layer)
        for i, found in enumerate((near, total)):
            by_place = {frozenset((pairs[p], pairs[q])): both[i] for (p, q), both in right.items()}
            assert_closest(found, min(by_place.values()), by_place, True)
        of_place = {pairs[q]: chance for q, chance in oracle.prefixes(near.layer).items()}
        first, second = (of_place[q] for q in near.states)
        (e,) = [e for e in first.keys() | second.keys() if e and read_prefix(e) == near.event]
        assert (first.get(e, 0), second.get(e, 0)) == near.probabilities
    assert by_prefixes(minimal, DELTA)[0].value == min((near.distance for near in largest), default=1)
    assert by_sum(minimal).value == min((near.distance for near in summed), default=1)


SMALL: list[tuple[Domain, int]] = [
    (Corridor(), 5),
    (Corridor(columns=2, enemy=Fraction(7, 10)), 3),
    (TMaze(), 3),
    (TMaze(), 4),
    (TMaze(length=2), 2),  # too short to end
    (TMaze(length=1), 3),
    (TMaze(length=2, cue_visible=True, noise=True), 3),
    (TMaze(actions="east"), 5),
    (TMaze(length=2, noise=True, actions="forward"), 4),
    (Cookie(), 3),
    (Cookie(actions="sensible"), 5),
    (Cheese(), 3),
    (Cheese(reset="immediate"), 3),
    (MiniHall(), 3),
    (MiniHall(observations="classic", wall=True), 3),
    (MiniHall(reset="immediate"), 3),
    (RotatingMAB(), 4),
    (RotatingMAB(arms=3), 3),
    (ResetRotatingMAB(), 3),
    (ResetRotatingMAB(arms=2), 4),
    (MalfunctionMAB(), 5),
    (MalfunctionMAB(limit=1), 4),
    (CheatMAB(), 5),
    (CheatMAB(code="10"), 4),
    (RotatingMaze(), 3),
    (RotatingMaze(period=1), 3),
    (EnemyCorridor(), 3),
    (EnemyCorridor(columns=3), 4),
    (FlickeringGrid(), 2),
    (Symbol(), 4),
    (TwoKeys(), 3),
    (RepeatFirst(), 2),
    (RepeatFirst(answers=3), 2),
    (MemoryLength(), 4),
    (MemoryLength(length=3), 5),  # ends before the horizon
    (PassiveTMaze(length=2), 3),
    (PassiveTMaze(length=1), 4),
    (DelayedMatch(delay=0), 2),
    (DelayedMatch(delay=1), 3),
    (RepeatPrevious(suits=2, k=2), 3),
    (RepeatPrevious(k=1), 2),
]


@cache
def small(domain: Domain, horizon: int) -> Both:
    return compared(domain.for_horizon(horizon), horizon)


@pytest.mark.parametrize(("domain", "horizon"), SMALL, ids=named)
def test_minimal_rdp_states_agree_with_enumeration_of_episodes(domain: Domain, horizon: int) -> None:
    both = small(domain, horizon)
    assert_states(both)
    assert_reward_dependence(both)
    assert list(both.minimal.layers) == both.oracle.layers()


@pytest.mark.parametrize(("domain", "horizon"), SMALL, ids=named)
def test_truth_of_values_agree_with_enumeration_of_episodes(domain: Domain, horizon: int) -> None:
    assert_values(small(domain, horizon), domain.for_horizon(horizon), None)


@pytest.mark.parametrize(("domain", "horizon"), SMALL, ids=named)
def test_distances_agree_with_enumeration_of_episodes(domain: Domain, horizon: int) -> None:
    both = small(domain, horizon)
    assert_prefixes(both)
    episodes = len(both.oracle.law)
    for name in ("conjunctions", "1,1,1") if episodes < 600 else ():
        assert_languages(both, name)
    for name in ("2,1,1", "1,2,1", "1,1,2") if episodes < 70 else ():
        assert_languages(both, name)


@pytest.mark.long
@pytest.mark.parametrize("name", FAMILIES)
@pytest.mark.parametrize(("domain", "horizon"), SMALL, ids=named)
def test_by_languages_of_every_family_agrees_with_enumeration_of_episodes(
    domain: Domain, horizon: int, name: str
) -> None:
    assert_languages(small(domain, horizon), name)


# ---------------------------------------------------------------- definitions drawn at random


FEW = settings(deadline=None, max_examples=50)
SEED = st.integers(0, 10**9)


@FEW
@given(SEED, st.integers(1, 4), st.booleans())
def test_truth_of_random_models_agrees_with_enumeration_of_episodes(seed: int, horizon: int, as_usual: bool) -> None:
    definition = draw(seed, informative=False)
    policy = None if as_usual else draw_policy(seed, FiniteModel.of(definition))
    both = compared(definition, horizon, policy)
    assert both.minimal.reward_dependence is None
    assert_reward_dependence(both)
    assert_states(both)
    assert_values(both, definition, policy)


@FEW
@given(SEED, st.integers(1, 3), st.booleans())
def test_truth_of_models_with_informative_rewards_has_right_expectations(
    seed: int, horizon: int, as_usual: bool
) -> None:
    definition = draw(seed, informative=True)
    model = FiniteModel.of(definition)
    policy = None if as_usual else draw_policy(seed, model)
    both = compared(definition, horizon, policy)
    assert_reward_dependence(both)
    assert_states(both)
    assert_values(both, definition, policy)
    shown = model.observing_reward()
    assert (
        minimal_rdp(
            shown, horizon, policy and policy.reading(shown.alphabet, without_reward(shown, model))
        ).reward_dependence
        is None
    )


def without_reward(shown: FiniteModel, model: FiniteModel) -> list[int]:
    known = {o: i + 1 for i, o in enumerate(model.alphabet.observations)}
    return [STOP, *(known[o[:-1]] for o in shown.alphabet.observations)]


@settings(deadline=None, max_examples=25)
@given(SEED, st.integers(1, 3))
def test_distances_of_random_models_agree_with_enumeration_of_episodes(seed: int, horizon: int) -> None:
    definition = draw(seed, informative=False)
    both = compared(definition, horizon, draw_policy(seed, FiniteModel.of(definition)))
    assert_prefixes(both)
    assert_languages(both, "conjunctions")
    assert_languages(both, "1,1,1")
    if len(both.oracle.law) < 60:
        assert_languages(both, ("2,1,1", "1,2,1", "1,1,2")[seed % 3])


def test_random_models_cover_the_relevant_cases() -> None:
    """They have several states per layer, early ends, actions never taken, and rewards of both kinds."""
    both = [compared(draw(seed, informative=False), 3) for seed in range(40)]
    assert sum(max(b.minimal.layers) > 2 for b in both) >= 15
    assert sum(any(a == "pad" for e in b.oracle.law for a, _, _ in e) for b in both) >= 15
    assert sum(
        bool(compared(draw(seed, informative=True), 3).minimal.reward_dependence) for seed in range(40)
    ) in range(10, 40)
    policies = [draw_policy(seed, b.minimal) for seed, b in enumerate(both)]
    assert sum(any(0 in row for row in policy.chances) for policy in policies) >= 15
    assert sum(len(policy.chances) > 1 for policy in policies) >= 15


def test_minimal_rdp_has_more_states_under_a_policy_with_memory() -> None:
    """The domain has one hidden state; the policy repeats its first action."""
    blank = Outcome(Fraction(1), "s", (0, "x"))
    definition = Drawn((blank,), {("s", a): (blank,) for a in "ab"})
    model = FiniteModel.of(definition)
    after = np.array([[[1], [2]], [[1], [1]], [[2], [2]]], np.int32).repeat(2, axis=2)
    certain = (Fraction(1), Fraction(0)), (Fraction(0), Fraction(1))
    stubborn = Controller(model.alphabet, np.zeros(2, np.int32), after, ((HALF, HALF), *certain))
    both = compared(definition, 3, stubborn)
    assert both.minimal.layers == (1, 1, 2, 2, 1)
    assert_states(both)
    assert minimal_rdp(model, 3).layers == (1, 1, 1, 1, 1)


# ---------------------------------------------------------------- refusals


def test_exact_analysis_refuses_invalid_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    model = TMaze().model(3)
    other = Controller.uniform(Corridor().model(3).alphabet)
    for horizon in (0, -1):
        with pytest.raises(SufficeError, match=f"horizon={horizon} leaves no action. Use 1 or more"):
            minimal_rdp(model, horizon)
        with pytest.raises(SufficeError, match="Use 1 or more"):
            truth_of(model, horizon)
        with pytest.raises(SufficeError, match="Use 1 or more"):
            exact_value(model, model.usual, horizon)
    for ask in (minimal_rdp, truth_of):
        with pytest.raises(SufficeError, match="another alphabet"):
            ask(model, 3, other)
    with pytest.raises(SufficeError, match="another alphabet"):
        exact_value(model, other, 3)
    in_doubles(monkeypatch)
    monkeypatch.setattr(minimal_module._Double, "limit", 5)
    with pytest.raises(SufficeError, match=r"beliefs\. Use a smaller horizon"):
        minimal_rdp(model, 3)


def test_minimal_rdp_of_large_models_uses_doubles(monkeypatch: pytest.MonkeyPatch) -> None:
    model = Cheese().model(4)
    monkeypatch.setattr(minimal_module._Rational, "limit", 40)
    assert minimal_rdp(model, 2).rational and not minimal_rdp(model, 4).rational
