"""Episodes whose rows are divided between several logs, which are refused.

Equal ids in two logs are two episodes, because many logs count from 0. If the steps of one follow those of the other,
they are parts of one episode, and learning from the parts would be wrong.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from suffice.data.report import ReadReport
from suffice.errors import LogError
from suffice.kernels.array_types import Array, Int64, Mask

COUNTED_FROM = (0, 1)  # first steps of logs that count the steps of whole episodes


def refuse_divided(reports: Sequence[ReadReport]) -> None:
    """Refuse logs of which one continues episodes of another."""
    for i, later in enumerate(reports):
        for other in reports[:i]:
            _refuse_pair(other, later)


def _refuse_pair(one: ReadReport, other: ReadReport) -> None:
    if one.spans is None or other.spans is None or (one.first_step is None) != (other.first_step is None):
        return  # counts and times cannot be compared
    here = pc.index_in(pc.cast(other.ids, pa.string()), pc.cast(one.ids, pa.string()))
    there: Int64 = np.flatnonzero(here.is_valid().to_numpy(zero_copy_only=False))
    if not len(there):
        return
    spans = one.spans[here.drop_null().to_numpy()], other.spans[there]
    for first, second, begin in ((*spans, other.first_step), (*spans[::-1], one.first_step)):
        divided = _continues(first, second, begin)
        if divided.any():
            at = int(np.argmax(divided))
            raise LogError(
                f"episode {other.ids[int(there[at])].as_py()!r} is divided between two logs: one has its steps to "
                f"{first[at, 1]}, another those from {second[at, 0]} ({np.count_nonzero(divided):,} such episodes). "
                "Put all rows of an episode into one file, or give different episodes different ids."
            )


def _continues(first: Array, second: Array, begin: int | None) -> Mask:
    """Return which episodes, of spans [n, 2] in two logs, are continued in the second, whose steps begin with `begin`.

    An episode that begins where all do, with 0 or 1, may be whole; then all must seem to be continued.
    """
    after = np.asarray(second[:, 0] > first[:, 1])
    if begin in COUNTED_FROM and not after.all():
        return np.asarray(after & (second[:, 0] != begin))
    return after
