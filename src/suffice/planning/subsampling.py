"""Subsampling gives plans on independent counts, and the bounds that are proved for them.

The proof of VI-LCB requires independent counts. `two_fold` makes them: one half of the episodes determines how many
visits of each state are used, and this many are drawn from the other half's visits (Li et al., Settling the Sample
Complexity of Model-Based Offline Reinforcement Learning, 2022). Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Final, NamedTuple

import numpy as np

from suffice.automata.rdp import RDP
from suffice.automata.tally import Tally
from suffice.data.content import MOST_DRAWN
from suffice.errors import SettingsError, parameter
from suffice.planning.backward_induction import BackwardInduction
from suffice.planning.plan import Plan
from suffice.planning.planner import PLANNERS, Planner, Planning

THEORY = 16.0  # the strength c for which the bound is proved; at ordinary sample sizes no action passes it


class Bracket(NamedTuple):
    """Bounds that hold with probability 1 − δ if the automaton is right and its counts are independent."""

    lower: float  # on the plan's expected return
    upper: float  # on the expected return of any policy


def prove(rdp: RDP, plan: Plan, tally: Tally, delta: float) -> Bracket:
    """Return the proved bounds for a plan made on these counts, with the constant of the theorem."""
    backward = BackwardInduction(rdp, tally, THEORY, delta)
    return Bracket(*(float(backward.in_user_units(v)[0]) for v in (backward.follow(plan.actions), backward.most())))


def two_fold(first: Tally, second: Tally, delta: float, rng: np.random.Generator) -> Tally:
    """Draw, from the first half's visits to each state, a high-probability lower bound of the second half's number."""
    seen, spare = first.visits(), second.visits()
    chance = 10 * np.sqrt(spare * (math.log(len(spare)) - math.log(delta)))
    sizes = np.minimum(seen, np.maximum(spare - chance, 0).astype(np.int64))
    cells = np.concatenate([first.counts, first.lost], axis=1)
    if seen.max() >= MOST_DRAWN:
        raise SettingsError(
            f"{parameter('planning', 'subsampled')}: a state has {int(seen.max()):,} visits, more than the "
            f"{MOST_DRAWN - 1:,} that can be subsampled. Use another planner."
        )
    drawn = np.array([rng.multivariate_hypergeometric(row, n) for row, n in zip(cells, sizes, strict=True)])
    wide = first.counts.shape[1]
    return Tally(drawn[:, :wide], drawn[:, wide:])


class Subsampled:
    """Planner that runs another one, named by its other settings, on the counts drawn by `two_fold`."""

    usual: Final = Planning(subsample=True)

    def plan(self, rdp: RDP, tally: Tally, planning: Planning) -> Plan:
        """Make a plan as the settings without `subsample` say; see `Planner`."""
        planning = replace(planning, subsample=False)
        return PLANNERS[planning.name].plan(rdp, tally, planning)


SUBSAMPLED: Planner = Subsampled()
