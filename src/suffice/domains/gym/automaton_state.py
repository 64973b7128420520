"""A Gymnasium wrapper that adds the state of a learned automaton to each observation."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Dict, Discrete
from gymnasium.utils import RecordConstructorArgs

from suffice.automata.histories import Symbol
from suffice.automata.state_tracker import StateTracker
from suffice.data.alphabet import Value, plain
from suffice.data.encoding.known_values import KnownValues
from suffice.domains.gym.requests import require_environment, require_model
from suffice.domains.gym.translation import Env, words_of
from suffice.models.model import Model
from suffice.planning.policy import Policy


class AutomatonState(gymnasium.Wrapper[dict[str, Any], Any, Any, Any], RecordConstructorArgs):
    """Wrapper that adds the state of a learned automaton to each observation.

    Any algorithm for Markov decision processes can then use the memory of the automaton. Observations become
    dictionaries: `observation` is that of the environment, `state` the number of the automaton's state. An episode that
    terminates or reaches the model's horizon is in the state in which logged episodes end. Steps beyond the horizon
    count as unseen, except under a stationary automaton, which has no horizon.

    Parameters
    ----------
    env
        A single environment, whose episodes the model was learned from. Wrap sub-environments of a vector environment
        one by one.
    model
        The model, or a policy of it. The states of a policy are numbered as in `Policy.state`.

    Attributes
    ----------
    fallbacks
        Number of steps so far that no logged history contains.

    Examples
    --------
    >>> import gymnasium
    >>> suffice.register()
    >>> env = suffice.AutomatonState(gymnasium.make("suffice/Corridor-v0"), model)
    >>> observation, _ = env.reset(seed=1)
    >>> int(observation["state"])
    1
    """

    def __init__(self, env: Env, model: Model | Policy) -> None:
        require_environment(env, "Wrap each sub-environment, before they are combined into a vector environment.")
        require_model(model)
        RecordConstructorArgs.__init__(self, model=model, _disable_deepcopy=True)  # the model is never changed
        gymnasium.Wrapper.__init__(self, env)
        self._words = words_of(env, model.rdp.alphabet)
        self._horizon = model.rdp.limit
        self._memory = model.memory if isinstance(model, Policy) else StateTracker.of(model.rdp)
        self._encoder = model.encoder
        self._known = KnownValues(self._memory.rdp.alphabet, model.encoder.kinds)
        self.fallbacks = 0
        self._place = self._steps = 0
        states = Discrete(len(self._memory.astray))
        self.observation_space = Dict(observation=env.observation_space, state=states)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode, in the first state of the automaton.

        Parameters
        ----------
        seed
            Seed for the environment.
        options
            Options for the environment.

        Returns
        -------
        tuple
            The observation with the state, and the info of the environment.
        """
        observation, info = self.env.reset(seed=seed, options=options)
        self._place = self._steps = 0
        self._follow((None, self._read(observation)))
        return self._show(observation), info

    def step(self, action: Any) -> tuple[dict[str, Any], Any, bool, bool, dict[str, Any]]:
        """Take an action, and update the state of the automaton.

        Parameters
        ----------
        action
            An action of the environment.

        Returns
        -------
        tuple
            Observation with the state, reward, terminated, truncated and info.
        """
        observation, reward, terminated, truncated, info = self.env.step(action)
        self._steps += 1
        ended = terminated or self._steps == self._horizon  # logs have no observation there
        self._follow((plain(self._words.word(action)), None if ended else self._read(observation)))
        return self._show(observation), reward, terminated, truncated, info

    def _follow(self, symbol: Symbol) -> None:
        self.fallbacks += not self._memory.is_known(self._place, symbol)
        self._place = self._memory.after(self._place, symbol)

    def _show(self, observation: Any) -> dict[str, Any]:
        return {"observation": observation, "state": np.int64(self._place)}

    def _read(self, observation: Any) -> tuple[Value, ...]:
        """Return an observation as the features of the model."""
        return self._known.convert(self._encoder.encode_observation(self._words.features(observation)))
