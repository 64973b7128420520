"""Arrows as cubic Bézier curves, and positions for their labels that hide as little as possible."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from suffice.kernels.array_types import Float

REACH, SLOPE = 0.4, 0.35  # handles: share of the horizontal distance they span, and share of the slope they follow
BOW = 0.22  # sideways bend of an arrow that does not lead to the right, as a share of its length
SPOTS = np.linspace(0.2, 0.8, 25)  # curve parameters at which a label may be centred
LABEL_GAP = 0.05  # inches between two labels
LABEL_ROUNDS = 4  # rounds of improving each label's position given all others
CURVE_POINTS = np.linspace(0, 1, 33)
HALFWAY = 0.02 * np.abs(SPOTS - 0.45)  # cost of leaving the middle; the optimum is slightly nearer to the source
LINE_COST, TIP = 0.004, 0.05  # cost, in square inches, of hiding a point of another arrow, or the end of any arrow
TOUCH = 0.02  # inches between a loop and its label
TIPS = np.array([0.0, 0.9, 0.95, 1.0])  # curve parameters of an arrow's start and head


@dataclass(frozen=True, slots=True, eq=False)
class Curve:
    """Cubic Bézier curve given by four points."""

    points: Float  # [4, 2] start, two handles, end

    def at(self, s: Float | float) -> Float:
        """Return the points [..., 2] at parameters between 0 and 1."""
        s = np.asarray(s, float)[..., None]
        a, b, c, d = self.points
        return np.asarray((1 - s) ** 3 * a + 3 * (1 - s) ** 2 * s * b + 3 * (1 - s) * s**2 * c + s**3 * d)

    def between(self, first: float, last: float) -> Curve:
        """Return the part of the curve between two parameters."""
        a, d = self.at(first), self.at(last)
        third = (last - first) / 3
        return Curve(np.stack([a, a + third * self._slope(first), d - third * self._slope(last), d]))

    def outside(self, radius: float, tip: float) -> Curve:
        """Cut off the parts within `radius` of the start and within `tip` of the end."""
        fine = np.linspace(0, 1, 513)
        points = self.at(fine)
        leaves, enters = (np.hypot(*(points - end).T) for end in (points[0], points[-1]))
        return self.between(float(fine[np.argmax(leaves > radius)]), float(fine[::-1][np.argmax(enters[::-1] > tip)]))

    def _slope(self, s: float) -> Float:
        a, b, c, d = self.points
        return np.asarray(3 * ((1 - s) ** 2 * (b - a) + 2 * (1 - s) * s * (c - b) + s**2 * (d - c)))


def lead(start: Float, end: Float, bow: float) -> Curve:
    """Return a curve between two points: level at both ends, or bent to the left (to the right if `bow` < 0)."""
    across = end - start
    if not bow:
        handle = np.array([REACH * across[0], SLOPE * REACH * across[1]])
        return Curve(np.stack([start, start + handle, end - handle, end]))
    side = bow * BOW * np.array([-across[1], across[0]])
    return Curve(np.stack([start, start + across / 4 + side, end - across / 4 + side, end]))


def loop(place: Float, radius: float, angle: float = 0.0) -> Curve:
    """Return a loop above a point, rotated by an angle in radians."""
    ends = np.array([[-0.5, 0.85], [-1.8, 3.2], [1.8, 3.2], [0.5, 0.85]])
    turn = np.array([[math.cos(angle), math.sin(angle)], [-math.sin(angle), math.cos(angle)]])
    return Curve(place + radius * ends @ turn)


def along(curve: Curve) -> Float:
    """Return candidate centres [spots, 2] for a label on an arrow."""
    return curve.at(SPOTS)


def beyond(curve: Curve, place: Float, size: Float) -> Float:
    """Return candidate centres [spots, 2] for a label just outside a loop."""
    top = curve.at(0.5)
    out = (top - place) / np.hypot(*(top - place))
    shift = np.array([out[1], -out[0]]) * np.abs(size * [out[1], out[0]]).sum() / 2
    return np.asarray(top + out * ((np.abs(out) * size).sum() / 2 + TOUCH) + (2 * SPOTS - 1)[:, None] * shift)


def find_room(curves: Sequence[Curve], centres: Float, sizes: Float, taken: Float) -> Float:
    """Choose a centre [n, 2] for each label that overlaps little with other labels, arrows and occupied boxes.

    Candidate centres are [n, spots, 2], label sizes [n, 2], occupied boxes [m, 4]: left, bottom, right, top.
    """
    boxes = np.concatenate([centres - sizes[:, None] / 2, centres + sizes[:, None] / 2], axis=2)
    lines = np.stack([curve.at(CURVE_POINTS) for curve in curves])
    tips = np.concatenate([curve.at(TIPS) for curve in curves])
    fixed = HALFWAY + _overlap(boxes, taken).sum(axis=2)  # [n, spots]
    for i, spots in enumerate(boxes):
        others = np.delete(lines, i, axis=0).reshape(-1, 2)
        fixed[i] += LINE_COST * _inside(spots, others) + TIP * _inside(spots, tips)
    chosen = np.round(fixed, 6).argmin(axis=1)
    rows = np.arange(len(boxes))
    for _ in range(LABEL_ROUNDS):
        for i, spots in enumerate(boxes):
            others = np.delete(boxes[rows, chosen], i, axis=0) + LABEL_GAP * np.array([-1, -1, 1, 1])
            cost = fixed[i] + 3 * _overlap(spots, others).sum(axis=1)
            chosen[i] = np.argmin(np.round(cost, 6))
    return np.asarray(centres[rows, chosen])


def _overlap(boxes: Float, others: Float) -> Float:
    """Return the area [..., m] that each box shares with each of the others."""
    low = np.maximum(boxes[..., None, :2], others[:, :2])
    high = np.minimum(boxes[..., None, 2:], others[:, 2:])
    return np.asarray(np.maximum(high - low, 0).prod(axis=-1))


def _inside(boxes: Float, points: Float) -> Float:
    """Return the number of points [m] inside each box."""
    return np.asarray(np.all((points > boxes[:, None, :2]) & (points < boxes[:, None, 2:]), axis=2).sum(axis=1))
