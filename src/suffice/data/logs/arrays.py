"""Conversion of Python values and NumPy arrays to columns, given by name or row by row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
import pyarrow as pa

from suffice.data.encoding.columns import known_as
from suffice.data.encoding.tables import EXACT, NOT_A_CELL
from suffice.errors import LogError

DEEPEST_VALUE = 16  # levels of nested lists and records; no log needs more, and recursion must end
FLAT = frozenset({type(None), bool, int, float, str, bytes})
NOT_A_COLUMN = (
    pa.ArrowException,
    ValueError,
    TypeError,
    OverflowError,
)  # raised by values for which Arrow has no column type


def table_of_arrays(arrays: Mapping[Any, Any], source: str) -> pa.Table:
    """Build a table with a column for each array; other values, such as a description, are left out."""
    found = [(name, column_of(name, values, source)) for name, values in _by_name(arrays, source)]
    columns = [(name, column) for name, column in found if column is not None]
    if not columns:
        raise LogError(f"{source}: there are no arrays. Give arrays with one entry per decision.")
    lengths = {name: len(column) for name, column in columns}
    reward = known_as("reward", list(lengths)) or columns[0][0]
    if wrong := [name for name, length in lengths.items() if length != lengths[reward]]:
        raise LogError(
            f"{source}: the arrays differ in length: {wrong[0]!r} has {lengths[wrong[0]]:,} entries, {reward!r} has "
            f"{lengths[reward]:,}. Give one entry per decision, or per episode."
        )
    return pa.Table.from_arrays([column for _, column in columns], [name for name, _ in columns])


def table_of_rows(rows: Sequence[Mapping[Any, Any]], source: str) -> pa.Table:
    """Build a table with a column for each name that occurs; where a row lacks it, the value is missing."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = [column_of(str(name), [row.get(name) for row in rows], source) for name in names]
    return pa.Table.from_arrays(columns, list(map(str, names)))


def _by_name(arrays: Mapping[Any, Any], source: str, prefix: str = "", room: int = DEEPEST_VALUE) -> Iterable[Any]:
    """Yield the arrays with their names; nested ones are named by the path to them."""
    for name, values in arrays.items():
        if not isinstance(values, Mapping):
            yield f"{prefix}{name}", values
        elif room:
            yield from _by_name(values, source, f"{prefix}{name}.", room - 1)
        else:
            raise LogError(
                f"{source}, column {prefix[:60]!r}: records are nested more than {DEEPEST_VALUE} deep. Flatten them."
            )


def column_of(name: str, values: Any, source: str) -> pa.Array | None:
    """Convert a list or an array to a column; return None if it is neither."""
    try:
        if not isinstance(values, list | tuple | np.ndarray):
            values = exact_array(values)
        if isinstance(values, np.ndarray):
            return None if values.ndim == 0 else _of_array(values)
        return _of_values(values)
    except NOT_A_COLUMN as error:
        raise LogError(f"{source}, {_misfit(name, values) or f'column {name!r}: {_problem(error)}'}") from error


def exact_array(values: Any) -> Any:
    """Convert values to an array; where NumPy would make inexact floats of integers, to one of Python objects."""
    array = np.asarray(values)
    if array.dtype.kind == "f" and not hasattr(values, "__array__") and has_inexact(array):
        return np.asarray(values, object)
    return array


def has_inexact(array: Any) -> bool:
    """Return whether numbers may not be exact as floats."""
    return bool(array.size and (np.abs(array.astype(float)) >= EXACT).any())


def _of_values(values: Iterable[Any]) -> pa.Array:
    """Convert Python values; Arrow infers signed integers only."""
    cells = [opened(value) for value in values]
    try:
        return pa.array(cells)
    except OverflowError:
        if not all(cell is None or isinstance(cell, int) for cell in cells):
            raise
        return pa.array(cells, pa.uint64())


def _of_array(array: Any) -> pa.Array:
    """Convert an array of numbers or text; further dimensions become lists."""
    if array.dtype == object:
        return _of_values(array.tolist())
    column = pa.array(array.reshape(-1))
    for width in reversed(array.shape[1:]):
        column = pa.FixedSizeListArray.from_arrays(column, width)
    return column


def opened(value: Any, room: int = DEEPEST_VALUE) -> Any:
    """Convert nested containers to lists and dicts; arrays of one dimension stay, because Arrow accepts them."""
    if type(value) in FLAT or isinstance(value, np.generic):
        return value
    if not room:
        raise ValueError(f"lists and records are nested more than {DEEPEST_VALUE} deep. Flatten them.")
    if isinstance(value, Mapping):
        return {str(name): opened(part, room - 1) for name, part in value.items()}
    if isinstance(value, Set):
        raise ValueError("a set has no order. Make it a list.")
    if hasattr(value, "__array__"):
        value = np.asarray(value)
        if value.ndim < 2 and value.dtype != object:
            return value if value.ndim else value[()]
    return [opened(part, room - 1) for part in value] if isinstance(value, list | tuple | np.ndarray) else value


def _misfit(name: str, values: Sequence[Any]) -> str | None:
    """Return the message about the first value that no column can hold, or of another kind than those before."""
    kinds: dict[str, int] = {}
    for row, value in enumerate(values, 1):
        try:
            _of_values([value])
        except NOT_A_COLUMN as error:
            return f"row {row}, column {name!r}: {_problem(error)}"
        if value is not None and kinds.setdefault(kind_of(value), row) == row and len(kinds) > 1:
            return f"row {row}, column {name!r}: {' where the rows before have '.join(reversed(kinds))}. {ONE_KIND}"
    return None


ONE_KIND = "Give the column one kind of value."


def kind_of(value: Any) -> str:
    """Name the kind of a value: values of one kind can share a column."""
    if isinstance(value, bool | np.bool_):
        return "a boolean"
    if isinstance(value, int | float | np.number):
        return "a number"
    if isinstance(value, str | bytes):
        return "text"
    if isinstance(value, Mapping):
        return "a record"
    return "a list" if isinstance(value, list | tuple | np.ndarray) else f"a {type(value).__name__}"


def _problem(error: BaseException) -> str:
    """Describe an error of Arrow, with a fix where the cause is known."""
    if isinstance(error, OverflowError):
        return "an integer beyond 64 bits. Write it as text."
    if isinstance(error, UnicodeError):
        return "this is not UTF-8 text. Replace the characters that are not."
    if isinstance(error, pa.ArrowException):
        return f"{first_line(error)}, but {NOT_A_CELL}"
    return str(error) if type(error) is ValueError and str(error).endswith(".") else first_line(error)


def first_line(error: BaseException) -> str:
    """Return the first line of an error's message, without the full stop."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")[:200]
