"""Merges that were close to splits: what the learner could not decide, and how many episodes would decide it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from suffice.automata.histories import History
from suffice.automata.rdp import RDP
from suffice.evidence.events import Witness
from suffice.learning.decisions import Decision

CLOSE = 0.5  # of the threshold: what equal futures rarely reach


class Doubt(NamedTuple):
    """Two histories that count as one for lack of evidence."""

    layer: int
    histories: tuple[History, History]  # typical for the candidate and for the state that it joined
    witness: Witness | None  # what differs most
    episodes: float  # with so many the difference would be significant, if it is real


def doubts(rdp: RDP, decisions: Sequence[Decision], episodes: int, power: int) -> list[Doubt]:
    """The undecided merges, those of most episodes first.

    Evidence as a share of its threshold grows like the number of episodes to the power of 1/power (`Measure.power`).
    """
    close = [d for d in decisions if _closeness(d) >= CLOSE]
    histories, offsets = rdp.typical_histories(), rdp.offsets()
    found = []
    for d in sorted(close, key=lambda d: -d.n):
        candidate = (*histories[offsets[max(d.layer - 1, 0)] + d.state], rdp.symbol(d.symbol))
        joined = histories[offsets[d.layer] + d.verdict.target]
        found.append(Doubt(d.layer, (candidate, joined), d.verdict.witness, episodes / _closeness(d) ** power))
    return found


def _closeness(decision: Decision) -> float:
    """Evidence over threshold of a merge."""
    verdict = decision.verdict
    if verdict.promoted or verdict.forced or not verdict.threshold or not verdict.distance:
        return 0.0
    return min(verdict.distance / verdict.threshold, 1.0)
