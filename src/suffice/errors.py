"""What a user may do wrong: each error is a sentence that names what is wrong and how to mend it.

SufficeError
├── LogError       the data: a file, row, column or table in memory
├── ModelError     a model file, or what is asked of a model that cannot do it
├── SettingsError  options that cannot be right, or do not go together
└── MissingError   an optional package or program that is not installed
"""

import difflib
from collections.abc import Iterable


class SufficeError(Exception):
    """A mistake in the input, said in one line with its fix; the command line prints it and exits with 2."""


class LogError(SufficeError):
    """Data that cannot be read as episodes."""


class ModelError(SufficeError):
    """A model file that cannot be read, or a model that lacks what is asked of it."""


class SettingsError(SufficeError, ValueError):
    """Options that cannot be right, or do not go together."""


class MissingError(SufficeError, ImportError):
    """An optional package or program that is not installed."""


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that is most like a misspelt one, whatever its case, if any is."""
    lowered = {other.lower(): other for other in list(known)[:10_000]}  # what a user has time to wait for
    close = difflib.get_close_matches(name.lower()[:80], lowered, n=1, cutoff=cutoff)
    return lowered[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint to put after "there is no such name", or nothing."""
    close = closest(name, known)
    return "" if close is None else f"; did you mean {close if len(close) <= 40 else close[:40] + '…'!r}?"
