"""Backward induction and expected visits, state by state.

States are numbered layer by layer, so a state leads only to states of larger numbers. A pass in descending order
therefore finds the values of all successors already computed. A call takes the rows of some states, because the tables
of a whole automaton may be too large. Theory: docs/theory.md, section 6.
"""

from typing import Any, NamedTuple

import numpy as np

from suffice.kernels.jit import jit, jit_unless_rare

UNSEEN = -1
BEHAVE = -1
FIRST_ACTION = 2  # actions before it are the dummy and the pad action
DIGITS = 1e12  # values that agree in 12 decimal places are equal


class StateRows(NamedTuple):
    """What the log shows about some states, numbered from `first` on."""

    first: int
    counts: Any  # [S, X] of letters
    lost: Any  # [S, A] of actions that left the automaton
    targets: Any  # [S, Y] next states, or UNSEEN
    factor: Any  # [S] weight of what follows
    span: Any  # [S] range of the remaining return
    usual: Any  # [S, A] probabilities of actions under the behaviour policy


class Letters(NamedTuple):
    """The parts of each letter."""

    symbol: Any  # [X]
    action: Any  # [X]
    reward: Any  # [X] scaled to [0, 1]


@jit
def _gains(rows, letters, i, values, found):
    """Compute times, mean and spread of each action in a state, rows of `found` [4, A]; return the mean of all."""
    found[:] = 0.0
    times, mean, spread = found[0], found[1], found[2]
    factor = rows.factor[i]
    for a in range(len(times)):
        times[a] = rows.lost[i, a]
    for x in range(len(letters.action)):
        n = rows.counts[i, x]
        if n:
            target = rows.targets[i, letters.symbol[x]]
            later = 0.0 if target == UNSEEN else values[target]  # unseen histories count as the worst
            gain = letters.reward[x] + factor * later
            a = letters.action[x]
            times[a] += n
            mean[a] += n * gain
            spread[a] += n * (gain * gain)
    total, visits = 0.0, 0.0
    for a in range(len(times)):
        total += mean[a]
        visits += times[a]
        n = max(times[a], 1.0)
        mean[a] /= n
        spread[a] = max(spread[a] / n - mean[a] * mean[a], 0.0)
    return total / max(visits, 1.0)


@jit
def _bound_actions(rows, i, unit, found):
    """Subtract penalties from the means of `_gains`; the last row becomes lower bounds that are not negative."""
    span = rows.span[i]
    for a in range(found.shape[1]):
        share = unit / max(found[0, a], 1.0)
        penalty = min(np.sqrt(share * found[2, a]) + share * span, span)
        found[3, a] = max(found[1, a] - penalty, 0.0)


@jit
def _comparable(value):
    """Round, so that rounding errors do not decide between equal values."""
    return np.rint(value * DIGITS) / DIGITS


@jit_unless_rare
def plan_states(rows, letters, unit, floor, before, plan):
    """Choose in each state the action with the best lower bound if it exceeds a floor, else the behaviour.

    The floor is `floor[0]` times the value of the behaviour plus `floor[1]`. `before` has the values and lower bounds
    of all states, `plan` the actions, values and lower bounds that are written. Of equal actions the one that was taken
    most often is chosen, and of these the first.
    """
    n_actions = rows.lost.shape[1]
    expected, cautious = np.zeros((4, n_actions)), np.zeros((4, n_actions))
    for i in range(len(rows.counts) - 1, -1, -1):
        q = rows.first + i
        overall = _gains(rows, letters, i, before[0], expected)
        overall_bound = _gains(rows, letters, i, before[1], cautious)
        _bound_actions(rows, i, unit, cautious)
        best, most = BEHAVE, -1.0
        for a in range(FIRST_ACTION, n_actions):
            if expected[0, a] > 0:
                bound = _comparable(cautious[3, a])
                if bound > most or (bound == most and expected[0, a] > expected[0, best]):
                    best, most = a, bound
        if best != BEHAVE and most > _comparable(floor[0] * overall_bound + floor[1]):
            plan[0][q], plan[1][q], plan[2][q] = best - FIRST_ACTION, expected[1, best], most
        else:
            plan[0][q], plan[1][q], plan[2][q] = BEHAVE, overall, overall_bound


@jit_unless_rare
def follow_states(rows, letters, unit, actions, before, values):
    """Compute the values of states under a plan, less all penalties; `before` has those of all states."""
    n_actions = rows.lost.shape[1]
    found = np.zeros((4, n_actions))
    for i in range(len(rows.counts) - 1, -1, -1):
        q = rows.first + i
        _gains(rows, letters, i, before, found)
        _bound_actions(rows, i, unit, found)
        if actions[q] != BEHAVE:
            values[q] = found[3, FIRST_ACTION + actions[q]]
        else:  # of the automaton's log, whose behaviour a policy keeps
            total = 0.0
            for a in range(n_actions):
                total += rows.usual[i, a] * found[3, a]
            values[q] = total


@jit_unless_rare
def add_visits(rows, letters, actions, share):
    """Add to `share` the expected visits of the states that follow, given those of these states."""
    for i in range(len(rows.counts)):
        q = rows.first + i
        visits = 0.0
        for a in range(rows.lost.shape[1]):
            if actions[q] == BEHAVE or a == actions[q] + FIRST_ACTION:
                visits += rows.lost[i, a]
        for x in range(len(letters.action)):
            if actions[q] == BEHAVE or letters.action[x] == actions[q] + FIRST_ACTION:
                visits += rows.counts[i, x]
        visits = max(visits, 1.0)
        for x in range(len(letters.action)):
            n = rows.counts[i, x]
            if n and (actions[q] == BEHAVE or letters.action[x] == actions[q] + FIRST_ACTION):
                share[rows.targets[i, letters.symbol[x]]] += share[q] * n / visits
