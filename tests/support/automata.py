"""Random automata for tests of drawings."""

from __future__ import annotations

import numpy as np

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import Alphabet


def shuffled(wide: int, horizon: int) -> RDP:
    """Return an automaton with layers of one size and random transitions."""
    rng = np.random.default_rng(wide)
    alphabet = Alphabet(("left", "right"), ("seen",), (("wall",), ("$door$",)), (0.0, 1.0))
    letters = np.array([(0, 1, 0), (0, 2, 0), (2, 1, 0), (2, 2, 1), (3, 1, 0), (3, 2, 0)])
    tau = []
    for t in range(horizon + 1):
        rows, following = 1 if t == 0 else wide, 1 if t == horizon else wide
        known = (letters[:, 0] == 0) == (t == 0)
        tau.append(np.where(known, rng.integers(following, size=(rows, len(letters))), UNSEEN))
    counts = [(rows != UNSEEN).astype(np.int64) for rows in tau]
    return RDP.of_layers(alphabet, letters, letters[:, :2], tau, counts)
