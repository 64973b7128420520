"""The automaton's state beside each observation."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Dict, Discrete
from gymnasium.utils import RecordConstructorArgs

from suffice.automata.histories import Symbol
from suffice.automata.state_tracker import StateTracker
from suffice.data.alphabet import Value, plain
from suffice.domains.gym.requests import require_environment, require_model
from suffice.domains.gym.translation import Env, words_of
from suffice.models.model import Model
from suffice.planning.policy import Policy


class AutomatonState(gymnasium.Wrapper[dict[str, Any], Any, Any, Any], RecordConstructorArgs):
    """Shows the automaton's state beside each observation, so that any algorithm for MDPs can use its memory.

    States are a model's own or, of a policy, numbered as `Policy.state` has them. Where an episode terminates or
    reaches the model's horizon, it is the state that logged episodes end in; beyond the horizon all is unseen, unless
    the automaton is stationary, which knows no horizon.

    >>> import gymnasium
    >>> suffice.register()
    >>> env = suffice.domains.gym.automaton_state.AutomatonState(gymnasium.make("suffice/Corridor-v0"), model)
    >>> observation, _ = env.reset(seed=1)
    >>> int(observation["state"])
    1
    """

    def __init__(self, env: Env, model: Model | Policy) -> None:
        require_environment(env, "wrap each of several on its own, before they are made one")
        require_model(model)
        RecordConstructorArgs.__init__(self, model=model, _disable_deepcopy=True)  # nothing here changes it
        gymnasium.Wrapper.__init__(self, env)
        self._words = words_of(env, model.rdp.alphabet)
        self._horizon = model.rdp.limit
        self._memory = model.memory if isinstance(model, Policy) else StateTracker.of(model.rdp)
        self._encoder = model.encoder
        self.fallbacks = 0  # steps that no logged history had taken, since this wrapper was made
        self._place = self._steps = 0
        states = Discrete(len(self._memory.astray))
        self.observation_space = Dict(observation=env.observation_space, state=states)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode."""
        observation, info = self.env.reset(seed=seed, options=options)
        self._place = self._steps = 0
        self._follow((None, self._read(observation)))
        return self._show(observation), info

    def step(self, action: Any) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        """Act once, and follow."""
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._steps += 1
        ended = terminated or self._steps == self._horizon  # where logs have no observation
        self._follow((plain(self._words.word(action)), None if ended else self._read(observation)))
        return self._show(observation), reward, terminated, truncated, info

    def _follow(self, symbol: Symbol) -> None:
        self.fallbacks += not self._memory.was_seen(self._place, symbol)
        self._place = self._memory.after(self._place, symbol)

    def _show(self, observation: Any) -> dict[str, Any]:
        return {"observation": observation, "state": np.int64(self._place)}

    def _read(self, observation: Any) -> tuple[Value, ...]:
        """The features as the model has them."""
        return self._encoder.encode_observation(self._words.features(observation))
