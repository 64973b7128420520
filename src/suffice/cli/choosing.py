"""From the options of `suffice learn` to choices and engines; `models.choices` does the work, as for Python."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from suffice.cli.options import DEFAULT_PLAN, PlanOptions
from suffice.cli.progress import waiting
from suffice.engines.tables import ENGINES, USUAL_ENGINE
from suffice.errors import SettingsError, closest
from suffice.evidence.tables import USUAL_METRIC

if TYPE_CHECKING:
    from suffice.data.streaming import ExternalReader
    from suffice.models.choices import Choices
    from suffice.models.learn_options import LearnOptions
    from suffice.models.model import Model

Stationary = Literal["no", "yes", "auto"]


def learn_options(
    metric: str | None, family: str | None, bound: str | None, delta: float | None, confidence: float | None,
    cut: float | None, stationary: Stationary | None, plan: PlanOptions, seed: int, threads: int | None,
    memory: str | None,
) -> LearnOptions:  # fmt: skip
    """Collect the options of the command under the names of the Python parameters."""
    from suffice.models.learn_options import LearnOptions

    return LearnOptions(
        metric=metric,
        family=family,
        bound=bound,
        delta=delta,
        confidence=confidence,
        cut=cut,
        strict=plan.strict,
        second_look=plan.second_look,
        stationary=stationary,
        planning=plan.planner,
        strength=plan.strength,
        discount=plan.discount,
        objective=plan.objective,
        split=plan.split,
        accuracy=plan.accuracy,
        max_states=None if plan.max_states == PlanOptions.max_states else plan.max_states,
        hold_out=plan.hold_out,
        seed=seed,
        threads=threads,
        memory=memory,
    )


def choices_like(model: Model, options: LearnOptions, plan: PlanOptions) -> Choices:
    """Return the choices of an earlier model; only held-out share, seed, threads and memory may be given again."""
    from suffice.models.learn_options import LearnOptions

    tests = (options.family, options.bound, options.delta, options.confidence)
    chosen = options.metric not in (None, USUAL_METRIC) or any(x is not None for x in tests) or bool(options.cut)
    if chosen or options.stationary not in (None, "no") or replace(plan, hold_out=None) != DEFAULT_PLAN:
        raise SettingsError(
            "--like takes test, level, automaton and plan from the earlier model. Leave out the options that choose "
            "others."
        )
    kept = ("stationary", "hold_out", "seed", "threads", "memory")
    return LearnOptions(**{name: getattr(options, name) for name in kept}).choices(model)


@contextmanager
def counting_by(
    engine: str, workers: int | None, threads: int | None, logs: Sequence[str]
) -> Iterator[ExternalReader | None]:
    """Start the chosen engine and stop it at the end of the block."""
    from suffice.engines.engine import EngineChoice, EngineOptions

    chosen: EngineChoice = ENGINES[engine](EngineOptions(workers, threads))
    chosen.refuse(*logs)
    with ExitStack() as until_done:
        with waiting(f"Starting {engine.capitalize()}") if engine != USUAL_ENGINE else nullcontext():
            reader = until_done.enter_context(chosen.reading())
        yield reader


def spelled_out(words: list[str]) -> list[str]:
    """Turn `--stationary` without a value into `--stationary=yes`, which the parser cannot do."""
    following = [*words[1:], ""]
    return [
        f"{word}=yes" if word == "--stationary" and not _is_value(later) else word
        for word, later in zip(words, following, strict=False)
    ]


def _is_value(word: str) -> bool:
    """Return whether a word after --stationary is meant as its value, even if misspelt, and not as a file."""
    return (word.isalnum() or closest(word, get_args(Stationary)) is not None) and not Path(word).exists()
