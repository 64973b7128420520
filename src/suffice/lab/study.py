"""A study: a list of experiments, and what to make of their results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from suffice.lab.experiment import Experiment, Results

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class Page(NamedTuple):
    """What a person gets to see of a study."""

    text: str  # Markdown
    figures: tuple[tuple[str, Figure], ...] = ()  # by the name of their files, as the text refers to them


@dataclass(frozen=True, slots=True)
class Study:
    """Both halves are pure, and results are all that passes between them."""

    name: str
    title: str
    experiments: Callable[[bool], list[Experiment]]  # given whether it shall be quick
    analyse: Callable[[Results], Page]  # of whatever results there are: missing ones are said to be missing


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """In Markdown, the first column to the left."""
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in [head, rule, *rows])


def brief(number: float) -> str:
    """Two digits that count, without exponents: 0.0042, 1.5, 150, 2,900."""
    return f"{float(f'{number:.1e}'):,.10f}".rstrip("0").rstrip(".") if number else "0"
