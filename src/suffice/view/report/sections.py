"""The page of a report, made from its content: advice first, then its basis, its certainty, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence

from suffice.view.html import Html, join, page, table, tag, text
from suffice.view.report.advice import advice, figures, returns
from suffice.view.report.structure import FORMER_KEY, Automaton, Content, Data, PolicyChange, State, Untried
from suffice.view.report.style import PAGE_CSS
from suffice.view.report.texts import figure, percent

MOST_ACTIONS = 4  # logged actions listed for a state
LONGEST_CELL = 40  # characters; shorter texts are not wrapped
POLICY = {True: "What to do", False: "What the plan would do"}  # heading, by whether the advice is to follow the plan
SETTINGS = {"confidence of the lower bound": "nominal level of the lower bound"}  # names on the page
NEXT = {
    "follow": "Try the plan on a small scale and compare its mean return with the prediction. More episodes would help "
    "most in the following cases.",
    "no difference": "Nothing better than the logged behaviour was found. More episodes may show smaller differences; "
    "they would help most in the following cases.",
    "keep": "Log more episodes and learn again. They would help most in the following cases.",
}


def page_of(content: Content, picture: Html | str, evidence: Html | str = "") -> str:
    """Return the whole page, given drawings of the automaton and of the evidence for columns, or sentences instead."""
    planned: dict[str, tuple[str, list[str]]] = {}
    if content.advice is not None:
        planned = {
            "policy": (POLICY[content.verdict_code == "follow"], _policy(content, content.advice)),
            "value": ("Expected return", returns(content)),
        }
    sections = planned | {
        "automaton": ("What must be remembered", _automaton(content, picture)),
        "data": ("Data", [*_data(content), *_columns(content.data, evidence)]),
        "promise": ("Guarantees", _guarantees(content)),
        "care": ("Assumptions and limits", [_list(content.cautions)]),
        "more": ("What to do next", _more(content)),
        "made": ("How to reproduce this", _made(content)),
    }
    links = join((tag("a", title, href=f"#{name}") for name, (title, _) in sections.items()), " ")
    body = [
        tag("header", tag("h1", content.title), _subtitle(content), tag("nav", links, aria_label="Sections")),
        tag("main", advice(content), figures(content), *(_section(k, *v) for k, v in sections.items())),
        tag("footer", f"Created with suffice {content.settings['suffice']}. This page needs no other file."),
    ]
    return page(content.title, PAGE_CSS, *body)


def _section(name: str, title: str, parts: Sequence[str]) -> Html:
    return tag("section", tag("h2", title, id=name), *parts, aria_labelledby=name)


def _list(items: Sequence[str]) -> Html:
    return tag("ul", *(tag("li", item) for item in items))


def _subtitle(content: Content) -> Html:
    data = content.data
    text = f"Learned from {data.episodes:,} logged episodes of up to {data.decisions} decisions each."
    return tag("p", text, class_="note")


def _policy(content: Content, changes: list[PolicyChange]) -> list[str]:
    if not changes:
        return [tag("p", "No change: in every state that it reaches, the plan does what the log did.")]
    stationary = content.automaton.stationary
    head = ["State", *(["Decision"] if stationary else []), "Observed on arrival", "Logged actions", "Plan"]
    rows = [
        [
            row.state,
            *([" to ".join(map(str, dict.fromkeys(row.steps)))] if stationary else []),
            _seen(row),
            _logged(row),
            tag("b", _unbroken(row.action)),
            figure(100 * row.visits, 3),
            ("+" if row.gain > 0 else "") + figure(row.gain, 3),
        ]
        for row in changes
    ]
    differs = (
        "The plan differs from the log in these states, the most important first. In all other states it does what the "
        "log did."
        if content.verdict_code == "follow"
        else "The advice is not to change the logged behaviour. The plan would differ from it in these states, the "
        "most important first, but the log does not show well enough that this is better."
    )
    text = (
        f"{differs} The gain is the increase in expected return of each such decision over the logged behaviour in "
        "that state, if the plan is followed afterwards."
    )
    caption = "Changed decisions, and how often an episode that follows the plan reaches each state"
    numbers = (len(head), len(head) + 1)
    whole = table(caption, [*head, "Per 100 episodes", "Gain"], rows, numbers, wide=(len(head) - 3,))
    parts: list[str] = [tag("p", text), whole, _reading(content)]
    left_out = content.advice_left_out
    return [*parts, tag("p", f"{left_out:,} less important changes are omitted.", class_="note")] if left_out else parts


def _logged(row: PolicyChange) -> Html:
    """List the most frequent logged actions with their shares."""
    did = [_unbroken(f"{action}: {percent(share)}") for action, share in row.logged.items()]
    shown = did if len(did) <= MOST_ACTIONS else [*did[: MOST_ACTIONS - 1], _unbroken(f"{len(did) - 3} more")]
    return join(shown, ", ")


def _seen(row: PolicyChange | State | Untried) -> Html:
    """Describe a state by what its arrivals share, what varies among them, and a typical history."""
    shared = row.common or ("Nothing in common" if row.varies else "")
    varies = [tag("br"), tag("small", row.varies)] if row.varies else []
    return join([shared, *varies, tag("br"), tag("small", "For example: ", _history(row.after), class_="note")])


def _history(history: str) -> Html:
    """Return a history that is wrapped between its steps only."""
    return join(map(_unbroken, history.split(" · ")), " · ")


def _unbroken(words: str) -> Html:
    return tag("span", words, class_="whole") if len(words) <= LONGEST_CELL else text(words)


def _reading(content: Content) -> Html:
    """Explain the notation of histories."""
    columns = ", ".join(column.name for column in content.data.columns if column.role == "observation")
    text = (
        f"Histories read from left to right: observations are in brackets ({columns}), and the action that led to an "
        "observation is before the arrow."
    )
    return tag("p", text, class_="note")


def _automaton(content: Content, picture: Html | str) -> list[str]:
    automaton = content.automaton
    kind = (
        "States are the same at every step, and an episode may return to a state."
        if automaton.stationary
        else "Each state belongs to one step of the episode: state 3.1 is one of those after step 3."
    )
    text = (
        f"The automaton has {automaton.states:,} states. Two histories share a state if the log shows no difference "
        f"between their futures. {content.unnoticed} {kind}"
    )
    caption = "Circles are states, arrows are transitions between them."
    drawn = (
        tag("figure", tag("div", picture, class_="paper"), tag("figcaption", caption))
        if isinstance(picture, Html)
        else tag("p", picture, class_="note")
    )
    return [tag("p", text), drawn, _largest(automaton), _reading(content)]


def _largest(automaton: Automaton) -> Html:
    share = "Share of steps" if automaton.stationary else "Share of episodes"
    head, numbers = ["State", share, "Observed on arrival"], [1]
    rows: list[list[str]] = [[state.name, percent(state.share, 1), _seen(state)] for state in automaton.largest]
    if any(state.value is not None for state in automaton.largest):
        head, numbers = [*head, "Plan", "Value"], [1, 4]
        for row, state in zip(rows, automaton.largest, strict=True):
            row += [_unbroken(state.action or ""), "" if state.value is None else figure(state.value)]
    shown = "All states" if len(rows) == automaton.states else f"The {len(rows)} most frequent states"
    worth = " Value: expected return from this state on under the plan, on the automaton." if len(head) > 3 else ""
    seen = " Observed on arrival: first what all arrivals share, then what varies among them."
    return table(f"{shown}.{seen}{worth}", head, rows, numbers, wide=(2,))


def _data(content: Content) -> list[str]:
    data = content.data
    text = f"The model was learned from {data.episodes:,} episodes of up to {data.decisions} decisions."
    if data.held_out:
        text += f" {percent(data.held_out)} of the log's episodes were held out for evaluation."
    rows = [(column.name, column.role, column.values) for column in data.columns]
    return [
        tag("p", text),
        table("Columns of the log", ("Column", "Role", "Values"), rows),
        tag("p", "Fingerprint of the log: ", tag("code", data.log_hash), class_="note"),
    ]


def _columns(data: Data, evidence: Html | str) -> list[str]:
    """Return which columns matter, with the evidence; nothing if they were not chosen by the data."""
    if not data.columns_evidence:
        return []
    drawn = (
        tag("figure", evidence, tag("figcaption", "Evidence for each column, given the chosen ones."))
        if evidence
        else ""
    )
    return [tag("h3", "Columns that matter"), _list(data.columns_evidence), drawn]


def _guarantees(content: Content) -> list[str]:
    technical = (tag("p", text, class_="note") for text in content.in_its_own_words)
    return [_list(content.promises), tag("h3", "Technical statements"), *technical]


def _more(content: Content) -> list[str]:
    text = NEXT.get(content.verdict_code or "", "More episodes would help most in the following cases.")
    return [tag("p", text), tag("h3", "Undecided merges"), *_undecided(content), *_untried(content)]


def _undecided(content: Content) -> list[str]:
    if content.undecided is None:
        return [tag("p", "Not available: the test that compared histories is part of a package that is not installed.")]
    if not content.undecided:
        return [tag("p", "None: no two merged histories are close to being distinguished.")]
    text = (
        "These histories share a state for lack of evidence. If the observed difference is not due to chance, the "
        "given number of episodes would distinguish them."
    )
    rows = [(_history(row.one), _history(row.other), row.witness, f"{row.episodes:,.0f}") for row in content.undecided]
    head = ("History", "Merged with", "Observed difference", "Episodes needed")
    caption = "Undecided merges, those that affect most episodes first" + _left_out(content.undecided_left_out)
    return [tag("p", text), table(caption, head, rows, numbers=(3,), wide=(0, 1, 2))]


def _untried(content: Content) -> list[str]:
    if content.advice is None:
        return []
    parts: list[str] = [tag("h3", "Actions with uncertain values")]
    if content.untried:
        parts += _unsure(content)
    else:
        parts.append(tag("p", "None: no action that was tried could still change the plan."))
    return [*parts, *_never_tried(content)] if content.never_tried else parts


def _unsure(content: Content) -> list[str]:
    rows = [
        (
            row.state,
            _seen(row),
            tag("b", _unbroken(row.action)) if row.chosen else _unbroken(row.action),
            f"{row.tries:,}",
            "" if row.worth is None else f"{figure(row.worth)} ± {figure(row.error, 2)}",
            figure(row.planned),
            "" if row.matter is None else figure(row.matter, 2),
        )
        for row in content.untried
    ]
    text = (
        "More trials of these actions would improve the plan or its prediction most. A planned action (in colour) may "
        "have a lower value than estimated, another action a higher one. The effect is the resulting change of the "
        "mean return per episode if the estimate is off by two standard errors."
    )
    head = ("State", "Observed on arrival", "Action", "Trials", "Value", "Planned value", "Effect")
    caption = "Actions with uncertain values, the largest effect first" + _left_out(content.untried_left_out)
    return [tag("p", text), table(caption, head, rows, numbers=(3, 4, 5, 6), wide=(1,))]


def _never_tried(content: Content) -> list[str]:
    rows = [
        (row.state, _seen(row), _unbroken(row.action), figure(100 * row.visits, 3), figure(row.planned))
        for row in content.never_tried
    ]
    text = (
        "The log contains no trial of these actions in these states, so the plan does not use them. They may be better "
        "or worse than its choices."
    )
    head = ("State", "Observed on arrival", "Action", "Per 100 episodes", "Planned value")
    caption = "Actions never tried, the most frequently reached states first" + _left_out(content.never_tried_left_out)
    return [tag("h3", "Never tried"), tag("p", text), table(caption, head, rows, numbers=(3, 4), wide=(1,))]


def _left_out(rows: int) -> str:
    return f"; {rows:,} more {'is' if rows == 1 else 'are'} omitted" if rows else ""


def _made(content: Content) -> list[str]:
    text = "This command learns the same model (LOG is the log; add the options that name its columns, if needed):"
    shown = [(SETTINGS.get(name, name), value) for name, value in content.settings.items() if name != FORMER_KEY]
    return [
        table("Settings", ("Setting", "Value"), shown),
        tag("p", text),
        tag("pre", tag("code", content.command)),
    ]
