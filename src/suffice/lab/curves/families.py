"""Ablation of language families, which shows what languages are needed and what additional ones cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

from suffice.domains.exact.distances import closest_in, futures, letters_as_log
from suffice.errors import SufficeError
from suffice.evidence.adaptive import ADAPTIVE
from suffice.evidence.languages import Family, patterns_of
from suffice.lab.curves.summaries import NO_RESULT, REFUSED, done, found, joined, middle, present, recovered
from suffice.lab.experiment import Experiment, Result, Results
from suffice.lab.paper import TABLE_1, Row
from suffice.lab.plotting import BLUE, SKY, Band, legend_below, panels
from suffice.lab.scoring import gained
from suffice.lab.study import Page, Study, brief, table
from suffice.lab.truth import ground_truth

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COMPARED: Final = ("1,1,1", "2,1,1", "3,1,1", "1,2,1", "2,2,1", "1,1,2", "conjunctions", ADAPTIVE)
QUICK: Final = ("1,1,1", "2,1,1", "1,1,2", "conjunctions", ADAPTIVE)
HEAVY: Final = "2,2,1"  # one seed and the smaller logs, because it runs for a minute before it exceeds its memory
SEEDS: Final = (320, 321, 322)
SIZES: Final = (10_000, 100_000)
COLOURS: Final = dict(zip(SIZES, (SKY, BLUE), strict=True))

# |X| times states up to which distances are computed, by j; families of single patterns are always fast
WORK: Final = {1: 120_000, 2: 20_000}


def experiments(quick: bool) -> list[Experiment]:
    """List the runs, small logs first."""
    sizes, seeds, families = (SIZES[:1], SEEDS[:1], QUICK) if quick else (SIZES, SEEDS, COMPARED)
    return [
        row.experiment(f"{family}/fisher", n, seed)
        for n in sizes
        for seed in seeds
        for row in TABLE_1
        for family in families
        if family != HEAVY or (seed, n) == (SEEDS[0], SIZES[0])
    ]


class Exact(NamedTuple):
    """Exact properties of a family, which need no data."""

    size: int | None = None  # |X| in layer 1
    distance: float | None = None  # μ₀


@cache
def exact(domain: str, horizon: int, name: str) -> Exact:
    """Compute what `suffice exact` reports, in doubles: a hundred times as fast, and right to twelve digits."""
    if name == ADAPTIVE:
        return Exact()
    family, minimal = Family.parse(name), ground_truth(domain, (), horizon).truth.minimal
    arrows = tuple(replace(a, probability=a.probability.astype(float)) for a in minimal.arrows)
    minimal = replace(minimal, arrows=arrows, rational=False)
    try:
        size = family.size(patterns_of(family, letters_as_log(minimal).outline).formal, horizon)
        if not family.is_simple and size * minimal.n_states > WORK[family.j]:
            return Exact(size)
        closest = [near for layer in futures(minimal, family) if (near := closest_in(layer))]
    except SufficeError:  # too large
        return Exact()
    return Exact(size, min((float(near.distance) for near in closest), default=1.0))


def analyse(results: Results) -> Page:
    """Make a table for each domain, and a figure of shares gained and states recovered."""
    wanted = experiments(False)
    parts = [
        f"## {FAMILY_STUDY.title}\n",
        "X_{i,j,k} has patterns of i levels of unions and intersections of single facts about a step, words of up to j "
        "patterns, and k levels of unions and intersections of languages. If μ₀ = 0, a family cannot distinguish some "
        "pair of states, whatever the number of episodes (the return suffers only if the states need different "
        "actions). The threshold of every test grows with the number of languages |X|, and so do time and memory. "
        f"Fisher's exact test; cells are N = {SIZES[0]:,} → {SIZES[1]:,}, medians over seeds; *gained* is the share of "
        f"an optimal policy's gain over the behaviour policy; {NO_RESULT}: not run, or slow to compute.",
        present(results, wanted).sentence + "\n",
        "![Share gained and states recovered by family](families.svg)\n",
        *(table(_head(row), _rows(row, results)) for row in TABLE_1),
        _verdict(results),
    ]
    return Page("\n".join(parts), (("families", _figure(results)),))


def _head(row: Row) -> tuple[str, ...]:
    minimal = ground_truth(row.name, (), row.horizon).truth.minimal
    return (f"{row.title}, Q_min = {minimal.n_states}", *COMPARED)


def _rows(row: Row, results: Results) -> list[list[str]]:
    known = [exact(row.name, row.horizon, family) for family in COMPARED]
    measures: tuple[tuple[str, Callable[[Result], float], str], ...] = (
        ("states", lambda run: run.states, "g"),
        ("gained", gained, ".2f"),
        ("CPU s", lambda run: run.seconds, ".2g"),
        ("MB", lambda run: run.bytes / 1e6, ".2g"),
    )
    return [
        ["\\|X\\|", *(NO_RESULT if e.size is None else brief(e.size) for e in known)],
        ["μ₀", *(NO_RESULT if e.distance is None else f"{e.distance:.2g}" for e in known)],
        *([name, *(_cell(row, f, results, of, form) for f in COMPARED)] for name, of, form in measures),
    ]


def _runs(row: Row, family: str, n: int, results: Results) -> list[Result]:
    return found(results, (row.experiment(f"{family}/fisher", n, seed) for seed in SEEDS))


def _cell(row: Row, family: str, results: Results, of: Callable[[Result], float], form: str) -> str:
    return " → ".join(_part(_runs(row, family, n, results), of, form) for n in SIZES)


def _part(runs: Sequence[Result], of: Callable[[Result], float], form: str) -> str:
    if not runs:
        return NO_RESULT
    if finished := done(runs):
        value = middle(finished, of)
        return f"{value:,.0f}" if abs(value) >= 100 and form != "g" else format(value, form)
    return REFUSED if runs[0].stopped.startswith(REFUSED) else runs[0].stopped


def _verdict(results: Results) -> str:
    """List the families that cannot distinguish some states, and those among the best in every domain."""
    blind = {f: [row.title for row in TABLE_1 if exact(row.name, row.horizon, f).distance == 0] for f in COMPARED}
    listed = [f"{family} ({joined(rows)})" for family, rows in blind.items() if rows]
    lines = [f"Families with μ₀ = 0: {joined(listed)}."] if listed else []
    for n in SIZES:
        best = [family for family in COMPARED if _among_best(family, n, results)]
        if best:
            lines.append(f"Within 0.01 of the best share gained in every domain at N = {n:,}: {joined(best)}.")
        elif any(_shares(row, n, results) for row in TABLE_1):
            lines.append(f"No family is within 0.01 of the best share gained in every domain at N = {n:,}.")
    return " ".join(lines) + "\n"


def _shares(row: Row, n: int, results: Results) -> dict[str, float]:
    finished = {family: done(_runs(row, family, n, results)) for family in COMPARED}
    return {family: middle(runs, gained) for family, runs in finished.items() if runs}


def _among_best(family: str, n: int, results: Results) -> bool:
    shares = [_shares(row, n, results) for row in TABLE_1]
    return all(family in share and share[family] >= max(share.values()) - 0.01 for share in shares)


def _figure(results: Results) -> Figure:
    figure, axes = panels(2, len(TABLE_1), wide=2.1, high=2.3)
    places = {family: -place for place, family in enumerate(COMPARED)}
    for column, row in enumerate(TABLE_1):
        for line, (of, label) in enumerate(((gained, "share gained"), (recovered, "states recovered"))):
            ax = axes[line][column]
            for shift, n in zip((0.18, -0.18), SIZES, strict=True):
                for family, place in places.items():
                    _dot(ax, _runs(row, family, n, results), of, place + shift, n)
            ax.set_yticks(list(places.values()), places if not column else [""] * len(places))
            ax.set_ylim(0.6 - len(COMPARED), 0.6)
            ax.set_xlim(min(-0.06, ax.get_xlim()[0]), 1.06)
            ax.set_xlabel(label, fontsize=8)
            if not line:
                ax.set_title(row.title, fontsize=9)
    legend_below(figure, axes)
    return figure


def _dot(ax: Axes, runs: Sequence[Result], of: Callable[[Result], float], y: float, n: int) -> None:
    """Draw a mean with its interval, or a cross at the left for a family that is too large."""
    if finished := done(runs):
        band = Band.of([of(run) for run in finished])
        ax.plot((band.low, band.high), (y, y), color=COLOURS[n], linewidth=1)
        ax.plot(band.mean, y, "o", color=COLOURS[n], markersize=4.5, label=f"N = {n:,}")
    elif runs:
        ax.plot(0, y, "x", color="#999999", markersize=4.5, label="too large")


FAMILY_STUDY: Final = Study("families", "The (i, j, k) ablation", experiments, analyse)
