"""Ways for arrows: level to the next column, and around states and other arrows where they lead back or stay."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from suffice.kernels.array_types import Float
from suffice.view.curves import Curve, lead, loop

BOWS = (1.0, -1.0, 0.5, -0.5, 1.7, -1.7, 2.6, -2.6, 3.6, -3.6)  # the first of equals is taken
LOOP_ANGLES = tuple(math.pi * turn / 4 for turn in (0, 4, -1, 1, 3, -3))  # of loops: above, below, aslant
ROUTE_ROUNDS = 2  # in which each arrow finds its way, given those of the others
MOST_ROUTED = 300  # arrows; beyond, each is a hair among others
SAMPLES = np.linspace(0, 1, 15)
INNER = slice(2, -2)  # samples away from the states at the ends, where arrows meet anyway
CLEARANCE = 1.5  # radii from a state's centre that other arrows keep
NEAR = 0.5  # radii between arrows that do not run into one another
STATE_COST, ARROW_COST, TURN_COST = (
    3.0,
    0.2,
    0.12,
)  # what it costs to cross a state, to touch another arrow, and to turn away


def route(states: Float, radius: float, ends: Sequence[tuple[int, int]]) -> tuple[Curve, ...]:
    """A curve for each arrow between two states [Q, 2], outside both."""
    joined = set(ends)
    ways = [_ways(states, radius, q, r, (r, q) in joined) for q, r in ends]
    curves = [some[0] for some in ways]
    if len(ends) > MOST_ROUTED:
        return tuple(curves)
    lengths = [round(float(np.hypot(*(states[q] - states[r]))), 6) for q, r in ends]
    free = sorted((lengths[i], i) for i, some in enumerate(ways) if len(some) > 1)  # long ones give way to short ones
    settled = {i: curves[i].at(SAMPLES) for i, some in enumerate(ways) if len(some) == 1}
    for _ in range(ROUTE_ROUNDS):
        for _, i in free:
            others = [points[INNER] for j, points in settled.items() if j != i]
            apart = np.delete(states, list(ends[i]), axis=0)
            around = np.concatenate([np.empty((0, 2)), *others])
            costs = [_cost(way.at(SAMPLES), apart, around, radius) + TURN_COST * j for j, way in enumerate(ways[i])]
            curves[i] = ways[i][int(np.argmin(np.round(costs, 6)))]
            settled[i] = curves[i].at(SAMPLES)
    return tuple(curves)


def _ways(states: Float, radius: float, q: int, r: int, mutual: bool) -> list[Curve]:
    """That an arrow may take, the plainest first."""
    if q == r:
        return [loop(states[q], radius, turn) for turn in LOOP_ANGLES]
    bows = BOWS if mutual or states[q, 0] >= states[r, 0] else (0.0,)
    return [lead(states[q], states[r], bow).outside(radius, radius + 0.02) for bow in bows]


def _cost(points: Float, states: Float, others: Float, radius: float) -> float:
    """Of a way, by the points on it: how much it runs into states, and into points of other arrows."""
    to_states = np.hypot(*(points[:, None] - states[None]).transpose(2, 0, 1)) / radius
    to_others = np.hypot(*(points[INNER, None] - others[None]).transpose(2, 0, 1)) / radius
    crossed = np.maximum(CLEARANCE - to_states, 0).max(axis=0, initial=0).sum()
    return float(STATE_COST * crossed + ARROW_COST * np.count_nonzero(to_others.min(axis=1, initial=np.inf) < NEAR))
