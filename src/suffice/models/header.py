"""The header of a model: its log, how it was learned, its guarantee and its plan, as JSON stores them.

A header may come from an untrusted source: types state the range of every number, and reading refuses others.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated

import msgspec
from msgspec import UNSET, Meta, UnsetType

from suffice.automata.rdp import RDP
from suffice.data.alphabet import DUMMY, Value
from suffice.data.encoding.encoder import Encoder, EncoderData
from suffice.data.ends import LogEnds
from suffice.data.groups import group_sizes
from suffice.data.log import Log, digest
from suffice.evidence.guarantees import Promise
from suffice.evidence.languages import BEYOND
from suffice.evidence.statistic import AdaptiveReport
from suffice.learning.adact_h import Criterion, Learned
from suffice.learning.stationary.learner import DEPTH_NAMES
from suffice.models.column_findings import ColumnsFound
from suffice.planning.memory_comparison import MemoryComparison
from suffice.planning.objective import Objective, ObjectiveName
from suffice.planning.regorl import Solution
from suffice.planning.verdict import Code, Reason
from suffice.version import __version__

FORMAT = "suffice-rdp"
FORMAT_VERSION = 2
EXACT = 1 << 53  # larger integers do not survive JSON readers that use doubles
LARGEST = 1e150  # of returns and their errors, whose squares are finite; rewards of a plan are smaller

Count = Annotated[int, Meta(ge=0, lt=1 << 60)]
Size = Annotated[int, Meta(ge=0)] | Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
Return = Annotated[float, Meta(ge=-LARGEST, le=LARGEST)]
Error = Annotated[float, Meta(ge=0, le=LARGEST)]


class NeededLanguages(msgspec.Struct, frozen=True):
    """What an adaptive comparison needed: families of languages or, if stationary, steps to look ahead."""

    ladder: list[str] = []  # families from small to large
    layers: list[str | None] = []  # [H+2] the largest family that each layer needed
    left_out: list[str] = []  # families that were too large
    states: Annotated[
        list[Count], Meta(max_length=len(DEPTH_NAMES))
    ] = []  # states distinguished by looking 1, 2, 3 steps ahead, or further


class Planned(msgspec.Struct, frozen=True):
    """The plan of a `regorl.Solution`: settings, prediction and verdict."""

    planner: str
    strength: Annotated[float, Meta(ge=0)]
    delta: Annotated[float, Meta(gt=0, lt=1)]
    value: Return  # of the first state, if every merge is correct
    error: Error
    predicted: Return  # see `cross_fitting`
    predicted_error: Error
    lower_bound: Return | None  # of what is predicted; None if unknown
    behaviour_value: Return  # the log's
    verdict: Code
    verdict_reasons: list[Reason]
    split: bool
    proved_lower: Return | None
    proved_upper: Return | None
    discount: Share | None = None  # of the objective; without one, of a plan on a stationary automaton
    behaviour_error: Error | None = None  # of the log's mean return; None in older files
    accuracy: Error | None = None  # requested for a split
    max_states: Count | None = None  # assumed by a split
    best_return: Return | None = None  # of the log's episodes
    gain: Return | None = None  # of the plan over the logged behaviour, on held-out episodes
    gain_error: Error | None = None
    gain_lower_bound: Return | None = None  # allows for missing states, like `lower_bound`
    misfit: Return | None = None  # largest z of the tests of the automaton on held-out episodes
    judged: Count | None = None  # number of episodes that judged plans by cross-fitting; None: none did
    objective: ObjectiveName | UnsetType = UNSET  # of plan, prediction and bounds; only if it is not the return

    @property
    def aim(self) -> Objective:
        """What the plan maximises and what its prediction is about."""
        name: ObjectiveName = "return" if isinstance(self.objective, UnsetType) else self.objective
        return Objective(name, self.discount if name == "discounted" else None)

    @property
    def endless(self) -> float | None:
        """The discount of a plan without a horizon; None for a plan over the horizon."""
        return self.discount if isinstance(self.objective, UnsetType) else None

    def predictions(self) -> dict[str, float | None]:
        """Return what was predicted when the plan was made, under the keys of `suffice evaluate --json`."""
        return {
            "predicted_value": self.predicted,
            "predicted_lower_bound": self.lower_bound,
            "behaviour_value": self.behaviour_value,
        }


class ComparedMemory(msgspec.Struct, frozen=True):
    """A kind of memory on held-out episodes: see `MemoryAlternative` of `planning.memory_comparison`."""

    memory: Annotated[str, Meta(max_length=40)]
    states: Annotated[float, Meta(ge=0, le=LARGEST)]
    bits: Return
    more_bits: Return  # than the chosen one
    more_bits_error: Error
    less_return: Return | None  # than the chosen one's plan; None without plans
    less_return_error: Error | None


class ComparedMemories(msgspec.Struct, frozen=True):
    """The comparison that chose the kind of memory: see `MemoryComparison`."""

    memory: Annotated[str, Meta(max_length=40)]  # the chosen one
    episodes: Count  # that the kinds were compared on
    alternatives: Annotated[list[ComparedMemory], Meta(max_length=100)]


class Header(msgspec.Struct, frozen=True):
    """The header of a model file: log, settings, alphabet, guarantee and plan."""

    format: str
    format_version: int
    version: str  # of suffice
    log_hash: str
    episodes: Count
    metric: str
    family: str | None
    bound: str
    delta: Share  # of one test; with a confidence the largest of all layers
    confidence: Share | None
    cut: Share
    seed: int | None
    layers: list[Annotated[int, Meta(ge=1, lt=1 << 31)]]  # [H+2], or [1] of a stationary automaton
    candidates: list[Count]  # as many
    languages: list[Size]  # as many: |X|; a stationary automaton has none
    forced_share: Share
    promise: Promise
    actions: list[Value]
    observations: list[list[Value]]
    rewards: list[float]
    encoder: EncoderData
    held_out: Share = 0.0  # share of the log's episodes that was not learned from
    second_look: bool = False
    plan: Planned | None = None
    steps: Annotated[int, Meta(ge=0, lt=1 << 31)] | None = None  # H of a stationary automaton
    needed: NeededLanguages | None = None  # of the adaptive family, or stationary
    strict: bool = False  # of a stationary automaton: only tests whose level is proved
    compared: ComparedMemories | UnsetType = UNSET  # only if the kind of memory was not given
    log_content: str | UnsetType = UNSET  # the same, by an earlier version that held out episodes by position
    log_hashes: list[str] | UnsetType = UNSET  # hash of each log; only if there are several
    columns_found: ColumnsFound | UnsetType = UNSET  # only if columns were chosen by the data
    ends: LogEnds | UnsetType = UNSET  # how episodes end; only if some are shorter than the horizon
    groups: Count | UnsetType = UNSET  # number of groups of the log; only if episodes belong to groups
    adaptive_logger: bool | UnsetType = UNSET  # only if the logger learned while it acted: no level is proved then
    grouped_observations: bool | UnsetType = UNSET  # only if groups of observations were compared, to save memory


def episodes_of(rdp: RDP) -> int:
    """Return the number of episodes of an automaton: of first steps, because a cycle may return to the first state."""
    return int(rdp.counts[0, rdp.letters[:, 0] == DUMMY].sum())


def header_of(
    learned: Learned,
    episodes: Log,
    solution: Solution | None,
    encoder: Encoder,
    held_out: float,
    logs: Sequence[str] = (),
    compared: MemoryComparison | None = None,
    ends: LogEnds | None = None,
) -> Header:
    """Make the header of a learned automaton, of the plan on it if there is one, and of their log."""
    settings, alphabet = learned.settings, learned.rdp.alphabet
    options = settings.statistic.options
    groups = group_sizes(episodes, settings.threads)
    criterion = learned.criterion or Criterion(options.metric, options.family, settings.chosen_bound.name)
    return Header(
        format=FORMAT,
        format_version=FORMAT_VERSION,
        version=__version__,
        log_hash=digest(episodes, threads=settings.threads),
        episodes=episodes_of(learned.rdp),
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
        promise=learned.promise,
        actions=list(alphabet.actions),
        observations=[list(o) for o in alphabet.observations],
        rewards=list(alphabet.rewards),
        encoder=encoder.to_data(),
        held_out=held_out,
        second_look=learned.second_look,
        plan=_planned(solution) if solution else None,
        steps=learned.rdp.steps,
        needed=None if learned.needed is None else _needed(learned.needed),
        strict=learned.promise.strict,
        compared=UNSET if compared is None else _compared(compared),
        log_hashes=list(logs) or UNSET,
        ends=UNSET if ends is None or (ends.kind in ("horizon", "marked") and not ends.cut_off) else ends,
        groups=UNSET if groups is None else len(groups.group),
        grouped_observations=True if learned.grouped_observations else UNSET,
        adaptive_logger=settings.adaptive_logger or UNSET,
    )


def _planned(solution: Solution) -> Planned:
    plan, bracket, split, verdict = solution.plan, solution.bracket, solution.split, solution.verdict
    judged = solution.judged
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
        verdict=verdict.code,
        verdict_reasons=list(verdict.reasons),
        split=split is not None,
        proved_lower=bracket.lower if bracket else None,
        proved_upper=bracket.upper if bracket else None,
        discount=solution.planning.discount,
        behaviour_error=solution.behaviour.error if math.isfinite(solution.behaviour.error) else None,
        accuracy=split.accuracy if split else None,
        max_states=split.max_states if split else None,
        best_return=solution.best_return if math.isfinite(solution.best_return) else None,
        gain=judged.gain.value if judged else None,
        gain_error=judged.gain.error if judged else None,
        gain_lower_bound=judged.gain_lower_bound if judged else None,
        misfit=judged.misfit if judged else None,
        judged=judged.episodes if judged else None,
        objective=UNSET if solution.planning.objective == "return" else solution.planning.objective,
    )


def _compared(compared: MemoryComparison) -> ComparedMemories:
    alternatives = [ComparedMemory(**one.to_dict()) for one in compared.alternatives]
    return ComparedMemories(compared.memory, compared.episodes, alternatives)


def _needed(needed: AdaptiveReport) -> NeededLanguages:
    if needed.states:
        return NeededLanguages(states=list(needed.states))
    ladder = [str(family) for family in needed.ladder]
    layers = [None, *(ladder[r] if r >= 0 else None for r in needed.layers)]
    return NeededLanguages(ladder, layers, [str(family) for family in needed.left_out])
