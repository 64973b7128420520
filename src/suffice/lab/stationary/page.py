"""Page that compares stationary automata with those of AALpy and FlexFringe, made from results alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product
from typing import Final

from suffice.lab.experiment import Experiment, Result, Results
from suffice.lab.scoring import gained, is_exact, states_before_end
from suffice.lab.stationary.runs import (
    GOAL_SEEDS,
    GOALS,
    LOGS,
    LONG,
    METHODS,
    PEER_SIZE,
    SEEDS,
    SIZES,
    VISIBLE,
    Log,
    at,
    climbed,
    experiments,
    is_good,
    next_rungs,
)
from suffice.lab.study import Page, Study
from suffice.lab.truth import truth_for

LIMIT: Final = 60.0  # time limit in seconds if no run states it
WORSE: Final = 0.01
HEAD: Final = """# Stationary automata compared with AALpy and FlexFringe

Written by `suffice reproduce stationary --time-limit {limit}`. `lab/stationary/runs.py` lists the runs, `lab/peers` the
settings of peers. The *share* is the exact gain of the default plan over the behaviour policy, of the possible gain.
"""
NEEDED: Final = """
## Episodes needed

Episodes needed for the exact automaton, and for a share of 95 %, on seeds 11, 12 and 13; sizes as in the last table.
States are the true ones without the terminal state. †: the next size took over {limit} s or 8 GB.
"""
LONG_LOGS: Final = """
## Long logs

One run each, after compilation: CPU time, memory in addition to the process and its log, and the ratio to the time of
the layered learner. Times vary between runs.
"""
VERDICT: Final = """
## Which goals are met

Times, memory and all figures of FlexFringe were measured by an earlier version of this study, on a shared machine:
60 s of wall-clock time were 20 to 60 s of CPU time. Peers have one setting each here; with others, in
[the paper's table](table1.md), both do better, FlexFringe in 3 of 3 logs of Mini-hall from 10,000 episodes.
- Exact automaton: in ten of ten logs of both T-mazes, T-maze with noise and Mini-hall. Cheese in 8: one or two of 92
  transitions, taken fewer than ten times, always had the same random outcome. Share: 0.99 in all fifty, 0.999 in 44.
- Memory: met. Time: not met, 32 to 46 times faster than FlexFringe instead of 50 (measured again since).
  A million episodes take 3.7 to 5.6 times as long as with the layered learner; the goal was 5.
- Fewer episodes than every baseline, or as many if both need only the smallest log: met except for T-maze of length 100
  east (also exact from 1,000 episodes, in 1 s when measured again since; FlexFringe takes 1 s).
- Never a worse policy: met on all logs that both learned from.
- Not reached in 60 s: T-maze of length 20 uniform (15 of 43 states at 3,000; few walk that far), rotating maze, 128
  columns. Two-keys: 28 of 30 states at 10,000 episodes; the last two are visited in one of 500 episodes.
"""
LADDERS: Final = """
## All runs
States (number of exact runs), smallest share. Sizes increase until three seeds are exact with a share of 95 %, or one
takes too long; after a run that is neither, other seeds are omitted. Time and memory are at the largest common size.
"""


def analyse(results: Results) -> Page:
    """Make the page from the available results."""
    limit = f"{max((run.limit for run in results.values()), default=0.0) or LIMIT:g}"
    lines = [
        *HEAD.format(limit=limit).splitlines(),
        *NEEDED.format(limit=limit).splitlines(),
        *("", *_needed(results), "", *_better_peers(results)),
        *("", f"## Goals, seeds {GOAL_SEEDS[0]} to {GOAL_SEEDS[-1]}", "", *_goals(results)),
        *(*LONG_LOGS.splitlines(), "", *_long(results)),
        *VERDICT.splitlines(),
        *(*LADDERS.splitlines(), "", *_ladders(results, limit)),
    ]
    return Page("\n".join(lines) + "\n")


def _needed(results: Results) -> Iterator[str]:
    heads = [f"{what}: {method}" for what in ("exact", "95 %") for method in METHODS]
    yield f"| log | states | {' | '.join(heads)} |"
    yield "|---|---|---|---|---|---|---|---|"
    for log in LOGS:
        cells = [needed(log, method, fine, results) for fine in (is_exact, is_good) for method in METHODS]
        yield f"| {log.name} | {_true_states(log)} | {' | '.join(cells)} |"


def needed(log: Log, method: str, fine: Callable[[Result], bool], results: Results) -> str:
    """Return the size from which on the runs of all seeds are fine, or the largest size at which one is not."""
    runs = {n: at(log, method, n, results) for n in SIZES}
    late = any(run.stopped for n in SIZES for run in runs[n])
    failed = [n for n in SIZES if any(not run.stopped and not fine(run) for run in runs[n])]
    passed = [n for n in SIZES if len(runs[n]) == len(SEEDS) and all(map(fine, runs[n]))]
    enough = [n for n in passed if n > max(failed, default=0)]
    if enough:
        return f"{enough[0]:,}"
    return f"> {failed[-1]:,}{' †' * late}" if failed else "†" if late else "not run"


def _true_states(log: Log) -> int:
    true = truth_for(log.by(METHODS[0], SIZES[0], SEEDS[0])).stationary
    assert true is not None  # each of these domains has a finite one
    return states_before_end(true)


def _better_peers(results: Results) -> Iterator[str]:
    """Count how often a peer's plan is better than ours on the same log."""
    for method in METHODS[1:]:
        pairs = [
            (gained(theirs) - gained(ours), f"{log.name} ({n:,})")
            for log in LOGS
            for n, runs in climbed(log, METHODS[0], results).items()
            for ours, theirs in product(runs, climbed(log, method, results)[n])
            if ours.experiment.seed == theirs.experiment.seed and not ours.stopped and not theirs.stopped
        ]
        lost = sorted({name for gap, name in pairs if gap > WORSE})
        most = max((gap for gap, _ in pairs), default=0.0)
        yield (
            f"- {method}: its plan is better than ours by more than {WORSE} on "
            f"{sum(gap > WORSE for gap, _ in pairs)} of the {len(pairs)} logs that both learned from, by at most "
            f"{max(most, 0):.2f}; ours is better on "
            f"{sum(gap < -WORSE for gap, _ in pairs)}."
            + (f" Its plan is better on: {', '.join(lost)}." if lost else "")
        )


def _ended(results: Results, experiment: Experiment) -> Result | None:
    run = results.get(experiment.id)
    return None if run is None or run.stopped else run


def _goals(results: Results) -> Iterator[str]:
    yield "| log | episodes | exact, of ten | share ≥ 0.999 | share ≥ 0.99 | smallest share |"
    yield "|---|---|---|---|---|---|"
    for log, n in GOALS:
        runs = [run for seed in GOAL_SEEDS if (run := _ended(results, log.by(METHODS[0], n, seed)))]
        shares = [gained(run) for run in runs]
        counts = [sum(map(is_exact, runs)), *(sum(share >= least for share in shares) for least in (0.999, 0.99))]
        yield f"| {log.name} | {n:,} | {' | '.join(map(str, counts))} | {min(shares, default=0):.3f} |"


def _long(results: Results) -> Iterator[str]:
    sizes = sorted({n for _, n in LONG})
    yield f"| log | {' | '.join(f'{n:,}' for n in sizes)} |"
    yield "|---|" + "---|" * len(sizes)
    for log in dict.fromkeys(log for log, _ in LONG):
        yield f"| {log.name} | {' | '.join(_long_cell(results, log, n) for n in sizes)} |"
    yield ""
    ours, theirs = (_ended(results, VISIBLE.by(method, PEER_SIZE, SEEDS[0])) for method in ("suffice", "FlexFringe"))
    if ours is None or theirs is None:
        yield "FlexFringe was not run."
        return
    yield (
        f"FlexFringe on {PEER_SIZE:,} episodes of {VISIBLE.name}: {theirs.seconds:.1f} CPU seconds and "
        f"{theirs.bytes / 1e6:,.0f} MB: **{theirs.seconds / ours.seconds:.0f} times** our time and "
        f"**{theirs.bytes / _above_log(ours):.0f} times** our memory."
    )


def _long_cell(results: Results, log: Log, n: int) -> str:
    ours, layers = (_ended(results, log.experiment(name, n, SEEDS[0])) for name in ("stationary", "layers"))
    if ours is None or layers is None:
        return "not run"
    cost = f"{ours.seconds:.2f} s, {_above_log(ours) / 1e6:.0f} MB, {ours.seconds / layers.seconds:.1f} times"
    return cost + ("" if is_exact(ours) else ", not exact")


def _above_log(run: Result) -> int:
    """Return peak memory without the log, which takes a byte per step and is included for our learners."""
    e = run.experiment
    return run.bytes - (e.horizon + 1) * e.episodes * (e.learner in ("stationary", "layers"))


def _ladders(results: Results, limit: str) -> Iterator[str]:
    sizes = [n for n in SIZES if any(at(log, method, n, results) for log, method in product(LOGS, METHODS))]
    yield f"| log | method | {' | '.join(f'{n:,}' for n in sizes)} | CPU s, MB |"
    yield "|---|---|" + "---|" * (len(sizes) + 1)
    for log in LOGS:
        runs = {(method, n): of for method in METHODS for n, of in climbed(log, method, results).items()}
        ended = {key: bool(group) and not any(run.stopped for run in group) for key, group in runs.items()}
        common = [n for n in sizes if all(ended[method, n] for method in METHODS)]
        for method in METHODS:
            cost = _cost(runs[method, common[-1]], common[-1]) if common else ""
            cells = " | ".join(_rung(runs[method, n], limit) for n in sizes)
            yield f"| {log.name if method == METHODS[0] else ''} | {method} | {cells} | {cost} |"


def _cost(runs: list[Result], n: int) -> str:
    seconds, peak = (math.fsum(of) / len(runs) for of in ((r.seconds for r in runs), map(_above_log, runs)))
    return f"{seconds:.2f}, {peak / 1e6:.0f} at {n:,}"


def _rung(runs: list[Result], limit: str) -> str:
    """Return states, number of exact runs, and smallest share."""
    ended = [run for run in runs if not run.stopped]
    if not ended:
        return f"> {limit} s" if runs else ""
    states = sorted({_states(run) for run in ended})
    counts = f"{states[0]}–{states[-1]}" if len(states) > 1 else str(states[0])
    exact = f" ({sum(map(is_exact, ended))} exact)" if any(map(is_exact, ended)) else ""
    late = f", others > {limit} s" if len(ended) < len(runs) else ""
    return f"{counts}{exact}, {min(map(gained, ended)):.2f}{late}"


def _states(run: Result) -> int:
    """Return the states without the terminal state, if the result contains that number."""
    return run.states if run.before_end is None else run.before_end


STATIONARY: Final = Study(
    "stationary", "Stationary automata compared with AALpy and FlexFringe", experiments, analyse, next_rungs
)
