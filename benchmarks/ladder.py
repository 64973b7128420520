"""Measure whether more episodes hurt: nested logs of every domain, learned with default settings. Writes LADDER.md.

`python benchmarks/ladder.py` continues where it stopped; each line of `ladder.jsonl` is one run. All domains, twenty
seeds and sizes up to a million take days on one core, so `--seeds`, `--most`, `--domains` and `--seconds` (of CPU time)
limit what is run. The page shows what was run.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

from suffice.domains.registry import DOMAINS, make
from suffice.lab.ladder import SIZES, Rung, climb, falls

FIRST_SEED = 400
RUNS, PAGE = Path(__file__).parent / "ladder.jsonl", Path(__file__).parent / "LADDER.md"
HEAD = """# Whether more episodes hurt

Written by `python benchmarks/ladder.py`. Logs of a domain with its default options and horizon are nested: each is the
beginning of the next. `learn` has its default settings. The *share* is the exact gain of the plan over the behaviour
policy, of the possible gain. Cells: mean share, smallest share, and the number of seeds. Empty cells were not run.

"""


def finished() -> list[Rung]:
    """Read the runs so far."""
    lines = RUNS.read_text(encoding="utf-8").splitlines() if RUNS.exists() else []
    return [Rung(**json.loads(line)) for line in lines]


def run(domain: str, seed: int, sizes: list[int]) -> None:
    """Climb the ladder of one domain and seed, and store each rung."""
    with RUNS.open("a", encoding="utf-8") as file:
        for rung in climb(domain, make(domain).default_horizon, seed, sizes):
            file.write(json.dumps(rung._asdict()) + "\n")
            file.flush()


def page(rungs: list[Rung]) -> str:
    """Return the page: a table of shares, and what fell."""
    sizes = sorted({rung.episodes for rung in rungs})
    lines = ["| domain | " + " | ".join(f"{n:,}" for n in sizes) + " |", "|---" * (len(sizes) + 1) + "|"]
    for domain in DOMAINS:
        cells = []
        for n in sizes:
            shares = [rung.share for rung in rungs if (rung.domain, rung.episodes) == (domain, n)]
            mean = sum(shares) / max(len(shares), 1)
            cells.append(f"{mean:.3f}, {min(shares):.3f}, {len(shares)}" if shares else "")
        if any(cells):
            lines.append(f"| {domain} | " + " | ".join(cells) + " |")
    found = falls(rungs)
    lines += ["", "The mean may fall by 0.01 from a size to the next, and a seed with 0.99 must keep 0.97."]
    lines += ["", *(f"- {fall}" for fall in found)] if found else ["No fall was larger."]
    return HEAD + "\n".join(lines) + "\n"


def main() -> None:
    """Run what is asked for and not finished, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--domains", default=",".join(DOMAINS))
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--most", type=int, default=SIZES[-1])
    parser.add_argument("--seconds", type=float, default=float("inf"))
    asked = parser.parse_args()
    sizes = [n for n in SIZES if n <= asked.most]
    for seed in range(FIRST_SEED, FIRST_SEED + asked.seeds):
        for domain in asked.domains.split(","):
            done = {rung.episodes for rung in finished() if (rung.domain, rung.seed) == (domain, seed)}
            left = [n for n in sizes if n not in done]
            if left and time.process_time() < asked.seconds:
                run(domain, seed, left)
                PAGE.write_text(page(finished()), encoding="utf-8")
    PAGE.write_text(page(finished()), encoding="utf-8")


if __name__ == "__main__":
    main()
