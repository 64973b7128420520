"""How the episodes of a log end, by all its columns, before it has an alphabet.

The rule is that of `data.ends`; numbers are compared by their quarters. It is applied before columns are chosen:
whether episodes end or are cut off must not depend on the choice, and an end is among the outcomes by which columns are
chosen.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from suffice.data.columnar import ColumnarLog, LoggedColumn
from suffice.data.ends import FEWEST_EPISODES, MOST_CELLS, LogEnds, association, dependence_of, judged_by
from suffice.kernels.array_types import Codes, Int64, Mask

RANGES = 4  # of a column of numbers


def decide_columnar_ends(log: ColumnarLog, ends: LogEnds) -> tuple[ColumnarLog, LogEnds]:
    """Decide how episodes end whose lengths are noted as if all shorter ones were cut off.

    Parameters
    ----------
    log
        The log, or a sample of its episodes.
    ends
        The numbers of shorter episodes of the whole log.

    Returns
    -------
    tuple
        The log, without lengths if its episodes have ended, and what was decided.
    """
    dependence = dependence_of(log.base)
    if log.base.total < FEWEST_EPISODES * dependence:
        decided = LogEnds("terminal", True, ends.shorter)
    else:
        decided = judged_by(_predictors(log, dependence), ends.shorter, ends.cut_off)
    return (replace(log, base=log.base.ended()) if decided.kind == "terminal" else log), decided


def _predictors(log: ColumnarLog, dependence: float) -> dict[str, float]:
    """Return how clearly each column, the action and the reward predict where episodes stop."""
    decides = log.decides
    found = {column.name: _predicts(log, *_codes(column, decides), dependence) for column in log.columns}
    found["action"] = _predicts(log, log.action[1:], log.base.alphabet.n_actions, dependence)
    found["reward"] = _predicts(log, log.reward[1:], len(log.base.alphabet.rewards), dependence)
    return found


def _codes(column: LoggedColumn, decides: Mask) -> tuple[Codes, int]:
    """Return the values of a column, or the ranges of its numbers, and how many there are."""
    if column.codes is not None:
        return column.codes, len(column.values)
    assert column.numbers is not None, "a column has codes or numbers"
    numbers = column.numbers[decides]
    edges = np.quantile(numbers[numbers > -np.inf], np.arange(1, RANGES) / RANGES)
    codes = np.searchsorted(edges, column.numbers, side="right") + 1
    return np.where(column.numbers == -np.inf, 0, codes).astype(np.uint8), RANGES + 1


def _predicts(log: ColumnarLog, codes: Codes, size: int, dependence: float) -> float:
    """Return how clearly values at the last decision, [H, N], predict that it is the last, before the horizon."""
    steps = max(1, min(log.horizon - 1, MOST_CELLS // (2 * size)))
    decides = log.decides[:steps]
    decisions: Int64 = log.decides.sum(axis=0, dtype=np.int64)
    step, episode = np.nonzero(decides)
    cell = (step * size + codes[step, episode]) * 2 + (decisions[episode] == step + 1)
    times = None if log.base.weight is None else log.base.weight[episode]
    counts = np.bincount(cell, times, steps * size * 2).astype(np.int64)
    return association(counts.reshape(steps, size, 2), dependence)
