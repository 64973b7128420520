"""A study: a list of experiments, and what to make of their results."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from suffice.lab.experiment import Experiment, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure

MILLION: Final = 6  # digits after the first
RAISED: Final = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


class Page(NamedTuple):
    """What a person gets to see of a study."""

    text: str  # Markdown
    figures: tuple[tuple[str, Figure], ...] = ()  # by the name of their files, as the text refers to them


def _no_more(results: Results, quick: bool) -> list[Experiment]:
    del results, quick
    return []


@dataclass(frozen=True, slots=True)
class Study:
    """Both halves are pure, and results are all that passes between them."""

    name: str
    title: str
    experiments: Callable[[bool], list[Experiment]]  # given whether it shall be quick
    analyse: Callable[[Results], Page]  # of whatever results there are: missing ones are said to be missing
    more: Callable[[Results, bool], list[Experiment]] = _no_more  # that results so far call for, until there are none


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """In Markdown, the first column to the left."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [head, rule, *rows])


def cell(text: str) -> str:
    """Words of others that would break a table."""
    return " ".join(text.replace("|", "/").split())


def brief(number: float) -> str:
    """Two digits that count, in words of a person: 0.0042, 1.5, 150, 2,900, 4.6·10⁸."""
    if number <= 0 or math.isinf(number):
        return "∞" if number > 0 else "0" if not number else f"−{brief(-number)}"
    power = math.floor(math.log10(float(f"{number:.1e}")))
    if power >= MILLION:
        return f"{number / 10**power:.1f}·10{str(power).translate(RAISED)}"
    return f"{round(number, 1 - power):,.{max(1 - power, 0)}f}".removesuffix(".0")
