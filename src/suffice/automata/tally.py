"""Tallies count how often episodes visit each state of an automaton, and which letters follow there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, cast

import numpy as np

from suffice.automata.row_tables import RowTable, SparseRows
from suffice.automata.vocabulary import UNSEEN, Vocabulary
from suffice.data.episodes import Episodes, weights_at
from suffice.data.queries import EpisodesView, added
from suffice.kernels import walking
from suffice.kernels.array_types import Int32, Int64

LARGE = 64 << 20  # bytes of a table of counts from which on it is stored sparsely


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
        if 8 * len(self.tau) * len(known.letters) > LARGE or isinstance(cast("object", self.tau), RowTable):
            return self._sparse(episodes, *codes)
        counts = np.zeros((len(self.tau), len(known.letters)), np.int64)
        lost = np.zeros((len(self.tau), known.alphabet.n_actions), np.int64)
        state = np.zeros(episodes.n, np.int32)
        for t, word in enumerate(episodes.word[: steps_walked(episodes.horizon, self.limit)]):
            walking.tally_along(state, self.tau, *codes, word, weights_at(episodes, t), counts, lost)
        return Tally(counts, lost)

    def _sparse(self, episodes: Episodes, symbol: Int64, letter: Int64, action: Int64) -> Tally:
        """Tally some episodes with few of the cells, without a table of all; the same counts as those of the kernel."""
        shape = len(self.tau), len(self.vocabulary.letters)
        lost = np.zeros((len(self.tau), self.vocabulary.alphabet.n_actions), np.int64)
        state, running = np.zeros(episodes.n, np.int64), np.arange(episodes.n)
        parts = [SparseRows(shape, *(np.zeros(0, np.int64) for _ in range(2)))]
        for t, row in enumerate(episodes.word[: steps_walked(episodes.horizon, self.limit)]):
            weight = weights_at(episodes, t)
            word, times = row[running], weight[running] if len(weight) else np.ones(len(running), np.int64)
            following = np.where(symbol[word] >= 0, self.tau[state, symbol[word]], UNSEEN)
            stays = (following != UNSEEN) & (letter[word] >= 0) & (times > 0)
            parts.append(SparseRows.counted(shape, (state * shape[1] + letter[word])[stays], times[stays]))
            leaves = ~stays & (action[word] >= 0) & (times > 0)
            np.add.at(lost, (state[leaves], action[word][leaves]), times[leaves])
            running, state = running[following != UNSEEN], following[following != UNSEEN].astype(np.int64)
        return Tally(cast("Int64", SparseRows.added(parts)), lost)

    def combine(self, answers: list[Tally]) -> Tally:
        """Add up the tallies of parts of the log; see `Query`."""
        tables: list[Any] = [answer.counts for answer in answers]
        together = SparseRows.added(tables) if isinstance(tables[0], SparseRows) else added(tables)
        return Tally(cast("Int64", together), added([answer.lost for answer in answers]))


def steps_walked(horizon: int, limit: int | None) -> int:
    """Return how many of the H + 1 steps of a log are transitions; without a final state the last one is not."""
    return horizon if limit is None else min(horizon, limit) + 1
