"""Groups of episodes, such as those of one person or site, which may depend on each other.

With groups of different sizes n_g, the *design effect* Σ n_g² / Σ n_g is the factor by which the variance of a mean is
larger than that of independent episodes if all episodes of a group are the same (Kish, 1965): the worst case.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import numpy as np

from suffice.data import content
from suffice.data.log import Log, run_query
from suffice.data.queries import EpisodesView, added
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


class _MembersQuery(NamedTuple):
    """Query for the sum of hashes of the episodes with their groups."""

    of_letter: UInt64  # [X] hashes of the letters

    def __call__(self, view: EpisodesView) -> UInt64:
        """Add up the hashes of some episodes; see `Query`."""
        hashes, weight = content.content_hashes(view.episodes, self.of_letter), view.episodes.weight
        times = np.ones(len(hashes), np.uint64) if weight is None else weight.astype(np.uint64)
        return np.array([(hashes * times).sum(dtype=np.uint64)])

    def combine(self, answers: list[UInt64]) -> UInt64:
        """Add up the sums of parts of the log; see `Query`."""
        return added(answers)


def groups_digest(log: Log, threads: int = 1) -> str | None:
    """Return a hash of which episodes belong to which group, in any order; None if they are independent."""
    if not log.grouped:
        return None
    total = run_query(log, _MembersQuery(content.letter_hashes(log.outline)), threads)
    return hashlib.blake2b(total.tobytes(), digest_size=16).hexdigest()
