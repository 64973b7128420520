"""Values of the named features in an observation at run time: a tuple, vector or dict, possibly nested.

A log names each feature after the path to it, `arm.0` or `obs.arm.0`; an environment returns the whole observation.
This module finds the values of the named features, in the order of the names, before they are encoded.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from suffice.data.alphabet import unboxed
from suffice.data.encoding.parts import part_of_value, split_part
from suffice.errors import LogError

CONTAINER = re.compile(r"obs|observations?", re.IGNORECASE)  # a column of whole observations


def values_of(observation: Any, names: Sequence[str], offered: Sequence[str] = ()) -> list[Any]:
    """Return the value of each feature: of a tuple in order, of a dict by name, or a single value.

    A tuple may also have the values of all columns that were `offered`, of which the features are some.
    """
    if isinstance(observation, Mapping):
        return [_entry(observation, name, names) for name in names]
    if type(observation) is not tuple and (row := _row(observation)) is not None:
        return [_entry(row, name, names) for name in names]
    values = flat_values(observation)
    if offered and len(values) == len(offered) and tuple(offered) != tuple(names):
        whole = dict(zip(offered, values, strict=True))
        return [_entry(whole, name, names) for name in names]
    if len(values) != len(names):
        raise LogError(
            f"observation: it has {len(values)} values, but the model reads {len(names)}. Pass one for each feature: "
            f"{', '.join(names)}."
        )
    return values


def _row(observation: Any) -> Mapping[str, Any] | None:
    """Return the named values of a row of a table, such as a Series or a named tuple; None if it is not one."""
    if hasattr(observation, "_asdict"):
        named: Mapping[str, Any] = observation._asdict()
        return named
    if hasattr(observation, "index") and hasattr(observation, "to_dict") and hasattr(observation, "__array__"):
        labelled: Mapping[str, Any] = observation.to_dict()
        return labelled if all(isinstance(name, str) for name in labelled) else None
    return None


def flat_values(value: Any) -> list[Any]:
    """Return all values within nested vectors, tuples and dicts, in order."""
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in flat_values(part)]
    if isinstance(value, np.generic) or not hasattr(value, "__array__"):
        if isinstance(value, set | frozenset):
            raise LogError("observation: a set has no order. Pass a list or a tuple.")
        return [unboxed(value)]
    return [unboxed(leaf) for leaf in np.ravel(value)]


def has_features(observation: Mapping[str, Any], names: Sequence[str]) -> bool:
    """Return whether a dict has all named features, each a single value."""
    found = (_find(observation, name) for name in names)
    return all(value is not None and len(flat_values(value)) == 1 for value in found)


def _entry(observation: Mapping[str, Any], name: str, names: Sequence[str]) -> Any:
    part = split_part(name)
    known = name in observation or (part is not None and part[0] in observation)
    if (value := _find(observation, name)) is None and not known:
        raise LogError(f"observation: {name!r} is missing. Pass a value for each feature: {', '.join(names)}.")
    values = flat_values(value)
    if len(values) != 1:
        shown = " ".join(repr(value).split())
        shown = shown if len(shown) <= 60 else f"{shown[:60]}…"
        raise LogError(
            f"observation: {name!r} is {shown}, not a single value. Pass one for each feature: {', '.join(names)}."
        )
    return values[0]


def _find(observation: Any, name: str) -> Any:
    """Find a feature by its name, or by the path to it within vectors and records: `arm.0`, `obs.arm.0`."""
    if name in observation:
        return observation[name]
    if (part := split_part(name)) is not None and part[0] in observation:
        return part_of_value(unboxed(observation[part[0]]), part[1])
    first, _, rest = name.partition(".")
    for path in (name.split("."), rest.split(".") if CONTAINER.fullmatch(first) else []):
        for sole in (False, True):  # logs may leave out the index of a vector of length 1
            if path and (value := _at(observation, path, sole)) is not None:
                return value
    return None


def _at(value: Any, path: Sequence[str], sole: bool) -> Any:
    for key in path:
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
