"""Layout of an automaton in columns from left to right, with few crossings between them.

The columns of a layered automaton are its layers, those of a stationary one the distances from the start. The order
within a column is found by barycentre sweeps (Sugiyama, Tagawa, Toda 1981) and exchanges of neighbours; then every
state is moved as close to the middle of its neighbours as the order and a minimal distance of 1 allow.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from suffice.automata.rdp import RDP, UNSEEN
from suffice.kernels.array_types import Float, Int64

SWEEPS = 5  # forward and backward; later sweeps rarely improve the order
EXCHANGES = 20  # rounds of exchanging neighbours
MOST_LINKS = 40_000  # links inspected in all rounds; limits the time for automata with thousands of states

Columns = list[list[int]]  # states of each column from top to bottom
Neighbours = list[list[int]]  # neighbours of each state in the column on one side


@dataclass(frozen=True, slots=True, eq=False)
class Layout:
    """Positions of the nodes of a drawing.

    Attributes
    ----------
    column
        Column of each state, from left to right, starting with 0.
    row
        Row of each state within its column, from top to bottom, starting with 0.
    height
        Vertical position of each state, downwards; 0 is the middle of the page. States of a column are at least 1
        apart.

    Examples
    --------
    >>> layout = suffice.view.lay_out(model.rdp)
    >>> layout.column.shape == layout.row.shape == layout.height.shape == (model.rdp.n_states,)
    True
    """

    column: Int64  # [Q]
    row: Int64  # [Q]
    height: Float  # [Q]

    def __post_init__(self) -> None:
        for array in (self.column, self.row, self.height):
            array.setflags(write=False)


def lay_out(rdp: RDP) -> Layout:
    """Arrange the states of an automaton in columns with few crossing arrows.

    The result is deterministic; ties are broken by the number of the state.

    Parameters
    ----------
    rdp
        Automaton to arrange.

    Returns
    -------
    Layout
        Column, row and height of every state.

    Examples
    --------
    >>> int(suffice.view.lay_out(model.rdp).column[0])
    0
    """
    edges = rdp.edges()
    return arrange(columns_of(rdp), np.stack([edges.source, edges.target], axis=1), np.zeros(rdp.n_states, bool))


def columns_of(rdp: RDP) -> Int64:
    """Return the column [Q] of each state: its layer, or its distance from the start in a stationary automaton."""
    return _distances(rdp) if rdp.stationary else rdp.layer_of()


def arrange(column: Int64, pairs: Int64, low: NDArray[np.bool_]) -> Layout:
    """Arrange nodes with given columns [n] and arrows [m, 2]; nodes in `low` [n] are below the others."""
    before, after = _neighbours(pairs, column)
    limits = np.cumsum(np.bincount(column))[:-1]
    columns = [states.tolist() for states in np.split(np.argsort(column, kind="stable"), limits)]
    columns = _ordered([sorted(states, key=lambda q: (low[q], q)) for states in columns], before, after, low.tolist())
    row = np.zeros(len(column), np.int64)
    for states in columns:
        row[states] = np.arange(len(states))
    return Layout(column, row, _heights(columns, before, after))


def crossings(columns: Columns, after: Neighbours) -> int:
    """Count the pairs of links between adjacent columns that cross."""
    total = 0
    for left, right in pairwise(columns):
        place = {q: i for i, q in enumerate(right)}
        met: list[int] = []
        for q in left:
            ends = sorted(place[r] for r in after[q])
            total += sum(len(met) - bisect_right(met, end) for end in ends)
            for end in ends:
                insort(met, end)
    return total


def _distances(rdp: RDP) -> Int64:
    """Return the smallest number of steps [Q] from the start; unreachable states get the largest number."""
    distance = np.full(rdp.n_states, -1, np.int64)
    reached, steps = np.zeros(1, np.int64), 0
    while len(reached):
        distance[reached] = steps
        targets = np.unique(rdp.tau[reached])
        reached, steps = targets[(targets != UNSEEN) & (distance[targets] < 0)].astype(np.int64), steps + 1
    distance[distance < 0] = steps
    return distance


def _neighbours(pairs: Int64, column: Int64) -> tuple[Neighbours, Neighbours]:
    """Return each state's neighbours in the previous and in the next column, ignoring the direction of arrows."""
    pairs = np.concatenate([pairs, pairs[:, ::-1]])
    before: Neighbours = [[] for _ in column]
    after: Neighbours = [[] for _ in column]
    for q, r in np.unique(pairs[column[pairs[:, 0]] + 1 == column[pairs[:, 1]]], axis=0).tolist():
        after[q].append(r)
        before[r].append(q)
    return before, after


def _ordered(columns: Columns, before: Neighbours, after: Neighbours, low: list[bool]) -> Columns:
    """Sort columns repeatedly by the mean position of their neighbours on one side; return the best order found."""
    best, fewest = columns, crossings(columns, after)
    for _ in range(SWEEPS):
        for there in (True, False):
            columns = _sweep(columns, before, low) if there else _sweep(columns[::-1], after, low)[::-1]
            tried = _exchanged(columns, before, after, low)
            if (count := crossings(tried, after)) < fewest:
                best, fewest = tried, count
    return best


def _sweep(columns: Columns, neighbours: Neighbours, low: list[bool]) -> Columns:
    place = {q: i - (len(states) - 1) / 2 for states in columns for i, q in enumerate(states)}
    swept = []
    for states in columns:
        mean = {q: _mean([place[r] for r in neighbours[q]], place[q]) for q in states}
        swept.append(sorted(states, key=lambda q, mean=mean: (low[q], mean[q], q)))  # type: ignore[misc]
        place |= {q: i - (len(states) - 1) / 2 for i, q in enumerate(swept[-1])}
    return swept


def _exchanged(columns: Columns, before: Neighbours, after: Neighbours, low: list[bool]) -> Columns:
    """Exchange adjacent states of a column as long as that removes crossings."""
    columns = [list(states) for states in columns]
    place = {q: i for states in columns for i, q in enumerate(states)}
    restless = set(range(len(columns)))  # columns that changed, or whose neighbours changed
    for _ in range(min(EXCHANGES, max(1, MOST_LINKS // sum(map(len, after), 1)))):
        for c in sorted(restless):
            states = columns[c]
            ends = {q: [sorted([place[r] for r in side[q]]) for side in (before, after)] for q in states}
            settled = True
            for i in range(len(states) - 1):
                q, r = states[i : i + 2]
                if low[q] == low[r] and _crossed(ends[q], ends[r]) > _crossed(ends[r], ends[q]):
                    states[i : i + 2], place[q], place[r], settled = [r, q], i + 1, i, False
            if settled:
                restless.discard(c)
            else:
                restless.update(range(max(c - 1, 0), min(c + 2, len(columns))))
        if not restless:
            break
    return columns


def _crossed(upper: Sequence[Sequence[int]], lower: Sequence[Sequence[int]]) -> int:
    """Count the crossings of two states' links, given the sorted positions of their neighbours on both sides."""
    return sum(bisect_left(theirs, a) for ours, theirs in zip(upper, lower, strict=True) for a in ours)


def _heights(columns: Columns, before: Neighbours, after: Neighbours) -> Float:
    """Move states towards their neighbours: on the left, then on the right, then on both sides."""
    height = np.zeros(sum(map(len, columns)))
    both = [one + other for one, other in zip(before, after, strict=True)]
    for states in columns:
        height[states] = np.arange(len(states)) - (len(states) - 1) / 2
    for order, neighbours in ((columns, before), (columns[::-1], after), (columns, both), (columns[::-1], both)):
        for states in order:
            height[states] = _apart([_mean(height[neighbours[q]].tolist(), float(height[q])) for q in states])
    return np.asarray(height - (height.min() + height.max()) / 2)


def _apart(wanted: Sequence[float]) -> list[float]:
    """Return the heights closest to the wanted ones, in least squares, that are ordered and at least 1 apart."""
    blocks: list[tuple[float, int]] = []  # sum and size of each block, for the pool-adjacent-violators algorithm
    for i, height in enumerate(wanted):
        blocks.append((height - i, 1))
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] >= blocks[-1][0] / blocks[-1][1]:
            (total, size), (more, others) = blocks[-2:]
            blocks[-2:] = [(total + more, size + others)]
    level = [total / size for total, size in blocks for _ in range(size)]
    return [height + i for i, height in enumerate(level)]


def _mean(values: Sequence[float], otherwise: float) -> float:
    return math.fsum(values) / len(values) if values else otherwise
