"""Simulation of a run on 10¹¹ steps with 100 machines, from the measured costs of steps (`cluster.json`).

    python benchmarks/cluster_plan.py       # prints the table of docs/howto/cluster.md

The run is simulated layer by layer. A layer lasts until the slowest machine has passed over the remaining steps of its
episodes and the driver process has received all results. The speed of machines varies randomly between layers, and
machines fail at random; then others take over their workers, which read their parts again and walk all previous steps.
Assumptions that were not measured are in `Cluster` and stated on the page.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

MEASURED: dict[str, Any] = json.loads((Path(__file__).parent / "cluster.json").read_text(encoding="utf-8"))
SEEDS = range(20)
LIVES = {"never": float("inf"), "a day": 1.0, "an hour": 1 / 24}  # mean time to failure of a machine, in days
BYTES_OF_A_THREAD, BYTES_ITSELF, BYTES_AN_EPISODE = 64e6, 320e6, 4


@dataclass(frozen=True)
class Log:
    """Size of the log to learn from."""

    steps: float = 1e11
    horizon: int = 100

    @property
    def episodes(self) -> float:
        """Number of episodes in the log."""
        return self.steps / self.horizon


@dataclass(frozen=True)
class Cluster:
    """Assumed properties of the cluster; none of them was measured."""

    machines: int = 100
    cores: int = 16
    workers: int = 1  # per machine, sharing its cores
    gigabits: float = 10.0  # per second, network of the driver
    efficiency: float = 0.7  # speed of 16 threads relative to 16 times one
    spread: float = 0.1  # variation of a machine's speed between layers
    days: float = float("inf")  # mean time to failure of a machine
    notice: float = 10.0  # seconds until Ray detects a failure


@dataclass(frozen=True)
class Costs:
    """Measured seconds and bytes of a step."""

    costs: dict[str, float] = field(default_factory=lambda: MEASURED["costs"])

    def of(self, kind: str) -> float:
        """Return the seconds of one step."""
        return self.costs[kind] * 1e-9

    @property
    def start(self) -> float:
        """Seconds until a worker has started."""
        return float(MEASURED["start_up"])

    @property
    def asking(self) -> tuple[float, float]:
        """Seconds of the driver per layer: a constant, and an addition per worker."""
        one, *_, many = MEASURED["runs"]
        more = (many["learning"]["asker"] - one["learning"]["asker"]) / (many["workers"] - 1) / many["passes"]
        return one["learning"]["asker"] / one["passes"] - more, more

    def moved(self, look: int) -> tuple[float, float]:
        """Return the bytes of a layer sent to every machine and received from every worker."""
        run = MEASURED["runs"][-1]
        half = run["passes"] // 2
        part = slice(look * half, (look + 1) * half)
        return float(np.mean(run["bytes_out"][part])), float(np.mean(run["bytes_back"][part]))


@dataclass
class Run:
    """State of a simulated run: the machine of each worker, and the time."""

    log: Log
    cluster: Cluster
    rng: np.random.Generator
    costs: Costs = field(default_factory=Costs)
    clock: float = 0.0
    lost: int = 0

    def __post_init__(self) -> None:
        c = self.cluster
        self.place = np.repeat(np.arange(c.machines), c.workers)
        self.alive = np.ones(c.machines, bool)
        self.dies = (
            self.rng.exponential(c.days * 86400, c.machines) if np.isfinite(c.days) else np.full(c.machines, np.inf)
        )
        self.share = self.log.steps / len(self.place)  # steps per worker

    def go(self) -> tuple[float, float, float]:
        """Return the seconds after reading, after learning, and after refinement."""
        ends = []
        self.clock += self.costs.start
        self.layer(self.share * (self.costs.of("ids") + self.costs.of("read")), 0.0, 0.0)
        ends.append(self.clock)
        for look, kind in enumerate(("count", "again")):
            out, back = self.costs.moved(look)
            before = 0.0  # steps that a worker has passed over so far
            for t in range(self.log.horizon + 1):
                visits = self.share * (self.log.horizon - t + 1) / (self.log.horizon + 1)
                moved = (out * self.cluster.machines + back * len(self.place)) / (self.cluster.gigabits * 1e9 / 8)
                self.layer(visits * self.costs.of(kind), before * self.costs.of("walk"), moved)
                before += visits
            ends.append(self.clock)
        return ends[0], ends[1], ends[2]

    def layer(self, work: float, caught_up: float, moved: float) -> None:
        """Simulate one layer; a worker that replaces another first repeats all previous work."""
        c, base = self.cluster, self.costs.asking
        speed = c.cores * c.efficiency * np.exp(self.rng.normal(0, c.spread, c.machines))
        needed = np.bincount(self.place, minlength=c.machines) * work / speed
        end = self.clock + float(needed.max())
        while (first := int(np.argmin(np.where(self.alive, self.dies, np.inf)))) >= 0:
            if not self.alive[first] or self.dies[first] > end:
                break
            end = max(end, self._lose(first, work, caught_up))
        self.clock = end + moved + base[0] + base[1] * len(self.place)

    def _lose(self, machine: int, work: float, caught_up: float) -> float:
        """Return when other machines have finished the work of a failed machine."""
        c, orphans = self.cluster, np.flatnonzero(self.place == machine)
        self.alive[machine], self.lost = False, self.lost + 1
        hosts = np.flatnonzero(self.alive)
        hosts = hosts[np.argsort(np.bincount(self.place, minlength=c.machines)[hosts], kind="stable")]
        self.place[orphans] = hosts[np.arange(len(orphans)) % len(hosts)]
        read = self.share * (self.costs.of("ids") + self.costs.of("read"))
        speed = c.cores / c.workers * c.efficiency  # a worker keeps its number of threads
        busiest = np.bincount(self.place[orphans], minlength=c.machines).max()
        again = self.costs.start + busiest * (read + caught_up + work) / speed
        return float(self.dies[machine] + c.notice + again)


def memory(log: Log, cluster: Cluster) -> float:
    """Return the bytes of a worker: process, buffers of threads, index of episodes, and steps in a file."""
    workers = cluster.machines * cluster.workers
    kept = MEASURED["costs"]["bytes_kept"] * log.steps * (log.horizon + 1) / log.horizon / workers
    return (
        BYTES_ITSELF
        + BYTES_OF_A_THREAD * cluster.cores / cluster.workers
        + BYTES_AN_EPISODE * log.episodes / workers
        + kept
    )


def table(log: Log | None = None, cluster: Cluster | None = None) -> str:
    """Return a table of minutes for different numbers of workers and rates of failure."""
    log, cluster = log or Log(), cluster or Cluster()
    lines = [
        "| workers × threads per machine | GB per worker | a machine fails after | machines lost | reading: min "
        "| learning: min | refinement: min | total, worst case: min |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for workers in (1, 4, 16):
        for lives, days in LIVES.items():
            here = replace(cluster, workers=workers, days=days)
            runs = [Run(log, here, np.random.default_rng(seed)) for seed in SEEDS]
            ends = np.array([run.go() for run in runs]) / 60
            read, first, second = np.median(ends, axis=0)
            lost = np.mean([run.lost for run in runs])
            lines.append(
                f"| {workers} × {here.cores // workers} | {memory(log, here) / 1e9:.1f} | {lives} | {lost:.1f} "
                f"| {read:.1f} | {first - read:.1f} | {second - first:.1f} | {ends[:, 2].max():.1f} |"
            )
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
