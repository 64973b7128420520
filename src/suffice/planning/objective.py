"""Objectives say what of an episode's rewards a plan maximises, and what predictions, bounds and verdicts are about.

With the reward r_t of decision t, and the number L of decisions until the episode ends or the horizon is reached:

*return*      E[Σ_t r_t], the default
*discounted*  E[Σ_t γ^(t−1) r_t] with a discount γ, over the horizon
*per-step*    E[Σ_t r_t] / E[L], the reward per decision in the long run, if episodes follow one another

Theory: docs/theory.md, section 6; the reward per step: `per_step`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from suffice.errors import SettingsError, alternatives, is_number, parameter

ObjectiveName = Literal["return", "per-step", "discounted"]
OBJECTIVES: tuple[ObjectiveName, ...] = ("return", "per-step", "discounted")
UNITS: dict[ObjectiveName, str] = {
    "return": "per episode",
    "per-step": "per step",
    "discounted": "per episode (discounted)",
}
NOUNS: dict[ObjectiveName, str] = {
    "return": "return",
    "per-step": "reward per step",
    "discounted": "discounted return",
}


@dataclass(frozen=True, slots=True)
class Objective:
    """What of an episode's rewards counts.

    Parameters
    ----------
    name
        "return", "per-step" or "discounted".
    discount
        Factor γ per step of the discounted objective, from 0 to 1.

    Examples
    --------
    >>> from suffice.planning.objective import Objective
    >>> Objective("discounted", 0.5).gamma, Objective("per-step").unit
    (0.5, 'per step')
    """

    name: ObjectiveName = "return"
    discount: float | None = None

    def __post_init__(self) -> None:
        if self.name not in OBJECTIVES:
            raise SettingsError(
                f"{parameter('objective', self.name)} is not an objective. Choose {alternatives(OBJECTIVES)}."
            )
        if self.name != "discounted":
            return
        if self.discount is None:
            raise SettingsError(
                f"{parameter('objective', 'discounted')} needs a discount. Add {parameter('discount', 0.95)}."
            )
        if not (is_number(self.discount) and 0 <= self.discount <= 1):
            raise SettingsError(f"{parameter('discount', self.discount)} is not a number from 0 to 1. Try 0.95.")

    @property
    def per_step(self) -> bool:
        """Whether returns are divided by the number of decisions."""
        return self.name == "per-step"

    @property
    def gamma(self) -> float:
        """The factor by which rewards count less per step, 1 unless the objective is discounted."""
        return 1.0 if self.name != "discounted" or self.discount is None else self.discount

    @property
    def unit(self) -> str:
        """What a value of the objective refers to, for texts."""
        return UNITS[self.name]

    @property
    def noun(self) -> str:
        """The name of a value of the objective, for texts."""
        return NOUNS[self.name]


RETURN = Objective()
