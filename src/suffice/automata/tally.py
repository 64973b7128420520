"""Tallies: how often episodes were in each state of an automaton, and what they met there."""

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
    """Counts of episodes along an automaton."""

    counts: Int64  # [Q, X] by letter
    lost: Int64  # [Q, A] by action: what followed is not a transition of the automaton

    def visits(self) -> Int64:
        """[Q]."""
        return np.asarray(self.counts.sum(axis=1) + self.lost.sum(axis=1))


class TallyQuery(NamedTuple):
    """Counts any episodes along the transitions of an automaton, with their weights."""

    vocabulary: Vocabulary
    tau: Int32  # [Q, Y]
    limit: int | None  # the number of steps that the automaton has, None if as many as the log

    def __call__(self, view: EpisodesView) -> Tally:
        """See `Query`."""
        known, episodes = self.vocabulary, view.episodes
        codes = known.symbols_in(episodes), *known.codes_in(episodes)
        counts = np.zeros((len(self.tau), len(known.letters)), np.int64)  # large, and of which little may be touched
        lost = np.zeros((len(self.tau), known.alphabet.n_actions), np.int64)
        state = np.zeros(episodes.n, np.int32)
        for word in episodes.word[: steps_walked(episodes.horizon, self.limit)]:
            walking.tally_along(state, self.tau, *codes, word, weights(episodes), counts, lost)
        return Tally(counts, lost)

    def combine(self, answers: list[Tally]) -> Tally:
        """See `Query`."""
        return Tally(added([answer.counts for answer in answers]), added([answer.lost for answer in answers]))


def steps_walked(horizon: int, limit: int | None) -> int:
    """How many of the H + 1 steps of a log are transitions: where no final state follows, its last one is cut off."""
    return horizon if limit is None else min(horizon, limit) + 1
