"""Comparison of a plan with the log, state by state: changed decisions, and actions that deserve more trials."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from suffice.automata.rdp import BEHAVE, RDP
from suffice.data.alphabet import PAD
from suffice.kernels.array_types import Int64
from suffice.models.model import Model
from suffice.models.model_data import ended_states
from suffice.planning.backward_induction import action_errors, action_values

SURE = 2.0  # standard errors by which an estimate may be off


@dataclass(frozen=True, slots=True)
class Change:
    """A state in which the plan does not do what the log did."""

    state: int
    action: int  # index into the alphabet's actions
    visits: float  # expected number per episode under the plan
    gain: float  # expected increase of the return per visit over the behaviour policy's choice
    first: int  # first decision of an episode at which the plan does this
    last: int  # last such decision


@dataclass(frozen=True, slots=True)
class ActionToTry:
    """An action whose value more trials would clarify."""

    state: int
    action: int
    tries: int  # trials in the log
    visits: float  # expected number of visits of the state per episode under the plan
    worth: float | None  # value of the action if the plan is followed afterwards; None if it was never tried
    error: float
    planned: float  # value of the plan's choice in the state
    chosen: bool  # whether the action is the plan's choice
    matter: float  # change of the mean return if `worth` is off by SURE errors; a guess if it was never tried


class EpisodeLengths(msgspec.Struct, frozen=True):
    """Length of episodes, in decisions."""

    plan: float  # mean under the plan
    log: float  # mean in the log
    most: int
    plan_whole: float  # share of episodes of the largest length
    log_whole: float


def episode_lengths(model: Model) -> EpisodeLengths | None:
    """Return the length of episodes under the plan and in the log; None if all have the same length.

    Observed frequencies are used as probabilities.
    """
    layers, plan = model.planned, model.required_plan()
    on = np.isin(np.arange(layers.n_states), list(ended_states(layers)), invert=True) & (layers.layer_of() > 0)
    if on[:-1][layers.layer_of()[:-1] > 0].all():
        return None
    behave = replace(plan, actions=np.full_like(plan.actions, BEHAVE))
    lengths = []
    for each in (plan, behave):
        going = np.bincount(layers.layer_of(), each.occupancy(layers) * on)  # [H+2] share of episodes that continue
        lengths.append((float(going.sum()), float(going[layers.horizon])))
    (planned, whole), (logged, log_whole) = lengths
    return EpisodeLengths(planned, logged, layers.horizon, whole, log_whole)


def tries(rdp: RDP) -> Int64:
    """Return the number of trials [Q, actions] of each action in each state of the log."""
    taken = np.zeros((rdp.n_states, rdp.alphabet.n_actions), np.int64)
    for rows in rdp.blocks():
        np.add.at(taken[rows].T, rdp.letters[:, 0], rdp.counts[rows].T)
    return taken[:, PAD + 1 :]


class Survey:
    """Values and visits of all decisions of a plan; steps of a stationary automaton are combined by state."""

    def __init__(self, model: Model) -> None:
        plan, (layers, stands) = model.required_plan(), model.rdp.unroll()
        self._log, self._tries = tries(model.rdp), tries(layers)
        self._here = np.flatnonzero((self._tries.sum(axis=1) > 0) & (plan.occupancy(layers) > 0))
        self._state, self._visits = stands[self._here], plan.occupancy(layers)[self._here]
        self._step = layers.layer_of()[self._here]
        self._tries, self._action = self._tries[self._here], plan.actions[self._here]
        tally = layers.own_tally()
        self._worth = action_values(layers, plan, tally)[self._here]
        self._error = action_errors(layers, plan, tally)[self._here]
        shares = self._tries / self._tries.sum(axis=1, keepdims=True)
        self._logged = np.nansum(shares * self._worth, axis=1)  # value of the behaviour policy's choice
        followed = self._worth[np.arange(len(self._here)), np.maximum(self._action, 0)]
        # With split data the plan may choose actions that only the other half of the log contains.
        followed = np.where(np.isnan(followed), plan.values[self._here], followed)
        self._planned = np.where(self._action == BEHAVE, self._logged, followed)

    def changes(self) -> list[Change]:
        """Return the changed decisions, ordered by their total gain per episode."""
        found: dict[tuple[int, int], list[int]] = {}  # state and action: decisions in the order of steps
        for i, (q, a) in enumerate(zip(self._state.tolist(), self._action.tolist(), strict=True)):
            if a != BEHAVE and self._log[q, a] < self._log[q].sum():
                found.setdefault((q, a), []).append(i)
        rows, gains = [], self._planned - self._logged
        for (q, a), here in found.items():
            visits = float(self._visits[here].sum())
            gain = float((self._visits[here] * gains[here]).sum()) / visits
            rows.append(Change(q, a, visits, gain, int(self._step[here[0]]), int(self._step[here[-1]])))
        return sorted(rows, key=lambda row: (-round(row.visits * row.gain, 9), row.state, row.action))

    def gaps(self) -> list[ActionToTry]:
        """Return the actions that deserve more trials, those with the largest effect first.

        A planned action may be worse than estimated, and another action better.
        """
        found: dict[tuple[int, int], list[ActionToTry]] = {}
        unknown = np.isnan(self._worth)
        chosen = self._action[:, None] == np.arange(self._worth.shape[1])
        best = np.where(unknown, self._planned[:, None], self._worth) + SURE * self._error
        hope = np.where(chosen, SURE * self._error, np.maximum(best - self._planned[:, None], 0.0))
        for i, a in np.argwhere(hope > 0).tolist():
            q, worth = int(self._state[i]), None if unknown[i, a] else float(self._worth[i, a])
            figures = float(self._visits[i]), worth, float(self._error[i, a]), float(self._planned[i])
            matter = float(self._visits[i] * hope[i, a])
            gap = ActionToTry(q, a, int(self._log[q, a]), *figures, bool(chosen[i, a]), matter)
            found.setdefault((q, a), []).append(gap)
        return sorted(map(_combine, found.values()), key=lambda gap: (-round(gap.matter, 9), gap.state, gap.action))


def _combine(gaps: list[ActionToTry]) -> ActionToTry:
    """Combine the same action at several steps; values are those of the step with the largest effect."""
    most = max(gaps, key=lambda gap: gap.matter)
    visits, matter = (math.fsum(figures) for figures in zip(*((gap.visits, gap.matter) for gap in gaps), strict=True))
    figures = most.worth, most.error, most.planned, most.chosen
    return ActionToTry(most.state, most.action, most.tries, visits, *figures, matter)
