"""Run many experiments in parallel, each in its own process with limits on time and memory.

Every result is saved as soon as it is known, so an interrupted run can be resumed. Processes are forked from a server
that has imported and compiled everything (`preload`), which keeps the overhead of a short run small; a process that
exceeds its time limit is killed with all processes it started.
"""

from __future__ import annotations

import os
import resource
import signal
import sys
import tempfile
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from multiprocessing.forkserver import ensure_running
from pathlib import Path
from threading import Lock

from suffice.errors import SufficeError
from suffice.lab.experiment import Experiment, Result, distinct
from suffice.lab.learners import missing
from suffice.lab.resources import ProgramError
from suffice.lab.run_experiment import run_experiment
from suffice.lab.store import load, save

MINUTES_OF_THE_PAPER = 30
DIED = "died: no message"
GRACE = 60  # seconds of CPU time beyond its limit after which an orphaned run ends


@dataclass(frozen=True, slots=True)
class RunSettings:
    """Resources that experiments may use."""

    jobs: int  # number of parallel processes
    seconds: float = 60.0 * MINUTES_OF_THE_PAPER  # wall-clock time of one run
    bytes: int = 8 << 30  # address space of one run
    flexfringe: str | None = None  # path of the FlexFringe binary


def run_all(
    experiments: Iterable[Experiment],
    folder: Path,
    settings: RunSettings,
    progress: Callable[[int, int], None] = lambda done, of: None,
) -> dict[str, Result]:
    """Run all experiments that can run here and return results by id; results in the folder are reused."""
    wanted = distinct(experiments)
    known = load(folder)
    todo = {
        e.id: e for e in wanted if not missing(e.learner, settings.flexfringe) and _must_run(known.get(e.id), settings)
    }
    results = {e.id: known[e.id] for e in wanted if e.id in known and e.id not in todo}
    of = len(results) + len(todo)
    workers = _Workers(settings)
    with ThreadPoolExecutor(settings.jobs) as pool:
        try:
            progress(len(results), of)
            for done in as_completed([pool.submit(workers.run, experiment) for experiment in todo.values()]):
                result = done.result()
                if not result.failed:
                    save(result, folder)
                results[result.experiment.id] = result
                progress(len(results), of)
        except BaseException:
            workers.close()
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return results


def _must_run(result: Result | None, settings: RunSettings) -> bool:
    """Whether an experiment was not run yet, or was stopped by a lower time limit."""
    return result is None or (bool(result.stopped) and result.limit < settings.seconds)


class _Workers:
    """Starts processes, and kills them when they exceed their time limit or the run is interrupted."""

    def __init__(self, settings: RunSettings) -> None:
        self._settings = settings
        self._context = get_context("forkserver")
        # a child imports the main script again, which is the command line if the user started it
        started = [name for name in ("suffice.cli.main",) if name in sys.modules]
        self._context.set_forkserver_preload(["suffice.lab.preload", *started])
        self._start_server()
        self._lock = Lock()
        self._alive: set[int] = set()
        self._closed = False

    def _start_server(self) -> None:
        """Start the fork server with Ctrl-C blocked, so that only the main process handles it."""
        before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
        try:
            ensure_running()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)

    def run(self, experiment: Experiment) -> Result:
        """Run an experiment in its own process, which leaves no files behind even if it is killed."""
        with tempfile.TemporaryDirectory(prefix="suffice-", ignore_cleanup_errors=True) as scratch:
            return self._run(experiment, scratch)

    def _run(self, experiment: Experiment, scratch: str) -> Result:
        ours, theirs = self._context.Pipe(duplex=False)
        child = self._context.Process(target=_child, args=(experiment, self._settings, theirs, scratch))
        with self._lock:
            if self._closed:
                return Result(experiment=experiment, stopped="interrupted")
            child.start()
            assert child.pid is not None
            self._alive.add(child.pid)
        theirs.close()
        answer: Result | str = f"over {self._settings.seconds:g} s"
        try:
            if ours.poll(self._settings.seconds):
                answer = ours.recv()
        except EOFError:  # for example, out of memory
            answer = DIED
        finally:
            with self._lock:
                self._alive.discard(child.pid)
                _end(child.pid)
            child.join()
        if isinstance(answer, Result):
            return answer
        limit = 0.0 if answer.startswith("died") else self._settings.seconds
        return Result(experiment=experiment, stopped=answer, limit=limit)

    def close(self) -> None:
        """Kill all processes that are still running."""
        with self._lock:
            self._closed = True
            for pid in self._alive:
                _end(pid)


def _end(pid: int) -> None:
    """Kill a process and all processes it started, which are in its group."""
    for kill in (os.killpg, os.kill):  # the group may not exist yet
        try:
            kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            continue
        return


def _child(experiment: Experiment, settings: RunSettings, answer: Connection, scratch: str) -> None:
    os.setsid()
    tempfile.tempdir = scratch
    resource.setrlimit(resource.RLIMIT_AS, (settings.bytes, settings.bytes))
    seconds = int(settings.seconds) + GRACE
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    try:
        answer.send(run_experiment(experiment, settings.flexfringe))
    except Exception as error:
        answer.send(_failure_message(error, settings))


def _failure_message(error: Exception, settings: RunSettings) -> str:
    """Return why an experiment has no result: over its memory, refused, or died (it is run again next time)."""
    if isinstance(error, MemoryError) or "bad_alloc" in str(error):
        return f"over {settings.bytes / (1 << 30):g} GiB"
    kind = "died" if isinstance(error, ProgramError) or not isinstance(error, SufficeError) else "refused"
    name = "" if isinstance(error, SufficeError) else f"{type(error).__name__}: "
    return " ".join(f"{kind}: {name}{error}".split())
