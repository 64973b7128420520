"""Time, peak memory and disk space of logs larger than memory, from 10⁶ to 10⁸ decisions. Writes OUTOFCORE.md.

`python benchmarks/outofcore.py` takes about ten minutes on two cores and 200 MB of disk. Every run has its own process,
so that its peak memory can be measured. Logs are simulated in chunks, and saved with `--logs FOLDER`.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np

from suffice import make, simulate, write_log
from suffice.data.episodes import Episodes
from suffice.data.loading import Reading, of_report
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.pieces import Pieces
from suffice.data.logs.reading import ReadOptions, read_as
from suffice.data.stored import StoredLog
from suffice.data.streaming import MemoryBudget, read_stored
from suffice.learning.adact_h import Settings
from suffice.models.api import learn_model
from suffice.models.choices import Choices

HERE: Final = Path(__file__).parent
DOMAINS: Final = ("t-maze", "mini-hall")
SIZES: Final = (10**6, 10**7, 10**8)
MEMORY: Final = 1_000_000_000
WHOLE: Final = 10**7  # decisions up to which a log is also read at once
THREADS: Final = 2
CHUNK: Final = 200_000  # episodes


def simulated(domain: str, decisions: int, path: Path) -> None:
    """Write a log with the given number of decisions, unless it exists."""
    if path.exists():
        return
    chosen = make(domain)
    horizon, rng = chosen.default_horizon, np.random.default_rng(0)
    model, episodes = chosen.model(horizon), decisions // horizon

    def chunks() -> Iterator[Episodes]:
        for begin in range(0, episodes, CHUNK):
            yield simulate(model, min(CHUNK, episodes - begin), horizon, rng)

    write_log(chunks(), path)


# ---------------------------------------------------------------- one run, in its own process


def timed(name: str, found: dict[str, Any], work: Callable[[], Any]) -> Any:
    """Return the result of a call, and record its wall-clock and CPU time."""
    clock, cpu = time.perf_counter(), time.process_time()
    result = work()
    found[name] = time.perf_counter() - clock
    found[f"{name} cpu"] = time.process_time() - cpu
    return result


def run(log: str, in_pieces: bool) -> dict[str, Any]:
    """Read a log and learn from it, after compilation."""
    found: dict[str, Any] = {}
    dataset, room, choices = (
        Dataset.of(log),
        MemoryBudget(MEMORY, THREADS),
        Choices(Settings(threads=THREADS, memory=MEMORY)),
    )
    assert dataset is not None
    warm_up(choices)
    if in_pieces:
        pieces = Pieces.of(dataset, ReadOptions(), room.rows)
        timed("scan", found, lambda: pieces.extent(0, len(dataset.units)))
        stored, report = timed("read", found, lambda: read_stored(dataset, ReadOptions(), room))
        reading = Reading(stored, report.encoder, report.notes)
    else:
        choices = Choices(Settings(threads=THREADS))
        reading = timed("read", found, lambda: of_report(*read_as(log, ReadOptions())))
    model, _ = timed("learn", found, lambda: learn_model(reading, choices))
    spool = os.fstat(reading.episodes.file.fileno()).st_size if isinstance(reading.episodes, StoredLog) else 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    about = {
        "rows": dataset.rows,
        "states": model.rdp.n_states,
        "letters": len(model.rdp.letters),
        "hash": model.rdp.tau.tobytes().hex(),
    }
    return found | about | {"peak": peak, "spool": spool, "file": sum(f.stat().st_size for f in dataset.files)}


def warm_up(choices: Choices) -> None:
    """Compile everything that a run uses."""
    with tempfile.TemporaryDirectory() as folder:
        small = Path(folder) / "small.parquet"
        simulated("t-maze", 5000, small)
        dataset = Dataset.of(small)
        assert dataset is not None
        stored, report = read_stored(dataset, ReadOptions(), MemoryBudget(MEMORY, THREADS))
        learn_model(Reading(stored, report.encoder, report.notes), choices)
        learn_model(of_report(*read_as(small, ReadOptions())), choices)


# ---------------------------------------------------------------- all runs


def all_runs(folder: Path) -> Iterator[tuple[str, int, bool, dict[str, Any]]]:
    for domain in DOMAINS:
        for decisions in SIZES:
            log = folder / f"{domain}-{decisions}.parquet"
            simulated(domain, decisions, log)
            for in_pieces in (True, False)[: 1 + (decisions <= WHOLE)]:
                command = [sys.executable, __file__, "--run", str(log), *(["--in-pieces"] if in_pieces else [])]
                yield domain, decisions, in_pieces, json.loads(subprocess.check_output(command))


def report(runs: list[tuple[str, int, bool, dict[str, Any]]], load: float) -> str:
    """The text of OUTOFCORE.md."""
    lines = [
        "# Logs larger than memory",
        "",
        "Written by `python benchmarks/outofcore.py`: reading in pieces, two threads, `--memory 1GB`; *at once* is the",
        "default reading, for comparison. Wall-clock seconds and, in brackets, CPU seconds, after compilation; the",
        f"scan of ids is part of reading. The machine has two cores, and its load was {load:.0f} with these runs.",
        "Peak is that of the whole process; *steps* is the temporary file.",
        "",
        "| log | decisions | read | scan s | read s | learn s | CPU per 10⁶ | peak MB | log MB | steps MB | states |",
        "|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for domain, decisions, in_pieces, f in runs:
        cells = [
            f"{domain}, {f['letters']} letters", f"{decisions:,}", "in pieces" if in_pieces else "at once",
            seconds(f, "scan") if in_pieces else "", seconds(f, "read"), seconds(f, "learn"),
            f"{cost(f):.2f} s", f"{f['peak'] / 1e6:,.0f}", f"{f['file'] / 1e6:.1f}",
            f"{f['spool'] / 1e6:.0f}" if in_pieces else "", str(f["states"]),
        ]  # fmt: skip
        lines.append(f"| {' | '.join(cells)} |")
    lines.append("")
    for domain in DOMAINS:
        mine = {decisions: f for d, decisions, in_pieces, f in runs if d == domain and in_pieces}
        *_, before, last = sorted(mine)
        ratio = cost(mine[last]) / cost(mine[before])
        lines.append(
            f"- {domain}: CPU time per decision with {last:,} decisions is {ratio:.2f} times that with {before:,}."
        )
        for decisions, f in mine.items():
            whole = [g for d, n, in_pieces, g in runs if (d, n, in_pieces) == (domain, decisions, False)]
            assert all(g["hash"] == f["hash"] for g in whole), "both ways of reading give the same automaton"
    return "\n".join(lines) + "\n"


def seconds(found: dict[str, Any], name: str) -> str:
    return f"{found[name]:.1f} ({found[f'{name} cpu']:.1f})"


def cost(found: dict[str, Any]) -> float:
    """Return the CPU seconds per million decisions."""
    return 1e6 * float(found["read cpu"] + found["learn cpu"]) / float(found["rows"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--logs", type=Path, metavar="FOLDER", help="folder to save logs in; default: they are deleted")
    parser.add_argument("--into", type=Path, default=HERE, metavar="FOLDER", help="folder of OUTOFCORE.md")
    parser.add_argument("--run", metavar="LOG", help=argparse.SUPPRESS)
    parser.add_argument("--in-pieces", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.run:
        print(json.dumps(run(given.run, given.in_pieces)))
        return
    with tempfile.TemporaryDirectory() as folder:
        runs = []
        for one in all_runs(given.logs or Path(folder)):
            print(one[:3], {name: value for name, value in one[3].items() if name != "hash"}, flush=True)
            runs.append(one)
    (given.into / "OUTOFCORE.md").write_text(report(runs, os.getloadavg()[1]), encoding="utf-8")


if __name__ == "__main__":
    main()
