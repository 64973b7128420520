"""Memory of stationary models with a long horizon and many letters, whose layers are far larger than they are."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import DUMMY, STOP
from suffice.data.episodes import Episodes
from suffice.learning.adact_h import adact_h
from suffice.models.model import Model
from suffice.planning.planner import Planning, plan_on
from suffice.planning.regorl import Solution, log_return
from support.samples import of_one_feature

LIMIT, HORIZON, STATES, OBSERVATIONS = 500, 800, 15, 200  # MB, steps, states that remember, observations


def recent(episodes: Episodes, states: int) -> RDP:
    """Return a stationary automaton whose states distinguish the last symbol, by its number modulo `states`."""
    symbols, of_letter = episodes.symbols()
    counts = np.zeros((states + 1, len(episodes.letters)), np.int64)
    tau, cut = np.full((states + 1, len(symbols)), UNSEEN, np.int32), np.zeros_like(counts)
    place = np.zeros(episodes.n, np.int64)
    for word in episodes.word[:-1]:
        np.add.at(counts, (place, word), 1)
        symbol = of_letter[word]
        tau[place, symbol] = 1 + symbol % states
        place = 1 + symbol % states
    np.add.at(cut, (place, episodes.word[-1]), 1)
    layers = np.array([states + 1])
    return RDP(episodes.alphabet, episodes.letters, symbols, layers, tau, counts, episodes.horizon, cut)


@pytest.mark.skipif(sys.platform != "linux", reason="memory of a process cannot be limited on this platform")
def test_commands_keep_a_memory_limit_with_a_long_horizon(tmp_path: Path) -> None:
    rng, shape = np.random.default_rng(0), (HORIZON + 1, 300)
    action, observation, reward = (rng.integers(low, high, shape) for low, high in ((2, 4), (1, OBSERVATIONS), (0, 2)))
    action[0], observation[-1], reward[0] = DUMMY, STOP, 0
    episodes = Episodes.from_steps(of_one_feature(OBSERVATIONS), action, observation, reward)
    rdp, logged = recent(episodes, STATES), log_return(episodes)
    learned = replace(adact_h(episodes.cut(1)), rdp=rdp, decisions=())
    solution = Solution(learned, plan_on(rdp.layered()), Planning(), logged, logged)
    model = tmp_path / "a.model"
    Model.of(solution, episodes).save(model)

    def confine() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (LIMIT * 10**6, LIMIT * 10**6))

    plain = os.environ | {"ARROW_DEFAULT_MEMORY_POOL": "system", "OPENBLAS_NUM_THREADS": "1"}
    for arguments in (["info", str(model)], ["report", str(model), "-o", str(tmp_path / "a.html")]):
        command = [sys.executable, "-m", "suffice", *arguments]
        done = subprocess.run(command, preexec_fn=confine, env=plain, capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), arguments
