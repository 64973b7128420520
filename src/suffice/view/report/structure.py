"""What a report says, as a plain structure: numbers and words, no markup."""

from __future__ import annotations

import msgspec

from suffice.view.report.survey import Lasting


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
    common: str  # to all arrivals
    varies: str  # among them
    after: str  # one of them
    action: str | None
    value: float | None


class Automaton(msgspec.Struct, frozen=True):
    """What has to be remembered."""

    states: int
    layers: list[int]
    stationary: bool
    largest: list[State]


class PolicyChange(msgspec.Struct, frozen=True):
    """What to do instead of what the log did."""

    state: str
    common: str
    varies: str
    after: str
    steps: list[int]  # the first and the last decision of an episode for which that holds
    logged: dict[str, float]  # what the log did there, and how often
    action: str
    visits: float  # in an episode that follows the plan
    gain: float  # of each


class MeanReturn(msgspec.Struct, frozen=True):
    """A mean return per episode."""

    name: str
    value: float | None  # None: nothing is known
    low: float | None  # of an interval of 95 %
    high: float | None
    policy: bool  # of the plan, not of the log


class Start(msgspec.Struct, frozen=True):
    """What an episode may begin with."""

    state: str
    share: float
    common: str
    varies: str
    plan: float  # what is to come
    log: float


class Undecided(msgspec.Struct, frozen=True):
    """Two histories that count as one for lack of evidence."""

    one: str
    other: str
    witness: str
    episodes: float  # that would tell


class Untried(msgspec.Struct, frozen=True):
    """An action that more tries would say something about."""

    state: str
    common: str
    varies: str
    after: str
    action: str
    visits: float  # of the state, in an episode that follows the plan
    tries: int
    worth: float | None  # None: it was never tried, and what it matters is unknown
    error: float
    planned: float
    chosen: bool
    matter: float | None


class Content(msgspec.Struct, frozen=True):
    """A report."""

    title: str
    verdict: str
    lower_bound: float | None  # of what the plan brings, likely
    sure: float | None  # how likely
    warnings: list[str]
    unnoticed: str
    data: Data
    promises: list[str]
    automaton: Automaton
    advice: list[PolicyChange] | None  # None: there is no plan
    advice_left_out: int
    worth: list[MeanReturn]  # of the log and of the plan, then the same by episodes that were not learned from
    starts: list[Start]  # the most frequent first
    starts_left_out: int
    lasts: Lasting | None  # None: all episodes are of one length
    evaluation: list[str]  # about episodes that were not learned from
    undecided: list[Undecided] | None  # None: not known, because the bound is not available
    undecided_left_out: int
    untried: list[Untried]
    untried_left_out: int
    never_tried: list[Untried]
    never_tried_left_out: int
    cautions: list[str]
    in_its_own_words: list[str]
    settings: dict[str, str]
    command: str
