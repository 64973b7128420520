"""Where the states, arrows and labels of the explorer's map go, in pixels at a zoom of 1, y downwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from suffice.rdp import RDP
from suffice.view.arrows import Arrow
from suffice.view.labels import Line
from suffice.view.layout import Layout, lay_out
from suffice.view.placing import RADIUS, place

Float = NDArray[np.float64]

PIXELS = 104.0  # for an inch of a picture
LETTER, LEADING, AIR = 6.7, 16.0, 8.0  # pixels: as wide as most letters, as high as lines, and around a label
MOST_PLACED = 200  # labels that each get the best place; among more the page shows those that have room
ROW, GAP = (
    72.0,
    90.0,
)  # pixels between states of a column, and between columns beside labels, where those have no places
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
    layout, sizes = lay_out(rdp), np.array([_size(label) for label in lines])
    if len(arrows) > MOST_PLACED:
        return Places(_evenly(layout, sizes))
    placed = place(layout, arrows, sizes / PIXELS)
    unit = PIXELS * RADIUS / placed.radius * np.array([1.0, -1.0])  # as large as if it had not to fit a page
    return Places(
        unit * placed.states, unit * np.stack([curve.points for curve in placed.curves]), unit * placed.labels
    )


def _evenly(layout: Layout, sizes: Float) -> Float:
    """Columns so far apart that most labels have room and arrows are not too steep, but the map is not too wide."""
    down = ROW * layout.height
    usual = float(np.quantile(sizes[:, 0], 0.9))
    gap = max(GAP + usual, BREADTH * float(np.ptp(down)) / (int(layout.column.max()) + 1))
    return np.stack([gap * layout.column, down], axis=1)


def _size(label: Sequence[Line]) -> tuple[float, float]:
    """Nearly: fonts differ from page to page."""
    widest = max((LETTER * len(line.text) + AIR for line in label), default=0.0)
    return widest, LEADING * len(label)
