"""What `columns.py` measures: a part is a list of cells (settings, the cheapest first) and a function of seed and cell.

Logs of domains get ten categories of four values, five autocorrelated walks and five Gaussian columns.
docs/theory.md, section 12; docs/decisions/0043, 0052 and 0053.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import suffice
from suffice.data.columnar import ColumnarLog, LoggedColumn
from suffice.data.episodes import Episodes
from suffice.domains.exact.automaton import optimal_value
from suffice.domains.exact.values import evaluate
from suffice.domains.finite import Definition, FiniteModel
from suffice.domains.observed_columns import map_observations
from suffice.learning.adact_h import Settings
from suffice.learning.columns.features import Feature, project
from suffice.learning.columns.narrow import all_are_better, held_out_gain, is_very_narrow, selected_are_better
from suffice.learning.columns.selection import ColumnSelection, select_columns
from suffice.planning.controller import Controller

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.wide_logs import constant, log_of_persons, log_without_cause, walk, with_noise

OPTIONS: dict[str, dict[str, Any]] = {"t-maze": {"length": 5}}
HORIZONS = {"t-maze": 15, "cheese": 15}  # of others: the default
NULL_LOGS = 100  # of a batch
Row = dict[str, Any]


class Part(NamedTuple):
    """What is measured for each seed."""

    cells: list[Row]
    measure: Callable[..., Row]


def warm_up() -> None:
    """Compile, so that the first CPU time is like the others."""
    timed(with_noise(maze(500, 0), np.random.default_rng(0)))


def made(name: str) -> tuple[Any, int]:
    """Return a domain and its horizon."""
    domain = suffice.make(name, **OPTIONS.get(name, {}))
    return domain, HORIZONS.get(name, domain.default_horizon)


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


def domains(seed: int, domain: str, episodes: int) -> Row:
    """Select columns of a log with twenty irrelevant ones, and compare with the clean log by exact values."""
    definition, horizon = made(domain)
    finite = definition.model(horizon)
    sample = suffice.simulate(finite, episodes, horizon, rng=seed)
    clean = ColumnarLog.of_episodes(sample)
    found, seconds = timed(with_noise(clean, np.random.default_rng(1000 + seed)))
    relevant = [feature for feature in found.features if feature.column in sample.alphabet.features]
    states, value = value_of(observed(finite, clean, relevant), project(clean, relevant))
    clean_states, clean_value = value_of(finite, sample)
    return {
        "columns": [feature.column for feature in found.features], "irrelevant": len(found.features) - len(relevant),
        "states": states, "value": value, "clean_states": clean_states, "clean_value": clean_value,
        "optimum": float(optimal_value(finite, horizon)), "seconds": seconds,
    }  # fmt: skip


def maze(n: int, seed: int) -> ColumnarLog:
    """Return a T-maze of length 5, with all bits of its cue."""
    return ColumnarLog.of_episodes(suffice.simulate(suffice.make("t-maze", length=5), n, 15, rng=seed))


def forms_of_cues() -> dict[str, tuple[Any, set[str]]]:
    """Return how logs with other forms of the cue are made (2,000 episodes; two columns: 3,000), and what is right."""

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

    return {
        "Gaussian, σ = 0.2": (gaussian(0.2), {"cue"}),
        "Gaussian, σ = 0.3": (gaussian(0.3), {"cue"}),
        "dollars, 40,000 values": (of_bit(dollars), {"cue"}),
        "exclusive or of two columns": (of_bit(pair, 3000), {"a", "b"}),
        "copy with 10 % errors": (of_bit(copy), {"bit"}),
        "200 irrelevant columns": (many, {"bit1", "bit2", "bit3"}),
        "a walk and a clock": (memories, {"bit1", "bit2", "bit3"}),
        "Markov process, 19 irrelevant columns": (markov, {"state"}),
    }


FORMS = forms_of_cues()


def cues(seed: int, form: str) -> Row:
    """Select the cue of a T-maze in another form, or among other columns."""
    build, right = FORMS[form]
    found, seconds = timed(build(np.random.default_rng(2000 + seed), seed))
    names = [feature.column for feature in found.features]
    wrong = len(set(names) - right)
    ok = wrong == 0 and bool(names) and (right != {"a", "b"} or set(names) == right)
    return {"columns": names, "found": ok, "irrelevant": wrong, "states": found.states, "seconds": seconds}


def _clock(steps: np.ndarray) -> LoggedColumn:
    return LoggedColumn("clock", steps, tuple(range(len(steps))))


def still(log: ColumnarLog) -> ColumnarLog:
    """Return the log with columns that are constant within an episode."""
    return ColumnarLog.of(log.base, [constant(column) for column in log.columns])


NULL_KINDS: dict[str, Callable[[np.random.Generator], ColumnarLog]] = {
    "independent rewards": log_without_cause,
    "unseen rate of rewards per episode": lambda rng: log_without_cause(rng, hidden=True),
    "unseen rate, columns constant in an episode": lambda rng: still(log_without_cause(rng, hidden=True)),
    "40 persons with 25 episodes, columns of the person": log_of_persons,
}


def null(seed: int, kind: str, logs: int) -> Row:
    """Count the logs of a batch in which a column is selected though nothing matters."""
    found = []
    for i in range(logs):
        result = select_columns(NULL_KINDS[kind](np.random.default_rng([seed, i])), 0.05)
        found.append(max(one.log_e - one.threshold for one in (*result.chosen, *result.others)))
    margins = np.array(found)
    stricter = np.log(0.05 / 0.001)  # by which the threshold of the first round is higher
    return {"at_0.05": int((margins > 0).sum()), "at_0.001": int((margins > stricter).sum()),
            "largest_margin": float(margins.max())}  # fmt: skip


def cost(seed: int, irrelevant: int) -> Row:
    """Measure the CPU time of the selection by the number of irrelevant columns."""
    half, quarter = irrelevant // 2, irrelevant // 4
    wide = with_noise(maze(3000, seed), np.random.default_rng(irrelevant), half, quarter, irrelevant - half - quarter)
    found, seconds = timed(wide)
    return {"seconds": seconds, "columns": [feature.column for feature in found.features]}


def verdicts(seed: int, episodes: int, horizon: int) -> Row:
    """Learn from a wide log in which nothing matters, neither columns nor actions."""
    rng = np.random.default_rng([31, seed])
    rows = episodes * horizon
    table: dict[str, Any] = {
        "episode": np.repeat(np.arange(episodes), horizon),
        "step": np.tile(np.arange(horizon), episodes),
    }
    table |= {f"code{i}": rng.integers(0, 4, rows) for i in range(10)}
    table |= {f"level{i}": rng.normal(size=rows) for i in range(10)}
    table |= {"action": rng.integers(0, 3, rows), "reward": rng.integers(0, 2, rows)}
    model = suffice.learn(table)
    return {"verdict": model.to_dict()["verdict"], "columns": list(model.encoder.features)}


@dataclass(frozen=True)
class WithCoins:
    """A domain with further columns, each a fair coin that is tossed in every step."""

    domain: Definition
    coins: int

    @property
    def all_actions(self) -> tuple[Any, ...]:
        return self.domain.all_actions

    @property
    def features(self) -> tuple[str, ...]:
        return (*self.domain.features, *(f"coin{i}" for i in range(self.coins)))

    def start(self) -> Iterator[suffice.Outcome]:
        return self._tossed(self.domain.start())

    def step(self, state: Any, action: Any) -> Iterator[suffice.Outcome]:
        return self._tossed(self.domain.step(state, action))

    def choices(self, observation: tuple[Any, ...]) -> Sequence[Any]:
        return self.domain.choices(observation[: len(self.domain.features)])

    def _tossed(self, outcomes: Any) -> Iterator[suffice.Outcome]:
        for chance, state, seen, reward in outcomes:
            for sides in [()] if seen is None else product((0, 1), repeat=self.coins):
                share = Fraction(chance) / 2 ** len(sides)
                yield suffice.Outcome(share, state, None if seen is None else (*seen, *sides), reward)


def narrow(seed: int, domain: str, episodes: int, coins: int) -> Row:
    """Learn a log of few distinct observations with all columns and with the selected ones, and compare exact values.

    `gain` is by how many bits per episode held-out rewards are predicted better with all columns, with its error;
    `keeps_all` is what `suffice learn` does by default.
    """
    definition, horizon = made(domain)
    finite = FiniteModel.of(WithCoins(definition, coins), horizon)
    log = ColumnarLog.of_episodes(suffice.simulate(finite, episodes, horizon, rng=seed))
    every = [Feature(column.name) for column in log.columns]
    selected = select_columns(log).features
    gain, error = held_out_gain(log, selected, project(log, every), Settings())
    very_narrow = is_very_narrow(log) and not selected_are_better(selected, gain, error, log.n)
    whole = very_narrow or all_are_better(selected, gain, error)
    (_, all_value), (_, value) = (
        value_of(observed(finite, log, features), project(log, features)) for features in (every, list(selected))
    )
    return {
        "columns": [feature.column for feature in selected], "of": len(every), "gain": gain, "error": error,
        "keeps_all": len(every) < 2 or whole,
        "all_value": all_value, "value": value, "optimum": float(optimal_value(finite, horizon)),
    }  # fmt: skip


def peers(seed: int, irrelevant: int, eps: float) -> Row:
    """Learn with AALpy from a T-maze log with irrelevant columns of four values, or none."""
    from suffice.lab.peers.alergia import aalpy

    log = with_noise(maze(5000, seed), np.random.default_rng(seed), categories=irrelevant, walks=0, numbers=0)
    episodes = project(log, [Feature(column.name) for column in log.columns])
    found, seconds = timed(log)
    start = time.process_time()
    states = len(aalpy(episodes, eps).delta)
    return {"aalpy_states": states, "aalpy_seconds": time.process_time() - start, "suffice_states": found.states,
            "suffice_seconds": seconds}  # fmt: skip


SIZES = {"mini-hall": 3000, "t-maze": 1000, "cheese": 1000, "enemy-corridor": 1000, "symbol": 10_000,
         "cookie": 10_000, "flickering-grid": 3000, "rotating-maze": 3000}  # fmt: skip
NARROW = ("t-maze", "cookie", "symbol", "repeat-first", "mini-hall", "enemy-corridor")
PARTS = {
    "domains": Part([{"domain": name, "episodes": n} for name, n in SIZES.items()], domains),
    "cues": Part([{"form": form} for form in FORMS], cues),
    "null": Part([{"kind": kind, "logs": NULL_LOGS} for kind in NULL_KINDS], null),
    "cost": Part([{"irrelevant": number} for number in (0, 20, 100, 200, 500)], cost),
    "verdicts": Part([{"episodes": 300, "horizon": 6}], verdicts),
    "narrow": Part(
        [{"domain": d, "episodes": n, "coins": c} for n in (300, 1000, 3000) for d in NARROW for c in (0, 2)], narrow
    ),
    "peers": Part([{"irrelevant": number, "eps": eps} for number in (0, 3) for eps in (0.05, 0.5)], peers),
}
