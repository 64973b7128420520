"""Bins of numeric columns: a number of them with equally many rows, of equal width, or between given edges.

`Bins` is the fitted column encoder, which has edges. `EqualCount` and `EqualWidth` are requests that become `Bins` once
a log is read.
"""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from suffice.data.alphabet import Value
from suffice.data.encoding.kinds import ColumnEncoder, ColumnRequest, LogColumn
from suffice.data.encoding.tables import Coded, dense
from suffice.errors import LogError, SettingsError
from suffice.kernels.array_types import Float, Int64

MOST = 1000  # bins
EDGE_DIGITS = range(4, 18)  # of edges in a legend: the fewest that keep them distinct


@dataclass(frozen=True, slots=True)
class Bins(ColumnEncoder):
    """Numbers by the bin they fall into: 0 below the first edge, 1 from there on, and so on.

    A binned reward stands for the mean reward of its bin instead, so that mean returns are preserved.

    >>> log = {"episode": [1, 2, 3], "step": [0, 0, 0], "heat": [36, 38, 39], "action": [0, 1, 1], "reward": [1, 1, 0]}
    >>> _, report = suffice.read_log(log, bins={"heat": [37, 38]})
    >>> report.bins
    {'heat': Bins(edges=(37.0, 38.0), levels=())}
    """

    kind: ClassVar[str] = "number"

    edges: tuple[float, ...]  # lower edges of bins 1, 2, …
    levels: tuple[float, ...] = ()  # of rewards, what each bin stands for

    def __post_init__(self) -> None:
        if self.edges and not are_edges(self.edges):
            raise SettingsError(f"the edges of bins must grow, and be finite numbers, unlike {self.edges!r:.60}")
        if self.levels and len(self.levels) != len(self.edges) + 1:
            raise SettingsError(f"{len(self.edges)} edges make {len(self.edges) + 1} bins, not {len(self.levels)}")

    def __str__(self) -> str:
        """As `parse_binning` reads it."""
        return ",".join(map(repr, self.edges)) + ("," if len(self.edges) == 1 else "")

    def needs_log(self, *, reward: bool) -> bool:
        """See `ColumnRequest`."""
        return reward and not self.levels

    def encode(self, column: LogColumn) -> Coded[Value]:
        """See `ColumnEncoder`."""
        codes, present = dense(np.searchsorted(self.edges, column.numbers, side="right"), len(self.edges) + 1)
        return Coded(codes, tuple(present.tolist()))

    def encode_value(self, value: Any, name: str) -> Value:
        """See `ColumnEncoder`."""
        if isinstance(value, float) and not math.isfinite(value):
            raise LogError(f"{name} is {value}, which is not a finite number; replace it")
        if not isinstance(value, int | float):
            raise LogError(f"{name} is {value!r}; the model has bins of it, so it must be a number")
        return bisect(self.edges, value)

    def fit_rewards(self, column: LogColumn, counts: Int64) -> Bins:
        """See `ColumnEncoder`."""
        if self.levels:
            return self
        size = len(self.edges) + 1
        place = np.searchsorted(self.edges, column.numbers, side="right")
        total, count = np.bincount(place, column.numbers * counts, size), np.bincount(place, counts, size)
        seen = np.flatnonzero(count)  # an empty bin lies between its neighbours
        levels = np.interp(np.arange(size), seen, total[seen] / count[seen])
        return Bins(self.edges, tuple(float(f"{level:.12g}") for level in levels))  # 0.1 and not 0.09999999999999999

    def encode_rewards(self, column: LogColumn) -> Coded[float]:
        """See `ColumnEncoder`."""
        coded = self.encode(column)
        return Coded(coded.codes, tuple(self.levels[int(place)] for place in coded.values))

    def legend(self) -> list[str]:
        """The values that each bin holds; empty if there is only one bin."""
        if not self.edges:
            return []
        texts = next(t for n in EDGE_DIGITS if len(set(t := [f"{e:.{n}g}" for e in self.edges])) == len(self.edges))
        return [f"below {texts[0]}", *(f"{low} to {high}" for low, high in pairwise(texts)), f"{texts[-1]} or more"]


@dataclass(frozen=True, slots=True)
class EqualWidth(ColumnRequest):
    """So many bins of equal width, between the smallest and the largest value.

    >>> log = {"episode": [1, 2, 3], "step": [0, 0, 0], "heat": [36, 37, 40], "action": [0, 1, 1], "reward": [1, 1, 0]}
    >>> suffice.read_log(log, bins={"heat": suffice.EqualWidth(2)})[1].bins["heat"].edges
    (38.0,)
    """

    count: int

    def fit(self, column: LogColumn) -> Bins:
        """See `ColumnRequest`."""
        shares, low = _shares(column, self.count), column.numbers.min()
        edges = low * (1 - shares) + column.numbers.max() * shares  # whose difference might be infinite
        return _bins(edges, low)


@dataclass(frozen=True, slots=True)
class EqualCount(ColumnRequest):
    """So many bins with about equally many rows."""

    count: int

    def fit(self, column: LogColumn) -> Bins:
        """See `ColumnRequest`."""
        edges = np.quantile(column.numbers, _shares(column, self.count), method="inverted_cdf")
        return _bins(edges, column.numbers.min())


@dataclass(frozen=True, slots=True)
class Edges(ColumnRequest):
    """Bins between given edges."""

    edges: tuple[float, ...]

    def fit(self, column: LogColumn) -> Bins:
        """See `ColumnRequest`."""
        return Bins(self.edges)

    def needs_log(self, *, reward: bool) -> bool:
        """See `ColumnRequest`."""
        return reward


# What users give: a number of bins with about equally many rows, edges, or any other request.
Binning = int | Sequence[float] | ColumnRequest


def are_edges(edges: object) -> bool:
    """Whether these are finite numbers, at least one, in ascending order."""
    try:
        numbers = np.asarray(edges, dtype=float)
    except (TypeError, ValueError):
        return False
    return bool(numbers.ndim == 1 and numbers.size and np.isfinite(numbers).all() and (np.diff(numbers) > 0).all())


def request_of(name: str, binning: Binning) -> ColumnRequest:
    """The request that a user means for a column."""
    if isinstance(binning, ColumnRequest):
        return binning
    if isinstance(binning, int | np.integer):
        return EqualCount(int(binning))
    if not are_edges(binning):
        raise SettingsError(f"--bin {name}: give a number of bins, or edges that grow, not {binning!r:.60}")
    return Edges(tuple(float(edge) for edge in binning))


def parse_binning(text: str) -> Binning:
    """`8`, `8:width`, or edges such as `0,10,50`."""
    count, _, how = text.partition(":")
    if "," not in text and count.isdecimal() and how in ("", "quantile", "width"):
        return EqualWidth(int(count)) if how == "width" else int(count)
    try:
        edges = tuple(float(edge) for edge in filter(None, text.split(",")))
    except ValueError:
        edges = ()
    if "," not in text or not are_edges(edges):
        raise SettingsError(
            f"{text} says not how to bin: write a number of bins (8), of equal width (8:width), or edges (0,10,50)"
        )
    return edges


def _shares(column: LogColumn, count: int) -> Float:
    """[count − 1] the shares of the rows, or of the range, below each edge."""
    if not 2 <= count <= MOST:
        name = column.name
        column.table.refuse(f"--bin {name}={count} leaves nothing to tell apart; ask for 2 to {MOST:,} bins")
    return np.arange(1, count) / count


def _bins(edges: Float, low: float) -> Bins:
    return Bins(tuple(np.unique(edges[edges > low]).tolist()))
