"""What a round came to, and how a checkpoint keeps it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from suffice.archives import Array, Shape
from suffice.checkpoints import Found, Part
from suffice.decisions import Decision, columns_of, decisions_of, shapes_of_decisions
from suffice.rdp import UNSEEN
from suffice.tying.labels import Steps
from suffice.tying.pointers import Choice, Edge, Outcome
from suffice.tying.settling import settle

Int32 = NDArray[np.int32]


class FoundRound(NamedTuple):
    """An automaton and the round it comes from."""

    tau: Int32  # settled
    outcome: Outcome

    @classmethod
    def of(cls, steps: Steps, outcome: Outcome) -> FoundRound:
        return cls(settle(steps, outcome.tau), outcome)

    def apart(self) -> dict[Edge, Edge]:
        """What proved to be distinct from its state, and has not been settled elsewhere since."""
        tau = self.outcome.tau
        return {edge: founder for edge, founder in self.outcome.apart.items() if self.tau[edge] == tau[edge]}


def keep_round(part: Part, i: int, found: FoundRound) -> None:
    """Write a round down."""
    outcome = found.outcome
    decisions = [Decision(0, c.state, c.symbol, c.n, c.verdict) for c in outcome.choices]
    arrays: dict[str, Array] = {
        "settled": found.tau,
        "tau": outcome.tau,
        "tests": np.array(outcome.tests, np.float64),
        "depths": np.array(outcome.depths, np.int64),
        "apart": np.array([[*edge, *founder] for edge, founder in outcome.apart.items()], np.int64).reshape(-1, 4),
    }
    figures = {"decisions": [str(len(decisions))]}
    part.keep(i, Found(figures, [d.verdict.witness for d in decisions], arrays | columns_of(decisions)))


def recall_round(part: Part, i: int, steps: Steps) -> FoundRound | None:
    """Read a round again, if the run got so far; refuse what cannot be of this log."""
    targets: Shape = ("Q", len(steps.symbols))
    shapes: dict[str, tuple[str, Shape]] = {"settled": ("i", targets), "tau": ("i", targets)}
    shapes |= {"tests": ("f", ("T",)), "depths": ("i", ("D",)), "apart": ("i", ("K", 4))}
    found = part.recall(i, shapes | shapes_of_decisions("C"))
    if found is None:
        return None
    settled, tau = (found.arrays[name].astype(np.int32) for name in ("settled", "tau"))
    both = np.stack([settled, tau])
    if both.size == 0 or both.min() < UNSEEN or both.max() >= len(tau):
        part.refuse(i, "it leads to states that do not exist")
    decisions = decisions_of(found.arrays, found.texts)
    if len(decisions) != len(found.arrays["decision_n"]) or any(not 0 <= d.state < len(tau) for d in decisions):
        part.refuse(i, "its choices are not of its states")
    edges: dict[Edge, Edge] = {(int(a), int(b)): (int(c), int(d)) for a, b, c, d in found.arrays["apart"]}
    choices = [Choice(d.state, d.symbol, d.n, d.verdict) for d in decisions]
    outcome = Outcome(tau, choices, found.arrays["tests"].tolist(), found.arrays["depths"].tolist(), edges)
    return FoundRound(settled, outcome)
