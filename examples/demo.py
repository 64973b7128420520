"""A story in under a minute: make T-maze episodes, learn their automaton, plan, and see what the plan is worth."""

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
    """A paragraph of the story."""
    print(f"\n\033[1m{text}\033[0m" if sys.stdout.isatty() else f"\n{text}", flush=True)


def run(folder: Path, command: str) -> None:
    """Show a command, then its output."""
    print(f"$ suffice {command}", flush=True)
    subprocess.run([Path(sys.executable).parent / "suffice", *shlex.split(command)], cwd=folder, check=True)


def picture(model: Model) -> str:
    """The layers as columns of states, each with its share of the episodes and what the plan does there."""
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
    """What the plan does where the agent sees only `010`."""
    rdp, plan = model.rdp, model.required_plan()
    for q, history in enumerate(rdp.typical_histories()):
        if history and history[-1][1] == (0, 1, 0):
            action = rdp.alphabet.actions[plan.actions[q]] if plan.actions[q] >= 0 else "anything"
            print(f"  after {show(history)}\n    take {action}, worth {plan.values[q]:+.1f}")


def draw(folder: Path) -> None:
    """A picture of the automaton, and a page to explore it in, where they stay."""
    made = ROOT / "build" / "demo"
    made.mkdir(parents=True, exist_ok=True)
    run(folder, f"draw maze.model -o {shlex.quote(str(made / 'maze.svg'))}")
    run(folder, f"explore maze.model -o {shlex.quote(str(made / 'maze.html'))}")


def main() -> None:
    """Tell the story."""
    say("1. A T-maze: the cue seen at the start says where the goal is; nothing later does. What is there to be found?")
    run(Path.cwd(), "exact t-maze")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        say("2. 100,000 random episodes. One in a thousand finds the goal:")
        run(folder, "simulate t-maze --episodes 100000 --seed 1 -o log.parquet")
        say("3. Learn the automaton, and plan on it. (The first run compiles; that takes a while, once.)")
        run(folder, "learn log.parquet -o maze.model")
        model = Model.load(folder / "maze.model")
        say("4. Is it the right automaton? Compare it with the truth:")
        run(folder, "compare maze.model t-maze")
        say("5. The automaton, layer by layer: the share of the episodes in each state, and what the plan does there:")
        print(picture(model))
        draw(folder)
        say("6. What it remembers. At the junction the agent sees 010 whatever the goal; the states know the cue:")
        at_the_junction(model)
        say("7. What is the policy worth, beside the random behaviour and the best policy there is?")
        run(folder, "evaluate maze.model --domain t-maze")
        run(folder, "evaluate maze.model --domain t-maze --exact")
        say("8. With a tenth of the data it is not sure about the cue, says so, and how many episodes it takes:")
        run(folder, "simulate t-maze --episodes 10000 --seed 1 -o little.parquet")
        run(folder, "learn little.parquet -o little.model")
        run(folder, "evaluate little.model --domain t-maze --exact")
    say("Where next: suffice --help, README.md, docs/.")


if __name__ == "__main__":
    main()
