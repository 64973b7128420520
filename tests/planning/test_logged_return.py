"""The logged return by objective, of cut-off episodes and groups, agrees with literal sums and covers the truth."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from oracle import random_episodes
from suffice.data.alphabet import PAD
from suffice.data.episodes import Episodes
from suffice.data.stored import Writer
from suffice.planning.logged_return import logged_mean, logged_return
from suffice.planning.objective import OBJECTIVES, RETURN, Objective
from support.censoring import censored, censored_at
from support.samples import from_values

AIMS = [Objective(name, 0.8 if name == "discounted" else None) for name in OBJECTIVES]


def log(seed: int, n: int = 120, weighted: bool = False) -> Episodes:
    return random_episodes(np.random.default_rng(seed), 5, 2, 3, 2, 3, n, early_end=0.2, weighted=weighted)


def literal(episodes: Episodes, aim: Objective) -> float:
    """Follow the share of the episodes that go on, decision by decision, among those that are still observed."""
    total = steps = 0.0
    alive = 1.0
    for t in range(1, episodes.horizon + 1):
        rewards, n, ended = 0.0, 0, 0
        for i in range(episodes.n):
            length = episodes.horizon + 1 if episodes.length is None else int(episodes.length[i])
            w = 1 if episodes.weight is None else int(episodes.weight[i])
            codes = episodes.letters[episodes.word[:, i]].tolist()
            if t >= length or codes[t][0] == PAD:
                continue
            rewards, n = rewards + w * episodes.alphabet.rewards[codes[t][2]], n + w
            ended += w * (t + 1 < length and codes[t + 1][0] == PAD)
        total, steps = total + aim.gamma ** (t - 1) * alive * rewards / max(n, 1), steps + alive
        alive *= 1 - ended / max(n, 1)
    return total / steps if aim.per_step else total


@pytest.mark.parametrize("aim", AIMS, ids=OBJECTIVES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cut", [False, True])
def test_logged_return_agrees_with_literal_sums(aim: Objective, weighted: bool, cut: bool) -> None:
    episodes = log(1, weighted=weighted)
    episodes = censored(episodes, np.random.default_rng(0)) if cut else episodes
    found, _ = logged_return(episodes, aim)
    mean = logged_mean(episodes, aim)
    assert found.value == pytest.approx(literal(episodes, aim)) and mean.value == pytest.approx(found.value)
    times = 1 if episodes.weight is None else episodes.weight
    assert found.error == pytest.approx(math.sqrt((times * mean.influence**2).sum() + mean.rare), rel=0.02)


@pytest.mark.parametrize("aim", AIMS, ids=OBJECTIVES)
def test_influences_of_whole_episodes_are_those_of_a_plain_mean(aim: Objective) -> None:
    """The general formula, forced by lengths that leave nothing out."""
    episodes = log(4)
    general = logged_mean(replace(episodes, length=np.full(episodes.n, 6, np.int32)), aim)
    rewards = np.array(episodes.alphabet.rewards)[episodes.letters[:, 2]][episodes.word[1:]]
    returns = (aim.gamma ** np.arange(5) @ rewards) if not aim.per_step else rewards.sum(axis=0)
    if aim.per_step:
        steps = episodes.lengths()
        ratio = returns.sum() / steps.sum()
        expected = (returns - ratio * steps) / steps.sum()
    else:
        expected = (returns - returns.mean()) / episodes.n
    assert general.influence == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("aim", AIMS, ids=OBJECTIVES)
def test_influences_are_the_change_when_an_episode_is_left_out(aim: Objective) -> None:
    episodes = censored(log(3, 400), np.random.default_rng(1))
    mean = logged_mean(episodes, aim)
    for i in (0, 17, 200):
        others = episodes.columns(np.delete(np.arange(episodes.n), i))
        assert mean.value - logged_mean(others, aim).value == pytest.approx(mean.influence[i], abs=2e-4)


@pytest.mark.parametrize("aim", AIMS, ids=OBJECTIVES)
@pytest.mark.parametrize("grouped", [False, True])
def test_logged_return_is_the_same_to_the_bit_in_pieces_and_in_any_order(aim: Objective, grouped: bool) -> None:
    episodes = censored(log(2), np.random.default_rng(0))
    if grouped:
        episodes = replace(episodes, group=(np.arange(episodes.n) % 11).astype(np.uint64))
    writer = Writer(episodes.horizon)
    for begin in range(0, episodes.n, 17):
        writer.add(episodes.columns(slice(begin, begin + 17)))
    other = episodes.columns(np.random.default_rng(0).permutation(episodes.n))
    assert logged_return(writer.finish(1), aim) == logged_return(episodes, aim) == logged_return(other, aim)


def test_logged_return_of_cut_off_episodes_covers_that_of_whole_ones() -> None:
    """The mean of what was observed would be far too small."""
    whole = log(5, 20_000)
    truth = logged_return(whole)[0].value
    hits, short = 0, 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        some = censored(whole.columns(rng.choice(whole.n, 300, replace=False)), rng, 0.25)
        low, high = logged_return(some)[0].interval(0.95)
        hits += low <= truth <= high
        low, high = logged_return(some.ended())[0].interval(0.95)
        short += low <= truth <= high
    assert hits >= 51, "95 % of 60, less three standard errors"
    assert short < 30


def test_rare_decisions_that_one_episode_determines_count_as_one_error() -> None:
    """Half of the range of each of the late decisions is in doubt, in the same direction."""
    ones, zeros = ([(None, (0,), 0), *[("a", (0,), r)] * 4, ("a", None, r)] for r in (1, 0))
    cut = censored_at(from_values([ones] * 8 + [zeros]), np.array([1] * 7 + [5, 5]))
    assert logged_mean(cut).rare == pytest.approx((1 / 2 / 10 + 4 * 1 / 2 / 3) ** 2)


def test_logged_return_of_groups_covers_the_truth_where_independence_does_not() -> None:
    """Forty persons of 25 episodes, with an effect of the person on every reward."""
    hits = {True: 0, False: 0}
    runs = 100
    for seed in range(runs):
        episodes = persons(seed)
        for grouped in hits:
            used = episodes if grouped else replace(episodes, group=None)
            low, high = logged_return(used)[0].interval(0.95)
            hits[grouped] += low <= 0.0 <= high
    assert hits[True] >= 88 and hits[False] <= 60


def persons(seed: int, n: int = 40, each: int = 25) -> Episodes:
    """Return episodes of two decisions whose rewards depend on the person, with mean 0 over all persons."""
    rng = np.random.default_rng(seed)
    effect = np.repeat(rng.random(n), each)  # probability of a reward of 1 instead of −1
    rewards = 2 * (rng.random((n * each, 2)) < effect[:, None]) - 1
    seen, actions = rng.integers(2, size=(n * each, 2)).tolist(), rng.integers(2, size=(n * each, 2)).tolist()
    steps = [
        [(None, (o[0],), 0), (a[0], (o[1],), r[0]), (a[1], None, r[1])]
        for o, a, r in zip(seen, actions, rewards.tolist(), strict=True)
    ]
    return replace(from_values(steps), group=np.repeat(np.arange(n), each).astype(np.uint64))


def test_logged_return_of_one_group_has_no_error() -> None:
    episodes = replace(log(1), group=np.zeros(120, np.uint64))
    assert math.isinf(logged_return(episodes, RETURN)[0].error)
