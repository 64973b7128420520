"""Python's own values and numpy's arrays as columns, given by name or row by row."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from typing import Any

import numpy as np
import pyarrow as pa

from suffice.data.encoding.columns import known_as
from suffice.data.encoding.tables import NOT_A_CELL
from suffice.errors import LogError

DEEPEST_VALUE = 16  # lists and records within one another; more would exhaust the stack before it meant anything
FLAT = frozenset({type(None), bool, int, float, str, bytes})
NOT_A_COLUMN = (
    pa.ArrowException,
    ValueError,
    TypeError,
    OverflowError,
)  # what values raise that Arrow has no column for


def table_of_arrays(arrays: Mapping[Any, Any], source: str) -> pa.Table:
    """A column for each array; what is no array, such as a note on the data, is left out."""
    found = [(name, column_of(name, values, source)) for name, values in _by_name(arrays, source)]
    columns = [(name, column) for name, column in found if column is not None]
    if not columns:
        raise LogError(f"{source}: there are no arrays in it; a log has one entry per decision")
    lengths = {name: len(column) for name, column in columns}
    reward = known_as("reward", list(lengths)) or columns[0][0]
    if wrong := [name for name, length in lengths.items() if length != lengths[reward]]:
        told = f"{wrong[0]!r} has {lengths[wrong[0]]:,} entries, {reward!r} {lengths[reward]:,}"
        raise LogError(f"{source}: the arrays differ in length: {told}; give one entry per decision, or per episode")
    return pa.Table.from_arrays([column for _, column in columns], [name for name, _ in columns])


def table_of_rows(rows: Sequence[Mapping[Any, Any]], source: str) -> pa.Table:
    """A column for each name that occurs; in a row that has it not, the value is missing."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    columns = [column_of(str(name), [row.get(name) for row in rows], source) for name in names]
    return pa.Table.from_arrays(columns, list(map(str, names)))


def _by_name(arrays: Mapping[Any, Any], source: str, prefix: str = "", room: int = DEEPEST_VALUE) -> Iterable[Any]:
    """Nested ones by the names they have together."""
    for name, values in arrays.items():
        if not isinstance(values, Mapping):
            yield f"{prefix}{name}", values
        elif room:
            yield from _by_name(values, source, f"{prefix}{name}.", room - 1)
        else:
            raise LogError(
                f"{source}: column {prefix[:60]!r}: more than {DEEPEST_VALUE} records within one another; flatten it"
            )


def column_of(name: str, values: Any, source: str) -> pa.Array | None:
    """Of a list or an array; None, if it is neither."""
    try:
        if not isinstance(values, list | tuple | np.ndarray):
            values = np.asarray(values)
        if isinstance(values, np.ndarray):
            return None if values.ndim == 0 else _of_array(values)
        return pa.array([opened(value) for value in values])
    except NOT_A_COLUMN as error:
        raise LogError(f"{source}: {_misfit(name, values) or f'column {name!r}: {_told(error)}'}") from error


def _of_array(array: Any) -> pa.Array:
    """Of numbers or text; further dimensions become lists."""
    if array.dtype == object:
        return pa.array([opened(value) for value in array.tolist()])
    column = pa.array(array.reshape(-1))
    for width in reversed(array.shape[1:]):
        column = pa.FixedSizeListArray.from_arrays(column, width)
    return column


def opened(value: Any, room: int = DEEPEST_VALUE) -> Any:
    """Lists and records all the way down; arrays of one dimension are lists to Arrow already."""
    if type(value) in FLAT or isinstance(value, np.generic):
        return value
    if not room:
        raise ValueError(f"more than {DEEPEST_VALUE} lists and records within one another; flatten it")
    if isinstance(value, Mapping):
        return {str(name): opened(part, room - 1) for name, part in value.items()}
    if isinstance(value, Set):
        raise ValueError("a set has no order; make it a list")
    if hasattr(value, "__array__"):
        value = np.asarray(value)
        if value.ndim < 2 and value.dtype != object:
            return value if value.ndim else value[()]
    return [opened(part, room - 1) for part in value] if isinstance(value, list | tuple | np.ndarray) else value


def _misfit(name: str, values: Sequence[Any]) -> str | None:
    """The first value that has no place in a column, or another kind than those before."""
    kinds: dict[str, int] = {}
    for row, value in enumerate(values, 1):
        try:
            pa.array([opened(value)])
        except NOT_A_COLUMN as error:
            return f"row {row}, column {name!r}: {_told(error)}"
        if value is not None and kinds.setdefault(kind_of(value), row) == row and len(kinds) > 1:
            return f"row {row}, column {name!r}: {' where the rows before have '.join(reversed(kinds))}; {ONE_KIND}"
    return None


ONE_KIND = "give the column one kind of value"


def kind_of(value: Any) -> str:
    """As one would call it: values of one kind can share a column."""
    if isinstance(value, bool | np.bool_):
        return "a boolean"
    if isinstance(value, int | float | np.number):
        return "a number"
    if isinstance(value, str | bytes):
        return "text"
    if isinstance(value, Mapping):
        return "a record"
    return "a list" if isinstance(value, list | tuple | np.ndarray) else f"a {type(value).__name__}"


def _told(error: BaseException) -> str:
    """In our words where they are known."""
    if isinstance(error, OverflowError):
        return "an integer beyond 64 bits; write it as text"
    if isinstance(error, UnicodeError):
        return "this is not UTF-8 text; replace what is not"
    if isinstance(error, pa.ArrowException):
        return f"{first_line(error)}; {NOT_A_CELL}"
    return first_line(error)


def first_line(error: BaseException) -> str:
    """Of an error's message."""
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")[:200]
