"""From the words of the command line to settings: how to learn and plan, and whether one automaton serves all steps."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from suffice.cli.options import DEFAULT_PLAN, PlanOptions, refuse_seed
from suffice.cli.progress import waiting
from suffice.engines.tables import ENGINES, USUAL_ENGINE
from suffice.errors import SettingsError, SufficeError, closest
from suffice.evidence.tables import USUAL_METRIC
from suffice.planning.planner import PLANNERS

if TYPE_CHECKING:
    from suffice.data.streaming import ExternalReader
    from suffice.learning.adact_h import Settings
    from suffice.models.api import Choices
    from suffice.models.model import Model
    from suffice.planning.planner import Planning
    from suffice.planning.regorl import Split


def settings_of(
    metric: str, family: str | None, bound: str | None, delta: float | None, confidence: float | None, cut: float,
    seed: int, threads: int | None, memory: str | None,
) -> Settings:  # fmt: skip
    """How to learn, from the words of the command line."""
    from suffice.evidence.bounds import BOUNDS
    from suffice.evidence.statistic import StatisticOptions
    from suffice.learning.adact_h import Settings, half_of_memory
    from suffice.models.api import all_cores

    refuse_seed(seed)
    if delta is not None and confidence is not None:
        raise SettingsError("--delta and --confidence both fix the level of the tests; give one of them")
    return Settings(
        statistic=StatisticOptions(metric, family, seed=seed).make(),
        bound=BOUNDS[bound] if bound else None,
        delta=1e-3 if delta is None else delta,
        confidence=confidence,
        cut=cut,
        threads=all_cores().threads if threads is None else threads,
        memory=_bytes(memory) if memory else half_of_memory(),
    )


@contextmanager
def counting_by(
    engine: str, workers: int | None, threads: int | None, logs: Sequence[str]
) -> Iterator[ExternalReader | None]:
    """Who counts, from the words of the command line; until the end of the block, if that is a cluster."""
    from suffice.engines.engine import EngineChoice, EngineOptions

    chosen: EngineChoice = ENGINES[engine](EngineOptions(workers, threads))
    chosen.refuse(*logs)
    with ExitStack() as until_done:
        with waiting(f"Starting {engine.capitalize()}") if engine != USUAL_ENGINE else nullcontext():
            reader = until_done.enter_context(chosen.reading())
        yield reader


How = tuple["Planning | None", "Split | None", bool]  # to plan if at all, to split the log if so, to look twice or not


def planning_of(options: PlanOptions, delta: float | None, confidence: float | None, chosen: bool) -> How:
    """How to plan, from the words of the command line; `chosen`: the user has decided how to compare futures."""
    from suffice.models.api import takes_second_look
    from suffice.planning.planner import PLANNERS, planning_with
    from suffice.planning.regorl import Split

    planner = PLANNERS.get(options.planner)  # None: no plan
    if (planner is None or planner.usual.strength == 0) and options.strength is not None:
        raise SettingsError(
            f"--strength is how cautious a plan is, and --planner {options.planner} is not; leave it out"
        )
    if planner is None and (options.split or options.hold_out is not None):
        raise SettingsError("--split and --hold-out are for a plan; leave out --planner none, or them")
    proves = planner is not None and planner.usual.subsample
    if options.accuracy is not None and not proves:
        raise SettingsError("--accuracy can be proved for --planner subsampled only; say that too, or leave it out")
    if not options.split and (options.accuracy is not None or options.max_states != PlanOptions.max_states):
        raise SettingsError("--accuracy and --max-states go with --split; add it, or leave them out")
    if options.discount is not None and (planner is None or proves):
        raise SettingsError(f"--discount does not go with --planner {options.planner}; leave one of them out")
    planning = None
    if planner is not None:
        planning = planning_with(options.planner, strength=options.strength, discount=options.discount)
    if not options.split:
        look = options.second_look
        return planning, None, takes_second_look(chosen, planning, None) if look is None else look
    if confidence is not None:
        raise SettingsError("--split divides δ as the paper does; leave --confidence out, or say --delta")
    if options.second_look:
        raise SettingsError("--split is the paper's way, which takes no second look; leave one of them out")
    level = Split().delta if delta is None else delta
    return planning, Split(level, options.accuracy, options.max_states), False


def _bytes(text: str) -> int:
    found = re.fullmatch(r"(\d+(?:\.\d+)?)([KMGT]?)(I?)B?", text.strip().upper())
    if not found:
        raise SettingsError(f"--memory {text} is no size; write it like 500MB or 4GB")
    number, unit, binary = found.groups()
    size = int(float(number) * (1024 if binary else 1000) ** " KMGT".index(unit or " "))
    if size <= 0 or (not unit and size < 1_000_000):
        raise SettingsError(f"--memory {text} is {size:,} bytes, which leaves no room; write it like 500MB or 4GB")
    return size


def choices_of(settings: Settings, how: How, stationary: Folding, hold_out: float | None, seed: int) -> Choices:
    """All that was chosen."""
    from suffice.models.api import Choices

    return Choices(settings, *how, "auto" if stationary == "auto" else stationary == "yes", hold_out, seed)


def choices_again(
    model: Model, settings: Settings, chosen: bool, stationary: Folding, options: PlanOptions, seed: int
) -> Choices:
    """What was chosen for an earlier model; only what it takes in time and memory may be chosen anew."""
    from suffice.models.api import Choices

    if chosen or stationary != "no" or replace(options, hold_out=None) != DEFAULT_PLAN:
        raise SettingsError("--like takes test, level and plan from the earlier model; leave out what chooses others")
    choices = Choices.of(model)
    settings = replace(choices.settings, threads=settings.threads, memory=settings.memory)
    return replace(choices, settings=settings, hold_out=options.hold_out, seed=seed)


Folding = Literal["no", "yes", "auto"]


def spelled_out(words: list[str]) -> list[str]:
    """`--stationary` alone means yes, which options with a value cannot say."""
    following = [*words[1:], ""]
    return [
        f"{word}=yes" if word == "--stationary" and not _is_value(later) else word
        for word, later in zip(words, following, strict=False)
    ]


def _is_value(word: str) -> bool:
    """Whether a word after --stationary is its value, if a misspelt one, rather than a file."""
    return (word.isalnum() or closest(word, get_args(Folding)) is not None) and not Path(word).exists()


def refuse_folding(
    stationary: Folding, metric: str, family: str | None, bound: str | None, options: PlanOptions
) -> None:
    """What does not go with one automaton for all steps."""
    if stationary == "no":
        if options.discount is not None:
            raise SufficeError(
                "--discount is for an automaton that can go on for ever; add --stationary, or leave it out"
            )
        if options.strict:
            raise SufficeError("--strict is for --stationary; with layers the first look is proved: --no-second-look")
        return
    if stationary == "yes" and (metric != USUAL_METRIC or family is not None or bound is not None):
        raise SufficeError(
            "--stationary compares futures by what each action brings, state by state, with e-values: there is no "
            "metric, family or bound to choose; leave them out"
        )
    planner = PLANNERS.get(options.planner)
    if options.split or (planner is not None and planner.usual.subsample):
        raise SufficeError(
            "--split and --planner subsampled are the paper's way, which is proved for layers; leave --stationary out"
        )
    if stationary == "yes" and options.second_look:
        raise SufficeError(
            "--second-look is for layers; --stationary looks as often as it takes; leave one of them out"
        )
