"""Plans, which give an action for each state of an automaton, with the values of the states."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.automata.rdp import BEHAVE, RDP
from suffice.automata.tally import Tally
from suffice.kernels.array_types import Float, Int64
from suffice.kernels.induction import Letters, StateRows, add_visits

NONE, NO_ROWS = np.zeros(0), np.zeros((0, 0))  # what expected visits do not need


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Plan:
    """A choice of an action, or the logged behaviour, for each state of an automaton, with values.

    Attributes
    ----------
    actions
        Index of each state's action in the alphabet's actions; -1 (`BEHAVE`) to keep the logged behaviour.
    values
        Expected return from each state on, if the observed frequencies are the true probabilities.
    lower
        Lower bounds of these values: less all penalties. The actions maximise them.
    error
        Standard error of the initial state's value, if the automaton is right; NaN for a discounted plan.

    Examples
    --------
    >>> model.plan
    <Plan: an action in 9 of 11 states, elsewhere as logged, worth 5>
    >>> model.plan.value
    5.0
    """

    actions: Int64  # [Q], BEHAVE = -1
    values: Float  # [Q]
    lower: Float  # [Q]
    error: float

    def __repr__(self) -> str:
        acts = np.count_nonzero(self.actions != BEHAVE)
        return f"<Plan: an action in {acts} of {len(self.actions)} states, elsewhere as logged, worth {self.value:.4g}>"

    @property
    def value(self) -> float:
        """Expected return of the plan, if the observed frequencies are the true probabilities."""
        return float(self.values[0])

    def occupancy(self, rdp: RDP) -> Float:
        """Return the probability that the plan visits each state, if the frequencies are the true probabilities.

        Parameters
        ----------
        rdp
            The automaton that the plan was made on.

        Returns
        -------
        array of shape [Q]
            The expected number of visits to each state per episode.
        """
        return occupancy(rdp, self.actions, rdp.own_tally())


def fold_plan(rdp: RDP, plan: Plan) -> Plan:
    """Convert a plan on the layers of a stationary automaton to its states, by where each state is visited most."""
    place = fold_places(rdp, plan)
    return Plan(plan.actions[place], plan.values[place], plan.lower[place], plan.error)


def fold_places(rdp: RDP, plan: Plan) -> Int64:
    """Return [Q], for each state of an automaton, its copy on the unrolled layers that a plan visits most often."""
    layers, stands = rdp.unroll()
    if layers is rdp:
        return stands
    order = np.lexsort((np.arange(len(stands)), -plan.occupancy(layers)))[::-1]  # the last write wins
    place = np.zeros(rdp.n_states, np.int64)
    inner = order[order < len(stands) - 1]
    place[stands[inner]] = inner
    return place


def occupancy(rdp: RDP, actions: Int64, tally: Tally) -> Float:
    """Return [Q], the expected visits to each state; episodes in transitions that were never seen are dropped."""
    share = np.zeros(rdp.n_states)
    share[0] = 1.0
    letters = Letters(rdp.symbol_of_letter(), rdp.letters[:, 0].astype(np.int64), NONE)
    for states in rdp.blocks():
        rows = StateRows(states.start, tally.counts[states], tally.lost[states], rdp.tau[states], NONE, NONE, NO_ROWS)
        add_visits(rows, letters, actions, share)
    return share
