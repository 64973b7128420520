"""The paper's Table 1, reproduced with minimal automata, optimal returns, memory, peers and more learners."""

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
PEER_SEEDS: Final = SEEDS[:3]  # peers are slow
SIZES: Final = (1_000, 10_000, 100_000)
QUICK_SIZE: Final = 10_000

NOTES: Final = """Numbers are means over seeds with standard errors; states are medians. Values of policies are exact
expectations, not samples: the mean *return*, the return *per step* (divided by the mean number of decisions), and
*success*, the share of episodes with a positive reward. CPU seconds and peak memory are those of learning, in a
separate process. Memory includes the log as the learner reads it, except for AALpy; FlexFringe's seconds include
reading and writing text files, which the others do not need. On a shared machine the time of the same run can vary by
a factor of two.

Differences from the paper, and choices that it does not specify:
- The numbers of episodes, and the behaviour policy, which is uniform over all actions.
- δ = 0.001 for each test. The test of the paper is `--bound paper`; Fisher's exact test is our default.
- The planner is the same for all automata, including those of peers: that of `suffice learn`, with the counts of the
  episodes from which the automaton was learned. The paper splits the episodes, and plans on the other half.
- Peers are run on traces with a termination symbol, as in the paper, and without. Of these and of several settings of
  a peer, the best in hindsight is shown for each domain and size. Automata of FlexFringe and AALpy may have cycles.
- FlexFringe's css is meant to compare sketches; in the version that we ran, ALERGIA's test decides and sketches only
  rank merges.
- The paper's own rows are repeated for every size, because the paper does not state its sizes.
- A run that exceeds the time limit or 8 GiB is stopped, and its row says so.

`suffice learn` chooses the memory on held-out episodes and learns it from all; the other two rows are given the kind.
The minimal *stationary* automaton is the smallest one that does not depend on the step. `--stationary yes` and peers,
which learn such automata, may correctly have even fewer states, because states that no episode of the given horizon
distinguishes may be merged.
"""

PRINTED: Final[tuple[tuple[str, Callable[[Row], Printed | None]], ...]] = (
    ("*the paper's* FlexFringe", lambda row: row.flexfringe),
    ("*the paper's* CMS", lambda row: row.sketch),
    ("*the paper's* X₁₁₁", lambda row: row.languages),
)
HEAD: Final = ("learner", "states", "mean return", "per step", "success", "CPU s", "MB")


@dataclass(frozen=True, slots=True)
class Method:
    """A row of the table: a learner, or several of which the best is shown in each domain."""

    title: str
    learners: tuple[str, ...]

    def best(self, runs: Results, row: Row, n: int) -> list[Result]:
        """Return the runs of the learner with the highest mean return, then the fewest states.

        Only learners with the largest number of finished seeds are considered; if none finished, stopped runs are
        returned.
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
    Method("`suffice learn`", ("default",)),
    Method("`suffice learn --stationary no`", ("layers",)),
    Method("`suffice learn --stationary yes`", ("stationary",)),
)
PEERS: Final = {"flexfringe": flexfringe.ABSENT, "aalpy": alergia.ABSENT}  # and the message if one is not installed
METHODS: Final = (*FLEXFRINGE, AALPY, *OURS)
IN_BRIEF: Final = (
    Method("FlexFringe, best of all settings", tuple(name for method in FLEXFRINGE for name in method.learners)),
    Method("AALpy, best of all settings", AALPY.learners),
    *(method for method in OURS if method.learners[0] in ("default", "layers", "stationary")),
)


def experiments(quick: bool) -> list[Experiment]:
    """List the runs, small logs first, so that an interrupted study has results."""
    sizes, most = ((QUICK_SIZE,), 1) if quick else (SIZES, len(SEEDS))
    runs = [(learner, s) for m in OURS for learner in m.learners for s in SEEDS[:most]]
    runs += [(learner, s) for m in (*FLEXFRINGE, AALPY) for learner in m.learners for s in PEER_SEEDS[:most]]
    return [row.experiment(learner, n, seed) for n in sizes for learner, seed in runs for row in TABLE_1]


def analyse(results: Results) -> Page:
    """Make a table for each domain and size of logs."""
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
    texts = [f"{', '.join(map(str, s))} for {who}" for s, who in zip(seeds, ("ours", "peers"), strict=True) if s]
    there = {run.experiment.learner.partition("/")[0] for run in results.values()}
    absent = [text for peer, text in PEERS.items() if peer not in there]
    return f"Seeds {' and '.join(texts)}.\n{NOTES}" + "".join(f"\n**{text}.**\n" for text in absent)


def summary(results: Results, n: int = SIZES[-1]) -> str:
    """Return the small table of the README, with states, return and seconds of the main methods."""
    head = [f"{n:,} episodes", *(row.title for row in TABLE_1)]
    known = [ground_truth(row.name, (), row.horizon) for row in TABLE_1]
    truth = [f"{k.truth.minimal.n_states} · {float(k.truth.optimal_value):.3g}" for k in known]
    lines = [["minimal automaton · optimal return", *truth]]
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
    truth, stationary = known.truth, known.stationary
    values = f"V* = {float(truth.optimal_value):.4g}, behaviour policy {float(truth.behaviour.mean_return):.4g}"
    cyclic = f", the minimal stationary one {stationary.n_states}" if stationary else ""
    return f"The minimal automaton has Q_min = {truth.minimal.n_states} states{cyclic}. Mean returns: {values}.\n"


def _printed(row: Row) -> list[list[str]]:
    """Return the rows that the paper prints."""

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
    """Return the setting of a peer, from the name of the learner."""
    return run.experiment.learner.removeprefix("flexfringe/")


def _with_error(runs: Sequence[Result], field: str) -> str:
    found = Estimate.mean(np.array([getattr(run, field) for run in runs]))
    return f"{found.value:.3g}" + (f" ± {found.error:.2g}" if len(runs) > 1 and found.error >= 5e-4 else "")


TABLE1: Final = Study("table1", "Table 1 of the paper, reproduced", experiments, analyse)
