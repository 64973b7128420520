"""Mean return, return per step and success rate, for people and machines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from suffice.domains.evaluation import Tried
    from suffice.domains.exact.values import Evaluation
    from suffice.evidence.estimates import Estimate
    from suffice.models.model import Model


MEASURES = ("mean_return", "return_per_step", "success_rate")


def measures(tried: Tried) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    for name in MEASURES:
        estimate: Estimate = getattr(tried, name)
        error = estimate.error if math.isfinite(estimate.error) else None  # of a single episode
        found |= {name: estimate.value, f"{name}_stderr": error}
    return found


def measures_exactly(expected: Evaluation) -> dict[str, float]:
    found: dict[str, float] = {}
    for name in MEASURES:
        found |= {name: float(getattr(expected, name)), f"{name}_stderr": 0.0}
    return found


def predicted(loaded: Model) -> dict[str, Any]:
    planned = loaded.about.plan
    assert planned is not None
    return {
        "predicted_value": planned.predicted,
        "predicted_lower_bound": planned.lower_bound,
        "behaviour_value": planned.behaviour_value,
    }


def print_measures(found: dict[str, Any], columns: dict[str, dict[str, Any]]) -> None:
    print(f"  {'':<18}" + "".join(f"{label:>26}" for label in columns))
    for name in MEASURES:
        cells = []
        for column in columns.values():
            error = column[f"{name}_stderr"]
            error = "" if found["exact"] else " ± ?" if error is None else f" ± {error:.2g}"
            cells.append(f"{column[name]:.6g}{error}")
        print(f"  {name.replace('_', ' '):<18}" + "".join(f"{cell:>26}" for cell in cells))
