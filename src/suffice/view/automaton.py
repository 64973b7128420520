"""An automaton as the paper draws it: states as circles, layer after layer, and arrows that say what takes them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from suffice.episodes import PAD
from suffice.errors import SettingsError
from suffice.planner import BEHAVE, Plan
from suffice.rdp import RDP
from suffice.view.arrows import Arrow, arrows_of, over
from suffice.view.curves import Curve, lead
from suffice.view.labels import Line, in_short, label, legend
from suffice.view.layout import lay_out
from suffice.view.placing import RADIUS, place
from suffice.view.style import FAINT, INK, LINE, NOTE, PAGE, PLANNED, POOR, RICH, RIM, STATE, blend, drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LABELLED = 80  # arrows; beyond, labels would hide what they name
MOST_DRAWN = 1000  # states; beyond, nothing could be seen
MARGIN, HEAD, FOOT = 0.25, 0.36, 0.2  # inches: around all, above for the steps, below for what is said about the end
HEADING, NAME, TEXT, REMARK = 11.0, 8.5, 7.5, 8.0  # font sizes, in points
LEADING = 1.3  # between lines of text, as a part of the font size
SMALLEST = 3.0  # name that is written, in points
THIN, THICK = 0.7, 2.6  # an arrow that is hardly ever taken, and the one that is most, in points
ENTRY = 0.28  # inches: the arrow that leads to the first state


def draw_automaton(rdp: RDP, plan: Plan | None = None, *, title: str = "", labels: bool | None = None) -> Figure:
    """A figure of its own; with a plan, on the automaton's own states, those are coloured by value and it stands out.

    Labels are left out where there are too many for one page, unless they are asked for; the caption says so.

    >>> figure = suffice.draw_automaton(model.rdp, model.plan, title="Corridor")
    >>> figure.savefig("corridor.svg")  # in notebooks it shows itself
    """
    if plan is not None and len(plan.actions) != rdp.n_states:
        told = "fold it first, with suffice.planner.fold_plan" if rdp.stationary else "plan on this one"
        raise SettingsError(f"the plan is for {len(plan.actions)} states, the automaton has {rdp.n_states}: {told}")
    if rdp.n_states > MOST_DRAWN:
        told = f"an automaton of {rdp.n_states:,} states fits no page (the most are {MOST_DRAWN:,})"
        raise SettingsError(f"{told}; `suffice export` writes it for other programs")
    with drawing():
        return _Picture(rdp, plan, labels).draw(title)


class _Picture:
    """An automaton, its places on a page, and the page."""

    def __init__(self, rdp: RDP, plan: Plan | None, labels: bool | None) -> None:
        self._rdp, self._plan, self._over = rdp, plan, over(rdp)
        self._arrows, self._layout = arrows_of(rdp), lay_out(rdp)
        self._most = max(arrow.count for arrow in self._arrows)
        self._labelled = len(self._arrows) <= MOST_LABELLED if labels is None else labels
        self._lines = [label(rdp, arrow) if self._labelled else [] for arrow in self._arrows]
        self._sizes = np.array([_size(lines) for lines in self._lines])
        self._placed = place(self._layout, self._arrows, self._sizes)
        self._scale = self._placed.radius / RADIUS  # of large automata, which are drawn smaller

    def draw(self, title: str) -> Figure:
        """Arrows, then labels, then states, then what is around them."""
        from matplotlib.figure import Figure

        left, bottom, right, top = self._placed.bounds(self._sizes)
        left, right = left - ENTRY - MARGIN, right + MARGIN
        remarks = _wrapped(self._remarks(), right - left - 2 * MARGIN)
        low = bottom - FOOT - MARGIN - len(remarks) * _line_height(REMARK)
        above = 0 if self._rdp.stationary and not title else HEAD
        high = top + above + MARGIN + (_line_height(HEADING) if title else 0)
        figure = Figure(figsize=(right - left, high - low), facecolor=PAGE)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set(xlim=(left, right), ylim=(low, high))
        for arrow, curve in zip(self._arrows, self._placed.curves, strict=True):
            self._draw_arrow(axes, arrow, curve)
        for i, arrow in enumerate(self._arrows):
            self._draw_label(axes, i, self._planned(arrow.source))
        for q in range(self._rdp.n_states):
            self._draw_state(axes, q)
        self._draw_ends(axes, top + above / 2)
        _write(axes, left + MARGIN, high - MARGIN, title, HEADING, INK, align="left")
        for i, remark in enumerate(reversed(remarks)):
            _write(axes, left + MARGIN, low + MARGIN + i * _line_height(REMARK), remark, REMARK, NOTE, align="left")
        return figure

    def _draw_arrow(self, axes: Axes, arrow: Arrow, curve: Curve) -> None:
        width = THIN + (THICK - THIN) * math.sqrt(arrow.count / max(self._most, 1))
        planned = self._planned(arrow.source) in self._rdp.symbols[list(arrow.symbols), 0]
        colour = FAINT if arrow.source in self._over else PLANNED if planned else LINE
        _draw_curve(axes, curve, self._scale * width, colour)

    def _draw_label(self, axes: Axes, i: int, planned: int) -> None:
        """A gap in the arrow, and words in it."""
        from matplotlib.patches import Rectangle

        if not self._lines[i]:
            return
        (x, y), (w, h) = self._placed.labels[i], self._sizes[i]
        axes.add_artist(Rectangle((x - w / 2, y - h / 2), w, h, color=PAGE, linewidth=0, clip_on=False, zorder=2))
        for j, line in enumerate(self._lines[i]):
            lower = (j - (len(self._lines[i]) - 1) / 2) * _line_height(TEXT)
            _write(axes, x, y - lower, line.text, TEXT, PLANNED if planned in line.actions else INK)

    def _draw_state(self, axes: Axes, q: int) -> None:
        from matplotlib.patches import Circle

        (x, y), radius = self._placed.states[q], self._placed.radius
        rim, fill, ink = (FAINT, PAGE, FAINT) if q in self._over else (RIM, self._fill(q), INK)
        look = {"facecolor": fill, "edgecolor": rim, "linewidth": 1.2 * self._scale}
        axes.add_artist(Circle((x, y), radius, clip_on=False, zorder=4, **look))
        if NAME * self._scale < SMALLEST:
            return
        t = int(self._layout.column[q])
        name = str(q) if self._rdp.stationary else f"{t}.{q - self._rdp.offsets()[t]}"
        action = self._planned(q)
        told = "" if self._labelled or action == BEHAVE else str(self._rdp.alphabet.action(action))
        if _width(told, TEXT) > 1.8 * RADIUS:
            told = ""
        _write(axes, x, y + (0.07 * self._scale if told else 0), name, NAME * self._scale, ink)
        _write(axes, x, y - 0.08 * self._scale, told, TEXT * self._scale, PLANNED)

    def _draw_ends(self, axes: Axes, above: float) -> None:
        """Where episodes begin; of layers, the steps, and where episodes end."""
        places, radius = self._placed.states, self._placed.radius
        start, first = places[0] - [[radius + ENTRY, 0], [radius + 0.02, 0]]
        _draw_curve(axes, lead(start, first, bowed=False), THIN, LINE)
        if self._rdp.stationary:
            return
        for t, q in enumerate(self._rdp.offsets()[:-1]):
            _write(axes, places[q, 0], above, f"t = {t}" if t == 0 else str(t), REMARK, NOTE)
        x, y = places[-1]
        _write(axes, x, y - radius - 0.12, "end", REMARK, NOTE)

    def _remarks(self) -> list[str]:
        """How to read the picture."""
        rdp, n = self._rdp, len(self._arrows)
        remarks = [
            f"{rdp.n_states} states",
            f"arrows: {legend(rdp)}" if self._labelled else f"{n} arrows, not labelled",
        ]
        remarks.append("thick: taken often")
        if self._plan is not None:
            low, high = self._range()
            worth = [in_short(value) for value in (low, high)]
            varied = f"dark: worth more, {worth[0]} to {worth[1]}"
            remarks += [varied if worth[0] != worth[1] else f"each is worth {worth[0]}", "orange: planned"]
        return [*remarks, "pale: the episode is over"] if self._over else remarks

    def _fill(self, q: int) -> str:
        if self._plan is None:
            return STATE
        low, high = self._range()
        return blend(POOR, RICH, (float(self._plan.values[q]) - low) / (high - low) if high > low + 1e-9 else 0.5)

    def _range(self) -> tuple[float, float]:
        """The values of states in which something is left to come."""
        assert self._plan is not None
        values = np.delete(self._plan.values, sorted(self._over))
        return (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)

    def _planned(self, q: int) -> int:
        """The code of the action, or BEHAVE."""
        action = BEHAVE if self._plan is None else int(self._plan.actions[q])
        return BEHAVE if action == BEHAVE else action + PAD + 1


def _draw_curve(axes: Axes, curve: Curve, width: float, colour: str) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    path = Path(curve.points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    sharp = {"shrinkA": 0, "shrinkB": 0, "joinstyle": "miter", "capstyle": "butt", "clip_on": False}
    style = {"arrowstyle": "-|>", "mutation_scale": min(6, 9 * width) + 2 * width, "linewidth": width, "color": colour}
    axes.add_artist(FancyArrowPatch(path=path, zorder=1.5 if colour == PLANNED else 1, **sharp, **style))  # type: ignore[arg-type]


def _size(lines: list[Line]) -> tuple[float, float]:
    """Of a label, with a little air."""
    widest = max((_width(line.text, TEXT) + 0.06 for line in lines), default=0.0)
    return widest, len(lines) * _line_height(TEXT)


def _wrapped(parts: list[str], width: float) -> list[str]:
    """Parts on as few lines as hold them."""
    lines = parts[:1]
    for part in parts[1:]:
        longer = f"{lines[-1]}  ·  {part}"
        lines[-1:] = [longer] if _width(longer, REMARK) <= width else [lines[-1], part]
    return lines


def _line_height(size: float) -> float:
    return LEADING * size / 72


def _width(text: str, size: float) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return float(text_to_path.get_text_width_height_descent(text, FontProperties(size=size), False)[0]) / 72


def _write(axes: Axes, x: float, y: float, text: str, size: float, colour: str, *, align: str = "center") -> None:
    """Above all shapes; a dollar is a dollar."""
    axes.text(x, y, text, size=size, color=colour, ha=align, va="center_baseline", zorder=5, parse_math=False)
