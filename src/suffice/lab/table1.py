"""The paper's Table 1 again, with what it lacks: the minimal automaton, the optimum, memory, peers, more learners."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean, median
from typing import Final

import numpy as np

from suffice.evidence.estimates import Estimate
from suffice.lab.experiment import Experiment, Result, Results
from suffice.lab.paper import TABLE_1, Printed, Row
from suffice.lab.peers import alergia, best_settings, flexfringe
from suffice.lab.study import Page, Study, brief, cell, table
from suffice.lab.truth import ground_truth

SEEDS: Final = (11, 12, 13, 14, 15)
PEER_SEEDS: Final = SEEDS[:3]  # they take long
SIZES: Final = (1_000, 10_000, 100_000)
QUICK_SIZE: Final = 10_000

NOTES: Final = """Numbers are means over them with standard errors, states medians. Values of policies are expected
ones, computed, not sampled: the mean *return*, the return *per step* (over the mean number of decisions), and
*success*, the share of episodes with any positive reward. CPU seconds and peak memory are those of learning, in a
process of its own. Memory includes the log as the learner reads it, but for AALpy, where it does not; FlexFringe's
seconds include reading its text and writing its answer, which others are spared. On a shared machine the same run can
take twice as long at another time.

What differs from the paper, or is left open by it:
- The numbers of episodes, and the behaviour, which is uniform over all actions.
- δ = 0.001 for each test. The test of the paper is `--bound paper`; Fisher's is our default.
- The plan is the same on all automata, the peers' too: that of `suffice learn`, from the counts of the episodes that
  the automaton was learned from. The paper splits them, and plans on the other half.
- Peers get traces with a termination symbol, as in the paper, and without one; of these and several settings of a peer
  the best in hindsight counts, in each domain and for each size. FlexFringe's automata may have cycles, AALpy's too.
- FlexFringe's css means to compare sketches, but in the version we ran ALERGIA's test decides, and sketches only rank.
- The paper's own lines stand under every size, for it does not say what its sizes were.
- A run that takes too long or over 8 GiB is given up, and its line says so.

*For all times alike* is the smallest automaton that need not know the step. Learners that look for it, `--stationary`
and peers, may rightly have fewer states still: what no episode of the horizon can show need not be told apart.
"""

PRINTED: Final[tuple[tuple[str, Callable[[Row], Printed | None]], ...]] = (
    ("*the paper's* FlexFringe", lambda row: row.flexfringe),
    ("*the paper's* CMS", lambda row: row.sketch),
    ("*the paper's* X₁₁₁", lambda row: row.languages),
)
HEAD: Final = ("learner", "states", "mean return", "per step", "success", "CPU s", "MB")


@dataclass(frozen=True, slots=True)
class Method:
    """A line of the table: a learner, or several of which the best counts in each domain."""

    title: str
    learners: tuple[str, ...]

    def best(self, runs: Results, row: Row, n: int) -> list[Result]:
        """The runs of the learner with the highest mean return, the fewest states among equals; hindsight helps it.

        Those with the most seeds that ended; where none did, those that were stopped.
        """
        found = [self._runs(learner, runs, row, n) for learner in self.learners]
        ended = [group for group in found if group and not any(run.stopped for run in group)]
        most = [group for group in ended if len(group) == max(map(len, ended))]
        if not most:
            return next((group for group in found if group), [])
        return min(most, key=lambda g: (-round(fmean(r.mean_return for r in g), 6), fmean(r.states for r in g)))

    def _runs(self, learner: str, runs: Results, row: Row, n: int) -> list[Result]:
        wanted = (row.experiment(learner, n, seed).id for seed in SEEDS)
        return [runs[id] for id in wanted if id in runs]


FLEXFRINGE: Final = tuple(Method(f"FlexFringe, {test}", names) for test, names in best_settings.FLEXFRINGE.items())
AALPY: Final = Method("AALpy, ALERGIA", best_settings.AALPY)
OURS: Final = (
    Method("AdaCT-H, CMS, the paper's test", ("sketch/paper",)),
    Method("AdaCT-H, CMS, Fisher's test", ("sketch/fisher",)),
    Method("AdaCT-H, exact prefixes, the paper's test", ("prefixes/paper",)),
    Method("AdaCT-H, exact prefixes, Fisher's test", ("prefixes/fisher",)),
    Method("AdaCT-H, X₁₁₁, the paper's test", ("1,1,1/paper",)),
    Method("AdaCT-H, X₁₁₁, Fisher's test", ("1,1,1/fisher",)),
    Method("`suffice learn`", ("layers",)),
    Method("`suffice learn --stationary`", ("stationary",)),
)
PEERS: Final = {"flexfringe": flexfringe.ABSENT, "aalpy": alergia.ABSENT}  # and what to say when they are not there
METHODS: Final = (*FLEXFRINGE, AALPY, *OURS)
IN_BRIEF: Final = (
    Method("FlexFringe, the best of all settings", tuple(name for method in FLEXFRINGE for name in method.learners)),
    Method("AALpy, the best of all settings", AALPY.learners),
    *OURS,
)


def experiments(quick: bool) -> list[Experiment]:
    """Small logs first, so that a stopped run has something to show."""
    sizes, most = ((QUICK_SIZE,), 1) if quick else (SIZES, len(SEEDS))
    runs = [(learner, s) for m in OURS for learner in m.learners for s in SEEDS[:most]]
    runs += [(learner, s) for m in (*FLEXFRINGE, AALPY) for learner in m.learners for s in PEER_SEEDS[:most]]
    return [row.experiment(learner, n, seed) for n in sizes for learner, seed in runs for row in TABLE_1]


def analyse(results: Results) -> Page:
    """One table for each domain and size of logs."""
    sizes = sorted({run.experiment.episodes for run in results.values()})
    parts = [f"# {TABLE1.title}\n", _notes(results)]
    for row in TABLE_1:
        parts += [f"## {row.title}, H = {row.horizon}\n", _truth(row)]
        for n in sizes:
            rows = [*_printed(row), *(_cells(method, results, row, n) for method in METHODS)]
            parts += [f"{n:,} episodes:\n", table(HEAD, rows)]
    return Page("\n".join(parts))


def _notes(results: Results) -> str:
    peers = [run.experiment.learner.startswith(tuple(PEERS)) for run in results.values()]
    seeds = [
        sorted({run.experiment.seed for run, peer in zip(results.values(), peers, strict=True) if peer == theirs})
        for theirs in (False, True)
    ]
    told = [f"{', '.join(map(str, s))} for {who}" for s, who in zip(seeds, ("ours", "peers"), strict=True) if s]
    there = {run.experiment.learner.partition("/")[0] for run in results.values()}
    absent = [text for peer, text in PEERS.items() if peer not in there]
    return f"Seeds {' and '.join(told)}.\n{NOTES}" + "".join(f"\n**{text}.**\n" for text in absent)


def summary(results: Results, n: int = SIZES[-1]) -> str:
    """The table of the README: states, return and seconds of the best in each line."""
    head = [f"{n:,} episodes", *(row.title for row in TABLE_1)]
    known = [ground_truth(row.name, (), row.horizon) for row in TABLE_1]
    truth = [f"{k.truth.minimal.n_states} · {float(k.truth.optimal_value):.3g}" for k in known]
    lines = [["minimal automaton · best return", *truth]]
    for title, of in PRINTED:
        cells = [of(row) for row in TABLE_1]
        lines.append([title, *(f"{c.states} · r {c.r:g} · {c.seconds:g} s" if c else "> 1800 s" for c in cells)])
    for method in IN_BRIEF:
        lines.append([method.title, *(_brief(method.best(results, row, n)) for row in TABLE_1)])
    return table(head, lines)


def _brief(runs: Sequence[Result]) -> str:
    if not runs or any(run.stopped for run in runs):
        return _stopped(runs)
    states, value = median(run.states for run in runs), fmean(run.mean_return for run in runs)
    return f"{states:g} · {value:.3g} · {brief(fmean(run.seconds for run in runs))} s"


def _truth(row: Row) -> str:
    known = ground_truth(row.name, (), row.horizon)
    truth, folded = known.truth, known.stationary
    values = f"V* = {float(truth.optimal_value):.4g}, the behaviour's {float(truth.behaviour.mean_return):.4g}"
    tied = f" ({folded.n_states} for all times alike)" if folded else ""
    return f"The minimal automaton has Q_min = {truth.minimal.n_states} states{tied}; {values}.\n"


def _printed(row: Row) -> list[list[str]]:
    """What the paper has, as far as it goes."""

    def cells(printed: Printed | None) -> list[str]:
        if printed is None:
            return ["–", "–", "", "", "> 1800", ""]
        error = "" if printed.error is None else f" ± {printed.error:g}"
        return [str(printed.states), f"r = {printed.r:g}{error}", "", "", f"{printed.seconds:g}", ""]

    return [[title, *cells(of(row))] for title, of in PRINTED]


def _cells(method: Method, results: Results, row: Row, n: int) -> list[str]:
    runs = method.best(results, row, n)
    which = f" ({_settings(runs[0])})" if runs and len(method.learners) > 1 else ""
    if not runs or any(run.stopped for run in runs):
        return [method.title + which, _stopped(runs), *[""] * (len(HEAD) - 2)]
    return [
        method.title + which,
        f"{median(run.states for run in runs):g}",
        *(_with_error(runs, field) for field in ("mean_return", "return_per_step", "success_rate")),
        brief(fmean(run.seconds for run in runs)),
        "< 1" if (megabytes := fmean(run.bytes for run in runs) / 1e6) < 1 else brief(megabytes),
    ]


def _stopped(runs: Sequence[Result]) -> str:
    return cell(min(run.stopped for run in runs if run.stopped)) if runs else "not run"


def _settings(run: Result) -> str:
    """Which of a peer's settings: by the name of the learner."""
    return run.experiment.learner.removeprefix("flexfringe/")


def _with_error(runs: Sequence[Result], field: str) -> str:
    found = Estimate.mean(np.array([getattr(run, field) for run in runs]))
    return f"{found.value:.3g}" + (f" ± {found.error:.2g}" if len(runs) > 1 and found.error >= 5e-4 else "")


TABLE1: Final = Study("table1", "Table 1 of the paper, again", experiments, analyse)
