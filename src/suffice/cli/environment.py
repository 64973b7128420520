"""Preparation of the process before anything else is imported, so that commands work in odd environments.

Streams may be closed or have an encoding other than UTF-8, the width of the terminal may be nonsense, and the address
space may be limited to less than the libraries map when they are loaded.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import resource
import sys
from pathlib import Path

NARROWEST, WIDEST = 20, 1000  # columns of a terminal that are believed
LEAST_SPACE = 3 << 29  # bytes of address space that the compiler and the libraries need
NEARLY = 0.8  # share of the address space; when more is in use, failures are due to the limit


def prepare() -> str:
    """Make streams and variables usable; return why the program cannot run, or ""."""
    _open_streams()
    for name in ("COLUMNS", "LINES"):  # rich would wrap without end at width 0
        value = os.environ.get(name, "")
        if name in os.environ and not (value.isdecimal() and len(value) < 6 and NARROWEST <= int(value) <= WIDEST):
            del os.environ[name]
    limit = address_limit()
    if limit is None:
        return ""
    if limit < LEAST_SPACE:
        return (
            f"the address space is limited to {limit >> 20:,} MiB (ulimit -v), and at least {LEAST_SPACE >> 20:,} MiB "
            "are needed. Raise the limit; --memory limits what suffice learn uses."
        )
    # Each thread of a linear algebra library maps memory of its own; some hang if they do not get it.
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")
    # Other allocators of Arrow reserve a gibibyte at once; libraries that then get no memory fail or hang.
    os.environ.setdefault("ARROW_DEFAULT_MEMORY_POOL", "system")
    return ""


def address_limit() -> int | None:
    """Return the limit of the address space in bytes; None if there is none."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return None if limit == resource.RLIM_INFINITY else limit


def is_space_short() -> bool:
    """Return whether the process has used nearly all of a limited address space."""
    limit = address_limit()
    with contextlib.suppress(OSError, MemoryError):  # systems other than Linux, and no memory even for this
        peak = re.search(r"VmPeak:\s+(\d+) kB", Path("/proc/self/status").read_text())
        return limit is not None and peak is not None and 1024 * int(peak[1]) >= NEARLY * limit
    return limit is not None


def is_unicode(stream: object) -> bool:
    """Return whether a stream can show every character."""
    encoding = getattr(stream, "encoding", None)
    return encoding is None or encoding.lower().startswith("utf")


def _open_streams() -> None:
    """Replace closed streams, and escape what the encoding of an output lacks.

    A file that is opened while a stream is closed would get its number, and receive what libraries print there.
    """
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            os.fstat(number)
        except OSError:
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w" if number else "r", encoding="utf-8"))  # noqa: SIM115
        elif number and isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
