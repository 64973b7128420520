"""Time, bytes moved and memory of one, two and four workers of a Ray cluster on this machine.

    python benchmarks/cluster.py            # a few minutes; writes cluster.json and CLUSTER.md

Wall-clock time depends on this machine, whose cores the workers share with each other and with other programs. CPU
seconds of the busiest worker estimate the time if every worker had its own core. `cluster_plan.py` uses the costs in
`cluster.json`.
"""

from __future__ import annotations

import json
import os
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import suffice
from suffice.data.encoding.columns import Columns
from suffice.data.loading import read_data
from suffice.data.streaming import MemoryBudget
from suffice.engines.ray import Ray, RayWorkerPool
from suffice.models.api import learn_model
from suffice.models.choices import Choices

HERE = Path(__file__).parent
DOMAIN, OPTIONS, HORIZON, EPISODES = "t-maze", {"length": "10"}, 40, 2_000_000
ROW_GROUP = 1 << 18
WORKERS = (1, 2, 4)
MEMORY = 8 << 30


@dataclass
class Spent:
    """Time of the workers and of the driver process."""

    wall: float
    workers: list[float]  # CPU seconds of each
    asker: float

    @classmethod
    def now(cls, pool: RayWorkerPool | None, ray: Any) -> Spent:
        """Return the time used so far."""
        actors = [] if pool is None else pool.actors
        spent = (
            ray.get([actor.__ray_call__.remote(lambda _: time.process_time()) for actor in actors]) if actors else []
        )
        return cls(time.perf_counter(), spent, time.process_time())

    def until(self, later: Spent) -> Spent:
        """Return the time used between two measurements."""
        before = self.workers or [0.0] * len(later.workers)
        each = [b - a for a, b in zip(before, later.workers, strict=True)]
        return Spent(later.wall - self.wall, each, later.asker - self.asker)


def make_log(folder: Path, n: int) -> Path:
    """Write a log in row groups that are small enough for four workers."""
    import pyarrow.parquet as pq

    model = suffice.make(DOMAIN, OPTIONS).model(HORIZON)
    episodes = suffice.simulate(model, n=n, horizon=HORIZON, rng=np.random.default_rng(1))
    folder.mkdir()
    suffice.write_log(episodes, folder / "whole.parquet")
    table = pq.read_table(folder / "whole.parquet")
    pq.write_table(table, folder / "log.parquet", row_group_size=ROW_GROUP, compression="zstd")
    return folder / "log.parquet"


def run(log: Path, workers: int, ray: Any) -> tuple[dict[str, Any], bytes]:
    """Learn with the given number of workers."""
    choices = Choices()
    layers: list[tuple[int, int]] = []
    with Ray(workers).reading() as reader:
        start = Spent.now(None, ray)
        read = read_data(log, Columns(), room=MemoryBudget(MEMORY, 1, elsewhere=reader))
        pool = reader.pool
        assert pool is not None
        ready = Spent.now(pool, ray)
        first = pool.moved_out, pool.moved_back
        model, _ = learn_model(read, choices, lambda done, of: layers.append((pool.moved_out, pool.moved_back)))
        done = Spent.now(pool, ray)
        peaks = ray.get([actor.__ray_call__.remote(lambda _: _peak()) for actor in pool.actors])
    model.save(log.parent / "learned.model")
    reading, learning = start.until(ready), ready.until(done)
    moved = np.diff(np.array([first, *layers]), axis=0)
    return {
        "workers": workers,
        "reading": vars(reading),
        "learning": vars(learning),
        "passes": len(layers),
        "bytes_out": moved[:, 0].tolist(),
        "bytes_back": (moved[:, 1] // workers).tolist(),
        "peak_worker": int(max(peaks)),
    }, (log.parent / "learned.model").read_bytes()


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def latency(ray: Any) -> float:
    """Return the seconds of an empty call of an actor."""

    class Idle:
        def nothing(self) -> None:
            """Return without doing anything."""

    idle = ray.remote(Idle).remote()
    ray.get(idle.nothing.remote())
    times = []
    for _ in range(200):
        start = time.perf_counter()
        ray.get(idle.nothing.remote())
        times.append(time.perf_counter() - start)
    ray.kill(idle)
    return float(np.median(times))


def costs_of_steps(log: Path) -> dict[str, float]:
    """Return the CPU nanoseconds per step of one worker for reading, counting, refinement and walking."""
    from suffice.data.logs.datasets import Dataset
    from suffice.data.logs.pieces import Pieces
    from suffice.data.logs.reading import ReadOptions
    from suffice.data.queries import NoQuery
    from suffice.data.streaming import read_part
    from suffice.engines.blocks import BlockWalk, Move
    from suffice.evidence.language_counts import LanguageCounts
    from suffice.evidence.statistic import SuffixCounts

    dataset = Dataset.of(log)
    assert dataset is not None
    pieces, how = Pieces.of(dataset, ReadOptions(), 1 << 18), ReadOptions(horizon=HORIZON)
    units, steps = len(dataset.units), EPISODES * (HORIZON + 1)

    def cpu(work: Any) -> tuple[float, Any]:
        start = time.process_time()
        found = work()
        return time.process_time() - start, found

    cpu(lambda: read_part(pieces, 0, 1, how, 1, lambda rows: None))  # compile
    ids, _ = cpu(lambda: pieces.extent(0, units))
    reading, found = cpu(lambda: read_part(pieces, 0, units, how, 1, lambda rows: None))
    stored, _ = found
    plan = LanguageCounts().plan(stored, suffice.FISHER_EXACT, MEMORY)
    letters = len(stored.letters)
    move = Move(0, np.zeros(1, np.int64), np.arange(letters))

    def passed(question: Any) -> float:
        walk = BlockWalk(stored, letters, 1)
        walk.step(move, question)  # compile
        return min(cpu(lambda: BlockWalk(stored, letters, 1).step(move, question))[0] for _ in range(3)) / steps

    visits = EPISODES * (HORIZON + 1) * (HORIZON + 2) / 2  # remaining steps, summed over all layers
    settings = suffice.Settings(threads=1)
    learned = suffice.adact_h(stored, settings, ended_apart=True)
    again, _ = cpu(lambda: suffice.refine(learned, stored))
    return {
        "again": 1e9 * again / visits,
        "ids": 1e9 * ids / steps,
        "read": 1e9 * reading / steps,
        "count": 1e9 * passed(SuffixCounts(plan, 1, letters)),
        "walk": 1e9 * passed(NoQuery()),
        "patterns": plan.patterns.count,
        "letters": letters,
        "bytes_in_file": os.path.getsize(log) / steps,
        "bytes_kept": 1.0 * np.dtype(stored.blocks[0].kind).itemsize,
    }


def table(found: dict[str, Any]) -> str:
    """Return the text of CLUSTER.md."""
    runs, costs = found["runs"], found["costs"]
    lines = []
    for one in runs:
        reading, learning = one["reading"], one["learning"]
        lines.append(
            f"| {one['workers']} | {reading['wall']:.1f} | {learning['wall']:.1f} | {max(reading['workers']):.1f} "
            f"| {max(learning['workers']):.1f} | {learning['asker']:.1f} | {np.mean(one['bytes_out']) / 1000:.0f} "
            f"| {np.mean(one['bytes_back']) / 1000:.0f} | {one['peak_worker'] / 1e6:.0f} |"
        )
    base = max(runs[0]["learning"]["workers"])
    ratios = ", ".join(f"{base / max(one['learning']['workers']):.2f} for {one['workers']}" for one in runs)
    walls = ", ".join(
        f"{runs[0]['learning']['wall'] / one['learning']['wall']:.2f} for {one['workers']}" for one in runs
    )
    return f"""# Workers of a Ray cluster

Written by `python benchmarks/cluster.py`: {EPISODES:,} episodes of {DOMAIN} (length 10) with {HORIZON} decisions each,
in row groups of {ROW_GROUP:,} rows, learned as layers with refinement and a plan ({runs[0]["passes"]} layers in total).
The model has the same bytes in all runs, and without a cluster. This machine has {found["cores"]} cores, shared by the
workers, the driver process and Ray, and had a load of {found["load"]:.0f} before, so the wall-clock time of four
workers cannot be shorter than that of two. CPU seconds of the busiest worker estimate the time if every worker had its
own core.

{HEADER}
{chr(10).join(lines)}

- Learning, CPU time of the busiest worker, speed-up over one worker by number of workers: {ratios}.
- Learning, wall-clock time, speed-up over one worker by number of workers: {walls}.
- Without a cluster, reading and learning with one thread: {found["local"]["cpu"]:.1f} CPU s.
- Starting a worker takes {found["start_up"]:.1f} s of its CPU time: Python, libraries, and loading compiled loops.
- An empty call takes {1000 * found["latency"]:.1f} ms.

CPU nanoseconds of one worker per step, with {costs["patterns"]} patterns and {costs["letters"]} letters: ids
{costs["ids"]:.1f}, reading {costs["read"]:.0f}; and at every layer, for each remaining step, counting
{costs["count"]:.1f}, refinement {costs["again"]:.1f}, and walking only (to catch up) {costs["walk"]:.2f}.
A step takes {costs["bytes_in_file"]:.2f} bytes in the Parquet file and {costs["bytes_kept"]:.0f} in a worker.
"""


HEADER = "\n".join(
    [
        "| workers | reading: s | learning: s | reading: CPU s of the busiest | learning: CPU s of the busiest "
        "| CPU s of the driver | kB sent per layer | kB received per layer and worker | peak MB of a worker |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
)


def main() -> None:
    """Run all measurements and write both files."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    import ray

    found: dict[str, Any] = {"cores": len(os.sched_getaffinity(0)), "load": os.getloadavg()[0]}
    with tempfile.TemporaryDirectory() as folder:
        log, small = make_log(Path(folder) / "log", EPISODES), make_log(Path(folder) / "small", 500)
        found["costs"] = costs_of_steps(log)
        settings = suffice.Settings(threads=1)
        suffice.learn(small, settings=settings, second_look=True)  # compile
        start = time.process_time()
        suffice.learn(log, settings=settings, second_look=True).save(log.parent / "local.model")
        found["local"] = {"cpu": time.process_time() - start}
        alone = (log.parent / "local.model").read_bytes()
        ray.init(
            address="local", num_cpus=2, include_dashboard=False, object_store_memory=200_000_000, log_to_driver=False,
            logging_level="ERROR",
        )  # fmt: skip
        found["latency"], found["runs"] = latency(ray), []
        start_up, _ = run(small, 1, ray)
        found["start_up"] = sum(start_up[part]["workers"][0] for part in ("reading", "learning"))
        for workers in WORKERS:
            one, model = run(log, workers, ray)
            assert model == alone, f"{workers} workers learned another model"
            found["runs"].append(one)
            print(json.dumps(one), flush=True)
        ray.shutdown()
    (HERE / "cluster.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    (HERE / "CLUSTER.md").write_text(table(found), encoding="utf-8")


if __name__ == "__main__":
    main()
