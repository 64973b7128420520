"""Environments as an agent meets them: finite models of domains, and Gymnasium environments.

A world has actions as values of a log, and begins episode number i with random numbers derived from its seed and i, so
that an agent that was saved and loaded meets the same episodes as one that did not stop.
"""

from __future__ import annotations

from bisect import bisect
from itertools import accumulate, islice, pairwise, product
from typing import Any, NamedTuple, Protocol

import numpy as np
from gymnasium.spaces import Box, Dict, Discrete, MultiBinary, MultiDiscrete, Space, Tuple
from numpy.typing import NDArray

from suffice.data.alphabet import Value
from suffice.domains.finite import ENDED, FiniteModel, Outcomes
from suffice.domains.gym.spaces import action_of, refuse_continuous, refuse_varying, word_of
from suffice.domains.gym.translation import Env
from suffice.errors import LogError, SettingsError

MOST_ACTIONS = 1000  # an automaton needs each of them several times in each state
WORLD_STREAM = 1  # random numbers of episodes, apart from those of the agent


class Moved(NamedTuple):
    """Reward, observation and end after an action."""

    reward: float
    observation: Any
    terminated: bool
    truncated: bool


class World(Protocol):
    """An environment in which one episode at a time is played."""

    @property
    def actions(self) -> tuple[Value, ...]:
        """The actions, as a log has them."""

    def reset(self, number: int) -> Any:
        """Begin the episode of a number, and return its first observation."""

    def step(self, action: Value) -> Moved:
        """Take an action, and return what follows."""


class FiniteWorld:
    """The finite model of a domain, with observations by feature."""

    def __init__(self, model: FiniteModel, horizon: int, seed: int) -> None:
        model.refuse_beyond(horizon)
        self.actions = model.alphabet.actions
        self._horizon, self._seed = horizon, seed
        self._first, self._after = _rows(model.first)[0], _rows(model.after)
        self._rewards = model.alphabet.rewards
        names = model.alphabet.features
        self._shown = [None, *(dict(zip(names, o, strict=True)) for o in model.alphabet.observations)]
        self._number = {action: place for place, action in enumerate(self.actions)}
        self._state, self._t = ENDED, 0

    def reset(self, number: int) -> Any:
        """Begin the episode of a number."""
        luck = np.random.default_rng([self._seed, WORLD_STREAM, number]).random(self._horizon + 1)
        self._luck: list[float] = luck.tolist()
        k = bisect(self._first.sums, self._luck[0])
        self._state, self._t = self._first.state[k], 0
        return self._shown[self._first.observation[k]]

    def step(self, action: Value) -> Moved:
        """Take an action, and return what follows."""
        row = self._after[self._state * len(self.actions) + self._number[action]]
        self._t += 1
        k = bisect(row.sums, self._luck[self._t])
        self._state = row.state[k]
        ended = self._state == ENDED
        shown = None if ended else self._shown[row.observation[k]]
        return Moved(self._rewards[row.reward[k]], shown, ended, not ended and self._t == self._horizon)


class _Row(NamedTuple):
    """The outcomes of a state and an action, as lists."""

    sums: list[float]  # cumulative probabilities of all but the last
    state: list[int]
    observation: list[int]
    reward: list[int]


def _rows(outcomes: Outcomes) -> list[_Row]:
    chance = [float(p) for p in outcomes.probability]
    columns = outcomes.state.tolist(), outcomes.observation.tolist(), outcomes.reward.tolist()
    return [
        _Row(list(accumulate(chance[begin : end - 1])), *(column[begin:end] for column in columns))
        for begin, end in pairwise(outcomes.begin.tolist())
    ]


class GymWorld:
    """A Gymnasium environment; its spaces are finite, and its episodes end or have a horizon."""

    def __init__(self, env: Env, horizon: int | None, seed: int) -> None:
        self.actions = actions_of(env.action_space)
        refuse_varying(env.action_space, env.observation_space)
        self._env, self._horizon, self._seed, self._t = env, horizon, seed, 0

    def reset(self, number: int) -> Any:
        """Begin the episode of a number."""
        self._t = 0
        observation, _ = self._env.reset(seed=episode_seed(self._seed, number))
        return _without_nan(observation)

    def step(self, action: Value) -> Moved:
        """Take an action, and return what follows."""
        observation, reward, terminated, truncated, _ = self._env.step(action_of(self._env.action_space, action))
        self._t += 1
        late = self._t == self._horizon and not terminated
        return Moved(reward, _without_nan(observation), bool(terminated), bool(truncated) or late)  # type: ignore[arg-type]  # checked by the agent


def episode_seed(seed: int, number: int) -> int:
    """Return the seed of an environment for one episode."""
    return int(np.random.SeedSequence([seed, WORLD_STREAM, number]).generate_state(1)[0] >> 1)


def actions_of(space: Space[Any]) -> tuple[Value, ...]:
    """List the actions of a space as a log has them; refuse a space that is continuous or has too many."""
    refuse_continuous(space)
    refuse_varying(space)
    found = tuple(islice((word_of(space, action) for action in _members(space)), MOST_ACTIONS + 1))
    if len(found) > MOST_ACTIONS:
        raise SettingsError(
            f"the action space {' '.join(str(space).split())} has more than {MOST_ACTIONS:,} actions, too many to try "
            "each. Choose among fewer with a wrapper."
        )
    return found


def _members(space: Space[Any]) -> Any:
    """Iterate over the elements of a finite space."""
    if isinstance(space, Discrete):
        return range(int(space.start), int(space.start + space.n))
    if isinstance(space, MultiBinary):
        return _arrays(space, [range(2)] * int(np.prod(space.shape)))
    if isinstance(space, MultiDiscrete):
        starts, sizes = np.ravel(space.start), np.ravel(space.nvec)
        return _arrays(space, [range(int(s), int(s + n)) for s, n in zip(starts, sizes, strict=True)])
    if isinstance(space, Box):
        low, high = np.ravel(space.low), np.ravel(space.high)
        return _arrays(space, [range(int(a), int(b) + 1) for a, b in zip(low, high, strict=True)])
    if isinstance(space, Dict):
        return (dict(zip(space.spaces, parts, strict=True)) for parts in product(*map(_members, space.spaces.values())))
    if isinstance(space, Tuple):
        return product(*map(_members, space.spaces))
    raise SettingsError(f"the actions of {' '.join(str(space).split())} cannot be listed. Use a Discrete space.")


def _arrays(space: Space[Any], parts: list[range]) -> Any:
    return (np.array(values, space.dtype).reshape(space.shape) for values in product(*parts))


def _without_nan(observation: Any) -> Any:
    """Return an observation after checking that its numbers are numbers."""
    for value in observation.values() if isinstance(observation, dict) else (observation,):
        if isinstance(value, tuple):
            _ = [_without_nan(part) for part in value]
        elif isinstance(value, float | np.floating | np.ndarray) and _has_nan(np.asarray(value)):
            raise LogError("the observation has NaN. Fix the environment.")
    return observation


def _has_nan(values: NDArray[Any]) -> bool:
    return values.dtype.kind == "f" and bool(np.isnan(values).any())
