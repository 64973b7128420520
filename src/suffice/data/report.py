"""The report on reading a log: numbers of rows and episodes, columns, and notes on what is unusual."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa

from suffice.data.alphabet import PAD, STOP
from suffice.data.encoding.binning import Bins
from suffice.data.encoding.columns import Columns
from suffice.data.encoding.encoder import Encoder
from suffice.data.ends import NO_EARLY_ENDS, LogEnds
from suffice.kernels.array_types import Array, Float, Int64, UInt64

if TYPE_CHECKING:
    from suffice.data.episodes import Episodes


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
            share = f"{self.lost / max(self.total, 1e-300):.0%}" if math.isfinite(self.total) else "part"
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
        Smallest step of the log, if steps are whole numbers.
    lost
        Reward that the horizon cuts off.
    row_counts
        [N] rows of each episode in the log, before it is cut. None for logs that are read in parts.
    ends
        How the episodes of the whole log end, and whether that was assumed.
    keys
        [N] hashes of the content of the episodes, in columns that may not be read, if asked for.
    spans
        [N, 2] first and last step of each episode in the log, if it has a step column.

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
    row_counts: Int64 | None = None
    ends: LogEnds = NO_EARLY_ENDS
    keys: UInt64 | None = None
    spans: Array | None = None

    @property
    def columns(self) -> Columns:
        """The names of the columns by role."""
        return self.encoder.columns

    @property
    def bins(self) -> dict[str, Bins]:
        """The bins of each binned column."""
        return self.encoder.bins

    def select(self, part: slice | Int64, chosen: Episodes) -> ReadReport:
        """Restrict the report to some of the episodes; only `dropped` and notes on values describe the whole log.

        Parameters
        ----------
        part
            Episodes to select: a slice, or their numbers.
        chosen
            These episodes.

        Returns
        -------
        ReadReport
            The report on the selected episodes.
        """
        ids, chances, counts = self.ids, self.propensities, self.row_counts
        if ids is not None:
            ids = ids.take(pa.array(np.arange(len(ids))[part]))
        rows = chosen.lengths() if counts is None else counts[part]
        cut = int(np.count_nonzero(rows > self.horizon))
        report = replace(
            self,
            rows=int(rows.sum()),
            episodes=chosen.n,
            lengths=(int(rows.min()), float(np.median(rows)), int(rows.max())) if len(rows) else (0, 0.0, 0),
            cut=cut,
            padded=int(np.count_nonzero(rows < self.horizon)),
            ids=ids,
            propensities=None if chances is None else chances[:, part],
            row_counts=None if counts is None else rows,
            spans=None if self.spans is None else self.spans[part],
            **self._distinct(chosen),
        )
        return report._with_lost(self.lost._replace(episodes=cut))

    def resize(self, horizon: int, episodes: Episodes) -> ReadReport:
        """Change the horizon of the report.

        Parameters
        ----------
        horizon
            Decisions per episode.
        episodes
            The episodes before they are cut or padded.

        Returns
        -------
        ReadReport
            The report for this horizon; propensities are 1 at steps that were added.
        """
        chances, rows = self.propensities, episodes.lengths() if self.row_counts is None else self.row_counts
        if chances is not None:
            chances = chances[: horizon + 1]
            chances = np.pad(chances, ((0, horizon + 1 - len(chances)), (0, 0)), constant_values=1.0)
        rewards = np.abs(np.array(episodes.alphabet.rewards))[episodes.letters[:, 2]]
        lost = float(rewards[episodes.word[horizon + 1 :]].sum())
        cut = int(np.count_nonzero(rows > horizon))
        padded = int(np.count_nonzero(rows < horizon))
        report = replace(self, horizon=horizon, cut=cut, padded=padded, propensities=chances)
        return report._with_lost(CutReward(cut, self.lost.lost + lost, self.lost.total), self.horizon)

    def _with_lost(self, lost: CutReward, before: int | None = None) -> ReadReport:
        """Replace the reward that is cut off, also in the notes; `before` is the horizon of the notes so far."""
        outdated = set(self.lost.notes(self.horizon if before is None else before))
        notes = [note for note in self.notes if note not in outdated]
        return replace(self, lost=lost, notes=(*notes, *lost.notes(self.horizon)))

    def _distinct(self, episodes: Episodes) -> dict[str, Any]:
        """Count the distinct values of each column, and the distinct observations."""
        alphabet, letters = episodes.alphabet, episodes.compact().letters
        acts = letters[:, 0] > PAD
        codes = [code for code in np.unique(letters[:, 1]).tolist() if code > STOP]
        seen = [alphabet.observations[code - STOP - 1] for code in codes]
        values = {name: len({features[i] for features in seen}) for i, name in enumerate(alphabet.features)}
        values[self.columns.action or "action"] = len(np.unique(letters[acts, 0]))
        values[self.columns.reward or "reward"] = len(np.unique(letters[acts, 2]))
        by_column = {name: values.get(name, count) for name, count in self.values.items()}
        return {"values": by_column, "observations": len(seen)}
