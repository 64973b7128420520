"""The one exception a user is meant to see: a sentence that names what is wrong and how to mend it."""


class SufficeError(Exception):
    """A mistake in the input, said in one line with its fix; the command line prints it and exits with 2."""
