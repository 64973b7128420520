"""Logs with irrelevant columns: categories, autocorrelated walks, numbers."""

from __future__ import annotations

import numpy as np

from suffice.data.alphabet import Alphabet
from suffice.data.columnar import ColumnarLog, LoggedColumn
from suffice.data.episodes import Episodes

STAYS = 0.8  # probability that a walk keeps its value


def with_noise(
    log: ColumnarLog, rng: np.random.Generator, categories: int = 10, walks: int = 5, numbers: int = 5
) -> ColumnarLog:
    """Add columns that are independent of everything else."""
    shape = log.horizon, log.n
    added = [
        LoggedColumn(f"category{i}", rng.integers(0, 4, shape).astype(np.uint8), (0, 1, 2, 3))
        for i in range(categories)
    ]
    added += [LoggedColumn(f"walk{i}", walk(rng, *shape), (0, 1, 2)) for i in range(walks)]
    added += [LoggedColumn(f"number{i}", numbers=rng.normal(size=shape)) for i in range(numbers)]
    return ColumnarLog.of(log.base, (*log.columns, *added))


def walk(rng: np.random.Generator, steps: int, n: int) -> np.ndarray:
    """Return [steps, n] values that change rarely."""
    found = np.empty((steps, n), np.uint8)
    found[0] = rng.integers(0, 3, n)
    for t in range(1, steps):
        found[t] = np.where(rng.random(n) < STAYS, found[t - 1], rng.integers(0, 3, n))
    return found


def log_without_cause(rng: np.random.Generator, n: int = 300, horizon: int = 8, hidden: bool = False) -> ColumnarLog:
    """Return a log in which no column matters; with `hidden`, each episode has its own unseen rate of rewards."""
    action = np.zeros((horizon + 1, n), np.uint8)
    action[1:] = rng.integers(2, 5, (horizon, n))
    seen = np.ones((horizon + 1, n), np.uint8)
    seen[-1] = 0
    reward = np.zeros((horizon + 1, n), np.uint8)
    rate = rng.choice([0.1, 0.9], n) if hidden else np.full(n, 0.4)
    reward[1:] = rng.random((horizon, n)) < rate
    base = Episodes.from_steps(Alphabet((0, 1, 2), (), ((),), (0.0, 1.0)), action, seen, reward)
    return with_noise(ColumnarLog.of(base, ()), rng)
