"""Bins of numeric columns: so many with equally many rows, so many of equal width, or between given edges.

A binned column holds the numbers of its bins, 0, 1, … A binned reward holds the mean reward of each bin instead, so
that returns stay what they are on average. Both are remembered, so that other logs, and observations at run time, are
binned alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from suffice.episodes import Value, plain, smallest_uint
from suffice.errors import SettingsError
from suffice.logs.tables import Coded, Floats, Table

MOST = 1000  # bins


@dataclass(frozen=True, slots=True)
class Bins:
    """Bins as they were found in a log."""

    edges: tuple[float, ...]  # lower edges of bins 1, 2, …
    levels: tuple[float, ...] = ()  # of rewards, what each bin stands for


@dataclass(frozen=True, slots=True)
class EqualWidth:
    """So many bins of equal width, between the smallest and the largest value."""

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
    if "," not in text or not edges or not np.isfinite(edges).all() or sorted(set(edges)) != list(edges):
        raise SettingsError(
            f"{text} says not how to bin: write a number of bins (8), of equal width (8:width), or edges (0,10,50)"
        )
    return edges


def spread_binnings(bins: Mapping[str, Binning], columns: Sequence[str]) -> dict[str, Binning]:
    """By column: bins of a vector or record are for each of its parts."""
    found: dict[str, Binning] = {}
    for name, binning in bins.items():
        parts = [name] if name in columns else [column for column in columns if column.startswith(f"{name}.")]
        if not parts:
            raise SettingsError(f"--bin {name} is for an observation, action or reward column: {', '.join(columns)}")
        found |= dict.fromkeys(parts, binning)
    return found


def bin_column(table: Table, name: str, binning: Binning) -> tuple[Coded[Value], Bins]:
    """The bin of each row; none of the bins that are made here is empty, and no value is divided."""
    numbers = table.numbers(name)
    bins = binning if isinstance(binning, Bins) else Bins(_edges(table, name, numbers, binning))
    codes = np.searchsorted(bins.edges, numbers, side="right").astype(smallest_uint(len(bins.edges) + 1))
    return Coded(codes, tuple(range(len(bins.edges) + 1))), bins


def bin_rewards(table: Table, name: str, binning: Binning) -> tuple[Coded[float], Bins]:
    """The mean reward of each row's bin."""
    coded, bins = bin_column(table, name, binning)
    if not bins.levels:
        numbers, size = table.numbers(name), len(bins.edges) + 1
        total, count = np.bincount(coded.codes, numbers, minlength=size), np.bincount(coded.codes, minlength=size)
        middles = np.interp(np.arange(size), np.arange(size)[count > 0], (total / np.maximum(count, 1))[count > 0])
        bins = Bins(bins.edges, tuple(float(plain(float(level))) for level in np.round(middles, 12)))
    return Coded(coded.codes, bins.levels), bins


def _edges(table: Table, name: str, numbers: Floats, binning: int | EqualWidth | Sequence[float]) -> tuple[float, ...]:
    if not isinstance(binning, int | EqualWidth):
        return tuple(float(edge) for edge in binning)
    count = binning if isinstance(binning, int) else binning.count
    if not 2 <= count <= MOST:
        table.refuse(f"--bin {name}={count} leaves nothing to tell apart; ask for 2 to {MOST:,} bins")
    if isinstance(binning, int):
        edges = np.unique(np.quantile(numbers, np.arange(1, count) / count, method="inverted_cdf"))
    else:
        edges = np.linspace(numbers.min(), numbers.max(), count + 1)[1:-1]
    return tuple(np.unique(edges[edges > numbers.min()]).tolist())
