"""Plans: what to do in each state of an automaton, and what that is worth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.automata.rdp import BEHAVE, RDP
from suffice.automata.tally import Tally
from suffice.data.alphabet import PAD
from suffice.kernels.array_types import Float, Int64


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plan:
    """What to do in each state, and what that is worth.

    >>> model.plan
    <Plan: an action in 9 of 11 states, elsewhere as logged, worth 5>
    >>> model.plan.value
    5.0
    """

    actions: Int64  # [Q] place in the alphabet's actions, or BEHAVE
    values: Float  # [Q] the mean return still to come, as far as the counts tell
    lower: Float  # [Q] the same after all penalties: what the actions were chosen by
    error: float  # the standard error of the first state's value, if the automaton is right; NaN for a discounted one

    def __repr__(self) -> str:
        acts = np.count_nonzero(self.actions != BEHAVE)
        return f"<Plan: an action in {acts} of {len(self.actions)} states, elsewhere as logged, worth {self.value:.4g}>"

    @property
    def value(self) -> float:
        """The mean return that the counts predict."""
        return float(self.values[0])

    def occupancy(self, rdp: RDP) -> Float:
        """[Q] how probable the plan makes each state, if frequencies were probabilities."""
        return occupancy(rdp, self.actions, rdp.own_tally())


def fold_plan(rdp: RDP, plan: Plan) -> Plan:
    """A plan on the layers of an automaton as one on its own states: what it does where it is most often in each."""
    place = fold_places(rdp, plan)
    return Plan(plan.actions[place], plan.values[place], plan.lower[place], plan.error)


def fold_places(rdp: RDP, plan: Plan) -> Int64:
    """[Q] for each state of an automaton, the state on its layers where a plan is most often in it."""
    layers, stands = rdp.unroll()
    if layers is rdp:
        return stands
    order = np.lexsort((np.arange(len(stands)), -plan.occupancy(layers)))[::-1]  # the last to be written stays
    place = np.zeros(rdp.n_states, np.int64)
    inner = order[order < len(stands) - 1]
    place[stands[inner]] = inner
    return place


def occupancy(rdp: RDP, actions: Int64, tally: Tally) -> Float:
    """[Q] how often each state is reached; what is lost on the way is lost."""
    offsets, of_letter, share = rdp.offsets(), rdp.symbol_of_letter(), np.zeros(rdp.n_states)
    share[0] = 1.0
    for t in range(rdp.horizon + 1):
        layer = slice(offsets[t], offsets[t + 1])
        behave = (actions[layer] == BEHAVE)[:, None]
        planned = actions[layer][:, None] + PAD + 1
        followed = np.where(behave | (rdp.letters[None, :, 0] == planned), tally.counts[layer], 0)
        lost = np.where(behave | (np.arange(rdp.alphabet.n_actions) == planned), tally.lost[layer], 0)
        visits = followed.sum(axis=1) + lost.sum(axis=1)
        rates = share[layer][:, None] * followed / np.maximum(visits, 1)[:, None]
        np.add.at(share, rdp.tau[layer][:, of_letter][followed > 0], rates[followed > 0])
    return share
