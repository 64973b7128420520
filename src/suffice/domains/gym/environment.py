"""Domains as Gymnasium environments, which use the same tables as simulation and the exact analysis."""

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
    """Gymnasium environment of a domain, truncated at the horizon.

    An action is an index into `alphabet.actions`. An observation consists of the index of each feature's value among
    the sorted values of that feature: a number if there is one feature, else an array. `features_of` and
    `info["observation"]` give the values. At the end of an episode there is no observation, so the last one is
    returned again. An episode that ends exactly at the horizon is terminated, not truncated.

    Parameters
    ----------
    domain
        The domain, for example `suffice.make("t-maze", length=8)`.
    horizon
        Number of actions after which episodes are truncated. Default: the horizon of the domain.
    render_mode
        "ansi" makes `render` return text. None: it returns None.
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": ["ansi"], "render_fps": 4}  # type: ignore[misc]  # not declared as ClassVar in gymnasium

    def __init__(self, domain: Domain, horizon: int | None = None, render_mode: str | None = None) -> None:
        if render_mode not in (None, *self.metadata["render_modes"]):
            raise SettingsError(f"render_mode={render_mode!r} is not supported. Choose 'ansi' or None.")
        if horizon is not None and (isinstance(horizon, bool) or not isinstance(horizon, int | np.integer)):
            raise SettingsError(f"horizon={horizon!r} is not a whole number. Use 1 or more.")
        self.horizon = domain.default_horizon if horizon is None else int(horizon)
        self.model: FiniteModel = domain.model(self.horizon)
        self.domain = domain.for_horizon(self.horizon)
        self.render_mode = render_mode
        self._values = [in_order(column) for column in zip(*self.alphabet.observations, strict=True)]
        sizes = [len(values) for values in self._values]
        self.action_space = Discrete(len(self.alphabet.actions))
        self.observation_space = Discrete(sizes[0]) if len(sizes) == 1 else MultiDiscrete(sizes)
        self._state = ENDED  # number of the state in the model
        self._seen = STOP  # observation code
        self._steps = 0

    @property
    def alphabet(self) -> Alphabet:
        """The values that the numbers of the spaces stand for."""
        return self.model.alphabet

    def features_of(self, observation: Any) -> dict[str, Value]:
        """Return the feature values of an observation.

        Parameters
        ----------
        observation
            An observation of this environment.

        Returns
        -------
        dict
            Values by the names of the features.
        """
        if observation not in self.observation_space:
            raise SettingsError(
                f"{observation!r} is not an observation of {self.observation_space}. Pass one of its members."
            )
        columns = zip(self.alphabet.features, self._values, np.atleast_1d(observation), strict=True)
        return {feature: values[place] for feature, values, place in columns}

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Returned:
        """Begin an episode; options are ignored."""
        super().reset(seed=seed)
        k = self._draw(self.model.first, 0)
        self._state, self._seen, self._steps = int(self.model.first.state[k]), int(self.model.first.observation[k]), 0
        return self._show()

    def step(self, action: np.int64 | int) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Take an action, given by its index."""
        if self._state == ENDED or self._steps == self.horizon:
            raise ResetNeeded("the episode has ended or not begun. Call reset() first.")
        if isinstance(action, bool) or action not in self.action_space:
            words = ", ".join(f"{i} ({word})" for i, word in enumerate(self.alphabet.actions))
            raise SettingsError(f"{action!r} is not an action of this environment. Use one of {words}.")
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
        """Return the state as text if render_mode is 'ansi'."""
        if self.render_mode is None:
            return None
        return self.domain.render(None if self._state == ENDED else self.model.states[self._state])

    def _draw(self, outcomes: Outcomes, row: int) -> int:
        """Draw one of the outcomes of a row."""
        begin, end = (int(at) for at in outcomes.begin[row : row + 2])
        sums = list(
            accumulate(float(p) for p in outcomes.probability[begin : end - 1])
        )  # the last outcome takes the rounding error
        return begin + bisect(sums, self.np_random.random())

    def _show(self) -> Returned:
        words = self.alphabet.observation(self._seen) or ()
        places = [values.index(word) for values, word in zip(self._values, words, strict=True)]
        info = {"observation": dict(zip(self.alphabet.features, words, strict=True))}
        return (places[0] if len(places) == 1 else np.array(places, np.int64)), info


class NamedDomainEnv(DomainEnv):
    """The environment that `gymnasium.make("suffice/…")` returns: a domain given by name and keyword options."""

    def __init__(
        self, name: str, horizon: int | None = None, render_mode: str | None = None, **options: object
    ) -> None:
        super().__init__(make(name, options), horizon, render_mode)
