"""Models have the same bytes with another BLAS, threads, order of sets, and any order of the episodes."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suffice
from suffice.data.episodes import Episodes
from suffice.learning.stationary import learner

PROGRAM = """
import hashlib, sys
from dataclasses import replace

import numpy as np

import suffice
from suffice.planning.off_policy import evaluate_off_policy
from suffice.view.explorer.page import page_of

threads = int(sys.argv[1])
episodes = suffice.simulate(suffice.make("cheese").model(12), 5000, 12, np.random.default_rng(0))
known = episodes.alphabet  # rewards that no float is equal to, so that sums have to be rounded
rewards = tuple(reward and reward / 7 + 0.1 for reward in known.rewards)
episodes = replace(episodes, alphabet=suffice.Alphabet(known.actions, known.features, known.observations, rewards))
settings = suffice.Settings(threads=threads)
subsampled = {"planning": suffice.Planning(subsample=True), "split": suffice.Split()}
for options in ({"stationary": False}, {"stationary": True}, subsampled):
    model = suffice.learn(episodes, settings=settings, **options)
    model.save(f"{threads}.model")
    with open(f"{threads}.model", "rb") as file:
        print(hashlib.sha256(file.read()).hexdigest())
    if options == {"stationary": False}:
        print(hashlib.sha256(page_of(model).encode()).hexdigest(), evaluate_off_policy(model.rdp, model.plan, episodes))
"""


def test_learn_gives_the_same_bytes_for_any_blas_threads_and_hash_seed(tmp_path: Path) -> None:
    """OpenBLAS as for the oldest processor on one thread, and as for this processor on four."""
    outputs = []
    for threads, settings in ((1, {"OPENBLAS_CORETYPE": "Prescott"}), (4, {})):
        counts = {
            f"{who}_NUM_THREADS": str(threads) for who in ("OPENBLAS", "OMP", "MKL", "NUMBA", "VECLIB_MAXIMUM", "BLIS")
        }
        environment = os.environ | counts | settings | {"PYTHONHASHSEED": str(threads)}
        program = [sys.executable, "-c", PROGRAM, str(threads)]
        ran = subprocess.run(program, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stderr
        outputs.append(ran.stdout)
    assert outputs[0].count("\n") == 4 and outputs[0] == outputs[1]


def saved(episodes: Episodes, folder: Path, options: dict[str, Any]) -> bytes:
    suffice.learn(episodes, **options).save(folder / "a.model")
    return (folder / "a.model").read_bytes()


def order(episodes: Episodes, seed: int) -> Episodes:
    return episodes[np.random.default_rng(seed).permutation(episodes.n)]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"stationary": True},
        {"stationary": True, "planning": "none", "strict": True},
        {"stationary": "auto"},
        {"stationary": "auto", "hold_out": 0.3, "seed": 4},
        {"planning": "subsampled"},
        {"split": True},
        {"split": True, "planning": "subsampled", "seed": 2},
        {"hold_out": 0.3},
        {"hold_out": 0.3, "split": True},
        {"metric": "sketch"},
        {"family": "adaptive"},
    ],
    ids=str,
)
def test_learn_gives_the_same_bytes_for_any_order_of_the_episodes(tmp_path: Path, options: dict[str, Any]) -> None:
    maze, hall = (
        suffice.make(domain).simulate(400, horizon, np.random.default_rng(0))
        for domain, horizon in (("t-maze", 5), ("mini-hall", 6))
    )
    for log in (maze, replace(hall, weight=np.random.default_rng(1).integers(1, 4, hall.n))):
        expected = saved(log, tmp_path, options)
        assert saved(order(log, 1), tmp_path, options) == expected
        assert saved(order(log, 2), tmp_path, {**options, "threads": 3}) == expected


@pytest.mark.parametrize(
    "options",
    [{"stationary": False}, {"split": True}, {"stationary": False, "hold_out": 0.3}, {"planning": "subsampled"}],
    ids=str,
)
def test_learn_gives_the_same_automaton_for_weights_and_repetitions(tmp_path: Path, options: dict[str, Any]) -> None:
    episodes = suffice.make("t-maze").simulate(300, 5, np.random.default_rng(0))
    weight = np.random.default_rng(1).integers(1, 4, episodes.n)
    repeated = episodes[np.repeat(np.arange(episodes.n), weight)]
    expected = saved(replace(episodes, weight=weight), tmp_path, options)
    assert saved(order(repeated, 1), tmp_path, options) == expected


def test_learn_gives_the_same_bytes_for_any_order_if_only_a_sample_determines_the_states(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of long logs, a sample of the episodes determines the states, and a sample of these the labels."""
    monkeypatch.setattr(learner, "MOST_LOG_STEPS", 4000)
    monkeypatch.setattr(learner, "LABEL_SAMPLE", 100)
    episodes = suffice.make("t-maze").simulate(2000, 5, np.random.default_rng(0))
    expected = saved(episodes, tmp_path, {"stationary": True})
    for seed in (1, 2):
        assert saved(order(episodes, seed), tmp_path, {"stationary": True, "threads": 2}) == expected
