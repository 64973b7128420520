"""What a policy remembers of a history: a state of the automaton, also where no logged history went.

A history that leaves the automaton goes on in the state most like it, the one that its last action and observation most
often led to at that step. If they never did, it is *lost*, at a place for each step, until an action and observation
that are known lead back; meanwhile one chooses as the log did at that step.
"""

from __future__ import annotations

import math
import re
from bisect import bisect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from suffice.automata.histories import Symbol
from suffice.automata.rdp import BEHAVE, RDP, UNSEEN
from suffice.data.alphabet import PAD, Value, plain, unboxed
from suffice.data.episodes import Episodes
from suffice.errors import LogError
from suffice.kernels.array_types import Int32, Int64

CONTAINER = re.compile(r"obs|observations?", re.IGNORECASE)  # a column of whole observations


@dataclass(frozen=True, slots=True, eq=False)
class Memory:
    """Places: the states of an automaton, then one to be lost in for each layer."""

    rdp: RDP
    following: Int32  # [P, Y] the place after each symbol
    astray: Int32  # [P] the place after anything else
    known: dict[Symbol, int]  # the symbols of the automaton

    @classmethod
    def of(cls, rdp: RDP) -> Memory:
        """The memory of an automaton."""
        states = rdp.n_states
        layer = np.concatenate([rdp.layer_of(), np.arange(len(rdp.layers))])
        astray = (states + np.minimum(layer + 1, len(rdp.layers) - 1)).astype(np.int32)  # after the last it stays lost
        like = np.concatenate([rdp.most_like(), np.full((1, len(rdp.symbols)), UNSEEN, np.int32)])[layer]
        following = np.where(like == UNSEEN, astray[:, None], like)
        following[:states] = np.where(rdp.tau == UNSEEN, following[:states], rdp.tau)
        return cls(rdp, following, astray, {rdp.symbol(y): y for y in range(len(rdp.symbols))})

    def after(self, place: int, symbol: Symbol) -> int:
        """The place that an action and an observation lead to."""
        y = self.known.get(symbol)
        return int(self.astray[place] if y is None else self.following[place, y])

    def along(self, episodes: Episodes) -> Int32:
        """[H+1, N] the place after each step of logged episodes."""
        alphabet = episodes.alphabet
        symbols = [(alphabet.action(int(a)), alphabet.observation(int(o))) for a, o, _ in episodes.letters]
        known = np.array([self.known.get(symbol, -1) for symbol in symbols])
        place = np.zeros(episodes.n, np.int32)
        places = np.empty(episodes.word.shape, np.int32)
        for t, word in enumerate(episodes.word):
            y = known[word]
            place = np.where(y < 0, self.astray[place], self.following[place, y])
            places[t] = place
        return places

    def was_seen(self, place: int, symbol: Symbol) -> bool:
        """Whether the log has an episode that did the same."""
        y = self.known.get(symbol)
        return y is not None and place < self.rdp.n_states and self.rdp.tau[place, y] != UNSEEN

    def choices(self, actions: Int64) -> Int64:
        """[P, A] how often each action is to be taken in each place; a row of nothing leaves it open.

        `actions` are those of a plan, one for each state; where it says BEHAVE, and where one is lost, as in the log.
        """
        rdp, n = self.rdp, self.rdp.alphabet.n_actions
        taken = np.zeros((rdp.n_states, n), np.int64)
        np.add.at(taken.T, rdp.letters[:, 0], rdp.counts.T)
        by_layer = np.zeros((len(rdp.layers), n), np.int64)
        np.add.at(by_layer, rdp.layer_of(), taken)
        chosen = np.concatenate([taken, by_layer])[:, PAD + 1 :]
        planned = np.flatnonzero(actions != BEHAVE)
        chosen[planned] = 0
        chosen[planned, actions[planned]] = 1
        return chosen


def read_features(observation: Any, names: Sequence[str], bins: Mapping[str, Sequence[float]]) -> tuple[Value, ...]:
    """An observation as it was logged: a tuple of features, a dict that has them, or a single one alone.

    Vectors within a tuple are so many features, one after the other. Binned features become the number of their bin, of
    which `bins` are the lower edges from the second on.
    """
    if isinstance(observation, Mapping):
        values = [_entry(observation, name, names) for name in names]
    else:
        values = flat_values(observation)
    if len(values) != len(names):
        raise LogError(f"{len(values)} features where the model reads {len(names)}: {', '.join(names)}")
    return tuple(_read_value(value, name, bins.get(name)) for value, name in zip(values, names, strict=True))


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
    """Whether a dict has all features of a model, each a single value."""
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


def _read_value(value: Any, name: str, edges: Sequence[float] | None) -> Value:
    if isinstance(value, float) and not math.isfinite(value):
        raise LogError(f"{name} is {value}, which is not a finite number; replace it")
    if edges is None:
        return plain(value)
    if not isinstance(value, int | float):
        raise LogError(f"{name} is {value!r}; the model has bins of it, so it must be a number")
    return bisect(edges, value)
