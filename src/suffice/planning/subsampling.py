"""Subsampling: plans on independent counts, and what is proved of them.

The proof of VI-LCB needs counts that do not depend on each other. `two_fold` makes such counts: half of the episodes
say how often each state may be used, and of the other half's visits so many are drawn (Li et al., Settling the Sample
Complexity of Model-Based Offline Reinforcement Learning, 2022).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from suffice.automata.rdp import RDP
from suffice.automata.tally import Tally
from suffice.data.episodes import MOST_PERMUTED
from suffice.errors import SettingsError
from suffice.planning.backward_induction import BackwardInduction
from suffice.planning.plan import Plan
from suffice.planning.planner import PLANNERS, Planner, Planning

THEORY = 16.0  # the strength c for which the bound is proved; at ordinary sample sizes no action passes it


class Bracket(NamedTuple):
    """Proved bounds; both hold with probability 1 − δ if the automaton is right and its counts are independent."""

    lower: float  # the plan is worth at least this
    upper: float  # no policy is worth more


def prove(rdp: RDP, plan: Plan, tally: Tally, delta: float) -> Bracket:
    """What the theory says about a plan made on these counts, with its own constant."""
    backward = BackwardInduction(rdp, tally, THEORY, delta)
    return Bracket(*(float(backward.in_user_units(v)[0]) for v in (backward.follow(plan.actions), backward.most())))


def two_fold(first: Tally, second: Tally, delta: float, rng: np.random.Generator) -> Tally:
    """Of the first half's visits to each state as many as the second half has, less what chance may have added."""
    seen, spare = first.visits(), second.visits()
    chance = 10 * np.sqrt(spare * (math.log(len(spare)) - math.log(delta)))
    sizes = np.minimum(seen, np.maximum(spare - chance, 0).astype(np.int64))
    cells = np.concatenate([first.counts, first.lost], axis=1)
    if seen.max() >= MOST_PERMUTED:
        raise SettingsError(
            f"subsampling draws from fewer than {MOST_PERMUTED:,} visits of a state; use another planner"
        )
    drawn = np.array([rng.multivariate_hypergeometric(row, n) for row, n in zip(cells, sizes, strict=True)])
    wide = first.counts.shape[1]
    return Tally(drawn[:, :wide], drawn[:, wide:])


class Subsampled:
    """Plans like the planner that its other settings name, on the counts that `two_fold` draws from the episodes."""

    usual: Final = Planning(subsample=True)

    def plan(self, rdp: RDP, tally: Tally, planning: Planning) -> Plan:
        """See `Planner`."""
        planning = replace(planning, subsample=False)
        return PLANNERS[planning.name].plan(rdp, tally, planning)


SUBSAMPLED: Planner = Subsampled()
