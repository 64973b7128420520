"""One automaton for all times: how many episodes does it take, against AALpy and FlexFringe? Writes STATIONARY.md.

`python benchmarks/stationary.py` takes an hour or two on two cores; stationary.json keeps every run, so that it can be
stopped and goes on. What is run is said in stationary_runs.py.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from threading import Lock
from typing import Final

from stationary_runs import (
    EXPERIMENTS,
    GOALS,
    LIMIT,
    METHODS,
    SCALING,
    SEEDS,
    SIZES,
    TEN,
    VISIBLE,
    Experiment,
    Job,
    Result,
    Results,
    started,
    truth_of,
)

from suffice.lab.peers.flexfringe import find_flexfringe

HERE: Final = Path(__file__).parent
ENOUGH: Final = 0.95  # of what can be gained
WORSE: Final = 0.01
WORDS: Final = """## Which goals are met

The machine was shared: 60 s by the clock were 20 to 60 s of CPU time. Peers have one setting each here; with others of
[the paper's table](../docs/reproduction/table1.md) both do better, FlexFringe in 3 of 3 on Mini-hall from 10,000.
- Exact in ten of ten: both T-mazes, T-maze with noise, Mini-hall. Cheese in 8: one or two transitions of 92, taken
  fewer than ten times, where a coin fell the same way each time. Plans: 0.99 in all fifty, 0.999 in 44, for the counts.
- Memory: met. Time: not met, 16 to 18 times instead of 50 (much of it is fixed: 1,000 episodes take a fifth of that).
  A million episodes: 3.7 to 5.6 times the layered learner's time, where 5 were asked for.
- Fewer episodes than any baseline, or equal where both need the smallest log: but for T-maze of length 100 east (exact
  from 1,000 too, in 60 s on the loaded machine, where FlexFringe takes one).
- Never a worse policy: on none of the logs that both learned from.
- Not reached in 60 s: T-maze of length 20 uniform (15 of 43 states at 3,000; few walk that far), rotating maze, 128
  columns. Two-keys: 28 of 30 states at 10,000; the last two are visited in one episode of 500.
"""


# All of them


def jobs_of(
    experiments: Sequence[Experiment], methods: Sequence[str], results: Results, sizes: Sequence[int]
) -> Iterator[list[Job]]:
    """Size by size: of those ladders that have neither arrived nor taken too long."""
    yield [Job(e, METHODS[0], n, seed) for e, n in GOALS if e in experiments for seed in TEN]
    for n in sizes:
        ladders = [(e, m) for e, m in product(experiments, methods) if open_ladder(e, m, n, results)]
        yield [Job(e, method, n, seed) for seed, (e, method) in product(SEEDS, ladders)]


def at(e: Experiment, method: str, n: int, results: Results) -> list[Result]:
    """The runs at a size."""
    keys = (Job(e, method, n, seed).key for seed in SEEDS)
    return [results[key] for key in keys if key in results]


def open_ladder(e: Experiment, method: str, n: int, results: Results) -> bool:
    """Whether larger logs can tell more."""
    smaller = [at(e, method, size, results) for size in SIZES if size < n]
    arrived = any(len(runs) == len(SEEDS) and all(is_exact(run) and is_good(run) for run in runs) for runs in smaller)
    return not arrived and all(run for runs in smaller for run in runs)


def is_exact(run: Result) -> bool:
    """Whether the automaton is the true one."""
    return bool(run and run["exact"])


def is_good(run: Result) -> bool:
    """Whether the plan is good enough."""
    return bool(run) and run["share"] >= ENOUGH


def run_all(batches: Iterator[list[Job]], results: Results, binary: str | None, store: Path, at_once: int) -> None:
    """What has not been run, writing every result at once."""
    lock = Lock()

    def one(job: Job) -> None:
        with lock:
            same = at(job.experiment, job.method, job.n, results) if job.seed in SEEDS else []
        if job.key in results or any(not is_exact(run) and not is_good(run) for run in same):
            return  # one seed of three that fails at both says enough
        found = started(job, binary)
        with lock:
            if found is not None:
                results[job.key] = found
            print(job.key, found, flush=True)
            part = store.with_suffix(".part")
            part.write_text(json.dumps(results, indent=0, sort_keys=True), encoding="utf-8")
            part.replace(store)

    for batch in batches:
        with ThreadPoolExecutor(at_once) as pool:
            list(pool.map(one, batch))


# The tables


def needed(e: Experiment, method: str, fine: Callable[[Result], bool], results: Results) -> str:
    """From which size on all seeds are fine; where none is, the largest that was tried."""
    runs = {n: at(e, method, n, results) for n in SIZES}
    late = any(not run for n in SIZES for run in runs[n])
    failed = [n for n in SIZES if any(run and not fine(run) for run in runs[n])]
    passed = [n for n in SIZES if len(runs[n]) == len(SEEDS) and all(run and fine(run) for run in runs[n])]
    enough = [n for n in passed if n > max(failed, default=0)]
    if enough:
        return f"{enough[0]:,}"
    return f"> {failed[-1]:,}{' †' * late}" if failed else "†" if late else "not run"


def summary(results: Results) -> Iterator[str]:
    """Episodes needed."""
    heads = [f"{what}: {method}" for what in ("exact", "95 %") for method in METHODS]
    yield f"| log | states | {' | '.join(heads)} |"
    yield "|---|---|---|---|---|---|---|---|"
    for e in EXPERIMENTS:
        cells = [needed(e, method, fine, results) for fine in (is_exact, is_good) for method in METHODS]
        yield f"| {e.name} | {truth_of(e).states} | {' | '.join(cells)} |"


def goals(results: Results) -> Iterator[str]:
    """Ten seeds of ten?"""
    yield "| log | episodes | exact, of ten | share ≥ 0.999 | share ≥ 0.99 | least share |"
    yield "|---|---|---|---|---|---|"
    for e, n in GOALS:
        runs = [run for seed in TEN if (run := results.get(Job(e, METHODS[0], n, seed).key))]
        shares = [run["share"] for run in runs]
        counts = [sum(map(is_exact, runs)), *(sum(gained >= least for gained in shares) for least in (0.999, 0.99))]
        yield f"| {e.name} | {n:,} | {' | '.join(map(str, counts))} | {min(shares, default=0):.3f} |"


def scaling(results: Results) -> Iterator[str]:
    """Time and memory of long logs."""
    sizes = sorted({n for _, n in SCALING})
    yield f"| log | {' | '.join(f'{n:,}' for n in sizes)} |"
    yield "|---|" + "---|" * len(sizes)
    for e in dict.fromkeys(e for e, _ in SCALING):
        runs = [results.get(Job(e, "scaling", n, SEEDS[0]).key) or {} for n in sizes]
        cells = [
            f"{run['seconds']:.2f} s, {run['bytes'] / 1e6:.0f} MB, {run['seconds'] / run['layers']:.1f} times"
            + ("" if is_exact(run) else ", not exact")
            if run
            else "not run"
            for run in runs
        ]
        yield f"| {e.name} | {' | '.join(cells)} |"
    yield ""
    ours, theirs = (results.get(Job(VISIBLE, m, 100_000, SEEDS[0]).key) for m in ("scaling", "FlexFringe"))
    if not ours or not theirs:
        yield "FlexFringe was not there to be compared with."
        return
    faster, smaller = (theirs[what] / ours[what] for what in ("seconds", "bytes"))
    yield (
        f"FlexFringe on 100,000 episodes of {VISIBLE.name}: {theirs['seconds']:.1f} CPU seconds and "
        f"{theirs['bytes'] / 1e6:,.0f} MB: **{faster:.0f} times** our time and **{smaller:.0f} times** our memory."
    )


def cell(runs: list[Result]) -> str:
    """States, how many are exact, and the least share."""
    done = [run for run in runs if run]
    if not done:
        return f"> {LIMIT} s" if runs else ""
    states = sorted({round(run["states"]) for run in done})
    told = f"{states[0]}–{states[-1]}" if len(states) > 1 else str(states[0])
    exact = f" ({sum(map(is_exact, done))} exact)" if any(map(is_exact, done)) else ""
    late = f", else > {LIMIT} s" if len(done) < len(runs) else ""
    return f"{told}{exact}, {min(run['share'] for run in done):.2f}{late}"


def details(results: Results) -> Iterator[str]:
    """Every ladder."""
    sizes = [n for n in SIZES if any(at(e, method, n, results) for e, method in product(EXPERIMENTS, METHODS))]
    yield f"| log | method | {' | '.join(f'{n:,}' for n in sizes)} | CPU s, MB |"
    yield "|---|---|" + "---|" * (len(sizes) + 1)
    for e in EXPERIMENTS:
        common = [n for n in SIZES if all(at(e, m, n, results) and all(at(e, m, n, results)) for m in METHODS)]
        for method in METHODS:
            runs = at(e, method, common[-1], results) if common else []
            cost = [sum(run[what] for run in runs) / len(runs) for what in ("seconds", "bytes") if runs]
            told = f"{cost[0]:.2f}, {cost[1] / 1e6:.0f} at {common[-1]:,}" if cost else ""
            cells = " | ".join(cell(at(e, method, n, results)) for n in sizes)
            yield f"| {e.name if method == METHODS[0] else ''} | {method} | {cells} | {told} |"


def worse(results: Results) -> Iterator[str]:
    """How often a peer's plan was better than ours on the same log."""
    for method in METHODS[1:]:
        jobs = [(Job(e, METHODS[0], n, s), Job(e, method, n, s)) for e, n, s in product(EXPERIMENTS, SIZES, SEEDS)]
        pairs = [(results[a.key], results[b.key], a) for a, b in jobs if results.get(a.key) and results.get(b.key)]
        lost = [(theirs["share"] - ours["share"], job) for ours, theirs, job in pairs]
        losses = sorted({f"{job.experiment.name} ({job.n:,})" for gap, job in lost if gap > WORSE})
        most = max((gap for gap, _ in lost), default=0.0)
        yield (
            f"- {method}: its plan is better by more than {WORSE} on {sum(gap > WORSE for gap, _ in lost)} of the "
            f"{len(pairs)} logs that both learned from, by at most {max(most, 0):.2f}; ours on "
            f"{sum(gap < -WORSE for gap, _ in lost)}." + (f" Where: {', '.join(losses)}." if losses else "")
        )


def report(results: Results) -> str:
    """The text of STATIONARY.md."""
    lines = [
        "# One automaton for all times, against AALpy and FlexFringe",
        "",
        "Made by `python benchmarks/stationary.py`; what is run is said in `stationary_runs.py`, what the peers are",
        "spared (and we with them), and their best settings, in `peers.py`. The *share* is what the default plan on an",
        "automaton gains over the behaviour, of what can be gained: exact values, the same planner for all.",
        "",
        "## Episodes needed",
        "",
        "For the exact automaton, and for 95 % of what can be gained, on seeds 11, 12 and 13; sizes as in the last",
        f"table. States are the true ones, without the end. †: the next took over {LIMIT} s or 8 GB.",
        "",
        *summary(results),
        "",
        *worse(results),
        "",
        "## The goals, seeds 100 to 109",
        "",
        *goals(results),
        "",
        "## Long logs",
        "",
        "One noisy run each after compiling: CPU time, memory above the process with the log in it, and how many times",
        "the layered learner's time that is, in the same process.",
        "",
        *scaling(results),
        "",
        WORDS.strip(),
        "",
        "## Every ladder",
        "States (how many are exact), least share. A ladder ends when three seeds are exact and at 95 %, or one takes",
        "too long; after one that is neither, other seeds are left out. Time and memory at the largest common size.",
        "",
        *details(results),
        "",
    ]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run what is missing and write the tables."""
    parser = argparse.ArgumentParser(description="Stationary automata against AALpy and FlexFringe.")
    parser.add_argument("--quick", action="store_true", help="the goals and the smallest logs")
    parser.add_argument("--flexfringe", metavar="PATH", help="its binary; else $FLEXFRINGE, else the one on the path")
    parser.add_argument("--only", action="append", metavar="NAME", help="experiments whose name begins so")
    parser.add_argument("--into", type=Path, default=HERE, metavar="FOLDER", help="of stationary.json, STATIONARY.md")
    parser.add_argument("--again", action="store_true", help="run again what took too long")
    given = parser.parse_args(arguments)
    binary = find_flexfringe(given.flexfringe)
    methods = METHODS if binary else METHODS[:2]
    chosen = [e for e in EXPERIMENTS if not given.only or any(e.name.startswith(name) for name in given.only)]
    store: Path = given.into / "stationary.json"
    results: Results = json.loads(store.read_text(encoding="utf-8")) if store.exists() else {}
    if given.again:
        results = {key: run for key, run in results.items() if run}
    if given.quick:
        run_all(jobs_of(chosen, methods, results, SIZES[:1]), results, binary, store, at_once=2)
    else:  # what tells most comes first
        long = [Job(e, "scaling", n, SEEDS[0]) for e, n in SCALING if e in chosen]
        largest = [Job(VISIBLE, "FlexFringe", 100_000, SEEDS[0])] if binary and VISIBLE in chosen else []
        run_all(iter([largest + [job for job in long if job.n <= 100_000]]), results, binary, store, at_once=1)
        run_all(jobs_of(chosen, methods, results, (*SIZES[1:], SIZES[0])), results, binary, store, at_once=2)
        run_all(iter([long]), results, binary, store, at_once=1)
    (given.into / "STATIONARY.md").write_text(report(results), encoding="utf-8")


if __name__ == "__main__":
    main()
