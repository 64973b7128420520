"""Automata of thousands of states, as large logs give them, without the log."""

from __future__ import annotations

from itertools import product

import msgspec
import numpy as np

from suffice.episodes import DUMMY, PAD, STOP, Alphabet
from suffice.model import Model
from suffice.planner import plan_on
from suffice.rdp import RDP, UNSEEN


def large_rdp(layers: int, width: int, seed: int = 0) -> RDP:
    """Layers of equal width between the first and the final state; most transitions lead to a place nearby."""
    rng = np.random.default_rng(seed)
    alphabet = Alphabet(("left", "right"), ("light",), (("red",), ("green",)), (0.0, 1.0))
    first = [(DUMMY, o, 0) for o in (1, 2)]
    later = [(a, o, r) for a, o, r in product((PAD + 1, PAD + 2), (STOP, 1, 2), (0, 1)) if (o == STOP) <= (r == 1)]
    letters = np.array(first + later, np.int32)
    symbols = np.unique(letters[:, :2], axis=0)
    sizes = [1, *([width] * (layers - 2)), 1]
    tau, counts = [], []
    of_letter = [symbols.tolist().index([a, o]) for a, o, _ in letters.tolist()]
    for t, (here, there) in enumerate(zip(sizes[:-1], sizes[1:], strict=True)):
        home = np.arange(here)[:, None] * there // here
        near = np.clip(home + rng.geometric(0.4, (here, len(symbols))) * rng.choice((-1, 1), (here, len(symbols))), 0, there - 1)
        kind = symbols[:, 0] == DUMMY if t == 0 else (symbols[:, 0] > PAD) & ((symbols[:, 1] == STOP) == (t == layers - 2))
        tau.append(np.where(kind, near, UNSEEN).astype(np.int64))
        met = np.where(kind[of_letter], rng.geometric(0.01, (here, len(letters))), 0)
        counts.append(met.astype(np.int64))
    return RDP.of_layers(alphabet, letters, symbols, tau, counts)


def large_model(model: Model, layers: int, width: int) -> Model:
    """As if a log had given it; what it says about itself is of another model."""
    rdp = large_rdp(layers, width)
    about = msgspec.structs.replace(model.about, layers=rdp.layers.tolist(), episodes=int(rdp.counts[0].sum()))
    return Model(rdp, about, (), plan_on(rdp))
