"""Content of a report, computed from a model."""

from __future__ import annotations

import math
from collections.abc import Iterator

import msgspec
import numpy as np

from suffice.automata.describe import describe_witness, show_pair
from suffice.automata.rdp import BEHAVE
from suffice.automata.state_summary import arrivals
from suffice.automata.training_ranges import training_ranges
from suffice.data.alphabet import in_order
from suffice.evidence.estimates import Estimate
from suffice.models.column_texts import column_sentences, ignored_columns
from suffice.models.header import Header
from suffice.models.model import Model
from suffice.models.model_data import ended_states
from suffice.models.sentences import forecast_of, sentences
from suffice.models.summary import ADVICE
from suffice.planning.backward_induction import behaviour_values
from suffice.planning.objective import RETURN
from suffice.planning.off_policy import OffPolicyEvaluation
from suffice.view.report.structure import (
    FORMER_KEY,
    Automaton,
    Column,
    Content,
    Data,
    MeanReturn,
    PolicyChange,
    Start,
    State,
    Undecided,
    Untried,
)
from suffice.view.report.survey import ActionToTry, Survey, episode_lengths, tries
from suffice.view.report.texts import (
    StateNames,
    as_sentence,
    assumptions,
    command_of,
    detection_limit,
    guarantees,
    percent,
    values_of,
    warnings,
)

MOST_STATES, MOST_CHANGES, MOST_UNDECIDED, MOST_GAPS = 12, 20, 6, 6  # rows of the tables
NO_PLAN = "No plan"  # heading


def content_of(model: Model, evaluation: OffPolicyEvaluation | None, title: str) -> Content:
    """Return everything that a report states about a model."""
    model = model.in_words
    about, names = model.about, StateNames(model)
    survey = None if model.plan is None else Survey(model)
    advice = None if survey is None else list(_advice(model, survey, names))
    gaps = [] if survey is None else [_untried(gap, model, names) for gap in survey.gaps()]
    tried = [gap for gap in gaps if gap.worth is not None]
    never = sorted((gap for gap in gaps if gap.worth is None), key=lambda gap: -round(gap.visits, 9))
    undecided, starts = model.undecided_if_known(), [] if model.plan is None else list(_starts(model))
    plan, forecast = about.plan, forecast_of(about)
    return Content(
        title=title or "Report on a learned policy",
        verdict=NO_PLAN if plan is None else ADVICE[plan.verdict],
        verdict_code=None if plan is None else plan.verdict,
        verdict_reasons=[] if plan is None else list(plan.verdict_reasons),
        verdict_sentence="" if forecast is None else str(forecast.verdict),
        lower_bound=None if plan is None else plan.lower_bound,
        judged=plan is not None and (plan.judged is not None or plan.split),
        sure=None if plan is None else 1 - plan.delta,
        warnings=[*warnings(about), *(as_sentence(warning.text) for warning in model.warnings)],
        unnoticed=detection_limit(about),
        data=_data(model),
        promises=guarantees(about),
        automaton=_automaton(model, names),
        advice=None if advice is None else advice[:MOST_CHANGES],
        advice_left_out=max(len(advice or []) - MOST_CHANGES, 0),
        worth=[*_worth(model), *_judged_worth(evaluation)],
        starts=starts[:MOST_STATES],
        starts_left_out=max(len(starts) - MOST_STATES, 0),
        lasts=None if model.plan is None else episode_lengths(model),
        evaluation=_evaluated(evaluation),
        undecided=None
        if undecided is None
        else [
            Undecided(*show_pair(*merge.histories), describe_witness(merge.witness, model.rdp.alphabet), merge.episodes)
            for merge in undecided[:MOST_UNDECIDED]
        ],
        undecided_left_out=max(len(undecided or ()) - MOST_UNDECIDED, 0),
        untried=tried[:MOST_GAPS],
        untried_left_out=max(len(tried) - MOST_GAPS, 0),
        never_tried=never[:MOST_GAPS],
        never_tried_left_out=max(len(never) - MOST_GAPS, 0),
        cautions=assumptions(model),
        in_its_own_words=sentences(about),
        settings=_settings(about),
        command=command_of(model),
        noun=RETURN.noun if plan is None else plan.aim.noun,
        unit=RETURN.unit if plan is None else plan.aim.unit,
    )


def _data(model: Model) -> Data:
    about, encoder, columns = model.about, model.encoder, []
    for i, name in enumerate(encoder.features):
        values = in_order(tuple(observation[i] for observation in about.observations))
        columns.append(Column(name, "observation", values_of(values, encoder.legend(name))))
    columns.append(Column("action", "action", values_of(about.actions)))
    columns.append(Column("reward", "reward", values_of(about.rewards)))
    found = list(column_sentences(about.columns_found or None))
    size = about.episodes, model.rdp.horizon, about.held_out, about.log_hash
    return Data(*size, columns, ignored_columns(about), found)


def _automaton(model: Model, names: StateNames) -> Automaton:
    rdp, plan = model.rdp, model.own_plan
    shares = rdp.shares().tolist()
    ended = ended_states(rdp)
    inner = [q for q in range(1, rdp.n_states) if q not in ended]
    largest = []
    for q in sorted(inner, key=lambda q: (-shares[q], q))[:MOST_STATES]:
        action, value = (None, None) if plan is None else (int(plan.actions[q]), float(plan.values[q]))
        planned = None if action is None else "as logged" if action == BEHAVE else str(rdp.alphabet.actions[action])
        arrival, share = names.arrival(q), shares[q]
        largest.append(State(names.state(q), share, arrival.common, arrival.varies, names.typical(q), planned, value))
    return Automaton(rdp.n_states, rdp.layers.tolist(), rdp.stationary, largest)


def _advice(model: Model, survey: Survey, names: StateNames) -> Iterator[PolicyChange]:
    actions, logged = model.rdp.alphabet.actions, tries(model.rdp)
    for change in survey.changes():
        q, row = change.state, logged[change.state]
        often = [a for a in (-row).argsort(kind="stable").tolist() if row[a]]
        did = {str(actions[a]): float(row[a] / row.sum()) for a in often}
        steps, action = [change.first, change.last], str(actions[change.action])
        yield PolicyChange(*_called(q, names), steps, did, action, change.visits, change.gain)


def _called(q: int, names: StateNames) -> tuple[str, str, str, str]:
    """Return a state's name, what its arrivals share, what varies among them, and a typical history."""
    arrival = names.arrival(q)
    return names.state(q), arrival.common, arrival.varies, names.typical(q)


def _untried(gap: ActionToTry, model: Model, names: StateNames) -> Untried:
    called, action = _called(gap.state, names), str(model.rdp.alphabet.actions[gap.action])
    matter = None if gap.worth is None else gap.matter
    return Untried(
        *called, action, gap.visits, gap.tries, gap.worth, gap.error, gap.planned, chosen=gap.chosen, matter=matter
    )


def _starts(model: Model) -> Iterator[Start]:
    """Compare plan and behaviour policy in the states after the first observation; none for discounted plans."""
    if model.about.plan is not None and model.about.plan.endless is not None:
        return
    (layers, stands), plan = model.rdp.unroll(), model.required_plan()
    first, names = np.flatnonzero(layers.layer_of() == 1).tolist(), StateNames(model)
    share, behaved = plan.occupancy(layers), behaviour_values(layers)
    seen = arrivals(layers, before=max(first, default=0) + 1)
    for q in sorted(first, key=lambda q: (-round(float(share[q]), 9), q)):
        value, log = float(plan.values[q]), float(behaved[q])
        yield Start(names.state(int(stands[q])), float(share[q]), seen[q].common, seen[q].varies, value, log)


def _worth(model: Model) -> list[MeanReturn]:
    plan = model.about.plan
    if plan is None:
        return []
    error = math.inf if plan.behaviour_error is None else plan.behaviour_error
    possible = training_ranges(model.planned).returns()
    log, prediction = (
        Estimate(value, off).within(possible)
        for value, off in ((plan.behaviour_value, error), (plan.predicted, plan.predicted_error))
    )
    predicted = _mean_return("The plan, predicted", "plan (predicted)", prediction, policy=True)
    if not plan.split and plan.lower_bound is not None:
        predicted = msgspec.structs.replace(predicted, lower_bound=plan.lower_bound)
    return [_mean_return("The log", "log", log), predicted]


def _judged_worth(judged: OffPolicyEvaluation | None) -> list[MeanReturn]:
    if judged is None:
        return []
    return [
        _mean_return("New episodes: the log", "held-out episodes: log", judged.log),
        _mean_return(
            "New episodes: the plan, doubly robust",
            "held-out episodes: plan, doubly robust",
            judged.doubly_robust,
            policy=True,
        ),
        _mean_return(
            "New episodes: the plan, by the model",
            "held-out episodes: plan, model-based",
            judged.model_based,
            policy=True,
        ),
        _mean_return(
            "New episodes: the plan, reweighted",
            "held-out episodes: plan, importance sampling",
            judged.importance,
            policy=True,
        ),
    ]


def _mean_return(name: str, label: str, estimate: Estimate, policy: bool = False) -> MeanReturn:
    low, high = estimate.interval() if estimate.known else (None, None)
    return MeanReturn(name, None if math.isnan(estimate.value) else estimate.value, low, high, policy, label)


def _evaluated(judged: OffPolicyEvaluation | None) -> list[str]:
    """Explain how the plan was evaluated on episodes that were not used for learning."""
    if judged is None:
        return []
    texts = [
        f"The plan was evaluated on {judged.episodes:,} episodes that were not used for learning, in three ways: "
        "model-based, with the automaton's frequencies in these episodes; by importance sampling, with the episodes "
        "that agree with the plan, weighted by how unlikely that is; and doubly robust, which corrects the automaton's "
        "values by what followed in these episodes.",
        f"In {percent(judged.matched, 2)} of these episodes every action is one that the plan could take. Weighted, "
        f"they count as {judged.effective:,.0f} episodes.",
    ]
    if not judged.matched:
        texts.append("No episode agrees with the plan: the other two estimates rely on the automaton.")
    elif not judged.importance.known:
        texts.append("That is too few for importance sampling: the other two estimates rely on the automaton.")
    if "wide_interval" in judged.unknown.values():
        texts.append("Where an interval would span most of the possible returns, the estimate is not available.")
    if judged.rare:
        texts.append(f"{percent(judged.rare, 1)} of the plan's decisions have fewer than ten examples in the log.")
    if judged.unseen:
        texts.append(
            f"{percent(judged.unseen, 2)} of the decisions in these episodes follow a history that was not learned."
        )
    return texts


def _settings(about: Header) -> dict[str, str]:
    plan = about.plan
    level = f"{about.delta:g}" if about.confidence is None else f"{about.confidence:g} for all tests together"
    found = {
        "suffice": about.version,
        "kind of automaton": "one layer per step" if about.steps is None else "stationary, the same at every step",
        "futures compared by": about.metric + (f", {about.family}" if about.family else ""),
        "test": about.bound,
        "chance of a false split per test" if about.confidence is None else "confidence": level,
        "refinement": "yes" if about.second_look else "no",
        FORMER_KEY: "yes" if about.second_look else "no",
    }
    if about.cut:
        found["smallest share for a state"] = f"{about.cut:g}"
    if plan is not None:
        found |= {"planner": plan.planner, "strength of caution": f"{plan.strength:g}"}
        found |= {"confidence of the lower bound": f"{1 - plan.delta:.3g}"}
        found |= {"discount": f"{plan.discount:g}"} if plan.discount is not None else {}
        found |= {"halves": "one for the automaton, one for the plan"} if plan.split else {}
    return found | {"seed": str(about.seed)} if about.seed is not None else found
