"""What a layer came to, as a checkpoint keeps it."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suffice.data.alphabet import Alphabet
from suffice.evidence.events import Witness
from suffice.files.checkpoints import CheckpointStage, StepRecord
from suffice.kernels.array_types import Int64
from suffice.learning.decisions import Decision, columns_of, decisions_of, shapes_of_decisions
from suffice.learning.merging import Candidates


class KeptLayer(NamedTuple):
    """What became of the candidates of a layer, in their order, and why."""

    decisions: tuple[Decision, ...]
    figures: dict[str, list[str]]  # whatever else there is to know

    def join(self, candidates: Candidates) -> Int64:
        """[C] the state of the layer that each became or joined."""
        join = np.zeros(len(candidates.sizes), np.int64)
        join[candidates.order] = [decision.placement.target for decision in self.decisions]
        return join

    def founders(self, candidates: Candidates) -> Int64:
        """[Q] the candidate that each state of the layer is founded by."""
        return candidates.order[[decision.placement.promoted for decision in self.decisions]]

    def keep(self, part: CheckpointStage, t: int) -> None:
        """Write it down."""
        if part.folder is None:
            return
        witnesses = [decision.placement.witness for decision in self.decisions]
        part.keep(t, StepRecord(self.figures, witnesses, columns_of(self.decisions)))

    @classmethod
    def recall(cls, part: CheckpointStage, t: int, candidates: Candidates, alphabet: Alphabet) -> KeptLayer | None:
        """Read it again, if the run got so far; refuse what cannot have become of these candidates."""
        if part.folder is None:
            return None
        found = part.recall(t, shapes_of_decisions(len(candidates.sizes)), list[Witness | None])
        if found is None:
            return None
        with part.doubting(t):
            column = {name.removeprefix("decision_"): values for name, values in found.arrays.items()}
            due = {"state": candidates.states, "symbol": candidates.symbols, "n": candidates.sizes}
            same = all(np.array_equal(column[name], of[candidates.order]) for name, of in due.items())
            if not same or (column["layer"] != t + 1).any():
                raise ValueError("it is not of this log")
            promoted, target = column["promoted"] == 1, column["target"]
            states = np.cumsum(promoted)  # so far
            right = np.where(promoted, target == states - 1, (target >= 0) & (target < states))
            if not right.all() or (column["nearest"] >= states).any():
                raise ValueError("it leads to states that do not exist")
            return cls(decisions_of(found.arrays, found.records, alphabet), found.figures)
