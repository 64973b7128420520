"""Simulated episodes of domains, step by step."""

from __future__ import annotations

import numpy as np

from suffice.data.episodes import Episodes
from suffice.domains.domain import Domain
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.domains.tasks.t_maze import TMaze
from suffice.kernels.array_types import Codes
from support.domains import EVERY_DOMAIN

T_MAZES = [domain for domain in EVERY_DOMAIN if isinstance(domain, TMaze)]
MINI_HALLS = [domain for domain in EVERY_DOMAIN if isinstance(domain, MiniHall)]


def run(domain: Domain, n: int, horizon: int, seed: int = 7) -> Episodes:
    return domain.simulate(n, horizon, np.random.default_rng(seed))


def codes(episodes: Episodes) -> tuple[Codes, Codes, Codes]:
    """Return action, observation and reward codes, each [H+1, N]."""
    action, observation, reward = np.moveaxis(episodes.letters[episodes.word], -1, 0)
    return action, observation, reward


def steps(episodes: Episodes, i: int) -> list[tuple[object, object, float]]:
    """Return episode `i` as (action, features joined to text or None, reward)."""
    alphabet = episodes.alphabet
    out: list[tuple[object, object, float]] = []
    for a, o, r in episodes.letters[episodes.word[:, i]]:
        features = alphabet.observation(o)
        text = None if features is None else "".join(str(feature) for feature in features)
        out.append((alphabet.action(a), text, alphabet.rewards[r]))
    return out


ROOM_STATES = range(12)


def outcomes(hall: MiniHall, state: int, action: object) -> list[tuple[int, float]]:
    """Return the (state, reward) pairs that may follow, by definition."""
    if state == 12:
        return [(s, 0.0) for s in ROOM_STATES]
    doors = {2: 6, 4: 0, 5: 9, 10: 12, 11: 7, 6: 6 if hall.wall else 0}
    turned = {"turn": 1, "turn-back": -1}
    after = doors.get(state, state) if action == "forward" else state - state % 4 + (state + turned[str(action)]) % 4
    if after == 12 and hall.reset == "immediate":
        return [(s, 1.0) for s in ROOM_STATES]
    return [(after, 1.0 if after == 12 else 0.0)]
