"""Positions of states, arrows and labels on a page, in inches, computed from a layout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suffice.kernels.array_types import Float
from suffice.view.arrows import Arrow
from suffice.view.curves import Curve, along, beyond, find_room
from suffice.view.layout import Layout
from suffice.view.routing import route

RADIUS = 0.23  # radius of a state
ROW, GAP = 0.86, 0.6  # distance between states of a column; between columns and around labels
LOOPS = 1.4  # factor of the distance between rows if the automaton has loops
PLAIN_ROW_SHARE = 0.7  # factor of the distance between rows without labels
INCHES_PER_LABEL = 0.04  # additional width of a gap for each of its labelled arrows
STEEPEST = 2.2  # largest slope of an arrow
TALLEST_PAGE, WIDEST_PAGE = 14.0, 24.0  # larger automata are scaled down to this size


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """Positions in inches, with y upwards."""

    radius: float  # radius of the states
    states: Float  # [Q, 2] centres
    curves: tuple[Curve, ...]  # one for each arrow
    labels: Float  # [n, 2] centres, one for each arrow

    def bounds(self, sizes: Float) -> tuple[float, float, float, float]:
        """Return left, bottom, right and top of the drawing."""
        lines = np.concatenate([curve.at(np.linspace(0, 1, 17)) for curve in self.curves])
        corners = [self.states - self.radius, self.states + self.radius, self.labels - sizes / 2]
        points = np.concatenate([*corners, self.labels + sizes / 2, lines])
        return (
            float(points[:, 0].min()),
            float(points[:, 1].min()),
            float(points[:, 0].max()),
            float(points[:, 1].max()),
        )


def place(layout: Layout, arrows: Sequence[Arrow], sizes: Float) -> Placed:
    """Place states, arrows and labels; `sizes` [n, 2] are the labels' sizes, 0 for arrows without a label."""
    labelled = np.flatnonzero(sizes[:, 0])
    scale, states = spread(layout, arrows, sizes)
    radius = scale * RADIUS
    curves = route(states, radius, [(arrow.source, arrow.target) for arrow in arrows])
    labels = np.stack([curve.at(0.5) for curve in curves])

    def spots(i: int) -> Float:
        source, target = arrows[i].source, arrows[i].target
        return beyond(curves[i], states[source], sizes[i]) if source == target else along(curves[i])

    if len(labelled):
        taken = np.concatenate([states - radius, states + radius], axis=1)
        centres = np.stack([spots(i) for i in labelled.tolist()])
        labels[labelled] = find_room([curves[i] for i in labelled], centres, sizes[labelled], taken)
    return Placed(radius, states, curves, labels)


def spread(layout: Layout, arrows: Sequence[Arrow], sizes: Float) -> tuple[float, Float]:
    """Return the scale and the centres of states [Q, 2].

    Columns are far enough apart for labels and steep arrows. Without labels the drawing is scaled to fit a page.
    """
    column, labelled = layout.column, bool(sizes.any())
    loops = any(arrow.source == arrow.target for arrow in arrows)
    down = layout.height * ROW * (LOOPS if labelled and loops else 1 if labelled else PLAIN_ROW_SHARE)
    ends = np.array([(arrow.source, arrow.target) for arrow in arrows])
    gap_of = column[ends].min(axis=1)
    crowd = INCHES_PER_LABEL * np.bincount(gap_of, minlength=int(column.max()) + 1)
    wide = np.where(sizes[:, 0] > 0, sizes[:, 0] + GAP + crowd[gap_of], GAP)
    steep = np.abs(down[ends[:, 0]] - down[ends[:, 1]]) / STEEPEST
    gaps = np.full(len(crowd), GAP)
    np.maximum.at(gaps, gap_of, np.maximum(wide, steep))
    across = np.concatenate([[0.0], np.cumsum(gaps + 2 * RADIUS)])[column]
    largest = max(float(np.ptp(down)) / TALLEST_PAGE, float(across.max()) / WIDEST_PAGE)
    scale = 1.0 if labelled else 1 / max(1.0, largest)  # labels must stay readable
    return scale, scale * np.stack([across, -down], axis=1)
