"""Observation features, which are columns as they are or cut into ranges."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from suffice.data.alphabet import smallest_uint
from suffice.data.columnar import ColumnarLog
from suffice.data.encoding.binning import LOWEST
from suffice.data.episodes import Episodes
from suffice.kernels.array_types import Codes, Float, Mask

RANGES = 32  # quantiles that may become cuts of a range are its 32nds


class Feature(NamedTuple):
    """A column in an observation: its values, or with `cuts` the ranges between them."""

    column: str
    cuts: tuple[float, ...] | None = None  # None: categories

    def with_cut(self, cut: float) -> Feature:
        """Return the feature with one more cut."""
        return Feature(self.column, tuple(sorted({*(self.cuts or ()), cut})))

    def apart_from_missing(self, log: ColumnarLog) -> Feature:
        """Return the feature with a range of their own for missing numbers, if there are some."""
        numbers = log.column(self.column).numbers
        return self.with_cut(LOWEST) if numbers is not None and numbers.min() == -np.inf else self


class Part(NamedTuple):
    """A range of a column of numbers, with the places where it may be cut."""

    codes: Codes  # [H, N] number of the sub-range; −1 outside the range and where there is no decision
    edges: Float  # [sub-ranges − 1] smallest number of each sub-range but the first


def codes_of(log: ColumnarLog, feature: Feature) -> tuple[Codes, int]:
    """Return the codes of a feature, [H, N], and their number."""
    column = log.column(feature.column)
    if feature.cuts is None:
        assert column.codes is not None
        return column.codes, len(column.values)
    assert column.numbers is not None
    size = len(feature.cuts) + 1
    return np.searchsorted(feature.cuts, column.numbers, side="right").astype(smallest_uint(size)), size


def project(log: ColumnarLog, features: Sequence[Feature]) -> Episodes:
    """Return the episodes with only these features."""
    return log.project([feature.column for feature in features], [codes_of(log, feature) for feature in features])


def joined(features: Sequence[tuple[Codes, int]]) -> tuple[Codes, int]:
    """Return several features as one, whose codes are those of their combinations."""
    codes, size = features[0][0].astype(np.int64), features[0][1]
    for other, values in features[1:]:
        codes, size = codes * values + other, size * values
    return codes, size


def parts_of(log: ColumnarLog, feature: Feature) -> list[Part]:
    """Return the ranges of a column of numbers that can be cut further."""
    numbers, decides = log.column(feature.column).numbers, log.decides
    assert numbers is not None
    ranges, size = codes_of(log, Feature(feature.column, feature.cuts or ()))
    found = [_part(numbers, decides & (ranges == r)) for r in range(size)]
    return [part for part in found if len(part.edges)]


def _part(numbers: Float, inside: Mask) -> Part:
    within = np.sort(numbers[inside])
    missing = int(np.searchsorted(within, -np.inf, side="right"))
    known = within[missing:]
    if not len(known):
        return Part(np.full(numbers.shape, -1, np.int16), np.zeros(0))
    places = np.arange(1, RANGES) * len(known) // RANGES
    edges = np.unique(known[places])
    edges = edges[edges > known[0]]
    edges = np.concatenate([[LOWEST], edges]) if missing else edges
    codes = np.searchsorted(edges, numbers, side="right").astype(np.int16)
    codes[~inside] = -1
    return Part(codes, edges)
