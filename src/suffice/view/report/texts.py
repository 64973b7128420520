"""Texts of a report, such as names of states, guarantees, warnings, assumptions and the command to repeat it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from suffice.automata.state_summary import Arrival, arrivals
from suffice.data.alphabet import Value
from suffice.errors import parameter
from suffice.evidence.tables import STATISTICS
from suffice.learning.adact_h import Settings
from suffice.models.choices import statistic_of
from suffice.models.header import Header
from suffice.models.model import Model
from suffice.models.sentences import forecast_of
from suffice.planning.planner import DEFAULT_STRENGTH, Planning
from suffice.planning.regorl import Split

LISTED_VALUES = 12  # values listed one by one
LARGE_DIFFERENCE = 0.1  # difference of frequencies that a log should be able to show


class StateNames:
    """Names and descriptions of a model's states; the model must be `in_words`."""

    def __init__(self, model: Model) -> None:
        self._labels = model.rdp.labels()
        self._histories, self._arrivals = model.rdp.typical_histories(), arrivals(model.rdp)

    def state(self, q: int) -> str:
        """Return the name of a state, as in drawings."""
        return self._labels[q]

    def typical(self, q: int) -> str:
        """Return a history that leads to a state."""
        return self._histories.brief(q)

    def arrival(self, q: int) -> Arrival:
        """Return what was observed on arrival at a state."""
        return self._arrivals[q]


def figure(value: float, digits: int = 4) -> str:
    """Format a number for people: significant digits, thousands separators, a typographic minus."""
    short = float(f"{round(value, 9):.{digits}g}") + 0.0
    whole = short == round(short) and abs(short) < 1e15
    return (f"{short:,.0f}" if whole else f"{short:,}").replace("-", "\N{MINUS SIGN}")


def percent(share: float, decimals: int = 0) -> str:
    """Format a share in percent, as all pages do."""
    return f"{100 * share:.{decimals}f} %"


def values_of(values: Sequence[Value], legend: Sequence[str] = ()) -> str:
    """List the values of a column; with a legend, each symbol and its meaning."""
    if legend:
        return "; ".join(f"{symbol}: {meaning}" for symbol, meaning in enumerate(legend))
    texts = [f"{v:g}" if isinstance(v, float) else str(v) for v in values]
    if len(texts) > LISTED_VALUES:
        return f"{', '.join(texts[: LISTED_VALUES - 2])}, … {texts[-1]} ({len(texts):,} values)"
    return ", ".join(texts)


def guarantees(about: Header) -> list[str]:
    """Explain the learner's guarantees to a reader who does not know the paper."""
    promise, texts = about.promise, []
    if not promise.tests:
        return ["No comparison was needed: there was never more than one history to choose from."]
    if promise.split < 1:
        sure = min(1 - promise.split, 0.999)
        texts.append(
            f"States are distinguished only on evidence: with a probability of at least {percent(sure, 1)} no state "
            f"was split off by chance ({promise.tests:,} comparisons)."
        )
    else:
        texts.append(
            f"With {promise.tests:,} comparisons, some states may have been split off by chance. Learn again with a "
            f"smaller {parameter('delta')} to prevent this."
        )
    if promise.second_tests:
        sure = max(0.0, 1 - promise.second_split)
        texts.append(
            f"The refinement compared merged histories again ({promise.second_tests:,} comparisons). With a "
            f"probability of at least {percent(sure, 1)} it split off no state by chance, if the future depends on the "
            "state alone."
        )
    if about.steps is not None:
        texts.append("This holds if the process follows the same rules at every step of an episode.")
    if promise.detectable is not None and promise.detectable_worst is not None:
        texts.append(_merge_guarantee(promise.detectable, promise.detectable_worst))
    else:
        texts.append("There is no guarantee about differences that are too small or too rare to be detected.")
    return texts


def _merge_guarantee(usual: float, worst: float) -> str:
    if usual > 1:
        return "Most histories are too rare to decide whether they differ from those they were merged with."
    rarest = "no difference at all" if worst > 1 else f"only a difference of {100 * worst:.0f} points"
    return (
        "Histories that were merged into one state may still differ: for half of the data a difference of "
        f"{100 * usual:.3g} percentage points in the frequency of some event would have been detected, for the rarest "
        f"histories {rarest}."
    )


def detection_limit(about: Header) -> str:
    """State which differences between states the log is too small to show."""
    usual = about.promise.detectable
    if usual is None or not about.promise.tests:
        return "Differences that are too small or too rare for this log remain undetected."
    if usual > 1:
        return "Most histories are too rare to be compared, so there may be many more states."
    return (
        f"For half of the data, differences below {100 * usual:.2g} percentage points in the frequency of an event "
        "remain undetected, so there may be more states."
    )


def as_sentence(text: str) -> str:
    """Return a note, which begins in lower case and has no full stop, as a sentence."""
    return f"{text[:1].upper()}{text[1:]}."


def warnings(about: Header) -> list[str]:
    """Return reasons to distrust the prediction."""
    texts, forecast, usual = [], forecast_of(about), about.promise.detectable
    if about.adaptive_logger is True:
        texts.append(
            "The logger learned while it acted, so that episodes depend on those before them. The stated confidence of "
            "guarantee and bound is then not proved; play the plan to verify it."
        )
    if forecast is not None and usual is not None and usual > LARGE_DIFFERENCE:
        texts.append(
            "The log is small for what it records. " + detection_limit(about) + " If different states were merged, "
            "the plan may return less than predicted."
        )
    if forecast is not None and "automaton_does_not_fit" in forecast.verdict.reasons:
        texts.append(
            "Held-out episodes do not fit the automaton: what happened before a state helps to predict what follows "
            "it, so states are missing. The lower bound allows for that, the prediction does not."
        )
    if forecast is not None and forecast.beyond_log:
        texts.append("The predicted mean return is higher than the return of every logged episode.")
    return texts


def assumptions(model: Model) -> list[str]:
    """Return the assumptions and limits of a model, its plan and its prediction."""
    about, bins = model.about, model.encoder.bins
    texts = [
        "Logged actions are assumed to depend only on the columns of the log. If they also depended on something that "
        "was not logged, such as a person's impression, that may be the true cause of what looks like the effect of an "
        "action.",
        "Future episodes are assumed to follow the same process as the logged ones, and that process not to have "
        "changed during logging.",
    ]
    if about.steps is not None:
        texts.append("Within an episode, the rules are assumed to be the same at every step.")
    if about.forced_share:
        texts.append(
            f"{percent(about.forced_share, 1)} of the data were merged into a state that they differ from, because "
            f"they were too rare for a state of their own ({parameter('cut', about.cut)})."
        )
    if about.plan is not None and about.plan.judged is not None:
        texts.append(
            f"Prediction, lower bound and advice come from cross-fitting on {about.plan.judged:,} episodes: plans made "
            "in the same way from two thirds of them are judged by the others. The plan of this model comes from all "
            "episodes, and is assumed to be worth at least as much as those on average. Memory that acts only many "
            "steps later may remain unnoticed; a small trial is more reliable."
        )
    elif about.plan is not None and not about.plan.split:
        texts.append(
            "Automaton, plan and prediction are based on the same episodes, which makes the prediction optimistic. "
            "Held-out episodes, or better a small trial, are more reliable."
        )
    if about.plan is not None and about.plan.judged is None:
        texts.append(
            "Prediction and lower bound assume that the automaton is correct. They do not include errors due to "
            "histories that were merged for lack of evidence."
        )
    if about.plan is not None and about.plan.endless is not None:
        texts.append(
            f"The value of a state discounts rewards by {about.plan.discount:g} per step; predicted returns per "
            f"episode are undiscounted, over {about.steps} steps."
        )
    if bins:
        texts.append(f"All values within a bin are treated as equal: {', '.join(bins)}.")
    return texts


def command_of(model: Model) -> str:
    """Return the command that learns the same model from the same log, as far as the model records its options."""
    about, encoder = model.about, model.encoder
    plan, words = about.plan, ["suffice", "learn", "LOG"]
    chosen = _comparison(about)
    if not about.compared and about.steps is not None:
        words += ["--stationary"]
    elif about.compared and chosen:
        words += ["--stationary", "auto"]
    elif not about.compared and not chosen:
        words += ["--stationary", "no"]
    words += chosen
    if plan is None:
        words += ["--planner", "none"]
    elif plan.planner != Planning().name:
        words += ["--planner", plan.planner]
    if plan is not None:
        words += [] if plan.strength in (0.0, DEFAULT_STRENGTH) else ["--strength", f"{plan.strength:g}"]
        words += ["--split"] if plan.split else []
        words += ["--discount", f"{plan.discount:g}"] if plan.discount is not None else []
        words += ["--objective", plan.aim.name] if plan.aim.name != "return" else []
    usual = plan is not None and not plan.split and not chosen and about.steps is None
    if about.steps is None and about.second_look != usual:
        words += ["--second-look" if about.second_look else "--no-second-look"]
    words += ["--hold-out", f"{about.held_out:g}"] if about.held_out else []
    words += ["--strict"] if about.strict else []
    if roles := encoder.columns.unusual():
        named = ",".join(f"{role}={name}" for role, name in roles.items())
        words += ["--columns", named, "--observations", ",".join(encoder.features)]
    for name, bins in encoder.bins.items():
        words += ["--bin", f"{name}={bins}"]
    return shlex.join([*words, "-o", "MODEL"])


def _comparison(about: Header) -> list[str]:
    """Return the options of the comparison of futures that differ from the defaults."""
    words = []
    if about.steps is None:
        usual = Settings().statistic.options
        words += [] if about.metric == usual.metric else ["--metric", about.metric]
        words += ["--family", about.family] if about.family not in (None, usual.family) else []
        known = about.metric in STATISTICS  # the default of a package that is not installed is unknown
        words += [] if known and about.bound == statistic_of(about).usual_bound.name else ["--bound", about.bound]
    split = about.plan is not None and about.plan.split
    if about.confidence is not None:
        words += ["--confidence", f"{about.confidence:g}"]
    elif split and about.plan is not None and 2 * about.plan.delta != Split().delta:
        words += ["--delta", f"{2 * about.plan.delta:g}"]  # the automaton used half of it
    elif not split and about.delta != Settings().delta:
        words += ["--delta", f"{about.delta:g}"]
    return [*words, "--cut", f"{about.cut:g}"] if about.cut else words
