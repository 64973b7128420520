"""How often verdicts and lower bounds are right, on processes with known values. Writes CALIBRATION.md.

`python benchmarks/calibration.py` runs every cell 20 times; `--runs 200` is the full size, which takes hours on two
cores. A cell is a process, a number of episodes and a kind of memory. Results are stored in calibration.jsonl.gz, so
that an interrupted run continues, and seeds can be added (`--first 1000`).
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from calibration_processes import Process, kinds, process_of

from suffice import Controller, exact_value, regorl, simulate

SIZES = (300, 1_000, 3_000, 10_000)
RESULTS = Path(__file__).parent / "CALIBRATION.md"
STORED = Path(__file__).parent / "calibration.jsonl.gz"
FEWEST_STEPS_OF_GAIN = 5  # standard errors of the log's mean return from which a gain is clear
CLOSE = 1e-6


class Cell(NamedTuple):
    """A process, a number of episodes and a kind of memory."""

    kind: str
    episodes: int
    stationary: bool


@dataclass(frozen=True)
class Run:
    """One log of a cell: what was said, and what is true."""

    kind: str
    episodes: int
    stationary: bool
    seed: int
    verdict: str
    lower: float | None
    misfit: float | None
    value: float  # exact value of the plan
    logged: float  # exact value of the logger
    spread: float  # standard deviation of the return of a logged episode

    @property
    def cell(self) -> Cell:
        return Cell(self.kind, self.episodes, self.stationary)

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
    names = kinds()
    rng = np.random.default_rng([seed, names.index(cell.kind)])
    process = process_of(cell.kind, rng)
    episodes = simulate(process.model, cell.episodes, process.horizon, rng, process.logger)
    solution = regorl(episodes, stationary=cell.stationary)
    plan = Controller.on_automaton(solution.planned, process.model.alphabet, solution.plan.actions)
    return Run(
        cell.kind,
        cell.episodes,
        cell.stationary,
        seed,
        solution.verdict.code,
        solution.lower_bound,
        None if solution.judged is None else solution.judged.misfit,
        _value(process, plan),
        _value(process, process.logger),
        _spread(process),
    )


def _value(process: Process, policy: Controller) -> float:
    return float(exact_value(process.model, policy, process.horizon).mean_return)


def _spread(process: Process) -> float:
    """Return the standard deviation of a logged return, from 20,000 other episodes."""
    episodes = simulate(process.model, 20_000, process.horizon, np.random.default_rng(1), process.logger)
    rewards = np.array(episodes.alphabet.rewards)[episodes.letters[:, 2]]
    return float(rewards[episodes.word[1:]].sum(axis=0).std())


def cells(sizes: Sequence[int] = SIZES, chosen: Sequence[str] | None = None) -> list[Cell]:
    """List the cells of some processes, by default of all."""
    names = kinds() if chosen is None else chosen
    return [Cell(kind, n, stationary) for n in sizes for kind in names for stationary in (False, True)]


class Rates(NamedTuple):
    """Numbers of runs, and of those in which something holds."""

    runs: int
    no_bound: int
    bound_fails: int
    follows: int
    worse: int
    worse_followed: int
    gains: int
    gains_followed: int

    @classmethod
    def of(cls, runs: Iterable[Run]) -> Rates:
        runs = list(runs)
        follows = [r.verdict == "follow" for r in runs]
        return cls(
            len(runs),
            sum(r.lower is None for r in runs),
            sum(r.bound_fails for r in runs),
            sum(follows),
            sum(r.worse for r in runs),
            sum(r.worse and f for r, f in zip(runs, follows, strict=True)),
            sum(r.clear_gain for r in runs),
            sum(r.clear_gain and f for r, f in zip(runs, follows, strict=True)),
        )


def binomial_tail(n: int, k: int, p: float) -> float:
    """Return the probability of at least k successes among n."""
    logs = [
        math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * math.log(p) + (n - i) * math.log1p(-p)
        for i in range(k, n + 1)
    ]
    return min(math.fsum(map(math.exp, logs)), 1.0)


def rejected_cells(runs: Sequence[Run], most: float = 0.1, level: float = 0.01) -> list[Cell]:
    """Return the cells in which bounds fail more often than `most`, by binomial tests with Bonferroni's correction."""
    by_cell = group(runs)
    found = []
    for cell, its in by_cell.items():
        rates = Rates.of(its)
        if binomial_tail(rates.runs, rates.bound_fails, most) < level / len(by_cell):
            found.append(cell)
    return found


def group(runs: Iterable[Run]) -> dict[Cell, list[Run]]:
    """Group runs by cell."""
    found: dict[Cell, list[Run]] = {}
    for one in runs:
        found.setdefault(one.cell, []).append(one)
    return found


def load() -> list[Run]:
    """Return the stored runs."""
    if not STORED.exists():
        return []
    with gzip.open(STORED, "rt") as file:
        return [Run(**json.loads(line)) for line in file]


def store(runs: Iterable[Run]) -> None:
    """Store runs in an order of their own, with the same bytes for the same runs."""
    ordered = sorted(runs, key=lambda r: (r.kind, r.episodes, r.stationary, r.seed))
    text = "".join(json.dumps(asdict(one)) + "\n" for one in ordered)
    STORED.write_bytes(gzip.compress(text.encode(), mtime=0))


def report(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the lines of CALIBRATION.md."""
    rates = Rates.of(runs)
    noise = Rates.of(r for r in runs if r.kind == "noise")
    by_cell = group(runs)
    yield "# Calibration of verdicts and lower bounds\n"
    yield f"`python benchmarks/calibration.py`: {rates.runs:,} logs of {len(by_cell)} cells (a process, a number of"
    yield "episodes, layers or stationary), on noise, on domains and on random RDPs with three loggers. Exact values"
    yield "are known. A gain is clear from 5·sd(return)/√N on.\n"
    yield "| statement | goal | measured |"
    yield "|---|---|---|"
    yield f"| lower bound above the exact value, all logs | ≤ 5 % | {share(rates.bound_fails, rates.runs)} |"
    rejected = rejected_cells(runs)
    named = ", ".join(f"{c.kind} {c.episodes:,} {_memory(c)}" for c in rejected) or "none"
    yield f"| cells with clearly more than 10 % of such bounds (1 %, Bonferroni) | none | {named} |"
    yield f"| no lower bound | ≤ 20 % of a cell | {share(rates.no_bound, rates.runs)} |"
    yield f'| "follow" on noise | ≤ 5 % | {share(noise.follows, noise.runs)} |'
    yield f'| "follow", of plans that are worse than the log | ≤ 5 % | {share(rates.worse_followed, rates.worse)} |'
    yield f'| "follow", of clear gains | ≥ 90 % | {share(rates.gains_followed, rates.gains)} |'
    yield ""
    yield "| process | episodes | memory | logs | bound fails | worse, followed | clear gains, followed |"
    yield "|---|---:|---|---:|---:|---:|---:|"
    for cell, its in sorted(by_cell.items()):
        r = Rates.of(its)
        counts = (r.runs, r.bound_fails, f"{r.worse_followed} of {r.worse}", f"{r.gains_followed} of {r.gains}")
        yield f"| {cell.kind} | {cell.episodes:,} | {_memory(cell)} | {' | '.join(map(str, counts))} |"


def share(count: int, of: int) -> str:
    """Format a rate with its numbers."""
    return f"{count} of {of:,}" + (f" ({count / of:.1%})" if of else "")


def _memory(cell: Cell) -> str:
    return "stationary" if cell.stationary else "layers"


def _run(job: tuple[Cell, int]) -> Run:
    return run(*job)


def main() -> None:
    """Run what is missing, store it and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="logs of each cell")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="numbers of episodes")
    options = parser.parse_args()
    known = load()
    done = {(one.cell, one.seed) for one in known}
    seeds = range(options.first, options.first + options.runs)
    jobs = [(cell, seed) for seed in seeds for cell in cells(options.sizes) if (cell, seed) not in done]
    with ProcessPoolExecutor() as pool:
        for i, one in enumerate(pool.map(_run, jobs, chunksize=4), start=1):
            known.append(one)
            if i % 100 == 0:
                store(known)
                print(f"{i:,} of {len(jobs):,}", flush=True)
    store(known)
    RESULTS.write_text("\n".join(report(known)) + "\n")


if __name__ == "__main__":
    main()
