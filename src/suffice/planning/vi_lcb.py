"""Planners that choose the best action by backward induction: greedy, pessimistic and safe.

*Greedy* planning treats the observed frequencies as the true probabilities. *Pessimistic* planning (VI-LCB) subtracts
the penalty of `backward_induction` from the value of every action, takes the action with the best lower bound, and
keeps the logged behaviour where all lower bounds are 0. *Safe* planning, the default, has one more action: the logged
behaviour. Its value is the mean over all visits of the state, without a penalty; an action is chosen only if its lower
bound is above it. So the plan keeps the logged behaviour where data are scarce and takes the best action where they
are plentiful. Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

from dataclasses import dataclass

from suffice.automata.rdp import RDP
from suffice.automata.tally import Tally
from suffice.planning.backward_induction import BackwardInduction, Floor
from suffice.planning.plan import Plan
from suffice.planning.planner import GREEDY, Planner, Planning


@dataclass(frozen=True, slots=True)
class LowerBoundPlanner:
    """Planner that chooses the action with the best lower bound if it exceeds a floor, else the logged behaviour."""

    usual: Planning
    floor: Floor

    def plan(self, rdp: RDP, tally: Tally, planning: Planning) -> Plan:
        """Make a plan by backward induction; see `Planner`."""
        return BackwardInduction(rdp, tally, planning.strength, planning.delta, planning.discount).plan(self.floor)


SAFE: Planner = LowerBoundPlanner(Planning(), Floor(1.0, 0.0))
PESSIMISTIC: Planner = LowerBoundPlanner(Planning(safe=False), Floor(0.0, 0.0))
BY_FREQUENCIES: Planner = LowerBoundPlanner(GREEDY, Floor(0.0, -1.0))  # below all values
