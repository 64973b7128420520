"""Model files and logs of a process with many states, distinct steps or layers, made without learning."""

from __future__ import annotations

from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import DUMMY, PAD, STOP, Alphabet
from suffice.data.episodes import Episodes
from suffice.kernels.array_types import Codes, Int64
from suffice.models.model import Model
from suffice.planning.planner import plan_on
from suffice.planning.regorl import regorl

BRANCHES = 3  # observations that a state may show after an action


def wide_log(episodes: int, steps: int, states: int, observations: int, seed: int = 0) -> Episodes:
    """Simulate episodes; a state shows a few of the observations, which determine the next state."""
    rng, letters = np.random.default_rng(seed), _letters(observations)
    state, word = np.zeros(episodes, np.int64), np.zeros((steps + 1, episodes), np.int64)
    _, of_letter = np.unique(letters[:, :2], axis=0, return_inverse=True)
    for t in range(steps + 1):
        seen = 1 + (7 * state + rng.integers(0, BRANCHES, episodes) * 13) % observations
        action, reward = PAD + 1 + rng.integers(0, 2, episodes), rng.integers(0, 2, episodes)
        if t == 0:
            action, reward = np.full(episodes, DUMMY), np.zeros(episodes, np.int64)
        if t == steps:
            seen[:] = STOP
        word[t] = _number(letters, np.stack([action, seen, reward], axis=1))
        state = _next(state, of_letter[word[t]], states)
    alphabet = Alphabet((0, 1), ("seen",), tuple((i,) for i in range(observations)), (0.0, 1.0))
    return Episodes(alphabet, letters, word, np.ones(len(letters), bool))


def wide_rdp(log: Episodes, states: int, *, stationary: bool = False) -> RDP:
    """Return the automaton of the process of `wide_log`, in layers of `states` states each or stationary."""
    symbols, of_letter = log.symbols()
    horizon, n = log.horizon, states + 1 if stationary else 2 + states * log.horizon
    tau = np.full((n, len(symbols)), UNSEEN, np.int32)
    counts, cut = (np.zeros((n, len(log.letters)), np.int64) for _ in range(2))
    state = place = np.zeros(log.n, np.int64)
    for t, word in enumerate(log.word):
        np.add.at(cut if stationary and t == horizon else counts, (place, word), 1)
        state = _next(state, of_letter[word], states)
        following = 1 + state + (0 if stationary else t * states)
        if t == horizon:
            following[:] = n - 1
        if not stationary or t < horizon:
            tau[place, of_letter[word]] = following
        place = following
    layers = np.array([n] if stationary else [1, *[states] * horizon, 1])
    only_stationary = (horizon, cut) if stationary else ()
    return RDP(log.alphabet, log.letters, symbols, layers, tau, counts, *only_stationary)


def wide_model(path: Path, log: Episodes, states: int, *, stationary: bool = False) -> Path:
    """Write a model file with the automaton of `wide_rdp` and a plan on it."""
    rdp = wide_rdp(log, states, stationary=stationary)
    few = wide_log(40, 2, 2, 2)
    small = Model.of(regorl(few, stationary=stationary), few)
    about = msgspec.structs.replace(
        small.about,
        episodes=log.n,
        layers=rdp.layers.tolist(),
        candidates=rdp.layers.tolist(),
        languages=[0] * len(small.about.languages[:0] if stationary else rdp.layers),
        observations=[list(values) for values in log.alphabet.observations],
        steps=rdp.steps,
    )
    Model(rdp, about, (), plan_on(rdp.layered())).save(path)
    return path


def _next(state: Int64, symbol: Int64, states: int) -> Int64:
    return (31 * state + 17 * symbol + 5) % states


def _letters(observations: int) -> Codes:
    """Return all steps of the process: the first, those between, and the last, without an observation."""
    seen = range(1, observations + 1)
    first = [(DUMMY, o, 0) for o in seen]
    later = [(a, o, r) for a in (PAD + 1, PAD + 2) for o in (STOP, *seen) for r in (0, 1)]
    return np.array(first + later, np.int64).astype(np.uint16)


def _number(letters: Codes, wanted: Int64) -> Int64:
    """Return the numbers of letters, which are in order."""
    size = int(letters.max()) + 1

    def key(rows: Codes | Int64) -> Int64:
        return (rows[:, 0].astype(np.int64) * size + rows[:, 1]) * size + rows[:, 2]

    return np.searchsorted(key(letters), key(wanted))


def write_wide_log(path: Path, log: Episodes) -> Path:
    """Write a log of `wide_log` as Parquet."""
    action, seen, reward = (log.letters[:, i].astype(np.int64)[log.word] for i in range(3))
    steps, n = log.horizon, log.n
    columns = {
        "episode": np.repeat(np.arange(n), steps),
        "step": np.tile(np.arange(steps), n),
        "seen": (seen[:-1] - STOP - 1).T.ravel(),
        "action": (action[1:] - PAD - 1).T.ravel(),
        "reward": reward[1:].T.ravel(),
    }
    pq.write_table(pa.table(columns), path)
    return path
