"""How often verdicts and lower bounds are right, on processes with known values. Writes CALIBRATION.md.

`python benchmarks/calibration.py` runs every cell 20 times; `--runs 200` is the full size, which takes hours on two
cores. A cell is a process, a number of episodes and a kind of memory: chosen by the data, which is the default, layers
or a cycle. Each run is one call of `suffice.learn` as a user makes it, and the exact value is that of the policy in the
model. Results are stored in calibration.jsonl.gz, so that an interrupted run continues, and seeds can be added
(`--first 1000`).
"""

from __future__ import annotations

import argparse
import gzip
import json
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
from calibration_processes import Process, kinds, process_of

from suffice import Controller, exact_value, learn, simulate

Memory = Literal["chosen", "layers", "cycle"]

SIZES = (300, 1_000, 3_000, 10_000)
MEMORIES: dict[Memory, Literal["auto"] | bool] = {"chosen": "auto", "layers": False, "cycle": True}  # for `stationary`
RESULTS = Path(__file__).parent / "CALIBRATION.md"
STORED = Path(__file__).parent / "calibration.jsonl.gz"
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
    names = kinds()
    rng = np.random.default_rng([seed, names.index(cell.kind)])
    process = process_of(cell.kind, rng)
    episodes = simulate(process.model, cell.episodes, process.horizon, rng, process.logger)
    model = learn(episodes, stationary=MEMORIES[cell.memory], threads=1)
    said = model.about.plan
    assert said is not None
    policy = Controller.on_automaton(model.planned, process.model.alphabet, model.required_plan().actions)
    return Run(
        cell.kind,
        cell.episodes,
        cell.memory,
        seed,
        said.verdict,
        said.lower_bound,
        said.misfit,
        _value(process, policy),
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


def cells(
    sizes: Sequence[int] = SIZES, chosen: Sequence[str] | None = None, memories: Iterable[Memory] = MEMORIES
) -> list[Cell]:
    """List the cells of some processes, by default of all."""
    names = kinds() if chosen is None else chosen
    return [Cell(kind, n, memory) for n in sizes for kind in names for memory in memories]


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
    ordered = sorted(runs, key=lambda r: (r.kind, r.episodes, r.memory, r.seed))
    text = "".join(json.dumps(asdict(one)) + "\n" for one in ordered)
    STORED.write_bytes(gzip.compress(text.encode(), mtime=0))


def report(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the lines of CALIBRATION.md."""
    by_cell = group(runs)
    tried = [memory for memory in MEMORIES if any(one.memory == memory for one in runs)]
    by_memory = {memory: [one for one in runs if one.memory == memory] for memory in tried}
    yield "# Calibration of verdicts and lower bounds\n"
    yield f"`python benchmarks/calibration.py`: {len(runs):,} logs of {len(by_cell)} cells (a process, a number of"
    yield "episodes, a kind of memory), on noise, on domains and on random RDPs with three loggers. Exact values are"
    yield "known. The memory is chosen by the data (the default), or given: layers or a cycle. A gain is clear from"
    yield "5·sd(return)/√N on.\n"
    yield f"| statement | goal | {' | '.join(by_memory)} |"
    yield f"|---|---|{'---|' * len(by_memory)}"
    for statement, goal, measure in STATEMENTS:
        yield f"| {statement} | {goal} | {' | '.join(measure(its) for its in by_memory.values())} |"
    yield ""
    yield "| process | episodes | memory | logs | bound fails | worse, followed | clear gains, followed |"
    yield "|---|---:|---|---:|---:|---:|---:|"
    for cell, its in sorted(by_cell.items()):
        r = Rates.of(its)
        counts = (r.runs, r.bound_fails, f"{r.worse_followed} of {r.worse}", f"{r.gains_followed} of {r.gains}")
        yield f"| {cell.kind} | {cell.episodes:,} | {cell.memory} | {' | '.join(map(str, counts))} |"


def _bounds_fail(runs: Sequence[Run]) -> str:
    rates = Rates.of(runs)
    return share(rates.bound_fails, rates.runs)


def _bounds_fail_in(runs: Sequence[Run]) -> str:
    return ", ".join(f"{cell.kind} {cell.episodes:,}" for cell in rejected_cells(runs)) or "none"


def _without_bound(runs: Sequence[Run]) -> str:
    """Name the cell with the largest share of runs without a bound."""
    rates = [Rates.of(its) for its in group(runs).values()]
    worst = max(rates, key=lambda r: r.no_bound / r.runs, default=None)
    return share(0, 0) if worst is None else share(worst.no_bound, worst.runs)


def _noise_followed(runs: Sequence[Run]) -> str:
    rates = Rates.of(one for one in runs if one.kind == "noise")
    return share(rates.follows, rates.runs)


def _worse_followed(runs: Sequence[Run]) -> str:
    rates = Rates.of(runs)
    return share(rates.worse_followed, rates.worse)


def _gains_followed(runs: Sequence[Run]) -> str:
    rates = Rates.of(runs)
    return share(rates.gains_followed, rates.gains)


STATEMENTS: tuple[tuple[str, str, Callable[[Sequence[Run]], str]], ...] = (
    ("lower bound above the exact value, all logs", "≤ 5 %", _bounds_fail),
    ("cells with clearly more than 10 % of such bounds (1 %, Bonferroni)", "none", _bounds_fail_in),
    ("no lower bound, in the cell where that is most frequent", "≤ 20 %", _without_bound),
    ('"follow" on noise', "≤ 5 %", _noise_followed),
    ('"follow", of plans that are worse than the log', "≤ 5 %", _worse_followed),
    ('"follow", of clear gains', "≥ 90 %", _gains_followed),
)


def share(count: int, of: int) -> str:
    """Format a rate with its numbers."""
    return f"{count} of {of:,}" + (f" ({count / of:.1%})" if of else "")


def run_all(
    chosen: Sequence[Cell],
    seeds: Iterable[int],
    known: Sequence[Run] = (),
    note: Callable[[list[Run], int], None] = lambda runs, of: None,
) -> list[Run]:
    """Run every cell with every seed on all cores, except what is known; `note` is called after each run."""
    done = {(one.cell, one.seed) for one in known}
    jobs = [(cell, seed) for seed in seeds for cell in chosen if (cell, seed) not in done]
    found = list(known)
    with ProcessPoolExecutor() as pool:
        for one in pool.map(run, *zip(*jobs, strict=True), chunksize=4) if jobs else ():
            found.append(one)
            note(found, len(known) + len(jobs))
    return found


def _store_some(runs: list[Run], of: int) -> None:
    if len(runs) % 100 == 0:
        store(runs)
        print(f"{len(runs):,} of {of:,}", flush=True)


def main() -> None:
    """Run what is missing, store it and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="logs of each cell")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="numbers of episodes")
    parser.add_argument("--memory", nargs="*", choices=list(MEMORIES), default=list(MEMORIES), help="kinds of memory")
    options = parser.parse_args()
    chosen = cells(options.sizes, memories=options.memory)
    runs = run_all(chosen, range(options.first, options.first + options.runs), load(), _store_some)
    store(runs)
    RESULTS.write_text("\n".join(report(runs)) + "\n")


if __name__ == "__main__":
    main()
