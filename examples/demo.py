"""A story in under a minute: make T-maze episodes, learn the automaton behind them, see what it remembers."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from suffice import Model, compare, make, minimal_rdp
from suffice.rdp import RDP, show

CUES = {(0, 1, 1): "north", (1, 1, 0): "south"}


def say(text: str) -> None:
    """A paragraph of the story."""
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def run(folder: Path, command: str) -> None:
    """Show a command, then its output."""
    print(f"$ suffice {command}", flush=True)
    subprocess.run([Path(sys.executable).parent / "suffice", *command.split()], cwd=folder, check=True)


def picture(rdp: RDP) -> str:
    """The layers as columns of states."""
    offsets, total = rdp.offsets(), rdp.counts[0].sum()
    rows = [" ".join(f"  t={t:<5}" for t in range(len(rdp.layers))).rstrip()]
    for place in range(max(rdp.layers)):
        cells = []
        for t, width in enumerate(rdp.layers):
            q = offsets[t] + place
            share = 1.0 if t == len(rdp.layers) - 1 else rdp.counts[min(q, rdp.n_states - 1)].sum() / total
            cells.append(f"({share:6.1%}) " if place < width else " " * 9)
        rows.append(" ".join(cells).rstrip())
    return "\n".join(rows)


def at_the_junction(rdp: RDP) -> None:
    """What the automaton knows where the agent sees only `010`."""
    for q, history in enumerate(rdp.typical_histories()):
        if not history or history[-1][1] != (0, 1, 0):
            continue
        cue = CUES[history[0][1]]  # type: ignore[index]
        print(f"  after {show(history)}")
        for action in ("N", "S"):
            outcome = rdp.outputs(q, action)
            mean = np.average([r for _, r, _ in outcome], weights=[k for _, _, k in outcome])
            print(f"    cue said {cue}: {action} brings {mean:+.1f} on average ({sum(k for *_, k in outcome)} times)")


def main() -> None:
    """Tell the story."""
    say("1. A T-maze: the cue seen at the start says where the goal is; nothing later does. What is there to be found?")
    run(Path.cwd(), "exact t-maze")
    say("2. 100,000 random episodes:")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(folder, "simulate t-maze --episodes 100000 --seed 1 -o log.parquet")
        say(
            "3. Learn the automaton that decides what happens next. (The first run compiles; that takes a while, once.)"
        )
        run(folder, "learn log.parquet -o maze.model")
        rdp = Model.load(folder / "maze.model").rdp
    difference = compare(rdp, minimal_rdp(make("t-maze", {}).model(5), horizon=5).rdp())
    found = "exactly the minimal one" if difference is None else f"not the minimal one: {difference.reason}"
    say(f"4. The automaton, layer by layer, with the share of the episodes in each state: {found}.")
    print(picture(rdp))
    say("5. What it remembers. At the junction the agent sees 010 whatever the goal; the states know the cue:")
    at_the_junction(rdp)
    say("Where next: suffice --help, README.md, docs/.")


if __name__ == "__main__":
    main()
