"""The alphabet of a log: its actions, observations and rewards, numbered in a fixed order.

Special symbols come first, then numbers by value, then strings by code point; features keep the order of their columns.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.errors import LogError, parameter
from suffice.kernels.array_types import Codes, Int64

Value = bool | int | float | str

DUMMY, PAD = 0, 1  # action codes; the logged actions follow
STOP = 0  # observation code of o_⊥; the logged observations follow
NOTHING = ("NAType", "NaTType")  # types of missing values in pandas
MISSING = "(missing)"  # the symbol of a missing value in a column of categories
PADDING = "pad"  # the action of PAD in texts and tables; no logged action has this name
MAX_LETTERS = 1 << 20  # more distinct steps than this indicate a real-valued column


def smallest_uint(size: int) -> np.dtype[np.unsignedinteger]:
    """Return the smallest unsigned integer type that holds the codes 0..size−1."""
    return np.dtype(np.min_scalar_type(max(size - 1, 0)))


def in_order(values: Iterable[Value]) -> tuple[Value, ...]:
    """Return the distinct values in the alphabet's order: numbers by value, then strings by code point."""
    return tuple(sorted({plain(value) for value in values}, key=_order_key))


def _order_key(value: Value) -> tuple[bool, float, str]:
    return (True, 0, value) if isinstance(value, str) else (False, value, "")


def plain(value: Value) -> Value:
    """Convert integral floats to integers, so that every file format gives the same symbols."""
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 2**53 else value


def unboxed(value: Any) -> Any:
    """Convert a NumPy scalar to a Python value, and a missing one to None.

    float32 is converted by its shortest decimal: 0.1, not 0.10000000149011612.
    """
    if isinstance(value, np.ndarray) and value.ndim == 0:
        value = value[()]
    if isinstance(value, np.floating) and value.dtype.itemsize < 8:
        return float(str(value))
    if type(value).__name__ in NOTHING or (isinstance(value, np.datetime64 | np.timedelta64) and np.isnat(value)):
        return None
    return value.item() if isinstance(value, np.generic) else value


@dataclass(frozen=True, slots=True)
class Alphabet:
    """The actions, observations and rewards that can occur, each in a fixed order.

    An observation is a tuple with one value per feature. A code is a position in this order, shifted by the special
    symbols: action `i` has code `i + 2`, observation `i` has code `i + 1`, reward `i` has code `i`. Rewards always
    contain 0, the reward of step 0 and of padding.

    Parameters
    ----------
    actions
        The logged actions. They are sorted: numbers by value, then text by code point.
    features
        Names of the observation columns, m of them.
    observations
        The observations, tuples of m values. They are sorted like the actions, feature by feature.
    rewards
        The rewards. They are sorted, and 0 is added.

    Examples
    --------
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
        if PADDING in self.actions:
            raise LogError(f"actions: the name {PADDING!r} is reserved for padding. Rename the action.")
        if any(len(o) != len(self.features) for o in self.observations):
            raise LogError(
                f"observations: the features are {', '.join(self.features)}, but an observation has another number of "
                "values. Give one value for each feature."
            )

    @classmethod
    def union(cls, parts: Sequence[Alphabet]) -> Alphabet:
        """Return the alphabet of several logs together.

        Parameters
        ----------
        parts
            Alphabets with the same features.

        Returns
        -------
        Alphabet
            The alphabet that contains every action, observation and reward of the parts.
        """
        features = parts[0].features
        if other := [part for part in parts if part.features != features]:
            ours, theirs = (", ".join(names) for names in (features, other[0].features))
            raise LogError(
                f"logs: the observation columns of the first are {ours}, those of another are {theirs}. "
                f"Name the same columns for all with {parameter('observations')}."
            )
        actions, observations, rewards = (
            tuple(dict.fromkeys(symbol for part in parts for symbol in getattr(part, kind)))
            for kind in ("actions", "observations", "rewards")
        )
        return cls(actions, features, observations, rewards)

    def codes_in(self, other: Alphabet, letters: Codes) -> tuple[Int64, Int64, Int64]:
        """Translate letters into the codes of a larger alphabet.

        Parameters
        ----------
        other
            An alphabet that contains every symbol of this one.
        letters
            [X, 3] action, observation and reward code of each letter in this alphabet.

        Returns
        -------
        tuple of arrays
            [X] the action codes, observation codes and reward codes of the letters in `other`.
        """
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
        """Number of action codes, including the two special ones."""
        return len(self.actions) + 2

    @property
    def n_observations(self) -> int:
        """Number of observation codes, including o_⊥."""
        return len(self.observations) + 1

    def action(self, code: int) -> Value | None:
        """Return the action that a code stands for.

        Parameters
        ----------
        code
            Action code, from 0 to `n_actions` − 1.

        Returns
        -------
        Value or None
            The logged action; None for the dummy action, "pad" for padding.
        """
        return None if code == DUMMY else PADDING if code == PAD else self.actions[code - 2]

    def observation(self, code: int) -> tuple[Value, ...] | None:
        """Return the observation that a code stands for.

        Parameters
        ----------
        code
            Observation code, from 0 to `n_observations` − 1.

        Returns
        -------
        tuple or None
            The value of each feature; None for o_⊥.
        """
        return None if code == STOP else self.observations[code - 1]
