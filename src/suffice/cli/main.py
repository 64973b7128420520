"""The command line: parsing and printing only.

Exit code 0 is success, 2 a mistake in the input (one clear line on stderr), 1 a fault of ours. Results go to stdout,
progress to stderr and only to a terminal.
"""

from __future__ import annotations

import os
import sys
from typing import NoReturn

from cyclopts import CycloptsError

from suffice.cli import (
    completion_commands,
    domain_commands,
    evaluation_commands,
    lab_commands,
    learning_commands,
    model_commands,
    view_commands,
)
from suffice.cli.app import app, arrange_help
from suffice.cli.choosing import spelled_out
from suffice.cli.printing import complain
from suffice.errors import SufficeError, naming_options
from suffice.files.signals import exit_if_signalled

__all__ = [
    "app",
    "completion_commands",
    "domain_commands",
    "evaluation_commands",
    "lab_commands",
    "learning_commands",
    "main",
    "model_commands",
    "view_commands",
]

arrange_help()


def main() -> NoReturn:
    """Run the command line; whoever calls it from a program of theirs handles interruptions."""
    try:
        with naming_options():
            app(spelled_out(sys.argv[1:]), exit_on_error=False, print_error=False)
        sys.stdout.flush()
    except (SufficeError, CycloptsError) as error:
        _fail(str(error), 2)
    except BrokenPipeError:
        _let_the_reader_leave()
    except SystemExit as ending:
        if isinstance(ending.__context__, BrokenPipeError):  # which rich takes for a failure
            _let_the_reader_leave()
        try:
            sys.stdout.flush()  # or the interpreter would find a closed pipe on its way out
        except BrokenPipeError:
            _let_the_reader_leave()
        raise
    except OSError as error:  # of our own output, unless it names a file; where that is known, more is said
        if error.filename is not None:
            _fail(f"{error.filename}: this cannot be used ({error.strerror}); name another", 2)
        _fail(f"cannot write what there is to say ({error.strerror})", 1)
    except MemoryError:
        _fail("out of memory; say with --memory how much there is, or try a smaller --family, --horizon or log", 1)
    sys.exit(0)


def _let_the_reader_leave() -> NoReturn:
    """Of our output: that is no failure, unless we were told to end."""
    exit_if_signalled()
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


def _fail(text: str, code: int) -> NoReturn:
    exit_if_signalled()  # it may only be what became of an interruption
    complain(text)
    sys.exit(code)
