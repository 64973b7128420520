"""The learning curve of an agent: returns of exploration and of the greedy policy against the number of episodes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from suffice.view.style import drawing

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from suffice.domains.agent.agent import LearningRound

SERIES = (("predicted", "greedy policy, predicted", "#0072b2"), ("exploited", "greedy policy, played", "#009e73"))
EXPLORED = ("explored", "exploration", "#d55e00")


def learning_curve(rounds: Sequence[LearningRound]) -> Figure:
    """Draw the returns and the number of states of each round of learning."""
    with drawing():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7.0, 4.5), layout="constrained")
        above, below = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
        for name, label, colour in (*SERIES, EXPLORED):
            points = [(r.episodes, y) for r in rounds if (y := getattr(r, name)) is not None]
            above.plot([x for x, _ in points], [y for _, y in points], marker=".", label=label, color=colour)
        above.set_ylabel("return per episode")
        above.legend()
        below.step([r.episodes for r in rounds], [r.states for r in rounds], where="post", color="#555555")
        below.set_ylabel("states")
        below.set_xlabel("episodes")
        if rounds:
            below.set_xscale("log")
    return figure
