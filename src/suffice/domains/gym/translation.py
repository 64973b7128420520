"""Translation between the actions and observations of an environment and the values in a model.

The spaces of a `DomainEnv`, and of any environment with an `alphabet` whose spaces number it, are indices of values,
unless the model was learned from a log of `record`, which has these indices. Any other environment is assumed to use
the logged values: actions as `spaces` writes them; of a Dict observation the entries named like the features of the
model; of any other observation all values, in order, or those that the model reads of the columns of `record`.
"""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import gymnasium
import numpy as np
from gymnasium.spaces import Dict, Discrete, MultiDiscrete, Space
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv, VectorEnv

from suffice.data.alphabet import Alphabet, Value, in_order
from suffice.data.encoding.observations import flat_values, has_features, values_of
from suffice.data.logs.steps import STEP_PARTS
from suffice.domains.gym.spaces import action_of, refuse_varying, word_of
from suffice.errors import ModelError

OBSERVATION = STEP_PARTS[0]  # prefix of the columns that `record` makes of vectors
Env = gymnasium.Env[Any, Any]
Envs = VectorEnv[Any, Any, Any]


class _Numbered:
    """Translator for an environment whose spaces number the values of an alphabet."""

    def __init__(self, alphabet: Alphabet, known: Alphabet) -> None:
        self._actions = alphabet.actions
        columns = zip(alphabet.features, zip(*alphabet.observations, strict=True), strict=True)
        values = {feature: (place, in_order(column)) for place, (feature, column) in enumerate(columns)}
        self.fits = set(known.actions) <= set(alphabet.actions) and set(known.features) <= set(values)
        self._values = [values[feature] for feature in known.features] if self.fits else []
        columns = zip(*known.observations, strict=True)
        self.same_values = self.fits and all(
            set(column) <= set(own) for (_, own), column in zip(self._values, columns, strict=True)
        )

    def action(self, word: Value) -> Any:
        return self._actions.index(word)

    def word(self, action: Any) -> Value:
        return self._actions[int(action)]

    def features(self, observation: Any) -> tuple[Value, ...]:
        places = np.atleast_1d(observation)
        return tuple(values[places[place]] for place, values in self._values)


class _Logged:
    """Translator for an environment that uses the logged values."""

    def __init__(self, actions: Space[Any], observations: Space[Any], known: Alphabet) -> None:
        self._names, self._actions, self._by_name = known.features, actions, isinstance(observations, Dict)
        refuse_varying(actions, observations)
        sample = deepcopy(observations).sample()  # of a copy, because sampling changes the generator of the space
        self._chosen = False  # whether the model reads some of the columns that `record` makes of a vector
        if self._by_name:  # entries are matched by name, not by number
            readable = has_features(sample, known.features)
        elif not (readable := len(flat_values(sample)) == len(known.features)):
            readable = self._chosen = _has_recorded_names(observations, known)
        self.fits = readable and all(map(self._does, known.actions))

    def _does(self, word: Value) -> bool:
        try:
            self.action(word)
        except ValueError:
            return False
        return True

    def action(self, word: Value) -> Any:
        return action_of(self._actions, word)

    def word(self, action: Any) -> Value:
        return word_of(self._actions, action)

    def features(self, observation: Any) -> tuple[Value, ...]:
        if self._chosen:
            observation = {OBSERVATION: observation}
        named = self._by_name or self._chosen
        return tuple(values_of(observation, self._names) if named else flat_values(observation))


def _has_recorded_names(observations: Space[Any], known: Alphabet) -> bool:
    """Return whether all features of a model are named as `record` names the parts of an observation."""
    return has_features({OBSERVATION: deepcopy(observations).sample()}, known.features)


Words = _Numbered | _Logged


def _words(actions: Space[Any], observations: Space[Any], alphabet: Any, known: Alphabet) -> Words:
    """Return the translator between a model and the spaces of an environment, which may number an alphabet."""
    numbered = isinstance(alphabet, Alphabet) and _spaces(alphabet) == (actions, observations)
    words: Words = _Numbered(alphabet, known) if numbered else _Logged(actions, observations, known)
    if isinstance(words, _Numbered) and not words.same_values and _has_recorded_names(observations, known):
        recorded = _Logged(actions, observations, known)  # `record` writes the numbers of the spaces
        words = recorded if recorded.fits else words
    if not words.fits:
        theirs = _summary(alphabet) if numbered else f"actions {actions} and observations {observations}"
        differs = f"it has {_summary(known)}, the environment has {theirs}"
        differs = " ".join(differs.split())  # the text of some spaces has several lines
        raise ModelError(f"the model does not fit the environment: {differs}. Use a model learned from its episodes.")
    return words


def _spaces(alphabet: Alphabet) -> tuple[Space[Any], Space[Any]]:
    """Return the spaces that a `DomainEnv` of this alphabet has."""
    sizes = [len(set(column)) for column in zip(*alphabet.observations, strict=True)]
    return Discrete(len(alphabet.actions)), Discrete(sizes[0]) if len(sizes) == 1 else MultiDiscrete(sizes)


def _summary(alphabet: Alphabet) -> str:
    return f"actions {', '.join(map(str, alphabet.actions))} and features {', '.join(alphabet.features)}"


def words_of(env: Env, known: Alphabet) -> Words:
    """Return the translator between an environment and a model of this alphabet."""
    return _words(env.action_space, env.observation_space, getattr(env.unwrapped, "alphabet", None), known)


def words_of_each(envs: Envs, known: Alphabet) -> list[Words]:
    """Return a translator for each sub-environment; only Gymnasium's vector environments are asked for alphabets."""
    inner, alphabets = envs.unwrapped, [None] * envs.num_envs
    # asking a sub-environment in another process for a missing attribute ends that process
    if isinstance(inner, SyncVectorEnv | AsyncVectorEnv) and all(inner.call("has_wrapper_attr", "alphabet")):
        alphabets = list(inner.get_attr("alphabet"))
    return [_words(envs.single_action_space, envs.single_observation_space, known_as, known) for known_as in alphabets]
