"""How a program ends when a person or a scheduler tells it to: at once, with one line, and nothing half written.

An interruption is an exception wherever the program happens to be, and not everything there lets it through. numpy may
make another one of it; the compiler, when it calls back, cannot raise it, and goes on or fails later. So what counts is
the signal, not what became of it.
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

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # of people, schedulers and terminals
_came: list[int] = []  # those that did
_wrote = Event()  # whether there is a file that was not there before


@contextmanager
def exiting_on_signals() -> Iterator[None]:
    """End this process if such a signal comes during the block, unless whoever started it has it ignored."""
    before = {number: signal.getsignal(number) for number in ENDINGS}
    heard = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    complain_of_it = sys.unraisablehook
    _wrote.clear()

    def complain(unraisable: sys.UnraisableHookArgs) -> None:
        if not (_came and issubclass(unraisable.exc_type, KeyboardInterrupt | SystemExit)):  # which will be heeded
            complain_of_it(unraisable)

    for number in heard:
        signal.signal(number, _end)
    sys.unraisablehook = complain
    try:
        yield
    except BaseException as error:
        if _came and not (isinstance(error, SystemExit) and not error.code):  # it was done before it was heard
            _leave(_came[0], error)
        raise
    finally:
        _came.clear()
        sys.unraisablehook = complain_of_it
        for number, handler in heard.items():
            signal.signal(number, handler)


def exit_if_signalled() -> None:
    """End now if that was told and went unheard; to be called from time to time while work goes on."""
    if _came and current_thread() is main_thread():
        _end(_came[0])


@contextmanager
def if_interrupted(told: str) -> Iterator[None]:
    """What whoever interrupts the block is told; of blocks within blocks, the innermost counts."""
    try:
        yield
    except BaseException as error:
        error.add_note(_Note(told))
        raise


def note_written() -> None:
    """From now on whoever interrupts is not told that nothing was written."""
    _wrote.set()


def is_kept_in(folder: Path | str) -> str:
    """To be told where nothing is lost."""
    return f"what is done is kept in {folder}, and the same command goes on"


class _Note(str):
    """A note of ours."""


def _end(number: int, _: FrameType | None = None) -> NoReturn:
    _came.append(number)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _leave(number: int, error: BaseException) -> NoReturn:
    """Without waiting for threads: an interruption can leave them a lock of the compiler that nobody frees."""
    for another in ENDINGS:
        signal.signal(another, signal.SIG_IGN)
    usual = "" if _wrote.is_set() else "; nothing was written"
    told = next((f"; {note}" for note in getattr(error, "__notes__", ()) if isinstance(note, _Note)), usual)
    with suppress(OSError, ValueError):  # who reads it may have been interrupted too
        if number == signal.SIGINT and sys.stderr is not None:
            print(f"suffice: interrupted{visible(told)}", file=sys.stderr, flush=True)
    os._exit(128 + number)
