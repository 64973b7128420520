"""Selection of columns among twenty irrelevant ones: `python benchmarks/columns.py [--seeds N | --null N] [DOMAIN]`.

Each log of a domain gets ten categories of four values, five autocorrelated walks and five Gaussian columns. Printed
are the selected columns, the states of the stationary automaton of these and of the clean log, and the exact values of
their plans. With `--null`, selections are counted in N logs in which nothing matters instead: half of the logs have an
unseen rate of rewards per episode, and half of either kind have columns that are constant within an episode.
docs/theory.md, section 12; docs/decisions/0043.
"""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path

import numpy as np

import suffice
from suffice.data.columnar import ColumnarLog
from suffice.data.episodes import Episodes
from suffice.domains.exact.automaton import optimal_value
from suffice.domains.exact.values import evaluate
from suffice.domains.finite import FiniteModel
from suffice.domains.observed_columns import map_observations
from suffice.learning.columns.features import Feature, project
from suffice.learning.columns.selection import select_columns
from suffice.planning.controller import Controller

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.wide_logs import constant, log_without_cause, with_noise

CASES = {  # options, horizon (None: the default) and episodes by domain
    "t-maze": ({"length": 5}, 15, 1000),
    "cheese": ({}, 15, 1000),
    "enemy-corridor": ({}, None, 1000),
    "mini-hall": ({}, None, 3000),
    "flickering-grid": ({}, None, 3000),
    "rotating-maze": ({}, None, 3000),
    "symbol": ({}, None, 10_000),
    "cookie": ({}, None, 10_000),
}


def value_of(finite: FiniteModel, episodes: Episodes) -> tuple[int, float]:
    """Learn a stationary model, and return its number of states and the exact value of its plan."""
    model = suffice.learn(episodes, stationary=True)
    policy = Controller.on_automaton(model.planned, finite.alphabet, model.required_plan().actions)
    return model.n_states, float(evaluate(finite, policy, episodes.horizon).mean_return)


def observed(finite: FiniteModel, log: ColumnarLog, features: list[Feature]) -> FiniteModel:
    """Return the domain with only these columns, in the codes of the projected log."""
    names = finite.alphabet.features
    places = [names.index(feature.column) for feature in features]
    codes = [{value: i for i, value in enumerate(log.column(feature.column).values)} for feature in features]

    def convert(observation: tuple[object, ...]) -> tuple[int, ...]:
        return tuple(known.get(observation[i], len(known)) for i, known in zip(places, codes, strict=True))

    return map_observations(finite, tuple(names[i] for i in places), convert)


def run(name: str, seed: int) -> None:
    """Select columns of one log, and print one line."""
    options, horizon, n = CASES[name]
    domain = suffice.make(name, **options)
    horizon = horizon or domain.default_horizon
    finite = domain.model(horizon)
    episodes = suffice.simulate(finite, n, horizon, rng=seed)
    clean = ColumnarLog.of_episodes(episodes)
    start = time.process_time()
    found = select_columns(with_noise(clean, np.random.default_rng(1000 + seed)))
    seconds = time.process_time() - start
    relevant = [feature for feature in found.features if feature.column in episodes.alphabet.features]
    states, value = value_of(observed(finite, clean, relevant), project(clean, relevant))
    all_states, all_value = value_of(finite, episodes)
    best = optimal_value(finite, horizon)
    chosen = ",".join(feature.column for feature in found.features) or "none"
    print(
        f"{name} {n} seed {seed}: {chosen} ({len(found.features) - len(relevant)} irrelevant), {states} states, "
        f"{value:.4g}; clean log {all_states} states, {all_value:.4g}; optimum {best:.4g}; {seconds:.1f} s",
        flush=True,
    )


def count_false(n: int, delta: float = 0.05) -> None:
    """Count the logs in which a column is selected though nothing matters, and print one line."""
    false, largest = 0, -np.inf
    for i in range(n):
        log = log_without_cause(np.random.default_rng([9, i]), hidden=i % 2 == 1)
        if i % 4 > 1:
            log = ColumnarLog.of(log.base, [constant(column) for column in log.columns])
        found = select_columns(log, delta)
        false += bool(found.chosen)
        largest = max(largest, *(one.log_e for one in (*found.chosen, *found.others)))
    print(f"{false} of {n} logs without an effect select a column at level {delta}; largest ln E {largest:.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("domains", nargs="*", metavar="DOMAIN")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--null", type=int, metavar="N")
    given = parser.parse_args()
    if given.null:
        count_false(given.null)
    for name in given.domains or ({} if given.null else CASES):
        for seed in range(given.seeds):
            run(name, seed)
