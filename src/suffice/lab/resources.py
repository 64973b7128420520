"""Measure CPU time and peak memory of a call or of another program (Linux)."""

from __future__ import annotations

import contextlib
import ctypes
import gc
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeVar

from suffice.errors import SufficeError

STATUS: Final = Path("/proc/self/status")
HIGH_WATER_MARK: Final = Path("/proc/self/clear_refs")

# Linux attributes the memory of the starting process to its child, so a small process starts the measured program.
STARTER: Final = """
import os, resource, sys
status = os.waitpid(os.posix_spawn(sys.argv[2], sys.argv[2:], os.environ), 0)[1]
usage = resource.getrusage(resource.RUSAGE_CHILDREN)
with open(sys.argv[1], "w") as file:
    print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024, file=file)
sys.exit(status != 0)
"""

T = TypeVar("T")


class ProgramError(SufficeError):
    """Another program failed; running it again may succeed."""


class ResourceUse(NamedTuple):
    """CPU time and peak memory of a run."""

    seconds: float  # of CPU time
    bytes: int  # peak memory above that before the call, or above that of an idle process


def cpu_time(run: Callable[[], T]) -> tuple[T, float]:
    """Return what a call returns, and its CPU seconds."""
    gc.collect()
    start = time.process_time()
    returned = run()
    return returned, time.process_time() - start


def measure(run: Callable[[], T]) -> tuple[T, ResourceUse]:
    """Return what a call returns, and the resources it used."""
    gc.collect()
    _return_freed_memory()
    before = _resident("VmRSS")
    HIGH_WATER_MARK.write_text("5")
    returned, seconds = cpu_time(run)
    return returned, ResourceUse(seconds, max(_resident("VmHWM") - before, 0))


def measure_command(command: Sequence[str], folder: Path) -> ResourceUse:
    """Run another program in a folder and return the resources it used."""
    with tempfile.NamedTemporaryFile("r") as usage:
        starter = [sys.executable, "-I", "-S", "-c", STARTER, usage.name, *command]
        done = subprocess.run(starter, cwd=folder, capture_output=True, text=True)
        if done.returncode:
            output = " ".join((done.stderr or done.stdout).split())
            raise ProgramError(f"{Path(command[0]).name} failed: {output[-200:] or 'no message'}")
        seconds, peak = Path(usage.name).read_text().split()
    return ResourceUse(float(seconds), int(peak))


def _return_freed_memory() -> None:
    """Return freed memory to the system; otherwise a run could reuse it, and seem to need none."""
    with contextlib.suppress(AttributeError, OSError):  # not the GNU C library
        ctypes.CDLL(None).malloc_trim(0)


def _resident(name: str) -> int:
    line = next(line for line in STATUS.read_text().splitlines() if line.startswith(name))
    return int(line.split()[1]) * 1024
