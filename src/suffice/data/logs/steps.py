"""Steps as columns: (observation, action, reward), where an observation is a value, a tuple or a dict of them.

Every part of an observation becomes a column, called by the way to it. The way is learned from the first step, and
taken through all others, which have the same shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
    """The columns of a log, which grow a step at a time; what is added may change afterwards."""

    def __init__(self, source: str) -> None:
        self._source = source
        self._names: list[str] = list(COUNTED)
        self._take: Taker | None = None
        self._cells: list[Any] = []  # row after row

    def add(self, episode: int, t: int, step: Any) -> None:
        """One more step."""
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
        """The long way, for the first step, and for what has the same names in another form."""
        found = list(_leaves_of_step(step, place))
        values = {column_name(path): value for path, value in found}
        if self._take is None:
            self._names += _distinct([*((name,) for name in COUNTED), *(path for path, _ in found)], place)
            self._take = _taker(tuple(step))
        elif values.keys() != set(self._names[len(COUNTED) :]):
            raise LogError(f"{place}: it has {', '.join(values)}, unlike the steps before; give all the same")
        return [values[name] for name in self._names[len(COUNTED) :]]

    def table(self) -> pa.Table:
        """All that was added."""
        width = len(self._names)
        columns = {name: _packed(self._cells[i::width]) for i, name in enumerate(self._names)}
        return table_of_arrays(columns, self._source)


def _packed(values: list[Any]) -> Any:
    """Numbers of one kind as an array, which is quicker to look through."""
    kinds = set(map(type, values))
    return np.array(values) if kinds in ({int}, {float}, {bool}) else values


def table_of_steps(episodes: Sequence[Any], source: str) -> pa.Table:
    """From lists of (observation, action, reward)."""
    steps = StepColumns(source)
    for number, episode in enumerate(episodes):
        if not isinstance(episode, list | tuple):
            raise LogError(f"{source}: episode {number} is {_shown(episode)}, not a list of {STEP_FORM}")
        for t, step in enumerate(episode):
            steps.add(number, t, step)
    return steps.table()


# ---------------------------------------------------------------- names


def named(role: str, values: Any) -> Path:
    """What the parts of an observation have before their names: nothing, if those are free."""
    taken = {name for names in KNOWN.values() for name in names}
    free = role == STEP_PARTS[0] and isinstance(values, Mapping) and not taken & set(values)
    return () if free else (role,)


def leaves(path: Path, values: Any) -> Iterable[tuple[Path, Any]]:
    """The parts of a Dict or a tuple, each with the way to it."""
    if isinstance(values, Mapping | tuple):
        for key, part in values.items() if isinstance(values, Mapping) else enumerate(values):
            yield from leaves((*path, key), part)
    else:
        yield path, values


def column_name(path: Path) -> str:
    return ".".join(map(str, path))


def _distinct(paths: Sequence[Path], place: str) -> list[str]:
    """The names of columns, those that are counted left out; two ways must not have one name."""
    known: dict[str, Path] = {}
    for path in paths:
        other = known.setdefault(name := column_name(path), path)
        if other is not path:
            both = " and ".join("".join(f"[{key!r}]" for key in way) for way in (other, path))
            raise LogError(f"{place}: {both} would both be the column {name!r}; rename one")
    return list(known)[len(COUNTED) :]


def _leaves_of_step(step: Any, place: str) -> Iterable[tuple[Path, Any]]:
    if not isinstance(step, list | tuple) or len(step) != len(STEP_PARTS):
        raise LogError(f"{place}: a step is {STEP_FORM}, not {_shown(step)}")
    for name, value in zip(STEP_PARTS, step, strict=True):
        yield from leaves(named(name, value), _plain_parts(value, place, DEEPEST_VALUE))


def _plain_parts(value: Any, place: str, room: int) -> Any:
    """Arrays and lists as tuples, numbers as Python's own."""
    if not room:
        raise LogError(f"{place}: more than {DEEPEST_VALUE} lists and records within one another; flatten it")
    if isinstance(value, Mapping):
        return {key: _plain_parts(part, place, room - 1) for key, part in value.items()}
    if isinstance(value, np.ndarray) and value.ndim:
        value = list(value)
    if not isinstance(value, list | tuple):
        return unboxed(value)
    parts = tuple(_plain_parts(part, place, room - 1) for part in value)
    return parts[0] if len(parts) == 1 else parts


def _shown(value: Any) -> str:
    """Briefly."""
    return repr(value)[:60] if isinstance(value, str | int | float | None) else f"a {type(value).__name__}"


# ---------------------------------------------------------------- the short way


class _UnlikeError(Exception):
    """A step of another shape than the first."""


def _taker(first: Any) -> Taker:
    """Takes values of one shape apart, in the order of `leaves`."""
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
