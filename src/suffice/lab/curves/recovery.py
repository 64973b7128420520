"""Return and states against the number of episodes: how much data each learner needs, on the paper's domains."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import cycle
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
# Who goes how far: with Fisher's test every comparison asks the sketches for all prefixes, which is slow.
FAR: Final = (*(f"conjunctions/{bound}" for bound in BOUNDS.own), "layers", "stationary")
LARGEST_SIZE: Final = {
    **dict.fromkeys(RECOVERY_LEARNERS, 100_000),
    **dict.fromkeys(FAR, SIZES[-1]),
    "sketch/fisher": 30_000,
}

ARRIVED_SHARE: Final = 0.95  # the share from which on the table says that a learner has arrived
BOUND_COLOURS: Final = dict(zip(BOUNDS.own, cycle((ORANGE, GREEN, PINK, SKY, BLUE, RED, YELLOW, BLACK)), strict=False))

Measure = Callable[[Result], float]


def experiments(quick: bool) -> list[Experiment]:
    """Small logs first, so that a stopped run has something to show."""
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
    """The least N from which on the share is ENOUGH at every N there is."""
    least = None
    for n in sorted(shares, reverse=True):
        if shares[n] < ARRIVED_SHARE:
            break
        least = n
    return least


def analyse(results: Results) -> Page:
    """Curves for all domains, and a table of where they arrive."""
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
            "*Return* is the expected one of the plan on the learned automaton, computed exactly, as a share of what",
            "can be gained over the behaviour that wrote the log: 0 is its own return, 1 is V*, and below 0 the plan",
            "is worse than what it learned from. *States* are true states that exactly one learned state stands for,",
            "and it for no other, as a share of Q_min; for `--stationary`, of the minimal automaton for all times.",
        ),
        paragraph(
            "A return may be optimal with few states found: not every state matters for what to do. Logs that are too",
            "small merge states, and the plan for a mixture can be worse than for all states in one; so curves may",
            "fall before they rise. Episodes too short for their domain end before some states show their difference;",
            "the count for all times holds that against `--stationary`, whose states may then stay few at any N while",
            "its return is optimal.",
        ),
        *(f"![{_ALT[name]}]({name}.svg)\n" for name, _ in figures),
        paragraph(
            f"The least N of the grid from which on the mean share is at least {ARRIVED_SHARE:g} at every larger N",
            "that was run, for the return / for the states; > N: not even at N, the largest that was run. Means over",
            "few logs decide, so a neighbour on the grid is no difference.",
        ),
        table(head, rows),
    ]
    return Page("\n".join(text), figures)


def _cell(runs: Sequence[Result], row: Row, learner: str) -> str:
    mine = [run for run in runs if (run.experiment.domain, run.experiment.learner) == (row.name, learner)]
    return " / ".join(_arrival(mine, measure) for measure in (gained, recovered)) if mine else "not run"


def _arrival(runs: Sequence[Result], measure: Measure) -> str:
    shares = _means(runs, measure)
    least = enough_from(shares)
    return f"> {max(shares):,}" if least is None else f"{least:,}"


def _means(runs: Sequence[Result], measure: Measure) -> dict[int, float]:
    """By number of episodes."""
    groups: dict[int, list[float]] = {}
    for run in runs:
        groups.setdefault(run.experiment.episodes, []).append(measure(run))
    return {n: fmean(group) for n, group in groups.items()}


class _LearnerGroup(NamedTuple):
    """Learners that are seen together."""

    name: str
    title: str
    learners: tuple[str, ...]


_VIEWS: Final = (
    _LearnerGroup("learners", "the paper's learners and ours", ("1,1,1/paper", "sketch/paper", "layers", "stationary")),
    _LearnerGroup(
        *("futures", "one test, different futures"),
        ("1,1,1/fisher", "conjunctions/fisher", "adaptive/fisher", "prefixes/fisher", "sketch/fisher"),
    ),
)
_STYLES: Final = (
    "-",
    (0, (6, 2)),
    (0, (3, 1, 1, 1)),
    (0, (2, 1.5)),
    (0, (1, 1)),
)  # later lines let earlier ones through
_PANELS: Final[tuple[tuple[str, str, Measure], ...]] = (
    ("return", "share of the return that can be gained", gained),
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
    """A plot for each domain; the legend has the room that is left."""
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
    """A row of plots for each family, a column for each domain; colours tell bounds."""
    learners = {f"{family}/{bound}" for family in COMPARED_FAMILIES for bound in BOUNDS.own}
    shown = [run for run in runs if run.experiment.learner in learners]
    if not shown:
        return None
    figure, axes = panels(len(COMPARED_FAMILIES), len(TABLE_1), wide=2.1, high=1.8)
    means = []
    for family, line in zip(COMPARED_FAMILIES, axes, strict=True):
        for ax, row in zip(line, TABLE_1, strict=True):
            for bound, colour in reversed(BOUND_COLOURS.items()):  # solid lines first, so that they hide nothing
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
    """Draws one, and returns its heights."""
    mine = [run for run in runs if (run.experiment.domain, run.experiment.learner) == (row.name, learner)]
    curve(ax, mine, lambda run: run.experiment.episodes, measure, **look)
    return list(_means(mine, measure).values())


def _label(figure: Figure, axes: Sequence[Sequence[Axes]], words: str) -> None:
    figure.supylabel(words, fontsize=10)
    axes[-1][len(axes[-1]) // 2 if len(axes) > 2 else 1].set_xlabel("episodes", fontsize=10)


RECOVERY: Final = Study("recovery", "Return and states against the number of episodes", experiments, analyse)
