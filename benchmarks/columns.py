"""Selection of columns among irrelevant ones. Writes results to columns.json and the page COLUMNS.md.

`python benchmarks/columns.py [PART…] [--seeds N] [--first S]` runs the parts `domains`, `cues`, `null`, `cost`,
`verdicts` and `peers` (default: all, about an hour on one core), adds their results to the stored ones, and writes the
page. Logs of domains get ten categories of four values, five autocorrelated walks and five Gaussian columns.
docs/theory.md, section 12; docs/decisions/0043, 0052 and 0053.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import suffice
from suffice.data.columnar import ColumnarLog, LoggedColumn
from suffice.data.episodes import Episodes
from suffice.domains.exact.automaton import optimal_value
from suffice.domains.exact.values import evaluate
from suffice.domains.finite import FiniteModel
from suffice.domains.observed_columns import map_observations
from suffice.learning.columns.features import Feature, project
from suffice.learning.columns.selection import ColumnSelection, select_columns
from suffice.planning.controller import Controller

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from columns_page import write_page

from support.wide_logs import constant, log_of_persons, log_without_cause, walk, with_noise

HERE = Path(__file__).parent
STORED = HERE / "columns.json"
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
NULL_LOGS = 1000
Row = dict[str, Any]


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


def timed(log: ColumnarLog) -> tuple[ColumnSelection, float]:
    """Select the columns of a log, and return the CPU time in seconds as well."""
    start = time.process_time()
    return select_columns(log), time.process_time() - start


def domains(seeds: range) -> Iterator[Row]:
    """Select columns of logs with twenty irrelevant ones, and compare with the clean log by exact values."""
    for name, (options, given, n) in CASES.items():
        domain = suffice.make(name, **options)
        horizon = given or domain.default_horizon
        finite = domain.model(horizon)
        best = float(optimal_value(finite, horizon))
        for seed in seeds:
            episodes = suffice.simulate(finite, n, horizon, rng=seed)
            clean = ColumnarLog.of_episodes(episodes)
            found, seconds = timed(with_noise(clean, np.random.default_rng(1000 + seed)))
            relevant = [feature for feature in found.features if feature.column in episodes.alphabet.features]
            states, value = value_of(observed(finite, clean, relevant), project(clean, relevant))
            clean_states, clean_value = value_of(finite, episodes)
            yield {
                "domain": name, "episodes": n, "seed": seed, "columns": [f.column for f in found.features],
                "irrelevant": len(found.features) - len(relevant), "states": states, "value": value,
                "clean_states": clean_states, "clean_value": clean_value, "optimum": best, "seconds": seconds,
            }  # fmt: skip


def maze(n: int, seed: int) -> ColumnarLog:
    """Return a T-maze of length 5, with all bits of its cue."""
    return ColumnarLog.of_episodes(suffice.simulate(suffice.make("t-maze", length=5), n, 15, rng=seed))


def cues(seeds: range) -> Iterator[Row]:
    """Select the cue of a T-maze in other forms, or among other columns, from 2,000 episodes (two columns: 3,000)."""

    def of_bit(make: Callable[[np.ndarray, np.random.Generator], list[LoggedColumn]], n: int = 2000) -> Any:
        def build(rng: np.random.Generator, seed: int) -> ColumnarLog:
            log = maze(n, seed)
            return with_noise(ColumnarLog.of(log.base, make(log.column("bit1").codes, rng)), rng)

        return build

    def gaussian(sigma: float) -> Any:
        return of_bit(lambda bit, rng: [LoggedColumn("cue", numbers=bit + rng.normal(0, sigma, bit.shape))])

    def pair(bit: np.ndarray, rng: np.random.Generator) -> list[LoggedColumn]:
        mask = rng.integers(0, 2, bit.shape).astype(np.uint8)
        return [LoggedColumn("a", mask, (0, 1)), LoggedColumn("b", bit ^ mask, (0, 1))]

    def copy(bit: np.ndarray, rng: np.random.Generator) -> list[LoggedColumn]:
        wrong = np.where(rng.random(bit.shape) < 0.1, 1 - bit, bit).astype(np.uint8)
        return [LoggedColumn("copy", wrong, (0, 1)), LoggedColumn("bit", bit, (0, 1))]

    def many(rng: np.random.Generator, seed: int) -> ColumnarLog:
        return with_noise(maze(2000, seed), rng, categories=100, walks=50, numbers=50)

    def dollars(bit: np.ndarray, rng: np.random.Generator) -> list[LoggedColumn]:
        return [LoggedColumn("cue", numbers=np.round(200 + 100 * bit + rng.uniform(-99, 99, bit.shape), 2))]

    def memories(rng: np.random.Generator, seed: int) -> ColumnarLog:
        log = maze(2000, seed)
        clock = np.repeat(np.arange(log.horizon, dtype=np.uint8)[:, None], log.n, axis=1)
        added = [LoggedColumn("walk", walk(rng, log.horizon, log.n), (0, 1, 2))]
        return with_noise(ColumnarLog.of(log.base, [*log.columns, *added, _clock(clock)]), rng)

    def markov(rng: np.random.Generator, seed: int) -> ColumnarLog:
        log = log_without_cause(rng, 1000, 8)
        state = walk(rng, log.horizon, log.n)
        reward = np.zeros((log.horizon + 1, log.n), np.uint8)
        reward[1:] = rng.random((log.horizon, log.n)) < np.where(state == log.action[1:] - 2, 0.8, 0.2)
        seen = np.ones((log.horizon + 1, log.n), np.uint8)
        seen[-1] = 0
        base = Episodes.from_steps(log.base.alphabet, log.action, seen, reward)
        return ColumnarLog.of(base, [LoggedColumn("state", state, (0, 1, 2)), *log.columns[:19]])

    forms: dict[str, tuple[Any, set[str]]] = {
        "Gaussian, σ = 0.2": (gaussian(0.2), {"cue"}),
        "Gaussian, σ = 0.3": (gaussian(0.3), {"cue"}),
        "dollars, 40,000 values": (of_bit(dollars), {"cue"}),
        "exclusive or of two columns": (of_bit(pair, 3000), {"a", "b"}),
        "copy with 10 % errors": (of_bit(copy), {"bit"}),
        "200 irrelevant columns": (many, {"bit1", "bit2", "bit3"}),
        "a walk and a clock": (memories, {"bit1", "bit2", "bit3"}),
        "Markov process, 19 irrelevant columns": (markov, {"state"}),
    }
    for name, (build, right) in forms.items():
        for seed in seeds:
            log = build(np.random.default_rng(2000 + seed), seed)
            found, seconds = timed(log)
            names = [feature.column for feature in found.features]
            wrong = len(set(names) - right)
            ok = wrong == 0 and bool(names) and (right != {"a", "b"} or set(names) == right)
            yield {"form": name, "seed": seed, "columns": names, "found": ok, "irrelevant": wrong,
                   "states": found.states, "seconds": seconds}  # fmt: skip


def _clock(steps: np.ndarray) -> LoggedColumn:
    return LoggedColumn("clock", steps, tuple(range(len(steps))))


def null(seeds: range) -> Iterator[Row]:
    """Count the logs in which a column is selected though nothing matters."""

    def still(log: ColumnarLog) -> ColumnarLog:
        return ColumnarLog.of(log.base, [constant(column) for column in log.columns])

    kinds: dict[str, Callable[[np.random.Generator], ColumnarLog]] = {
        "independent rewards": log_without_cause,
        "unseen rate of rewards per episode": lambda rng: log_without_cause(rng, hidden=True),
        "unseen rate, columns constant in an episode": lambda rng: still(log_without_cause(rng, hidden=True)),
        "40 persons with 25 episodes, columns of the person": log_of_persons,
    }
    for name, make in kinds.items():
        found = []
        for i in range(NULL_LOGS):
            result = select_columns(make(np.random.default_rng([seeds.start, i])), 0.05)
            found.append(max(one.log_e - one.threshold for one in (*result.chosen, *result.others)))
        margins = np.array(found)
        stricter = np.log(0.05 / 0.001)  # by which the threshold of the first round is higher
        yield {"kind": name, "logs": NULL_LOGS, "at_0.05": int((margins > 0).sum()),
               "at_0.001": int((margins > stricter).sum()), "largest_margin": float(margins.max())}  # fmt: skip


def cost(seeds: range) -> Iterator[Row]:
    """Measure the CPU time of the selection by the number of irrelevant columns."""
    log = maze(3000, seeds.start)
    timed(with_noise(log, np.random.default_rng(0)))  # compiles
    for columns in (0, 20, 100, 200, 500):
        rng = np.random.default_rng(columns)
        wide = with_noise(log, rng, columns // 2, columns // 4, columns - columns // 2 - columns // 4)
        found, seconds = timed(wide)
        yield {"columns": columns, "seconds": seconds, "selected": [f.column for f in found.features]}


def verdicts(seeds: range) -> Iterator[Row]:
    """Count how often a plan is followed in wide logs in which nothing matters, columns and actions."""
    for seed in seeds:
        rng = np.random.default_rng([31, seed])
        n, horizon = 300, 6
        table: dict[str, Any] = {"episode": np.repeat(np.arange(n), horizon), "step": np.tile(np.arange(horizon), n)}
        table |= {f"code{i}": rng.integers(0, 4, n * horizon) for i in range(10)}
        table |= {f"level{i}": rng.normal(size=n * horizon) for i in range(10)}
        table |= {"action": rng.integers(0, 3, n * horizon), "reward": rng.integers(0, 2, n * horizon)}
        model = suffice.learn(table)
        yield {"seed": seed, "verdict": model.to_dict()["verdict"], "columns": len(model.encoder.features)}


def peers(seeds: range) -> Iterator[Row]:
    """Learn with AALpy from T-maze logs with three irrelevant columns of four values, and with none."""
    from suffice.lab.peers.alergia import aalpy

    for seed in seeds:
        clean = maze(5000, seed)
        wide = with_noise(clean, np.random.default_rng(seed), categories=3, walks=0, numbers=0)
        for columns, log in ((0, clean), (3, wide)):
            episodes = project(log, [Feature(column.name) for column in log.columns])
            found, seconds = timed(log)
            for eps in (0.05, 0.5):
                start = time.process_time()
                states = len(aalpy(episodes, eps).delta)
                yield {"columns": columns, "seed": seed, "eps": eps, "aalpy_states": states,
                       "aalpy_seconds": time.process_time() - start, "suffice_states": found.states,
                       "suffice_seconds": seconds}  # fmt: skip


PARTS = {"domains": domains, "cues": cues, "null": null, "cost": cost, "verdicts": verdicts, "peers": peers}


def main() -> None:
    """Run the parts that are named, store the results, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", choices=[*PARTS, []])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    stored = json.loads(STORED.read_text()) if STORED.exists() else {}
    for part in given.parts or PARTS:
        rows: list[Row] = []
        for row in PARTS[part](range(given.first, given.first + given.seeds)):
            print(part, row, flush=True)
            rows.append(row)
        stored = json.loads(STORED.read_text()) if STORED.exists() else {}
        stored[part] = rows
        STORED.write_text(json.dumps(stored, indent=1, ensure_ascii=False) + "\n")
    write_page(stored, HERE / "COLUMNS.md")


if __name__ == "__main__":
    main()
