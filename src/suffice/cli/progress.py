"""Progress bars on stderr, only on a terminal and for work that takes longer than half a second."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Timer
from typing import TYPE_CHECKING

from suffice.files.signals import exit_if_signalled

if TYPE_CHECKING:
    from rich.progress import Progress, Task

PROGRESS_DELAY = 0.5  # seconds before a bar appears, so that short work shows none
WHOLE_RUN = 1e9  # seconds: rates are averages of the whole run, because layers and runs differ


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """Show a spinner and the elapsed time while the block runs, if stderr is a terminal."""
    with progress_bar(text, ""):
        yield


@contextmanager
def progress_bar(text: str, unit: str) -> Iterator[Callable[[float, int], None]]:
    """Show a bar with rate and remaining time while the block runs, if stderr is a terminal; first a spinner."""
    if not sys.stderr.isatty() or os.environ.get("TERM") == "dumb":
        yield lambda done, of: exit_if_signalled()
        return
    bar = _bar(unit)
    task = bar.add_task(text, total=None)
    late = Timer(PROGRESS_DELAY, bar.start)
    late.daemon = True
    late.start()

    def update(done: float, of: int) -> None:
        exit_if_signalled()
        bar.update(task, completed=done, total=of or None)  # None: the total is not known yet

    try:
        yield update
    finally:
        late.cancel()
        late.join()  # it may be starting the bar
        if bar.live.is_started:
            bar.stop()


def _bar(unit: str) -> Progress:
    """Build a progress bar that is not started yet."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn
    from rich.table import Column
    from rich.text import Text

    class Figures(ProgressColumn):
        """Column with share, rate, elapsed and remaining time, as far as they are known."""

        def render(self, task: Task) -> Text:
            return Text(_figures(task, unit))

    start = (SpinnerColumn(), TextColumn("{task.description}", markup=False))
    figures = Figures(Column(no_wrap=True))
    columns = (*start, BarColumn(bar_width=24), figures) if unit else (*start, figures)
    return Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,  # results still go to stdout
        speed_estimate_period=WHOLE_RUN,
    )


def _figures(task: Task, unit: str) -> str:
    elapsed, rate = _clock(task.elapsed or 0.0), task.speed
    if task.total is None:
        return elapsed
    if not rate or task.remaining is None:  # the rate is known from the second report on
        return f"{task.percentage:3.0f}% · {elapsed}"
    return f"{task.percentage:3.0f}% · {_short(rate)} {unit}/s · {elapsed} · {_clock(task.remaining / rate)} left"


def _short(number: float) -> str:
    """Format a number with three digits, and a letter for thousands, millions or billions."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.2g}" if number < 10 else f"{number:.0f}"


def _clock(seconds: float) -> str:
    """Format seconds as minutes and seconds, with hours if needed."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def peak_bytes() -> int:
    """Return the peak memory of this process in bytes."""
    import re
    import resource
    from pathlib import Path

    status = Path("/proc/self/status")
    if status.exists() and (found := re.search(r"VmHWM:\s+(\d+) kB", status.read_text())):
        return int(found[1]) * 1024  # getrusage below includes the size of the parent process
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
