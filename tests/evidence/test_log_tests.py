"""Tests of a log: they reject as rarely as stated on logs without the problem, and find constructed problems."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

from oracle.random_rdp import random_episodes
from suffice.data.alphabet import Alphabet
from suffice.data.episodes import Episodes
from suffice.domains.registry import DOMAINS, make
from suffice.evidence import log_tests
from suffice.evidence.leaks import leaking_columns
from suffice.evidence.log_tests import copies, dependent_rewards, drift, exceeds
from suffice.models.log_warnings import columns_of
from support.bad_logs import coin_log, drifting_log, with_leak

LEVEL = 0.0025


def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def doubled(episodes: Episodes, share: float = 1.0) -> Episodes:
    again = episodes.word[:, : round(share * episodes.n)]
    return replace(episodes, word=np.concatenate([episodes.word, again], axis=1))


def simulated(name: str, n: int, seed: int = 0) -> Episodes:
    domain = make(name, {})
    return domain.simulate(n, domain.default_horizon, np.random.default_rng(seed))


def binomial_upper(n: int, p: float) -> int:
    """Return the number of successes that is exceeded with probability below one in a million."""
    chances = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(60)]
    return next(k for k in range(60) if 1 - math.fsum(chances[: k + 1]) < 1e-6)


def found(episodes: Episodes, level: float) -> list[bool]:
    columns = columns_of(episodes.alphabet)
    return [
        copies(episodes, level) is not None,
        drift(episodes, level, rng()) is not None,
        dependent_rewards(episodes, level, rng()) is not None,
        bool(leaking_columns(episodes, columns, level, rng())),
    ]


def test_tests_reject_random_processes_as_rarely_as_their_level_states() -> None:
    """At a level of 5 %, where rejections are frequent enough to be counted; half of the processes end early."""
    level, n, rejected = 0.05, 200, np.zeros(4, int)
    for seed in range(n):
        sizes = np.random.default_rng(seed)
        horizon, actions, observations, rewards, states = (int(sizes.integers(a, b)) for a, b in RANGES)
        episodes = random_episodes(
            sizes,
            horizon,
            actions,
            observations,
            rewards,
            states,
            150,
            n_features=1 + seed % 2,
            early_end=0.2 * (seed % 2),
        )
        rejected += found(episodes, level)
    assert (rejected <= binomial_upper(n, level)).all(), rejected


RANGES = ((4, 9), (2, 5), (2, 5), (2, 4), (2, 7))  # horizon, actions, observations, rewards, states


@pytest.mark.parametrize("name", sorted(DOMAINS))
def test_tests_find_nothing_in_the_domains_and_copies_in_doubled_logs(name: str) -> None:
    for n in (100, 1000):
        episodes = simulated(name, n)
        assert not any(found(episodes, LEVEL))
        assert copies(doubled(episodes), LEVEL) is not None


def test_copies_e_values_have_mean_at_most_one_for_every_mean_of_a_count() -> None:
    """Poisson counts of one word with any mean λ; the series is summed far into its tail."""

    def weight(n: int) -> list[float]:
        counts = [0] * 5
        if n < 5:
            counts[n] = 1
        parity = log_tests._parity_evidence(log_tests.Copies(int(n > 0), int(n > 0 and n % 2 == 0), 0))
        return [math.exp(x) for x in (*parity, *log_tests._neighbour_evidence(counts))]

    weights = np.array([weight(n) for n in range(120)])
    for mean in (1e-3, 0.01, 0.1, 0.3, 0.5, 1, 1.7, 2, 3, 5, 10, 40):
        chances = np.exp([n * math.log(mean) - mean - math.lgamma(n + 1) for n in range(120)])
        assert (chances @ weights <= 1 + 1e-9).all()


def test_copies_are_found_where_a_third_of_the_episodes_is_repeated() -> None:
    assert copies(doubled(simulated("cookie", 1000), 0.3), LEVEL) == (1000, 300, 300)
    assert copies(simulated("cookie", 1000), LEVEL) is None


def test_copies_of_a_few_frequent_episodes_are_not_reported() -> None:
    """Sixty-four distinct episodes in 3,000 are not copies; the same log twice is."""
    episodes = simulated("corridor", 3000)
    assert copies(episodes, LEVEL) is None and copies(doubled(episodes), LEVEL) is not None


def test_drift_is_found_and_named() -> None:
    change = drift(drifting_log(0, 1000, 10, 0.5, 0.9), LEVEL, rng())
    assert change is not None and {change.action} <= {2, 3}
    assert abs(change.last - change.first) == pytest.approx(0.3, abs=0.05)
    assert drift(drifting_log(0, 1000, 10, 0.5, 0.5), LEVEL, rng()) is None


def test_dependent_rewards_finds_a_hidden_coin() -> None:
    """At any strength from 0.8 against 0.2, also among ten observations; not independent noise."""
    for high, n_observations in product((1.0, 0.8), (2, 10)):
        found = dependent_rewards(coin_log(0, 1000, 15, high, n_observations), LEVEL, rng())
        assert found is not None and found.correlation > 0.1
    assert all(dependent_rewards(coin_log(seed, 1000, 15, 0.5), LEVEL, rng()) is None for seed in range(5))


@pytest.mark.parametrize("name", ["cheese", "corridor", "enemy-corridor", "mini-hall", "rotating-maze", "t-maze"])
def test_leaking_columns_finds_a_copied_reward(name: str) -> None:
    episodes = simulated(name, 1000)
    leaking = with_leak(episodes, lambda reward: reward)
    last = len(episodes.alphabet.features)
    assert [leak.feature for leak in leaking_columns(leaking, columns_of(leaking.alphabet), LEVEL, rng())] == [last]


def test_leaking_columns_finds_a_coarse_function_of_the_reward() -> None:
    leaking = with_leak(simulated("cheese", 1000), lambda reward: "won" if reward > 0 else "not")
    assert [leak.feature for leak in leaking_columns(leaking, columns_of(leaking.alphabet), LEVEL, rng())]


def test_leaking_columns_accepts_a_column_that_determines_rewards_through_a_fixed_reaction() -> None:
    """Position follows from the row before; a logger that reacts to it by one action earns what it tells."""
    place = np.arange(9)[:, None] % 4 + np.zeros(300, int)
    action = np.where(place == 3, 3, 2)
    action = np.concatenate([np.zeros((1, 300), int), action[:-1]])
    reward = (action == 3).astype(int)
    observation = place + 1
    observation[-1] = 0
    alphabet = Alphabet((0, 1), ("place",), tuple((i,) for i in range(4)), (0.0, 1.0))
    episodes = Episodes.from_steps(alphabet, action, observation, reward)
    assert not leaking_columns(episodes, columns_of(alphabet), LEVEL, rng())


def test_exceeds_rejects_one_in_as_many_draws_as_the_level_states() -> None:
    draws = np.random.default_rng(1)
    rejected = sum(exceeds(float(draws.random()), lambda: float(draws.random()), 0.05) for _ in range(400))
    assert 0 < rejected <= binomial_upper(400, 0.05) and not exceeds(1.0, lambda: 1.0, 0.05)
