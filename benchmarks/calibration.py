"""How often verdicts and lower bounds are right, on processes with known values. Writes CALIBRATION.md.

`python benchmarks/calibration.py` runs every cell 200 times, which takes hours on two cores; `--runs 10` fewer. A cell
is a process, a number of episodes and a kind of memory: chosen by the data, which is the default, or with `--memory
layers cycle` given. Each run is one call of `suffice.learn` as a user makes it, and the exact value is that of the
policy in the model. Runs depend on their seed alone, go through all cells before the next seed, and are stored as soon
as they have ended: the command can be stopped and continued. `--fresh` begins again, as a change of the program needs.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from calibration_goals import report
from calibration_runs import MEMORIES, SIZES, STORED, UNFINISHED, append, cells, load, run_all, store

RESULTS = Path(__file__).parent / "CALIBRATION.md"


def main() -> None:
    """Run what is missing, store it and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=200, help="logs of each cell")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    parser.add_argument("--sizes", type=int, nargs="*", default=SIZES, help="numbers of episodes")
    parser.add_argument("--memory", nargs="*", choices=list(MEMORIES), default=["chosen"], help="kinds of memory")
    parser.add_argument("--workers", type=int, help="processes (default: one for each core)")
    parser.add_argument("--fresh", action="store_true", help="discard the stored runs")
    options = parser.parse_args()
    if options.fresh:
        for path in (STORED, UNFINISHED):
            path.unlink(missing_ok=True)
    chosen, seeds = cells(options.sizes, memories=options.memory), range(options.first, options.first + options.runs)
    runs = load()
    try:
        for one in run_all(chosen, seeds, runs, options.workers):
            append(one)
            runs.append(one)
            print(f"{len(runs):,} runs: {one.kind}, {one.episodes:,} episodes, seed {one.seed}", flush=True)
    finally:
        store(runs)
        RESULTS.write_text("\n".join(report(runs)) + "\n")


if __name__ == "__main__":
    main()
