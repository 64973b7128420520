"""From data to a model in one call: read, hold out, fold time or not, learn, plan.

    model = suffice.learn("log.parquet")
    model = suffice.learn(["old.parquet", "new.parquet"], like=model)

What may be chosen is an object, `Choices`, with a keyword for each of its parts; the command line makes the same object
of its words, so that both give the same model to the byte.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from suffice.data.encoding.binning import Binning
from suffice.data.encoding.columns import Columns
from suffice.data.encoding.encoder import EncoderRequest
from suffice.data.loading import Data, Reading, read_data
from suffice.data.log import ExternalLog, Log, digest
from suffice.data.streaming import MemoryBudget
from suffice.engines.engine import EngineChoice, engine_of
from suffice.errors import SettingsError
from suffice.evidence.bounds import BOUNDS
from suffice.evidence.language_counts import LanguageCounts
from suffice.evidence.statistic import Statistic, StatisticOptions
from suffice.files.checkpoints import NO_CHECKPOINT, CheckpointStage, checkpoint_in, refuse_other_choices
from suffice.learning.adact_h import Learned, Settings
from suffice.learning.layers import learn_layers
from suffice.learning.memory_choice import Stationarity, is_stationary
from suffice.learning.stationary.learner import learn_stationary
from suffice.models.header import Header, Planned
from suffice.models.held_out import learned_from
from suffice.models.model import Model
from suffice.planning.planner import PLANNERS, Planning, planning_with
from suffice.planning.regorl import Solution, Split, regorl
from suffice.version import __version__

Folding = bool | Literal["auto"]
Progress = Callable[[int, int], None]


def _silently(done: int, of: int) -> None:
    """No-op progress callback."""


def all_cores() -> Settings:
    """The usual settings; the result is the same to the bit for any number of threads."""
    free = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return Settings(threads=free or 1)


@dataclass(frozen=True, slots=True)
class Choices:
    """How to learn and plan, once the data are read."""

    settings: Settings = field(default_factory=all_cores)
    planning: Planning | None = field(default_factory=Planning)  # None: no plan
    split: Split | None = None
    second_look: bool = True  # of layers
    stationary: Folding = False  # "auto": whatever predicts held-out episodes better
    hold_out: float | None = None  # share of the episodes that is not learned from
    seed: int = 0  # of what is random: what auto holds out, and the halves of a split

    def __post_init__(self) -> None:
        proved = self.split is not None or (self.planning is not None and self.planning.subsample)
        if self.stationary not in (False, True, "auto"):
            raise SettingsError(f"stationary is True, False or 'auto', not {self.stationary!r}")
        if self.stationary and proved:
            raise SettingsError("a split and subsampled planning are proved for layers; leave stationary out, or them")
        if self.stationary is True and (self.settings.statistic, self.settings.bound) != (LanguageCounts(), None):
            raise SettingsError("a stationary automaton is learned without a statistic or bound; leave them out")
        if not self.stationary and self.planning is not None and self.planning.discount is not None:
            raise SettingsError("a discount is for an automaton that goes on for ever: stationary=True")
        if not self.stationary and self.settings.strict:
            raise SettingsError("strict is for stationary=True; with layers the first look is proved")
        if self.split is not None and (self.planning is None or self.second_look):
            raise SettingsError("a split is for a plan, and takes no second look; leave one of them out")
        if self.planning is not None:
            PLANNERS[self.planning.name]  # refuses one that does not exist
        if self.seed < 0:
            raise SettingsError(f"a seed is a number from 0 on, not {self.seed}")

    @property
    def by_place(self) -> bool:
        """Whether episodes are chosen by their places in the log."""
        subsampled = self.planning is not None and self.planning.subsample
        return bool(self.stationary) or subsampled or self.hold_out is not None or self.split is not None

    @classmethod
    def of(cls, model: Model) -> Choices:
        """How a model was learned, but for what was held out, which is a matter of its log."""
        about, plan, split = model.about, model.about.plan, None
        settings = replace(all_cores(), confidence=about.confidence, cut=about.cut, strict=about.strict)
        if not model.rdp.stationary:
            settings = replace(settings, statistic=statistic_of(about))
            usual = settings.chosen_bound.name == about.bound
            settings = settings if usual else replace(settings, bound=BOUNDS[about.bound])
        if plan is not None and plan.split:
            split = Split(2 * plan.delta, plan.accuracy, plan.max_states or Split().max_states)
        elif about.confidence is None:
            settings = replace(settings, delta=about.delta)
        return cls(settings, _planning_of(plan), split, about.second_look, model.rdp.stationary)


def _planning_of(plan: Planned | None) -> Planning | None:
    if plan is None:
        return None
    delta = None if plan.split else plan.delta  # a split has its own
    return planning_with(plan.planner, strength=plan.strength, delta=delta, discount=plan.discount)


def statistic_of(about: Header) -> Statistic:
    """The statistic that a model was learned with."""
    ladder = () if about.needed is None else tuple(about.needed.ladder)
    return StatisticOptions(about.metric, about.family, ladder, about.seed).make()


def learn(
    data: Data,
    *,
    stationary: Folding | None = None,
    delta: float | None = None,
    confidence: float | None = None,
    plan: bool = True,
    like: Model | None = None,
    settings: Settings | None = None,
    planning: Planning | str | None = None,
    split: Split | None = None,
    second_look: bool | None = None,
    hold_out: float | None = None,
    columns: Columns | Mapping[str, Any] | str | None = None,
    horizon: int | None = None,
    bins: Mapping[str, Binning] | None = None,
    seed: int = 0,
    progress: Progress = _silently,
    checkpoint: str | Path | None = None,
    engine: EngineChoice | str | None = None,
) -> Model:
    """Learn the automaton behind logged episodes, and plan a policy on it.

    `data` is whatever `read_log` reads, or `Episodes`, or a list of several of these: then all are read by the bins of
    the first and learned from together. `like` takes horizon, bins and choices from an earlier model, except what is
    given here. A model does not keep its episodes: to add data, give the old and the new together.

    `delta` is the chance of failure of each test, `confidence` the chance of no false split at all; a second look
    is taken unless a test, level, or no plan is chosen. Of `Episodes`, `bins` are those of the report on their log.
    What has been found is kept in the folder `checkpoint`: the same call goes on where an earlier one was ended.
    With `engine=Ray()`, or "ray", the workers of a cluster read a Parquet log and count; the result is the same to the
    bit.

    >>> suffice.learn("log.parquet").headline
    '11 states in layers 1 1 2 2 2 2 1, from 300 episodes'
    >>> suffice.learn(["log.parquet", "more.parquet"], like=model).headline
    '11 states in layers 1 1 2 2 2 2 1, from 600 episodes'
    >>> suffice.learn(episodes, stationary=True, confidence=0.99).headline
    '8 states for all steps, from 300 episodes'
    """
    usual = Choices() if like is None else Choices.of(like)
    by_usual_test = delta is None and confidence is None and (settings is None or _has_usual_test(settings))
    planning = planning_with(planning) if isinstance(planning, str) else planning
    planning = (planning or usual.planning) if plan else None
    split = split or (usual.split if plan else None)
    if second_look is None:
        second_look = takes_second_look(not by_usual_test, planning, split, like)
    choices = Choices(
        _at_level(settings or usual.settings, delta, confidence),
        planning,
        split,
        second_look,
        usual.stationary if stationary is None else stationary,
        hold_out,
        seed,
    )
    if like is not None and horizon is None:
        horizon = like.rdp.horizon
    request = EncoderRequest.of(columns, bins, None if like is None else like.encoder)
    if checkpoint is not None:
        refuse_other_choices(Path(checkpoint), told_of(choices))
    with engine_of(engine).reading() as elsewhere:
        room = MemoryBudget(choices.settings.memory, choices.settings.threads, elsewhere=elsewhere)
        read = read_data(data, request, horizon, room)
        return learn_model(read, choices, progress, None if checkpoint is None else Path(checkpoint))[0]


def _at_level(settings: Settings, delta: float | None, confidence: float | None) -> Settings:
    if delta is not None and confidence is not None:
        raise SettingsError("delta and confidence both fix the level of the tests; give one of them")
    if delta is not None:
        return replace(settings, delta=delta, confidence=None)
    return settings if confidence is None else replace(settings, confidence=confidence)


def takes_second_look(
    test_chosen: bool, planning: Planning | None, split: Split | None, like: Model | None = None
) -> bool:
    """Whether a second look is taken if nobody says: for a plan, or as for an earlier model.

    Never where a test or level is chosen, or a split.
    """
    usual = planning is not None if like is None else like.about.second_look
    return usual and not test_chosen and split is None


def _has_usual_test(settings: Settings) -> bool:
    usual = Settings()
    names = ("statistic", "bound", "delta", "confidence", "cut")
    return all(getattr(settings, name) == getattr(usual, name) for name in names)


def learn_model(
    read: Reading, choices: Choices, progress: Progress = _silently, checkpoint: Path | None = None
) -> tuple[Model, Stationarity | None]:
    """A model of what was read, and what was found out about folding time if that was asked."""
    keeping = nullcontext(NO_CHECKPOINT) if checkpoint is None else checkpoint_in(checkpoint, _told(read, choices))
    with keeping as kept:
        return _learn_model(read, choices, progress, kept)


def _learn_model(
    read: Reading, choices: Choices, progress: Progress, kept: CheckpointStage
) -> tuple[Model, Stationarity | None]:
    used: Log = read.episodes
    share, folding = choices.hold_out, None
    refuse_if_unordered(used, choices)
    used = learned_from(used, share)
    if choices.stationary == "auto":
        folding = is_stationary(
            used,
            choices.settings,
            second_look=choices.second_look,
            rng=np.random.default_rng(choices.seed),
            progress=lambda done, of: progress(done, 2 * of),
            kept=kept.part("trial"),
        )
    tied = choices.stationary is True or (folding is not None and folding.stationary)
    before = 0 if folding is None else 1
    result = _learned(used, choices, tied, lambda done, of: progress(before * of + done, (before + 1) * of), kept)
    model = Model.of(result, read.episodes, encoder=read.encoder, held_out=share or 0.0)
    return model, folding


def refuse_if_unordered(log: Log, choices: Choices) -> None:
    """What is chosen by its place in a log must be found in the same place when the log is read at once."""
    if isinstance(log, ExternalLog) and not log.ascending and choices.by_place:
        raise SettingsError(
            "a log that is read in parts, and whose episode ids do not grow, is learned in layers, without --hold-out, "
            "--split, --stationary and subsampled plans; sort it by episode id, or read it as a whole: raise --memory"
        )


def _learned(used: Log, choices: Choices, tied: bool, progress: Progress, kept: CheckpointStage) -> Learned | Solution:
    """The automaton, with a plan unless none is wanted."""
    settings, planning, look = choices.settings, choices.planning, choices.second_look
    if planning is None:
        if tied:
            return learn_stationary(used, settings, progress, kept)
        return learn_layers(used, settings, look, progress, kept)
    return regorl(
        used,
        settings,
        planning if tied else replace(planning, discount=None),  # which auto may turn out to have no use for
        split=choices.split,
        second_look=look,
        stationary=tied,
        rng=np.random.default_rng(choices.seed),
        progress=progress,
        kept=kept,
    )


def _told(read: Reading, choices: Choices) -> dict[str, object]:
    """What the result of a run depends on."""
    log, threads = read.episodes, choices.settings.threads
    return {
        "episodes": log.total,
        "horizon": log.horizon,
        "distinct steps": len(log.letters),
        "content of the log": digest(log, threads=threads),
        "order of the episodes": digest(log, True, threads) if choices.by_place else "any",
        **told_of(choices),
    }


def told_of(choices: Choices) -> dict[str, object]:
    """The part of it that does not depend on the log."""
    settings, options = choices.settings, choices.settings.statistic.options
    ladder = options.ladder
    told: dict[str, object] = {
        "suffice": __version__,
        "metric": options.metric,
        "family": " ".join(ladder) or options.family,
        "memory": settings.memory if ladder else None,  # which families are too large to ask
        "seed of the sketch": options.seed,
        "bound": settings.chosen_bound.name,
        "delta": settings.delta,
        "confidence": settings.confidence,
        "cut": settings.cut,
        "strict": settings.strict,
        "second look": choices.second_look,
        "stationary": choices.stationary,
        "hold-out": choices.hold_out,
        "seed": choices.seed,
    }
    for name, chosen in (("plan", choices.planning), ("split", choices.split)):
        told[name] = "no" if chosen is None else "yes"
        if chosen is not None:
            told |= {f"{part.name} of the {name}": getattr(chosen, part.name) for part in fields(chosen)}
    return told
