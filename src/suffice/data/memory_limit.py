"""The memory that this process may take, for tables in proportion to an automaton.

Learning divides its memory itself (`Settings.memory`). Everything that is done with a model afterwards (plans,
evaluations, pages, pictures) asks `require_memory` before it allocates a large table.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path

from suffice.errors import MemoryLimitError, SettingsError, gigabytes, is_whole, parameter, spelled

LEAST_MEMORY = 1_000_000  # bytes; a smaller number without a unit is probably meant in another unit
SMALL = 16 << 20  # bytes of a table that is never refused
_limit: ContextVar[int | None] = ContextVar("memory_limit", default=None)


def half_of_memory() -> int:
    """Return half of the machine's memory, in bytes."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2


@contextlib.contextmanager
def limit_memory(size: int | str | None) -> Iterator[None]:
    """Limit the memory that the process takes for plans, evaluations, pages and pictures, within a `with` block.

    Parameters
    ----------
    size
        Memory of the whole process, in bytes or as text such as "4GB". None leaves the limit as it is, which is half of
        the machine's memory at first.

    Yields
    ------
    None
        Within the block, tables that do not fit are refused with a `MemoryLimitError` before they are allocated.

    Examples
    --------
    >>> with suffice.limit_memory("2GB"):
    ...     model.explore("corridor.html").name
    'corridor.html'
    """
    with within_memory(_limit.get() if size is None else memory_bytes(size)):
        yield


@contextlib.contextmanager
def within_memory(size: int | None) -> Iterator[None]:
    """Limit the memory to a number of bytes that was checked before; see `limit_memory`."""
    token = _limit.set(size)
    try:
        yield
    finally:
        _limit.reset(token)


def keep_to_memory(size: int | str | None) -> None:
    """Limit the memory for the rest of the surrounding `limit_memory` block; None leaves the limit as it is."""
    if size is not None:
        _limit.set(memory_bytes(size))


def memory_limit() -> int:
    """Return the bytes that the process may take: what `limit_memory` says, or half of the machine's memory."""
    return _limit.get() or half_of_memory()


def require_memory(needed: int, what: str, fix: str = "") -> None:
    """Refuse a table before it is allocated, if it does not fit into the memory that the process may still take.

    Parameters
    ----------
    needed
        Bytes of the table.
    what
        The table, as the subject of the error.
    fix
        What else helps besides more memory, such as "evaluate on fewer episodes".
    """
    if needed <= SMALL:
        return
    limit, used = memory_limit(), resident_bytes()
    if used + needed > limit:
        raised = spelled("Raise the limit with suffice.limit_memory", "Raise --memory") + (f", or {fix}" if fix else "")
        raise MemoryLimitError(
            f"{what} needs about {gigabytes(needed)} beside the {gigabytes(used)} that are in use, more than the "
            f"{gigabytes(limit)} that the process may take. {raised}."
        )


def resident_bytes() -> int:
    """Return the bytes of this process that are in memory now; at most, where only the peak is known."""
    with contextlib.suppress(OSError):
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def memory_bytes(size: int | str) -> int:
    """Turn a size such as "4GB" or "500 MiB" into bytes.

    Parameters
    ----------
    size
        Number of bytes, or text with a unit: KB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (powers of 1024).

    Returns
    -------
    int
        The size in bytes.

    Examples
    --------
    >>> from suffice.data.memory_limit import memory_bytes
    >>> memory_bytes("4GB"), memory_bytes("1.5 MiB")
    (4000000000, 1572864)
    """
    if not isinstance(size, str):
        if isinstance(size, bool) or not is_whole(size) or size < 1:
            raise SettingsError(
                f"{parameter('memory', size)} is not a number of bytes. Write it like '500MB' or '4GB'."
            )
        if size < LEAST_MEMORY:
            raise SettingsError(
                f"{parameter('memory', size)} is {size:,} bytes, which is too little. Write it like '500MB' or '4GB'."
            )
        return int(size)
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(I?)B?", size.strip().upper())
    if not found:
        raise SettingsError(f"{parameter('memory', size)} is not a size. Write it like 500MB or 4GB.")
    number, unit, binary = found.groups()
    total = int(float(number) * (1024 if binary else 1000) ** " KMGT".index(unit or " "))
    if total <= 0 or (not unit and total < LEAST_MEMORY):
        raise SettingsError(
            f"{parameter('memory', size)} is {total:,} bytes, which is too little. Write it like 500MB or 4GB."
        )
    return total
