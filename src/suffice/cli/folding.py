"""Whether to fold time, from the words of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Literal, get_args

from suffice.errors import SufficeError, closest
from suffice.evidence.tables import USUAL_METRIC
from suffice.planning.planner import PLANNERS

if TYPE_CHECKING:
    from suffice.cli.options import PlanOptions

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
    return closest(word, get_args(Folding)) is not None and not Path(word).exists()


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
