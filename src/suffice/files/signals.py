"""Signal handling that exits promptly, with one line, leaving no partial files.

A signal raises an exception at an arbitrary place, and not all code passes it on. numpy may convert it to another
exception; the compiler cannot raise it in a callback, and continues or fails later. So this module records the signal
and acts on it whatever became of the exception.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Event, current_thread, main_thread
from types import FrameType
from typing import NoReturn

from suffice.errors import visible

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # from users, schedulers and closed terminals
_received: list[int] = []  # signals received so far
_wrote = Event()  # whether a file was written


@contextmanager
def exiting_on_signals() -> Iterator[None]:
    """Exit the process if one of `ENDINGS` is received in the block, unless the parent process ignores the signal."""
    before = {number: signal.getsignal(number) for number in ENDINGS}
    handled = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    previous_hook = sys.unraisablehook
    _wrote.clear()

    def report(unraisable: sys.UnraisableHookArgs) -> None:
        if not (_received and issubclass(unraisable.exc_type, KeyboardInterrupt | SystemExit)):  # handled below
            previous_hook(unraisable)

    for number in handled:
        signal.signal(number, _end)
    sys.unraisablehook = report
    try:
        yield
    except BaseException as error:
        finished = isinstance(error, SystemExit) and not error.code  # the command ended before it saw the signal
        if _received and not finished:
            _leave(_received[0], error)
        raise
    finally:
        _received.clear()
        sys.unraisablehook = previous_hook
        for number, handler in handled.items():
            signal.signal(number, handler)


def exit_if_signalled() -> None:
    """Exit if a signal was received but its exception was lost; to be called regularly during long work."""
    if _received and current_thread() is main_thread():
        _end(_received[0])


@contextmanager
def if_interrupted(message: str) -> Iterator[None]:
    """Print a message if the block is interrupted; of nested blocks, that of the innermost."""
    try:
        yield
    except BaseException as error:
        error.add_note(_Note(message))
        raise


def note_written() -> None:
    """Record that a file was written, so that an interruption does not claim the opposite."""
    _wrote.set()


def resume_message(folder: Path | str, stored: str = "checkpoints") -> str:
    """Return the message for a run that can be continued."""
    return f"{stored} are stored in {folder}; run the same command again to continue"


class _Note(str):
    """A message of `if_interrupted`, attached to an exception."""


def _end(number: int, _: FrameType | None = None) -> NoReturn:
    _received.append(number)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _leave(number: int, error: BaseException) -> NoReturn:
    """Exit without waiting for threads, which may be blocked by a lock of the compiler that is never released."""
    for another in ENDINGS:
        signal.signal(another, signal.SIG_IGN)
    default = "" if _wrote.is_set() else "; nothing was written"
    message = next((f"; {note}" for note in getattr(error, "__notes__", ()) if isinstance(note, _Note)), default)
    with suppress(OSError, ValueError):  # the reader of stderr may have been interrupted too
        if number == signal.SIGINT and sys.stderr is not None:
            print(f"suffice: interrupted{visible(message)}", file=sys.stderr, flush=True)
    os._exit(128 + number)
