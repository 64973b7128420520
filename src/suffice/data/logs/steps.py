"""Conversion of steps (observation, action, reward) to columns; an observation may be a tuple or dict of values.

Every part of an observation becomes a column, named after the path to it. The path is taken from the first step and
applied to all others, which must have the same shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa

from suffice.data.alphabet import unboxed
from suffice.data.encoding.columns import KNOWN
from suffice.data.logs.arrays import DEEPEST_VALUE, FLAT, table_of_arrays
from suffice.errors import LogError

STEP_PARTS = ("observation", "action", "reward")
STEP_FORM = "(observation, action, reward)"
COUNTED = ("episode", "step")

Path = tuple[Any, ...]
Taker = Callable[[Any, list[Any]], None]  # appends all parts of a value to a list


class StepColumns:
    """The columns of a log, to which steps are added; values are copied, so that callers may reuse arrays."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._names: list[str] = list(COUNTED)
        self._take: Taker | None = None
        self._cells: list[Any] = []  # row after row

    @classmethod
    def of(cls, table: pa.Table, source: str) -> StepColumns:
        """Continue a table that `table` returned; its next step is matched by name."""
        found = cls(source)
        found._names = list(table.column_names)
        columns = [table[name].to_pylist() for name in found._names]
        found._cells = [cell for row in zip(*columns, strict=True) for cell in row]
        return found

    def add(self, episode: int, t: int, step: Any) -> None:
        """Add one step of an episode."""
        before = len(self._cells)
        self._cells += (episode, t)
        try:
            if self._take is None:
                raise _UnlikeError
            self._take(step, self._cells)
        except _UnlikeError:
            del self._cells[before:]
            self._cells += (episode, t, *self._by_name(step, f"{self._source}: episode {episode}, step {t}"))

    def _by_name(self, step: Any, place: str) -> list[Any]:
        """Return the values of a step by name: slow, for the first step and for steps in another form."""
        found = list(_leaves_of_step(step, place))
        values = {column_name(path): value for path, value in found}
        if len(self._names) == len(COUNTED):
            self._names += _distinct([*((name,) for name in COUNTED), *(path for path, _ in found)], place)
            self._take = _taker(tuple(step))
        elif self._take is None and list(values) == self._names[len(COUNTED) :]:
            self._take = _taker(tuple(step))  # the first step after those of a table
        elif values.keys() != set(self._names[len(COUNTED) :]):
            raise LogError(f"{place}: it has {', '.join(values)}, unlike the steps before. Give all the same.")
        return [values[name] for name in self._names[len(COUNTED) :]]

    def table(self) -> pa.Table:
        """Return all steps as a table."""
        width = len(self._names)
        columns = {name: _packed(self._cells[i::width]) for i, name in enumerate(self._names)}
        return table_of_arrays(columns, self._source)


def _packed(values: list[Any]) -> Any:
    """Convert numbers of one type to an array, which is faster to process."""
    kinds = set(map(type, values))
    if kinds == {int}:
        with suppress(OverflowError):  # NumPy would make floats of integers from 2⁶³ on
            return np.array(values, np.int64)
        return values
    return np.array(values) if kinds in ({float}, {bool}) else values


def table_of_steps(episodes: Sequence[Any], source: str) -> pa.Table:
    """Build a table from episodes that are lists of (observation, action, reward)."""
    steps = StepColumns(source)
    for number, episode in enumerate(episodes):
        if not isinstance(episode, list | tuple):
            raise LogError(
                f"{source}: episode {number} is {_shown(episode)}, not a list of steps. Give {STEP_FORM} for each step."
            )
        for t, step in enumerate(episode):
            steps.add(number, t, step)
    return steps.table()


# ---------------------------------------------------------------- names


def named(role: str, values: Any) -> Path:
    """Return the prefix of the columns of a role: none for a dict whose names are not those of other roles."""
    taken = {name for names in KNOWN.values() for name in names}
    free = role == STEP_PARTS[0] and isinstance(values, Mapping) and not taken & set(values)
    return () if free else (role,)


def leaves(path: Path, values: Any) -> Iterable[tuple[Path, Any]]:
    """Yield the parts of a dict or a tuple with the paths to them."""
    if isinstance(values, Mapping | tuple):
        for key, part in values.items() if isinstance(values, Mapping) else enumerate(values):
            yield from leaves((*path, key), part)
    else:
        yield path, values


def column_name(path: Path) -> str:
    """Return the name of the column for a path."""
    return ".".join(map(str, path))


def _distinct(paths: Sequence[Path], place: str) -> list[str]:
    """Return the names of the columns but episode and step; refuse two paths with one name."""
    known: dict[str, Path] = {}
    for path in paths:
        other = known.setdefault(name := column_name(path), path)
        if other is not path:
            both = " and ".join("".join(f"[{key!r}]" for key in keys) for keys in (other, path))
            raise LogError(f"{place}: {both} would both be the column {name!r}. Rename one.")
    return list(known)[len(COUNTED) :]


def _leaves_of_step(step: Any, place: str) -> Iterable[tuple[Path, Any]]:
    if not isinstance(step, list | tuple) or len(step) != len(STEP_PARTS):
        raise LogError(f"{place}: {_shown(step)} is not a step. Give {STEP_FORM}.")
    for name, value in zip(STEP_PARTS, step, strict=True):
        yield from leaves(named(name, value), _plain_parts(value, place, DEEPEST_VALUE))


def _plain_parts(value: Any, place: str, room: int) -> Any:
    """Convert arrays and lists to tuples, and NumPy scalars to Python values."""
    if not room:
        raise LogError(f"{place}: lists and records are nested more than {DEEPEST_VALUE} deep. Flatten them.")
    if isinstance(value, Mapping):
        return {key: _plain_parts(part, place, room - 1) for key, part in value.items()}
    if isinstance(value, np.ndarray) and value.ndim:
        value = list(value)
    if not isinstance(value, list | tuple):
        return unboxed(value)
    parts = tuple(_plain_parts(part, place, room - 1) for part in value)
    return parts[0] if len(parts) == 1 else parts


def _shown(value: Any) -> str:
    """Return a short text for a value."""
    return repr(value)[:60] if isinstance(value, str | int | float | None) else f"a {type(value).__name__}"


# ---------------------------------------------------------------- fast conversion of steps of one shape


class _UnlikeError(Exception):
    """Signals a step of another shape than the first."""


def _taker(first: Any) -> Taker:
    """Return a function that appends the parts of values of one shape to a list, in the order of `leaves`."""
    if isinstance(first, Mapping):
        return _of_mapping([(key, _taker(part)) for key, part in first.items()])
    if isinstance(first, np.ndarray) and first.ndim and first.dtype != object:
        return _of_array(first.shape)
    if isinstance(first, list | tuple) or (isinstance(first, np.ndarray) and first.ndim):
        return _of_parts([_taker(part) for part in first])
    return _take_value


def _of_mapping(takers: list[tuple[Any, Taker]]) -> Taker:
    def take(value: Any, cells: list[Any]) -> None:
        if not (type(value) is dict or isinstance(value, Mapping)) or len(value) != len(takers):
            raise _UnlikeError
        for key, taker in takers:
            if key not in value:
                raise _UnlikeError
            taker(value[key], cells)

    return take


def _of_parts(takers: list[Taker]) -> Taker:
    def take(value: Any, cells: list[Any]) -> None:
        if not isinstance(value, list | tuple) or len(value) != len(takers):
            raise _UnlikeError
        for taker, part in zip(takers, value, strict=True):
            taker(part, cells)

    return take


def _of_array(shape: tuple[int, ...]) -> Taker:
    def take(value: Any, cells: list[Any]) -> None:
        if not isinstance(value, np.ndarray) or value.shape != shape or (kind := value.dtype.kind) == "O":
            raise _UnlikeError
        flat = value.ravel()
        cells.extend(map(unboxed, flat) if kind == "f" and value.itemsize < 8 else flat.tolist())

    return take


def _take_value(value: Any, cells: list[Any]) -> None:
    if type(value) in FLAT:
        cells.append(value)
        return
    if isinstance(value, np.generic):
        cells.append(unboxed(value))
        return
    if isinstance(value, Mapping | list | tuple) or (isinstance(value, np.ndarray) and value.ndim):
        raise _UnlikeError
    cells.append(unboxed(value))
