"""A finite model as the encoder of a learned model observes it: fewer columns, and numbers in ranges."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from suffice.data.alphabet import STOP, Alphabet, Value
from suffice.data.encoding.encoder import Encoder
from suffice.domains.finite import FiniteModel, Observation, Outcomes
from suffice.planning.controller import Controller


def observe_columns(finite: FiniteModel, encoder: Encoder) -> FiniteModel:
    """Return the model with observations encoded as in a learned model; unchanged if that changes nothing.

    States, actions and rewards stay. Its behaviour policy is that of the model if it ignores observations, and uniform
    otherwise, because one that depends on other columns cannot be stated with these.
    """
    names = encoder.features
    if names == finite.alphabet.features and not any(name in encoder.kinds for name in names):
        return finite
    if not set(names) <= set(finite.alphabet.features):
        return finite  # another domain, which the caller refuses

    def convert(observation: Observation) -> tuple[Value, ...]:
        return encoder.encode_observation(dict(zip(finite.alphabet.features, observation, strict=True)))

    return map_observations(finite, names, convert)


def map_observations(
    finite: FiniteModel, features: tuple[str, ...], convert: Callable[[Observation], tuple[Value, ...]]
) -> FiniteModel:
    """Return the model with each observation replaced by what a function makes of it."""
    before = finite.alphabet
    mapped = [convert(observation) for observation in before.observations]
    alphabet = Alphabet(before.actions, features, tuple(mapped), before.rewards)
    place = {observation: code for code, observation in enumerate(alphabet.observations, start=STOP + 1)}
    codes = np.array([STOP, *(place[observation] for observation in mapped)], np.int32)

    def seen(outcomes: Outcomes) -> Outcomes:
        return replace(outcomes, observation=codes[outcomes.observation])

    usual = Controller.uniform(alphabet)
    if len(finite.usual.chances) == 1:
        usual = replace(usual, chances=finite.usual.chances)
    return replace(finite, alphabet=alphabet, first=seen(finite.first), after=seen(finite.after), usual=usual)
