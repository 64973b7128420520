"""Group observations where tables of all distinct steps do not fit into memory.

With thousands of distinct steps hardly any two futures share one, and tables by step are too large. Labels, the tree
and the outcomes that are compared then distinguish only groups of observations with neighbouring codes; states still
have a transition for every observation. Tests stay valid, because groups depend on the alphabet alone; they see less.
Theory: docs/theory.md, section 8, and docs/decisions/0044.
"""

from __future__ import annotations

import numpy as np

from suffice.data.alphabet import STOP
from suffice.data.episodes import Episodes
from suffice.kernels.array_types import Int64

GROUPS = 64  # of observations, beside o_⊥


def observation_groups(episodes: Episodes, grouped: bool) -> Int64:
    """Return [O], the group of each observation code; o_⊥ is a group of its own."""
    codes = np.arange(episodes.alphabet.n_observations)
    n = len(codes) - 1
    if not grouped or n <= GROUPS:
        return codes
    return np.where(codes == STOP, STOP, 1 + (codes - 1) * GROUPS // n)


def symbol_groups(episodes: Episodes, grouped: bool) -> Int64:
    """Return [Y], the group of each symbol: its action and the group of its observation."""
    symbols, _ = episodes.symbols()
    if not grouped:
        return np.arange(len(symbols))
    groups = observation_groups(episodes, grouped)
    keys = symbols[:, 0].astype(np.int64) * len(groups) + groups[symbols[:, 1]]
    return np.asarray(np.unique(keys, return_inverse=True)[1]).reshape(-1)
