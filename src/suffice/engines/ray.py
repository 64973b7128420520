"""Engine that runs workers on a Ray cluster.

If a worker dies (its process is killed, or its machine is lost), Ray restarts it on any remaining machine and repeats
the call that was not answered. The new worker knows only which part it has; `worker.Worker` reads the part again and
takes all steps before it answers. A worker that dies repeatedly ends the run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count, zip_longest
from typing import Any, NamedTuple

import pyarrow as pa

from suffice.data.loading import Data, refuse_for_workers
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.episode_sample import EpisodeSample
from suffice.data.logs.pieces import Pieces
from suffice.data.logs.reading import ReadOptions
from suffice.data.report import ReadReport
from suffice.data.streaming import MemoryBudget
from suffice.engines.distributed import DistributedLog, cut_evenly, read_distributed, sample_distributed
from suffice.engines.engine import EngineOptions
from suffice.engines.ray_cluster import connect, import_ray, reason_of
from suffice.engines.worker import Shared, Worker
from suffice.errors import (
    EngineError,
    SettingsError,
    SufficeError,
    names_options,
    naming_options,
    parameter,
)
from suffice.version import __version__

AGAIN = 3  # times that a call is repeated after its worker died
LITTLE = 1 << 16  # bytes up to which an object is sent with every call instead of being fetched
PIECE_ROWS = 1 << 18  # largest number of rows of a piece, because a machine may have many workers
WATCHED = 0.5  # seconds between progress queries
MOST_PER_CPU = 8  # workers for each CPU; more would only wait for each other, and take minutes to start


@dataclass(frozen=True, slots=True)
class Ray:
    """Learn on a Ray cluster.

    The cluster is that of the environment variable `RAY_ADDRESS`. Without it, one is started on this machine and ended
    after the run.

    Parameters
    ----------
    workers
        Number of workers. None: one for each CPU of the cluster.
    threads
        Threads of each worker.

    Examples
    --------
    >>> suffice.Ray(workers=4)
    Ray(workers=4, threads=1)
    """

    workers: int | None = None
    threads: int = 1

    def __post_init__(self) -> None:
        for name, value in (("workers", self.workers), ("threads", self.threads)):
            if value is not None and (not isinstance(value, int) or value < 1):
                raise SettingsError(f"{parameter(name, value)} is not a number of {name}. Use 1 or more.")

    @classmethod
    def of(cls, options: EngineOptions) -> Ray:
        """Create the engine from options.

        Parameters
        ----------
        options
            Numbers of workers and threads.

        Returns
        -------
        Ray
            The engine.
        """
        return cls(options.workers, options.threads or 1)

    def refuse(self, *logs: Data) -> None:
        """Refuse logs that workers cannot read, before the cluster is started, which takes seconds.

        Parameters
        ----------
        *logs
            Logs as for `learn`. Workers read Parquet files.
        """
        refuse_for_workers(*logs)

    @contextmanager
    def reading(self) -> Iterator[RayReader]:
        """Start or connect to the cluster for the duration of the block.

        Yields
        ------
        RayReader
            Reads logs on the workers.
        """
        ray = import_ray()
        ours = not ray.is_initialized()
        reader = RayReader(ray, self)
        try:
            if ours:
                connect(ray)
            yield reader
        except ray.exceptions.RayError as error:
            raise EngineError(
                f"the Ray cluster failed ({reason_of(error)}). Check its machines, and run the command again."
            ) from error
        finally:  # in case of an interruption too
            reader.dismiss()
            if ours:
                ray.shutdown()


class RayReader:
    """Starts workers that read a log; implements `streaming.ExternalReader`."""

    def __init__(self, ray: Any, chosen: Ray) -> None:
        self._ray, self._chosen = ray, chosen
        self.pool: RayWorkerPool | None = None

    def __call__(self, dataset: Dataset, how: ReadOptions, room: MemoryBudget) -> tuple[DistributedLog, ReadReport]:
        """Read a dataset on workers, one part each."""
        dataset, parts, cpus = self._divided(dataset)
        episodes, report = self.read(dataset, how, room, parts)
        return episodes, replace(report, notes=(*report.notes, *self._notes(len(parts), cpus)))

    def sample(self, dataset: Dataset, how: ReadOptions, room: MemoryBudget) -> EpisodeSample:
        """Draw episodes of a dataset on workers, with all columns."""
        dataset, parts, _ = self._divided(dataset)
        pieces = self._hire(dataset, how, room, parts)
        assert self.pool is not None, "workers were started"
        return sample_distributed(dataset, how, room, pieces, self.pool, len(parts))

    def _divided(self, dataset: Dataset) -> tuple[Dataset, list[tuple[int, int]], int]:
        """Return a dataset that all workers find, its parts, and the number of CPUs."""
        cpus = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        # paths must be absolute, because workers have other working folders
        dataset = replace(dataset, files=tuple(file.resolve() for file in dataset.files))
        return dataset, cut_evenly(dataset, min(self._chosen.workers or cpus, MOST_PER_CPU * cpus)), cpus

    def _notes(self, workers: int, cpus: int) -> Iterator[str]:
        """Yield notes if fewer workers were used than requested, or more than there are CPUs."""
        if self._chosen.workers is not None and workers < self._chosen.workers:
            many = workers == MOST_PER_CPU * cpus
            why = f"more than {MOST_PER_CPU} per CPU do not help" if many else "each reads whole row groups"
            yield f"{workers} of {self._chosen.workers:,} workers were used, because {why}"
        if workers > cpus:
            yield f"{workers} workers shared {cpus} CPUs; fewer workers would need less memory and be as fast"

    def read(
        self, dataset: Dataset, how: ReadOptions, room: MemoryBudget, parts: Sequence[tuple[int, int]]
    ) -> tuple[DistributedLog, ReadReport]:
        """Read a dataset on workers, divided into parts of units begin..end−1."""
        pieces = self._hire(dataset, how, room, parts)
        assert self.pool is not None, "workers were started"
        return read_distributed(dataset, how, room, pieces, self.pool, len(parts))

    def _hire(self, dataset: Dataset, how: ReadOptions, room: MemoryBudget, parts: Sequence[tuple[int, int]]) -> Pieces:
        """Start workers, one for each part, in place of others; return the pieces that they read."""
        pieces = Pieces.of(dataset, how, min(room.rows, PIECE_ROWS))
        self.dismiss()
        self.pool = RayWorkerPool(self._ray, pieces, parts, self._chosen.threads)
        return pieces

    def dismiss(self) -> None:
        """End the workers if there are any."""
        if self.pool is not None:
            self.pool.dismiss()


class RayWorkerPool:
    """Workers as Ray actors, one for each part; implements `WorkerPool`."""

    def __init__(self, ray: Any, pieces: Pieces, parts: Sequence[tuple[int, int]], threads: int) -> None:
        self._ray, self._numbers = ray, count()
        self.watch: Callable[[int, int], None] = lambda done, of: None
        self.moved_out, self.moved_back = 0, 0  # bytes, for benchmarks
        actor = ray.remote(
            max_restarts=-1,
            max_task_retries=AGAIN,
            scheduling_strategy="SPREAD",
            concurrency_groups={"watching": 1},
        )(_Actor)
        # An actor without a number of CPUs can be placed on any machine, busy or not. So after a machine was lost, the
        # remaining ones take over its parts.
        sizes = [file.stat().st_size for file in pieces.dataset.files]
        self.actors = [
            actor.remote(__version__, pieces, begin, end, threads, names_options(), sizes) for begin, end in parts
        ]

    def share(self, thing: Any) -> Shared:
        """Make an object available to all workers."""
        packed = _packed(thing)
        self.moved_out += len(packed.bytes)
        return packed if len(packed.bytes) <= LITTLE else self._ray.put(packed)

    def number(self) -> int:
        """Return a number that was not returned before."""
        return next(self._numbers)

    def each(self, call: str, arguments: Sequence[tuple[Any, ...] | None]) -> list[Any]:
        """Call a method of every worker with its own arguments, and wait for the answers."""
        answers: list[Any] = [None] * len(arguments)
        waiting = {
            self.actors[part].do.remote(call, *mine): part for part, mine in enumerate(arguments) if mine is not None
        }
        while waiting:
            done, _ = self._ray.wait(list(waiting), timeout=WATCHED)
            for ref in done:
                part = waiting.pop(ref)
                answers[part] = self._answer(ref, part)
            if not done:
                self._report_progress(list(waiting.values()))
        for answer in answers:
            if isinstance(answer, _Refusal):
                raise answer.error
        return answers

    def dismiss(self) -> None:
        """End all workers of the pool."""
        for actor in self.actors:
            self._ray.kill(actor)
        self.actors = []

    def _answer(self, ref: Any, part: int) -> Any:
        exceptions = self._ray.exceptions
        name = f"worker {part + 1} of {len(self.actors)}"
        try:
            packed: _Packed = self._ray.get(ref)
        except (exceptions.RayActorError, exceptions.ObjectLostError) as error:
            if "failed to import" in str(error):
                raise EngineError(f"{name} cannot import suffice. Install suffice[ray] on every machine.") from None
            raise EngineError(
                f"{name} died {AGAIN + 1} times in a row, possibly because its machine has too little memory. Use more "
                f"{parameter('workers')}, so that each has a smaller part. With the same {parameter('checkpoint')} the "
                "run continues where it stopped."
            ) from error
        except exceptions.RayError as error:  # memory, disk or network of the cluster itself
            raise EngineError(
                f"{name} did not answer ({reason_of(error)}). Fix this and run the command again."
            ) from error
        self.moved_back += len(packed.bytes)
        return _unpacked(packed)

    def _report_progress(self, parts: Sequence[int]) -> None:
        """Report the progress of working workers, without waiting for those that do not answer at once."""
        requests = [
            self.actors[part].progress.options(concurrency_group="watching", max_task_retries=0).remote()
            for part in parts
        ]
        seen, _ = self._ray.wait(requests, num_returns=len(requests), timeout=WATCHED)
        found = []
        for request in seen:
            try:
                found.append(self._ray.get(request))
            except self._ray.exceptions.RayError:  # the worker is being restarted
                continue
        if found:
            others = len(self.actors) - len(parts)
            of = max(of for _, of in found)
            self.watch(sum(done for done, _ in found) + others * of, sum(of for _, of in found) + others * of)


class _Refusal:
    """An error of a worker, returned as an answer so that Ray does not restart the worker."""

    def __init__(self, error: SufficeError) -> None:
        self.error = error


class _Actor:
    """A worker as a Ray actor."""

    def __init__(
        self,
        version: str,
        pieces: Pieces,
        begin: int,
        end: int,
        threads: int,
        options_named: bool = False,
        sizes: Sequence[int] = (),
    ) -> None:
        self._options_named = options_named  # in messages, as in the process that started the worker
        self._worker = Worker(pieces, begin, end, threads, _fetched)
        self._version, self._files = version, pieces.dataset.files
        self._sizes: Sequence[int] | None = sizes  # of the files where the worker was started; None: they are the same

    def do(self, call: str, *arguments: Any) -> _Packed:
        """Call a method of the worker, and pack its answer."""
        with naming_options(self._options_named):
            return _packed(self._answer(call, *arguments))

    def _answer(self, call: str, *arguments: Any) -> Any:
        """Return the answer of the worker, or its error as a `_Refusal`."""
        if self._version != __version__:
            versions = f"a worker has suffice {__version__}, but this machine has {self._version}"
            return _Refusal(EngineError(f"{versions}. Install the same version on all machines."))
        try:
            if problem := self._file_problem():
                fix = "Put the log where all machines can read it under the same path."
                return _Refusal(EngineError(f"{problem} on {os.uname().nodename}. {fix}"))
            return getattr(self._worker, call)(*arguments)
        except SufficeError as error:
            return _Refusal(error)
        except (MemoryError, OSError) as error:
            problem = f"a worker on {os.uname().nodename} failed ({error or 'out of memory'})"
            fix = f"Fix this, or use more {parameter('workers')}, so that each has a smaller part."
            return _Refusal(EngineError(f"{problem}. {fix}"))

    def _file_problem(self) -> str:
        """Return which file of the log is not the same on this machine, and why; the files are checked once."""
        if self._sizes is None:
            return ""
        for file, size in zip_longest(self._files, self._sizes):
            if not file.exists():
                return f"{file}: a worker cannot find the file"
            if not os.access(file, os.R_OK):
                return f"{file}: a worker has no permission to read the file"
            if size is not None and file.stat().st_size != size:
                return f"{file}: a worker finds {file.stat().st_size:,} bytes instead of {size:,}"
        self._sizes = None
        return ""

    def progress(self) -> tuple[int, int]:
        """Return rows or blocks done, and their number, in the current call."""
        return self._worker.progress


class _Packed(NamedTuple):
    """A compressed object, because counts are mostly zeros, and arrays that Ray unpacks itself are read-only."""

    size: int  # bytes of the object
    bytes: bytes


def _packed(thing: Any) -> _Packed:
    plain = import_ray().cloudpickle.dumps(thing)
    return _Packed(len(plain), pa.compress(plain, "lz4", asbytes=True))


def _unpacked(packed: _Packed) -> Any:
    return import_ray().cloudpickle.loads(pa.decompress(packed.bytes, packed.size, "lz4", asbytes=True))


def _fetched(shared: Shared) -> Any:
    return _unpacked(shared if isinstance(shared, _Packed) else import_ray().get(shared))
