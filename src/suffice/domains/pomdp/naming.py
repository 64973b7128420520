"""Names and numbers that every reader of the `.POMDP` format accepts."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Sequence
from fractions import Fraction

from suffice.domains.pomdp.statements import RESERVED

LONGEST_NAME = 60
DOUBLE_DIGITS = 17  # enough to represent any double
LARGEST_DECIMAL = 10**50  # decimals of up to 50 places are written exactly


class NameTable:
    """Table of distinct names of ASCII letters, digits, `-` and `_` that begin with a letter."""

    def __init__(self, prefix: str, special: Iterable[str] = ()) -> None:
        self._prefix = prefix  # for values that do not begin with a letter
        self._taken = dict.fromkeys((*RESERVED, *special), 1)  # number of names made from each

    def of(self, value: Hashable) -> str:
        """Make a new name that resembles a value."""
        parts = value if isinstance(value, tuple) else (value,)
        name = "_".join(re.sub(r"[^A-Za-z0-9-]+", "_", str(part)).strip("_") for part in parts)[:LONGEST_NAME]
        if not name[:1].isalpha():
            name = self._prefix + name
        distinct = name
        while distinct in self._taken:
            self._taken[name] += 1
            distinct = f"{name}_{self._taken[name]}"
        self._taken[distinct] = 1
        return distinct


def distribution(probabilities: Sequence[Fraction]) -> list[str]:
    """Write probabilities as decimals that add up to exactly 1; the largest takes the rounding error."""
    if all(LARGEST_DECIMAL % p.denominator == 0 for p in probabilities):
        return [decimal(p) for p in probabilities]
    places = DOUBLE_DIGITS + max(_leading_zeros(p) for p in probabilities)
    rounded = [Fraction(round(p * 10**places), 10**places) for p in probabilities]
    largest = max(range(len(rounded)), key=rounded.__getitem__)
    rounded[largest] += 1 - sum(rounded)
    return [_written(p, places) for p in rounded]


def decimal(value: Fraction) -> str:
    """Write a number exactly if that takes at most 50 places, else with 17 digits; without an exponent."""
    if LARGEST_DECIMAL % value.denominator == 0:
        return _written(value, 50)
    return _written(value, DOUBLE_DIGITS + _leading_zeros(value))


def _leading_zeros(value: Fraction) -> int:
    """Return a lower bound of the zeros after the decimal point."""
    return max(0, len(str(value.denominator)) - len(str(abs(value.numerator))))


def _written(value: Fraction, places: int) -> str:
    """Write a number with a digit on both sides of the decimal point."""
    whole, rest = divmod(abs(round(value * 10**places)), 10**places)
    return f"{'-' if value < 0 else ''}{whole}.{str(rest).zfill(places).rstrip('0') or '0'}"
