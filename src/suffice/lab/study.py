"""A study is a list of experiments and an analysis of their results, which makes a page."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from suffice.lab.experiment import Experiment, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MILLION: Final = 6  # power of ten from which numbers are written with an exponent
RAISED: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Page(NamedTuple):
    """The text and figures that a study produces."""

    text: str  # Markdown
    figures: tuple[tuple[str, Figure], ...] = ()  # names of their files, which the text refers to


def _no_more(results: Results, quick: bool) -> list[Experiment]:
    del results, quick
    return []


@dataclass(frozen=True, slots=True)
class Study:
    """A list of experiments and the analysis of their results; both are pure functions."""

    name: str
    title: str
    experiments: Callable[[bool], list[Experiment]]  # argument: whether the run is quick
    analyse: Callable[[Results], Page]  # results may be incomplete; the page states what is missing
    more: Callable[[Results, bool], list[Experiment]] = _no_more  # further experiments that depend on results


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table whose first column is left-aligned."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [head, rule, *rows])


def cell(text: str) -> str:
    """Return a text without line breaks and bars, which would break a table."""
    return " ".join(text.replace("|", "/").split())


def brief(number: float) -> str:
    """Format a number with two significant digits: 0.0042, 1.5, 150, 2,900, 4.6·10⁸."""
    if number <= 0 or math.isinf(number):
        return "∞" if number > 0 else "0" if not number else f"−{brief(-number)}"
    power = math.floor(math.log10(float(f"{number:.1e}")))
    if power >= MILLION:
        return f"{number / 10**power:.1f}·10{str(power).translate(RAISED)}"
    return f"{round(number, 1 - power):,.{max(1 - power, 0)}f}".removesuffix(".0")
