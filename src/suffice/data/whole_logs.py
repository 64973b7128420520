"""Reading logs that are needed as a whole, within the memory that the process may take."""

from __future__ import annotations

from dataclasses import replace

from suffice.data.encoding.columns import text_columns
from suffice.data.episodes import Episodes
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.placement import GridTooLargeError
from suffice.data.logs.reading import ReadOptions, read_as
from suffice.data.memory_limit import memory_limit, require_memory, resident_bytes
from suffice.data.report import ReadReport
from suffice.data.streaming import BYTES_A_CELL, whole_bytes
from suffice.errors import MemoryLimitError, spelled

FIX = "use a part of the log"


def read_whole(source: object, how: ReadOptions) -> tuple[Episodes, ReadReport]:
    """Read a log into memory; refuse one that does not fit (`memory_limit`) before it is read.

    Only files that are read in pieces are estimated: other sources are in memory already, or small.
    """
    needed = require_whole(source, how)
    if needed is None:
        return read_as(source, how)
    free = max(memory_limit() - resident_bytes(), needed)
    try:
        return read_as(source, replace(how, room=free // BYTES_A_CELL))
    except GridTooLargeError as error:
        raised = spelled("raise the limit with suffice.limit_memory", "raise --memory")
        why = str(error).rstrip(".")
        raise MemoryLimitError(f"{why}. {FIX.capitalize()} with shorter episodes, or {raised}.") from error


def require_whole(source: object, how: ReadOptions) -> int | None:
    """Refuse a log that does not fit into memory as a whole; return the bytes it needs, None if it is not a file."""
    dataset = Dataset.of(source, text_columns(how.encoder.columns, how.schema))
    if dataset is None:
        return None
    needed = whole_bytes(dataset)
    require_memory(needed, f"{dataset.name}: reading this log as a whole", FIX)
    return needed
