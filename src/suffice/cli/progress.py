"""While it runs: progress on stderr, and only to a terminal, for what takes longer than half a second."""

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

PROGRESS_DELAY = 0.5  # seconds: what is done by then never flashes up
FOR_EVER = 1e9  # seconds: rates are means of all of it, since layers and runs differ


@contextmanager
def waiting(text: str) -> Iterator[None]:
    """A spinner and the time so far, if somebody is looking."""
    with progress_bar(text, ""):
        yield


@contextmanager
def progress_bar(text: str, unit: str) -> Iterator[Callable[[float, int], None]]:
    """A bar with the rate in units a second and the time left, if somebody is looking; a spinner until it is told."""
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
        bar.update(task, completed=done, total=of or None)  # None: as before, for what is not known yet

    try:
        yield update
    finally:
        late.cancel()
        late.join()  # it may have just begun
        if bar.live.is_started:
            bar.stop()


def _bar(unit: str) -> Progress:
    """Nothing here moves before it is started."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn
    from rich.table import Column
    from rich.text import Text

    class Figures(ProgressColumn):
        """Share, rate, time so far and time left, as far as they are known."""

        def render(self, task: Task) -> Text:
            return Text(_figures(task, unit))

    told = (SpinnerColumn(), TextColumn("{task.description}", markup=False))
    figures = Figures(Column(no_wrap=True))
    columns = (*told, BarColumn(bar_width=24), figures) if unit else (*told, figures)
    return Progress(
        *columns,
        console=Console(stderr=True),
        transient=True,
        redirect_stdout=False,  # results go where they went
        speed_estimate_period=FOR_EVER,
    )


def _figures(task: Task, unit: str) -> str:
    elapsed, rate = _clock(task.elapsed or 0.0), task.speed
    if task.total is None:
        return elapsed
    if not rate or task.remaining is None:  # known from the second report on: what was there before took no time
        return f"{task.percentage:3.0f}% · {elapsed}"
    return f"{task.percentage:3.0f}% · {_short(rate)} {unit}/s · {elapsed} · {_clock(task.remaining / rate)} left"


def _short(number: float) -> str:
    """To three digits, with a letter for thousands and millions."""
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:.3g}{letter}"
    return f"{number:.2g}" if number < 10 else f"{number:.0f}"


def _clock(seconds: float) -> str:
    """Hours only where there are some."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def peak_bytes() -> int:
    """Peak memory of this process."""
    import re
    import resource
    from pathlib import Path

    status = Path("/proc/self/status")
    if status.exists() and (found := re.search(r"VmHWM:\s+(\d+) kB", status.read_text())):
        return int(found[1]) * 1024  # what is asked for below begins with the size of whoever started the process
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
