"""Domains as Gymnasium environments, played from the same tables that simulation and the exact analysis use."""

from __future__ import annotations

from bisect import bisect
from itertools import accumulate
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Discrete, MultiDiscrete

from suffice.data.alphabet import STOP, Alphabet, Value, in_order
from suffice.domains.domain import Domain
from suffice.domains.finite import ENDED, FiniteModel, Outcomes
from suffice.domains.registry import make
from suffice.errors import SettingsError

Returned = tuple[Any, dict[str, Any]]


class DomainEnv(gymnasium.Env[Any, np.int64]):
    """Episodes of a domain, truncated at the horizon; an episode that ends just there is terminated instead.

    An action is its place in `alphabet.actions`. An observation is the place of each feature's value among the
    feature's values in order: a number if there is one feature, else an array; `features_of` and
    `info["observation"]` say it in words. Nothing is seen at an episode's end, so the last observation comes again.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 4}  # type: ignore[misc]  # gymnasium forgot ClassVar

    def __init__(self, domain: Domain, horizon: int | None = None, render_mode: str | None = None) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise SettingsError(f"render_mode {render_mode!r} is unknown; use 'ansi' or None")
        if horizon is not None and (isinstance(horizon, bool) or not isinstance(horizon, int | np.integer)):
            raise SettingsError(f"horizon={horizon!r} is no whole number of decisions")
        self.horizon = domain.default_horizon if horizon is None else int(horizon)
        self.model: FiniteModel = domain.model(self.horizon)
        self.domain = domain.for_horizon(self.horizon)
        self.render_mode = render_mode
        self._values = [in_order(column) for column in zip(*self.alphabet.observations, strict=True)]
        sizes = [len(values) for values in self._values]
        self.action_space = Discrete(len(self.alphabet.actions))
        self.observation_space = Discrete(sizes[0]) if len(sizes) == 1 else MultiDiscrete(sizes)
        self._state = ENDED  # as the model numbers it
        self._seen = STOP  # observation code
        self._steps = 0

    @property
    def alphabet(self) -> Alphabet:
        """What the numbers of the spaces stand for."""
        return self.model.alphabet

    def features_of(self, observation: Any) -> dict[str, Value]:
        """An observation in words."""
        if observation not in self.observation_space:
            raise SettingsError(f"{observation!r} is no observation of {self.observation_space}")
        columns = zip(self.alphabet.features, self._values, np.atleast_1d(observation), strict=True)
        return {feature: values[place] for feature, values, place in columns}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Returned:
        """Begin an episode; there are no options."""
        super().reset(seed=seed)
        k = self._draw(self.model.first, 0)
        self._state, self._seen, self._steps = int(self.model.first.state[k]), int(self.model.first.observation[k]), 0
        return self._show()

    def step(self, action: np.int64 | int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Act once."""
        if self._state == ENDED or self._steps == self.horizon:
            raise ResetNeeded("no episode is running; call reset() first")
        if isinstance(action, bool) or action not in self.action_space:
            words = ", ".join(f"{i} ({word})" for i, word in enumerate(self.alphabet.actions))
            raise SettingsError(f"{action!r} is no action of this environment; use one of {words}")
        after = self.model.after
        k = self._draw(after, self._state * len(self.alphabet.actions) + int(action))
        self._state = int(after.state[k])
        self._steps += 1
        terminated = self._state == ENDED
        if not terminated:
            self._seen = int(after.observation[k])
        observation, info = self._show()
        reward = self.alphabet.rewards[after.reward[k]]
        return observation, reward, terminated, not terminated and self._steps == self.horizon, info

    def render(self) -> str | None:
        """The state as text, if that was asked for."""
        if self.render_mode is None:
            return None
        return self.domain.render(None if self._state == ENDED else self.model.states[self._state])

    def _draw(self, outcomes: Outcomes, row: int) -> int:
        """One of the outcomes of a row, by its probability."""
        begin, end = (int(at) for at in outcomes.begin[row : row + 2])
        sums = list(accumulate(float(p) for p in outcomes.probability[begin : end - 1]))  # the last takes the rest
        return begin + bisect(sums, self.np_random.random())

    def _show(self) -> Returned:
        words = self.alphabet.observation(self._seen) or ()
        places = [values.index(word) for values, word in zip(self._values, words, strict=True)]
        info = {"observation": dict(zip(self.alphabet.features, words, strict=True))}
        return (places[0] if len(places) == 1 else np.array(places, np.int64)), info


class NamedDomainEnv(DomainEnv):
    """What `gymnasium.make` makes: a domain by its name, with its options as keyword arguments, or as text."""

    def __init__(
        self, name: str, horizon: int | None = None, render_mode: str | None = None, **options: object
    ) -> None:
        texts = {option: _text(value) for option, value in options.items() if value is not None}
        super().__init__(make(name, texts), horizon, render_mode)


def _text(value: object) -> str:
    """An option as the command line would have it."""
    return str(value).lower() if isinstance(value, bool | np.bool_) else str(value)
