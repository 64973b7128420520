"""What a report says, as a plain structure: numbers and words, no markup."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec

from suffice.about import About, Planned
from suffice.episodes import in_order
from suffice.estimates import Estimate
from suffice.model import Model
from suffice.offpolicy import Judged
from suffice.planner import BEHAVE
from suffice.view.arrows import over
from suffice.view.report.survey import Gap, Survey, tries
from suffice.view.report.words import Names, cautions, command_of, promises, values_of

MOST_STATES, MOST_CHANGES, MOST_DOUBTS, MOST_GAPS = 12, 20, 6, 6  # rows of the tables
FOLLOW, KEEP, NO_PLAN = "Follow the plan", "Keep to what the log did, for now", "There is no plan"


class Column(msgspec.Struct, frozen=True):
    """A column of the log."""

    name: str
    role: str
    values: str


class Data(msgspec.Struct, frozen=True):
    """What was learned from."""

    episodes: int
    decisions: int  # in an episode, at most
    held_out: float  # share of the log's episodes
    log_hash: str
    columns: list[Column]


class State(msgspec.Struct, frozen=True):
    """One of the largest states."""

    name: str
    share: float  # of the episodes; of a stationary automaton, of all steps
    after: str
    action: str | None
    value: float | None


class Automaton(msgspec.Struct, frozen=True):
    """What has to be remembered."""

    states: int
    layers: list[int]
    stationary: bool
    largest: list[State]


class Advice(msgspec.Struct, frozen=True):
    """What to do instead of what the log did."""

    state: str
    after: str
    steps: list[int]  # the first and the last decision of an episode for which that holds
    logged: dict[str, float]  # what the log did there, and how often
    action: str
    visits: float  # in an episode that follows the plan
    gain: float  # of each


class Worth(msgspec.Struct, frozen=True):
    """A mean return per episode."""

    name: str
    value: float
    low: float | None  # of an interval of 95 %
    high: float | None
    policy: bool  # of the plan, not of the log


class Undecided(msgspec.Struct, frozen=True):
    """Two histories that count as one for lack of evidence."""

    one: str
    other: str
    witness: str
    episodes: float  # that would tell


class Untried(msgspec.Struct, frozen=True):
    """An action that more tries would say something about."""

    state: str
    after: str
    action: str
    tries: int
    worth: float | None
    error: float
    planned: float
    chosen: bool
    matter: float


class Content(msgspec.Struct, frozen=True):
    """A report."""

    title: str
    verdict: str
    data: Data
    promises: list[str]
    automaton: Automaton
    advice: list[Advice] | None  # None: there is no plan
    advice_left_out: int
    worth: list[Worth]  # of the log and of the plan, then the same by episodes that were not learned from
    evaluation: list[str]  # about episodes that were not learned from
    undecided: list[Undecided]
    undecided_left_out: int
    untried: list[Untried]
    cautions: list[str]
    in_its_own_words: list[str]
    settings: dict[str, str]
    command: str


def content_of(model: Model, evaluation: Judged | None, title: str) -> Content:
    """Everything that a report says about a model."""
    about, names = model.about, Names(model)
    survey = None if model.plan is None else Survey(model)
    advice = None if survey is None else list(_advice(model, survey, names))
    undecided = model.undecided()
    promise, plan = about.promise, about.plan
    own_words = [promise.sentence, promise.second_look_sentence, about.needed.sentence if about.needed else ""]
    return Content(
        title=title or "What the log teaches",
        verdict=NO_PLAN if plan is None else FOLLOW if plan.lower_bound > plan.behaviour_value else KEEP,
        data=_data(model),
        promises=promises(about),
        automaton=_automaton(model, names),
        advice=None if advice is None else advice[:MOST_CHANGES],
        advice_left_out=max(len(advice or []) - MOST_CHANGES, 0),
        worth=[*_worth(plan), *_judged_worth(evaluation)],
        evaluation=_evaluated(evaluation),
        undecided=[
            Undecided(names.history(one), names.history(other), doubt.witness, doubt.episodes)
            for doubt in undecided[:MOST_DOUBTS]
            for one, other in [doubt.histories]
        ],
        undecided_left_out=max(len(undecided) - MOST_DOUBTS, 0),
        untried=[] if survey is None else [_untried(gap, model, names) for gap in survey.gaps()[:MOST_GAPS]],
        cautions=cautions(about),
        in_its_own_words=[told for told in (*own_words, plan.sentence if plan else "") if told],
        settings=_settings(about),
        command=command_of(about),
    )


def _data(model: Model) -> Data:
    about, columns = model.about, []
    for i, name in enumerate(about.features):
        values = in_order(tuple(observation[i] for observation in about.observations))
        columns.append(Column(name, "observation", values_of(values, about.bins.get(name, ()))))
    columns.append(Column("action", "action", values_of(about.actions)))
    columns.append(Column("reward", "reward", values_of(about.rewards)))
    return Data(about.episodes, model.rdp.horizon, about.held_out, about.log_hash, columns)


def _automaton(model: Model, names: Names) -> Automaton:
    rdp, plan = model.rdp, model.own_plan
    visits = rdp.counts.sum(axis=1)
    total = int(visits.sum()) if rdp.stationary else model.about.episodes
    inner = [q for q in range(1, rdp.n_states) if q not in over(rdp)]
    largest = []
    for q in sorted(inner, key=lambda q: (-int(visits[q]), q))[:MOST_STATES]:
        action, value = (None, None) if plan is None else (int(plan.actions[q]), float(plan.values[q]))
        told = None if action is None else "as the log did" if action == BEHAVE else str(rdp.alphabet.actions[action])
        largest.append(State(names.state(q), float(visits[q]) / total, names.typical(q), told, value))
    return Automaton(rdp.n_states, rdp.layers.tolist(), rdp.stationary, largest)


def _advice(model: Model, survey: Survey, names: Names) -> Iterator[Advice]:
    actions, logged = model.rdp.alphabet.actions, tries(model.rdp)
    for change in survey.changes():
        q, row = change.state, logged[change.state]
        often = [a for a in (-row).argsort(kind="stable").tolist() if row[a]]
        did = {str(actions[a]): float(row[a] / row.sum()) for a in often}
        steps, action = [change.first, change.last], str(actions[change.action])
        yield Advice(names.state(q), names.typical(q), steps, did, action, change.visits, change.gain)


def _untried(gap: Gap, model: Model, names: Names) -> Untried:
    name, after = names.state(gap.state), names.typical(gap.state)
    action = str(model.rdp.alphabet.actions[gap.action])
    figures = gap.tries, gap.worth, gap.error, gap.planned, gap.chosen, gap.matter
    return Untried(name, after, action, *figures)


def _worth(plan: Planned | None) -> list[Worth]:
    if plan is None:
        return []
    error = math.inf if plan.behaviour_error is None else plan.behaviour_error
    log, prediction = Estimate(plan.behaviour_value, error), Estimate(plan.predicted, plan.predicted_error)
    return [_told("The log", log), _told("The plan, predicted", prediction, policy=True)]


def _judged_worth(judged: Judged | None) -> list[Worth]:
    if judged is None:
        return []
    return [
        _told("New episodes: the log", judged.log),
        _told("New episodes: the plan, doubly robust", judged.doubly_robust, policy=True),
        _told("New episodes: the plan, by the model", judged.model_based, policy=True),
        _told("New episodes: the plan, reweighted", judged.importance, policy=True),
    ]


def _told(name: str, estimate: Estimate, policy: bool = False) -> Worth:
    low, high = estimate.interval() if math.isfinite(estimate.error) else (None, None)
    return Worth(name, estimate.value, low, high, policy)


def _evaluated(judged: Judged | None) -> list[str]:
    """What the figures of held-out episodes rest on."""
    if judged is None:
        return []
    told = [
        f"{judged.episodes:,} episodes that were not learned from say what the plan would have brought. Three ways to "
        "tell: by the automaton's frequencies in them; by those episodes that happen to do what the plan would, "
        "reweighted; and doubly robust, which is the first, corrected by the second.",
        f"In {judged.matched:.2%} of them every action is one the plan might take; weighted, they count as "
        f"{judged.effective:,.0f} episodes.",
    ]
    if not math.isfinite(judged.importance.error):
        told.append("That is too few for an interval: only the figure by the model says anything, if it is right.")
    if judged.rare:
        told.append(f"{judged.rare:.1%} of the plan's decisions have fewer than ten examples in the log.")
    if judged.unseen:
        told.append(f"{judged.unseen:.2%} of their decisions came after a history that was not learned from.")
    return told


def _settings(about: About) -> dict[str, str]:
    plan = about.plan
    level = f"{about.delta:g}" if about.confidence is None else f"{about.confidence:g} for all together"
    found = {
        "suffice": about.version,
        "kind of automaton": "one layer for each step" if about.steps is None else "one for all steps",
        "futures compared by": about.metric + (f", {about.family}" if about.family else ""),
        "test": about.bound,
        "chance of a false split per test" if about.confidence is None else "confidence": level,
        "second look": "yes" if about.second_look else "no",
    }
    if about.cut:
        found["smallest share for a state"] = f"{about.cut:g}"
    if plan is not None:
        found |= {"planner": plan.planner, "strength of caution": f"{plan.strength:g}"}
        found |= {"confidence of the lower bound": f"{1 - plan.delta:.3g}"}
        found |= {"discount": f"{plan.discount:g}"} if plan.discount is not None else {}
        found |= {"halves": "one for the automaton, one for the plan"} if plan.split else {}
    return found | {"seed": str(about.seed)} if about.seed is not None else found
