"""Return and recovered states against the number of episodes, for all learners on the paper's domains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle, pairwise, product
from statistics import fmean
from typing import TYPE_CHECKING, Final, NamedTuple

from suffice.evidence.bounds import BOUNDS
from suffice.lab.curves.summaries import paragraph, present, recovered
from suffice.lab.experiment import Experiment, Result, Results
from suffice.lab.paper import TABLE_1, Row
from suffice.lab.plotting import (
    BLACK,
    BLUE,
    GREEN,
    LINES,
    ORANGE,
    PINK,
    RED,
    SKY,
    YELLOW,
    curve,
    legend_below,
    legend_of,
    look_of,
    named,
    panels,
    shares_axes,
)
from suffice.lab.scoring import gained
from suffice.lab.study import Page, Study, table

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZES: Final = (100, 300, 1_000, 3_000, 10_000, 30_000, 100_000, 300_000)
SEEDS: Final = (101, 102, 103, 104, 105)
QUICK_SIZES: Final = (100, 1_000, 10_000)

COMPARED_FAMILIES: Final = ("1,1,1", "conjunctions", "prefixes")
RECOVERY_LEARNERS: Final = (
    *(f"{family}/{bound}" for family in COMPARED_FAMILIES for bound in BOUNDS.own),
    *("sketch/paper", "sketch/fisher", "adaptive/fisher", "layers", "stationary"),
)
QUICK_LEARNERS: Final = (
    "1,1,1/paper",
    "sketch/paper",
    "conjunctions/fisher",
    "prefixes/fisher",
    "layers",
    "stationary",
)
# Largest logs: with Fisher's test every comparison queries the sketches for all prefixes, which is slow.
FAR: Final = (*(f"conjunctions/{bound}" for bound in BOUNDS.own), "layers", "stationary")
LARGEST_SIZE: Final = {
    **dict.fromkeys(RECOVERY_LEARNERS, 100_000),
    **dict.fromkeys(FAR, SIZES[-1]),
    "sketch/fisher": 30_000,
}

ARRIVED_SHARE: Final = 0.95  # share that the table requires
BOUND_COLOURS: Final = dict(zip(BOUNDS.own, cycle((ORANGE, GREEN, PINK, SKY, BLUE, RED, YELLOW, BLACK)), strict=False))

Measure = Callable[[Result], float]


def experiments(quick: bool) -> list[Experiment]:
    """List the runs, small logs first, so that an interrupted study has results."""
    sizes, seeds, learners = (QUICK_SIZES, SEEDS[:2], QUICK_LEARNERS) if quick else (SIZES, SEEDS, RECOVERY_LEARNERS)
    return [
        row.experiment(learner, n, seed)
        for n in sizes
        for seed in seeds
        for row in TABLE_1
        for learner in learners
        if n <= LARGEST_SIZE[learner]
    ]


def enough_from(shares: Mapping[int, float]) -> int | None:
    """Return the smallest N from which on the share is at least ARRIVED_SHARE at every N."""
    least = None
    for n in sorted(shares, reverse=True):
        if shares[n] < ARRIVED_SHARE:
            break
        least = n
    return least


def analyse(results: Results) -> Page:
    """Make curves for all domains, and a table of the episodes needed."""
    there = present(results, experiments(False))
    figures = tuple((name, figure) for name, figure in _figures(there.runs) if figure is not None)
    learners = [
        learner for learner in RECOVERY_LEARNERS if any(run.experiment.learner == learner for run in there.runs)
    ]
    head = ["learner", *(f"{row.title}, H = {row.horizon}" for row in TABLE_1)]
    rows = [[named(learner), *(_cell(there.runs, row, learner) for row in TABLE_1)] for learner in learners]
    seeds = len({run.experiment.seed for run in there.runs})
    text = [
        f"## {RECOVERY.title}\n",
        paragraph(
            there.sentence,
            f"Bands are 95 % confidence intervals of the mean over up to {seeds} logs, the same for all learners.",
            "*Return* is the exact expected return of the plan on the learned automaton, as a share of the possible",
            "gain over the behaviour policy: 0 is the return of the behaviour policy, 1 is V*, and below 0 the plan is",
            "worse than the behaviour policy. *States* are true states that correspond one to one to a learned state,",
            "as a share of Q_min; for `--stationary`, of the states of the minimal stationary automaton.",
        ),
        paragraph(
            "The return may be optimal with few states found, because not every state matters for the policy. With",
            "logs that are too small, states are merged, and the plan for a partly merged automaton can be worse than",
            "the plan with all states merged; so curves may fall before they rise. Short episodes end before some",
            "states show their difference; then `--stationary` finds few states of the minimal stationary automaton at",
            "any N, although its return is optimal.",
        ),
        *(f"![{_ALT[name]}]({name}.svg)\n" for name, _ in figures),
        paragraph(
            f"Smallest N of the grid from which on the mean share is at least {ARRIVED_SHARE:g} at every larger N that",
            "was run, for the return / for the states; > N: not reached at N, the largest that was run. The means are",
            "over few logs, so differences of one step on the grid are not significant.",
        ),
        table(head, rows),
        _losses(there.runs, learners),
    ]
    return Page("\n".join(text), figures)


def _losses(runs: Sequence[Result], learners: Sequence[str]) -> str:
    """List where the mean share of the return falls below ARRIVED_SHARE again when episodes are added."""
    found = []
    for learner, row in product(learners, TABLE_1):
        mine = [run for run in runs if (run.experiment.domain, run.experiment.learner) == (row.name, learner)]
        for (n, before), (more, after) in pairwise(sorted(_means(mine, gained).items())):
            if after < ARRIVED_SHARE <= before:
                shares = f"{before:.2f} at {n:,} episodes, {after:.2f} at {more:,}"
                found.append(f"{named(learner)} on {row.title} ({shares})")
    if not found:
        return paragraph(
            f"No learner that reached a mean share of {ARRIVED_SHARE:g} for the return lost it at a larger N."
        )
    return paragraph(
        f"Known failures, where more episodes made the mean share of the return fall below {ARRIVED_SHARE:g}:",
        "; ".join(found) + ".",
    )


def _cell(runs: Sequence[Result], row: Row, learner: str) -> str:
    mine = [run for run in runs if (run.experiment.domain, run.experiment.learner) == (row.name, learner)]
    return " / ".join(_arrival(mine, measure) for measure in (gained, recovered)) if mine else "not run"


def _arrival(runs: Sequence[Result], measure: Measure) -> str:
    shares = _means(runs, measure)
    least = enough_from(shares)
    return f"> {max(shares):,}" if least is None else f"{least:,}"


def _means(runs: Sequence[Result], measure: Measure) -> dict[int, float]:
    """Return the mean of a measure by number of episodes."""
    groups: dict[int, list[float]] = {}
    for run in runs:
        groups.setdefault(run.experiment.episodes, []).append(measure(run))
    return {n: fmean(group) for n, group in groups.items()}


class _LearnerGroup(NamedTuple):
    """Learners that are drawn in one figure."""

    name: str
    title: str
    learners: tuple[str, ...]


_VIEWS: Final = (
    _LearnerGroup(
        "learners", "learners of the paper and ours", ("1,1,1/paper", "sketch/paper", "layers", "stationary")
    ),
    _LearnerGroup(
        *("futures", "one test, different futures"),
        ("1,1,1/fisher", "conjunctions/fisher", "adaptive/fisher", "prefixes/fisher", "sketch/fisher"),
    ),
)
_STYLES: Final = ("-", (0, (6, 2)), (0, (3, 1, 1, 1)), (0, (2, 1.5)), (0, (1, 1)))  # earlier lines stay visible below
_PANELS: Final[tuple[tuple[str, str, Measure], ...]] = (
    ("return", "share of the possible gain in return", gained),
    ("states", "share of true states found", recovered),
)
_ALT: Final = {
    **{f"recovery_{v.name}_{m}": f"{words}: {v.title}" for v in _VIEWS for m, words, _ in _PANELS},
    **{f"recovery_bounds_{m}": f"{words}: four bounds, three families" for m, words, _ in _PANELS},
}


def _figures(runs: Sequence[Result]) -> list[tuple[str, Figure | None]]:
    views = [(f"recovery_{v.name}_{m}", _by_learner(runs, v, words, f)) for v in _VIEWS for m, words, f in _PANELS]
    return views + [(f"recovery_bounds_{m}", _by_bound(runs, words, f)) for m, words, f in _PANELS]


def _by_learner(runs: Sequence[Result], view: _LearnerGroup, words: str, measure: Measure) -> Figure | None:
    """Draw a plot for each domain, and the legend in the remaining place."""
    shown = [run for run in runs if run.experiment.learner in view.learners]
    if not shown:
        return None
    figure, axes = panels(2, 3, wide=3.2, high=2.4)
    *plots, last = (ax for line in axes for ax in line)
    last.set_axis_off()
    means = []
    for ax, row in zip(plots, TABLE_1, strict=True):
        ax.set_title(f"{row.title}, H = {row.horizon}", fontsize=10)
        for learner, style in zip(view.learners, _STYLES, strict=False):
            means += _line(ax, shown, row, learner, measure, look_of(learner) | {"linestyle": style})
    shares_axes(axes, min(means))
    legend = legend_of(plots)
    last.legend(legend.values(), legend, loc="center", frameon=False, fontsize=10, title=view.title, title_fontsize=10)
    _label(figure, axes, words)
    return figure


def _by_bound(runs: Sequence[Result], words: str, measure: Measure) -> Figure | None:
    """Draw a row of plots for each family and a column for each domain; colours are bounds."""
    learners = {f"{family}/{bound}" for family in COMPARED_FAMILIES for bound in BOUNDS.own}
    shown = [run for run in runs if run.experiment.learner in learners]
    if not shown:
        return None
    figure, axes = panels(len(COMPARED_FAMILIES), len(TABLE_1), wide=2.1, high=1.8)
    means = []
    for family, line in zip(COMPARED_FAMILIES, axes, strict=True):
        for ax, row in zip(line, TABLE_1, strict=True):
            for bound, colour in reversed(BOUND_COLOURS.items()):  # solid lines first, so that they do not hide others
                look = {"color": colour, "linestyle": LINES.get(bound, "-"), "label": bound.replace("-", " ")}
                means += _line(ax, shown, row, f"{family}/{bound}", measure, look)
        line[0].set_ylabel(named(family), fontsize=10)
    for ax, row in zip(axes[0], TABLE_1, strict=True):
        ax.set_title(f"{row.title}, H = {row.horizon}", fontsize=10)
    shares_axes(axes, min(means))
    _label(figure, axes, words)
    legend_below(figure, axes)
    return figure


def _line(
    ax: Axes, runs: Sequence[Result], row: Row, learner: str, measure: Measure, look: Mapping[str, object]
) -> list[float]:
    """Draw a curve, and return its means."""
    mine = [run for run in runs if (run.experiment.domain, run.experiment.learner) == (row.name, learner)]
    curve(ax, mine, lambda run: run.experiment.episodes, measure, **look)
    return list(_means(mine, measure).values())


def _label(figure: Figure, axes: Sequence[Sequence[Axes]], words: str) -> None:
    figure.supylabel(words, fontsize=10)
    axes[-1][len(axes[-1]) // 2 if len(axes) > 2 else 1].set_xlabel("episodes", fontsize=10)


RECOVERY: Final = Study("recovery", "Return and states against the number of episodes", experiments, analyse)
