"""Logs for tests of the stationary learner, also in the form that the literal version in `oracle` reads."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from oracle import random_episodes
from oracle import stationary as oracle
from suffice.data.alphabet import PAD, STOP
from suffice.data.episodes import Episodes
from suffice.domains.domain import Domain
from suffice.domains.tasks.enemy_corridor import EnemyCorridor
from suffice.domains.tasks.t_maze import TMaze
from suffice.learning.adact_h import Settings
from suffice.learning.stationary.labels import Labelling, PointerLog
from suffice.learning.stationary.pointers import Round


def random_log(seed: int) -> Episodes:
    rng = np.random.default_rng(seed)
    horizon, n = int(rng.integers(2, 6)), int(rng.integers(15, 45))
    return random_episodes(rng, horizon, 2, 3, 2, 3, n, early_end=0.3 * (seed % 2), weighted=seed % 3 == 0)


class Censored(NamedTuple):
    """A log of a random seed whose episodes were cut off after random numbers of steps."""

    seed: int


CENSORED = [Censored(2), Censored(3), Censored(9)]


def cut_off(episodes: Episodes, rng: np.random.Generator) -> Episodes:
    """Cut off episodes after random numbers of steps, unless they ended before."""
    length = rng.integers(2, episodes.horizon + 2, episodes.n).astype(np.int32)
    action, observation, reward = (column[episodes.word].copy() for column in episodes.letters.T)
    ended = np.cumsum(observation == STOP, axis=0)
    for e in range(episodes.n):
        if length[e] > episodes.horizon or ended[length[e] - 1, e]:
            length[e] = episodes.horizon + 1
        else:
            observation[length[e] - 1 :, e] = STOP
            action[length[e] :, e], reward[length[e] :, e] = PAD, list(episodes.alphabet.rewards).index(0.0)
    return Episodes.from_steps(episodes.alphabet, action, observation, reward, episodes.weight, length=length)


DOMAINS: list[tuple[Domain, int, int]] = [
    (TMaze(length=2), 60, 5),
    (TMaze(length=2, actions="forward"), 50, 6),
    (EnemyCorridor(columns=2), 40, 5),
]


@cache
def log(case: Any) -> Episodes:
    if isinstance(case, Censored):
        return cut_off(random_log(case.seed), np.random.default_rng(case.seed))
    if isinstance(case, int):
        return random_log(case)
    domain, n, horizon = case
    return domain.simulate(n, horizon, np.random.default_rng(0))


@cache
def spelled(case: Any) -> oracle.Log:
    return oracle.Log(log(case))


def level_of(how: Settings) -> Any:
    """Return a function from the number of a test to its δ: with a confidence c, (1 − c) · 6/π² · 1/i²."""
    if how.confidence is None:
        return lambda i: how.delta
    return lambda i: (1 - how.confidence) * 6 / math.pi**2 / (i + 1) ** 2


def one_round(steps: PointerLog, reference: Any, how: Settings, apart: Any = None, of: PointerLog | None = None) -> Any:
    labelling, least = Labelling(of or steps, reference), how.cut * steps.episodes.total
    return Round(steps, labelling, level_of(how), least, apart or {}, how.strict).run(again=not how.strict)
