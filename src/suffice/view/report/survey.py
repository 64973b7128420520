"""A plan looked over state by state: what it does instead of the log, and where more tries would tell most."""

from __future__ import annotations

from dataclasses import dataclass, replace

import msgspec
import numpy as np

from suffice.automata.rdp import BEHAVE, RDP
from suffice.data.alphabet import PAD
from suffice.kernels.array_types import Int64
from suffice.models.model import Model
from suffice.planning.backward_induction import action_errors, action_values
from suffice.view.arrows import terminated_states

SURE = 2.0  # standard errors


@dataclass(frozen=True, slots=True)
class Change:
    """Where the plan does not do what the log did."""

    state: int
    action: int  # place in the alphabet's actions
    visits: float  # in an episode that follows the plan
    gain: float  # of a visit, over choosing as the log did there once
    first: int  # decision of the episode at which that may be, and the last
    last: int


@dataclass(frozen=True, slots=True)
class ActionToTry:
    """An action that more tries would say something about."""

    state: int
    action: int
    tries: int  # in the log
    visits: float  # of the state, in an episode that follows the plan
    worth: float | None  # of the action, followed by the plan; None if it was never tried
    error: float
    planned: float  # worth of what the plan does there
    chosen: bool  # it is what the plan does
    matter: float  # what an episode may bring more or less if the action is worth so many errors more or less; a
    # guess if it was never tried


class Lasting(msgspec.Struct, frozen=True):
    """How long episodes are, in decisions."""

    plan: float  # on average
    log: float
    most: int
    plan_whole: float  # share that lasts as long as any
    log_whole: float


def lasting(model: Model) -> Lasting | None:
    """Under the plan and in the log, if frequencies were probabilities; None if all episodes are of one length."""
    layers, plan = model.planned, model.required_plan()
    on = np.isin(np.arange(layers.n_states), list(terminated_states(layers)), invert=True) & (layers.layer_of() > 0)
    if on[:-1][layers.layer_of()[:-1] > 0].all():
        return None
    behave = replace(plan, actions=np.full_like(plan.actions, BEHAVE))
    told = []
    for each in (plan, behave):
        going = np.bincount(layers.layer_of(), each.occupancy(layers) * on)  # [H+2] share of episodes that go on
        told.append((float(going.sum()), float(going[layers.horizon])))
    (planned, whole), (logged, log_whole) = told
    return Lasting(planned, logged, layers.horizon, whole, log_whole)


def tries(rdp: RDP) -> Int64:
    """[Q, actions] how often the log took each action in each state."""
    taken = np.zeros((rdp.n_states, rdp.alphabet.n_actions), np.int64)
    np.add.at(taken.T, rdp.letters[:, 0], rdp.counts.T)
    return taken[:, PAD + 1 :]


class Survey:
    """A plan on layers; those of a stationary automaton are put together again by the state they stand for."""

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
        self._logged = np.nansum(shares * self._worth, axis=1)  # what the log's choice is worth
        followed = self._worth[np.arange(len(self._here)), np.maximum(self._action, 0)]
        followed = np.where(np.isnan(followed), plan.values[self._here], followed)  # of a split: the other half knows
        self._planned = np.where(self._action == BEHAVE, self._logged, followed)

    def changes(self) -> list[Change]:
        """Those that gain most in an episode first."""
        found: dict[tuple[int, int], list[int]] = {}  # by state and action, in the order of steps
        for i, (q, a) in enumerate(zip(self._state.tolist(), self._action.tolist(), strict=True)):
            if a != BEHAVE and self._log[q, a] < self._log[q].sum():
                found.setdefault((q, a), []).append(i)
        rows = []
        for (q, a), here in found.items():
            visits = float(self._visits[here].sum())
            gain = float((self._visits[here] * (self._planned - self._logged)[here]).sum()) / visits
            rows.append(Change(q, a, visits, gain, int(self._step[here[0]]), int(self._step[here[-1]])))
        return sorted(rows, key=lambda row: (-round(row.visits * row.gain, 9), row.state, row.action))

    def gaps(self) -> list[ActionToTry]:
        """Those that matter most first: what the plan does might be worse, what it does not do might be better."""
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
    """Of several steps: what they are worth at the one that matters most."""
    most = max(gaps, key=lambda gap: gap.matter)
    visits, matter = sum(gap.visits for gap in gaps), sum(gap.matter for gap in gaps)
    figures = most.worth, most.error, most.planned, most.chosen
    return ActionToTry(most.state, most.action, most.tries, visits, *figures, matter)
