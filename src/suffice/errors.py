"""Exceptions for mistakes of the user: one line each, with the subject, the problem and the fix.

SufficeError
├── LogError         invalid data: a file, row, column or table in memory
│   └── LogProblemsError  several problems of a log, one line each
├── ModelError       an invalid model file, or a request that a model cannot fulfil
├── CheckpointError  a checkpoint of another run, a damaged one, or a folder that cannot be written to
├── SettingsError    invalid parameters, or parameters that cannot be combined
│   └── MemoryLimitError  a table that does not fit into the allowed memory
├── EngineError      failing workers on other machines
├── TrainingError    an environment that fails while an agent learns in it
└── MissingError     an optional package or program that is not installed

A message names parameters with `parameter`, so that a Python user reads `hold_out=0.2` and a user of the command line
`--hold-out 0.2`.
"""

import difflib
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from numbers import Integral, Real
from pathlib import Path
from threading import Lock
from typing import Any

LONGEST_MESSAGE = 1500  # characters
EXACT = 2**53  # up to which a float holds every whole number
_OPTIONS = {
    "bins": "--bin",
    "planning": "--planner",
    "options": "--set",
}  # options whose names differ from the Python parameters
_FLAGS = {("plan", False): "--planner none", ("second_look", False): "--no-second-look"}
_runs = 0  # of the command line in this process; not per thread, because worker threads make messages too
_counting = Lock()


def visible(text: str) -> str:
    """Escape characters that are not printable: control characters, line ends, changes of writing direction."""
    return text if text.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


@contextmanager
def naming_options(on: bool = True) -> Iterator[None]:
    """Make `parameter` name the options of the command line while the block runs, unless `on` is False."""
    global _runs
    with _counting:
        _runs += on
    try:
        yield
    finally:
        with _counting:
            _runs -= on


def names_options() -> bool:
    """Return whether messages name options of the command line, for workers in other processes."""
    return _runs > 0


def parameter(name: str, value: object = None) -> str:
    """Name a parameter the way the current user writes it: in Python, or as an option on the command line.

    Parameters
    ----------
    name
        Name of the Python parameter. The option has the same name with dashes, but for those in `_OPTIONS`.
    value
        Value to show with it. None shows the name alone. A mapping is written as `KEY=VALUE` for each of its items.

    Returns
    -------
    str
        `hold_out=0.2` in Python, `--hold-out 0.2` on the command line.

    Examples
    --------
    >>> from suffice.errors import naming_options, parameter
    >>> parameter("hold_out", 0.2), parameter("bins", {"age": 8}), parameter("memory")
    ('hold_out=0.2', "bins={'age': 8}", 'memory')
    >>> with naming_options():
    ...     print(parameter("hold_out", 0.2), parameter("bins", {"my age": 8}), parameter("stationary", True))
    --hold-out 0.2 --bin 'my age=8' --stationary
    """
    if not names_options():
        return name if value is None else f"{name}={value!r}"
    option = _OPTIONS.get(name, "--" + name.replace("_", "-"))
    if isinstance(value, float) and value.is_integer() and abs(value) < EXACT:
        value = int(value)  # as the user typed it: 1, not 1.0
    if isinstance(value, bool):
        return option if value else _FLAGS.get((name, False), f"{option} no")
    if isinstance(value, Mapping):
        return " ".join(f"{option} {shlex.quote(f'{key}={text}')}" for key, text in value.items())
    if isinstance(value, list | tuple):
        value = ",".join(map(str, value))
    return option if value is None else f"{option} {shlex.quote(str(value))}"


def spelled(python: str, command: str) -> str:
    """Return the one of two texts that suits the current user: in Python, or on the command line."""
    return command if names_options() else python


def require_type(name: str, value: object, kind: Any, needed: str) -> None:
    """Refuse a parameter of another type; `needed` is what the message asks for, and how to get it.

    Examples
    --------
    >>> from suffice.errors import require_type
    >>> require_type("alphabet", 5, tuple, "an alphabet. Pass episodes.alphabet.")
    Traceback (most recent call last):
    suffice.errors.SettingsError: alphabet is of type int, not an alphabet. Pass episodes.alphabet.
    """
    if not isinstance(value, kind):
        raise SettingsError(f"{name} is of type {type(value).__name__}, not {needed}")


def require_path(path: object) -> Path:
    """Return the path of a file; refuse what is neither text nor a path."""
    if not isinstance(path, str | Path):
        raise SettingsError(f"an object of type {type(path).__name__} is not a path. Name a file.")
    return Path(path)


def require_function(name: str, value: object) -> None:
    """Refuse a parameter that cannot be called."""
    if not callable(value):
        raise SettingsError(f"{name} is of type {type(value).__name__}, not a function. Pass one, or leave it out.")


def is_number(value: object) -> bool:
    """Return whether a parameter is a number, of Python or NumPy."""
    return isinstance(value, Real)


def is_whole(value: object) -> bool:
    """Return whether a parameter is an integer, of Python or NumPy."""
    return isinstance(value, Integral)


def gigabytes(size: float) -> str:
    """Return a number of bytes in GB, or in MB or kB if there are few."""
    for unit, name in ((1e9, "GB"), (1e6, "MB")):
        if size >= 0.1 * unit:
            return f"{size / unit:.1f} {name}"
    return f"{size / 1e3:.1f} kB"


def alternatives(values: Iterable[str]) -> str:
    """List the values that a parameter accepts, quoted in Python and bare on the command line.

    Examples
    --------
    >>> from suffice.errors import alternatives
    >>> alternatives(["safe", "greedy", "subsampled"])
    "'safe', 'greedy' or 'subsampled'"
    """
    *some, last = [value if names_options() else repr(value) for value in values] or ["none"]
    return f"{', '.join(some)} or {last}" if some else last


class SufficeError(Exception):
    """Base class of all errors caused by the input: one line with the subject, the problem and the fix.

    The command line prints the line and exits with code 2. Control characters in quoted data are escaped, and very
    long messages are shortened, so that the message is always a single readable line.

    Parameters
    ----------
    text
        The message. Line ends become spaces.

    Examples
    --------
    >>> try:
    ...     suffice.BOUNDS["fischer"]
    ... except suffice.SufficeError as error:
    ...     print(str(error).partition("? ")[0])
    'fischer' is not a bound. Did you mean 'fisher'
    """

    def __init__(self, text: str) -> None:
        line = visible(" ".join(text.split("\n")))
        super().__init__(line if len(line) <= LONGEST_MESSAGE else f"{line[: LONGEST_MESSAGE - 300]} … {line[-300:]}")


class LogError(SufficeError):
    """Data that cannot be read as episodes.

    The message names the file, the row and the column where they are known.

    Examples
    --------
    >>> try:
    ...     suffice.read_log("missing.csv")
    ... except suffice.LogError:
    ...     print("the log cannot be read")
    the log cannot be read
    """


class LogProblemsError(LogError):
    """Several problems of a log, one line each.

    Parameters
    ----------
    problems
        The message of each problem.

    Examples
    --------
    >>> try:
    ...     suffice.read_log({"episode": [0], "o": [1], "action": [None], "reward": ["much"]})
    ... except suffice.LogProblemsError as error:
    ...     print(len(error.problems))
    2
    """

    def __init__(self, problems: Iterable[str]) -> None:
        self.problems = tuple(LogError(problem).args[0] for problem in problems)
        Exception.__init__(self, "\n".join(self.problems))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.problems,)


class ModelError(SufficeError):
    """A model file that cannot be read, or a request that a model cannot fulfil.

    Examples
    --------
    >>> try:
    ...     suffice.learn(episodes, plan=False).policy()
    ... except suffice.ModelError:
    ...     print("a model without a plan has no policy")
    a model without a plan has no policy
    """


class CheckpointError(SufficeError):
    """A checkpoint of another run, a damaged checkpoint, or a folder that cannot be written to.

    Examples
    --------
    >>> suffice.learn(episodes, checkpoint="log.parquet")
    Traceback (most recent call last):
        ...
    suffice.errors.CheckpointError: log.parquet: this is a file. Set checkpoint to a folder.
    """


class SettingsError(SufficeError, ValueError):
    """An invalid parameter, or parameters that cannot be combined.

    It is also a `ValueError`.

    Examples
    --------
    >>> suffice.Family(0, 1, 1)
    Traceback (most recent call last):
        ...
    suffice.errors.SettingsError: family='0,1,1': I, J and K are numbers from 1 on. Try '1,1,1' or 'conjunctions'.
    """


class MemoryLimitError(SettingsError):
    """A table that does not fit into the allowed memory, refused before it is made."""


class EngineError(SufficeError):
    """Workers on other machines that fail repeatedly, or that read other data than before.

    Examples
    --------
    >>> issubclass(suffice.EngineError, suffice.SufficeError)
    True
    """


class TrainingError(SufficeError):
    """An environment that fails while an agent learns in it; `agent` has what was learned before.

    Examples
    --------
    >>> issubclass(suffice.TrainingError, suffice.SufficeError)
    True
    """

    agent: object = None


class MissingError(SufficeError, ImportError):
    """An optional package or program that is not installed.

    It is also an `ImportError`. The message names what to install.

    Examples
    --------
    >>> issubclass(suffice.MissingError, ImportError)
    True
    """


def closest(name: str, known: Iterable[str], cutoff: float = 0.6) -> str | None:
    """Return the known name that is most similar to a misspelt one, ignoring case; None if none is similar."""
    lowered = {other.lower(): other for other in list(known)[:10_000]}  # more would take too long
    close = difflib.get_close_matches(name.lower()[:80], lowered, n=1, cutoff=cutoff)
    return lowered[close[0]] if close else None


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Return a hint such as ". Did you mean 'fisher'?" for an unknown name, or "" if no known name is similar."""
    close = closest(name, known)
    return "" if close is None else f". Did you mean {close if len(close) <= 40 else close[:40] + '…'!r}?"
