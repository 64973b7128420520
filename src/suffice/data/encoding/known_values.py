"""Conversion of observations at run time to the types of the log, such as the text "0" to the number 0."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from suffice.data.alphabet import Alphabet, Value, plain

NUMBER = re.compile(r"[+-]?\d{1,300}(\.\d*)?([eE][+-]?\d{1,3})?", re.ASCII)
LONGEST_SHOWN = 60  # characters of a value in a message
NAMED_VALUES = 5  # values of a feature that a message lists

Observation = tuple[Value, ...]


class KnownValues:
    """The values of each feature in an alphabet; those of `fixed` features, such as bins, are not converted."""

    def __init__(self, alphabet: Alphabet, fixed: Collection[str] = ()) -> None:
        self._names, self._fixed = alphabet.features, fixed
        self._whole = set(alphabet.observations)
        columns = list(zip(*alphabet.observations, strict=True)) or [() for _ in self._names]
        self._values = [{value: value for value in column} for column in columns]  # in order

    def convert(self, observation: Observation) -> Observation:
        """Replace unknown values by the only known value of another type that is written in the same way."""
        if observation in self._whole:
            return observation
        features = zip(observation, self._values, self._names, strict=True)
        return tuple([value if name in self._fixed else _converted(value, known) for value, known, name in features])

    def problem(self, observation: Observation, *, combinations: bool = True) -> str | None:
        """Describe why an observation is not known, in one line; None if it is.

        Without `combinations` it is enough that each value is known.
        """
        if observation in self._whole:
            return None
        for value, known, name in zip(observation, self._values, self._names, strict=True):
            if value not in known:
                listed = ", ".join(map(_shown, list(known)[:NAMED_VALUES]))
                more = f" and {len(known) - NAMED_VALUES:,} more" if len(known) > NAMED_VALUES else ""
                return f"{name}: {_shown(value)} is not known to the model. Its values are {listed}{more}."
        return (
            f"observation {_shown(observation)}: the model knows these values, but not together."
            if combinations
            else None
        )


def _converted(value: Value, known: Mapping[Value, Value]) -> Value:
    """Return the only known value of another type that stands for the same text or number, else the value itself."""
    if value in known:
        return value
    if isinstance(value, str):
        found = [other for other in _meanings(value) if type(known.get(other)) is type(other)]  # 1 is not True
    else:
        found = [text for text in _spellings(value) if text in known]
    return found[0] if len(found) == 1 else value


def _meanings(text: str) -> list[Value]:
    """Return the number or the truth value that a text stands for."""
    if text in ("True", "true", "False", "false"):
        return [text in ("True", "true")]
    if not NUMBER.fullmatch(text):
        return []
    return [int(text) if text.lstrip("+-").isdecimal() else plain(float(text))]


def _spellings(value: Value) -> list[str]:
    """Return the texts that stand for a number or a truth value."""
    return [str(value), str(value).lower()] if isinstance(value, bool) else [str(value)]


def _shown(value: object) -> str:
    """Return a value for a message, shortened."""
    text = repr(value)
    return text if len(text) <= LONGEST_SHOWN else text[:LONGEST_SHOWN] + "…"
