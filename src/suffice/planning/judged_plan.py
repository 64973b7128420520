"""The value of a plan by an objective, from held-out episodes (`held_out_value`)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suffice.automata.rdp import RDP
from suffice.data.alphabet import PAD
from suffice.data.episodes import Episodes
from suffice.data.possible_returns import RewardRanges
from suffice.kernels.array_types import Int64, UInt64
from suffice.planning.held_out_value import HeldOutPlan, HeldOutValue
from suffice.planning.objective import RETURN, Objective
from suffice.planning.per_step import with_less_reward
from suffice.planning.plan import Plan


class JudgedPlan(NamedTuple):
    """A plan walked by held-out episodes, with the rewards that its objective needs.

    For the reward per step these are less by `ratio`, the plan's reward per step without refinement, so that a value of
    these rewards, divided by the number of `steps` of an episode, is the difference from it (`per_step`).
    """

    walked: HeldOutPlan
    ratio: float = 0.0
    steps: float = 1.0

    @classmethod
    def of(
        cls, rdp: RDP, plan: Plan, episodes: Episodes, ranges: RewardRanges, objective: Objective = RETURN
    ) -> JudgedPlan:
        """Walk episodes; `ranges` are those of the rewards of each step."""

        def walked(less: float) -> HeldOutPlan:
            low, high = ranges
            if less:  # padding keeps 0
                low, high = np.minimum(low - less, _zero_if_padded(episodes)), np.maximum(high - less, 0.0)
                return HeldOutPlan(
                    with_less_reward(rdp, less), plan, with_less_reward(episodes, less), (high - low)[1:]
                )
            return HeldOutPlan(rdp, plan, episodes, (high - low)[1:], objective.gamma)

        whole = walked(0.0)
        if not objective.per_step:
            return cls(whole)
        value = whole.value().value
        steps = value - walked(1.0).value().value
        ratio = value / steps
        return cls(walked(ratio) if ratio else whole, ratio, steps)

    def value(self, refinement: str | None = None) -> HeldOutValue:
        """Estimate the value of the plan, with nodes refined; see `HeldOutPlan.value`."""
        return self._by_objective(self.walked.value(refinement))

    def difference(self, other: JudgedPlan, weight: Int64 | None, group: UInt64 | None = None) -> tuple[float, float]:
        """Return by how much this plan is worth more than another one on the same episodes, and the variance."""
        if other is self:
            return 0.0, 0.0
        here = self._by_objective(self.walked.beside(other.walked))
        there = other._by_objective(other.walked.beside(self.walked))
        return here.value - there.value, here.variance(weight, there.influence, group=group)

    def _by_objective(self, found: HeldOutValue) -> HeldOutValue:
        """Turn a value of the rewards of `walked` into one of the objective."""
        if self.steps == 1.0 and not self.ratio:
            return found
        value = self.ratio + found.value / self.steps
        return HeldOutValue(value, found.influence / self.steps, found.rare / self.steps**2)


def _zero_if_padded(episodes: Episodes) -> float:
    """Return 0 if some episodes end early, so that padding is among the rewards; else infinity."""
    return 0.0 if bool((episodes.letters[:, 0] == PAD).any()) else np.inf
