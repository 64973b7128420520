"""Drawings of automata in the paper's style: states as circles, one column per layer, and labelled arrows."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from suffice.automata.rdp import BEHAVE, RDP
from suffice.data.alphabet import PAD
from suffice.errors import SettingsError, parameter, require_type, visible
from suffice.planning.plan import Plan
from suffice.view.arrows import Arrow
from suffice.view.brief_labels import Usage, brief_labels
from suffice.view.curves import Curve, lead
from suffice.view.labels import Line, label, legend, short_number
from suffice.view.placing import RADIUS, place
from suffice.view.scene import FEWEST_NODES, GATHERED, USUAL_NODES, scene_of
from suffice.view.style import (
    ARROW_COLOUR,
    FAINT,
    INK,
    NOTE,
    PAGE,
    PLAN_COLOUR,
    POOR,
    RICH,
    RIM,
    STATE_FILL,
    blend,
    drawing,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_LABELLED, MOST_LABEL_LINES = 80, 120  # arrows, or lines of brief labels; more labels would hide the arrows
MOST_DRAWN_STATES = 1000  # more states would be too small to see
MARGIN, HEAD, FOOT = 0.25, 0.36, 0.2  # inches: around the drawing, above it for the steps, below it for the word "end"
HEADING, NAME_SIZE, TEXT, REMARK = 11.0, 8.5, 7.5, 8.0  # font sizes, in points
LINE_SPACING = 1.3  # line height as a multiple of the font size
LONGEST_DRAWN = 500  # characters of a line
SMALLEST_NAME = 3.0  # points; smaller names are left out
THIN, THICK = 0.7, 2.6  # points: width of the least and of the most frequently taken arrow
ENTRY = 0.28  # inches: length of the arrow into the first state


def draw_automaton(
    rdp: RDP,
    plan: Plan | None = None,
    *,
    title: str = "",
    labels: bool | None = None,
    brief: bool = False,
    most: int | None = None,
) -> Figure:
    """Draw an automaton with circles for states, arrows for transitions and columns for steps.

    The caption of the figure explains colours, labels and what is left out. In a notebook the figure displays itself.

    Parameters
    ----------
    rdp
        Automaton to draw.
    plan
        Plan on the automaton's own states, such as `model.own_plan`. States are then coloured by their value and the
        planned actions are highlighted. Default: none.
    title
        Heading of the figure. Default: no heading.
    labels
        Whether arrows are labelled with action, observation and reward. Default: only if all labels fit on one page.
    brief
        Whether labels are limited to what distinguishes the arrows that leave the same state. Default: False.
    most
        Largest number of nodes, 4 to 1,000. The states visited most often are drawn, and the others of each column are
        combined into one node. Default: 60, or fewer if they have more than 240 arrows.

    Returns
    -------
    matplotlib.figure.Figure
        A new figure, which is not registered with pyplot.

    Raises
    ------
    SettingsError
        If the plan belongs to another automaton, or `most` is out of range.
    MissingError
        If matplotlib is not installed.

    Examples
    --------
    >>> figure = suffice.draw_automaton(model.rdp, model.own_plan, title="Corridor")
    >>> figure.savefig("corridor.svg")
    """
    require_type("rdp", rdp, RDP, "an automaton. Pass model.rdp.")
    require_type("plan", plan, Plan | None, "a plan. Pass model.plan.")
    if plan is not None and len(plan.actions) != rdp.n_states:
        fix = "Use model.own_plan." if rdp.stationary else "Plan on this automaton."
        raise SettingsError(f"plan: it has {len(plan.actions)} states, but the automaton has {rdp.n_states}. {fix}")
    if most is not None and not (isinstance(most, int) and FEWEST_NODES <= most <= MOST_DRAWN_STATES):
        raise SettingsError(
            f"{parameter('most', most)} is not a number of states from {FEWEST_NODES} to {MOST_DRAWN_STATES:,}. "
            f"Try {parameter('most', USUAL_NODES)}."
        )
    with drawing():
        return _Picture(rdp, plan, labels, brief, most).draw(title)


class _Picture:
    """The nodes, arrows and labels of one drawing, with their positions on the page."""

    def __init__(self, rdp: RDP, plan: Plan | None, labels: bool | None, brief: bool, most: int | None) -> None:
        self._rdp, self._plan, self._scene, self._names = rdp, plan, scene_of(rdp, plan, most), rdp.labels()
        self._layout, self._usage = self._scene.layout(), Usage.of(rdp) if brief else None
        self._most = max(arrow.count for arrow in self._scene.arrows)
        self._lines = self._labels()
        few = sum(map(len, self._lines)) <= MOST_LABEL_LINES if brief else len(self._lines) <= MOST_LABELLED
        self._labelled = few if labels is None else labels
        if not self._labelled:
            self._lines = [[] for _ in self._lines]
        self._sizes = np.array([_size(lines) for lines in self._lines])
        self._placed = place(self._layout, self._scene.arrows, self._sizes)
        self._scale = self._placed.radius / RADIUS  # below 1 for large automata

    def draw(self, title: str) -> Figure:
        """Draw the arrows, then the labels, the states, the axis of steps, the title and the caption."""
        from matplotlib.figure import Figure

        left, bottom, right, top = self._placed.bounds(self._sizes)
        left, right = left - ENTRY - MARGIN, right + MARGIN
        remarks = _wrapped(self._remarks(), right - left - 2 * MARGIN)
        low = bottom - FOOT - MARGIN - len(remarks) * _line_height(REMARK)
        above = HEAD if title or self._rdp.final is not None else 0
        high = top + above + MARGIN + (_line_height(HEADING) if title else 0)
        figure = Figure(figsize=(right - left, high - low), facecolor=PAGE)
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_axis_off()
        axes.set(xlim=(left, right), ylim=(low, high))
        for arrow, curve in zip(self._scene.arrows, self._placed.curves, strict=True):
            self._draw_arrow(axes, arrow, curve)
        for i, arrow in enumerate(self._scene.arrows):
            self._draw_label(axes, i, self._planned(arrow.source))
        for node in range(len(self._scene)):
            self._draw_node(axes, node)
        self._draw_ends(axes, top + above / 2)
        _write(axes, left + MARGIN, high - MARGIN, title, HEADING, INK, align="left")
        for i, remark in enumerate(reversed(remarks)):
            _write(axes, left + MARGIN, low + MARGIN + i * _line_height(REMARK), remark, REMARK, NOTE, align="left")
        return figure

    def _labels(self) -> list[list[Line]]:
        """Return the lines of each arrow's label; arrows that leave combined states have no label."""
        leaving: dict[int, list[int]] = {}  # arrows that leave each node
        for i, arrow in enumerate(self._scene.arrows):
            leaving.setdefault(arrow.source, []).append(i)
        found: list[list[Line]] = [[] for _ in self._scene.arrows]
        for node, arrows in leaving.items():
            q = int(self._scene.states[node])
            if q == GATHERED:
                continue
            ways = [self._scene.arrows[i] for i in arrows]
            if self._usage is None:
                words = [label(self._rdp, replace(way, source=q, target=self._state(way.target))) for way in ways]
            else:
                words = brief_labels(self._rdp, self._usage, q, [way.symbols for way in ways])
            for i, lines in zip(arrows, words, strict=True):
                found[i] = lines
        return found

    def _draw_arrow(self, axes: Axes, arrow: Arrow, curve: Curve) -> None:
        width = THIN + (THICK - THIN) * math.sqrt(arrow.count / max(self._most, 1))
        planned = self._planned(arrow.source) in self._rdp.symbols[list(arrow.symbols), 0]
        pale = self._scene.over[arrow.source] or self._state(arrow.source) == GATHERED
        _draw_curve(axes, curve, self._scale * width, FAINT if pale else PLAN_COLOUR if planned else ARROW_COLOUR)

    def _draw_label(self, axes: Axes, i: int, planned: int) -> None:
        """Draw a label on a background that interrupts its arrow."""
        from matplotlib.patches import Rectangle

        if not self._lines[i]:
            return
        (x, y), (w, h) = self._placed.labels[i], self._sizes[i]
        axes.add_artist(Rectangle((x - w / 2, y - h / 2), w, h, color=PAGE, linewidth=0, clip_on=False, zorder=2))
        for j, line in enumerate(self._lines[i]):
            lower = (j - (len(self._lines[i]) - 1) / 2) * _line_height(TEXT)
            _write(axes, x, y - lower, line.text, TEXT, PLAN_COLOUR if planned in line.actions else INK)

    def _draw_node(self, axes: Axes, node: int) -> None:
        from matplotlib.patches import Circle

        (x, y), radius, q = self._placed.states[node], self._placed.radius, self._state(node)
        rim, fill, ink = (FAINT, PAGE, FAINT) if self._scene.over[node] else (RIM, self._fill(node), INK)
        style = {"linestyle": (0, (2, 1.5)), "edgecolor": NOTE} if q == GATHERED else {"edgecolor": rim}
        look = {"facecolor": fill, "linewidth": 1.2 * self._scale} | style
        axes.add_artist(Circle((x, y), radius, clip_on=False, zorder=4, **look))
        if NAME_SIZE * self._scale < SMALLEST_NAME:
            return
        below, colour = ("more", ink) if q == GATHERED else (self._advice(node), PLAN_COLOUR)
        fits = min(1.0, 1.7 * RADIUS / max(_width(below, TEXT), 1e-9))
        below = below if TEXT * fits >= SMALLEST_NAME else ""
        _write(axes, x, y + (0.07 * self._scale if below else 0), self._name(node), NAME_SIZE * self._scale, ink)
        _write(axes, x, y - 0.08 * self._scale, below, TEXT * fits * self._scale, colour)

    def _draw_ends(self, axes: Axes, above: float) -> None:
        """Draw the entry arrow; for a layered automaton also the steps above the columns and the word "end"."""
        places, radius, columns = self._placed.states, self._placed.radius, self._scene.column
        start, first = places[0] - [[radius + ENTRY, 0], [radius + 0.02, 0]]
        _draw_curve(axes, lead(start, first, 0), THIN, ARROW_COLOUR)
        if self._rdp.final is None:
            return
        layers = self._rdp.layer_of()
        for c, node in zip(*np.unique(columns, return_index=True), strict=True):
            inside = layers[columns[self._scene.node_of] == c]
            t, until = int(inside.min()), int(inside.max())
            _write(axes, places[node, 0], above, f"t = {t}" if t == 0 else _span(t, until), REMARK, NOTE)
        x, y = places[self._scene.node_of[-1]]
        _write(axes, x, y - radius - 0.12, "end", REMARK, NOTE)

    def _remarks(self) -> list[str]:
        """Return the parts of the caption, which explains how to read the drawing."""
        rdp, n = self._rdp, len(self._scene.arrows)
        remarks = [f"{rdp.n_states:,} states"]
        gathered = self._scene.states == GATHERED
        if gathered.any():
            share = self._scene.visits[gathered].sum() / max(int(self._scene.visits.sum()), 1)
            some = f"{self._scene.holds()[gathered].sum():,} states, {share:.1%} of the visits"
            remarks += [f"dashed: remaining states of a column ({some})", "the explorer page shows all"]
        if not self._labelled:
            remarks.append(f"{n} arrows, not labelled")
        elif self._usage is None:
            remarks.append(f"arrows: {legend(rdp)}")
        else:
            remarks += self._usage.legend(rdp)
        remarks.append("thick: frequent")
        if self._plan is not None:
            low, high = self._range()
            worth = [short_number(value) for value in (low, high)]
            varied = f"dark: higher expected return, {worth[0]} to {worth[1]}"
            same = f"expected return {worth[0]} in every state"
            remarks += [varied if worth[0] != worth[1] else same, "orange: planned"]
        pale = "pale states" if gathered.any() else "pale"
        return [*remarks, f"{pale}: episode ended"] if self._scene.over.any() else remarks

    def _fill(self, node: int) -> str:
        if self._plan is None:
            return STATE_FILL
        low, high = self._range()
        return blend(POOR, RICH, (float(self._scene.values[node]) - low) / (high - low) if high > low + 1e-9 else 0.5)

    def _range(self) -> tuple[float, float]:
        """Return the smallest and largest value among the nodes in which the episode continues."""
        values = self._scene.values[~self._scene.over]
        return (float(values.min()), float(values.max())) if len(values) else (0.0, 0.0)

    def _state(self, node: int) -> int:
        return int(self._scene.states[node])

    def _name(self, node: int) -> str:
        """Return the label of a state, or the number of states that the node combines."""
        q = self._state(node)
        if q == GATHERED:
            return f"{self._scene.holds()[node]}"
        return self._names[q]

    def _advice(self, node: int) -> str:
        """Return the planned action, unless full labels already name it."""
        action, labelled = self._planned(node), self._labelled and self._usage is None
        return "" if labelled or action == BEHAVE else str(self._rdp.alphabet.action(action))

    def _planned(self, node: int) -> int:
        """Return the code of the planned action, or BEHAVE."""
        q = self._state(node)
        action = BEHAVE if self._plan is None or q == GATHERED else int(self._plan.actions[q])
        return BEHAVE if action == BEHAVE else action + PAD + 1


def _span(first: int, last: int) -> str:
    return str(first) if first == last else f"{first} to {last}"


def _draw_curve(axes: Axes, curve: Curve, width: float, colour: str) -> None:
    from matplotlib.patches import FancyArrowPatch
    from matplotlib.path import Path

    path = Path(curve.points, [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4])
    sharp = {"shrinkA": 0, "shrinkB": 0, "joinstyle": "miter", "capstyle": "butt", "clip_on": False}
    style = {"arrowstyle": "-|>", "mutation_scale": min(6, 9 * width) + 2 * width, "linewidth": width, "color": colour}
    axes.add_artist(FancyArrowPatch(path=path, zorder=1.5 if colour == PLAN_COLOUR else 1, **sharp, **style))  # type: ignore[arg-type]


def _size(lines: list[Line]) -> tuple[float, float]:
    """Return width and height of a label in inches, with padding."""
    widest = max((_width(line.text, TEXT) + 0.06 for line in lines), default=0.0)
    return widest, len(lines) * _line_height(TEXT)


def _wrapped(parts: list[str], width: float) -> list[str]:
    """Join the parts into as few lines as possible; a part wider than a line is broken between words."""
    lines: list[str] = []
    for part in parts:
        for i, word in enumerate([part] if _width(part, REMARK) <= width else part.split(" ")):
            longer = f"{lines[-1]}{' ' if i else '  ·  '}{word}" if lines else word
            lines[-1:] = [longer] if _width(longer, REMARK) <= width else [*lines[-1:], word]
    return lines


def _line_height(size: float) -> float:
    return LINE_SPACING * size / 72


def _width(text: str, size: float) -> float:
    from matplotlib.font_manager import FontProperties
    from matplotlib.textpath import text_to_path

    return float(text_to_path.get_text_width_height_descent(_drawn(text), FontProperties(size=size), False)[0]) / 72


def _drawn(text: str) -> str:
    """Return a text as it is drawn; the end of one that would take seconds to draw is left out."""
    return visible(text if len(text) <= LONGEST_DRAWN else f"{text[:LONGEST_DRAWN]}…")


def _write(axes: Axes, x: float, y: float, text: str, size: float, colour: str, *, align: str = "center") -> None:
    """Write text above all shapes; dollar signs are printed, not read as mathematics."""
    axes.text(x, y, _drawn(text), size=size, color=colour, ha=align, va="center_baseline", zorder=5, parse_math=False)
