"""Runs of the calibration: one log of a process with known values, what was said about the plan, and what is true.

Finished runs are appended to a file, one line each, so that a run that is stopped at any time continues. At the end
they are stored in calibration.jsonl.gz, in an order of their own: the same runs have the same bytes.
"""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from calibration_processes import Process, kinds, process_of

from suffice import Controller, exact_value, learn, simulate

Memory = Literal["chosen", "layers", "cycle"]

SIZES = (300, 1_000, 3_000, 10_000)
MEMORIES: dict[Memory, Literal["auto"] | bool] = {"chosen": "auto", "layers": False, "cycle": True}  # for `stationary`
STORED = Path(__file__).parent / "calibration.jsonl.gz"
UNFINISHED = Path(__file__).parent / "calibration.part.jsonl"  # runs since the file was stored
FEWEST_STEPS_OF_GAIN = 5  # standard errors of the log's mean return from which a gain is clear
CLOSE = 1e-6


class Cell(NamedTuple):
    """A process, a number of episodes and a kind of memory."""

    kind: str
    episodes: int
    memory: Memory


@dataclass(frozen=True)
class Run:
    """One log of a cell: what was said, and what is true."""

    kind: str
    episodes: int
    memory: Memory
    seed: int
    verdict: str
    lower: float | None
    misfit: float | None
    value: float  # exact value of the plan
    logged: float  # exact value of the logger
    spread: float  # standard deviation of the return of a logged episode
    gain_lower: float | None = None

    @property
    def cell(self) -> Cell:
        return Cell(self.kind, self.episodes, self.memory)

    @property
    def bound_fails(self) -> bool:
        """Whether the lower bound is above the exact value."""
        return self.lower is not None and self.lower > self.value + CLOSE

    @property
    def worse(self) -> bool:
        """Whether the plan is worse than the logger."""
        return self.value < self.logged - CLOSE

    @property
    def clear_gain(self) -> bool:
        """Whether the plan is better than the logger by five standard errors of the log's mean return."""
        gain = self.value - self.logged
        return gain > CLOSE and gain >= FEWEST_STEPS_OF_GAIN * self.spread / math.sqrt(self.episodes)


def run(cell: Cell, seed: int) -> Run:
    """Learn from one log of a cell, and compare with the exact values."""
    rng = np.random.default_rng([seed, zlib.crc32(cell.kind.encode())])
    process = process_of(cell.kind, rng)
    episodes = simulate(process.model, cell.episodes, process.horizon, rng, process.logger)
    model = learn(episodes, stationary=MEMORIES[cell.memory], threads=1)
    said = model.about.plan
    assert said is not None
    policy = Controller.on_automaton(model.planned, process.model.alphabet, model.required_plan().actions)
    return Run(
        *(*cell, seed),
        verdict=said.verdict,
        lower=said.lower_bound,
        gain_lower=said.gain_lower_bound,
        misfit=said.misfit,
        value=_value(process, policy),
        logged=_value(process, process.logger),
        spread=_spread(process),
    )


def _value(process: Process, policy: Controller) -> float:
    return float(exact_value(process.model, policy, process.horizon).mean_return)


def _spread(process: Process) -> float:
    """Return the standard deviation of a logged return, from 20,000 other episodes."""
    episodes = simulate(process.model, 20_000, process.horizon, np.random.default_rng(1), process.logger)
    rewards = np.array(episodes.alphabet.rewards)[episodes.letters[:, 2]]
    return float(rewards[episodes.word[1:]].sum(axis=0).std())


def cells(
    sizes: Sequence[int] = SIZES, chosen: Sequence[str] | None = None, memories: Iterable[Memory] = ("chosen",)
) -> list[Cell]:
    """List the cells of some processes, by default of all."""
    names = kinds() if chosen is None else chosen
    return [Cell(kind, n, memory) for n in sizes for kind in names for memory in memories]


def run_all(
    chosen: Sequence[Cell], seeds: Iterable[int], known: Sequence[Run] = (), workers: int | None = None
) -> Iterator[Run]:
    """Yield a run of every cell with every seed, seed by seed, except what is known; as soon as each has ended."""
    done = {(one.cell, one.seed) for one in known}
    jobs = ((cell, seed) for seed in seeds for cell in chosen if (cell, seed) not in done)
    if workers == 1:
        yield from (run(*job) for job in jobs)
        return
    with ProcessPoolExecutor(workers) as pool:
        while batch := list(islice(jobs, 64)):
            for ended in as_completed([pool.submit(run, *job) for job in batch]):
                yield ended.result()


def load() -> list[Run]:
    """Return the finished runs; a last line that was not written completely is ignored."""
    lines = gzip.decompress(STORED.read_bytes()).decode().splitlines() if STORED.exists() else []
    if UNFINISHED.exists():
        lines += [line for line in UNFINISHED.read_text().splitlines() if line.endswith("}")]
    return list({(one.cell, one.seed): one for one in (Run(**json.loads(line)) for line in lines)}.values())


def append(one: Run) -> None:
    """Append a finished run."""
    with UNFINISHED.open("a") as file:
        file.write(json.dumps(asdict(one)) + "\n")


def store(runs: Iterable[Run]) -> None:
    """Store all runs, and forget those that were appended."""
    ordered = sorted(runs, key=lambda r: (r.kind, r.episodes, r.memory, r.seed))
    text = "".join(json.dumps(asdict(one)) + "\n" for one in ordered)
    part = STORED.with_suffix(".tmp")
    part.write_bytes(gzip.compress(text.encode(), mtime=0))
    part.replace(STORED)
    UNFINISHED.unlink(missing_ok=True)


def group(runs: Iterable[Run]) -> dict[Cell, list[Run]]:
    """Group runs by cell."""
    found: dict[Cell, list[Run]] = {}
    for one in runs:
        found.setdefault(one.cell, []).append(one)
    return found
