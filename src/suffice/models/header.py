"""What a model says about itself: where it comes from, how it was learned, and what it promises."""

from __future__ import annotations

import math

import msgspec

from suffice.data.alphabet import Value
from suffice.data.encoding.encoder import Encoder, EncoderData
from suffice.data.log import Log, digest
from suffice.evidence.languages import BEYOND
from suffice.evidence.statistic import Report
from suffice.learning.adact_h import Criterion, Learned
from suffice.planning.regorl import Solution
from suffice.version import __version__

FORMAT = "suffice-rdp"
FORMAT_VERSION = 2
EXACT = 1 << 53  # larger integers do not survive JSON readers that use doubles


class Promised(msgspec.Struct, frozen=True):
    """`bounds.Promise`, written down."""

    sentence: str
    paper_sentence: str
    false_split: float
    tests: int
    detectable: float | None
    detectable_worst: float | None
    paper: float
    second_look_sentence: str = ""
    second_look_tests: int = 0
    second_look_false_split: float = 0.0


class NeededLanguages(msgspec.Struct, frozen=True):
    """`learner.Report`, written down."""

    sentence: str
    ladder: list[str]
    layers: list[str | None]  # [H+2] the largest family that each layer needed
    left_out: list[str]


class Planned(msgspec.Struct, frozen=True):
    """`solution.Solution`, written down."""

    planner: str
    strength: float
    delta: float
    value: float  # of the first state, if every merge is right
    error: float
    predicted: float  # see `predicting`
    predicted_error: float
    lower_bound: float  # of what is predicted
    behaviour_value: float  # the log's
    sentence: str
    split: bool
    proved_lower: float | None
    proved_upper: float | None
    discount: float | None = None  # of a plan on a cycle
    behaviour_error: float | None = None  # of the log's mean return; older files do not say
    accuracy: float | None = None  # of a split, as it was asked for
    max_states: int | None = None  # likewise


class About(msgspec.Struct, frozen=True):
    """Where a model comes from and what it promises."""

    format: str
    format_version: int
    version: str  # of suffice
    log_hash: str
    episodes: int
    metric: str
    family: str | None
    bound: str
    delta: float  # of one test; with a confidence the largest of all layers
    confidence: float | None
    cut: float
    seed: int | None
    layers: list[int]  # [H+2], or [1] of a stationary automaton
    candidates: list[int]  # as many
    languages: list[int | float]  # as many: |X|; a stationary automaton is learned without
    forced_share: float
    promise: Promised
    actions: list[Value]
    observations: list[list[Value]]
    rewards: list[float]
    encoder: EncoderData
    held_out: float = 0.0  # share of the log's episodes that was not learned from
    second_look: bool = False
    plan: Planned | None = None
    steps: int | None = None  # H of a stationary automaton
    needed: NeededLanguages | None = None  # with --family adaptive, or stationary
    strict: bool = False  # of a stationary automaton: only what the level of its tests is proved for


def about_of(
    learned: Learned,
    episodes: Log,
    solution: Solution | None,
    encoder: Encoder,
    held_out: float,
) -> About:
    """What there is to say of an automaton, of a plan on it if there is one, and of the log they come from."""
    settings, alphabet, promise = learned.settings, learned.rdp.alphabet, learned.promise
    options = settings.statistic.options
    criterion = learned.criterion or Criterion(options.metric, options.family, settings.chosen_bound.name)
    return About(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        version=__version__,
        log_hash=digest(episodes, held_out > 0, settings.threads),
        episodes=int(learned.rdp.counts[0].sum()),
        metric=criterion.metric,
        family=criterion.family,
        bound=criterion.bound,
        delta=max(learned.deltas),
        confidence=settings.confidence,
        cut=settings.cut,
        seed=options.seed,
        layers=learned.rdp.layers.tolist(),
        candidates=[1, *learned.candidates][-len(learned.rdp.layers) :],
        languages=[0, *(size if size < EXACT else float(min(size, BEYOND)) for size in learned.languages)],
        forced_share=learned.forced_share,
        promise=Promised(
            promise.sentence,
            promise.paper_sentence,
            promise.split,
            promise.tests,
            promise.detectable,
            promise.detectable_worst,
            promise.paper,
            promise.second_sentence,
            promise.second_tests,
            promise.second_split,
        ),
        actions=list(alphabet.actions),
        observations=[list(o) for o in alphabet.observations],
        rewards=list(alphabet.rewards),
        encoder=encoder.to_data(),
        held_out=held_out,
        second_look=learned.second_look,
        plan=_planned(solution) if solution else None,
        steps=learned.rdp.steps,
        needed=_needed(learned.needed, len(learned.rdp.layers)) if learned.needed else None,
        strict=promise.strict,
    )


def _planned(solution: Solution) -> Planned:
    plan, bracket, split = solution.plan, solution.bracket, solution.split
    return Planned(
        planner=solution.planning.name,
        strength=solution.planning.strength,
        delta=solution.planning.delta,
        value=plan.value,
        error=plan.error,
        predicted=solution.prediction.value,
        predicted_error=solution.prediction.error,
        lower_bound=solution.lower_bound,
        behaviour_value=solution.behaviour_value,
        sentence=solution.sentence,
        split=split is not None,
        proved_lower=bracket.lower if bracket else None,
        proved_upper=bracket.upper if bracket else None,
        discount=solution.planning.discount,
        behaviour_error=solution.behaviour.error if math.isfinite(solution.behaviour.error) else None,
        accuracy=split.accuracy if split else None,
        max_states=split.max_states if split else None,
    )


def _needed(needed: Report, n_layers: int) -> NeededLanguages:
    ladder = [str(family) for family in needed.ladder]
    layers = [None, *(ladder[r] if r >= 0 else None for r in needed.layers)][-n_layers:]
    return NeededLanguages(needed.sentence, ladder, layers, [str(family) for family in needed.left_out])
