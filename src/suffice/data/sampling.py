"""Samples of a log in memory, wherever its episodes are stored."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from suffice.data.content import BYTES_TO_CHOOSE, MOST_DRAWN, sample, shuffled
from suffice.data.episodes import Episodes
from suffice.data.log import ITSELF, Log, content_of, run_query
from suffice.data.queries import EpisodesView
from suffice.kernels.array_types import Mask


def shuffled_sample(log: Log, size: int, rng: np.random.Generator, threads: int = 1) -> Episodes:
    """Choose `size` of the stored episodes at random, in a random order; both depend on their content alone."""
    if size == log.n:
        return shuffled(_gathered(log, np.ones(log.n, bool)), rng)
    contents = content_of(log, threads)
    return shuffled(_gathered(log, sample(contents.hashes, contents.weight, size, rng)), rng)


def sample_of(log: Log, most_steps: int, memory: int, rng: np.random.Generator, threads: int = 1) -> Episodes:
    """Return as many episodes as have at most `most_steps` steps with padding, at random and in a random order.

    A stored log with more episodes than can be ordered by content within the memory is sampled at regular positions.
    Weights are divided by a factor where they add up to more episodes than can be divided at random.
    """
    size = max(1, min(log.n, most_steps // (log.horizon + 1)))
    if size < log.n and not isinstance(log, Episodes) and BYTES_TO_CHOOSE * log.n > memory - ITSELF:
        chosen = np.zeros(log.n, bool)
        chosen[np.arange(size) * log.n // size] = True
        return shuffled(_gathered(log, chosen), rng)
    found = shuffled_sample(log, size, rng, threads)
    if found.weight is None or found.total < MOST_DRAWN:
        return found
    return replace(found, weight=np.maximum(found.weight // (2 * found.total // MOST_DRAWN + 1), 1))


def _gathered(log: Log, chosen: Mask) -> Episodes:
    """Load the chosen episodes into memory."""
    if isinstance(log, Episodes):
        return log if chosen.all() else log.columns(np.flatnonzero(chosen))
    found: list[tuple[int, Episodes]] = run_query(log, _Chosen(chosen))
    parts = sorted(found, key=lambda part: part[0])
    return Episodes.beside([episodes for _, episodes in parts])


class _Chosen(NamedTuple):
    """Query for the chosen episodes of a log, in parts with the position of their first episode."""

    chosen: Mask  # [N]

    def __call__(self, view: EpisodesView) -> list[tuple[int, Episodes]]:
        """Select from some episodes; see `Query`."""
        columns = np.flatnonzero(self.chosen[view.first : view.first + view.episodes.n])
        return [(view.first, view.episodes.columns(columns))]

    def combine(self, answers: list[list[tuple[int, Episodes]]]) -> list[tuple[int, Episodes]]:
        """List the parts of all answers; see `Query`."""
        return [part for answer in answers for part in answer]
