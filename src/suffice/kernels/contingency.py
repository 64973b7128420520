"""Pearson's test of many contingency tables at once, with exact moments (Haldane, 1940)."""

from __future__ import annotations

import numpy as np

from suffice.kernels.array_types import Float, Int64

TABLE_SIZE = 1 << 16  # keys below this number, or four times their number, are found in a table instead of by sorting


def excess_of_tables(table: Int64, row: Int64, outcome: Int64, times: Float) -> tuple[float, float]:
    """Return the sum of Pearson's X² over all tables, less its mean, and its variance.

    If rows do not matter, all ways to distribute the outcomes of a table over its observations are equally likely,
    which gives the exact mean and variance of X² (Haldane, 1940).

    Parameters
    ----------
    table
        Table of each observation, as a number.
    row
        Row of each observation; a row belongs to one table.
    outcome
        Outcome of each observation.
    times
        Number of times that each observation was made; less than 1 if observations depend on each other.
    """
    keys, cell = distinct(table)
    del table  # here and below to save memory
    row_keys, row = distinct(row)
    outcomes, column = distinct(outcome)
    del outcome
    column_keys, column = distinct(cell * len(outcomes) + column)
    pairs, pair = distinct(row * len(column_keys) + column)
    of_row, of_column = np.divmod(pairs, len(column_keys))
    n, rows, columns, both = (
        np.bincount(place, times, len(found))
        for place, found in ((cell, keys), (row, row_keys), (column, column_keys), (pair, pairs))
    )
    cell_of_column = column_keys // len(outcomes)
    cell_of_row = np.zeros(len(row_keys), np.int64)
    cell_of_row[row] = cell
    squares = np.bincount(cell_of_column[of_column], both**2 / (rows[of_row] * columns[of_column]), len(keys))
    n, visits = np.maximum(n, 4.0), n
    spread = []
    for cells, counts in ((cell_of_row, rows), (cell_of_column, columns)):
        size = np.bincount(cells, minlength=len(keys))
        reciprocal = np.bincount(cells, 1 / counts, len(keys))
        spread.append((size, (size - 1) * (n - size) / (n - 1), (n * reciprocal - size**2) / (n - 2)))
    (r, v1, w1), (c, v2, w2) = spread
    excess = n * (squares - 1) - (r - 1) * (c - 1) * n / (n - 1)
    variance = 2 * n / (n - 3) * (v1 - w1) * (v2 - w2) + n**2 / (n - 1) * w1 * w2
    enough = (visits > 3) & (visits > r) & (visits > c)
    tested = enough & (r > 1) & (c > 1)  # in other tables X² is constant, or has no variance
    return float(excess[tested].sum()), float(variance[tested].sum())


def distinct(keys: Int64) -> tuple[Int64, Int64]:
    """Return the distinct keys, which are not negative, in order, and the place of each key among them."""
    size = int(keys.max(initial=-1)) + 1
    if size > max(TABLE_SIZE, 4 * keys.size):
        found, place = np.unique(keys, return_inverse=True)
        return found, place.reshape(keys.shape)
    present = np.zeros(size, bool)
    present[keys] = True
    return np.flatnonzero(present), (np.cumsum(present) - 1)[keys]
