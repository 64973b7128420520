"""Tables [Q, X] that are not stored in full: rows are made when they are indexed.

An automaton over a long horizon has the same rows at every step, and the counts of a log are mostly zeros. In full such
tables would be the largest of all. These classes stand in for arrays that are only read: `table[states]` gives rows as
an array, for a state, a slice or an array of states, and `table[states, letters]` single cells. Anything else that an
array can do works on the whole table, which is refused first if it does not fit into memory.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from suffice.data.memory_limit import require_memory
from suffice.kernels.array_types import Array, Int32, Int64

BLOCK_CELLS = 1 << 20  # cells of rows that are made at once


class RowTable(NDArrayOperatorsMixin):
    """A table whose rows are made when they are indexed."""

    ndim = 2

    def __init__(self, shape: tuple[int, int], dtype: np.dtype[Any]) -> None:
        self.shape, self.dtype = shape, dtype

    @abstractmethod
    def rows(self, states: Int64) -> Array:
        """Return the rows [S, X] of some states."""

    def cells(self, states: Int64, letters: Int64) -> Array:
        """Return the cells [S] of some states and letters."""
        return np.asarray(self.rows(states)[np.arange(len(states)), letters])

    def __len__(self) -> int:
        return self.shape[0]

    @property
    def nbytes(self) -> int:
        """Bytes of the table in full."""
        return self.shape[0] * self.shape[1] * self.dtype.itemsize

    def __getitem__(self, index: Any) -> Any:
        if isinstance(index, tuple):
            states, letters = index
            if isinstance(states, slice):
                return self[states][:, letters]
            if isinstance(letters, slice):
                return self[states][..., letters]
            states, letters = np.broadcast_arrays(states, letters)
            found = self.cells(states.ravel() % len(self), letters.ravel() % self.shape[1]).reshape(states.shape)
            return found if states.ndim else found[()]
        if isinstance(index, slice):
            return self.rows(np.arange(*index.indices(len(self))))
        states = np.asarray(index)
        if states.dtype == bool:
            states = np.flatnonzero(states)
        found = self.rows(states.ravel() % len(self))
        return found.reshape(*states.shape, self.shape[1])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        require_memory(self.nbytes, f"a table of {len(self):,} states and {self.shape[1]:,} distinct steps")
        found = self.rows(np.arange(len(self)))
        return found if dtype is None else found.astype(dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        whole = [np.asarray(each) if isinstance(each, RowTable) else each for each in inputs]
        return getattr(ufunc, method)(*whole, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # such as those that copy and pickle ask for
            raise AttributeError(name)
        return getattr(np.asarray(self), name)

    def setflags(self, write: bool) -> None:
        """Do nothing, because the table is never written to."""

    def min(self, initial: int) -> Any:
        """Return the smallest cell, or `initial` if that is smaller."""
        return min([initial, *(self[rows].min(initial=initial) for rows in self._blocks())])

    def sum(self, axis: int | None = None, dtype: Any = None) -> Any:
        """Return the sum of all cells, or [Q] the sums of the rows."""
        parts = [np.atleast_1d(self[rows].sum(axis=axis, dtype=dtype)) for rows in self._blocks()]
        together = np.concatenate(parts)
        return together if axis == 1 else together.sum(axis=0)

    def any(self, axis: int, keepdims: bool = False) -> Any:
        """Return whether any cell of each row differs from 0."""
        return np.concatenate([self[rows].any(axis=axis, keepdims=keepdims) for rows in self._blocks()])

    def _blocks(self) -> list[slice]:
        size = max(1, BLOCK_CELLS // max(self.shape[1], 1))
        return [slice(begin, begin + size) for begin in range(0, max(len(self), 1), size)]


class SharedRows(RowTable):
    """A table with few distinct rows."""

    def __init__(self, distinct: Array, row: Int64) -> None:
        """Take the distinct rows [D, X] and the row of each state [Q]."""
        super().__init__((len(row), distinct.shape[1]), distinct.dtype)
        self._distinct, self._row = distinct, row

    def rows(self, states: Int64) -> Array:
        """Return the rows of some states; see `RowTable`."""
        return np.asarray(self._distinct[self._row[states]])

    def cells(self, states: Int64, letters: Int64) -> Array:
        """Return single cells; see `RowTable`."""
        return np.asarray(self._distinct[self._row[states], letters])

    def sum(self, axis: int | None = None, dtype: Any = None) -> Any:
        """Return the sum of all cells, or [Q] the sums of the rows."""
        sums = self._distinct.sum(axis=1, dtype=dtype)[self._row]
        return sums if axis == 1 else sums.sum()

    def any(self, axis: int, keepdims: bool = False) -> Any:
        """Return whether any cell of each row differs from 0."""
        return np.asarray(self._distinct.any(axis=axis, keepdims=keepdims))[self._row]


class LayeredSuccessors(RowTable):
    """Successors in the layers of an unrolled automaton: those of the stationary one, numbered layer by layer."""

    def __init__(self, distinct: Int32, row: Int64, layer: Int64, place: Int32) -> None:
        """Take distinct rows [D, Y] of stationary states, and the numbers [H+2, Q+1] of these in each layer.

        The last of the Q + 1 numbers is that of UNSEEN = -1. `row` and `layer` [P] are those of each unrolled state.
        """
        super().__init__((len(row), distinct.shape[1]), place.dtype)
        self._distinct, self._row, self._layer, self._place = distinct, row, layer, place

    def rows(self, states: Int64) -> Array:
        """Return the rows of some states; see `RowTable`."""
        return np.asarray(self._place[self._layer[states, None] + 1, self._distinct[self._row[states]]])

    def cells(self, states: Int64, letters: Int64) -> Array:
        """Return single cells; see `RowTable`."""
        return np.asarray(self._place[self._layer[states] + 1, self._distinct[self._row[states], letters]])


class SparseRows(RowTable):
    """A table of counts that stores only the cells that differ from 0."""

    def __init__(self, shape: tuple[int, int], keys: Int64, times: Int64) -> None:
        """Take the numbers of the cells, state · X + letter, in order, and their counts."""
        super().__init__(shape, times.dtype)
        self._keys, self._times = keys, times

    @classmethod
    def counted(cls, shape: tuple[int, int], keys: Int64, times: Int64) -> SparseRows:
        """Add up the counts of cells, which may occur several times and in any order."""
        distinct, place = np.unique(keys, return_inverse=True)
        total = np.zeros(len(distinct), np.int64)
        np.add.at(total, place, times)
        return cls(shape, distinct, total)

    @classmethod
    def added(cls, tables: list[SparseRows]) -> SparseRows:
        """Add up tables of the same shape."""
        keys, times = (np.concatenate([getattr(table, name) for table in tables]) for name in ("_keys", "_times"))
        return cls.counted(tables[0].shape, keys, times)

    def rows(self, states: Int64) -> Array:
        """Return the rows of some states; see `RowTable`."""
        width = self.shape[1]
        begin, end = (np.searchsorted(self._keys, (states + after) * width) for after in (0, 1))
        size = end - begin
        row = np.repeat(np.arange(len(states)), size)
        cell = np.arange(len(row)) + np.repeat(begin - (np.cumsum(size) - size), size)
        found = np.zeros((len(states), width), self._times.dtype)
        found[row, self._keys[cell] % width] = self._times[cell]
        return found


class ComputedRows(RowTable):
    """A table of counts whose rows a function computes."""

    def __init__(self, shape: tuple[int, int], compute: Callable[[Int64], Int64]) -> None:
        """Take the function that returns the rows [S, X] of states [S]."""
        super().__init__(shape, np.dtype(np.int64))
        self._compute = compute

    def rows(self, states: Int64) -> Array:
        """Return the rows of some states; see `RowTable`."""
        return self._compute(states)
