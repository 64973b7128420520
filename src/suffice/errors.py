"""What a user may do wrong: each error is a sentence that names what is wrong and how to mend it.

SufficeError
├── LogError       the data: a file, row, column or table in memory
├── ModelError     a model file, or what is asked of a model that cannot do it
├── SettingsError  options that cannot be right, or do not go together
└── MissingError   an optional package or program that is not installed
"""


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
