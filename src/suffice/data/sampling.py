"""Samples of a log in memory, wherever its episodes are stored."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suffice.data.content import sample, shuffled
from suffice.data.episodes import Episodes
from suffice.data.log import Log, content_of, run_query
from suffice.data.queries import EpisodesView
from suffice.kernels.array_types import Mask


def shuffled_sample(log: Log, size: int, rng: np.random.Generator, threads: int = 1) -> Episodes:
    """Choose `size` of the stored episodes at random, in a random order; both depend on their content alone."""
    if size == log.n:
        return shuffled(_gathered(log, np.ones(log.n, bool)), rng)
    contents = content_of(log, threads)
    return shuffled(_gathered(log, sample(contents.hashes, contents.weight, size, rng)), rng)


def sample_of(log: Log, most_steps: int, rng: np.random.Generator, threads: int = 1) -> Episodes:
    """Return as many episodes as have at most `most_steps` steps with padding, at random and in a random order."""
    return shuffled_sample(log, max(1, min(log.n, most_steps // (log.horizon + 1))), rng, threads)


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
