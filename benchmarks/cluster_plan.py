"""How long 10¹¹ steps would take on 100 machines: a simulation of the run, from what steps cost here (`cluster.json`).

    python benchmarks/cluster_plan.py       # prints the table of docs/howto/cluster.md

The run is gone through layer by layer. A layer lasts until the slowest machine has passed over what is left of its
episodes, and until whoever asks has taken in all answers. Machines differ by chance from layer to layer, and die at
random: then others take over their workers, which read their parts again and walk all steps so far before they answer.
What is assumed rather than measured is in `Cluster`, and said on the page.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

MEASURED: dict[str, Any] = json.loads((Path(__file__).parent / "cluster.json").read_text(encoding="utf-8"))
SEEDS = range(20)
LIVES = {"unlimited": float("inf"), "a day": 1.0, "an hour": 1 / 24}  # of a machine, in days
BYTES_OF_A_THREAD, BYTES_ITSELF, BYTES_AN_EPISODE = 64e6, 320e6, 4


@dataclass(frozen=True)
class Log:
    """What there is to learn from."""

    steps: float = 1e11
    horizon: int = 100

    @property
    def episodes(self) -> float:
        """N."""
        return self.steps / self.horizon


@dataclass(frozen=True)
class Cluster:
    """Where; none of this was measured."""

    machines: int = 100
    cores: int = 16
    workers: int = 1  # of each machine, which share its cores
    gigabits: float = 10.0  # a second, of the machine that asks
    efficiency: float = 0.7  # of 16 threads, against 16 times one
    spread: float = 0.1  # of a machine's speed, from layer to layer
    days: float = float("inf")  # that a machine lives, on average
    notice: float = 10.0  # seconds until Ray knows that a machine is gone


@dataclass(frozen=True)
class Costs:
    """Seconds and bytes, as measured here."""

    costs: dict[str, float] = field(default_factory=lambda: MEASURED["costs"])

    def of(self, kind: str) -> float:
        """Seconds for one step."""
        return self.costs[kind] * 1e-9

    @property
    def start(self) -> float:
        """Of a worker."""
        return float(MEASURED["start_up"])

    @property
    def asking(self) -> tuple[float, float]:
        """Seconds a layer of who asks: in any case, and more for each worker."""
        one, *_, many = MEASURED["runs"]
        more = (many["learning"]["asker"] - one["learning"]["asker"]) / (many["workers"] - 1) / many["passes"]
        return one["learning"]["asker"] / one["passes"] - more, more

    def moved(self, look: int) -> tuple[float, float]:
        """Bytes of a layer: to every machine, and from every worker."""
        run = MEASURED["runs"][-1]
        half = run["passes"] // 2
        part = slice(look * half, (look + 1) * half)
        return float(np.mean(run["bytes_out"][part])), float(np.mean(run["bytes_back"][part]))


@dataclass
class Run:
    """A run as it goes: which machine each worker is on, and the time."""

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
        self.share = self.log.steps / len(self.place)  # steps of a worker

    def go(self) -> tuple[float, float, float]:
        """Seconds until it has read, looked, and looked again."""
        ends = []
        self.clock += self.costs.start
        self.layer(self.share * (self.costs.of("ids") + self.costs.of("read")), 0.0, 0.0)
        ends.append(self.clock)
        for look, kind in enumerate(("count", "again")):
            out, back = self.costs.moved(look)
            before = 0.0  # steps passed over by a worker so far
            for t in range(self.log.horizon + 1):
                visits = self.share * (self.log.horizon - t + 1) / (self.log.horizon + 1)
                moved = (out * self.cluster.machines + back * len(self.place)) / (self.cluster.gigabits * 1e9 / 8)
                self.layer(visits * self.costs.of(kind), before * self.costs.of("walk"), moved)
                before += visits
            ends.append(self.clock)
        return ends[0], ends[1], ends[2]

    def layer(self, work: float, caught_up: float, moved: float) -> None:
        """All workers do so much work; who takes another's place first does all that went before."""
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
        """When the others have done what a machine leaves undone."""
        c, orphans = self.cluster, np.flatnonzero(self.place == machine)
        self.alive[machine], self.lost = False, self.lost + 1
        hosts = np.flatnonzero(self.alive)
        hosts = hosts[np.argsort(np.bincount(self.place, minlength=c.machines)[hosts], kind="stable")]
        self.place[orphans] = hosts[np.arange(len(orphans)) % len(hosts)]
        read = self.share * (self.costs.of("ids") + self.costs.of("read"))
        speed = c.cores / c.workers * c.efficiency  # a worker has no more threads than before
        busiest = np.bincount(self.place[orphans], minlength=c.machines).max()
        again = self.costs.start + busiest * (read + caught_up + work) / speed
        return float(self.dies[machine] + c.notice + again)


def memory(log: Log, cluster: Cluster) -> float:
    """Bytes of a worker: itself, what its threads work on, where its episodes are; and its steps, in a file."""
    workers = cluster.machines * cluster.workers
    kept = MEASURED["costs"]["bytes_kept"] * log.steps * (log.horizon + 1) / log.horizon / workers
    return (
        BYTES_ITSELF
        + BYTES_OF_A_THREAD * cluster.cores / cluster.workers
        + BYTES_AN_EPISODE * log.episodes / workers
        + kept
    )


def table(log: Log | None = None, cluster: Cluster | None = None) -> str:
    """Minutes until the log is read, looked at and looked at again, for some ways to divide it and some bad luck."""
    log, cluster = log or Log(), cluster or Cluster()
    lines = [
        "| workers × threads per machine | GB per worker | mean life of a machine | machines lost | reading: min "
        "| AdaCT-H pass: min | refinement: min | total, worst case: min |",
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
