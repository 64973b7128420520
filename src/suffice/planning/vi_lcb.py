"""Planners that take the best action by backward induction: greedy, pessimistic and safe (theory.md §6).

*Greedy* planning takes frequencies for probabilities. *Pessimistic* planning (VI-LCB) subtracts from the value of every
action the penalty of `backward_induction`, takes the action with the best lower bound, and behaves as the log did where
all of them are 0. *Safe* planning, the default, knows one more action: to behave as the log did. Its value is the mean
over all visits of the state, which needs no penalty; an action must beat it to be chosen. So where data are few the
plan is the behaviour, and where they are many the best action.
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
    """Chooses the action with the best lower bound, if it is above a floor, else to behave as the log did."""

    usual: Planning
    floor: Callable[[LayerValues], Float]  # [Q_t] the value that an action must exceed, scaled

    def plan(self, rdp: RDP, tally: Tally, planning: Planning) -> Plan:
        """See `Planner`."""
        return BackwardInduction(rdp, tally, planning.strength, planning.delta, planning.discount).plan(self.floor)


def _value_of_behaviour(layer: LayerValues) -> Float:
    return layer.overall


def _nothing(layer: LayerValues) -> Float:
    return np.zeros(len(layer.overall))


def _any_value(layer: LayerValues) -> Float:
    return np.full(len(layer.overall), -1.0)


SAFE: Planner = LowerBoundPlanner(Planning(), _value_of_behaviour)
PESSIMISTIC: Planner = LowerBoundPlanner(Planning(safe=False), _nothing)
BY_FREQUENCIES: Planner = LowerBoundPlanner(GREEDY, _any_value)
