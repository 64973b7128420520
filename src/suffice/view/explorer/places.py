"""Positions of states, arrows and labels on the explorer's map, in pixels at a zoom of 1, with y downwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from suffice.automata.rdp import RDP
from suffice.kernels.array_types import Float
from suffice.view.arrows import Arrow
from suffice.view.labels import Line
from suffice.view.layout import Layout, lay_out
from suffice.view.placing import RADIUS, place, spread

PIXELS = 104.0  # per inch of a drawing
LETTER, LEADING, LABEL_PADDING = 6.7, 16.0, 8.0  # pixels: width of a letter, height of a line, padding
MOST_PLACED = 200  # labels that get fixed positions; of more labels, the page shows those that fit
ROW, GAP = 72.0, 90.0  # pixels between states of a column, and between columns, on a grid
SCREEN = 1.8  # width of most screens as a multiple of their height
STRETCHES = (3.0, 2.6, 2.2, 1.8, 1.4)  # factors of the distance between rows that are tried to fit the screen
WIDER = 1.05  # factor by which stretching may widen the map
BREADTH = 1.6  # width of a map of many columns and states as a multiple of its height


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """Positions of everything on the map."""

    states: Float  # [Q, 2] centres
    curves: Float | None = None  # [n, 4, 2] start, two handles and end of each arrow; None: the page computes them
    labels: Float | None = None  # [n, 2] centre of each arrow's label; None: the page finds room


def find_places(rdp: RDP, arrows: Sequence[Arrow], lines: Sequence[Sequence[Line]]) -> Places:
    """Place states, arrows and labels as in a drawing; with more than MOST_PLACED arrows, place states evenly."""
    sizes = np.array([_size(label) for label in lines])
    layout = _stretched(lay_out(rdp), arrows, sizes)
    if len(arrows) > MOST_PLACED:
        return Places(_evenly(layout, sizes))
    placed = place(layout, arrows, sizes / PIXELS)
    unit = PIXELS * RADIUS / placed.radius * np.array([1.0, -1.0])  # undo the scaling to a page
    return Places(
        unit * placed.states, unit * np.stack([curve.points for curve in placed.curves]), unit * placed.labels
    )


def _stretched(layout: Layout, arrows: Sequence[Arrow], sizes: Float) -> Layout:
    """Increase the distance of rows if the map is wider than a screen, unless steep arrows widen it further."""
    usual = _breadth(layout, arrows, sizes)
    for factor in STRETCHES:
        tall = replace(layout, height=factor * layout.height)
        breadth = _breadth(tall, arrows, sizes)
        if breadth[0] <= WIDER * usual[0] and breadth[0] >= SCREEN * breadth[1]:
            return tall
    return layout


def _breadth(layout: Layout, arrows: Sequence[Arrow], sizes: Float) -> Float:
    """Return width and height [2] of a map, in inches."""
    return np.asarray(np.ptp(spread(layout, arrows, sizes / PIXELS)[1], axis=0))


def _evenly(layout: Layout, sizes: Float) -> Float:
    """Place states on a grid whose columns leave room for most labels, without making the map too wide."""
    down = ROW * layout.height
    usual = float(np.quantile(sizes[:, 0], 0.9))
    gap = max(GAP + usual, BREADTH * float(np.ptp(down)) / (int(layout.column.max()) + 1))
    return np.stack([gap * layout.column, down], axis=1)


def _size(label: Sequence[Line]) -> tuple[float, float]:
    """Estimate width and height of a label in pixels; fonts differ between browsers."""
    widest = max((LETTER * len(line.text) + LABEL_PADDING for line in label), default=0.0)
    return widest, LEADING * len(label)
