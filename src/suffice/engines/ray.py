"""Engine that runs workers on a Ray cluster.

If a worker dies (its process is killed, or its machine is lost), Ray restarts it on any remaining machine and repeats
the call that was not answered. The new worker knows only which part it has; `worker.Worker` reads the part again and
takes all steps before it answers. A worker that dies repeatedly ends the run.
"""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, NamedTuple

import pyarrow as pa

from suffice.data.loading import Data, refuse_for_workers
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.pieces import Pieces
from suffice.data.logs.reading import ReadOptions
from suffice.data.report import ReadReport
from suffice.data.streaming import MemoryBudget
from suffice.engines.distributed import DistributedLog, cut_evenly, read_distributed
from suffice.engines.engine import EngineOptions
from suffice.engines.worker import Shared, Worker
from suffice.errors import (
    EngineError,
    MissingError,
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
ANSWER_SECONDS = 10  # seconds until the cluster must have answered
STORE = 200_000_000  # bytes of Ray's object store, in a cluster that this process starts


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
        ray = _ray()
        ours = not ray.is_initialized()
        reader = RayReader(ray, self)
        try:
            if ours:
                _start(ray)
            yield reader
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
        cpus = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        # paths must be absolute, because workers have other working folders
        dataset = replace(dataset, files=tuple(file.resolve() for file in dataset.files))
        parts = cut_evenly(dataset, self._chosen.workers or cpus)
        episodes, report = self.read(dataset, how, room, parts)
        return episodes, replace(report, notes=(*report.notes, *self._notes(len(parts), cpus)))

    def _notes(self, workers: int, cpus: int) -> Iterator[str]:
        """Yield notes if fewer workers were used than requested, or more than there are CPUs."""
        if self._chosen.workers is not None and workers < self._chosen.workers:
            yield f"{workers} of {self._chosen.workers:,} workers were used, because each reads whole row groups"
        if workers > cpus:
            yield f"{workers} workers shared {cpus} CPUs; fewer workers would need less memory and be as fast"

    def read(
        self, dataset: Dataset, how: ReadOptions, room: MemoryBudget, parts: Sequence[tuple[int, int]]
    ) -> tuple[DistributedLog, ReadReport]:
        """Read a dataset on workers, divided into parts of units begin..end−1."""
        pieces = Pieces.of(dataset, how, min(room.rows, PIECE_ROWS))
        self.dismiss()
        self.pool = RayWorkerPool(self._ray, pieces, parts, self._chosen.threads)
        return read_distributed(dataset, how, room, pieces, self.pool, len(parts))

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
        self.actors = [actor.remote(__version__, pieces, begin, end, threads, names_options()) for begin, end in parts]

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
            reason = str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__
            raise EngineError(f"{name} did not answer ({reason[:300]}). Fix this and run the command again.") from error
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
        self, version: str, pieces: Pieces, begin: int, end: int, threads: int, options_named: bool = False
    ) -> None:
        self._options_named = options_named  # in messages, as in the process that started the worker
        self._worker = Worker(pieces, begin, end, threads, _fetched)
        self._version, self._files = version, pieces.dataset.files

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
            return getattr(self._worker, call)(*arguments)
        except SufficeError as error:
            missing = [str(file) for file in self._files if not file.exists()]
            if not missing:
                return _Refusal(error)
            problem = f"{missing[0]}: a worker on {os.uname().nodename} cannot find the file"
            return _Refusal(EngineError(f"{problem}. Put the log where all machines find it under the same path."))
        except (MemoryError, OSError) as error:
            problem = f"a worker on {os.uname().nodename} failed ({error or 'out of memory'})"
            fix = f"Fix this, or use more {parameter('workers')}, so that each has a smaller part."
            return _Refusal(EngineError(f"{problem}. {fix}"))

    def progress(self) -> tuple[int, int]:
        """Return rows or blocks done, and their number, in the current call."""
        return self._worker.progress


class _Packed(NamedTuple):
    """A compressed object, because counts are mostly zeros, and arrays that Ray unpacks itself are read-only."""

    size: int  # bytes of the object
    bytes: bytes


def _packed(thing: Any) -> _Packed:
    plain = _ray().cloudpickle.dumps(thing)
    return _Packed(len(plain), pa.compress(plain, "lz4", asbytes=True))


def _unpacked(packed: _Packed) -> Any:
    return _ray().cloudpickle.loads(pa.decompress(packed.bytes, packed.size, "lz4", asbytes=True))


def _fetched(shared: Shared) -> Any:
    return _unpacked(shared if isinstance(shared, _Packed) else _ray().get(shared))


def _ray() -> Any:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            import ray
    except ImportError as error:
        raise MissingError(
            f"{parameter('engine', 'ray')} needs Ray, which is not installed. Run: pip install 'suffice[ray]'"
        ) from error
    return ray


def _start(ray: Any) -> None:
    """Connect to the cluster of RAY_ADDRESS, or start one on this machine."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # suppresses a warning about future changes
    quietly: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
    address = os.environ.get("RAY_ADDRESS", "local")
    try:
        with _restoring_sigterm():
            if address == "local":
                ray.init(address=address, include_dashboard=False, object_store_memory=STORE, **quietly)
            else:
                _knock(address)
                ray.init(address=address, **quietly)
    except (OSError, RuntimeError, ValueError) as error:  # a ConnectionError is an OSError
        first = str(error).partition("\n")[0]
        raise EngineError(
            f"Ray cannot be started on this machine ({first}). See the logs in /tmp/ray/session_latest/logs."
            if address == "local"
            else f"there is no Ray cluster at RAY_ADDRESS={address} ({first}). Start one, or unset RAY_ADDRESS."
        ) from error
    # Ray prints to stdout when a worker dies, but stdout is for results and errors are reported above.
    setattr(ray._private.worker, "_worker_logs_enabled", False)  # noqa: B010 private to Ray, and may disappear


@contextmanager
def _restoring_sigterm() -> Iterator[None]:
    """Restore the handler of SIGTERM, which Ray replaces by one that exits with the number of the signal."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    ending = signal.getsignal(signal.SIGTERM)
    try:
        yield
    except SystemExit as exiting:
        if exiting.code == signal.SIGTERM:
            signal.signal(signal.SIGTERM, ending)
            signal.raise_signal(signal.SIGTERM)
        raise
    finally:
        signal.signal(signal.SIGTERM, ending)


def _knock(address: str) -> None:
    """Raise OSError at once if no cluster listens at the address; Ray itself would try for minutes."""
    host, _, port = address.rpartition("/")[2].rpartition(":")
    if port.isdigit():
        socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS).close()
