"""Binning of numeric columns into bins with equally many rows, of equal width, or between given edges.

`Bins` is the fitted column encoder, which has edges. `EqualCount` and `EqualWidth` are requests that become `Bins` when
a log is read.
"""

from __future__ import annotations

import math
import sys
from bisect import bisect
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from suffice.data.alphabet import MISSING, Value
from suffice.data.encoding.kinds import ColumnEncoder, ColumnRequest, LogColumn
from suffice.data.encoding.tables import Coded, dense, is_missing
from suffice.errors import LogError, SettingsError, parameter
from suffice.kernels.array_types import Float, Int64

MOST = 1000  # bins
LOWEST = -sys.float_info.max  # an edge between missing values, which count as −∞, and all numbers
EDGE_DIGITS = range(4, 18)  # numbers of digits to try in a legend: the fewest that keep edges distinct


@dataclass(frozen=True, slots=True)
class Bins(ColumnEncoder):
    """Bins of a numeric column: bin 0 is below the first edge, bin 1 starts at it, and so on.

    If the first edge is the lowest number, bin 0 holds missing values.
    A binned reward is replaced by the mean reward of its bin, so that mean returns are preserved.

    Parameters
    ----------
    edges
        Lower edges of bins 1, 2, …, in ascending order.
    levels
        For a reward column, the mean reward of each bin; found when a log is read.

    Examples
    --------
    >>> log = {"episode": [1, 2, 3], "step": [0, 0, 0], "heat": [36, 38, 39], "action": [0, 1, 1], "reward": [1, 1, 0]}
    >>> suffice.read_log(log, bins={"heat": [37, 38]}).report.bins
    {'heat': Bins(edges=(37.0, 38.0), levels=())}
    """

    kind: ClassVar[str] = "number"

    edges: tuple[float, ...]
    levels: tuple[float, ...] = ()  # [bins]

    def __post_init__(self) -> None:
        if self.edges and not are_edges(self.edges):
            raise SettingsError(
                f"edges={self.edges!r:.60} are not ascending finite numbers. Sort them, without repetition."
            )
        if self.levels and len(self.levels) != len(self.edges) + 1:
            raise SettingsError(
                f"levels has {len(self.levels)} entries for {len(self.edges) + 1} bins. Give one more than there are "
                "edges."
            )

    def __str__(self) -> str:
        """Return the edges as text that `parse_binning` reads."""
        return ",".join(map(repr, self.edges)) + ("," if len(self.edges) == 1 else "")

    @property
    def cuts(self) -> tuple[float, ...]:
        """The edges between numbers, without the one that separates missing values."""
        return self.edges[1:] if self.knows_missing else self.edges

    @property
    def knows_missing(self) -> bool:
        """Whether missing values have a bin of their own, the first one."""
        return bool(self.edges) and self.edges[0] == LOWEST

    def needs_log(self, *, reward: bool) -> bool:
        """Return whether fitting reads all rows of a log.

        Parameters
        ----------
        reward
            Whether the column is the reward, whose levels are means over the log.

        Returns
        -------
        bool
            True for a reward without levels.
        """
        return reward and not self.levels

    def encode(self, column: LogColumn) -> Coded[Value]:
        """Encode a column of a log.

        Parameters
        ----------
        column
            A column of numbers.

        Returns
        -------
        Coded
            The bin of each row.
        """
        if not self.knows_missing:
            column.table.refuse_any(column.numbers == -np.inf, column.name, column.table.missing(column.name))
        codes, present = dense(np.searchsorted(self.edges, column.numbers, side="right"), len(self.edges) + 1)
        return Coded(codes, tuple(present.tolist()))

    def encode_value(self, value: Any, name: str) -> Value:
        """Return the bin of one value.

        Parameters
        ----------
        value
            A number.
        name
            Name of the column, for errors.

        Returns
        -------
        int
            The bin of the value, from 0.
        """
        if is_missing(value) and self.knows_missing:
            return 0
        if isinstance(value, float) and not math.isfinite(value):
            raise LogError(f"{name}: {value} is not a finite number. Replace it.")
        if not isinstance(value, int | float):
            raise LogError(f"{name}: {value!r} is not a number, but the model bins this column. Pass a number.")
        return bisect(self.edges, value)

    def fit_rewards(self, column: LogColumn, counts: Int64) -> Bins:
        """Find the mean reward of each bin.

        Parameters
        ----------
        column
            The reward column.
        counts
            [rows] the number of episodes that each row counts for.

        Returns
        -------
        Bins
            The same edges with levels.
        """
        if self.levels:
            return self
        size = len(self.edges) + 1
        place = np.searchsorted(self.edges, column.numbers, side="right")
        total, count = np.bincount(place, column.numbers * counts, size), np.bincount(place, counts, size)
        seen = np.flatnonzero(count)  # the level of an empty bin is interpolated
        levels = np.interp(np.arange(size), seen, total[seen] / count[seen])
        return Bins(self.edges, tuple(float(f"{level:.12g}") for level in levels))  # 0.1 and not 0.09999999999999999

    def encode_rewards(self, column: LogColumn) -> Coded[float]:
        """Replace each reward of a column by the level of its bin.

        Parameters
        ----------
        column
            The reward column.

        Returns
        -------
        Coded
            The level of each row's bin.
        """
        coded = self.encode(column)
        return Coded(coded.codes, tuple(self.levels[int(place)] for place in coded.values))

    def legend(self) -> list[str]:
        """Describe the range of each bin.

        Returns
        -------
        list of str
            Such as `below 37`, `37 to 38`, `38 or more`; empty if there is only one bin.
        """
        if self.knows_missing:
            return [MISSING, *(Bins(self.cuts).legend() or ["known"])]
        if not self.edges:
            return []
        texts = next(t for n in EDGE_DIGITS if len(set(t := [f"{e:.{n}g}" for e in self.edges])) == len(self.edges))
        return [f"below {texts[0]}", *(f"{low} to {high}" for low, high in pairwise(texts)), f"{texts[-1]} or more"]


@dataclass(frozen=True, slots=True)
class EqualWidth(ColumnRequest):
    """A request for bins of equal width between the smallest and the largest value of a column.

    Parameters
    ----------
    count
        Number of bins, 2 to 1,000.

    Examples
    --------
    >>> log = {"episode": [1, 2, 3], "step": [0, 0, 0], "heat": [36, 37, 40], "action": [0, 1, 1], "reward": [1, 1, 0]}
    >>> suffice.read_log(log, bins={"heat": suffice.EqualWidth(2)}).report.bins["heat"].edges
    (38.0,)
    """

    count: int

    def fit(self, column: LogColumn) -> Bins:
        """Choose the edges by a column.

        Parameters
        ----------
        column
            A column of numbers.

        Returns
        -------
        Bins
            The fitted bins.
        """
        shares, numbers = _shares(column, self.count), _known(column)
        low = numbers.min()
        edges = low * (1 - shares) + numbers.max() * shares  # not low + difference, which may overflow
        return _bins(edges, low, column)


@dataclass(frozen=True, slots=True)
class EqualCount(ColumnRequest):
    """A request for bins with about equally many rows each."""

    count: int

    def fit(self, column: LogColumn) -> Bins:
        """Choose the edges by the quantiles of a column."""
        numbers = _known(column)
        edges = np.quantile(numbers, _shares(column, self.count), method="inverted_cdf")
        return _bins(edges, numbers.min(), column)


@dataclass(frozen=True, slots=True)
class Edges(ColumnRequest):
    """A request for bins between given edges."""

    edges: tuple[float, ...]

    def fit(self, column: LogColumn) -> Bins:
        """Return bins with the given edges, and one for missing values if there are some."""
        return self.with_missing(bool((column.numbers == -np.inf).any()))

    def needs_log(self, *, reward: bool) -> bool:
        """Return whether the column is a reward, whose levels are means over the log."""
        return reward

    def with_missing(self, missing: bool) -> Bins:
        """Return bins with the given edges, and one for missing values if there are some."""
        return Bins((LOWEST, *self.edges) if missing and self.edges[0] > LOWEST else self.edges)


# What users pass: a number of bins with about equally many rows, edges, or any other request.
Binning = int | Sequence[float] | ColumnRequest


def are_edges(edges: object) -> bool:
    """Return whether these are finite numbers, at least one, in ascending order."""
    try:
        numbers = np.asarray(edges, dtype=float)
    except (TypeError, ValueError):
        return False
    return bool(numbers.ndim == 1 and numbers.size and np.isfinite(numbers).all() and (np.diff(numbers) > 0).all())


def request_of(name: str, binning: Binning | str) -> ColumnRequest:
    """Convert what a user passes for a column to a request."""
    if isinstance(binning, str):
        binning = parse_binning(binning, name)
    if isinstance(binning, ColumnRequest):
        return binning
    if isinstance(binning, int | np.integer):
        return EqualCount(int(binning))
    if not are_edges(binning):
        raise SettingsError(
            f"{parameter('bins')}: {binning!r:.60} for {name!r} is neither a number of bins nor ascending edges. Try "
            f"{parameter('bins', {name: 8})}."
        )
    return Edges(tuple(float(edge) for edge in binning))


def parse_binning(text: str, column: str = "COLUMN") -> Binning:
    """Parse how to bin a column: `8`, `8:width`, or edges such as `0,10,50`."""
    count, _, how = text.partition(":")
    if "," not in text and count.isdecimal() and how in ("", "quantile", "width"):
        return EqualWidth(int(count)) if how == "width" else int(count)
    try:
        edges = tuple(float(edge) for edge in filter(None, text.split(",")))
    except ValueError:
        edges = ()
    if "," not in text or not are_edges(edges):
        raise SettingsError(
            f"{parameter('bins', {column: text})} is not a way to bin. Write a number of bins (8), of equal width "
            "(8:width), or edges (0,10,50)."
        )
    return edges


def _shares(column: LogColumn, count: int) -> Float:
    """Return the [count − 1] shares of the rows, or of the range, below each edge."""
    if not 2 <= count <= MOST:
        column.table.refuse(f"{parameter('bins', {column.name: count})} is out of range. Use 2 to {MOST:,} bins.")
    return np.arange(1, count) / count


def _known(column: LogColumn) -> Float:
    """Return the numbers of a column that are not missing."""
    known = column.numbers[column.numbers > -np.inf]
    if not len(known):
        column.table.refuse_column(column.name, "all values are missing. Leave the column out.")
    return known


def _bins(edges: Float, low: float, column: LogColumn) -> Bins:
    """Return bins between the edges above the lowest number, and one for missing values if there are some."""
    missing = [LOWEST] if len(column.numbers) and column.numbers.min() == -np.inf else []
    return Bins(tuple(np.unique([*missing, *edges[edges > low]]).tolist()))
