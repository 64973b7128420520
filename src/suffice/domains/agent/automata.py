"""The automaton of an agent from round to round: learned again or continued, whichever predicts better.

An automaton that was learned from more episodes can be worse than the one before: a test that decided by chance, or
labels that are misleading. So each round makes two: one learned from all episodes as if there were none before, and the
one before, continued with the new episodes. The transitions of both are fixed; their frequencies come from one half of
the episodes and predict the outcomes of the other half, and the reverse. The better automaton is kept.
Theory: docs/theory.md, section 13.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np

from suffice.automata.rdp import RDP
from suffice.data.episodes import Episodes
from suffice.errors import MemoryLimitError
from suffice.learning.adact_h import Learned, Settings
from suffice.learning.merging import Decision
from suffice.learning.prediction import outcome_bits
from suffice.learning.stationary.continuation import continue_stationary
from suffice.learning.stationary.learner import learn_stationary

Origin = Literal["learned", "continued"]


class NextAutomaton(NamedTuple):
    """The better of the automata of a round."""

    learned: Learned
    origin: Origin
    bits: float  # of the outcomes of a held-out episode, on average


def next_automaton(
    episodes: Episodes, earlier: RDP | None, decisions: Sequence[Decision], settings: Settings
) -> NextAutomaton:
    """Learn the automaton of all episodes, or continue the earlier one, whichever predicts held-out episodes better."""
    candidates: list[tuple[Origin, Learned]] = [("learned", learn_stationary(episodes, settings))]
    if earlier is not None:
        with suppress(MemoryLimitError):  # learning again can group observations
            candidates.append(("continued", continue_stationary(episodes, earlier, decisions, settings)))
    found = [NextAutomaton(learned, origin, held_out_bits(learned.rdp, episodes)) for origin, learned in candidates]
    return min(reversed(found), key=lambda candidate: candidate.bits)  # of equals the one before


def held_out_bits(rdp: RDP, episodes: Episodes) -> float:
    """Return the mean bits of the outcomes of an episode, predicted from the frequencies of the other half."""
    if episodes.n < 2:
        return 0.0
    half, total = np.arange(episodes.n) % 2 == 0, 0.0
    for part in (half, ~half):
        known, new = (episodes.columns(np.flatnonzero(side)) for side in (part, ~part))
        total += float(outcome_bits(replace(rdp, counts=rdp.tally(known).counts, cut=None), new).sum())
    return total / episodes.n
