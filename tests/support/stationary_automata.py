"""Stationary automata learned from random logs, and exact ones of domains."""

from __future__ import annotations

import contextlib
import io
import sys
from functools import cache
from typing import Any

import numpy as np
import pytest

from oracle import random_episodes
from suffice.automata.rdp import RDP
from suffice.cli.main import main
from suffice.data.alphabet import DUMMY, STOP
from suffice.data.episodes import Episodes
from suffice.domains.domain import Domain
from suffice.domains.exact.stationary import stationary_rdp
from suffice.domains.tasks.cheese import Cheese
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.enemy_corridor import EnemyCorridor
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.domains.tasks.t_maze import TMaze
from suffice.learning.adact_h import Settings
from suffice.learning.stationary.learner import learn_stationary
from support.samples import of_one_feature

SEEDS = range(6)


@cache
def log(seed: int) -> Episodes:
    rng = np.random.default_rng(seed)
    horizon = int(rng.integers(3, 6))
    how: dict[str, Any] = {"early_end": 0.3 * (seed % 2), "weighted": seed % 3 == 0}
    return random_episodes(rng, horizon, 2, 3, 2, 3, 200, **how)


@cache
def automaton(seed: int) -> RDP:
    return learn_stationary(log(seed), Settings(delta=0.3)).rdp


@cache
def true(domain: Domain, horizon: int) -> RDP:
    return stationary_rdp(domain.model(horizon)).rdp(horizon)


DOMAINS: list[tuple[Domain, int]] = [
    (TMaze(length=3), 7),
    (TMaze(length=2, cue_visible=True, noise=True), 6),
    (Cheese(), 6),
    (EnemyCorridor(columns=3), 7),
    (MiniHall(), 6),
    (Corridor(columns=3), 6),
]


# Cases of the tests that unroll automata


def case(which: int) -> RDP:
    """Return a learned automaton, or the exact one of a domain."""
    return automaton(which) if which < len(SEEDS) else true(*DOMAINS[which - len(SEEDS)])


CASES = pytest.mark.parametrize("which", range(len(SEEDS) + len(DOMAINS)))


def paying(n: int, horizon: int) -> Episodes:
    """Simulate episodes in which every action has reward 1."""
    rng = np.random.default_rng(0)
    action = rng.integers(2, size=(horizon + 1, n)) + 2
    observation = rng.integers(2, size=(horizon + 1, n)) + 1
    action[0], observation[-1] = DUMMY, STOP
    reward = np.ones_like(action)
    reward[0] = 0
    return Episodes.from_steps(of_one_feature(2), action, observation, reward)


# On the command line


def suffice(*args: str) -> tuple[int, str, str]:
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["suffice", *args]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stopped:
            main()
    finally:
        sys.argv = before
    return int(stopped.value.code or 0), out.getvalue(), err.getvalue()


def one_line(text: str) -> bool:
    return text.count("\n") == 1 and "Traceback" not in text
