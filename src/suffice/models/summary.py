"""The summary of a model: advice, returns, memory, columns, guarantee and warnings, as short texts and as JSON.

Everything is derived from the numbers in the header and the automaton. Full sentences: `sentences`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec import UnsetType, to_builtins

from suffice.automata.rdp import RDP
from suffice.data.alphabet import PAD, STOP
from suffice.data.encoding.binning import LOWEST
from suffice.errors import parameter, spelled
from suffice.evidence.estimates import Estimate
from suffice.learning.borderline import BorderlineMerge
from suffice.models.column_texts import columns_text, ignored_columns
from suffice.models.header import Header, Planned
from suffice.models.memory_texts import added_text, memory_of, memory_text
from suffice.models.sentences import forecast_of

Row = tuple[str, str]  # label and text
_DECISIVE = {  # reasons that precede the expected return
    "no_gain_shown": "no clear gain over the log; plan: ",
    "worse_on_held_out": "the plan returns less on held-out episodes: ",
    "too_few_episodes": "too few episodes to judge the plan; ",
    "lower_bound_below_logged": "the plan's lower bound is not above the logged return; ",
    "too_rare": "most histories are too rare to distinguish states; ",
}
WEAK = 0.8  # probability of no false split, below which the guarantee is weak
ADVICE = {"follow": "Follow the plan", "no difference": "No difference", "keep": "Keep the logged behaviour"}


def summary_rows(rdp: RDP, about: Header, details: str) -> list[Row]:
    """Return label and text of each line, most important first; `details` says where the assumptions are listed."""
    rows = [advice_row(about)]
    if about.plan is not None:
        rows.append(("Logged return", _logged(about.plan)))
    rows += [*_labelled("Memory", [*filter(None, (memory_text(rdp, about), added_text(rdp, about)))])]
    rows.append(("Columns", columns_text(about)))
    guarantees = [_guarantee_text(about, details), *_proof_texts(about, details)]
    return rows + _labelled("Guarantee", guarantees)


def warning_rows(
    about: Header, undecided: Sequence[BorderlineMerge] | None = None, notes: Sequence[str] = ()
) -> list[Row]:
    """Return the warnings about a model as rows labelled "Careful"; `notes` are those on how its log was read."""
    return _labelled("Careful", [*_warnings(about, undecided or ()), *notes])


def summary_json(rdp: RDP, about: Header) -> dict[str, Any]:
    """Return verdict, memory, columns and returns under the keys that `suffice info --json` has for scripts."""
    plan = about.plan
    return {
        "verdict": plan and plan.verdict,
        "verdict_reasons": list(plan.verdict_reasons) if plan else [],
        "memory": memory_of(rdp, about),
        "memory_comparison": to_builtins(about.compared) if about.compared else None,
        "columns": _columns(about),
        "columns_ignored": ignored_columns(about),
        "predicted": plan and _finite(plan.predicted),
        "lower_bound": None if plan is None or plan.lower_bound is None else _finite(plan.lower_bound),
        "logged": plan and _finite(plan.behaviour_value),
        "objective": plan and plan.aim.name,
        "ends": None if isinstance(about.ends, UnsetType) else about.ends.to_dict(),
        "groups": None if isinstance(about.groups, UnsetType) else about.groups,
        "adaptive_logger": about.adaptive_logger is True,
    }


def shorter_episodes(rdp: RDP) -> int:
    """Return the number of episodes that have fewer steps than the horizon, weights included."""
    action, observation, _ = rdp.letters.T
    before_last = rdp.counts if rdp.stationary else rdp.counts[rdp.layer_of() < rdp.horizon]
    return int(before_last[:, (action != PAD) & (observation == STOP)].sum())


def advice_row(about: Header) -> Row:
    """Return the advice, and the expected return of the plan with its lower bound."""
    plan = about.plan
    if plan is None:
        return "No plan", f"only the automaton was learned; for a policy leave out {parameter('plan', False)}"
    margin = plan.predicted_error if plan.lower_bound is None else plan.predicted - plan.lower_bound
    expected = f"{rounded(plan.predicted, margin)} {plan.aim.unit} expected"
    if plan.lower_bound is None or not math.isfinite(plan.lower_bound):
        bound = "no lower bound"
    else:
        bound = f"at least {rounded(plan.lower_bound, margin)}"
        if plan.judged is not None or plan.split:
            bound += f" with {100 * (1 - plan.delta):.3g} % confidence"
        if plan.judged is None:
            bound += " if the automaton is right"
        if plan.verdict == "follow" and plan.gain is not None:
            bound += f"; {_gain(plan)}"
    reason = _DECISIVE.get(plan.verdict_reasons[0] if plan.verdict_reasons else "", "")
    return ADVICE[plan.verdict], f"{reason}{expected}, {bound}"


def _gain(plan: Planned) -> str:
    """Describe the gain over the log by its lower bound or, if that is not positive, by its expectation."""
    assert plan.gain is not None
    bound = plan.gain_lower_bound
    if bound is not None and bound > 0:
        return f"gain at least {rounded(bound, plan.gain - bound)}"
    return f"expected gain {rounded(plan.gain, plan.gain_error or plan.gain)}"


def rounded(value: float, error: float) -> str:
    """Format a number with as many decimals as its error supports: two for errors from 0.01 to 10."""
    if not math.isfinite(error) or error <= 0:
        return f"{value:.4g}"
    decimals = 0 if error >= 10 else 2 if error >= 0.01 else min(-math.floor(math.log10(error)), 4)
    return f"{round(value, decimals) + 0.0:,.{decimals}f}"  # + 0.0: no negative zero


def with_error(estimate: Estimate) -> str:
    """Format a value and its standard error: two digits of the error, and as many decimals of the value."""
    if not math.isfinite(estimate.error):
        return f"{estimate.value:.4g} ± ?"
    if estimate.error <= 0:
        return f"{estimate.value:.6g} ± 0"
    decimals = max(0, 1 - math.floor(math.log10(estimate.error)))
    return f"{round(estimate.value, decimals) + 0.0:,.{decimals}f} ± {estimate.error:.{decimals}f}"


def percent(share: float) -> str:
    """Format a share with three digits, such as 10.8%."""
    return f"{100 * share:.3g}%"


def _logged(plan: Planned) -> str:
    error = plan.behaviour_error
    text = f"{rounded(plan.behaviour_value, error or 0.0)} {plan.aim.unit} on average"
    if error is None:
        return text
    low, high = Estimate(plan.behaviour_value, error).interval()
    return f"{text}, 95 % confidence interval {rounded(low, error)} to {rounded(high, error)}"


def _columns(about: Header) -> list[dict[str, Any]]:
    """List the observation columns with their kinds, and the cut points of binned ones."""
    kinds = about.encoder.kinds
    found = []
    for name in about.encoder.observations:
        kind = kinds.get(name, {"kind": "category"})
        edges = kind.get("edges")
        values: dict[str, Any] = {"groups": kind.get("groups")}
        if edges is not None:
            values = {"cuts": [edge for edge in edges if edge != LOWEST]}
        found.append({"name": name, "kind": kind["kind"], **values})
    return found


def _guarantee_text(about: Header, details: str) -> str:
    promise = about.promise
    tests, false_split = promise.tests + promise.second_tests, promise.split + promise.second_split
    if not tests:
        nothing = "states were not tested" if promise.stationary else "every layer has a single candidate"
        return f"nothing was compared: {nothing}"
    if false_split >= 1:
        return f"none: {_tests(tests)} at this level may make false splits; use {_more_confident(about)}"
    sure = _at_least(1 - false_split)
    return f"no false split with probability at least {sure} ({_tests(tests)}), under assumptions ({details})"


def _tests(count: int) -> str:
    return f"{count:,} test{'s' if count > 1 else ''}"


def _at_least(probability: float) -> str:
    """Round a probability down, so that the text does not claim more than the number."""
    return f"{math.floor(probability * 1000 + 1e-9) / 1000:.3g}"


def _proof_texts(about: Header, details: str) -> Iterator[str]:
    plan, forecast = about.plan, forecast_of(about)
    if plan is None or forecast is None or forecast.halves is None:
        return
    halves = forecast.halves
    if halves.bracket is not None and halves.states <= halves.max_states:
        lower, gap = halves.bracket.lower, halves.bracket.upper - halves.bracket.lower
        yield (
            f"plan returns at least {lower:.4g}, within {gap:.4g} of the best policy, with probability "
            f"{1 - halves.delta:g} ({details})"
        )


def _warnings(about: Header, undecided: Sequence[BorderlineMerge]) -> Iterator[str]:
    promise, plan, forecast = about.promise, about.plan, forecast_of(about)
    if about.adaptive_logger is True:
        yield "the logger learned while it acted; the confidence of guarantee and bound is not proved for such a log"
    if WEAK > 1 - promise.split - promise.second_split > 0:
        yield f"the guarantee is weak; for a stronger one use {_more_confident(about)}"
    if not (promise.stationary or about.second_look or plan is None or plan.split):
        yield f"not refined, because a test or level was chosen; {parameter('second_look', True)} refines the automaton"
    if promise.detectable is not None and promise.detectable > 1:
        yield "most merges rest on too few episodes to notice any difference; collect more episodes"
    if forecast is not None and forecast.beyond_log:
        yield f"no logged episode earned the expected return; the best earned {forecast.best:.4g}"
    if plan is not None and "automaton_does_not_fit" in plan.verdict_reasons:
        yield "held-out episodes do not fit the automaton: it lacks states; the lower bound allows for that"
    if plan is not None and not plan.split and plan.judged is None:
        yield _optimistic(about.held_out > 0)
    if plan is not None and plan.endless is not None:
        yield f"the plan is discounted, without a last step; expected is the undiscounted return of {about.steps} steps"
    if about.grouped_observations is True:
        yield f"observations were compared in groups, to fit into memory; raise {parameter('memory')} to compare each"
    if about.forced_share:
        yield f"{about.forced_share:.1%} of the data joined a state only because it is rarer than {parameter('cut')}"
    if undecided:
        count = f"{len(undecided):,} merge{'s are' if len(undecided) > 1 else ' is'} undecided"
        yield f"{count}; if the difference is real, about {max(m.episodes for m in undecided):,.0f} episodes show it"


def _more_confident(about: Header) -> str:
    """Return the parameters that learn the same kind of model with a stronger guarantee."""
    words = [parameter("confidence", 0.95)]
    if about.compared:  # a level alone would choose layers
        words.append(parameter("stationary", "auto"))
    elif about.promise.stationary:
        words.append(parameter("stationary", True))
    elif about.second_look:
        words.append(parameter("second_look", True))
    return spelled(", ", " ").join(words)


def _optimistic(held_out: bool) -> str:
    check = "the held-out episodes" if held_out else parameter("hold_out", 0.2)
    return f"plan and prediction share episodes, so this return is optimistic; verify with {check}"


def _labelled(label: str, texts: Sequence[str]) -> list[Row]:
    return [("" if i else label, text) for i, text in enumerate(texts)]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
