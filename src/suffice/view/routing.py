"""Routes of arrows, direct to later columns and curved around states and other arrows if they lead back or loop."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from suffice.kernels.array_types import Float
from suffice.view.curves import Curve, lead, loop

BOWS = (1.0, -1.0, 0.5, -0.5, 1.7, -1.7, 2.6, -2.6, 3.6, -3.6)  # candidate bends; ties go to the first
LOOP_ANGLES = tuple(math.pi * turn / 4 for turn in (0, 4, -1, 1, 3, -3))  # loops above, below and diagonal
ROUTE_ROUNDS = 2  # rounds of improving each route given all others
MOST_ROUTED = 300  # of more arrows none can be followed, so routes are not optimised
SAMPLES = np.linspace(0, 1, 15)
INNER = slice(2, -2)  # samples away from both ends, where arrows of the same state always meet
CLEARANCE = 1.5  # distance of arrows from the centres of other states, in radii
NEAR = 0.5  # distance between arrows below which they touch, in radii
STATE_COST, ARROW_COST, TURN_COST = (
    3.0,
    0.2,
    0.12,
)  # crossing a state, touching an arrow, later candidates


def route(states: Float, radius: float, ends: Sequence[tuple[int, int]]) -> tuple[Curve, ...]:
    """Return a curve for each arrow, given as (source, target), that starts and ends at the rims of its states."""
    joined = set(ends)
    ways = [_ways(states, radius, q, r, (r, q) in joined) for q, r in ends]
    curves = [some[0] for some in ways]
    if len(ends) > MOST_ROUTED:
        return tuple(curves)
    lengths = [round(float(np.hypot(*(states[q] - states[r]))), 6) for q, r in ends]
    free = sorted((lengths[i], i) for i, some in enumerate(ways) if len(some) > 1)  # short arrows choose first
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
    """Return the candidate routes of an arrow, the simplest first."""
    if q == r:
        return [loop(states[q], radius, turn) for turn in LOOP_ANGLES]
    bows = BOWS if mutual or states[q, 0] >= states[r, 0] else (0.0,)
    return [lead(states[q], states[r], bow).outside(radius, radius + 0.02) for bow in bows]


def _cost(points: Float, states: Float, others: Float, radius: float) -> float:
    """Return the cost of a route, given points on it, for crossing states and touching other arrows."""
    to_states = np.hypot(*(points[:, None] - states[None]).transpose(2, 0, 1)) / radius
    to_others = np.hypot(*(points[INNER, None] - others[None]).transpose(2, 0, 1)) / radius
    crossed = np.maximum(CLEARANCE - to_states, 0).max(axis=0, initial=0).sum()
    return float(STATE_COST * crossed + ARROW_COST * np.count_nonzero(to_others.min(axis=1, initial=np.inf) < NEAR))
