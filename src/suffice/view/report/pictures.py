"""The figures of a report, as inline SVG."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from io import StringIO
from typing import TYPE_CHECKING

from suffice.errors import SufficeError
from suffice.models.model import Model
from suffice.view.automaton import draw_automaton
from suffice.view.column_evidence import draw_column_evidence
from suffice.view.html import Html, join, tag
from suffice.view.report.structure import MeanReturn
from suffice.view.report.texts import figure
from suffice.view.style import drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FIGURE_WIDTH, ROW, LEFT, RIGHT = 800, 34, 325, 110  # pixels of the interval figure; names are left, numbers right
SMALLEST_SCALE = 0.7  # share of its natural size to which the automaton shrinks; wider drawings are scrolled


def automaton_svg(model: Model) -> Html | str:
    """Return the drawing of the automaton, or a sentence that states why it cannot be drawn."""
    try:
        drawn = draw_automaton(model.in_words.rdp, model.own_plan, brief=True)
    except SufficeError as error:
        return f"No drawing: {str(error).rstrip('.')}."
    return _inline(drawn, f"Automaton with {model.rdp.n_states} states and the transitions between them")


def evidence_svg(model: Model) -> Html | str:
    """Return the drawing of the evidence for columns, or a sentence that states why there is none."""
    try:
        return _inline(draw_column_evidence(model), "Evidence for each column, and the evidence that is needed")
    except SufficeError as error:
        return f"No drawing: {str(error).rstrip('.')}."


def _inline(drawn: Figure, title: str) -> Html:
    """Return a figure as markup within a page."""
    file = StringIO()
    with drawing():
        drawn.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", file.getvalue(), flags=re.S)
    inner = svg[svg.index("<svg") :].partition(">")[2]
    width, height = (round(96 * inches) for inches in drawn.get_size_inches())
    style = f"min-width:{round(SMALLEST_SCALE * width)}px;max-width:{width}px"
    box = re.search(r'viewBox="([\d. -]+)"', svg)
    view = box.group(1) if box else f"0 0 {width} {height}"
    opening = f'<svg xmlns:xlink="http://www.w3.org/1999/xlink" role="img" viewBox="{view}" style="{style}">'
    return Html(f"{opening}{tag('title', title)}{inner.strip()}")


def intervals_svg(worth: Sequence[MeanReturn]) -> Html:
    """Draw each mean return as a dot and its interval as a line."""
    drawn = [end for row in worth for end in (row.value, *(reach(row) or ())) if end is not None]
    low, high = min(drawn), max(drawn)
    room = 0.06 * (high - low) or max(abs(high), 1.0)
    low, high = low - room, high + room

    def x(value: float) -> str:
        return f"{LEFT + (FIGURE_WIDTH - LEFT - RIGHT) * (value - low) / (high - low):.1f}"

    bottom = ROW * len(worth) + 8
    parts = [tag("title", "Mean return per episode: " + "; ".join(map(_spoken, worth)))]
    for tick in _ticks(low, high):
        parts.append(tag("line", x1=x(tick), x2=x(tick), y1="4", y2=str(bottom), class_="grid"))
        parts.append(tag("text", figure(tick), x=x(tick), y=str(bottom + 16), class_="tick"))
    for i, row in enumerate(worth):
        y, kind = ROW * i + ROW // 2 + 4, "plan" if row.policy else "log"
        parts.append(tag("text", row.label, x="0", y=str(y + 4)))
        if row.value is None:
            parts.append(tag("text", "not available: too few episodes like the plan", x=str(LEFT + 8), y=str(y + 4)))
            continue
        if ends := reach(row):
            parts.append(tag("line", x1=x(ends[0]), x2=x(ends[1]), y1=str(y), y2=str(y), class_=f"reach {kind}"))
        parts.append(tag("circle", cx=x(row.value), cy=str(y), r="5", class_=kind))
        parts.append(tag("text", figure(row.value), x=str(FIGURE_WIDTH - RIGHT + 24), y=str(y + 4), class_="figure"))
    return tag("svg", join(parts), role="img", viewBox=f"0 0 {FIGURE_WIDTH} {bottom + 24}", class_="intervals")


def reach(row: MeanReturn) -> tuple[float, float] | None:
    """Return the ends of an estimate's line: its interval or, if that has no level, lower bound and estimate."""
    if row.lower_bound is not None and row.value is not None:
        return row.lower_bound, row.value
    return None if row.low is None or row.high is None else (row.low, row.high)


def _ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers between low and high."""
    rough = (high - low) / 6
    unit = 10.0 ** math.floor(math.log10(rough))
    step = next(unit * factor for factor in (1, 2, 5, 10) if unit * factor >= 0.999 * rough)
    return [i * step for i in range(math.ceil(low / step), math.floor(high / step) + 1)]


def _spoken(row: MeanReturn) -> str:
    if row.value is None:
        return f"{row.label} not available"
    ends = reach(row)
    return f"{row.label} {figure(row.value)}" + ("" if ends is None else f", {figure(ends[0])} to {figure(ends[1])}")
