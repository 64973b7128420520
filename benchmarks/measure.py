"""CPU seconds and peak memory of one learning run, with the compiler warm."""

from __future__ import annotations

import time
from collections.abc import Callable
from itertools import pairwise

import numpy as np

from suffice.automata.rdp import UNSEEN
from suffice.data.episodes import Episodes
from suffice.engines.engine import running
from suffice.evidence.statistic import SuffixCounts
from suffice.lab.resources import cpu_time, measure
from suffice.learning.adact_h import Learned, Settings, adact_h


def warm_up(episodes: Episodes, settings: Settings) -> None:
    """Compile everything that this kind of run uses."""
    adact_h(episodes.columns(slice(0, 500)), settings)


def cpu_seconds(episodes: Episodes, settings: Settings, repeats: int = 5) -> tuple[float, Learned]:
    """Return the smallest time of several runs, because other programs can only add time."""
    warm_up(episodes, settings)
    best = float("inf")
    for _ in range(repeats):
        learned, seconds = cpu_time(lambda: adact_h(episodes, settings))
        best = min(best, seconds)
    return best, learned


def wall_seconds(
    run: Callable[[Episodes, Settings], object], episodes: Episodes, alternatives: list[Settings], repeats: int = 40
) -> list[float]:
    """Return the smallest wall-clock time of many alternating runs, because threads are easily disturbed."""
    for settings in alternatives:
        run(episodes.columns(slice(0, 500)), settings)
    best = [float("inf")] * len(alternatives)
    for _ in range(repeats):
        for i, settings in enumerate(alternatives):
            start = time.perf_counter()
            run(episodes, settings)
            best[i] = min(best[i], time.perf_counter() - start)
    return best


def counting(episodes: Episodes, settings: Settings) -> Callable[[Episodes, Settings], None]:
    """Return a function that makes the passes of learning over the episodes, without merging."""
    rdp = adact_h(episodes, settings).rdp
    plan = settings.statistic.plan(episodes.outline, settings.chosen_bound, settings.memory)
    layers = list(pairwise(rdp.offsets().tolist()))

    def count(episodes: Episodes, settings: Settings) -> None:
        join, known = np.zeros(1, np.int64), rdp.tau != UNSEEN
        with running(episodes, settings.threads, settings.memory, finely=plan.rows) as engine:
            for t, (first, end) in enumerate(layers[: rdp.horizon]):
                engine.letters(t, join, end - first)
                number = (
                    np.cumsum(known[first:end]).reshape(end - first, -1) - 1
                )  # number of each pair of state and symbol
                n = int(number[-1, -1]) + 1
                candidate_of = number[:, rdp.symbol_of_letter()].ravel()
                engine.advance(t, join, candidate_of, n, SuffixCounts(plan, t + 1, n))
                join = rdp.tau[first:end][known[first:end]].astype(np.int64) - end

    return count


def peak_bytes(episodes: Episodes, settings: Settings) -> int:
    """Return the peak resident memory of a run above that before it (Linux)."""
    warm_up(episodes, settings)
    return measure(lambda: adact_h(episodes, settings))[1].bytes
