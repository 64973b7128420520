"""The report on reading a log: numbers of rows and episodes, columns, and notes on what is unusual."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from suffice.data.encoding.binning import Bins
from suffice.data.encoding.columns import Columns
from suffice.data.encoding.encoder import Encoder
from suffice.kernels.array_types import Float, Int64


class CutReward(NamedTuple):
    """The reward that is lost because a horizon cuts episodes."""

    episodes: int = 0  # that are cut
    lost: float = 0.0  # sum of absolute rewards after the horizon
    total: float = 0.0  # sum of absolute rewards

    def combine(self, other: CutReward) -> CutReward:
        """Add up two pieces of a log."""
        return CutReward(self.episodes + other.episodes, self.lost + other.lost, self.total + other.total)

    def notes(self, horizon: int) -> Iterator[str]:
        """Yield a note if any episode is cut."""
        if self.episodes:
            share = f"{self.lost / max(self.total, 1e-300):.0%}"
            yield f"{self.episodes:,} episodes are cut to {horizon} decisions, which discards {share} of all reward"


NO_CUT = CutReward()


@dataclass(frozen=True, slots=True)
class ReadReport:
    """What happened while a log was read.

    Attributes
    ----------
    rows
        Rows of the log, each a decision.
    episodes
        Episodes that were not dropped, each counted once regardless of its weight.
    horizon
        Decisions per episode.
    lengths
        Shortest, median and longest episode of the log, in rows.
    sorted
        Whether the rows were out of order and had to be sorted.
    cut, padded, dropped
        Episodes longer than the horizon, shorter than the horizon, and truncated ones that were left out.
    values
        Number of distinct values of each action, observation and reward column.
    observations
        Number of distinct whole observations.
    encoder
        Columns by role, and the bins of binned columns.
    notes
        Sentences about what a user may want to change.
    ids
        [N] ids of the episodes, an Arrow array.
    propensities
        [H+1, N] probability of each logged action, if the log has such a column.
    first_step
        0 or 1, if the log numbers its steps.
    lost
        Reward that the horizon cuts off.

    Examples
    --------
    >>> report = suffice.read_log("log.parquet").report
    >>> report.rows, report.episodes, report.lengths
    (1500, 300, (5, 5.0, 5))
    >>> report.values
    {'action': 2, 'row': 2, 'column': 5, 'guard': 2, 'reward': 2}
    """

    rows: int
    episodes: int
    horizon: int
    lengths: tuple[int, float, int]
    sorted: bool
    cut: int
    padded: int
    dropped: int
    values: Mapping[str, int]
    observations: int
    encoder: Encoder
    notes: tuple[str, ...]
    ids: Any = None
    propensities: Float | None = None
    first_step: int | None = None
    lost: CutReward = NO_CUT

    @property
    def columns(self) -> Columns:
        """The names of the columns by role."""
        return self.encoder.columns

    @property
    def bins(self) -> dict[str, Bins]:
        """The bins of each binned column."""
        return self.encoder.bins

    def select(self, part: slice | Int64) -> ReadReport:
        """Restrict `ids` and `propensities` to some of the episodes; the rest describes the whole log.

        Parameters
        ----------
        part
            Episodes to select: a slice, or their numbers.

        Returns
        -------
        ReadReport
            The report with the ids and probabilities of the selected episodes.
        """
        ids, chances = self.ids, self.propensities
        if ids is not None:
            ids = ids.take(pa.array(np.arange(len(ids))[part]))
        return replace(self, ids=ids, propensities=None if chances is None else chances[:, part])

    def resize(self, horizon: int) -> ReadReport:
        """Cut or pad `propensities` to a horizon; the rest describes the log as it was read.

        Parameters
        ----------
        horizon
            Decisions per episode.

        Returns
        -------
        ReadReport
            The report with probabilities for this horizon; 1 at steps that were added.
        """
        if self.propensities is None:
            return self
        chances = self.propensities[: horizon + 1]
        missing = ((0, horizon + 1 - len(chances)), (0, 0))
        return replace(self, propensities=np.pad(chances, missing, constant_values=1.0))
