"""Curves of results in one style, in which a learner always has the same colour."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from suffice.evidence.estimates import Estimate
from suffice.lab.experiment import Result
from suffice.view.style import drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Colours of Okabe and Ito, which colour-blind readers can distinguish.
BLACK, ORANGE, SKY, GREEN, YELLOW, BLUE, RED, PINK = (
    *("#000000", "#e69f00", "#56b4e9", "#009e73", "#c7b800", "#0072b2", "#d55e00", "#cc79a7"),
)
COLOURS: Final = {
    "1,1,1": ORANGE,
    "conjunctions": SKY,
    "adaptive": YELLOW,
    "prefixes": GREEN,
    "sketch": PINK,
    "layers": BLUE,
    "stationary": RED,
    "aalpy": "#888888",
    "flexfringe": BLACK,
}
NAMES: Final = {
    "1,1,1": "X₁₁₁",
    "sketch": "Count-Min-Sketch",
    "layers": "suffice learn",
    "stationary": "suffice learn --stationary",
    "aalpy": "AALpy",
    "flexfringe": "FlexFringe",
}
LINES: Final = {
    **{"paper": ":", "two-sample": "-.", "likelihood-ratio": "--", "fisher": "-"},
    "0.05": ":",  # distinguishes two settings of a peer
}

NORMAL: Final = 1.96  # 97.5 % quantiles of the normal distribution, and of Student's t with 1, 2, … degrees of freedom
STUDENT: Final = (
    *(12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086),
    *(2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042),
)


class Band(NamedTuple):
    """A mean with its 95 % confidence interval by Student's t."""

    mean: float
    low: float
    high: float

    @classmethod
    def of(cls, sample: Sequence[float]) -> Band:
        """Return the band of independent numbers; a single number has an interval of width 0."""
        mean, error, *_ = Estimate.mean(np.array(sample, float))
        if math.isinf(error):
            return cls(mean, mean, mean)
        wide = error * (STUDENT[len(sample) - 2] if len(sample) - 2 < len(STUDENT) else NORMAL)
        return cls(mean, mean - wide, mean + wide)


def named(learner: str) -> str:
    """Return the name of a learner for legends and tables."""
    kind, *rest = learner.split("/")
    return " ".join([NAMES.get(kind, kind), *(word.replace("-", " ") for word in rest)])


def panels(rows: int, columns: int, *, wide: float = 3.2, high: float = 2.6) -> tuple[Figure, list[list[Axes]]]:
    """Create a figure with a grid of plots."""
    with drawing():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(wide * columns, high * rows), layout="constrained")
        axes = figure.subplots(rows, columns, squeeze=False)
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
        ax.grid(True, color="#dddddd", linewidth=0.5)
        ax.tick_params(labelsize=8)
    return figure, axes.tolist()


def curve(
    ax: Axes, runs: Iterable[Result], x: Callable[[Result], float], y: Callable[[Result], float], **look: Any
) -> None:
    """Plot the mean of y against x with its confidence band, of runs that were not stopped; `look` styles the line."""
    groups: dict[float, list[float]] = {}
    for run in runs:
        if not run.stopped:
            groups.setdefault(x(run), []).append(y(run))
    if not groups:
        return
    at = sorted(groups)
    bands = [Band.of(groups[value]) for value in at]
    (line,) = ax.plot(at, [band.mean for band in bands], marker="o", markersize=2.5, linewidth=1.2, **look)
    low, high = [band.low for band in bands], [band.high for band in bands]
    ax.fill_between(at, low, high, color=line.get_color(), alpha=0.15, linewidth=0)


def look_of(learner: str) -> dict[str, Any]:
    """Return colour by statistic, line style by bound, and the name for the legend."""
    kind, *rest = learner.split("/")
    line = LINES.get(rest[0], "-") if rest else "-"
    return {"color": COLOURS.get(kind, BLACK), "linestyle": line, "label": named(learner)}


def line(ax: Axes, points: dict[float, float], **look: Any) -> None:
    """Plot a curve without a band."""
    ax.plot(list(points), list(points.values()), marker="o", markersize=2.5, linewidth=1.2, **look)


def guide(ax: Axes) -> None:
    """Draw a dashed line of slope 1 through the middle of the plot, without changing its limits."""
    if not ax.lines:
        return
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    scale = (low * high / (left * right)) ** 0.5
    ax.plot((left, right), (scale * left, scale * right), linestyle="--", color="#aaaaaa", linewidth=1, zorder=0)
    ax.set_xlim(left, right)
    ax.set_ylim(low, high)


def shares_axes(plots: Sequence[Sequence[Axes]], least: float = 0.0) -> None:
    """Give all plots the same axes, shares against numbers of episodes; only outer plots have tick labels."""
    for i, row in enumerate(plots):
        for j, ax in enumerate(row):
            if not ax.axison:  # it holds the legend
                continue
            ax.set_xscale("log")
            ax.minorticks_off()
            ax.set_ylim(min(0.0, least) - 0.08, 1.08)
            ax.axhline(1, color="#999999", linewidth=0.8, zorder=0)
            below = i + 1 < len(plots) and plots[i + 1][j].axison
            ax.tick_params(labelleft=j == 0, labelbottom=not below)


def legend_of(plots: Iterable[Axes]) -> dict[str, Any]:
    """Collect the legend entries of several plots without duplicates."""
    entries: dict[str, Any] = {}
    for ax in plots:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    return entries


def legend_below(figure: Figure, axes: Sequence[Sequence[Axes]], columns: int = 4) -> None:
    """Add one legend for all plots below them."""
    if entries := legend_of(ax for row in axes for ax in row):
        figure.legend(entries.values(), entries.keys(), loc="outside lower center", ncols=columns, frameon=False)
