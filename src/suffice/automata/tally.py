"""Tallies count how often episodes visit each state of an automaton, and which letters follow there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from suffice.automata.vocabulary import Vocabulary
from suffice.data.episodes import weights
from suffice.data.queries import EpisodesView, added
from suffice.kernels import walking
from suffice.kernels.array_types import Int32, Int64


@dataclass(frozen=True, slots=True, eq=False)
class Tally:
    """Counts of the steps of episodes in the states of an automaton."""

    counts: Int64  # [Q, X] by letter
    lost: Int64  # [Q, A] by action: steps that are not a transition of the automaton

    def visits(self) -> Int64:
        """Return [Q], the number of visits to each state."""
        return np.asarray(self.counts.sum(axis=1) + self.lost.sum(axis=1))


class TallyQuery(NamedTuple):
    """Query that tallies episodes, with their weights, along the transitions of an automaton."""

    vocabulary: Vocabulary
    tau: Int32  # [Q, Y]
    limit: int | None  # number of decisions of a layered automaton; None for a stationary one

    def __call__(self, view: EpisodesView) -> Tally:
        """Tally some episodes; see `Query`."""
        known, episodes = self.vocabulary, view.episodes
        codes = known.symbols_in(episodes), *known.codes_in(episodes)
        counts = np.zeros((len(self.tau), len(known.letters)), np.int64)  # may be large and mostly untouched, so zeros
        lost = np.zeros((len(self.tau), known.alphabet.n_actions), np.int64)
        state = np.zeros(episodes.n, np.int32)
        for word in episodes.word[: steps_walked(episodes.horizon, self.limit)]:
            walking.tally_along(state, self.tau, *codes, word, weights(episodes), counts, lost)
        return Tally(counts, lost)

    def combine(self, answers: list[Tally]) -> Tally:
        """Add up the tallies of parts of the log; see `Query`."""
        return Tally(added([answer.counts for answer in answers]), added([answer.lost for answer in answers]))


def steps_walked(horizon: int, limit: int | None) -> int:
    """Return how many of the H + 1 steps of a log are transitions; without a final state the last one is not."""
    return horizon if limit is None else min(horizon, limit) + 1
