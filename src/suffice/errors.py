"""What a user may do wrong: each error is a sentence that names what is wrong and how to mend it.

SufficeError
├── LogError         the data: a file, row, column or table in memory
├── ModelError       a model file, or what is asked of a model that cannot do it
├── CheckpointError  what was kept of a run: another run's, damaged, or not to be written
├── SettingsError    options that cannot be right, or do not go together
├── EngineError      workers on other machines that fail
└── MissingError     an optional package or program that is not installed
"""

import difflib
from collections.abc import Iterable

LONGEST_MESSAGE = 1500  # characters that somebody will read


def visible(text: str) -> str:
    """What would move a cursor, end a line, turn the direction of writing or fit no encoding, as its escape."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


class SufficeError(Exception):
    """A mistake in the input, said in one line with its fix; the command line prints it and exits with 2.

    It is a line whatever it quotes: data may hold control characters, and names without end.

    >>> try:
    ...     suffice.load("nowhere.model")
    ... except suffice.SufficeError as error:
    ...     print(error)
    nowhere.model: there is no such file; make one with: suffice learn LOG -o nowhere.model
    """

    def __init__(self, text: str) -> None:
        line = visible(" ".join(text.split("\n")))
        super().__init__(line if len(line) <= LONGEST_MESSAGE else f"{line[: LONGEST_MESSAGE - 300]} … {line[-300:]}")


class LogError(SufficeError):
    """Data that cannot be read as episodes.

    >>> suffice.learn([])
    Traceback (most recent call last):
        ...
    suffice.errors.LogError: there is nothing to learn from: the list of data is empty
    """


class ModelError(SufficeError):
    """A model file that cannot be read, or a model that lacks what is asked of it.

    >>> suffice.learn(episodes, plan=False).policy()
    Traceback (most recent call last):
        ...
    suffice.errors.ModelError: this model has no plan: learn it again, without --planner none or plan=False
    """


class CheckpointError(SufficeError):
    """A checkpoint of another run, a damaged one, or a folder that none can be written to.

    >>> suffice.learn(episodes, checkpoint="log.parquet")
    Traceback (most recent call last):
        ...
    suffice.errors.CheckpointError: log.parquet: this is a file; --checkpoint names a folder
    """


class SettingsError(SufficeError, ValueError):
    """Options that cannot be right, or do not go together.

    >>> suffice.Settings(delta=2)
    Traceback (most recent call last):
        ...
    suffice.errors.SettingsError: delta is a probability between 0 and 1, not 2; try 0.001
    """


class EngineError(SufficeError):
    """Workers on other machines that keep failing, or read other data than before.

    >>> issubclass(suffice.EngineError, suffice.SufficeError)
    True
    """


class MissingError(SufficeError, ImportError):
    """An optional package or program that is not installed.

    >>> issubclass(suffice.MissingError, ImportError)
    True
    """


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """The known name that is most like a misspelt one, whatever its case, if any is."""
    lowered = {other.lower(): other for other in list(known)[:10_000]}  # what a user has time to wait for
    close = difflib.get_close_matches(name.lower()[:80], lowered, n=1, cutoff=cutoff)
    return lowered[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint to put after "there is no such name", or nothing."""
    close = closest(name, known)
    return "" if close is None else f"; did you mean {close if len(close) <= 40 else close[:40] + '…'!r}?"
