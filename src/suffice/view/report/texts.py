"""A model in plain words: states, histories, promises, and what to be careful about."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from suffice.automata.describe import brief
from suffice.automata.state_summary import Arrival, arrivals
from suffice.data.alphabet import Value
from suffice.evidence.tables import STATISTICS
from suffice.learning.adact_h import Settings
from suffice.models.api import statistic_of
from suffice.models.header import Header
from suffice.models.model import Model
from suffice.models.sentences import forecast_of
from suffice.planning.planner import DEFAULT_STRENGTH, Planning
from suffice.planning.regorl import Split

LISTED_VALUES = 12  # that are listed one by one
LARGE_DIFFERENCE = 0.1  # a difference of frequencies that should not go unnoticed


class StateNames:
    """What states are called, and what they stand for; of a model in words."""

    def __init__(self, model: Model) -> None:
        self._labels = model.rdp.labels()
        self._histories, self._arrivals = model.rdp.typical_histories(), arrivals(model.rdp)

    def state(self, q: int) -> str:
        """As pictures name it."""
        return self._labels[q]

    def typical(self, q: int) -> str:
        """A history that leads to a state."""
        return brief(self._histories[q])

    def arrival(self, q: int) -> Arrival:
        """What was seen on arrival."""
        return self._arrivals[q]


def figure(value: float, digits: int = 4) -> str:
    """A number as people write it: so many digits that count, a proper minus, nothing that rounding leaves."""
    short = float(f"{round(value, 9):.{digits}g}") + 0.0
    whole = short == round(short) and abs(short) < 1e15
    return (f"{short:,.0f}" if whole else f"{short:,}").replace("-", "\N{MINUS SIGN}")


def values_of(values: Sequence[Value], legend: Sequence[str] = ()) -> str:
    """The values of a column, or each symbol with what it stands for."""
    if legend:
        return "; ".join(f"{symbol}: {told}" for symbol, told in enumerate(legend))
    told = [f"{v:g}" if isinstance(v, float) else str(v) for v in values]
    if len(told) > LISTED_VALUES:
        return f"{', '.join(told[: LISTED_VALUES - 2])}, … {told[-1]} ({len(told):,} values)"
    return ", ".join(told)


def promises(about: Header) -> list[str]:
    """What the learner promises, for somebody who never read the paper."""
    promise, told = about.promise, []
    if not promise.tests:
        return ["Nothing had to be compared: there was never more than one history to choose from."]
    if promise.split < 1:
        sure = min(1 - promise.split, 0.999)
        told.append(
            f"States are kept apart only on evidence: with a probability of at least {sure:.1%} not a single one was "
            f"split off by chance ({promise.tests:,} comparisons)."
        )
    else:
        told.append(
            f"There were so many comparisons ({promise.tests:,}) that some states may have been split off by chance; "
            "learning again with a smaller --delta prevents it."
        )
    if promise.second_tests:
        sure = max(0.0, 1 - promise.second_split)
        told.append(
            f"A second look compared what had been put together ({promise.second_tests:,} comparisons) with a "
            f"probability of at least {sure:.1%} of not splitting by chance, if "
            "what follows depends on the state alone."
        )
    if about.steps is not None:
        told.append("This holds if the process follows the same rules at all steps of an episode.")
    if promise.detectable is not None and promise.detectable_worst is not None:
        told.append(_overlooked(promise.detectable, promise.detectable_worst))
    else:
        told.append("Nothing is promised about differences that were too small, or too rare, to be noticed.")
    return told


def _overlooked(usual: float, worst: float) -> str:
    if usual > 1:
        return "Most histories were too rare to tell whether they differ from those they were put together with."
    rarest = "no difference at all" if worst > 1 else f"only one of {100 * worst:.0f} points"
    return (
        "The other way round, histories that count as one state may still differ: for half of the data a "
        f"difference of {100 * usual:.3g} percentage points in how often something happens would have been noticed, "
        f"for the rarest histories {rarest}."
    )


def unnoticed(about: Header) -> str:
    """What the number of states leaves open."""
    usual = about.promise.detectable
    if usual is None or not about.promise.tests:
        return "Differences that are too small or too rare for this log may have gone unnoticed."
    if usual > 1:
        return "Most histories were too rare to tell, so there may be many more."
    return (
        f"Differences smaller than {100 * usual:.2g} percentage points in how often something happens would have gone "
        "unnoticed for half of the data, so there may be more."
    )


def warnings(about: Header) -> list[str]:
    """Why to think twice before believing what is predicted."""
    told, forecast, usual = [], forecast_of(about), about.promise.detectable
    if forecast is not None and usual is not None and usual > LARGE_DIFFERENCE:
        told.append(
            "The log is small for what it records. " + unnoticed(about) + " If states that should be apart count as "
            "one, the prediction is off by more than its interval says."
        )
    if forecast is not None and forecast.beyond_log:
        told.append("Not a single logged episode brought as much as the plan is predicted to bring on average.")
    return told


def cautions(model: Model) -> list[str]:
    """What all this rests on."""
    about, bins = model.about, model.encoder.bins
    told = [
        "Whoever chose the logged actions is assumed to have known nothing beyond the columns of the log. If choices "
        "followed something that was not logged, such as a person's impression, that something may be the true cause "
        "of what looks like the effect of an action.",
        "The future is assumed to work like the logged past: all episodes are taken to come from one process that did "
        "not change while they were logged.",
    ]
    if about.steps is not None:
        told.append("Within an episode, too, the rules are assumed to be the same at every step.")
    if about.forced_share:
        told.append(
            f"{about.forced_share:.1%} of the data were put into a state they differ from, because they were too rare "
            "for one of their own (--cut)."
        )
    if about.plan is not None and not about.plan.split:
        told.append(
            "Automaton, plan and prediction come from the same episodes, which flatters the prediction. Episodes that "
            "were held out, or better a trial on a small scale, tell more."
        )
    if about.plan is not None:
        told.append(
            "The prediction believes the automaton. What was put together by mistake, for lack of evidence, is not in "
            "its interval."
        )
    if about.plan is not None and about.plan.discount is not None:
        told.append(
            f"The worth of a state counts a reward {about.plan.discount:g} times as much with every step it is later; "
            f"predictions per episode are undiscounted, for {about.steps} steps."
        )
    if bins:
        told.append(f"Within a bin all values count as the same: {', '.join(bins)}.")
    return told


def command_of(model: Model) -> str:
    """The command that learns the same from the same log, as far as a model knows it."""
    about, encoder = model.about, model.encoder
    plan, words = about.plan, ["suffice", "learn", "LOG"]
    if about.steps is not None:
        words += ["--stationary"]
    chosen = _comparison(about)
    words += chosen
    if plan is None:
        words += ["--planner", "none"]
    elif plan.planner != Planning().name:
        words += ["--planner", plan.planner]
    if plan is not None:
        words += [] if plan.strength in (0.0, DEFAULT_STRENGTH) else ["--strength", f"{plan.strength:g}"]
        words += ["--split"] if plan.split else []
        words += ["--discount", f"{plan.discount:g}"] if plan.discount is not None else []
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
    """Options that say how futures are compared, where they are not the usual ones."""
    words = []
    if about.steps is None:
        usual = Settings().statistic.options
        words += [] if about.metric == usual.metric else ["--metric", about.metric]
        words += ["--family", about.family] if about.family not in (None, usual.family) else []
        known = about.metric in STATISTICS  # what a package that is not installed here would choose is not known
        words += [] if known and about.bound == statistic_of(about).usual_bound.name else ["--bound", about.bound]
    split = about.plan is not None and about.plan.split
    if about.confidence is not None:
        words += ["--confidence", f"{about.confidence:g}"]
    elif split and about.plan is not None and 2 * about.plan.delta != Split().delta:
        words += ["--delta", f"{2 * about.plan.delta:g}"]  # half of it was for the automaton
    elif not split and about.delta != Settings().delta:
        words += ["--delta", f"{about.delta:g}"]
    return [*words, "--cut", f"{about.cut:g}"] if about.cut else words
