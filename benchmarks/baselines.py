"""Peers on the same data: what AALpy's ALERGIA needs for the episodes we learn from, at its best settings.

Best settings, tried at 10⁵ episodes, H = 15, uniform policy, four seeds (states, and the return of the optimal policy
in the learned machine against the true optimum); the CPU time hardly depends on them until eps nears 1 in mini-hall:
- t-maze, length 5 (optimum 4): eps = 0.5 gives 13 states and 4 on every seed; 0.05 fails on two of them, and 'auto'
  and 0.0005, tried on one seed, stay below 1.6.
- mini-hall (optimum 2.069): eps = 0.05, AALpy's default, gives 20 or 21 states and the optimum on every seed; 'auto'
  fails on two, 0.5 triples the states, 1.0 (one seed) takes 286 states and ten times as long.
"""

from __future__ import annotations

import gc
import time
from typing import Any, Final

from aalpy.learning_algs import run_Alergia

from suffice.data.alphabet import DUMMY, PAD
from suffice.data.episodes import Episodes
from suffice.lab.peers.alergia import FIRST_ACTION

BEST_EPS: Final = {"t-maze": 0.5, "mini-hall": 0.05}

Trace = list[tuple[int, int]]  # (input, output) per step


def as_traces(episodes: Episodes) -> list[Trace]:
    """Each episode as AALpy's stochastic Mealy machines read it: one (action, code of observation and reward) per step.

    AALpy 2.0 documents a flat `[I, O, I, O, …]`, but its prefix tree wants pairs; small integers, because it hashes
    and compares little else. Two favours to the peer:
    - Step 0 has the first logged action for its input. AALpy calls states without a common input compatible, so a root
      that knows the dummy alone would swallow every state, and the answer would be one state.
    - An early end is the end of the trace: padding would be more nodes and no more knowledge.
    """
    n_rewards = len(episodes.alphabet.rewards)
    pairs = [(FIRST_ACTION if a == DUMMY else a, o * n_rewards + r) for a, o, r in episodes.letters.tolist()]
    lengths = (episodes.letters[:, 0] != PAD)[episodes.word].sum(axis=0)
    words = zip(episodes.word.T.tolist(), lengths.tolist(), strict=True)
    return [[pairs[letter] for letter in word[:length]] for word, length in words]


def learn_with_alergia(episodes: Episodes, **settings: Any) -> tuple[float, int]:
    """CPU seconds and states of AALpy's `run_Alergia` under its own `settings`; preparing its data is not timed."""
    traces = as_traces(episodes)
    collecting = gc.isenabled()
    gc.disable()  # the collector finds nothing in a growing prefix tree and doubles the peer's time
    try:
        start = time.process_time()
        machine = run_Alergia(traces, automaton_type="smm", **settings)
        return time.process_time() - start, len(machine.states)
    finally:
        if collecting:
            gc.enable()
