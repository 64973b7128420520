"""Conversion between actions of Gymnasium spaces and values in a log, and refusal of unsupported spaces.

An action of several parts (MultiDiscrete, MultiBinary, Tuple, Dict) is logged as one text with commas: "0,1".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from math import prod
from typing import Any

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, Graph, MultiBinary, MultiDiscrete, OneOf, Sequence, Space, Tuple

from suffice.data.alphabet import Value, plain, unboxed
from suffice.errors import LogError, SettingsError

BETWEEN = ","


def word_of(space: Space[Any], action: Any) -> Value:
    """Return an action as the value that a log has for it."""
    if isinstance(space, Discrete):
        return int(action)
    values = list(_values(space, action))
    if len(values) == 1:
        return values[0]
    texts = list(map(str, values))
    if unfit := [text for text in texts if BETWEEN in text]:
        raise LogError(
            f"action {action!r}: its part {unfit[0]!r} contains a comma, which separates parts. Use another text."
        )
    return BETWEEN.join(texts)


def action_of(space: Space[Any], word: Value) -> Any:
    """Return the action of a space for a logged value; raise a ValueError if there is none."""
    values = iter(word.split(BETWEEN) if isinstance(word, str) and _size(space) > 1 else [word])
    try:
        action = _built(space, values)
        known = action in space and word_of(space, action) == word
    except (LogError, ValueError, TypeError, OverflowError, StopIteration):
        known = False
    if not known:
        raise ValueError(f"{word!r} is not in {space}")
    return action


def _parts(space: Space[Any]) -> Iterable[Space[Any]]:
    if isinstance(space, Dict):
        return space.spaces.values()
    return space.spaces if isinstance(space, Tuple) else ()


def _size(space: Space[Any]) -> int:
    if isinstance(space, Dict | Tuple):
        return sum(map(_size, _parts(space)))
    return prod(space.shape) if isinstance(space, Box | MultiBinary | MultiDiscrete) else 1


def _values(space: Space[Any], action: Any) -> Iterator[Value]:
    if isinstance(space, Dict | Tuple):
        actions = [action[name] for name in space.spaces] if isinstance(space, Dict) else action
        for part, own in zip(_parts(space), actions, strict=True):
            yield from _values(part, own)
    elif isinstance(space, Discrete):
        yield int(action)
    else:
        yield from (plain(unboxed(value)) for value in np.ravel(action))


def _built(space: Space[Any], values: Iterator[Any]) -> Any:
    if isinstance(space, Dict):
        return {name: _built(part, values) for name, part in space.spaces.items()}
    if isinstance(space, Tuple):
        return tuple([_built(part, values) for part in space.spaces])
    if isinstance(space, Box | MultiBinary | MultiDiscrete):
        return np.array([next(values) for _ in range(_size(space))], space.dtype).reshape(space.shape)
    return int(next(values)) if isinstance(space, Discrete) else next(values)


# ---------------------------------------------------------------- refusals


def refuse_continuous(actions: Space[Any]) -> None:
    """Refuse continuous actions, because the learner needs a finite set."""
    for space in _all(actions):
        if isinstance(space, Box) and space.dtype is not None and space.dtype.kind == "f":
            raise SettingsError(
                f"the action space {_one_line(space)} is continuous. Choose among a few levels with a wrapper, such as "
                "gymnasium.wrappers.TransformAction(env, lambda i: LEVELS[i], Discrete(len(LEVELS)))."
            )


def refuse_varying(*spaces: Space[Any]) -> None:
    """Refuse spaces whose samples have a varying number of values."""
    for space in (one for each in spaces for one in _all(each)):
        if isinstance(space, Graph | OneOf | Sequence):
            raise SettingsError(
                f"the space {_one_line(space)} has a varying number of values. Use a wrapper that returns the same "
                "number at every step."
            )


def _all(space: Space[Any]) -> Iterator[Space[Any]]:
    yield space
    for part in _parts(space):
        yield from _all(part)


def _one_line(space: Space[Any]) -> str:
    return " ".join(str(space).split())  # the text of some spaces has several lines
