"""The paper's automata (its Figures 1 to 3 of Appendix D), drawn from what is learned."""

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
HEAD: Final = """# The paper's automata, as we learn them

An arrow is labelled by an action, what it showed and what it paid; `any` is any action, `0|1` either value. Orange is
what the plan chooses, where there is a choice. These T-mazes allow fewer actions than that of Table 1, as in the paper.
"""


class Drawn(NamedTuple):
    """An automaton of the paper."""

    name: str
    title: str
    domain: str
    options: dict[str, str]
    episodes: int
    quick: int  # episodes that suffice on most days


FIGURES: Final = (
    Drawn("corridor", "Corridor", "corridor", {}, 10_000, 1_000),
    Drawn("t-maze-restricted", "T-maze, only E in the corridor", "t-maze", {"actions": "east"}, 10_000, 1_000),
    Drawn("t-maze-partial", "T-maze, E and W in the corridor", "t-maze", {"actions": "forward"}, 100_000, 10_000),
)


def draw_figures(folder: Path, quick: bool) -> list[Path]:
    """Learn, compare with the truth, draw, and say what was found."""
    pictures, lines = [], [HEAD]
    for drawn in FIGURES:
        domain = make(drawn.domain, drawn.options)
        horizon, n = domain.default_horizon, drawn.quick if quick else drawn.episodes
        solution = regorl(domain.simulate(n, horizon, np.random.default_rng(SEED)))
        rdp, true = solution.learned.rdp, minimal_rdp(domain.model(horizon), horizon)
        exact = match_states(rdp, true.rdp()).exact
        verdict = "exactly the minimal automaton" if exact else f"the minimal one has {true.n_states}"
        told = f"{rdp.n_states} states from {n:,} episodes, H = {horizon}, seed {SEED}: {verdict}."
        pictures.append((drawn.name, draw_automaton(rdp, solution.plan, title=drawn.title)))
        lines.append(f"## {drawn.title}\n\n{told}\n\n![{drawn.title}]({drawn.name}.svg)\n")
    return write_page(Page("\n".join(lines), tuple(pictures)), folder, "figures")
