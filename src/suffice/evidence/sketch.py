"""Count-Min-Sketch, which estimates the counts of many keys in a fixed amount of memory, never below the true counts.

It has d = ⌈ln 1/δ_c⌉ rows of w = ⌈e/ε⌉ cells. A key adds to one cell per row, and its count is estimated by the minimum
of its cells. With probability 1 − δ_c an estimate exceeds the true count by at most ε times the total. Rows hash by
vector multiply-shift, a family that is pairwise independent up to a bias of w/2³². The seed determines the hash
functions, so sketches of the same seed and shape can be added cell by cell. While there are few keys, an exact table of
them is smaller and is used instead. Theory: paper, section 2; docs/theory.md, section 5.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from suffice.errors import SettingsError
from suffice.kernels import sketches
from suffice.kernels.array_types import Int64, UInt64

BYTES_PER_KEY = 16  # a key and its count in the exact table
BYTES_PER_COUNTER = 8
LARGEST_COUNT = 1 << 62  # a cell is an integer of 64 bits


@dataclass(frozen=True, slots=True)
class Shape:
    """Depth, width and seed of a sketch. Sketches can be added if these are equal."""

    depth: int  # d, number of rows
    width: int  # w, cells per row
    seed: int

    @classmethod
    def for_accuracy(cls, epsilon: float, ln_delta: float, seed: int) -> Shape:
        """Return the shape whose estimates are within ε with probability 1 − δ_c.

        δ_c is given by its logarithm, because it can be as small as (ARO)^−ℓ.
        """
        return cls(max(1, math.ceil(-ln_delta)), max(1, math.ceil(math.e / epsilon)), seed)

    @property
    def cell_bytes(self) -> int:
        """Memory of the cells, in bytes."""
        return self.depth * self.width * BYTES_PER_COUNTER

    def multipliers(self) -> NDArray[np.uint64]:
        """Return the multipliers of the seeded hash functions, [d, 3]."""
        return _multipliers(self)


@lru_cache(maxsize=64)
def _multipliers(shape: Shape) -> NDArray[np.uint64]:
    rng = np.random.default_rng([shape.seed, shape.depth, shape.width])
    drawn = rng.integers(0, 1 << 64, size=(shape.depth, 3), dtype=np.uint64)
    drawn.setflags(write=False)
    return drawn


@dataclass(slots=True)
class CountMinSketch:
    """Count-Min-Sketch of 64-bit keys; an exact table while that is smaller.

    Parameters
    ----------
    shape
        Depth, width and seed.
    total
        Sum of all counts; 0 for an empty sketch.

    Examples
    --------
    >>> from suffice.evidence.sketch import Shape
    >>> sketch = suffice.CountMinSketch(Shape(depth=4, width=100, seed=0))
    >>> sketch.add(np.array([7, 9], np.uint64), np.array([2, 1]))
    >>> sketch.query(np.array([7, 8, 9], np.uint64))
    array([2, 0, 1])
    """

    shape: Shape
    total: int = 0
    _keys: UInt64 = field(default_factory=lambda: np.zeros(0, np.uint64))  # sorted, distinct
    _counts: Int64 = field(default_factory=lambda: np.zeros(0, np.int64))
    _cells: Int64 | None = None  # [d, w]

    @classmethod
    def over(cls, cells: Int64, seed: int) -> CountMinSketch:
        """Create an empty sketch that stores its counts in an existing array.

        Parameters
        ----------
        cells
            Array of zeros, [d, w].
        seed
            Seed of the hash functions.

        Returns
        -------
        CountMinSketch
            A sketch that writes to `cells`.
        """
        return cls(Shape(cells.shape[0], cells.shape[1], seed), _cells=cells)

    @property
    def is_dense(self) -> bool:
        """Whether cells have replaced the exact table."""
        return self._cells is not None

    @property
    def nbytes(self) -> int:
        """Memory of the counts, in bytes."""
        return self.shape.cell_bytes if self.is_dense else BYTES_PER_KEY * len(self._keys)

    @property
    def cells(self) -> Int64:
        """The cells, [d, w], to which the exact table is converted when they are first read."""
        if self._cells is None:
            self._cells = np.zeros((self.shape.depth, self.shape.width), np.int64)
            self._pour(self._keys, self._counts)
            self._keys, self._counts = np.zeros(0, np.uint64), np.zeros(0, np.int64)
        return self._cells

    def add(self, keys: UInt64, counts: Int64) -> None:
        """Add keys with their counts.

        Parameters
        ----------
        keys
            Keys, [K].
        counts
            Number of occurrences of each key, [K], not negative.
        """
        if counts.size and counts.min() < 0:
            raise SettingsError("counts of a Count-Min-Sketch must not be negative. Pass counts of at least 0.")
        self._grow(float(counts.sum(dtype=np.float64)))
        self.total += int(counts.sum())
        if self._cells is not None:
            self._pour(keys, counts)
            return
        self._keys, place = np.unique(np.concatenate([self._keys, keys]), return_inverse=True)
        # np.bincount would add weights as doubles, which are exact only below 2⁵³
        summed = np.zeros(len(self._keys), np.int64)
        np.add.at(summed, place, np.concatenate([self._counts, counts]))
        self._counts = summed
        if BYTES_PER_KEY * len(self._keys) > self.shape.cell_bytes:
            _ = self.cells

    def query(self, keys: UInt64) -> Int64:
        """Estimate the counts of keys.

        Parameters
        ----------
        keys
            Keys, [K].

        Returns
        -------
        Int64
            Estimates, [K], never below the true counts.
        """
        if self._cells is not None:
            return np.asarray(sketches.sketch_query_all(self._cells, self.shape.multipliers(), keys))
        if not len(self._keys):
            return np.zeros(len(keys), np.int64)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[place] == keys, self._counts[place], 0)

    def merge(self, other: CountMinSketch) -> None:
        """Add the counts of another sketch.

        Parameters
        ----------
        other
            A sketch of the same seed and shape. Others are refused.
        """
        if self.shape != other.shape:
            raise SettingsError(
                f"sketches of different seed or shape cannot be added: {self.shape} and {other.shape}. Create both "
                "with the same shape."
            )
        if other._cells is None:
            self.add(other._keys, other._counts)
        else:
            self._grow(other.total)
            self.cells[...] += other._cells
            self.total += other.total

    def _grow(self, more: float) -> None:
        """Raise SettingsError if the total, and so possibly a cell, would overflow."""
        if self.total + more > LARGEST_COUNT:
            raise SettingsError(
                f"a Count-Min-Sketch counts up to {LARGEST_COUNT:,}. Add fewer keys, or count in larger units."
            )

    def _pour(self, keys: UInt64, counts: Int64) -> None:
        sketches.sketch_add(self.cells, self.shape.multipliers(), keys, counts)
