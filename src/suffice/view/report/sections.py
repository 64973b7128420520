"""From what a report says to its page."""

from __future__ import annotations

from collections.abc import Sequence

from suffice.view.html import Html, join, page, table, tag, text
from suffice.view.report.advice import figures, value, verdict
from suffice.view.report.style import PAGE_CSS
from suffice.view.report.structure import Automaton, Content, PolicyChange, State, Untried
from suffice.view.report.texts import figure

MOST_ACTIONS = 4  # of the log, in a state
LONGEST_CELL = 40  # characters that stay on one line


def page_of(content: Content, picture: Html | str) -> str:
    """The whole page; `picture` is of the automaton, or a sentence instead of it."""
    planned: dict[str, tuple[str, list[str]]] = {}
    if content.advice is not None:
        planned = {
            "value": ("What it would bring", value(content)),
            "policy": ("What to do", _policy(content, content.advice)),
        }
    sections = planned | {
        "automaton": ("What has to be remembered", _automaton(content, picture)),
        "data": ("The data", _data(content)),
        "promise": ("What is promised", _promise(content)),
        "more": ("Where more data would help most", _more(content)),
        "care": ("What to be careful about", [_list(content.cautions)]),
        "made": ("How this was made", _made(content)),
    }
    links = join((tag("a", title, href=f"#{name}") for name, (title, _) in sections.items()), " ")
    body = [
        tag("header", tag("h1", content.title), _subtitle(content), tag("nav", links, aria_label="Sections")),
        tag("main", verdict(content), figures(content), *(_section(k, *v) for k, v in sections.items())),
        tag("footer", f"Made by suffice {content.settings['suffice']}. This page needs no other file."),
    ]
    return page(content.title, PAGE_CSS, *body)


def _section(name: str, title: str, parts: Sequence[str]) -> Html:
    return tag("section", tag("h2", title, id=name), *parts, aria_labelledby=name)


def _list(items: Sequence[str]) -> Html:
    return tag("ul", *(tag("li", item) for item in items))


def _subtitle(content: Content) -> Html:
    data = content.data
    told = f"A report on {data.episodes:,} logged episodes of up to {data.decisions} decisions each."
    return tag("p", told, class_="note")


def _policy(content: Content, advice: list[PolicyChange]) -> list[str]:
    if not advice:
        return [tag("p", "Nothing: in every state it reaches, the plan does what the log did.")]
    folded = content.automaton.stationary
    head = ["State", *(["Decision"] if folded else []), "Seen on arrival", "The log did", "Do"]
    rows = [
        [
            row.state,
            *([" to ".join(map(str, dict.fromkeys(row.steps)))] if folded else []),
            _seen(row),
            _logged(row),
            tag("b", _unbroken(row.action)),
            figure(100 * row.visits, 3),
            ("+" if row.gain > 0 else "") + figure(row.gain, 3),
        ]
        for row in advice
    ]
    told = (
        "Where the plan departs from the log, what matters most first. Everywhere else it does what the log did. The "
        "gain is what each such choice brings over choosing as the log did there, if the plan is followed afterwards."
    )
    caption = "What to do, and how often an episode that follows the plan comes to each state"
    numbers = (len(head), len(head) + 1)
    whole = table(caption, [*head, "Per 100 episodes", "Gain"], rows, numbers, wide=(len(head) - 3,))
    parts: list[str] = [tag("p", told), whole, _reading(content)]
    left_out = content.advice_left_out
    return [*parts, tag("p", f"And {left_out:,} more that matter less.", class_="note")] if left_out else parts


def _logged(row: PolicyChange) -> Html:
    """The actions that the log took most often."""
    did = [_unbroken(f"{action} {share:.0%}") for action, share in row.logged.items()]
    shown = did if len(did) <= MOST_ACTIONS else [*did[: MOST_ACTIONS - 1], _unbroken(f"{len(did) - 3} more")]
    return join(shown, ", ")


def _seen(row: PolicyChange | State | Untried) -> Html:
    """What a state stands for first, then one history that leads to it."""
    shared = row.common or ("Nothing in common" if row.varies else "")
    varies = [tag("br"), tag("small", row.varies)] if row.varies else []
    return join([shared, *varies, tag("br"), tag("small", "For example: ", _history(row.after), class_="note")])


def _history(history: str) -> Html:
    """Lines break between its steps."""
    return join(map(_unbroken, history.split(" · ")), " · ")


def _unbroken(words: str) -> Html:
    return tag("span", words, class_="whole") if len(words) <= LONGEST_CELL else text(words)


def _reading(content: Content) -> Html:
    """How histories are written."""
    columns = ", ".join(column.name for column in content.data.columns if column.role == "observation")
    told = (
        f"Histories read from left to right; in brackets is what was observed ({columns}), before an arrow the action "
        "that led to it."
    )
    return tag("p", told, class_="note")


def _automaton(content: Content, picture: Html | str) -> list[str]:
    automaton = content.automaton
    kind = (
        "They are the same at every step, and an episode may come back to one."
        if automaton.stationary
        else "Each belongs to a step of the episode: state 3.1 is one of those after step 3."
    )
    told = (
        f"{automaton.states:,} states were found. Two histories are in the same state if nothing in the log shows that "
        f"what follows them differs. {content.unnoticed} {kind}"
    )
    caption = "Circles are states, arrows the steps that lead from one to another."
    drawn = (
        tag("figure", tag("div", picture, class_="paper"), tag("figcaption", caption))
        if isinstance(picture, Html)
        else tag("p", picture, class_="note")
    )
    return [tag("p", told), drawn, _largest(automaton), _reading(content)]


def _largest(automaton: Automaton) -> Html:
    share = "Share of steps" if automaton.stationary else "Share of episodes"
    head, numbers = ["State", share, "Seen on arrival"], [1]
    rows: list[list[str]] = [[state.name, f"{state.share:.1%}", _seen(state)] for state in automaton.largest]
    if any(state.value is not None for state in automaton.largest):
        head, numbers = [*head, "Plan", "Worth"], [1, 4]
        for row, state in zip(rows, automaton.largest, strict=True):
            row += [_unbroken(state.action or ""), "" if state.value is None else figure(state.value)]
    shown = "All states" if len(rows) == automaton.states else f"The {len(rows)} largest states"
    worth = " Worth is the mean return still to come under the plan." if len(head) > 3 else ""
    seen = " Seen on arrival is first what all arrivals share, then what varies among them."
    return table(f"{shown}.{seen}{worth}", head, rows, numbers, wide=(2,))


def _data(content: Content) -> list[str]:
    data = content.data
    told = f"{data.episodes:,} episodes of up to {data.decisions} decisions were learned from."
    if data.held_out:
        told += f" {data.held_out:.0%} of the log's episodes were left out, to judge the result by."
    rows = [(column.name, column.role, column.values) for column in data.columns]
    return [
        tag("p", told),
        table("What the log records", ("Column", "Role", "Values"), rows),
        tag("p", "The log is known again by ", tag("code", data.log_hash), ".", class_="note"),
    ]


def _promise(content: Content) -> list[str]:
    own = (tag("p", told, class_="note") for told in content.in_its_own_words)
    return [_list(content.promises), tag("h3", "In the program's own words"), *own]


def _more(content: Content) -> list[str]:
    return [tag("h3", "Histories that may differ"), *_undecided(content), *_untried(content)]


def _undecided(content: Content) -> list[str]:
    if content.undecided is None:
        return [tag("p", "Not known: the test that compared them is of a package that is not available here.")]
    if not content.undecided:
        return [tag("p", "None: no two histories that count as one come close to being told apart.")]
    told = "These count as one state for lack of evidence. If the difference seen is no chance, more episodes tell."
    rows = [(_history(row.one), _history(row.other), row.witness, f"{row.episodes:,.0f}") for row in content.undecided]
    head = ("After", "or after", "What differs", "Episodes that would tell")
    caption = "Undecided, those of most episodes first" + _left_out(content.undecided_left_out)
    return [tag("p", told), table(caption, head, rows, numbers=(3,), wide=(0, 1, 2))]


def _untried(content: Content) -> list[str]:
    if content.advice is None:
        return []
    parts: list[str] = [tag("h3", "Actions whose worth is least sure")]
    if content.untried:
        parts += _unsure(content)
    else:
        parts.append(tag("p", "None: no action that was tried and left out by the plan could still prove better."))
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
    told = (
        "Where a few more tries would say most about the plan: what it does (in colour) may be worth less than it "
        "seems, and what it leaves out more. The last column is by how much that would change an episode, on average, "
        "if an estimate is off by two standard errors."
    )
    head = ("State", "Seen on arrival", "Action", "Tries", "Worth", "Plan's choice", "Matters")
    caption = "What matters most first" + _left_out(content.untried_left_out)
    return [tag("p", told), table(caption, head, rows, numbers=(3, 4, 5, 6), wide=(1,))]


def _never_tried(content: Content) -> list[str]:
    rows = [
        (row.state, _seen(row), _unbroken(row.action), figure(100 * row.visits, 3), figure(row.planned))
        for row in content.never_tried
    ]
    told = (
        "The log says nothing about these actions in these states, so the plan leaves them out: they may be better or "
        "worse than what it does."
    )
    head = ("State", "Seen on arrival", "Action", "Per 100 episodes", "Plan's choice")
    caption = "Where an episode that follows the plan comes most often first" + _left_out(content.never_tried_left_out)
    return [tag("h3", "Never tried"), tag("p", told), table(caption, head, rows, numbers=(3, 4), wide=(1,))]


def _left_out(rows: int) -> str:
    return f"; {rows:,} more {'is' if rows == 1 else 'are'} left out" if rows else ""


def _made(content: Content) -> list[str]:
    told = "The same again (LOG is the log; add the options that name its columns, if it needed any):"
    return [
        table("Settings", ("Setting", "Value"), content.settings.items()),
        tag("p", told),
        tag("pre", tag("code", content.command)),
    ]
