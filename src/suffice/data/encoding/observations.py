"""Features inside an observation at run time: tuples, vectors, dicts, or these within one another.

A log names each feature after the way to it, `arm.0` or `obs.arm.0`; an environment shows the whole. Here the values
of the named features are found, in the order of the names, before anything is encoded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from suffice.data.alphabet import unboxed
from suffice.errors import LogError

CONTAINER = re.compile(r"obs|observations?", re.IGNORECASE)  # a column of whole observations


def values_of(observation: Any, names: Sequence[str]) -> list[Any]:
    """The value of each feature: of a tuple in order, of a dict by name; a single one may stand alone."""
    if isinstance(observation, Mapping):
        return [_entry(observation, name, names) for name in names]
    values = flat_values(observation)
    if len(values) != len(names):
        raise LogError(f"{len(values)} features where the model reads {len(names)}: {', '.join(names)}")
    return values


def flat_values(value: Any) -> list[Any]:
    """All that is in vectors, tuples and dicts within one another, in order."""
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in flat_values(part)]
    if isinstance(value, np.generic) or not hasattr(value, "__array__"):
        return [unboxed(value)]
    return [unboxed(leaf) for leaf in np.ravel(value)]


def has_features(observation: Mapping[str, Any], names: Sequence[str]) -> bool:
    """Whether a dict has all named features, each a single value."""
    found = (_find(observation, name) for name in names)
    return all(value is not None and len(flat_values(value)) == 1 for value in found)


def _entry(observation: Mapping[str, Any], name: str, names: Sequence[str]) -> Any:
    if (value := _find(observation, name)) is None:
        raise LogError(f"the observation lacks {name!r}; the model reads {', '.join(names)}")
    values = flat_values(value)
    if len(values) != 1:
        shown = " ".join(repr(value).split())[:60]
        raise LogError(f"{name} is {shown}, not a single value; the model reads {', '.join(names)}")
    return values[0]


def _find(observation: Any, name: str) -> Any:
    """By its name or, if it came out of a vector or a record of the log, by the way to it: `arm.0`, `obs.arm.0`."""
    if name in observation:
        return observation[name]
    first, _, rest = name.partition(".")
    for way in (name.split("."), rest.split(".") if CONTAINER.fullmatch(first) else []):
        for sole in (False, True):  # logs may leave out the step into what has one part only
            if way and (value := _at(observation, way, sole)) is not None:
                return value
    return None


def _at(value: Any, way: Sequence[str], sole: bool) -> Any:
    for key in way:
        while sole and _has_parts(value) and len(value) == 1:
            value = value[0]
        if isinstance(value, Mapping):
            value = value.get(key)
        elif _has_parts(value) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return None
    return value


def _has_parts(value: Any) -> bool:
    return isinstance(value, list | tuple) or (hasattr(value, "__array__") and np.ndim(value) > 0)
