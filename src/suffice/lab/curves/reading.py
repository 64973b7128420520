"""What there is of a study's results, and how sure a rate is: what curves have in common."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Sequence
from textwrap import fill
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from suffice.lab.experiment import Experiment, Result, Results
from suffice.lab.plotting import NORMAL

if TYPE_CHECKING:
    from matplotlib.axes import Axes

WIDTH: Final = 118


class Present(NamedTuple):
    """The runs of a study that are there and ended, and a sentence about the others."""

    runs: list[Result]
    sentence: str


def present(results: Results, wanted: Sequence[Experiment]) -> Present:
    """Of the wanted experiments; results may hold those of other studies too."""
    found = [results[id] for id in (experiment.id for experiment in wanted) if id in results]
    runs = [run for run in found if not run.stopped]
    why = Counter(run.stopped for run in found if run.stopped)
    stopped = "".join(f"; {n} ended without a result ({words})" for words, n in sorted(why.items()))
    return Present(runs, f"{len(runs):,} of {len(wanted):,} runs are here{stopped}.")


class Rate(NamedTuple):
    """A share of runs with its 95 % confidence interval, Wilson's."""

    share: float
    low: float
    high: float

    @classmethod
    def of(cls, hits: int, n: int) -> Rate:
        """Of n ≥ 1 independent runs; unlike the usual interval it has a width where none or all are hits."""
        share, z = hits / n, NORMAL
        middle = (share + z * z / (2 * n)) / (1 + z * z / n)
        wide = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
        return cls(share, max(0.0, middle - wide), min(1.0, middle + wide))


def paragraph(*sentences: str) -> str:
    """Prose for a page, in lines of one width whatever numbers it holds."""
    return fill(" ".join(sentences), WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def rounded(number: float) -> str:
    """A number for a table: two digits, and a power of ten where it is long."""
    if math.isinf(number):
        return "∞"
    if number < 10:
        return f"{number:.2g}"
    power = math.floor(math.log10(number))
    if power < 6:
        return f"{round(number, 1 - power):,.0f}"
    return f"{number / 10**power:.1f}·10{str(power).translate(str.maketrans('0123456789', '⁰¹²³⁴⁵⁶⁷⁸⁹'))}"


def shares_axes(plots: Sequence[Sequence[Axes]], least: float = 0.0) -> None:
    """Shares up to 1 against numbers of episodes, in all plots alike; numbers stand at the outer ones only."""
    for i, row in enumerate(plots):
        for j, ax in enumerate(row):
            if not ax.axison:  # it has a legend instead
                continue
            ax.set_xscale("log")
            ax.minorticks_off()
            ax.set_ylim(min(0.0, least) - 0.08, 1.08)
            ax.axhline(1, color="#999999", linewidth=0.8, zorder=0)
            below = i + 1 < len(plots) and plots[i + 1][j].axison
            ax.tick_params(labelleft=j == 0, labelbottom=not below)


def legend_of(plots: Iterable[Axes]) -> dict[str, Any]:
    """What several plots show, each name once."""
    entries: dict[str, Any] = {}
    for ax in plots:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    return entries
