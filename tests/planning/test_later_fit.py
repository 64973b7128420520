"""`later_fit` accepts later episodes of the same process, and rejects those of others."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import suffice
from suffice.automata.rdp import RDP
from suffice.data.episodes import Episodes
from suffice.learning.adact_h import Settings
from suffice.learning.layers import learn_layers
from suffice.learning.windows import learn_window
from suffice.planning.later_fit import TRAINING, LaterFit, _against_training, later_fit
from support.censoring import censored


@cache
def log(n: int, seed: int, wins: tuple[float, float] = (0.8, 0.3), memory: bool = False) -> Episodes:
    """Return episodes in which a reward depends on the last observation and, with memory, on the one before."""
    rng = np.random.default_rng(seed)
    action, observation = rng.integers(2, 4, (7, n)), rng.integers(1, 3, (7, n))
    action[0] = 0
    before = np.vstack([observation[:1], observation[:-2]]) if memory else observation[:-1]
    paid = rng.random((6, n)) < np.where(action[1:] == before + 1, *wins)
    reward = np.vstack([np.zeros((1, n), np.int64), paid])
    observation[-1] = 0
    alphabet = suffice.Alphabet(("a", "b"), ("light",), ((0,), (1,)), (0.0, 1.0))
    return Episodes.from_steps(alphabet, action, observation, reward)


@cache
def learned() -> RDP:
    return learn_window(log(2_000, 0), 1).rdp


def fit_of(episodes: Episodes) -> LaterFit:
    return later_fit(learned(), suffice.plan_on(learned().layered(), suffice.Planning()), episodes)


def test_later_fit_accepts_later_episodes_of_the_same_process() -> None:
    """Each of the five tests has a level of 0.0013, so that even two rejections in 40 logs are improbable."""
    found = [fit_of(log(500, seed)) for seed in range(1, 41)]
    assert sum(not fit.fits for fit in found) <= 2
    assert abs(np.mean([fit.z[TRAINING] for fit in found])) < 4 / np.sqrt(40)
    assert found[0].level == pytest.approx(5 * 0.00135, rel=0.01)


def test_later_fit_leaves_out_decisions_that_episodes_were_cut_off_after() -> None:
    rdp = learn_window(censored(log(2_000, 0), np.random.default_rng(0)), 1).rdp
    plan = suffice.plan_on(rdp.layered(), suffice.Planning())
    for seed in range(1, 4):
        assert later_fit(rdp, plan, censored(log(500, seed), np.random.default_rng(seed))).fits
    assert later_fit(rdp, plan, censored(log(500, 1, wins=(0.6, 0.5)), np.random.default_rng(1))).changed


def test_later_fit_of_layers_leaves_out_the_last_decision_of_shorter_logs() -> None:
    rdp = learn_layers(log(2_000, 0), Settings()).rdp
    plan = suffice.plan_on(rdp, suffice.Planning())
    assert later_fit(rdp, plan, log(500, 1).cut(3)).fits and later_fit(rdp, plan, log(500, 2)).fits
    assert later_fit(rdp, plan, log(500, 1, wins=(0.6, 0.5)).cut(3)).changed


def test_later_fit_notices_other_outcomes() -> None:
    fit = fit_of(log(500, 1, wins=(0.7, 0.4)))
    assert fit.changed and not fit.lacks_states and not fit.fits
    assert "outcomes differ from those of the training episodes" in fit.sentence
    assert fit.to_dict()["fits"] is False and fit.to_dict()["z"] == fit.largest == max(fit.to_dict()["tests"].values())


def test_later_fit_notices_missing_memory() -> None:
    fit = fit_of(log(1_000, 1, memory=True))
    assert fit.lacks_states and "so states are missing" in fit.sentence


def by_person(seed: int) -> Episodes:
    """Return episodes of 20 persons; rewards and the first observation depend on the person, and nothing else."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(20), 50)
    action, observation = rng.integers(2, 4, (4, 1000)), rng.integers(1, 3, (4, 1000))
    action[0], observation[0], observation[-1] = 0, np.where(rng.random(20) < 0.5, 1, 2)[person], 0
    reward = np.vstack([np.zeros((1, 1000), np.int64), rng.random((3, 1000)) < rng.beta(2, 2, 20)[person]])
    alphabet = suffice.Alphabet(("a", "b"), ("light",), ((0,), (1,)), (0.0, 1.0))
    return replace(Episodes.from_steps(alphabet, action, observation, reward), group=person.astype(np.uint64))


def test_later_fit_of_groups_does_not_take_their_differences_for_memory() -> None:
    rdp = learn_window(by_person(0), 0).rdp
    plan = suffice.plan_on(rdp.layered(), suffice.Planning())
    found = [later_fit(rdp, plan, by_person(seed)) for seed in range(1, 11)]
    assert sum(not fit.fits for fit in found) <= 1
    assert TRAINING not in found[0].z and "one episode of each group" in next(f for f in found if f.fits).sentence
    alone = [later_fit(rdp, plan, replace(by_person(seed), group=None)) for seed in range(1, 4)]
    assert not any(fit.fits for fit in alone)


def test_later_fit_counts_weights_as_repetitions() -> None:
    episodes = log(300, 3)
    twice = Episodes.joined([episodes, episodes])
    weighted = episodes.columns(np.arange(episodes.n))
    object.__setattr__(weighted, "weight", np.full(episodes.n, 2, np.int64))
    assert _against_training(learned(), weighted) == pytest.approx(_against_training(learned(), twice))


def test_evaluate_says_whether_the_model_fits() -> None:
    model = suffice.learn(log(2_000, 0))
    same, other = model.evaluate(log(1_000, 8)), model.evaluate(log(1_000, 9, wins=(0.6, 0.5)))
    assert same.fit.fits and same.to_dict()["fit"]["fits"] and "The model fits these episodes" in str(same)
    assert not other.fit.fits and "The model does not fit these episodes: outcomes differ" in str(other)
