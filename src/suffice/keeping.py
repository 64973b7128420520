"""What a layer came to, as a checkpoint keeps it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from suffice.asking import View
from suffice.checkpoints import Found, Part
from suffice.decisions import Decision, columns_of, decisions_of, shapes_of_decisions
from suffice.episodes import Int64


class KeptLayer(NamedTuple):
    """Where the candidates of a layer went, and why."""

    join: Int64  # [C] places in the layer
    labels: Int64  # [Q] of a second look: the states of the first that those of the layer are labelled by
    decisions: tuple[Decision, ...]
    figures: dict[str, list[str]]  # whatever else there is to know

    def keep(self, part: Part, t: int, counts: Int64) -> None:
        """Write it down, with what the states of the layer before met [Q, X]."""
        if part.folder is None:
            return
        arrays = {"counts": counts, "join": self.join, "labels": self.labels, **columns_of(self.decisions)}
        part.keep(t, Found(self.figures, [d.verdict.witness for d in self.decisions], arrays))

    @classmethod
    def recall(cls, part: Part, t: int, counts: Int64, candidates: int) -> KeptLayer | None:
        """Read it again, if the run got so far; refuse what cannot be of this log."""
        if part.folder is None:
            return None
        shapes = shapes_of_decisions(candidates)
        shapes |= {"counts": ("iu", counts.shape), "join": ("i", (candidates,)), "labels": ("i", ("Q",))}
        found = part.recall(t, shapes)
        if found is None:
            return None
        arrays = found.arrays
        join, labels, decisions = arrays["join"], arrays["labels"], decisions_of(arrays, found.texts)
        places = np.unique(join)
        if not np.array_equal(arrays["counts"], counts) or not np.array_equal(places, np.arange(len(places))):
            part.refuse(t, "it is not of this log")
        if len(labels) not in (0, len(places)):
            part.refuse(t, "its labels are not those of its states")
        return cls(join, labels, decisions, found.figures)


class Nothing:
    """A question for who only wants the episodes to walk on."""

    def __call__(self, view: View) -> None:
        """See `Question`."""

    def together(self, answers: Sequence[None]) -> None:
        """See `Question`."""
