"""Planners that choose the best action by backward induction: greedy, pessimistic and safe.

*Greedy* planning treats the observed frequencies as the true probabilities. *Pessimistic* planning (VI-LCB) subtracts
the penalty of `backward_induction` from the value of every action, takes the action with the best lower bound, and
keeps the logged behaviour where all lower bounds are 0. *Safe* planning, the default, has one more action: the logged
behaviour. Its value is the mean over all visits of the state, without a penalty; an action is chosen only if its lower
bound is above it. So the plan keeps the logged behaviour where data are scarce and takes the best action where they
are plentiful. Theory: docs/theory.md, section 6.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from suffice.automata.rdp import RDP
from suffice.automata.tally import Tally
from suffice.kernels.array_types import Float
from suffice.planning.backward_induction import BackwardInduction, LayerValues
from suffice.planning.plan import Plan
from suffice.planning.planner import GREEDY, Planner, Planning


@dataclass(frozen=True, slots=True)
class LowerBoundPlanner:
    """Planner that chooses the action with the best lower bound if it exceeds a floor, else the logged behaviour."""

    usual: Planning
    floor: Callable[[LayerValues], Float]  # [Q_t] the value that an action must exceed, scaled

    def plan(self, rdp: RDP, tally: Tally, planning: Planning) -> Plan:
        """Make a plan by backward induction; see `Planner`."""
        return BackwardInduction(rdp, tally, planning.strength, planning.delta, planning.discount).plan(self.floor)


def _value_of_behaviour(layer: LayerValues) -> Float:
    return layer.overall


def _zero(layer: LayerValues) -> Float:
    return np.zeros(len(layer.overall))


def _below_all_values(layer: LayerValues) -> Float:
    return np.full(len(layer.overall), -1.0)


SAFE: Planner = LowerBoundPlanner(Planning(), _value_of_behaviour)
PESSIMISTIC: Planner = LowerBoundPlanner(Planning(safe=False), _zero)
BY_FREQUENCIES: Planner = LowerBoundPlanner(GREEDY, _below_all_values)
