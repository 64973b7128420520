"""Models have the same bytes with another BLAS, other numbers of threads and another order of sets."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

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
for options in ({}, {"stationary": True}, subsampled):
    model = suffice.learn(episodes, settings=settings, **options)
    model.save(f"{threads}.model")
    with open(f"{threads}.model", "rb") as file:
        print(hashlib.sha256(file.read()).hexdigest())
    if not options:
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
