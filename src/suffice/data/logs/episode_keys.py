"""What identifies the episodes of a log: hashes of the content of all their columns, with weights and groups.

A hash depends on the values of an episode alone: not on its id, on its place in the log, or on how the log is divided
into pieces. So the same episodes are drawn wherever a log is stored, and can be found again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from suffice.data.content import text_hash
from suffice.data.encoding.columns import Columns
from suffice.data.encoding.tables import LogTable
from suffice.data.logs.placement import GridLayout
from suffice.kernels import columns as kernels
from suffice.kernels.array_types import Int64, UInt64


class EpisodeKeys(NamedTuple):
    """Hashes, weights and groups of the episodes of a log or of a part of it, in its order."""

    hashes: UInt64  # [N]
    weight: Int64 | None = None  # [N]
    group: UInt64 | None = None  # [N]

    @classmethod
    def joined(cls, parts: Sequence[EpisodeKeys]) -> EpisodeKeys:
        """Return the keys of all parts, one after the other."""
        parts = [part for part in parts if len(part.hashes)] or parts[:1]
        weight, group = ([getattr(part, name) for part in parts] for name in ("weight", "group"))
        return cls(
            np.concatenate([part.hashes for part in parts]),
            None if weight[0] is None else np.concatenate(weight),
            None if group[0] is None else np.concatenate(group),
        )


def episode_hashes(table: LogTable, columns: Columns, layout: GridLayout) -> UInt64:
    """Return a hash of the actions, rewards and observations of each episode, [N]."""
    found = np.zeros(layout.n, np.uint64)
    for place, name in enumerate((columns.action, columns.reward, *(columns.observations or ())), start=1):
        assert name is not None, "the log has actions and rewards"
        of_row = np.asarray(layout.select(_row_hashes(table, name)))
        found += kernels.add_hashes(of_row, layout.cell, layout.n, place)  # modulo 2**64
    return found


def is_number(kind: pa.DataType) -> bool:
    """Return whether a column has numbers."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _row_hashes(table: LogTable, name: str) -> UInt64:
    """Return a number for the value of each row, [rows]; equal values have the same."""
    if is_number(table.types[name]):  # as single precision, in which a log may store them
        numbers = _known(table, name).cast(pa.float64(), safe=False).to_numpy()
        with np.errstate(over="ignore"):  # numbers beyond single precision are infinite there
            single = numbers.astype(np.float32)
        single += np.float32(0)  # −0 is 0
        return np.asarray(single.view(np.uint32).astype(np.uint64))
    raw, distinct = table.distinct(name)
    return np.asarray(_text_hashes(distinct)[raw])


def _known(table: LogTable, name: str) -> pa.ChunkedArray:
    """Return a column; refuse missing values where there may be none."""
    return table.column(name) if table.may_miss(name) else table.complete(name)


def _text_hashes(values: pa.Array) -> UInt64:
    """Return a hash of each value as text."""
    try:
        text = values.cast(pa.large_string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return np.array([text_hash(str(value)) for value in values.to_pylist()], np.uint64)
    _, offsets, data = text.buffers()
    bounds = np.frombuffer(offsets, np.int64)[text.offset : text.offset + len(text) + 1]
    return np.asarray(kernels.hash_texts(bounds, np.frombuffer(data or b"", np.uint8)))
