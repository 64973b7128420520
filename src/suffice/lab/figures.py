"""The automata of the paper's Figures 1 to 3 (Appendix D), learned and drawn."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

import numpy as np

from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.registry import make
from suffice.lab.reproduce import write_page
from suffice.lab.scoring import match_states
from suffice.lab.study import Page
from suffice.planning.regorl import regorl
from suffice.view.automaton import draw_automaton

SEED: Final = 0
HEAD: Final = """# The automata of the paper, learned from simulated episodes

Labels of arrows are action, observation and reward; `any` is any action, `0|1` either value. The planned action is
orange, where there is a choice. These T-mazes have fewer actions than that of Table 1, as in the paper.
"""


class PaperFigure(NamedTuple):
    """An automaton that the paper draws."""

    name: str
    title: str
    domain: str
    options: dict[str, str]
    episodes: int
    quick: int  # episodes of a quick run, which usually suffice


FIGURES: Final = (
    PaperFigure("corridor", "Corridor", "corridor", {}, 10_000, 1_000),
    PaperFigure("t-maze-restricted", "T-maze, only E in the corridor", "t-maze", {"actions": "east"}, 10_000, 1_000),
    PaperFigure("t-maze-partial", "T-maze, E and W in the corridor", "t-maze", {"actions": "forward"}, 100_000, 10_000),
)


def draw_figures(folder: Path, quick: bool) -> list[Path]:
    """Learn the automata, compare them with the exact ones, and write drawings and page."""
    pictures, lines = [], [HEAD]
    for drawn in FIGURES:
        domain = make(drawn.domain, drawn.options)
        horizon, n = domain.default_horizon, drawn.quick if quick else drawn.episodes
        solution = regorl(domain.simulate(n, horizon, np.random.default_rng(SEED)))
        rdp, true = solution.learned.rdp, minimal_rdp(domain.model(horizon), horizon)
        exact = match_states(rdp, true.rdp()).exact
        verdict = "equal to the minimal automaton" if exact else f"the minimal automaton has {true.n_states}"
        text = f"{rdp.n_states} states from {n:,} episodes, H = {horizon}, seed {SEED}: {verdict}."
        pictures.append((drawn.name, draw_automaton(rdp, solution.plan, title=drawn.title)))
        lines.append(f"## {drawn.title}\n\n{text}\n\n![{drawn.title}]({drawn.name}.svg)\n")
    return write_page(Page("\n".join(lines), tuple(pictures)), folder, "figures")
