"""Comparison of exact sample sizes and values with simulation."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from suffice.automata.compare import compare
from suffice.domains.domain import Domain
from suffice.domains.exact.samples import coverage
from suffice.domains.exact.truth import by_languages
from suffice.domains.exact.values import exact_value
from suffice.domains.finite import FiniteModel
from suffice.domains.simulation import simulate
from suffice.domains.tasks.cheat_mab import CheatMAB
from suffice.domains.tasks.cheese import Cheese
from suffice.domains.tasks.cookie import Cookie
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.enemy_corridor import EnemyCorridor
from suffice.domains.tasks.malfunction_mab import MalfunctionMAB
from suffice.domains.tasks.memory_length import MemoryLength
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.domains.tasks.passive_t_maze import PassiveTMaze
from suffice.domains.tasks.repeat_first import RepeatFirst
from suffice.domains.tasks.rotating_mab import ResetRotatingMAB, RotatingMAB
from suffice.domains.tasks.symbol import Symbol
from suffice.domains.tasks.t_maze import TMaze
from suffice.evidence.bounds import BOUNDS, Bound
from suffice.evidence.language_counts import LanguageCounts
from suffice.evidence.languages import CONJUNCTIONS
from suffice.learning.adact_h import Settings, adact_h
from suffice.planning.controller import Controller
from support.exact_models import (
    ALL_DOMAINS,
    DELTA,
    distinguishability,
    draw_policy,
    named,
    truth,
)

# ---------------------------------------------------------------- comparison with simulation


def always(model: FiniteModel, action: int) -> Controller:
    chosen = tuple(Fraction(a == action) for a in range(len(model.alphabet.actions)))
    return Controller.by_observation(model.alphabet, [chosen] * len(model.alphabet.observations))


@pytest.mark.parametrize("domain", ALL_DOMAINS, ids=named)
def test_exact_value_agrees_with_simulated_episodes(domain: Domain) -> None:
    """Means are within five standard errors, for the behaviour policy, one with memory and a constant one."""
    horizon, n = domain.default_horizon, 20_000
    model = domain.model(horizon)
    for policy in (model.usual, draw_policy(3, model), always(model, 0)):
        found = exact_value(model, policy, horizon)
        episodes = simulate(model, n, horizon, np.random.default_rng(5), policy)
        action, _, reward = np.moveaxis(episodes.letters[episodes.word[1:]], -1, 0)
        paid = np.array(episodes.alphabet.rewards)[reward]
        samples = {
            "mean_return": paid.sum(axis=0),
            "steps": (action >= 2).sum(axis=0),
            "success_rate": (paid > 0).any(axis=0),
        }
        for name, sample in samples.items():
            sigma = max(sample.std(), 1 / math.sqrt(n)) / math.sqrt(n)  # rarer events may be missing from the sample
            assert abs(sample.mean() - float(getattr(found, name))) <= 5 * sigma, name


def test_coverage_is_the_size_at_which_half_of_all_logs_are_complete() -> None:
    """Between 30 and 70 of 100 logs are complete: a half within four standard errors."""
    for domain in (TMaze(actions="forward"), PassiveTMaze(), RotatingMAB(), EnemyCorridor()):
        horizon = domain.default_horizon
        minimal = truth(domain).minimal
        n = round(coverage(minimal))
        rdp, arrows = minimal.rdp(), sum(len(arrows.source) for arrows in minimal.arrows)
        model = domain.model(horizon)
        complete = 0
        for seed in range(100):
            episodes = simulate(model, n, horizon, np.random.default_rng(seed))
            states = rdp.run_all(episodes)[:-1]
            met = set(zip(states.ravel().tolist(), episodes.word.ravel().tolist(), strict=True))
            complete += len(met) == arrows
        assert 30 <= complete <= 70, str(domain)


def recovered(domain: Domain, n: int, seeds: range, how: Settings) -> int:
    """Count the runs in which the minimal RDP is learned exactly."""
    horizon = domain.default_horizon
    model, right = domain.model(horizon), truth(domain).minimal.rdp()
    logs = (simulate(model, n, horizon, np.random.default_rng(seed)) for seed in seeds)
    return sum(compare(adact_h(log, how).rdp, right) is None for log in logs)


@pytest.mark.parametrize("domain", [Corridor(), MemoryLength(), PassiveTMaze(), RotatingMAB(), Symbol()], ids=named)
def test_likely_predicts_half_of_all_runs_within_a_factor_of_two(domain: Domain) -> None:
    """At half the number fewer than half succeed, at twice the number 9 of 10; one may split a true state."""
    likely = distinguishability(domain, CONJUNCTIONS).needed["fisher"].likely
    assert recovered(domain, round(likely / 2), range(40), Settings()) < 20
    assert recovered(domain, round(likely * 2), range(40), Settings()) >= 36


@pytest.mark.long
@pytest.mark.parametrize(
    "domain",
    [
        TMaze(actions="east"),
        TMaze(actions="forward"),
        EnemyCorridor(),
        RepeatFirst(),
        CheatMAB(),
        MalfunctionMAB(),
        ResetRotatingMAB(),
        Cookie(actions="sensible"),
        TMaze(),
        Cheese(),
        MiniHall(),
    ],
    ids=named,
)
def test_likely_predicts_success_within_a_factor_of_two_on_slow_domains(domain: Domain) -> None:
    """A smaller δ is used: with hundreds of candidates the default splits a true state in 1 of 10 runs."""
    likely = by_languages(truth(domain).minimal, CONJUNCTIONS, 1e-5).needed["fisher"].likely
    seeds = range(20 if likely < 10**6 else 8)
    assert recovered(domain, round(likely / 2), seeds, Settings(delta=1e-5)) < len(seeds) / 2
    assert recovered(domain, round(likely * 2), seeds, Settings(delta=1e-5)) > len(seeds) * 0.7


@pytest.mark.parametrize("bound", BOUNDS.values(), ids=lambda bound: bound.name)
@pytest.mark.parametrize("domain", [Corridor(), MemoryLength(), TMaze(actions="east")], ids=named)
def test_sufficient_episodes_recover_the_minimal_rdp(domain: Domain, bound: Bound) -> None:
    """Each of the at most 13 tests is right with probability 1 − δ."""
    needed = distinguishability(domain, CONJUNCTIONS).needed[bound.name]
    how = Settings(LanguageCounts(CONJUNCTIONS), bound, DELTA)
    assert recovered(domain, math.ceil(needed.sufficient), range(20), how) >= 19
