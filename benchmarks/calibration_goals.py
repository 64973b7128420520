"""Goals of the calibration, the binomial tests of each, and the page that states both."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from calibration_runs import MEMORIES, Cell, Run, group

LEVEL = 0.01  # of each test
MOST_IN_CELL = 0.1  # share of the bounds of a cell that may fail


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


class Goal(NamedTuple):
    """A statement that a share is at most, or at least, some number."""

    statement: str
    most: float  # or the largest share of the opposite, if `least`
    count: Callable[[Sequence[Run]], tuple[int, int]]  # successes, and of how many
    least: bool = False

    @property
    def text(self) -> str:
        """Return the goal as it is printed."""
        return f"≥ {1 - self.most:.0%}" if self.least else f"≤ {self.most:.0%}"

    def p_value(self, runs: Sequence[Run]) -> float:
        """Return the p-value of the one-sided binomial test that the goal is met."""
        count, of = self.count(runs)
        return binomial_tail(of, of - count if self.least else count, self.most)


def _bound_fails(runs: Sequence[Run]) -> tuple[int, int]:
    rates = Rates.of(runs)
    return rates.bound_fails, rates.runs


def _noise_followed(runs: Sequence[Run]) -> tuple[int, int]:
    rates = Rates.of(one for one in runs if one.kind == "noise")
    return rates.follows, rates.runs


def _worse_followed(runs: Sequence[Run]) -> tuple[int, int]:
    rates = Rates.of(runs)
    return rates.worse_followed, rates.worse


def _gains_followed(runs: Sequence[Run]) -> tuple[int, int]:
    rates = Rates.of(runs)
    return rates.gains_followed, rates.gains


GOALS = (
    Goal("lower bound above the exact value, all logs", 0.05, _bound_fails),
    Goal('"follow" on noise', 0.05, _noise_followed),
    Goal('"follow", of plans that are worse than the log', 0.05, _worse_followed),
    Goal('"follow", of clear gains', 0.1, _gains_followed, least=True),
)


def binomial_tail(n: int, k: int, p: float) -> float:
    """Return the probability of at least k successes among n."""
    logs = [
        math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) + i * math.log(p) + (n - i) * math.log1p(-p)
        for i in range(k, n + 1)
    ]
    return min(math.fsum(map(math.exp, logs)), 1.0)


def rejected_goals(runs: Sequence[Run]) -> list[str]:
    """Return the goals that are missed: of the whole, of single cells, and of null bounds."""
    found = [goal.statement for goal in GOALS if goal.p_value(runs) < LEVEL]
    found += [f"more than 10 % of the bounds fail: {cell}" for cell in rejected_cells(runs)]
    for cell, its in group(runs).items():
        if sum(one.lower is None for one in its) > 0.2 * len(its):
            found.append(f"more than 20 % of runs without a bound: {cell}")
    return found


def rejected_cells(runs: Sequence[Run]) -> list[Cell]:
    """Return the cells in which bounds fail more often than in 10 %, by binomial tests with Bonferroni's correction."""
    by_cell = group(runs)
    found = []
    for cell, its in by_cell.items():
        rates = Rates.of(its)
        if binomial_tail(rates.runs, rates.bound_fails, MOST_IN_CELL) < LEVEL / len(by_cell):
            found.append(cell)
    return found


def report(runs: Sequence[Run]) -> Iterator[str]:
    """Yield the lines of CALIBRATION.md."""
    by_cell = group(runs)
    tried = [memory for memory in MEMORIES if any(one.memory == memory for one in runs)]
    sizes = [len(its) for its in by_cell.values()]
    yield "# Calibration of verdicts and lower bounds\n"
    yield f"`python benchmarks/calibration.py`: {len(runs):,} logs of {len(by_cell)} cells (a process, a number of"
    yield f"episodes, a kind of memory), {min(sizes)} to {max(sizes)} logs of each: noise, domains, random RDPs with"
    yield "three loggers. Exact values are known. The memory is chosen by the data (the default), or given: layers or a"
    yield "cycle. A gain is clear from 5·sd(return)/√N on. p is that of a one-sided binomial test of the goal, which is"
    yield "missed if p is below 0.01.\n"
    for memory in tried:
        its = [one for one in runs if one.memory == memory]
        yield f"| memory: {memory} | goal | measured | p |"
        yield "|---|---|---|---:|"
        for goal in GOALS:
            yield f"| {goal.statement} | {goal.text} | {share(*goal.count(its))} | {goal.p_value(its):.2g} |"
        missed = ", ".join(f"{cell.kind} {cell.episodes:,}" for cell in rejected_cells(its)) or "none"
        yield f"| cells with more than 10 % of such bounds (tests at 1 %, Bonferroni) | none | {missed} | |"
        yield f"| no lower bound, in the cell where that is most frequent | ≤ 20% | {_without_bound(its)} | |\n"
    yield "| process | episodes | memory | logs | bound fails | worse, followed | clear gains, followed |"
    yield "|---|---:|---|---:|---:|---:|---:|"
    for cell, its in sorted(by_cell.items()):
        r = Rates.of(its)
        counts = (r.runs, r.bound_fails, f"{r.worse_followed} of {r.worse}", f"{r.gains_followed} of {r.gains}")
        yield f"| {cell.kind} | {cell.episodes:,} | {cell.memory} | {' | '.join(map(str, counts))} |"


def _without_bound(runs: Sequence[Run]) -> str:
    """Name the cell with the largest share of runs without a bound."""
    rates = [Rates.of(its) for its in group(runs).values()]
    worst = max(rates, key=lambda r: r.no_bound / r.runs, default=None)
    return share(0, 0) if worst is None else share(worst.no_bound, worst.runs)


def share(count: int, of: int) -> str:
    """Format a rate with its numbers."""
    return f"{count} of {of:,}" + (f" ({count / of:.1%})" if of else "")
