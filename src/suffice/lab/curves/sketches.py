"""Memory saved by a Count-Min-Sketch, measured and compared with the theory of tables, lists and sketches."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from suffice.data.episodes import MAX_EPISODES
from suffice.domains.exact.distances import letters_as_log
from suffice.evidence.prefix_sketch import BYTES_PER_SUFFIX, SketchPlan
from suffice.evidence.prefix_tree import PrefixPlan
from suffice.evidence.sketch import BYTES_PER_COUNTER
from suffice.lab.curves.summaries import NO_RESULT, by_learner, grouped, middle, present
from suffice.lab.experiment import Experiment, Result, Results
from suffice.lab.paper import TABLE_1
from suffice.lab.plotting import legend_below, line, look_of, named, panels
from suffice.lab.study import Page, Study, brief, table
from suffice.lab.truth import ground_truth

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS: Final = tuple(row for row in TABLE_1 if row.name in ("cookie", "mini-hall"))
PAIRS: Final = (("prefixes/paper", "sketch/paper"), ("prefixes/fisher", "sketch/fisher"))  # exact, sketched
SEEDS: Final = (311, 312, 313)
SIZES: Final = (1_000, 3_000, 10_000, 30_000, 100_000, 300_000)
MOST_CELLS: Final = 30_000  # largest log with Fisher's test, for which a sketch compares all its cells
DELTA: Final = 1e-3


def experiments(quick: bool) -> list[Experiment]:
    """List the runs, small logs first."""
    sizes, seeds = (SIZES[:4], SEEDS[:1]) if quick else (SIZES, SEEDS)
    return [
        Experiment(domain=row.name, horizon=row.horizon, episodes=n, seed=seed, learner=learner, delta=DELTA)
        for n in sizes
        for row in ROWS
        for seed in seeds
        for pair in PAIRS[: 2 if n <= MOST_CELLS else 1]
        for learner in pair
    ]


class Sizes(NamedTuple):
    """Bytes of the counts of all prefixes in the first layer, for a sample of all N episodes."""

    dense: int  # a table of all (ARO)^ℓ prefixes
    nodes: int  # exact: at most one count per episode and length
    suffixes: int  # exact, as a list of suffixes, if all of them differ
    sketch: int  # ℓ sketches of d × w cells
    order: int  # sorted suffixes of the whole log, from which both are made


@cache
def sizes(domain: str, horizon: int, n: int) -> Sizes:
    """Compute the sizes by docs/theory.md, section 5, with the constants of this library."""
    log = letters_as_log(ground_truth(domain, (), horizon).truth.minimal)
    many = replace(log, weight=np.array([n], np.int64)).outline
    prefixes = PrefixPlan(many).size(horizon, DELTA) // 2
    shape = SketchPlan(many, 0, cells_are_events=False).shape(horizon, DELTA)
    return Sizes(
        BYTES_PER_COUNTER * prefixes,
        BYTES_PER_COUNTER * n * horizon,
        BYTES_PER_SUFFIX * n,
        horizon * shape.cell_bytes,
        4 * n * (horizon + 2),
    )


@cache
def pays_from(domain: str, horizon: int) -> int | None:
    """Return the smallest sample whose sketches are smaller than the list of its suffixes, if all suffixes differ."""

    def pays(n: int) -> bool:  # a list grows with n, a sketch with √n
        at = sizes(domain, horizon, n)
        return at.sketch < at.suffixes

    least = bisect_left(range(MAX_EPISODES), True, lo=1, key=pays)
    return least if pays(least) else None


def analyse(results: Results) -> Page:
    """Compare measured memory with theory in a figure and a table."""
    wanted = experiments(False)
    there = present(results, wanted)
    runs = there.runs
    parts = [
        f"## {SKETCHES.title}\n",
        "The paper sketches prefix counts because a table of all (ARO)^ℓ prefixes would not fit into memory. But N "
        "episodes have at most N prefixes of each length, and the exact counts of those form a sparse tree. This study "
        "runs AdaCT-H with both. Grey lines are the memory of one sample of all N episodes by theory, in layer 1 "
        f"(ℓ = H), with δ = {DELTA:g}: a sketch has d = ⌈ln 1/δ_c⌉ rows and w = ⌈e/ε⌉ columns for each of ℓ lengths; "
        "the sketches of a small sample are *larger* than the list of all its suffixes. Medians over seeds; below a "
        "megabyte, memory that the process had allocated before hides part of the use.",
        there.sentence + "\n",
        "![Peak memory against episodes](sketches.svg)\n",
        "".join(_theory(row.name, row.title, row.horizon) for row in ROWS),
        "Measured megabytes (states learned), and memory of the sketch ÷ memory of exact counts.\n",
        table(("domain, N", *(named(name) for pair in PAIRS for name in pair), *_quotients()), _rows(runs)),
        _verdict(runs),
    ]
    return Page("\n".join(parts), (("sketches", _figure(runs)),))


def _theory(domain: str, title: str, horizon: int) -> str:
    n = SIZES[-1]
    at, least = sizes(domain, horizon, n), pays_from(domain, horizon)
    where = f"only for {least:,} or more episodes, all different" if least else "at no size"
    return (
        f"- {title}, ℓ = {horizon}, N = {n:,}: dense table {_mb(at.dense)}; exact sparse counts at most "
        f"{_mb(at.nodes)}, as a list of suffixes {_mb(at.suffixes)}; sketches {_mb(at.sketch)}. Sketches are smaller "
        f"than the list of a sample's suffixes {where}.\n"
    )


def _mb(size: float) -> str:
    return f"{brief(size / 1e6)} MB"


def _quotients() -> tuple[str, ...]:
    return tuple(f"÷, {exact.partition('/')[2]}" for exact, _ in PAIRS)


def _rows(runs: Sequence[Result]) -> list[list[str]]:
    rows = []
    for row in ROWS:
        mine = grouped((r for r in runs if r.experiment.domain == row.name), lambda r: r.experiment.episodes)
        for n, group in sorted(mine.items()):
            of = by_learner(group)
            cells = [_cell(of.get(name, [])) for pair in PAIRS for name in pair]
            ratios = [_ratio(of.get(exact, []), of.get(sketched, [])) for exact, sketched in PAIRS]
            shown = [NO_RESULT if ratio is None else f"{ratio:.2f}" for ratio in ratios]
            rows.append([f"{row.title}, {n:,}", *cells, *shown])
    return rows


def _cell(runs: Sequence[Result]) -> str:
    if not runs:
        return NO_RESULT
    return f"{brief(middle(runs, _megabytes))} ({middle(runs, lambda run: run.states):g})"


def _megabytes(run: Result) -> float:
    return max(run.bytes, 1) / 1e6


def _ratio(exact: Sequence[Result], sketched: Sequence[Result]) -> float | None:
    return middle(sketched, _megabytes) / middle(exact, _megabytes) if exact and sketched else None


def _verdict(runs: Sequence[Result]) -> str:
    """State where the sketch needs less memory than exact counts, and where more."""
    texts = []
    for exact, sketched in PAIRS:
        quotients = []
        for group in grouped(runs, lambda r: (r.experiment.domain, r.experiment.episodes)).values():
            of = by_learner(group)
            quotients.append(_ratio(of.get(exact, []), of.get(sketched, [])))
        known = [q for q in quotients if q is not None]
        if known:
            smaller = sum(q < 0.95 for q in known)
            larger = sum(q > 1.05 for q in known)
            texts.append(
                f"with the bound `{exact.partition('/')[2]}` the sketch needs less memory in {smaller} of {len(known)} "
                f"sizes and more in {larger} (by over 5 %), between {min(known):.2f} and {max(known):.2f} times that "
                "of exact counts"
            )
    if not texts:
        return "There are no results to compare yet.\n"
    text = "; ".join(texts)
    return (
        f"{text[0].upper()}{text[1:]}. A learner that finds fewer states also needs fewer tables. In this library both "
        "sort all suffixes first, which a sketch does not avoid.\n"
    )


def _figure(runs: Sequence[Result]) -> Figure:
    figure, axes = panels(1, len(ROWS), wide=4.4, high=3.4)
    for ax, row in zip(axes[0], ROWS, strict=True):
        mine = by_learner(run for run in runs if run.experiment.domain == row.name)
        for learner in (name for pair in PAIRS for name in pair):
            by_size = grouped(mine.get(learner, []), lambda run: run.experiment.episodes)
            if by_size:
                line(ax, {n: middle(group, _megabytes) for n, group in sorted(by_size.items())}, **look_of(learner))
        theory = [sizes(row.name, row.horizon, n) for n in SIZES]
        for name, style, label in (
            ("sketch", "--", "theory: sketches, one sample"),
            ("nodes", "-.", "theory: exact counts, at most"),
            ("order", ":", "theory: order of suffixes"),
        ):
            lines = [getattr(at, name) / 1e6 for at in theory]
            ax.plot(SIZES, lines, color="#999999", linestyle=style, linewidth=1, label=label, zorder=0)
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_title(f"{row.title}, H = {row.horizon}; dense table: {_mb(theory[0].dense)}", fontsize=9)
        ax.set_xlabel("episodes N", fontsize=8)
    axes[0][0].set_ylabel("peak MB", fontsize=9)
    legend_below(figure, axes, 3)
    return figure


SKETCHES: Final = Study("sketches", "Memory saved by a Count-Min-Sketch", experiments, analyse)
