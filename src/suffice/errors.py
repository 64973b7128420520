"""What a user may do wrong: each error is a sentence that names what is wrong and how to mend it.

SufficeError
├── LogError       the data: a file, row, column or table in memory
├── ModelError     a model file, or what is asked of a model that cannot do it
├── SettingsError  options that cannot be right, or do not go together
└── MissingError   an optional package or program that is not installed
"""


class SufficeError(Exception):
    """A mistake in the input, said in one line with its fix; the command line prints it and exits with 2.

    >>> try:
    ...     suffice.load("nowhere.model")
    ... except suffice.SufficeError as error:
    ...     print(error)
    nowhere.model: there is no such file; make one with: suffice learn LOG -o nowhere.model
    """


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


class SettingsError(SufficeError, ValueError):
    """Options that cannot be right, or do not go together.

    >>> suffice.Settings(delta=2)
    Traceback (most recent call last):
        ...
    suffice.errors.SettingsError: delta is a probability between 0 and 1, not 2; try 0.001
    """


class MissingError(SufficeError, ImportError):
    """An optional package or program that is not installed.

    >>> issubclass(suffice.MissingError, ImportError)
    True
    """
