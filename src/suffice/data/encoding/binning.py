"""Bins of numeric columns: so many with equally many rows, so many of equal width, or between given edges.

A binned column holds the numbers of its bins, 0, 1, … A binned reward holds the mean reward of each bin instead, so
that returns stay what they are on average. Both are remembered, so that other logs, and observations at run time, are
binned alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from suffice.data.alphabet import Value
from suffice.data.encoding.tables import Coded, Table, dense
from suffice.errors import SettingsError
from suffice.kernels.array_types import Float, Int64

MOST = 1000  # bins


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins as they were found in a log.

    >>> log = {"episode": [1, 2, 3], "step": [0, 0, 0], "heat": [36, 38, 39], "action": [0, 1, 1], "reward": [1, 1, 0]}
    >>> _, report = suffice.read_log(log, bins={"heat": [37, 38]})
    >>> report.bins
    {'heat': Bins(edges=(37.0, 38.0), levels=())}
    """

    edges: tuple[float, ...]  # lower edges of bins 1, 2, …
    levels: tuple[float, ...] = ()  # of rewards, what each bin stands for


@dataclass(frozen=True, slots=True)
class EqualWidth:
    """So many bins of equal width, between the smallest and the largest value.

    >>> log = {"episode": [1, 2, 3], "step": [0, 0, 0], "heat": [36, 37, 40], "action": [0, 1, 1], "reward": [1, 1, 0]}
    >>> suffice.read_log(log, bins={"heat": suffice.EqualWidth(2)})[1].bins["heat"].edges
    (38.0,)
    """

    count: int


Binning = int | EqualWidth | Sequence[float] | Bins  # a number alone: bins with about equally many rows


def parse_binning(text: str) -> Binning:
    """`8`, `8:width`, or edges such as `0,10,50`."""
    count, _, how = text.partition(":")
    if "," not in text and count.isdecimal() and how in ("", "quantile", "width"):
        return EqualWidth(int(count)) if how == "width" else int(count)
    try:
        edges = tuple(float(edge) for edge in filter(None, text.split(",")))
    except ValueError:
        edges = ()
    if "," not in text or not _are_edges(edges):
        raise SettingsError(
            f"{text} says not how to bin: write a number of bins (8), of equal width (8:width), or edges (0,10,50)"
        )
    return edges


def _are_edges(edges: object) -> bool:
    try:
        numbers = np.asarray(edges, dtype=float)
    except (TypeError, ValueError):
        return False
    return bool(numbers.ndim == 1 and numbers.size and np.isfinite(numbers).all() and (np.diff(numbers) > 0).all())


def spread_binnings(bins: Mapping[str, Binning], columns: Sequence[str]) -> dict[str, Binning]:
    """By column: bins of a vector or record are for each of its parts."""
    found: dict[str, Binning] = {}
    for name, binning in bins.items():
        parts = [name] if name in columns else [column for column in columns if column.startswith(f"{name}.")]
        if not parts:
            told = " ".join(", ".join(columns).split())
            raise SettingsError(f"--bin {name} is for an observation, action or reward column: {told}")
        found |= dict.fromkeys(parts, binning)
    return found


def bin_column(table: Table, name: str, binning: Binning) -> tuple[Coded[Value], Bins]:
    """The bin of each row; no value is divided."""
    numbers = table.numbers(name)
    bins = binning if isinstance(binning, Bins) else Bins(_edges(table, name, numbers, binning))
    codes, present = dense(np.searchsorted(bins.edges, numbers, side="right"), len(bins.edges) + 1)
    return Coded(codes, tuple(present.tolist())), bins


def bin_rewards(table: Table, name: str, binning: Binning, counts: Int64) -> tuple[Coded[float], Bins]:
    """The mean reward of each row's bin, over as many episodes as each row `counts` for: none, if it is left out."""
    coded, bins = bin_column(table, name, binning)
    if not bins.levels:
        numbers, size = table.numbers(name), len(bins.edges) + 1
        place = np.array(coded.values)[coded.codes]
        total, count = np.bincount(place, numbers * counts, size), np.bincount(place, counts, size)
        seen = np.flatnonzero(count)  # a bin that holds nothing lies between its neighbours
        levels = np.interp(np.arange(size), seen, total[seen] / count[seen])
        bins = Bins(bins.edges, tuple(float(f"{level:.12g}") for level in levels))  # 0.1 and not 0.09999999999999999
    return Coded(coded.codes, tuple(bins.levels[int(place)] for place in coded.values)), bins


def _edges(table: Table, name: str, numbers: Float, binning: int | EqualWidth | Sequence[float]) -> tuple[float, ...]:
    if not isinstance(binning, int | np.integer | EqualWidth):
        if not _are_edges(binning):
            raise SettingsError(f"--bin {name}: give a number of bins, or edges that grow, not {binning!r:.60}")
        return tuple(float(edge) for edge in binning)
    count = binning.count if isinstance(binning, EqualWidth) else int(binning)
    if not 2 <= count <= MOST:
        table.refuse(f"--bin {name}={count} leaves nothing to tell apart; ask for 2 to {MOST:,} bins")
    shares, low = np.arange(1, count) / count, numbers.min()
    if not isinstance(binning, EqualWidth):
        edges = np.quantile(numbers, shares, method="inverted_cdf")
    else:
        edges = low * (1 - shares) + numbers.max() * shares  # whose difference might be infinite
    return tuple(np.unique(edges[edges > low]).tolist())
