"""Undecided merges, which were close to being splits, and how many episodes would decide them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from suffice.automata.histories import History
from suffice.automata.rdp import RDP
from suffice.evidence.events import Witness
from suffice.learning.merging import Decision

BORDERLINE_SHARE = 0.5  # share of the threshold that equal futures rarely reach


class BorderlineMerge(NamedTuple):
    """Two histories that were merged for lack of evidence, although they may differ."""

    layer: int
    histories: tuple[History, History]  # typical of the candidate and of the state that it joined
    witness: Witness | None  # the event on which they differ most
    episodes: float  # number of episodes with which the difference would be significant, if it is real


def borderline_merges(rdp: RDP, decisions: Sequence[Decision], episodes: int, power: int) -> list[BorderlineMerge]:
    """List the undecided merges, those of most episodes first.

    Evidence as a share of its threshold grows like the number of episodes to the power of 1/power (`Measure.power`).
    """
    close = [d for d in decisions if _closeness(d) >= BORDERLINE_SHARE]
    if not close:
        return []
    histories, offsets = rdp.typical_histories(), rdp.offsets()
    found = []
    for d in sorted(close, key=lambda d: -d.n):
        candidate = (*histories[offsets[max(d.layer - 1, 0)] + d.state], rdp.symbol(d.symbol))
        joined = histories[offsets[d.layer] + d.placement.target]
        found.append(
            BorderlineMerge(d.layer, (candidate, joined), d.placement.witness, episodes / _closeness(d) ** power)
        )
    return found


def _closeness(decision: Decision) -> float:
    """Return the evidence of a merge as a share of its threshold, at most 1; 0 for other decisions."""
    placement = decision.placement
    if placement.promoted or placement.forced or not placement.threshold or not placement.distance:
        return 0.0
    return min(placement.distance / placement.threshold, 1.0)
