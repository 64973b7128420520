"""Learn a layered automaton with AdaCT-H, optionally followed by refinement."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from suffice.data.log import Log
from suffice.files.checkpoints import NO_CHECKPOINT, CheckpointStage
from suffice.learning.adact_h import Learned, Settings, adact_h
from suffice.learning.refinement import refine


def learn_layers(
    episodes: Log,
    settings: Settings,
    second_look: bool = True,
    progress: Callable[[int, int], None] = lambda done, of: None,
    kept: CheckpointStage = NO_CHECKPOINT,
) -> Learned:
    """Learn the layered automaton; with `second_look`, refine it."""
    first, second = kept.part("first"), kept.part("second")
    if not second_look:
        return adact_h(episodes, settings, progress, kept=first)
    half, other = (lambda done, of: progress(done, 2 * of)), (lambda done, of: progress(of + done, 2 * of))
    learned = adact_h(episodes, _with_half_the_risk(settings), half, ended_apart=True, kept=first)
    refined = refine(learned, episodes, other, second)
    return replace(refined, settings=settings)


def _with_half_the_risk(settings: Settings) -> Settings:
    """Halve the failure probability 1 − c, which the AdaCT-H pass and the refinement share."""
    if settings.confidence is None:
        return settings
    return replace(settings, confidence=1 - (1 - settings.confidence) / 2)
