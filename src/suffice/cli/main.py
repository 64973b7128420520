"""Entry point of the command line, which only parses and prints.

Exit codes: 0 for success, 2 for a mistake in the input (one line on stderr), 1 for an internal error. Results go to
stdout; progress goes to stderr, and only to a terminal.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from cyclopts import CycloptsError

from suffice.cli import (
    completion_commands,
    domain_commands,
    evaluation_commands,
    exact_commands,
    lab_commands,
    learning_commands,
    model_commands,
    train_commands,
    view_commands,
)
from suffice.cli.app import app, arrange_help
from suffice.cli.choosing import spelled_out
from suffice.cli.environment import address_limit, is_space_short
from suffice.cli.parse_errors import message_of
from suffice.cli.printing import complain
from suffice.data.memory_limit import limit_memory
from suffice.errors import LogProblemsError, SufficeError, naming_options
from suffice.files.signals import exit_if_signalled

__all__ = [
    "app",
    "completion_commands",
    "domain_commands",
    "evaluation_commands",
    "exact_commands",
    "lab_commands",
    "learning_commands",
    "main",
    "model_commands",
    "train_commands",
    "view_commands",
]

arrange_help()


def main() -> NoReturn:
    """Run the command line and exit. A program that calls this function has to handle interruptions itself."""
    try:
        with naming_options(), limit_memory(None):
            app(spelled_out(sys.argv[1:]), exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except LogProblemsError as error:
        _fail(error.problems, 2)
    except SufficeError as error:
        _fail([str(error)], 2)
    except CycloptsError as error:
        _fail([message_of(error)], 2)
    except BrokenPipeError:
        _exit_without_reader()
    except SystemExit as ending:
        if isinstance(ending.__context__, BrokenPipeError):  # rich treats a closed pipe as a failure
            _exit_without_reader()
        try:
            sys.stdout.flush()  # otherwise the interpreter would report a closed pipe when it exits
        except BrokenPipeError:
            _exit_without_reader()
        raise
    except OSError as error:  # without a file name it concerns stdout
        if error.errno is None:  # of a library that cannot be loaded
            _fail_if_space_is_short()
            raise
        if error.filename is not None:
            _fail([f"{error.filename}: the file cannot be used ({error.strerror}). Name another file."], 2)
        _fail([f"stdout: the result cannot be written ({error.strerror}). Free some space, or write elsewhere."], 1)
    except MemoryError:
        _fail_if_space_is_short()
        _fail(["out of memory. Use a smaller log, horizon or family, or add --memory to refuse what does not fit."], 1)
    except Exception:
        _fail_if_space_is_short()
        raise
    sys.exit(0)


def _exit_without_reader() -> NoReturn:
    """Exit with success after the reader of stdout closed the pipe, unless a signal asked the process to end."""
    exit_if_signalled()
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


def _fail_if_space_is_short() -> None:
    """Exit with an error if nearly all of a limited address space is used: failures of libraries follow from that."""
    if is_space_short():
        limit = f"{(address_limit() or 0) >> 20:,} MiB (ulimit -v)"
        _fail([f"out of memory: the address space is limited to {limit}. Raise the limit, or use a smaller log."], 1)


def _fail(problems: Sequence[str], code: int) -> NoReturn:
    exit_if_signalled()  # the error may be a consequence of an interruption
    for problem in problems:
        complain(problem)
    sys.exit(code)
