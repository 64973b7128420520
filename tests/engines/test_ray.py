"""Learning on a Ray cluster of two machines: the model has the same bytes when workers are killed or lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

import suffice
from suffice import EngineError, Ray
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.pieces import Pieces
from suffice.data.logs.reading import ReadOptions
from suffice.data.streaming import MemoryBudget
from suffice.engines import ray as engine_module
from suffice.engines.ray import RayWorkerPool
from support.fake_workers import scattered_log

ray = pytest.importorskip("ray")

QUICK = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 300, "health_check_failure_threshold": 3}
STORE = 80_000_000  # bytes


@pytest.fixture(scope="module")
def machines() -> Iterator[Any]:
    """Start a cluster of two machines with one CPU each, the first of which this process is connected to."""
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("RAY_USAGE_STATS_ENABLED", "0")
        node = {"num_cpus": 1, "object_store_memory": STORE, "include_dashboard": False}
        made = Cluster(initialize_head=True, head_node_args={**node, "_system_config": QUICK})
        patched.setenv("RAY_ADDRESS", made.address)
        try:
            made.add_node(num_cpus=1, object_store_memory=STORE)
            ray.init(address=made.address, log_to_driver=False, logging_level="ERROR")
            yield made
        finally:
            ray.shutdown()
            made.shutdown()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return scattered_log(tmp_path_factory.mktemp("logs") / "maze")


@pytest.fixture
def learned(log: Path, tmp_path: Path) -> Callable[..., bytes]:
    def file_of(engine: Ray | None = None, **choices: Any) -> bytes:
        suffice.learn(log, engine=engine, **choices).save(tmp_path / "learned.model")
        return (tmp_path / "learned.model").read_bytes()

    return file_of


class Meanwhile:
    """Calls a function when workers are asked for the n-th time: before the call, or during it."""

    def __init__(
        self, patch: pytest.MonkeyPatch, n: int, what: Callable[[RayWorkerPool], None], during: bool = False
    ) -> None:
        self.done = False
        each, wait, calls = RayWorkerPool.each, ray.wait, count(1)

        def called(pool: RayWorkerPool, call: str, arguments: Any) -> Any:
            if call == "answer" and next(calls) == n:
                if during:
                    patch.setattr(ray, "wait", lambda *refs, **how: once(pool) or wait(*refs, **how))
                else:
                    once(pool)
            return each(pool, call, arguments)

        def once(pool: RayWorkerPool) -> None:
            if not self.done:
                self.done = True
                what(pool)

        patch.setattr(RayWorkerPool, "each", called)


def seen_by(actors: list[Any], look: Callable[[], Any]) -> list[Any]:
    """Run a function in the processes of workers."""
    return list(ray.get([actor.__ray_call__.remote(lambda _: look()) for actor in actors]))


@pytest.mark.parametrize("workers", [1, pytest.param(3, marks=pytest.mark.long)])
def test_ray_gives_the_same_model_for_any_number_of_workers(
    machines: Any, workers: int, learned: Callable[..., bytes]
) -> None:
    assert learned(Ray(workers)) == learned()


def test_ray_gives_the_same_model_when_workers_are_killed(
    machines: Any, learned: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    """One worker is killed between two layers of AdaCT-H, one while it counts a layer of the refinement."""
    alone = learned(stationary=False)
    pids: list[int] = []

    def kill(pool: RayWorkerPool) -> None:
        pids[:] = pids or seen_by(pool.actors, os.getpid)
        os.kill(pids.pop(), signal.SIGKILL)

    first = Meanwhile(monkeypatch, 4, kill)
    second = Meanwhile(monkeypatch, 9, kill, during=True)
    assert learned(Ray(2), stationary=False) == alone and first.done and second.done


@pytest.mark.long
def test_ray_gives_the_same_model_when_an_actor_is_restarted(
    machines: Any, learned: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = learned(stationary=True)

    def restart(pool: RayWorkerPool) -> None:
        ray.kill(pool.actors[0], no_restart=False)

    restarted = Meanwhile(monkeypatch, 1, restart)
    assert learned(Ray(2), stationary=True) == alone and restarted.done


def test_ray_gives_the_same_model_when_a_machine_is_lost(
    machines: Any, learned: Callable[..., bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    alone = learned()
    for _ in range(4):  # Ray decides where workers run: repeat until one of them was on the lost machine
        lost = machines.add_node(num_cpus=1, object_store_memory=STORE, resources={"lost": 1})
        machines.wait_for_nodes()
        where: list[str] = []

        def lose(pool: RayWorkerPool, lost: Any = lost, where: list[str] = where) -> None:
            where += seen_by(pool.actors, lambda: ray.get_runtime_context().get_node_id())
            machines.remove_node(lost, allow_graceful=False)

        with monkeypatch.context() as patch:
            gone = Meanwhile(patch, 6, lose)
            assert learned(Ray(3)) == alone and gone.done
        if lost.node_id in where:
            return
    pytest.fail("no worker was ever on the machine that was lost")


@pytest.mark.long
def test_ray_ends_a_run_whose_worker_dies_repeatedly(
    machines: Any, learned: Callable[..., bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same call later continues from the checkpoint."""
    alone = learned()
    monkeypatch.setattr(engine_module, "AGAIN", 1)
    share = RayWorkerPool.share
    dying = Meanwhile(monkeypatch, 6, lambda pool: monkeypatch.setattr(RayWorkerPool, "share", poisoned))

    def poisoned(pool: RayWorkerPool, thing: Any) -> Any:
        return share(pool, Deadly())

    with pytest.raises(EngineError, match=r"worker . of 2 died 2 times in a row"):
        learned(Ray(2), checkpoint=tmp_path / "kept")
    assert dying.done and any((tmp_path / "kept").iterdir())
    monkeypatch.undo()
    assert learned(Ray(2), checkpoint=tmp_path / "kept") == alone


class Deadly:
    """A query that kills the process that unpickles it."""

    def __reduce__(self) -> Any:
        return os.kill, (Itself(), signal.SIGKILL)


class Itself:
    """Unpickles to the id of the process that reads it."""

    def __reduce__(self) -> Any:
        return os.getpid, ()


@pytest.mark.long
def test_ray_reports_the_progress_of_workers(machines: Any, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_module, "WATCHED", 0.001)
    dataset, seen = Dataset.of(log), []
    assert dataset is not None
    with Ray(1).reading() as read:
        read(dataset, ReadOptions(), MemoryBudget(1 << 30, 1, lambda done, of: seen.append((done, of))))
    assert seen and all(0 <= done <= of for done, of in seen)


def test_ray_worker_refuses_another_version_and_a_missing_log(tmp_path: Path) -> None:
    dataset = Dataset.of(scattered_log(tmp_path / "log"))
    assert dataset is not None
    pieces = Pieces.of(dataset, ReadOptions(), 64)
    for file in dataset.files:
        file.rename(tmp_path / file.name)
    for version, message in (
        (suffice.__version__, f"cannot find the file on {os.uname().nodename}. Put the log where"),
        ("0.0", "but this machine has 0.0. Install the same version"),
    ):
        answer = engine_module._Actor(version, pieces, 0, 1, 1)._answer("extent", False)
        assert isinstance(answer.error, EngineError) and message in str(answer.error)


def test_ray_worker_names_its_machine_if_it_cannot_read_the_log_or_has_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    dataset = Dataset.of(scattered_log(tmp_path / "log"))
    assert dataset is not None
    pieces, machine = Pieces.of(dataset, ReadOptions(), 64), os.uname().nodename
    sizes = [file.stat().st_size for file in dataset.files]

    def refusal(sizes: list[int]) -> str:
        answer = engine_module._Actor(suffice.__version__, pieces, 0, 1, 1, False, sizes)._answer("extent", False)
        assert isinstance(answer.error, EngineError)
        return str(answer.error)

    found = f"{dataset.files[1]}: a worker finds {sizes[1]:,} bytes instead of {sizes[1] + 1:,} on {machine}. Put"
    assert found in refusal([sizes[0], sizes[1] + 1])
    assert not isinstance(
        engine_module._Actor(suffice.__version__, pieces, 0, 1, 1, False, sizes)._answer("extent", False),
        engine_module._Refusal,
    )
    monkeypatch.setattr(os, "access", lambda file, mode: file != dataset.files[0])  # root may read every file
    denied = f"{dataset.files[0]}: a worker has no permission to read the file on {machine}. Put the log"
    assert denied in refusal(sizes)


class FailingRay:
    """The module `ray`, whose cluster fails: at the start, or when it is used."""

    exceptions = ray.exceptions

    def __init__(self, error: Exception, at_start: bool) -> None:
        self.error, self.at_start = error, at_start

    def is_initialized(self) -> bool:
        return False

    def init(self, **options: Any) -> None:
        refused = isinstance(self.error, RefusedTokenError)
        os.write(2, b"[W 1 1] gcs_client.cc:210: Unauthenticated: RPC error" if refused else b"[W 1 1] a warning\n")
        if self.at_start:
            raise self.error

    def cluster_resources(self) -> Any:
        raise self.error

    def shutdown(self) -> None:
        pass

    _private = type("private", (), {"worker": type("worker", (), {})})


class RefusedTokenError(ConnectionError):
    """The error for a token that a cluster refuses; the reason is only printed."""


@pytest.mark.parametrize(
    ("error", "at_start", "address", "message"),
    [
        (
            Exception("The node timed out.\nmore"),
            True,
            "local",
            "Ray cannot be started on this machine (The node",
        ),
        (
            ray.exceptions.RaySystemError("the agent died"),
            True,
            "local",
            "Ray cannot be started on this machine (System",
        ),
        (ray.exceptions.LocalRayletDiedError(), False, "local", "the Ray cluster failed ("),
        (
            ray.exceptions.AuthenticationError("no token"),
            True,
            "here",
            "RAY_ADDRESS=here wants another token",
        ),
        (RefusedTokenError("Failed to connect"), True, "here", "RAY_ADDRESS=here wants another token"),
        (ConnectionError("refused"), True, "here", "there is no Ray cluster at RAY_ADDRESS=here (refused). Start one"),
    ],
)
def test_ray_reports_why_a_cluster_fails(
    error: Exception,
    at_start: bool,
    address: str,
    message: str,
    log: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("RAY_ADDRESS", address)
    monkeypatch.setattr(engine_module, "import_ray", lambda: FailingRay(error, at_start))
    with pytest.raises(EngineError) as refused:
        suffice.learn(log, engine=Ray(2))
    assert message in str(refused.value) and "\n" not in str(refused.value)
    assert capfd.readouterr().err == ""


def test_ray_reader_bounds_the_number_of_workers(log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """100,000 workers, one for each row group, would take minutes to start without any message."""
    dataset = Dataset.of(log)
    assert dataset is not None and len(dataset.units) > 2 * engine_module.MOST_PER_CPU
    cluster = type("cluster", (), {"cluster_resources": lambda self: {"CPU": 2.0}})()
    reader = engine_module.RayReader(cluster, Ray(100_000))
    asked: list[int] = []

    def read(self: Any, dataset: Any, how: Any, room: Any, parts: Any) -> Any:
        asked.append(len(parts))
        return None, suffice.read_log(log).report

    monkeypatch.setattr(engine_module.RayReader, "read", read)
    _, report = reader(dataset, ReadOptions(), MemoryBudget(1 << 30, 1))
    assert asked == [2 * engine_module.MOST_PER_CPU]
    assert "16 of 100,000 workers were used, because more than 8 per CPU do not help" in report.notes


def test_learn_with_ray_starts_a_cluster_and_prints_only_json(tmp_path: Path) -> None:
    suffice.write_log(suffice.read_log(scattered_log(tmp_path / "log")), tmp_path / "log.parquet")
    environment = {name: value for name, value in os.environ.items() if name != "RAY_ADDRESS"}
    command = [sys.executable, "-m", "suffice", "learn", str(tmp_path / "log.parquet"), "-o", str(tmp_path / "a.model")]
    ran = subprocess.run(
        [*command, "--engine", "ray", "--workers", "2", "--json"], env=environment, capture_output=True, text=True
    )
    assert ran.returncode == 0 and ran.stderr == "" and ran.stdout.startswith("{")
    suffice.learn(tmp_path / "log.parquet").save(tmp_path / "b.model")
    assert (tmp_path / "a.model").read_bytes() == (tmp_path / "b.model").read_bytes()
    refused = subprocess.run([*command, "--workers", "2"], env=environment, capture_output=True, text=True)
    assert refused.returncode == 2 and "--engine ray" in refused.stderr


def test_ray_reader_notes_workers_that_do_not_help() -> None:
    chosen, own = engine_module.RayReader(None, Ray(1000)), engine_module.RayReader(None, Ray())
    assert list(chosen._notes(36, 2)) == [
        "36 of 1,000 workers were used, because each reads whole row groups",
        "36 workers shared 2 CPUs; fewer workers would need less memory and be as fast",
    ]
    assert not list(chosen._notes(1000, 1000)) and not list(own._notes(2, 4))


def test_ray_engine_needs_the_package_only_when_it_runs(monkeypatch: pytest.MonkeyPatch, log: Path) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(suffice.MissingError, match=r"pip install 'suffice\[ray\]'"):
        suffice.learn(log, engine=Ray())
