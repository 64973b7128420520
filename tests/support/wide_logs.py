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


def log_of_persons(rng: np.random.Generator, persons: int = 40, episodes: int = 25, horizon: int = 6) -> ColumnarLog:
    """Return a log in which no column matters: persons differ in their rewards, and columns are those of the person."""
    n, person = persons * episodes, np.repeat(np.arange(persons), episodes)
    log = log_without_cause(rng, n, horizon)
    rate = rng.beta(0.7, 0.7, persons)[person]
    reward = np.zeros((horizon + 1, n), np.uint8)
    reward[1:] = rng.random((horizon, n)) < rate
    alphabet = log.base.alphabet
    seen = np.ones((horizon + 1, n), np.uint8)
    seen[-1] = 0
    group = rng.integers(0, 1 << 62, persons).astype(np.uint64)[person]
    base = Episodes.from_steps(alphabet, log.action, seen, reward, group=group)
    return ColumnarLog.of(base, [_of_persons(column, person * episodes) for column in log.columns])


def constant(column: LoggedColumn) -> LoggedColumn:
    """Return a column that keeps its first value in each episode."""
    return _of_persons(column, np.arange((column.numbers if column.codes is None else column.codes).shape[1]))


def _of_persons(column: LoggedColumn, first: np.ndarray) -> LoggedColumn:
    """Return a column that has one value in each episode, the first one of another episode."""
    codes, numbers = (
        None if grid is None else np.repeat(grid[:1, first], len(grid), axis=0)
        for grid in (column.codes, column.numbers)
    )
    return LoggedColumn(column.name, codes, column.values, numbers)
