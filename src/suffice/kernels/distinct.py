"""Compare one candidate with each of some states separately, to decide which of them are distinct."""

from __future__ import annotations

from suffice.kernels.comparing import compare_rows, tarone_threshold
from suffice.kernels.jit import jit


@jit
def compare_each(
    kind, row, n1, rows, sizes, asked, low, high, multiplicity, ln_delta, hint, evidence, event, threshold
):  # fmt: skip
    """Write the evidence, its event and a threshold for each state in `asked` to the last three arrays.

    Unlike in `compare_rows`, every state is compared until it is known whether it is distinct, and the evidence is
    exact where it is not. `hint` has the events to start with, those found last.
    """
    for q in range(sizes.size):
        if asked[q]:
            one = slice(q, q + 1)
            compare_rows(kind, row, n1, rows[one], sizes[one], low[one], high[one], evidence[one], hint[one])
            event[q] = hint[q]
            threshold[q] = high[q] if evidence[q] >= high[q] else low[q]
            if low[q] <= evidence[q] < high[q]:  # Tarone's correction decides
                threshold[q] = tarone_threshold(row, n1, rows[q], sizes[q], multiplicity, ln_delta)
