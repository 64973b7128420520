"""Logs in many row groups, and workers in this process that can be lost, for tests of distributed logs."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import suffice
from suffice.data.loading import Data, refuse_for_workers
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.episode_sample import EpisodeSample
from suffice.data.logs.pieces import Pieces
from suffice.data.logs.reading import ReadOptions
from suffice.data.report import ReadReport
from suffice.data.streaming import MemoryBudget
from suffice.engines.distributed import DistributedLog, cut_evenly, read_distributed, sample_distributed
from suffice.engines.worker import Worker

Accident = Callable[[int, int], str]  # number of the call, part → lose the worker "before" or "after" the call, or ""


def scattered_log(
    folder: Path, domain: str = "t-maze", n: int = 200, rows: int = 31, files: int = 2, **options: Any
) -> Path:
    """Write a folder of Parquet files in small row groups, which divide episodes."""
    made = suffice.make(domain, options)
    horizon = made.default_horizon
    episodes = suffice.simulate(made.model(horizon), n=n, horizon=horizon, rng=np.random.default_rng(5))
    folder.mkdir()
    suffice.write_log(episodes, folder / "whole.parquet")
    table = pq.read_table(folder / "whole.parquet")
    (folder / "whole.parquet").unlink()
    write_files(table, folder, rows, files)
    return folder


def write_files(table: pa.Table, folder: Path, rows: int, files: int) -> None:
    """Write the rows of a table to files of about equal size."""
    for i, (begin, end) in enumerate(pairwise(np.linspace(0, len(table), files + 1).astype(int).tolist())):
        pq.write_table(table[begin:end], folder / f"part-{i}.parquet", row_group_size=rows)


class FakePool:
    """A `WorkerPool` in this process; arguments and answers are pickled as on a cluster."""

    def __init__(self, make: Callable[[int], Worker], parts: int, accident: Accident) -> None:
        self._make, self._accident, self._numbers, self._calls = make, accident, count(), count()
        self.workers = [make(part) for part in range(parts)]
        self.watch: Callable[[int, int], None] = lambda done, of: None

    def share(self, thing: Any) -> bytes:
        return pickle.dumps(thing)

    def number(self) -> int:
        return next(self._numbers)

    def each(self, call: str, arguments: Sequence[tuple[Any, ...] | None]) -> list[Any]:
        number = next(self._calls)
        return [None if mine is None else self._one(number, part, call, mine) for part, mine in enumerate(arguments)]

    def _one(self, number: int, part: int, call: str, mine: tuple[Any, ...]) -> Any:
        when = self._accident(number, part)
        if when == "after":  # the worker is lost after its work, and the call is repeated
            getattr(self.workers[part], call)(*mine)
        if when:
            self.workers[part] = self._make(part)
        return pickle.loads(pickle.dumps(getattr(self.workers[part], call)(*mine)))


@dataclass(frozen=True)
class Here:
    """An engine with workers in this process."""

    cuts: Callable[[Dataset], list[tuple[int, int]]]
    accident: Accident = lambda number, part: ""
    worker: type[Worker] = Worker

    @classmethod
    def of(cls, workers: int, accident: Accident = lambda number, part: "", worker: type[Worker] = Worker) -> Here:
        return cls(lambda dataset: cut_evenly(dataset, workers), accident, worker)

    def refuse(self, *logs: Data) -> None:
        refuse_for_workers(*logs)

    @contextmanager
    def reading(self) -> Iterator[HereReader]:
        yield HereReader(self)


@dataclass(frozen=True)
class HereReader:
    """Reads logs by workers in this process; implements `streaming.ExternalReader`."""

    engine: Here

    def __call__(self, dataset: Dataset, how: ReadOptions, room: MemoryBudget) -> tuple[DistributedLog, ReadReport]:
        pieces, pool, parts = self._hire(dataset, how)
        return read_distributed(dataset, how, room, pieces, pool, parts)

    def sample(self, dataset: Dataset, how: ReadOptions, room: MemoryBudget) -> EpisodeSample:
        pieces, pool, parts = self._hire(dataset, how)
        return sample_distributed(dataset, how, room, pieces, pool, parts)

    def _hire(self, dataset: Dataset, how: ReadOptions) -> tuple[Pieces, FakePool, int]:
        cuts, pieces = self.engine.cuts(dataset), Pieces.of(dataset, how, 64)

        def make(part: int) -> Worker:
            return self.engine.worker(pieces, *cuts[part], 1 + part % 2, pickle.loads)

        return pieces, FakePool(make, len(cuts), self.engine.accident), len(cuts)
