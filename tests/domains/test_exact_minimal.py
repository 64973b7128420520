"""Minimal RDPs: rational and double arithmetic agree, and rewards that carry information are reported."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from oracle.exact import ExactOracle, usual
from suffice.automata.compare import compare
from suffice.data.episodes import Episodes
from suffice.domains.domain import Domain
from suffice.domains.exact import minimal as minimal_module
from suffice.domains.exact.minimal import TOLERANCE, Minimal, minimal_rdp
from suffice.domains.exact.truth import by_languages, by_prefixes, by_sum, truth_of
from suffice.domains.finite import FiniteModel, Outcome
from suffice.domains.tasks.cheese import Cheese
from suffice.domains.tasks.cookie import Cookie
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.enemy_corridor import EnemyCorridor
from suffice.domains.tasks.flickering_grid import FlickeringGrid
from suffice.domains.tasks.memory_length import MemoryLength
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.domains.tasks.rotating_mab import RotatingMAB
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SufficeError, naming_options
from suffice.evidence.bounds import BOUNDS
from suffice.evidence.languages import CONJUNCTIONS, Family
from support.exact_models import (
    ALL_DOMAINS,
    DELTA,
    HALF,
    SINGLE,
    assert_reward_dependence,
    assert_states,
    assert_values,
    compared,
    draw,
    draw_policy,
    in_doubles,
    named,
    truth,
)
from support.samples import from_values


def assert_same_numbers(exact: Minimal, doubles: Minimal) -> None:
    """Check equality up to renaming of states, with probabilities within the tolerance."""
    assert exact.rational and not doubles.rational
    assert exact.layers == doubles.layers and (exact.reward_dependence is None) == (doubles.reward_dependence is None)
    partner = {0: 0}
    for t in range(exact.horizon + 1):
        rows = [
            {
                (q, a, o, r): (target, p)
                for (q, a, o, r, target), p in zip(m.arrows[t].rows(), m.arrows[t].probability, strict=True)
            }
            for m in (exact, doubles)
        ]
        assert len(rows[0]) == len(rows[1])
        following: dict[int, int] = {}
        for (q, a, o, r), (target, p) in rows[0].items():
            other, near = rows[1][partner[q], a, o, r]
            assert isinstance(p, Fraction) and near == pytest.approx(float(p), abs=TOLERANCE)
            assert following.setdefault(target, other) == other
        assert len(set(following.values())) == len(following)
        shares = exact.occupancy()[t], doubles.occupancy()[t]
        for q, other in partner.items():
            assert shares[1][other] == pytest.approx(float(shares[0][q]), abs=TOLERANCE)
        partner = following


DOUBLES = [Cookie(actions="sensible"), TMaze(actions="east"), TMaze(actions="forward"), MiniHall(reset="immediate")]


@pytest.mark.parametrize("domain", [*ALL_DOMAINS, *DOUBLES], ids=named)
def test_minimal_rdp_in_doubles_agrees_with_fractions(domain: Domain, monkeypatch: pytest.MonkeyPatch) -> None:
    exact, horizon = truth(domain), domain.default_horizon
    in_doubles(monkeypatch)
    doubles = truth_of(domain.model(horizon), horizon)
    assert_same_numbers(exact.minimal, doubles.minimal)
    assert isinstance(doubles.optimal_value, float) and isinstance(doubles.behaviour.mean_return, float)
    assert doubles.optimal_value == pytest.approx(float(exact.optimal_value), abs=TOLERANCE)
    assert doubles.covered_value == pytest.approx(float(exact.covered_value), abs=TOLERANCE)
    if exact.concentrability == math.inf or exact.concentrability == 1:
        assert doubles.concentrability == pytest.approx(float(exact.concentrability))
    assert math.isfinite(doubles.concentrability) == math.isfinite(
        exact.concentrability
    )  # ties may be broken differently
    for name in ("mean_return", "steps", "success_rate", "return_per_step"):
        right = float(getattr(exact.behaviour, name))
        assert getattr(doubles.behaviour, name) == pytest.approx(right, abs=TOLERANCE)


@pytest.mark.parametrize("seed", [*range(40), 43, 127])  # the last two have an optimum that rounds differently
def test_minimal_rdp_in_doubles_agrees_with_fractions_on_random_models(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    definition = draw(seed, informative=bool(seed % 2))
    model = FiniteModel.of(definition)
    policy = draw_policy(seed, model) if seed % 3 else None
    exact = truth_of(model, 4, policy)
    in_doubles(monkeypatch)
    doubles = truth_of(model, 4, policy)
    assert_same_numbers(exact.minimal, doubles.minimal)
    assert doubles.optimal_value == pytest.approx(float(exact.optimal_value), abs=TOLERANCE)
    assert math.isfinite(doubles.concentrability) == math.isfinite(exact.concentrability)


@pytest.mark.parametrize("domain", [Corridor(), TMaze(), Cheese(), RotatingMAB(arms=3), MemoryLength()], ids=named)
def test_distances_in_doubles_agree_with_fractions(domain: Domain, monkeypatch: pytest.MonkeyPatch) -> None:
    horizon = min(domain.default_horizon, 5)
    model = domain.model(horizon)
    exact = minimal_rdp(model, horizon)
    in_doubles(monkeypatch)
    doubles = minimal_rdp(model, horizon)
    for family in (SINGLE, CONJUNCTIONS):
        pair = by_languages(exact, family, DELTA), by_languages(doubles, family, DELTA)
        assert pair[1].value == pytest.approx(float(pair[0].value), abs=TOLERANCE)
        assert (pair[1].value == 0) == (pair[0].value == 0)  # rounding must not turn equality into a difference
        for bound in BOUNDS:
            needed = [d.needed[bound] for d in pair]
            assert needed[1].sufficient == pytest.approx(needed[0].sufficient, rel=1e-6)
            assert needed[1].likely == pytest.approx(
                needed[0].likely, rel=0.1
            )  # candidates of equal share may be ordered differently
    assert by_prefixes(doubles, DELTA)[0].value == pytest.approx(float(by_prefixes(exact, DELTA)[0].value))
    assert by_sum(doubles).value == pytest.approx(float(by_sum(exact).value))


def test_by_languages_in_doubles_is_exactly_zero_for_equal_states() -> None:
    """Before the last step of three rotating arms, all states have the same distribution of actions and rewards."""
    minimal = minimal_rdp(RotatingMAB(arms=3).model(3), 3)
    found = by_languages(minimal, Family(1, 2, 1), DELTA)
    assert found.value == 0 and found.closest and found.closest.event == ""
    assert {needed.sufficient for needed in found.needed.values()} == {math.inf}
    assert {needed.likely for needed in found.needed.values()} == {math.inf}


def test_double_key_merges_numbers_within_the_tolerance() -> None:
    """This includes numbers on both sides of a multiple of the tolerance."""
    for p in np.linspace(0.3, 0.3 + 3 * TOLERANCE, 100):
        arithmetic = minimal_module._Double()
        assert arithmetic.key(float(p)) == arithmetic.key(float(p) + TOLERANCE / 10)
        assert arithmetic.key(float(p)) != arithmetic.key(float(p) + 3 * TOLERANCE)


@pytest.mark.parametrize("domain", [MiniHall(), EnemyCorridor(), RotatingMAB(arms=3)], ids=named)
def test_minimal_rdp_in_doubles_merges_proportional_beliefs(domain: Domain, monkeypatch: pytest.MonkeyPatch) -> None:
    """There are at most three beliefs per state, however their weights were computed."""
    right = truth(domain).minimal
    monkeypatch.setattr(minimal_module._Rational, "limit", 3 * right.n_states)
    assert minimal_rdp(domain.model(right.horizon), right.horizon).rational


# ---------------------------------------------------------------- informative rewards


@dataclass(frozen=True)
class Shell:
    """A pea under one of two shells, never observed; the reward of the first guess may reveal its place."""

    pays: str  # "truly", "at random", "after a swap", "at last"
    features: tuple[str, ...] = ("f",)
    all_actions: tuple[str, ...] = ("left", "right")

    def start(self) -> list[Outcome]:
        return [Outcome(HALF, (0, where), ("shell",)) for where in self.all_actions]

    def step(self, state: Any, action: Any) -> list[Outcome]:
        time, where = state
        right = Fraction(action == where)
        if time == 2 or (self.pays == "at last" and time == 1):
            return [Outcome(Fraction(1), None, None, right)]
        if self.pays == "truly":
            return [Outcome(Fraction(1), (time + 1, where), ("shell",), right)]
        if self.pays == "at random":
            return [Outcome(HALF, (time + 1, where), ("shell",), Fraction(r)) for r in (0, 1)]
        return [Outcome(HALF, (time + 1, after), ("shell",), right) for after in self.all_actions]  # after a swap

    def choices(self, observation: Any) -> tuple[str, ...]:
        return self.all_actions


def test_minimal_rdp_reports_informative_rewards_with_a_history() -> None:
    both = compared(Shell("truly"), 3)
    dependence = both.minimal.reward_dependence
    assert dependence is both.minimal.telling  # deprecated name
    assert dependence and dependence.history[0] == (None, ("shell",)) and len(dependence.history) == 2
    assert set(dependence.rewards) == {0.0, 1.0}
    assert "model.observing_reward()" in dependence.sentence and "(shell)" in dependence.sentence
    with naming_options():
        assert "with --observe-reward." in dependence.sentence
    assert_reward_dependence(both)
    assert_states(both)
    assert_values(both, Shell("truly"), None)
    assert truth_of(FiniteModel.of(Shell("truly")), 3).optimal_value == Fraction(3, 2)


@pytest.mark.parametrize("pays", ["at random", "after a swap", "at last"])
def test_minimal_rdp_does_not_report_uninformative_rewards(pays: str) -> None:
    both = compared(Shell(pays), 3)
    assert both.minimal.reward_dependence is None and not both.oracle.rewards_tell()
    assert len(set(both.minimal.arrows[1].reward.tolist())) == 2  # rewards are random nevertheless
    assert_states(both)


@dataclass(frozen=True)
class RevealedCoin(Domain):
    """A coin that rarely turns, shown by an unreliable observation and revealed by the reward."""

    features: tuple[str, ...] = ("f",)
    all_actions: tuple[str, ...] = ("wait",)

    def start(self) -> list[Outcome]:
        return [Outcome(HALF, side, ("begin",)) for side in (0, 1)]

    def step(self, state: Any, action: Any) -> list[Outcome]:
        shares = {True: Fraction(4, 5), False: Fraction(1, 5)}
        return [
            Outcome(shares[side == state] * shares[shown == side], side, (str(shown),), Fraction(state))
            for side in (0, 1)
            for shown in (0, 1)
        ]

    def choices(self, observation: Any) -> tuple[str, ...]:
        return self.all_actions


def test_minimal_rdp_uses_doubles_if_only_the_search_without_rewards_is_too_large(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    exact = minimal_rdp(FiniteModel.of(RevealedCoin()), 6)
    monkeypatch.setattr(minimal_module._Rational, "limit", 30)
    seen = minimal_module._Search(
        FiniteModel.of(RevealedCoin()), FiniteModel.of(RevealedCoin()).usual, minimal_module._Rational(), True
    )
    assert seen.run(6).rational  # the search with rewards fits
    doubles = minimal_rdp(FiniteModel.of(RevealedCoin()), 6)
    assert doubles.reward_dependence == exact.reward_dependence is not None
    assert_same_numbers(exact, doubles)


def test_observing_reward_removes_reward_dependence_and_raises_the_value() -> None:
    model = FiniteModel.of(Shell("truly")).observing_reward()
    known = truth_of(model, 3)
    assert known.minimal.reward_dependence is None
    assert known.optimal_value == Fraction(5, 2)  # the reward of the first guess reveals the answer to the others
    assert known.behaviour.mean_return == Fraction(3, 2)
    assert by_languages(known.minimal, CONJUNCTIONS, DELTA).value > 0


def test_distinguishability_is_refused_where_rewards_are_informative() -> None:
    minimal = minimal_rdp(FiniteModel.of(Shell("truly")), 3)
    for ask in (
        lambda: by_languages(minimal, CONJUNCTIONS, DELTA),
        lambda: by_languages(minimal, Family(1, 2, 1), DELTA),
        lambda: by_prefixes(minimal, DELTA),
        lambda: by_sum(minimal),
    ):
        with pytest.raises(
            SufficeError, match=r"Rewards carry information that observations do not.*observing_reward\(\)"
        ):
            ask()


@pytest.mark.parametrize("domain", ALL_DOMAINS, ids=named)
def test_minimal_rdp_of_every_domain_has_no_reward_dependence(domain: Domain) -> None:
    assert truth(domain).minimal.reward_dependence is None


@pytest.mark.parametrize("domain", [d for d in ALL_DOMAINS if not isinstance(d, FlickeringGrid)], ids=named)
def test_minimal_rdp_converts_to_an_automaton_that_is_minimal(domain: Domain) -> None:
    minimal = truth(domain).minimal
    rdp = minimal.rdp()
    assert tuple(rdp.layers) == minimal.layers and (rdp.counts.sum(axis=1)[:-1] > 0).all()
    smaller = rdp.minimise()
    assert smaller.n_states == rdp.n_states and compare(smaller, rdp) is None


def test_minimal_rdp_counts_are_expected_counts_of_episodes() -> None:
    rdp = truth(TMaze()).minimal.rdp(episodes=4**5 * 2)
    episodes = all_t_mazes()
    states = rdp.run_all(episodes)
    counts = np.zeros_like(rdp.counts)
    code = {tuple(letter): x for x, letter in enumerate(rdp.letters.tolist())}
    of = np.array([code[tuple(letter)] for letter in episodes.letters.tolist()])
    weight = np.broadcast_to(episodes.weight, episodes.word.shape)
    np.add.at(counts, (states[:-1], of[episodes.word]), weight)
    assert np.array_equal(counts, rdp.counts)


def all_t_mazes() -> Episodes:
    """Return all T-maze episodes, with their expected counts among 4⁵ · 2."""
    law = ExactOracle(TMaze().for_horizon(5), 5, usual(TMaze())).law
    episodes = from_values([[(a, o, float(r)) for a, o, r in steps] for steps in law])
    return replace(episodes, weight=np.array([int(p * 4**5 * 2) for p in law.values()]))
