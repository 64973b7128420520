"""A demonstration in under a minute: simulate T-maze episodes, learn their automaton, plan, and evaluate the plan."""

from __future__ import annotations

import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from suffice import Model
from suffice.automata.histories import show

ROOT = Path(__file__).resolve().parent.parent


def say(text: str) -> None:
    """Print a heading of the demonstration."""
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def run(folder: Path, command: str) -> None:
    """Print a command, then its output."""
    print(f"$ suffice {command}", flush=True)
    subprocess.run([Path(sys.executable).parent / "suffice", *shlex.split(command)], cwd=folder, check=True)


def picture(model: Model) -> str:
    """Draw the layers as columns of states, each with its share of the episodes and the action of the plan."""
    rdp, plan = model.rdp, model.required_plan()
    offsets, total = rdp.offsets(), rdp.counts[0].sum()
    rows = [" ".join(f"  t={t:<7}" for t in range(len(rdp.layers) - 1)).rstrip()]
    for place in range(max(rdp.layers)):
        cells = []
        for t, width in enumerate(rdp.layers[:-1]):
            q = offsets[t] + place
            if place >= width:
                cells.append(" " * 11)
                continue
            action = rdp.alphabet.actions[plan.actions[q]] if plan.actions[q] >= 0 else "·"
            cells.append(f"({rdp.counts[q].sum() / total:6.1%} {action})")
        rows.append(" ".join(cells).rstrip())
    return "\n".join(rows)


def at_the_junction(model: Model) -> None:
    """Print the action of the plan in the states where the agent sees `010`."""
    rdp, plan = model.rdp, model.required_plan()
    for q, history in enumerate(rdp.typical_histories()):
        if history and history[-1][1] == (0, 1, 0):
            action = rdp.alphabet.actions[plan.actions[q]] if plan.actions[q] >= 0 else "any action"
            print(f"  after {show(history)}\n    take {action}, expected return {plan.values[q]:+.1f}")


def draw(folder: Path) -> None:
    """Write a picture of the automaton and an explorer page to build/demo."""
    made = ROOT / "build" / "demo"
    made.mkdir(parents=True, exist_ok=True)
    run(folder, f"draw maze.model -o {shlex.quote(str(made / 'maze.svg'))}")
    run(folder, f"explore maze.model -o {shlex.quote(str(made / 'maze.html'))}")


def main() -> None:
    """Run the demonstration step by step."""
    say("1. A T-maze: only the first observation, the cue, shows where the goal is. Exact results for this domain:")
    run(Path.cwd(), "exact t-maze")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        say("2. Simulate 100,000 random episodes. One in a thousand reaches the goal:")
        run(folder, "simulate t-maze --episodes 100000 --seed 1 -o log.parquet")
        say("3. Learn the automaton, and plan on it. (The first run compiles, which takes a while.)")
        run(folder, "learn log.parquet -o maze.model")
        model = Model.load(folder / "maze.model")
        say("4. Compare the automaton with the exact one:")
        run(folder, "compare maze.model t-maze")
        say("5. The automaton, layer by layer: the share of the episodes in each state, and the action of the plan:")
        print(picture(model))
        draw(folder)
        say("6. The memory: at the junction the agent sees 010 for either goal, but the states differ:")
        at_the_junction(model)
        say("7. Evaluate the policy, in comparison with the random behaviour and the optimal policy:")
        run(folder, "evaluate maze.model --domain t-maze")
        run(folder, "evaluate maze.model --domain t-maze --exact")
        say("8. With a hundredth of the data the cues are not distinguished, and the bound is far below 4:")
        run(folder, "simulate t-maze --episodes 1000 --seed 1 -o little.parquet")
        run(folder, "learn little.parquet -o little.model")
        run(folder, "evaluate little.model --domain t-maze --exact")
    say("Next: suffice --help, README.md, docs/.")


if __name__ == "__main__":
    main()
