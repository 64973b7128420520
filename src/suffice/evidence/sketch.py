"""Count-Min-Sketch: counts of very many keys in a fixed amount of memory, never too low (paper §2, theory.md §5).

d = ⌈ln 1/δ_c⌉ rows of w = ⌈e/ε⌉ cells; a key adds to one cell per row and is estimated by the least of its cells. With
probability 1 − δ_c an estimate exceeds the truth by at most ε times the total. Rows hash by vector multiply-shift, a
family that is pairwise independent up to a bias of w/2³²; the seed fixes it, so sketches of the same seed and shape add
up cell by cell. While few keys were added, an exact table of them is smaller and is kept instead.
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
    """What sketches must share to be added: rows, columns, seed."""

    depth: int
    width: int
    seed: int

    @classmethod
    def for_accuracy(cls, epsilon: float, ln_delta: float, seed: int) -> Shape:
        """Within ε of the truth with probability 1 − δ_c, given as ln δ_c: it can be as small as (ARO)^−ℓ."""
        return cls(max(1, math.ceil(-ln_delta)), max(1, math.ceil(math.e / epsilon)), seed)

    @property
    def cell_bytes(self) -> int:
        """Memory of the cells once they are used."""
        return self.depth * self.width * BYTES_PER_COUNTER

    def multipliers(self) -> NDArray[np.uint64]:
        """The seeded hash functions, [d, 3]."""
        return _multipliers(self)


@lru_cache(maxsize=64)
def _multipliers(shape: Shape) -> NDArray[np.uint64]:
    rng = np.random.default_rng([shape.seed, shape.depth, shape.width])
    drawn = rng.integers(0, 1 << 64, size=(shape.depth, 3), dtype=np.uint64)
    drawn.setflags(write=False)
    return drawn


@dataclass(slots=True)
class CountMinSketch:
    """A multiset of 64-bit keys, exact while small, sketched once that is smaller.

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
        """An empty sketch that keeps its counts in given cells, [d, w], all zero."""
        return cls(Shape(cells.shape[0], cells.shape[1], seed), _cells=cells)

    @property
    def is_dense(self) -> bool:
        """Whether cells have replaced the exact table."""
        return self._cells is not None

    @property
    def nbytes(self) -> int:
        """Memory held."""
        return self.shape.cell_bytes if self.is_dense else BYTES_PER_KEY * len(self._keys)

    @property
    def cells(self) -> Int64:
        """The cells, [d, w]; converts from the exact table."""
        if self._cells is None:
            self._cells = np.zeros((self.shape.depth, self.shape.width), np.int64)
            self._pour(self._keys, self._counts)
            self._keys, self._counts = np.zeros(0, np.uint64), np.zeros(0, np.int64)
        return self._cells

    def add(self, keys: UInt64, counts: Int64) -> None:
        """Count each key that often."""
        if counts.size and counts.min() < 0:
            raise SettingsError("a Count-Min-Sketch only grows: counts must not be negative")
        self._grow(float(counts.sum(dtype=np.float64)))
        self.total += int(counts.sum())
        if self._cells is not None:
            self._pour(keys, counts)
            return
        self._keys, place = np.unique(np.concatenate([self._keys, keys]), return_inverse=True)
        # weights of bincount are doubles, exact below 2⁵³; np.add.at keeps integers
        summed = np.zeros(len(self._keys), np.int64)
        np.add.at(summed, place, np.concatenate([self._counts, counts]))
        self._counts = summed
        if BYTES_PER_KEY * len(self._keys) > self.shape.cell_bytes:
            _ = self.cells

    def query(self, keys: UInt64) -> Int64:
        """Estimates, never below the truth."""
        if self._cells is not None:
            return np.asarray(sketches.sketch_query_all(self._cells, self.shape.multipliers(), keys))
        if not len(self._keys):
            return np.zeros(len(keys), np.int64)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        return np.where(self._keys[place] == keys, self._counts[place], 0)

    def merge(self, other: CountMinSketch) -> None:
        """Add another sketch; one of a different seed or shape is an error, not a number."""
        if self.shape != other.shape:
            raise SettingsError(f"sketches of different seed or shape cannot be added: {self.shape} and {other.shape}")
        if other._cells is None:
            self.add(other._keys, other._counts)
        else:
            self._grow(other.total)
            self.cells[...] += other._cells
            self.total += other.total

    def _grow(self, more: float) -> None:
        """No cell can wrap while the total does not."""
        if self.total + more > LARGEST_COUNT:
            raise SettingsError(f"a Count-Min-Sketch counts up to {LARGEST_COUNT:,}; count less, or in larger units")

    def _pour(self, keys: UInt64, counts: Int64) -> None:
        sketches.sketch_add(self.cells, self.shape.multipliers(), keys, counts)
