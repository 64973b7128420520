"""Speed and memory compared with AALpy, FlexFringe and np.bincount, and by size; `make bench` writes RESULTS.md.

Timings are noisy, so every claim is a ratio of two measurements of the same run, each the best of several tries.
"""

from __future__ import annotations

import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from measure import counting, cpu_seconds, peak_bytes, wall_seconds

from suffice import read_log
from suffice.data.episodes import Episodes
from suffice.data.logs.writing import write_log
from suffice.domains.registry import make
from suffice.domains.simulation import simulate, stream
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.domains.tasks.t_maze import TMaze
from suffice.evidence.bounds import PAPER
from suffice.evidence.language_counts import LanguageCounts
from suffice.evidence.prefix_sketch import PrefixSketches
from suffice.evidence.prefix_tree import PrefixCounts
from suffice.lab.peers.alergia import aalpy
from suffice.lab.peers.best_settings import best_eps
from suffice.lab.peers.flexfringe import HEURISTICS, find_flexfringe, flexfringe
from suffice.lab.resources import cpu_time
from suffice.learning.adact_h import Learned, Settings, adact_h
from suffice.learning.stationary.learner import learn_stationary
from suffice.planning.regorl import regorl

HERE = Path(__file__).parent
HORIZON = 15
DOMAINS = {"t-maze (length 5)": TMaze(length=5), "mini-hall": MiniHall()}
PAPERS_DOMAINS = ["corridor", "t-maze", "cookie", "cheese", "mini-hall"]
LANGUAGES = Settings(LanguageCounts())


@dataclass(frozen=True, slots=True)
class Result:
    """A claim, its measurement, and the limit it must keep."""

    claim: str
    domain: str
    measured: float
    limit: str
    kept: bool
    detail: str


def episodes_of(domain: str, n: int) -> Episodes:
    """Simulate the episodes that all measurements use."""
    return DOMAINS[domain].simulate(n, HORIZON, np.random.default_rng(1))


def against_alergia(domain: str) -> Iterator[Result]:
    """Compare with AALpy on the same episodes, with its best settings (`suffice.lab.peers.best_settings`)."""
    episodes = episodes_of(domain, 100_000)
    ours, learned = cpu_seconds(episodes, LANGUAGES)
    machine = aalpy(episodes, best_eps(domain.partition(" ")[0]))
    theirs, states = machine.took.seconds, machine.n_states
    ratio = theirs / ours
    detail = f"{ours:.3f} s, {learned.rdp.n_states} states; AALpy {theirs:.2f} s, {states} states"
    yield Result("times faster than AALpy's run_Alergia, 10⁵ episodes", domain, ratio, "≥ 50", ratio >= 50, detail)


def against_histogram(domain: str) -> Iterator[Result]:
    """Compare with np.bincount over N ids once per layer, the cost of a histogram; and measure a second thread."""
    episodes = episodes_of(domain, 1_000_000)
    ids = np.random.default_rng(0).integers(0, 100, episodes.n)
    start = time.process_time()
    for _ in range(5 * (HORIZON + 1)):
        np.bincount(ids)
    histogram = (time.process_time() - start) / 5
    ours, _ = cpu_seconds(episodes, LANGUAGES)
    detail = f"{ours:.3f} s of {histogram:.4f} s, {1e9 * ours / episodes.word.size:.1f} ns per step"
    ratio = ours / histogram
    yield Result(
        "times the CPU time of one np.bincount per layer, 10⁶ episodes", domain, ratio, "≤ 20", ratio <= 20, detail
    )
    alternatives = [Settings(LanguageCounts(), threads=threads) for threads in (1, 2)]
    runs: list[tuple[str, Callable[[Episodes, Settings], object], float]] = [
        ("counting", counting(episodes, LANGUAGES), 1.6),
        ("AdaCT-H", adact_h, 1.4),  # a third of it is merging, which is single-threaded
        ("AdaCT-H, refinement, plan and prediction", regorl, 1.4),
    ]
    for what, run, least in runs:
        one, two = wall_seconds(run, episodes, alternatives)
        detail = f"{one:.3f} s and {two:.3f} s wall-clock, {episodes.word.size / 1e6:.0f} million steps"
        kept = one / two >= least
        yield Result(f"times faster with two threads: {what}", domain, one / two, f"≥ {least}", kept, detail)


def scaling(domain: str) -> Iterator[Result]:
    """Fit the slope of log time over log episodes by least squares."""
    sizes = [10**4, 10**5, 10**6, 10**7]
    times = [cpu_seconds(episodes_of(domain, n), LANGUAGES, 5 if n < 10**7 else 2)[0] for n in sizes]
    slope = float(np.polyfit(np.log(sizes), np.log(times), 1)[0])
    detail = ", ".join(f"{t:.3f} s" for t in times)
    yield Result("slope of log–log time from 10⁴ to 10⁷ episodes", domain, slope, "≤ 1.05", slope <= 1.05, detail)


def memory(domain: str) -> Iterator[Result]:
    """Measure the peak above the encoded log, in bytes per step."""
    episodes = episodes_of(domain, 1_000_000)
    peak = peak_bytes(episodes, LANGUAGES) / episodes.word.size
    detail = f"the log itself has {episodes.nbytes / episodes.word.size:.2f}"
    yield Result("bytes per step above the encoded log, 10⁶ episodes", domain, peak, "≤ 40", peak <= 40, detail)


def prefixes(domain: str) -> Iterator[Result]:
    """Compare exact prefixes with languages, and sketches with exact prefixes under the paper's bound."""
    episodes = episodes_of(domain, 100_000)
    languages, _ = cpu_seconds(episodes, LANGUAGES)
    exact, _ = cpu_seconds(episodes, Settings(PrefixCounts()))
    exact_paper, _ = cpu_seconds(episodes, Settings(PrefixCounts(), PAPER))
    sketch, _ = cpu_seconds(episodes, Settings(PrefixSketches()))
    detail = f"{exact:.3f} s of {languages:.3f} s"
    ratio = exact / languages
    yield Result("times the languages' time: exact prefixes, 10⁵ episodes", domain, ratio, "≤ 10", ratio <= 10, detail)
    ratio, detail = sketch / exact_paper, f"{sketch:.3f} s of {exact_paper:.3f} s, both with the paper's bound"
    yield Result("times exact prefixes' time: sketch, 10⁵ episodes", domain, ratio, "≤ 5", ratio <= 5, detail)


def prefix_memory(domain: str) -> Iterator[Result]:
    """Compare the memory of exact prefixes and sketches for growing data."""
    for n in (10**4, 10**5, 10**6):
        episodes = episodes_of(domain, n)
        exact, sketch = (peak_bytes(episodes, Settings(s, PAPER)) for s in (PrefixCounts(), PrefixSketches()))
        detail = f"{exact / 1e6:.0f} MB exact, {sketch / 1e6:.0f} MB sketch"
        claim = f"sketch's peak memory over exact prefixes', {n:,} episodes"
        yield Result(claim, domain, sketch / exact if exact else math.nan, "reported", True, detail)


def against_flexfringe(domain: str) -> Iterator[Result]:
    """Compare the stationary learner with FlexFringe on the same episodes, if it is installed."""
    binary = find_flexfringe()
    if binary is None:
        return
    episodes = simulate_case(domain, HORIZON, 100_000)
    ours, learned = stationary_seconds(episodes)
    theirs = flexfringe(episodes, binary, HEURISTICS["likelihood-ratio"])
    detail = f"{ours:.3f} s, {learned.rdp.n_states} states; FlexFringe {theirs.took.seconds:.2f} s, {theirs.n_states}"
    ratio, claim = (
        theirs.took.seconds / ours,
        "times faster than FlexFringe's likelihood ratio, stationary, 10⁵ episodes",
    )
    yield Result(claim, domain, ratio, "≥ 50", ratio >= 50, detail)


def many_states(domain: str) -> Iterator[Result]:
    """Compare stationary automata of 203 and 43 states, from four times as many steps."""
    few, many = (stationary_seconds(simulate_case(f"{domain} length={n}", n + 4, 1000)) for n in (20, 100))
    detail = f"{many[0]:.2f} s of {few[0]:.3f} s, {many[1].rdp.n_states} and {few[1].rdp.n_states} states"
    ratio = many[0] / few[0]
    yield Result("times the CPU time of 43 states: 203 states", domain, ratio, "≤ 5", ratio <= 5, detail)


def reading(domain: str) -> Iterator[Result]:
    """Measure the time to read a log of seven columns, and that of Parquet itself."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.parquet"
        write_log(simulate_case(domain, HORIZON, 200_000), log)
        rows = pq.read_metadata(log).num_rows
        ours, parquet = (
            min(cpu_time(run)[1] for _ in range(5)) / rows * 1e9
            for run in (lambda: read_log(log), lambda: pq.read_table(log, use_threads=False))
        )
    claim, detail = "ns to read a decision of seven columns", f"Parquet itself {parquet:.0f} ns"
    yield Result(claim, domain, ours, "≤ 80", ours <= 80, detail)


def simulate_case(case: str, horizon: int, n: int) -> Episodes:
    """Simulate a domain, named with its options."""
    name, *options = case.split()
    chosen = make(name, dict(option.split("=") for option in options))
    return simulate(chosen.model(horizon), n, horizon, np.random.default_rng(1))


def stationary_seconds(episodes: Episodes) -> tuple[float, Learned]:
    """Return the smallest time of several runs of the stationary learner, with the compiler warm."""
    learned = learn_stationary(episodes)
    return min(cpu_time(lambda: learn_stationary(episodes))[1] for _ in range(3)), learned


def simulating(domain: str) -> Iterator[Result]:
    """Measure the steps simulated and written as Parquet per second of CPU time."""
    made = make(domain, {})
    horizon = made.default_horizon
    model = made.model(horizon)
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "log.parquet"

        def million_steps_a_second(n: int) -> float:
            start = time.process_time()
            write_log(stream(model, n, horizon, np.random.default_rng(0)), log)
            return n * horizon / (time.process_time() - start) / 1e6

        million_steps_a_second(1000)  # compiles
        speed = max(million_steps_a_second(5_000_000 // horizon) for _ in range(3))
        start = time.process_time()
        simulate(model, 5_000_000 // horizon, horizon, np.random.default_rng(0))
        detail = f"{5 / (time.process_time() - start):.0f} million without writing"
    yield Result("million steps per second and core, written", domain, speed, "≥ 3", speed >= 3, detail)


def help_time(domain: str) -> Iterator[Result]:
    """Measure the time until the command prints its help."""
    del domain
    times = []
    for _ in range(10):
        start = time.perf_counter()
        subprocess.run([Path(sys.executable).parent / "suffice", "--help"], check=True, capture_output=True)
        times.append(time.perf_counter() - start)
    best = min(times)
    yield Result(
        "seconds until `suffice --help` has finished", "–", best, "≤ 0.3", best <= 0.3, "best of 10, wall-clock"
    )


SUITES: dict[str, tuple[Callable[[str], Iterator[Result]], list[str]]] = {
    "alergia": (against_alergia, list(DOMAINS)),
    "histogram": (against_histogram, list(DOMAINS)),
    "scaling": (scaling, list(DOMAINS)),
    "memory": (memory, list(DOMAINS)),
    "prefixes": (prefixes, list(DOMAINS)),
    "prefix-memory": (prefix_memory, list(DOMAINS)),
    "flexfringe": (against_flexfringe, ["t-maze length=4 cue_visible=true", "t-maze length=5", "mini-hall"]),
    "states": (many_states, ["t-maze actions=east"]),
    "reading": (reading, ["t-maze length=5"]),
    "simulate": (simulating, PAPERS_DOMAINS),
    "help": (help_time, ["–"]),
}


def in_fresh_process(suite: str, domain: str) -> list[Result]:
    """Run a suite in a new process, so that memory and caches of others do not affect it."""
    done = subprocess.run([sys.executable, __file__, suite, domain], check=True, capture_output=True, text=True)
    return [Result(**row) for row in json.loads(done.stdout)]


def write_results(results: list[Result]) -> None:
    """Write the results as a table and as JSON."""
    lines = [
        "# Benchmarks",
        "",
        f"Written by `make bench` on {os.cpu_count()} cores, Python {platform.python_version()}; horizon {HORIZON}, "
        "uniform policy, default settings, after compilation. CPU time unless wall-clock time is stated.",
        "",
        "| claim | domain | measured | limit | |",
        "|---|---|---|---|---|",
    ]
    for r in results:
        missed = "" if r.kept else "**missed** "
        lines.append(f"| {r.claim} | {r.domain} | {r.measured:.3g} | {r.limit} | {missed}{r.detail} |")
    (HERE / "RESULTS.md").write_text("\n".join(lines) + "\n")
    (HERE / "results.json").write_text(json.dumps([asdict(r) for r in results], ensure_ascii=False, indent=1) + "\n")


def main() -> None:
    """Run all suites and write the results, or print one suite of one domain as JSON."""
    if len(sys.argv) == 3:
        print(json.dumps([asdict(r) for r in SUITES[sys.argv[1]][0](sys.argv[2])]))
        return
    wanted = sys.argv[1:] or list(SUITES)
    results = []
    for suite in wanted:
        for domain in SUITES[suite][1]:
            for result in in_fresh_process(suite, domain):
                results.append(result)
                mark, what = "  " if result.kept else "✗ ", f"{result.claim} · {result.domain}"
                print(f"{mark}{result.measured:8.3g}  {result.limit:9} {what} ({result.detail})")
    if wanted == list(SUITES):
        write_results(results)
    sys.exit(not all(r.kept for r in results))


if __name__ == "__main__":
    main()
