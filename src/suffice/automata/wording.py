"""Logged values and histories as a person reads them: bins by their ranges, what is long without its middle."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise, takewhile

from suffice.automata.histories import History, show
from suffice.data.alphabet import Alphabet, Value

LONGEST = 5  # symbols of a history; of a longer one the middle is left out
DIGITS = range(4, 18)  # of the edges of bins: as few as tell them apart


class Bin(int):
    """The number of a bin in all respects, but it reads as the values that the bin holds."""

    words: str

    def __new__(cls, number: int, words: str) -> Bin:
        made = super().__new__(cls, number)
        made.words = words
        return made

    def __str__(self) -> str:
        return self.words


def ranges(edges: Sequence[float]) -> list[str]:
    """Bins by the values they hold; none without edges."""
    if not edges:
        return []
    told = next(told for n in DIGITS if len(set(told := [f"{e:.{n}g}" for e in edges])) == len(set(edges)))
    return [f"below {told[0]}", *(f"{low} to {high}" for low, high in pairwise(told)), f"{told[-1]} or more"]


class Wording:
    """What to call the values of an alphabet; `bins` are the edges of binned features."""

    def __init__(self, alphabet: Alphabet, bins: Mapping[str, Sequence[float]]) -> None:
        self._alphabet = alphabet
        self._bins = {name: told for name in alphabet.features if (told := ranges(bins.get(name, ())))}
        self._values = [self._bins.get(name, []) for name in alphabet.features]
        self._seen = {_listed(o): _listed(self._told(o)) for o in alphabet.observations}

    def alphabet(self) -> Alphabet:
        """The same, with bins that read as their ranges."""
        return replace(self._alphabet, observations=tuple(map(self._told, self._alphabet.observations)))

    def sentence(self, said: str) -> str:
        """What was said with the numbers of bins: "wait = 1", or "(calm, 1)"."""
        if not self._bins:
            return said
        names = "|".join(map(re.escape, self._bins))
        said = re.sub(rf"(?<!\w)({names}) = (\d+)\b", lambda m: f"{m[1]} = {self._bins[m[1]][int(m[2])]}", said)
        return re.sub(r"\([^()]*\)", lambda m: self._seen.get(m[0], m[0]), said)

    def _told(self, observation: tuple[Value, ...]) -> tuple[Value, ...]:
        named = zip(self._values, observation, strict=True)
        return tuple(Bin(int(value), bins[int(value)]) if bins else value for bins, value in named)


def _listed(values: Sequence[Value]) -> str:
    return f"({', '.join(map(str, values))})"


def brief(history: History) -> str:
    """As `show`, a long one without its middle."""
    if len(history) <= LONGEST:
        return show(history)
    left_out = len(history) - LONGEST + 1
    return f"{show(history[:1])} · … {left_out} more … · {show(history[-LONGEST + 2 :])}"


def apart(one: History, other: History) -> tuple[str, str]:
    """Two histories from where they differ; what comes before is left out where that makes them shorter."""
    alike = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))
    if alike < 2 or alike == min(len(one), len(other)):
        return brief(one), brief(other)
    before = f"… {alike} alike … · "
    return before + brief(one[alike:]), before + brief(other[alike:])
