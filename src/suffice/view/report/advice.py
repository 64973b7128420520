"""The answer first: what to do, what that would bring, and how sure that is."""

from __future__ import annotations

from suffice.view.html import Html, join, table, tag
from suffice.view.report.content import FOLLOW, KEEP
from suffice.view.report.pictures import intervals_svg
from suffice.view.report.structure import Content, MeanReturn
from suffice.view.report.texts import figure


def verdict(content: Content) -> Html:
    """The answer first."""
    if content.advice is None:
        told = "This model was learned without one (--planner none). It says what has to be remembered, not what to do."
        return tag("div", tag("strong", content.verdict), tag("p", told), class_="verdict")
    log, plan = content.worth[:2]
    told = {
        FOLLOW: f"It will likely bring more than the log did: {_told(plan)} per episode is predicted, where the log "
        f"brought {_told(log)}.",
        KEEP: f"The plan is predicted to bring {_told(plan)} per episode, where the log brought {_told(log)}, but it "
        "is not sure to bring as much. More episodes may help.",
    }[content.verdict]
    if content.lower_bound is not None and content.sure is not None:
        told += f" Likely it brings at least {figure(content.lower_bound)} on average, if the states are right."
    if content.evaluation:
        log, plan = content.worth[2:4]
        told += (
            " Too few of the episodes not learned from do what the plan would, to say whether that is so."
            if plan.low is None
            else f" Episodes not learned from say {_told(plan)} ({_interval(plan)}), against {_told(log)}."
        )
    kind = "good" if content.verdict == FOLLOW else "wait"
    answer = tag("div", tag("strong", content.verdict), tag("p", told), class_=f"verdict {kind}")
    notes = [tag("p", told) for told in content.warnings]
    return join([answer, tag("div", tag("b", "Be careful"), *notes, class_="caution")]) if notes else answer


def figures(content: Content) -> Html:
    automaton = content.automaton
    kind = "the same at every step" if automaton.stationary else f"in {len(automaton.layers)} layers, one for each step"
    found = [(row.name, _told(row), f"per episode; {_interval(row)}, 95 % confidence") for row in content.worth[:2]]
    found.append(("States to remember", f"{automaton.states:,}", kind))
    if content.advice is not None:
        changes = len(content.advice) + content.advice_left_out
        found.append(("Choices that change", f"{changes:,}", "in which the plan departs from the log"))
    cells = (tag("div", tag("dt", name), tag("dd", value, tag("small", note))) for name, value, note in found)
    return tag("dl", *cells, class_="figures")


def _interval(row: MeanReturn) -> str:
    if row.low is None or row.high is None:
        return "interval unknown"
    return f"{figure(row.low)} to {figure(row.high)}"


def _told(row: MeanReturn) -> str:
    return "not available" if row.value is None else figure(row.value)


def value(content: Content) -> list[str]:
    """What the plan would bring beside what the log did, in all and by what an episode begins with."""
    rows = [(row.name, _told(row), _interval(row) if row.value is not None else "") for row in content.worth]
    explained = (
        "The return of an episode is what it brings in all: the sum of its rewards. It is compared on average over "
        "many episodes."
    )
    caption = "Mean return per episode. Dots are estimates, lines 95 % intervals."
    parts = [
        tag("p", explained),
        tag("figure", intervals_svg(content.worth), tag("figcaption", caption)),
        table("The same in figures", ("Of", "Mean return", "95 % confidence"), rows, numbers=(1,)),
        *(tag("p", told) for told in content.evaluation),
    ]
    return [*parts, *_lasts(content), *_starts(content)]


def _lasts(content: Content) -> list[str]:
    lasts = content.lasts
    if lasts is None:
        return []
    told = (
        f"Episodes last {figure(lasts.plan, 3)} decisions on average if they follow the plan, {figure(lasts.log, 3)} "
        f"in the log. {lasts.plan_whole:.0%} and {lasts.log_whole:.0%} of them go on to the last decision, number "
        f"{lasts.most:,}."
    )
    return [tag("h3", "How long episodes last"), tag("p", told)]


def _starts(content: Content) -> list[str]:
    if len(content.starts) < 2:
        return []
    rows = [
        (
            row.state,
            join([row.common or "Nothing in common", tag("br"), tag("small", row.varies)])
            if row.varies
            else row.common,
            f"{row.share:.1%}",
            figure(row.log),
            figure(row.plan),
        )
        for row in content.starts
    ]
    head = ("State", "First seen", "Share of episodes", "As the log did", "By the plan")
    left_out = f"; {content.starts_left_out:,} more are left out" if content.starts_left_out else ""
    caption = f"Mean return by what an episode begins with, if frequencies were probabilities{left_out}"
    return [tag("h3", "By the first observation"), table(caption, head, rows, numbers=(2, 3, 4), wide=(1,))]
