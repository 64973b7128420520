"""The content of a report as plain data: numbers and texts without markup. `suffice report --json` prints it."""

from __future__ import annotations

import msgspec

from suffice.view.report.survey import EpisodeLengths

FORMER_KEY = "second_look".replace("_", " ")  # key of the refinement in earlier versions, kept for scripts


class Column(msgspec.Struct, frozen=True):
    """A column of the log."""

    name: str
    role: str
    values: str


class Data(msgspec.Struct, frozen=True):
    """The data that the model was learned from."""

    episodes: int
    decisions: int  # largest number in an episode
    held_out: float  # share of the log's episodes
    log_hash: str
    columns: list[Column]
    columns_ignored: list[str] = []
    columns_evidence: list[str] = []  # sentences, if columns were chosen by the data


class State(msgspec.Struct, frozen=True):
    """One of the most frequent states."""

    name: str
    share: float  # of the episodes; of all steps if the automaton is stationary
    common: str  # what all arrivals share
    varies: str  # what varies among them
    after: str  # a typical history
    action: str | None
    value: float | None


class Automaton(msgspec.Struct, frozen=True):
    """Size and kind of the automaton, and its most frequent states."""

    states: int
    layers: list[int]
    stationary: bool
    largest: list[State]


class PolicyChange(msgspec.Struct, frozen=True):
    """A decision in which the plan differs from the log."""

    state: str
    common: str
    varies: str
    after: str
    steps: list[int]  # first and last decision of an episode at which the plan does this
    logged: dict[str, float]  # share of each logged action
    action: str
    visits: float  # expected number per episode under the plan
    gain: float  # expected increase of the return per visit


class MeanReturn(msgspec.Struct, frozen=True):
    """An estimate of a mean return per episode."""

    name: str  # identifies the estimate for scripts and never changes
    value: float | None  # None: not available
    low: float | None  # of the 95 % interval
    high: float | None
    policy: bool  # True for the plan, False for the log
    label: str  # name on the page
    lower_bound: float | None = None  # on the page instead of the interval


class Start(msgspec.Struct, frozen=True):
    """A state after the first observation."""

    state: str
    share: float
    common: str
    varies: str
    plan: float  # value of the plan on the automaton
    log: float  # value of the behaviour policy on the automaton


class Undecided(msgspec.Struct, frozen=True):
    """Two histories that were merged for lack of evidence."""

    one: str
    other: str
    witness: str
    episodes: float  # with which the difference would be significant


class Untried(msgspec.Struct, frozen=True):
    """An action whose value more trials would clarify."""

    state: str
    common: str
    varies: str
    after: str
    action: str
    visits: float  # expected number per episode under the plan
    tries: int
    worth: float | None  # None: the action was never tried
    error: float
    planned: float
    chosen: bool
    matter: float | None


class Content(msgspec.Struct, frozen=True):
    """Everything that a report states."""

    title: str
    verdict: str  # heading
    verdict_code: str | None  # code of the plan's verdict; None: there is no plan
    verdict_reasons: list[str]  # codes, the decisive one first
    verdict_sentence: str
    lower_bound: float | None  # of the plan's mean return
    judged: bool  # whether episodes that the plan was not made from give prediction and bound
    sure: float | None  # confidence of the lower bound
    warnings: list[str]
    unnoticed: str
    data: Data
    promises: list[str]
    automaton: Automaton
    advice: list[PolicyChange] | None  # None: there is no plan
    advice_left_out: int
    worth: list[MeanReturn]  # log and plan, then both by episodes that were not used for learning
    starts: list[Start]  # the most frequent first
    starts_left_out: int
    lasts: EpisodeLengths | None  # None: all episodes have the same length
    evaluation: list[str]  # how episodes that were not used for learning were evaluated
    undecided: list[Undecided] | None  # None: not available, because the bound is not installed
    undecided_left_out: int
    untried: list[Untried]
    untried_left_out: int
    never_tried: list[Untried]
    never_tried_left_out: int
    cautions: list[str]
    in_its_own_words: list[str]
    settings: dict[str, str]
    command: str
    noun: str = "return"  # what is maximised: return, discounted return or reward per step
    unit: str = "per episode"
