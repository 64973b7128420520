"""Workers on a Ray cluster.

A worker that dies (its process is killed, its machine is lost) is started again by Ray, on any machine that is left,
with nothing but what its part is; the call that it did not answer comes again. That it then reads its part and takes
all steps anew, before it answers, is for `worker.Worker` to see to. One that dies again and again ends the run.
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
from suffice.errors import EngineError, MissingError, SettingsError, SufficeError
from suffice.version import __version__

AGAIN = 3  # times that a call comes again after its worker has died
LITTLE = 1 << 16  # bytes up to which things travel with every call, instead of being fetched
PIECE_ROWS = 1 << 18  # of a piece, at most: a machine may have many workers
WATCHED = 0.5  # seconds between looks at how far workers are
ANSWER_SECONDS = 10  # seconds until the cluster must have answered
STORE = 200_000_000  # bytes of Ray's object store, of a cluster that is our own


@dataclass(frozen=True, slots=True)
class Ray:
    """Learn on a Ray cluster: that of `RAY_ADDRESS`, or one on this machine, for as long as it takes.

    >>> suffice.Ray(workers=4)
    Ray(workers=4, threads=1)
    """

    workers: int | None = None  # None: one for each CPU of the cluster
    threads: int = 1  # of each

    def __post_init__(self) -> None:
        if (self.workers is not None and self.workers < 1) or self.threads < 1:
            raise SettingsError("workers and threads must be at least 1")

    @classmethod
    def of(cls, options: EngineOptions) -> Ray:
        """See `EngineChoice`."""
        return cls(options.workers, options.threads or 1)

    def refuse(self, *logs: Data) -> None:
        """See `EngineChoice`; starting takes seconds."""
        refuse_for_workers(*logs)

    @contextmanager
    def reading(self) -> Iterator[RayReader]:
        """What reads a log to where workers are, as long as the block lasts."""
        ray = _ray()
        ours = not ray.is_initialized()
        reader = RayReader(ray, self)
        try:
            if ours:
                _start(ray)
            yield reader
        finally:  # also after an interruption
            reader.dismiss()
            if ours:
                ray.shutdown()


class RayReader:
    """Starts workers for a log, see `streaming.RayReader`."""

    def __init__(self, ray: Any, chosen: Ray) -> None:
        self._ray, self._chosen = ray, chosen
        self.crew: RayWorkerPool | None = None

    def __call__(self, dataset: Dataset, how: ReadOptions, room: MemoryBudget) -> tuple[DistributedLog, ReadReport]:
        """See `streaming.RayReader`."""
        cpus = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        # other machines have other working folders
        dataset = replace(dataset, files=tuple(file.resolve() for file in dataset.files))
        parts = cut_evenly(dataset, self._chosen.workers or cpus)
        episodes, report = self.read(dataset, how, room, parts)
        return episodes, replace(report, notes=(*report.notes, *self._doubts(len(parts), cpus)))

    def _doubts(self, workers: int, cpus: int) -> Iterator[str]:
        """Whether so many workers help."""
        if self._chosen.workers is not None and workers < self._chosen.workers:
            yield f"{workers} of {self._chosen.workers:,} workers counted, as each takes whole row groups of the log"
        if workers > cpus:
            yield f"{workers} workers shared {cpus} CPUs; fewer would take less memory, and be no slower"

    def read(
        self, dataset: Dataset, how: ReadOptions, room: MemoryBudget, parts: Sequence[tuple[int, int]]
    ) -> tuple[DistributedLog, ReadReport]:
        """The same, divided as is said: the units begin..end−1 of each part."""
        pieces = Pieces.of(dataset, how, min(room.rows, PIECE_ROWS))
        self.dismiss()
        self.crew = RayWorkerPool(self._ray, pieces, parts, self._chosen.threads)
        return read_distributed(dataset, how, room, pieces, self.crew, len(parts))

    def dismiss(self) -> None:
        """Workers are not needed any more."""
        if self.crew is not None:
            self.crew.dismiss()


class RayWorkerPool:
    """See `WorkerPool`; an actor for each part."""

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
        # An actor that names no CPUs can be placed wherever there is one, busy or not: what is left after a machine
        # was lost takes over its parts.
        self.actors = [actor.remote(__version__, pieces, begin, end, threads) for begin, end in parts]

    def share(self, thing: Any) -> Shared:
        """See `WorkerPool`."""
        packed = _packed(thing)
        self.moved_out += len(packed.bytes)
        return packed if len(packed.bytes) <= LITTLE else self._ray.put(packed)

    def number(self) -> int:
        """See `WorkerPool`."""
        return next(self._numbers)

    def each(self, call: str, arguments: Sequence[tuple[Any, ...] | None]) -> list[Any]:
        """See `WorkerPool`."""
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
                self._look(list(waiting.values()))
        for answer in answers:
            if isinstance(answer, _Refusal):
                raise answer.error
        return answers

    def dismiss(self) -> None:
        """End all workers."""
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
                raise EngineError(f"{name} cannot import suffice; install suffice[ray] on every machine") from None
            raise EngineError(
                f"{name} died {AGAIN + 1} times in a row; has its machine memory enough? Try more --workers, so that "
                "each has less, and the same --checkpoint again: what was found so far is kept there"
            ) from error
        except exceptions.RayError as error:  # memory, disk or network of the cluster itself
            reason = str(error).strip().splitlines()[-1] if str(error).strip() else type(error).__name__
            raise EngineError(f"{name} gave no answer ({reason[:300]}); mend that, and run the same again") from error
        self.moved_back += len(packed.bytes)
        return _unpacked(packed)

    def _look(self, parts: Sequence[int]) -> None:
        """Ask those at work how far they are; who does not answer at once is not waited for."""
        looks = [
            self.actors[part].progress.options(concurrency_group="watching", max_task_retries=0).remote()
            for part in parts
        ]
        seen, _ = self._ray.wait(looks, num_returns=len(looks), timeout=WATCHED)
        found = []
        for look in seen:
            try:
                found.append(self._ray.get(look))
            except self._ray.exceptions.RayError:  # it is just being started again
                continue
        if found:
            others = len(self.actors) - len(parts)
            of = max(of for _, of in found)
            self.watch(sum(done for done, _ in found) + others * of, sum(of for _, of in found) + others * of)


class _Refusal:
    """What a worker complains of; it must not be taken for the end of the worker."""

    def __init__(self, error: SufficeError) -> None:
        self.error = error


class _Actor:
    """A worker, as Ray starts it."""

    def __init__(self, version: str, pieces: Pieces, begin: int, end: int, threads: int) -> None:
        self._worker = Worker(pieces, begin, end, threads, _fetched)
        self._version, self._files = version, pieces.dataset.files

    def do(self, call: str, *arguments: Any) -> _Packed:
        """Call the worker."""
        return _packed(self._answer(call, *arguments))

    def _answer(self, call: str, *arguments: Any) -> Any:
        """What is wrong with the log comes back as an answer too."""
        if self._version != __version__:
            told = f"a worker has suffice {__version__}, and this is {self._version}; install the same on all machines"
            return _Refusal(EngineError(told))
        try:
            return getattr(self._worker, call)(*arguments)
        except SufficeError as error:
            missing = [str(file) for file in self._files if not file.exists()]
            if not missing:
                return _Refusal(error)
            told = f"{missing[0]}: a worker on {os.uname().nodename} cannot find it"
            return _Refusal(EngineError(f"{told}; put the log where all machines find it, under the same name"))
        except (MemoryError, OSError) as error:
            told = f"a worker on {os.uname().nodename} has a problem ({error or 'out of memory'})"
            return _Refusal(EngineError(f"{told}; mend that, or try more --workers, so that each has less to do"))

    def progress(self) -> tuple[int, int]:
        """How much is done of what is being done."""
        return self._worker.progress


class _Packed(NamedTuple):
    """Something on its way: counts are mostly zeros. (And arrays that Ray unpacks itself could not be written to.)"""

    size: int  # unpacked
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
        raise MissingError("--engine ray needs Ray: pip install 'suffice[ray]'") from error
    return ray


def _start(ray: Any) -> None:
    """Connect to the cluster there is, or make one here."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")  # else it warns of what will change
    quietly: dict[str, Any] = {"log_to_driver": False, "logging_level": logging.ERROR, "configure_logging": True}
    address = os.environ.get("RAY_ADDRESS", "local")
    try:
        with _heeding_sigterm():
            if address == "local":
                ray.init(address=address, include_dashboard=False, object_store_memory=STORE, **quietly)
            else:
                _knock(address)
                ray.init(address=address, **quietly)
    except (OSError, RuntimeError, ValueError) as error:  # a ConnectionError is an OSError
        first = str(error).partition("\n")[0]
        raise EngineError(
            f"Ray cannot be started here ({first}); see /tmp/ray/session_latest/logs"
            if address == "local"
            else f"there is no Ray cluster at RAY_ADDRESS={address} ({first}); start one, or unset it"
        ) from error
    # Ray prints to stdout that a worker died; we say what came of it, and stdout is for results.
    setattr(ray._private.worker, "_worker_logs_enabled", False)  # noqa: B010 it is theirs, and may be gone one day


@contextmanager
def _heeding_sigterm() -> Iterator[None]:
    """As before: Ray has its own way, which is to exit with the number of the signal."""
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
    """Ray itself would try for minutes."""
    host, _, port = address.rpartition("/")[2].rpartition(":")
    if port.isdigit():
        socket.create_connection((host, int(port)), timeout=ANSWER_SECONDS).close()
