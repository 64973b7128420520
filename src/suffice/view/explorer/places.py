"""Where the states, arrows and labels of the explorer's map go, in pixels at a zoom of 1, y downwards."""

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

PIXELS = 104.0  # for an inch of a picture
LETTER, LEADING, LABEL_PADDING = 6.7, 16.0, 8.0  # pixels: as wide as most letters, as high as lines, and around a label
MOST_PLACED = 200  # labels that each get the best place; among more the page shows those that have room
ROW, GAP = (
    72.0,
    90.0,
)  # pixels between states of a column, and between columns beside labels, where those have no places
SCREEN = 1.8  # the breadth of a map as a part of its height, that fits most
STRETCHES = (3.0, 2.6, 2.2, 1.8, 1.4)  # how far rows are pulled apart for that, if it makes the map
WIDER = 1.05  # times as wide at most
BREADTH = 1.6  # of a map of many columns and states, as a part of its height


@dataclass(frozen=True, slots=True, eq=False)
class Places:
    """A map without drawing."""

    states: Float  # [Q, 2] centres
    curves: Float | None = (
        None  # [n, 4, 2] of each arrow: start, two handles, end; None: the page draws them as it likes
    )
    labels: Float | None = None  # [n, 2] the centre of each arrow's label; None: the page finds room as it goes


def find_places(rdp: RDP, arrows: Sequence[Arrow], lines: Sequence[Sequence[Line]]) -> Places:
    """As a picture has them, if that is a matter of a moment; else evenly."""
    sizes = np.array([_size(label) for label in lines])
    layout = _stretched(lay_out(rdp), arrows, sizes)
    if len(arrows) > MOST_PLACED:
        return Places(_evenly(layout, sizes))
    placed = place(layout, arrows, sizes / PIXELS)
    unit = PIXELS * RADIUS / placed.radius * np.array([1.0, -1.0])  # as large as if it had not to fit a page
    return Places(
        unit * placed.states, unit * np.stack([curve.points for curve in placed.curves]), unit * placed.labels
    )


def _stretched(layout: Layout, arrows: Sequence[Arrow], sizes: Float) -> Layout:
    """Rows further apart where the map would be much wider than a screen, unless steep arrows then make it wider."""
    usual = _breadth(layout, arrows, sizes)
    for factor in STRETCHES:
        tall = replace(layout, height=factor * layout.height)
        breadth = _breadth(tall, arrows, sizes)
        if breadth[0] <= WIDER * usual[0] and breadth[0] >= SCREEN * breadth[1]:
            return tall
    return layout


def _breadth(layout: Layout, arrows: Sequence[Arrow], sizes: Float) -> Float:
    """[2] of a map, and its height, in inches."""
    return np.asarray(np.ptp(spread(layout, arrows, sizes / PIXELS)[1], axis=0))


def _evenly(layout: Layout, sizes: Float) -> Float:
    """Columns so far apart that most labels have room and arrows are not too steep, but the map is not too wide."""
    down = ROW * layout.height
    usual = float(np.quantile(sizes[:, 0], 0.9))
    gap = max(GAP + usual, BREADTH * float(np.ptp(down)) / (int(layout.column.max()) + 1))
    return np.stack([gap * layout.column, down], axis=1)


def _size(label: Sequence[Line]) -> tuple[float, float]:
    """Nearly: fonts differ from page to page."""
    widest = max((LETTER * len(line.text) + LABEL_PADDING for line in label), default=0.0)
    return widest, LEADING * len(label)
