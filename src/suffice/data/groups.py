"""Groups of episodes, such as those of one person or site, which may depend on each other.

With groups of different sizes n_g, the *design effect* Σ n_g² / Σ n_g is the factor by which the variance of a mean is
larger than that of independent episodes if all episodes of a group are the same (Kish, 1965): the worst case.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from suffice.data.log import Log, run_query
from suffice.data.queries import EpisodesView
from suffice.kernels.array_types import Int64, UInt64


class GroupSizes(NamedTuple):
    """Groups of a log, and the number of episodes of each, with their weights."""

    group: UInt64  # [G] ascending
    size: Int64  # [G]

    @property
    def design_effect(self) -> float:
        """The largest factor by which dependence within groups increases the variance of a mean."""
        return float((self.size.astype(float) ** 2).sum() / self.size.sum())


class _GroupQuery(NamedTuple):
    """Query for the sizes of groups."""

    def __call__(self, view: EpisodesView) -> GroupSizes:
        """Count the episodes of each group; see `Query`."""
        assert view.episodes.group is not None
        return _counted(view.episodes.group, view.episodes.weight)

    def combine(self, answers: list[GroupSizes]) -> GroupSizes:
        """Add up the sizes in parts of the log; see `Query`."""
        return _counted(np.concatenate([a.group for a in answers]), np.concatenate([a.size for a in answers]))


def _counted(group: UInt64, size: Int64 | None) -> GroupSizes:
    names, member = np.unique(group, return_inverse=True)
    return GroupSizes(names, np.bincount(member, size).astype(np.int64))


def group_sizes(log: Log, threads: int = 1) -> GroupSizes | None:
    """Return the groups of a log and their sizes; None if its episodes are independent."""
    return run_query(log, _GroupQuery(), threads) if log.grouped else None
