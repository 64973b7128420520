"""Automata of thousands of states, like those of large logs."""

from __future__ import annotations

from itertools import pairwise, product

import msgspec
import numpy as np

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import DUMMY, PAD, STOP, Alphabet
from suffice.models.model import Model
from suffice.planning.planner import plan_on

EPISODES = 1_000_000


def large_rdp(layers: int, width: int, seed: int = 0) -> RDP:
    """Return an automaton with layers of equal width, in which most transitions lead to nearby states."""
    rng = np.random.default_rng(seed)
    alphabet = Alphabet(("left", "right"), ("light",), (("red",), ("green",)), (0.0, 1.0))
    first = [(DUMMY, o, 0) for o in (1, 2)]
    later = [(a, o, r) for a, o, r in product((PAD + 1, PAD + 2), (STOP, 1, 2), (0, 1)) if (o == STOP) <= (r == 1)]
    letters = np.array(first + later, np.int32)
    symbols = np.unique(letters[:, :2], axis=0)
    sizes = [1, *([width] * (layers - 2)), 1]
    of_letter = np.array([symbols.tolist().index([a, o]) for a, o, _ in letters.tolist()])
    tau, counts, visits = [], [], np.array([EPISODES])
    for t, (here, there) in enumerate(pairwise(sizes)):
        home, shape = np.arange(here)[:, None] * there // here, (here, len(symbols))
        near = np.clip(home + rng.geometric(0.4, shape) * rng.choice((-1, 1), shape), 0, there - 1)
        actions, ends = symbols[:, 0], symbols[:, 1] == STOP
        kind = actions == DUMMY if t == 0 else (actions > PAD) & (ends == (t == layers - 2))
        tau.append(np.where(kind, near, UNSEEN))
        chances = rng.dirichlet(np.ones(kind[of_letter].sum()), here)
        met = np.zeros((here, len(letters)), np.int64)
        met[:, kind[of_letter]] = rng.multinomial(visits, chances)
        counts.append(met)
        visits = np.bincount(near[:, of_letter].ravel(), met.ravel(), there).astype(np.int64)
    return RDP.of_layers(alphabet, letters, symbols, tau, counts)


def large_model(model: Model, layers: int, width: int) -> Model:
    """Return a model of a large automaton with the header of another model."""
    rdp = large_rdp(layers, width)
    about = msgspec.structs.replace(model.about, layers=rdp.layers.tolist(), episodes=EPISODES)
    return Model(rdp, about, (), plan_on(rdp))
