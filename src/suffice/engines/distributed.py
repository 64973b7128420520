"""Logs whose parts are held by several workers, and queries over them.

Each worker answers for its part, with integers or with sums that do not depend on their order. The combined answers are
bitwise the same for any number of workers and any division of the log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from functools import reduce
from itertools import pairwise
from typing import Any, Protocol, TypeVar

import numpy as np
import pyarrow as pa

from suffice.data.log import ExternalLog
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.episode_keys import EpisodeKeys
from suffice.data.logs.episode_sample import EpisodeSample, sample_of_parts
from suffice.data.logs.pieces import Extent, Pieces
from suffice.data.logs.reading import ReadOptions
from suffice.data.queries import Query
from suffice.data.report import ReadReport
from suffice.data.stored import SharedLetters
from suffice.data.streaming import (
    MemoryBudget,
    PieceSummary,
    options_of_pieces,
    padded,
    refuse_large_sample,
    report_on_all,
)
from suffice.engines.blocks import BlockEngine, Move
from suffice.engines.worker import EpisodeSubset, PartPosition, PartSummary, Shared, WorkerBehind, WorkerTask, narrowed
from suffice.kernels.array_types import Mask

T = TypeVar("T")
Progress = Callable[[float, int], None]


class WorkerPool(Protocol):
    """Workers, one for each part of a log."""

    watch: Callable[[int, int], None]  # progress callback: units done, and in total, of the current call

    def share(self, thing: Any) -> Shared:
        """Make an object available to all workers."""

    def each(self, call: str, arguments: Sequence[tuple[Any, ...] | None]) -> list[Any]:
        """Call a method of every worker with its own arguments; workers with None are left out."""

    def number(self) -> int:
        """Return a number that was not returned before."""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DistributedLog(ExternalLog):
    """A log whose parts are held by workers; implements `ExternalLog`."""

    pool: WorkerPool
    held: tuple[int, ...]  # episodes of each part
    agreed: tuple[Shared, ...]  # `PartPosition` of each part
    has_weights: bool
    has_lengths: bool
    has_groups: bool
    sizes: tuple[int, ...]  # selected episodes of each part
    some: tuple[Shared, ...]  # `EpisodeSubset` of each part
    number: int  # identifies this selection
    chosen: Mask | None = None  # [Σ held] the selection; None: all episodes
    all_ended: bool = False  # ignore lengths

    @property
    def weighted(self) -> bool:
        """Whether the episodes have weights."""
        return self.has_weights

    @property
    def censored(self) -> bool:
        """Whether some episodes were cut off before the horizon."""
        return self.has_lengths

    @property
    def grouped(self) -> bool:
        """Whether the episodes belong to groups."""
        return self.has_groups

    def ended(self) -> DistributedLog:
        """Return the log as if episodes that were cut off had ended there."""
        bits = None
        if self.chosen is not None:
            bits = [np.packbits(part) for part in np.split(self.chosen, np.cumsum(self.held)[:-1])]
        some = _some(self.pool, self.sizes, bits, all_ended=True)
        return replace(self, has_lengths=False, all_ended=True, some=some, number=self.pool.number())

    def run_query(self, query: Query[T]) -> T:
        """Run a query on all episodes."""
        return self.gather(query, -1, 0, ())

    def running(self) -> AbstractContextManager[BlockEngine]:
        """Return an engine at the first step of all episodes."""
        return nullcontext(BlockEngine(_DistributedWalk(self), self))

    def among(self, chosen: Mask) -> DistributedLog:
        """Return the log of the chosen episodes only."""
        if self.chosen is not None:  # `chosen` refers to the episodes selected before
            of_all = self.chosen.copy()
            of_all[of_all] = chosen
            chosen = of_all
        parts = np.split(chosen, np.cumsum(self.held)[:-1])
        sizes = tuple(int(np.count_nonzero(part)) for part in parts)
        some = _some(self.pool, sizes, [np.packbits(part) for part in parts], self.all_ended)
        number, n = self.pool.number(), sum(sizes)
        return replace(self, n=n, total=n, sizes=sizes, some=some, number=number, chosen=chosen)

    def watched(self, progress: Progress) -> Progress:
        """Return a progress callback for layers that also reports the workers' progress within a layer."""
        at = [0.0, 1, 0.0]  # layers done, number of layers, and the share of the current layer reported so far

        def layers(done: float, of: int) -> None:
            at[:] = done, of, 0.0
            progress(done, of)

        def within(done: int, of: int) -> None:
            at[2] = max(at[2], min(done / max(of, 1), 0.99))
            progress(at[0] + at[2], int(at[1]))

        self.pool.watch = within
        return layers

    def gather(self, query: Query[T], run: int, taken: int, moves: tuple[Shared, ...]) -> T:
        """Return the answer of all parts after `taken` steps; `moves` are all steps of the run.

        Workers that have taken fewer steps, because they were restarted, are asked again with all steps.
        """
        asked = self.pool.share(query)

        def task(part: int, since: int) -> tuple[WorkerTask]:
            return (WorkerTask(self.agreed[part], self.some[part], self.number, asked, run, since, moves[since:]),)

        filled = [size > 0 for size in self.sizes]
        tasks = [task(part, taken) if full else None for part, full in enumerate(filled)]
        answers = self.pool.each("answer", tasks)
        behind = [isinstance(answer, WorkerBehind) for answer in answers]
        if any(behind):
            again = self.pool.each("answer", [task(part, 0) if late else None for part, late in enumerate(behind)])
            answers = [new if late else old for old, new, late in zip(answers, again, behind, strict=True)]
        return query.combine([answer for answer, full in zip(answers, filled, strict=True) if full])


class _DistributedWalk:
    """Episodes on workers that move through an automaton; the steps are stored for workers that are restarted."""

    def __init__(self, log: DistributedLog) -> None:
        self._log, self._run = log, log.pool.number()
        self._moves: tuple[Shared, ...] = ()

    @property
    def answers(self) -> int:
        """Largest number of answers to a query that are in memory at a time: those of all workers, and their sum."""
        return len(self._log.sizes) + 1

    def step(self, move: Move, query: Query[T]) -> T:
        """Let all episodes take a step, and run a query on them."""
        self._moves = (*self._moves, self._log.pool.share(narrowed(move)))
        return self._log.gather(query, self._run, len(self._moves) - 1, self._moves)

    def run_query(self, query: Query[T]) -> T:
        """Run a query on the episodes at their current candidates."""
        return self._log.gather(query, self._run, len(self._moves), self._moves)


def cut_evenly(dataset: Dataset, workers: int) -> list[tuple[int, int]]:
    """Divide the units of a dataset into parts begin..end−1 of about equal size, none of them empty."""
    edges, units = np.cumsum([0, *(unit.values for unit in dataset.units)]), len(dataset.units)
    if workers >= units:
        return [(i, i + 1) for i in range(units)] or [(0, 0)]
    targets = edges[-1] * np.arange(1, workers) / workers
    nearest = [int(np.abs(edges - target).argmin()) for target in targets]
    return list(pairwise(sorted({0, units, *nearest})))


def read_distributed(
    dataset: Dataset, how: ReadOptions, room: MemoryBudget, pieces: Pieces, pool: WorkerPool, parts: int
) -> tuple[DistributedLog, ReadReport]:
    """Read a log in parts, each by its own worker."""
    how, rows, _ = _agree(dataset, how, room, pieces, pool, parts)
    answers: list[tuple[PartSummary | None, PieceSummary]] = pool.each("read", [(how, rows)] * parts)
    found = reduce(PieceSummary.combine, [part for _, part in answers])
    first = found.first()
    kept = [notes for notes, _ in answers if notes is not None]
    common = SharedLetters.of([notes.vocabulary for notes in kept])
    places = iter(common.places)
    agreed = tuple(
        pool.share(None if notes is None else PartPosition(how, rows, notes.digest, common.vocabulary, next(places)))
        for notes, _ in answers
    )
    held = tuple(0 if notes is None else notes.n for notes, _ in answers)
    log = DistributedLog(
        *common.vocabulary, kept[0].declared, how.horizon or 0, sum(held), sum(notes.total for notes in kept),
        pool, held, agreed, kept[0].weighted, any(notes.censored for notes in kept), kept[0].grouped, held,
        _some(pool, held, None), pool.number(),
    )  # fmt: skip
    return log, report_on_all(first, found, log, pieces, how)


def sample_distributed(
    dataset: Dataset, how: ReadOptions, room: MemoryBudget, pieces: Pieces, pool: WorkerPool, parts: int
) -> EpisodeSample:
    """Draw episodes of a log, each part of which is read by its own worker, with all columns."""
    how, rows, extent = _agree(dataset, how, room, pieces, pool, parts)
    refuse_large_sample(pieces, extent, room)
    return sample_of_parts(_DistributedParts(pool, parts, rows), pieces, how)


class _DistributedParts:
    """The pieces that workers read; implements `LogParts`."""

    def __init__(self, pool: WorkerPool, parts: int, rows: int) -> None:
        self._pool, self._parts, self._rows = pool, parts, rows
        self._pieces: list[int] = []  # of each worker

    def keys(self, how: ReadOptions) -> list[EpisodeKeys]:
        """Return the keys of the episodes of each piece."""
        answers: list[list[EpisodeKeys]] = self._pool.each("keys", [(how, self._rows)] * self._parts)
        self._pieces = [len(answer) for answer in answers]
        return [piece for answer in answers for piece in answer]

    def rows(self, how: ReadOptions, chosen: Sequence[Mask]) -> list[pa.Table]:
        """Return the rows of the chosen episodes of the pieces that have any."""
        ends = np.cumsum([0, *self._pieces])
        mine = [(how, self._rows, chosen[begin:end]) for begin, end in pairwise(ends)]
        return [table for answer in self._pool.each("rows", mine) for table in answer]


def _agree(
    dataset: Dataset, how: ReadOptions, room: MemoryBudget, pieces: Pieces, pool: WorkerPool, parts: int
) -> tuple[ReadOptions, int, Extent]:
    """Make a first pass over all parts; return how pieces are read, their number of rows, and the extent of the log."""
    pool.watch = room.progress
    extents: list[Extent] = pool.each("extent", [(False,)] * parts)
    if not (Extent.in_order(extents) and all(extent.ascending for extent in extents)):
        extents = pool.each("extent", [(True,)] * parts)
    extent = Extent.combine(extents, dataset.name)
    how = options_of_pieces(pieces, how, extent, room.memory)
    return how, padded(pieces, how, extent).rows, extent


def _some(
    pool: WorkerPool, sizes: Sequence[int], bits: Sequence[Any] | None, all_ended: bool = False
) -> tuple[Shared, ...]:
    """Share the selected episodes of each part with the workers."""
    first, found = 0, []
    for part, size in enumerate(sizes):
        found.append(pool.share(EpisodeSubset(first, np.zeros(0, np.uint8) if bits is None else bits[part], all_ended)))
        first += size
    return tuple(found)
