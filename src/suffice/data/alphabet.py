"""Alphabets: the actions, observations and rewards of a log, numbered in one fixed order.

Special symbols come first, then numbers by value, then strings by code point; features keep the order of their columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.errors import LogError
from suffice.kernels.array_types import Codes, Int64

Value = bool | int | float | str


DUMMY, PAD = 0, 1  # action codes; the logged actions follow


STOP = 0  # observation code of o_⊥; the logged observations follow


def smallest_uint(size: int) -> np.dtype[np.unsignedinteger]:
    """The smallest unsigned type that holds the codes 0..size−1."""
    return np.dtype(np.min_scalar_type(max(size - 1, 0)))


def in_order(values: Iterable[Value]) -> tuple[Value, ...]:
    """Distinct values in the alphabet's order: numbers numerically, then strings by code point."""
    return tuple(sorted({plain(value) for value in values}, key=_order_key))


def _order_key(value: Value) -> tuple[bool, float, str]:
    return (True, 0, value) if isinstance(value, str) else (False, value, "")


def plain(value: Value) -> Value:
    """Integral floats are integers, so that every file format gives the same symbols."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def unboxed(value: Any) -> Any:
    """A number of numpy as Python's own, a narrow float by its shortest decimal: 0.1, not 0.10000000149011612."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.floating) and value.dtype.itemsize < 8:
        return float(str(value))
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True, slots=True)
class Alphabet:
    """What can be seen: actions, whole observations (tuples of features) and rewards, each in order.

    Codes are positions, shifted by the special symbols: action `i` has code `i + 2`, observation `i` code `i + 1`,
    reward `i` code `i`. Rewards always contain 0, the reward of step 0 and of padding.

    >>> lights = suffice.Alphabet(("stay", "go"), ("light",), (("red",), ("green",)), (1,))
    >>> lights.actions, lights.observations, lights.rewards
    (('go', 'stay'), (('green',), ('red',)), (0.0, 1.0))
    >>> lights.action(2), lights.observation(1)
    ('go', ('green',))
    """

    actions: tuple[Value, ...]
    features: tuple[str, ...]  # m column names
    observations: tuple[tuple[Value, ...], ...]  # each of length m
    rewards: tuple[float, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "rewards", tuple(sorted({0.0, *(float(r) for r in self.rewards)})))
        object.__setattr__(self, "actions", in_order(self.actions))
        whole = {tuple(plain(value) for value in o) for o in self.observations}
        observations = sorted(whole, key=lambda o: [_order_key(value) for value in o])
        object.__setattr__(self, "observations", tuple(observations))
        if "pad" in self.actions:
            raise LogError("an action cannot be called 'pad', which stands for padding; rename it")
        if any(len(o) != len(self.features) for o in self.observations):
            raise LogError(f"every observation needs {len(self.features)} features: {', '.join(self.features)}")

    @classmethod
    def union(cls, parts: Sequence[Alphabet]) -> Alphabet:
        """All that can be seen in several logs of the same features."""
        features = parts[0].features
        if other := [part for part in parts if part.features != features]:
            ours, theirs = (", ".join(names) for names in (features, other[0].features))
            raise LogError(f"the observations of one log are {ours}, of another {theirs}; name the same for all")
        actions, observations, rewards = (
            tuple(dict.fromkeys(symbol for part in parts for symbol in getattr(part, kind)))
            for kind in ("actions", "observations", "rewards")
        )
        return cls(actions, features, observations, rewards)

    def codes_in(self, other: Alphabet, letters: Codes) -> tuple[Int64, Int64, Int64]:
        """[X] the codes that the action, observation and reward of each letter [X, 3] have in a larger alphabet."""
        actions = {action: code for code, action in enumerate(other.actions, start=PAD + 1)}
        observations = {observation: code for code, observation in enumerate(other.observations, start=STOP + 1)}
        rewards = {reward: code for code, reward in enumerate(other.rewards)}
        tables = (
            [DUMMY, PAD, *(actions[action] for action in self.actions)],
            [STOP, *(observations[observation] for observation in self.observations)],
            [rewards[reward] for reward in self.rewards],
        )
        action, observation, reward = (np.array(table)[column] for table, column in zip(tables, letters.T, strict=True))
        return action, observation, reward

    @property
    def n_actions(self) -> int:
        """Action codes, the two special ones included."""
        return len(self.actions) + 2

    @property
    def n_observations(self) -> int:
        """Observation codes, o_⊥ included."""
        return len(self.observations) + 1

    def action(self, code: int) -> Value | None:
        """The logged action of a code: null for the dummy, "pad" for padding."""
        return None if code == DUMMY else "pad" if code == PAD else self.actions[code - 2]

    def observation(self, code: int) -> tuple[Value, ...] | None:
        """The features of an observation code: null for o_⊥."""
        return None if code == STOP else self.observations[code - 1]
