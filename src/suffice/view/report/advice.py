"""The first part of a report: the advice, its figures, and the expected return."""

from __future__ import annotations

from suffice.errors import parameter
from suffice.view.html import Html, join, table, tag
from suffice.view.report.pictures import intervals_svg
from suffice.view.report.structure import Content, MeanReturn
from suffice.view.report.texts import figure, percent


def advice(content: Content) -> Html:
    """Return the box with the advice, the returns behind it and any warnings."""
    if content.advice is None:
        text = (
            f"This model was learned without a plan ({parameter('plan', False)}). It describes what must be remembered "
            "to predict what happens next, not what to do."
        )
        return tag("div", tag("strong", content.verdict), tag("p", text), class_="verdict")
    log, plan = content.worth[:2]
    parts = [f"Predicted mean {content.noun} of the plan: {_value(plan)} {content.unit}"]
    if content.lower_bound is not None and content.sure is not None:
        level = f" with {100 * content.sure:.3g} % confidence" if content.judged else ", if the automaton is right"
        parts.append(f" (at least {figure(content.lower_bound)}{level})")
    parts.append(f". Mean {content.noun} of the log: {_value(log)}.")
    if content.evaluation:
        parts.append(_held_out(*content.worth[2:4]))
    kind = {"follow": "good", "no difference": "even"}.get(content.verdict_code or "", "wait")
    answer = tag("div", tag("strong", content.verdict_sentence), tag("p", "".join(parts)), class_=f"verdict {kind}")
    notes = [tag("p", text) for text in content.warnings]
    return join([answer, tag("div", tag("b", "Caution"), *notes, class_="caution")]) if notes else answer


def _held_out(log: MeanReturn, plan: MeanReturn) -> str:
    if plan.low is None:
        return " The episodes that were not used for learning are too few to check the prediction."
    return (
        f" Episodes that were not used for learning give {_value(plan)} ({_interval(plan)}) for the plan and "
        f"{_value(log)} for the log."
    )


def figures(content: Content) -> Html:
    """Return the tiles with the most important numbers."""
    automaton = content.automaton
    kind = "the same at every step" if automaton.stationary else f"in {len(automaton.layers)} layers, one per step"
    found = [
        (f"Mean {content.noun}, {row.label}", _value(row), f"{content.unit}; {_interval(row)}")
        for row in content.worth[:2]
    ]
    found.append(("States to remember", f"{automaton.states:,}", kind))
    if content.advice is not None:
        changes = len(content.advice) + content.advice_left_out
        found.append(("Changed decisions", f"{changes:,}", "states in which the plan differs from the log"))
    cells = (tag("div", tag("dt", name), tag("dd", value, tag("small", note))) for name, value, note in found)
    return tag("dl", *cells, class_="figures")


def _interval(row: MeanReturn) -> str:
    if row.lower_bound is not None:
        return f"lower bound {figure(row.lower_bound)}"
    return f"95 % interval {_range(row)}" if _range(row) else "interval unknown"


def _range(row: MeanReturn) -> str:
    if row.lower_bound is not None:
        return f"lower bound {figure(row.lower_bound)}"
    return "" if row.low is None or row.high is None else f"{figure(row.low)} to {figure(row.high)}"


def _value(row: MeanReturn) -> str:
    return "not available" if row.value is None else figure(row.value)


def returns(content: Content) -> list[str]:
    """Compare the expected return of the plan with that of the log, in total and by first observation."""
    rows = [(row.label, _value(row), _range(row)) for row in content.worth]
    caption = f"Mean {content.noun} {content.unit}. Dots are estimates, lines are 95 % intervals."
    meaning = {
        "return": "The return of an episode is the sum of its rewards.",
        "discounted return": "The discounted return of an episode is the sum of its rewards, later ones counting less.",
        "reward per step": "The reward per step is the expected return divided by the expected number of decisions.",
    }[content.noun]
    if any(row.lower_bound is not None for row in content.worth):
        caption += " The line of the predicted plan begins at its lower bound"
        caption += "." if content.judged else ", which has no confidence level."
    parts = [
        tag(
            "p",
            f"{meaning} Mean {content.noun}s over many episodes are compared."
            if content.noun != "reward per step"
            else meaning,
        ),
        tag("figure", intervals_svg(content.worth), tag("figcaption", caption)),
        table(
            f"Mean {content.noun} {content.unit}",
            ("Estimate of", f"Mean {content.noun}", "95 % interval"),
            rows,
            numbers=(1,),
        ),
        *(tag("p", text) for text in content.evaluation),
    ]
    return [*parts, *_lengths(content), *_starts(content)]


def _lengths(content: Content) -> list[str]:
    lasts = content.lasts
    if lasts is None:
        return []
    text = (
        f"Episodes last {figure(lasts.plan, 3)} decisions on average under the plan and {figure(lasts.log, 3)} in the "
        f"log. {percent(lasts.plan_whole)} and {percent(lasts.log_whole)} of them reach the last decision, number "
        f"{lasts.most:,}."
    )
    return [tag("h3", "Length of episodes"), tag("p", text)]


def _starts(content: Content) -> list[str]:
    if len(content.starts) < 2:
        return []
    rows = [
        (
            row.state,
            join([row.common or "Nothing in common", tag("br"), tag("small", row.varies)])
            if row.varies
            else row.common,
            percent(row.share, 1),
            figure(row.log),
            figure(row.plan),
        )
        for row in content.starts
    ]
    head = ("State", "First observation", "Share of episodes", "Log", "Plan")
    left_out = f"; {content.starts_left_out:,} more are omitted" if content.starts_left_out else ""
    caption = f"Value on the automaton by first observation{left_out}"
    whole = table(caption, head, rows, numbers=(2, 3, 4), wide=(1,))
    return [tag("h3", "By first observation"), whole, tag("p", _correction(content), class_="note")]


def _correction(content: Content) -> str:
    """Explain why the values of a plan differ from its predicted mean return."""
    return (
        "Values on the automaton use observed frequencies as probabilities and assume that all histories in a state "
        f"have the same future. The predicted mean return, {_value(content.worth[1])}, comes from episodes that the "
        "plan was not made from. It therefore differs from the mean of the plan's values."
    )
