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
from contextlib import contextmanager
from pathlib import Path
from threading import current_thread, main_thread
from types import FrameType
from typing import NoReturn

from suffice.errors import visible

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)  # of people, schedulers and terminals
_told: list[int] = []  # those that came


@contextmanager
def ending_when_told() -> Iterator[None]:
    """Leave the program if such a signal comes during the block, unless whoever started it has it ignored."""
    before = {number: signal.getsignal(number) for number in ENDINGS}
    heard = {number: handler for number, handler in before.items() if handler not in (signal.SIG_IGN, None)}
    for number in heard:
        signal.signal(number, _end)
    complaining, sys.unraisablehook = sys.unraisablehook, _complain_of_others
    try:
        yield
    except BaseException as error:
        if _told:
            _leave(_told[0], error)
        raise
    finally:
        _told.clear()
        sys.unraisablehook = complaining
        for number, handler in heard.items():
            signal.signal(number, handler)


def heed() -> None:
    """End now if that was told and went unheard; to be called from time to time while work goes on."""
    if _told and current_thread() is main_thread():
        _end(_told[0])


@contextmanager
def kept_in(folder: Path | str) -> Iterator[None]:
    """Who interrupts the block is told that nothing is lost."""
    try:
        yield
    except BaseException as error:
        error.add_note(f"what is done is kept in {folder}, and the same command goes on")
        raise


def _end(number: int, _: FrameType | None = None) -> NoReturn:
    _told.append(number)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def _complain_of_others(unraisable: sys.UnraisableHookArgs) -> None:
    """Of what could not be raised; an interruption will still be heeded."""
    if not (_told and issubclass(unraisable.exc_type, KeyboardInterrupt | SystemExit)):
        sys.__unraisablehook__(unraisable)


def _leave(number: int, error: BaseException) -> NoReturn:
    """Without waiting for threads: an interruption can leave them a lock of the compiler that nobody frees."""
    for another in ENDINGS:
        signal.signal(another, signal.SIG_IGN)
    if number == signal.SIGINT:
        told = "; ".join(getattr(error, "__notes__", ())) or "nothing was written"
        print(f"suffice: interrupted; {visible(told)}", file=sys.stderr)
    sys.stderr.flush()
    os._exit(128 + number)
