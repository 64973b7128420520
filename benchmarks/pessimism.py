"""The experiment that chose the default strength c of safe planning. Writes PESSIMISM.md.

It uses ten domains and five sizes for which no other results are reported. The chosen strength has the fewest policies
that are worse than the behaviour policy by more than 1 % of the possible gain; ties go to the largest mean gain. Takes
a minute on two cores.
"""

from __future__ import annotations

from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np
from policies import truth_about

from suffice import Planning, adact_h, make, plan_on, refine
from suffice.lab.scoring import value_of

DOMAINS = (
    "symbol",
    "rotating-maze",
    "enemy-corridor",
    "cheat-mab",
    "malfunction-mab",
    "rotating-mab",
    "reset-rotating-mab",
    "memory-length",
    "repeat-first",
    "passive-t-maze",
)
SIZES = (50, 200, 500, 2_000, 5_000)
SEEDS = range(20)
STRENGTHS = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5)
RESULTS = Path(__file__).parent / "PESSIMISM.md"


def gains(job: tuple[str, int, int]) -> list[float]:
    """Return the gain of each strength over the behaviour policy, in units of V* − V_behaviour."""
    domain, episodes, seed = job
    truth, made = truth_about(domain, ""), make(domain)
    log = made.simulate(episodes, made.default_horizon, np.random.default_rng(seed))
    rdp = refine(adact_h(log), log).rdp
    values = [value_of(rdp, truth.model, plan_on(rdp, Planning(strength))) for strength in STRENGTHS]
    return [truth.gain(float(value.mean_return)) for value in values]


def main() -> None:
    """Run everything and write the table."""
    jobs = [(domain, episodes, seed) for domain in DOMAINS for episodes in SIZES for seed in SEEDS]
    with ProcessPoolExecutor(2) as pool:
        found = np.array(list(pool.map(gains, jobs, chunksize=20)))
    losses = np.count_nonzero(found < -0.01, axis=0)
    order = sorted(range(len(STRENGTHS)), key=lambda i: (losses[i], -found[:, i].mean()))
    rows = [
        f"| {c:g} | {losses[i]} | {found[:, i].mean():.3f} | {found[:, i].min():.2f} |" for i, c in enumerate(STRENGTHS)
    ]
    text = [
        "# Strength of safe planning",
        "",
        f"Safe planning on {', '.join(DOMAINS)},",
        f"from {', '.join(f'{n:,}' for n in SIZES)} episodes, {len(SEEDS)} seeds each ({len(jobs)} logs), by",
        "`python benchmarks/pessimism.py`. Gains over the behaviour policy are shares of the largest possible gain; a",
        "loss is a gain below −0.01.",
        "",
        "| strength c | losses | mean gain | smallest gain |",
        "|---|---|---|---|",
        *rows,
        "",
        f"Fewest losses: c = {STRENGTHS[order[0]]:g}.",
        "",
    ]
    RESULTS.write_text("\n".join(text), encoding="utf-8")
    print("\n".join(text))


if __name__ == "__main__":
    main()
