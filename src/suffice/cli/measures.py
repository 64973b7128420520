"""Mean return, return per step and success rate of a policy, as JSON and as a table."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from suffice.cli.printing import say

if TYPE_CHECKING:
    from suffice.domains.evaluation import Tried
    from suffice.domains.exact.values import Evaluation
    from suffice.evidence.estimates import Estimate
    from suffice.models.model import Model


MEASURES = ("mean_return", "return_per_step", "success_rate")


def measures(tried: Tried) -> dict[str, float | None]:
    """Return the measures of simulated episodes, with standard errors."""
    found: dict[str, float | None] = {}
    for name in MEASURES:
        estimate: Estimate = getattr(tried, name)
        error = estimate.error if math.isfinite(estimate.error) else None  # infinite for a single episode
        found |= {name: estimate.value, f"{name}_stderr": error}
    return found


def measures_exactly(expected: Evaluation) -> dict[str, float]:
    """Return exactly computed measures, with standard errors of 0."""
    found: dict[str, float] = {}
    for name in MEASURES:
        found |= {name: float(getattr(expected, name)), f"{name}_stderr": 0.0}
    return found


def predicted(loaded: Model) -> dict[str, Any]:
    """Return the prediction of a model about its plan, and the logged mean return."""
    planned = loaded.about.plan
    assert planned is not None
    return {
        "predicted_value": planned.predicted,
        "predicted_lower_bound": planned.lower_bound,
        "behaviour_value": planned.behaviour_value,
    }


def print_measures(found: dict[str, Any], columns: dict[str, dict[str, Any]]) -> None:
    """Print the measures of one or two policies side by side."""
    print(f"  {'':<18}" + "".join(f"{label:>26}" for label in columns))
    for name in MEASURES:
        cells = []
        for column in columns.values():
            error = column[f"{name}_stderr"]
            cells.append(f"{column[name]:.6g}" if found["exact"] else _with_error(column[name], error))
        print(f"  {name.replace('_', ' '):<18}" + "".join(f"{cell:>26}" for cell in cells))


def _with_error(value: float, error: float | None) -> str:
    """Show an estimate with as many decimals as its standard error has with two digits."""
    if not error:
        return f"{value:.6g} ± {'?' if error is None else 0}"
    decimals = min(max(1 - math.floor(math.log10(error)), 0), 9)
    return f"{value:.{decimals}f} ± {error:.{decimals}f}"


def print_prediction(found: dict[str, Any]) -> None:
    """Print the expected return that the model predicted, with its lower bound."""
    from suffice.models.model_summary import rounded

    value, lower = found["predicted_value"], found["predicted_lower_bound"]
    margin = value - lower
    say(f"Predicted return {rounded(value, margin)} (lower bound {rounded(lower, margin)} if the automaton is right).")
