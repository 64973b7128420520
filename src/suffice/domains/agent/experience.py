"""The episodes of an agent as a growing log, with one row per decision, as `record` writes it.

The column `adaptive_logger` records that the logger learned while it acted, so that its choices of actions are never
taken as evidence about states, wherever the log is learned from.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from suffice.data.alphabet import Value
from suffice.data.episodes import Episodes
from suffice.data.loading import Data, Reading, sources_of
from suffice.data.logs.sources import open_table
from suffice.data.logs.steps import StepColumns
from suffice.data.logs.writing import write_log
from suffice.data.streaming import MemoryBudget
from suffice.learning.adact_h import Settings
from suffice.models.column_choice import columns_chosen_by, read_for_learning
from suffice.models.held_out import read_like
from suffice.models.learn_options import LearnOptions
from suffice.models.log_options import LogOptions
from suffice.models.model import Model

ADAPTIVE = "adaptive_logger"
SOURCE = "the environment"


class Step:
    """The observation before a decision, its action, and its reward."""

    __slots__ = ("action", "observation", "reward")

    def __init__(self, observation: Any, action: Value, reward: float) -> None:
        self.observation, self.action, self.reward = observation, action, reward


class Experience:
    """All finished episodes of an agent, in the order in which they ended."""

    def __init__(self) -> None:
        self._steps = StepColumns(SOURCE)
        self._terminated: list[bool] = []
        self._truncated: list[bool] = []
        self.lengths: list[int] = []
        self.returns: list[float] = []
        self.purposes: list[str] = []
        self._table: pa.Table | None = None
        self._begun = 0  # episodes, finished or not

    def __len__(self) -> int:
        return len(self.lengths)

    def begin(self) -> int:
        """Return the number of a new episode, from which its random numbers are derived."""
        self._begun += 1
        return self._begun - 1

    def add(self, steps: list[Step], terminated: bool, purpose: str) -> None:
        """Add the steps of a finished episode."""
        number, last = len(self.lengths), len(steps) - 1
        for t, step in enumerate(steps):
            self._steps.add(number, t, (step.observation, step.action, step.reward))
            self._terminated.append(terminated and t == last)
            self._truncated.append(not terminated and t == last)
        self.lengths.append(len(steps))
        self.returns.append(sum(step.reward for step in steps))
        self.purposes.append(purpose)
        self._table = None

    def table(self, episodes: int | None = None) -> pa.Table:
        """Return the rows of all episodes, or of the first ones."""
        if self._table is None:
            table = self._steps.table()
            marks = {"terminated": self._terminated, "truncated": self._truncated}
            for name, values in marks.items():
                table = table.append_column(name, pa.array(values, pa.bool_()))
            self._table = table.append_column(ADAPTIVE, pa.array(np.ones(table.num_rows, bool)))
        return self._table if episodes is None else self._table.slice(0, sum(self.lengths[:episodes]))

    @classmethod
    def of(cls, table: pa.Table, purposes: list[str]) -> Experience:
        """Rebuild the experience from its table, as `table` returned it."""
        found, marks = cls(), ("terminated", "truncated", ADAPTIVE)
        found._steps = StepColumns.of(table.drop_columns(list(marks)), SOURCE)
        found._terminated, found._truncated = (table[name].to_pylist() for name in marks[:2])
        episode, reward = table["episode"].to_numpy(), table["reward"].to_pylist()
        found.lengths = np.bincount(episode, minlength=len(purposes)).tolist()
        ends = np.cumsum([0, *found.lengths]).tolist()
        found.returns = [sum(reward[begin:end]) for begin, end in pairwise(ends)]
        found.purposes, found._begun = list(purposes), len(purposes)
        return found


def log_tables(data: Data) -> list[pa.Table]:
    """Return the rows of logs to start from, so that an agent file can hold them."""
    return [_table_of(source) for source in sources_of(data)]


def _table_of(source: Any) -> pa.Table:
    if isinstance(source, Episodes):
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "log.parquet"
            write_log(source, file)
            return _table_of(file)
    opened = open_table(source)
    return pa.table({name: opened.column(name) for name in opened.types})


def read_experience(
    sources: Sequence[pa.Table],
    horizon: int | None,
    observations: Sequence[str] | str | None,
    like: Model | None,
    settings: Settings,
) -> Reading:
    """Read the episodes of an agent, and logs before them, with columns that are chosen as `learn` chooses them."""
    log = LogOptions(observations=None if like is not None else observations)
    how = log.read_options(None if like is None else like.encoder)
    how = how if like is None else read_like(how, like)
    room = MemoryBudget(settings.memory, settings.threads)
    chosen_by = columns_chosen_by(log, LearnOptions(), like)
    data = sources[0] if len(sources) == 1 else list(sources)
    read = read_for_learning(data, replace(how, horizon=None), room, settings, chosen_by, like)
    longest = read.here.horizon
    if horizon is not None and longest < horizon:
        return read._replace(episodes=read.here.padded(horizon))
    return read
