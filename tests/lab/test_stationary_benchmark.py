"""The benchmark of stationary automata: what it reports is what it found, and small runs of it work."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("aalpy", reason="the baselines are not installed")
import stationary
from stationary import at, needed, open_ladder, report, run_all
from stationary_runs import (
    EXPERIMENTS,
    SEEDS,
    SIZES,
    Experiment,
    Job,
    Result,
    perform,
    share,
    started,
    truth_of,
)

from suffice.automata.rdp import UNSEEN
from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.exact.values import best_plan
from suffice.lab.peers.machines import Machine, as_rdp, as_tau
from suffice.lab.resources import ResourceUse
from suffice.planning.controller import Controller
from support.paths import ROOT

BENCHMARKS = ROOT / "benchmarks"
MAZE = Experiment("t-maze", "length=2 cue_visible=true", 8)
RIGHT: Result = {"states": 7, "exact": 1, "share": 1.0, "seconds": 0.1, "bytes": 1}
WRONG: Result = RIGHT | {"exact": 0, "share": 0.9}
LATE: Result = {}


def filed(*sizes: list[Result]) -> dict[str, Result]:
    """Results of the first sizes."""
    return {
        Job(MAZE, "suffice", n, seed).key: run
        for n, runs in zip(SIZES, sizes, strict=False)
        for seed, run in zip(SEEDS, runs, strict=False)
    }


def test_the_report_is_what_was_found() -> None:
    """`python benchmarks/stationary.py` writes it anew."""
    text = (BENCHMARKS / "STATIONARY.md").read_text(encoding="utf-8")
    assert text == report(json.loads((BENCHMARKS / "stationary.json").read_text(encoding="utf-8")))
    lines = text.splitlines()
    assert len(lines) <= 120
    assert all(sum(line.startswith(f"| {e.name} |") for line in lines) >= 2 for e in EXPERIMENTS)


def test_a_small_run_finds_the_maze() -> None:
    ours, theirs = (perform(Job(MAZE, method, 1000, 0), None) for method in ("suffice", "AALpy"))
    for found in (ours, theirs):
        assert found["exact"] == 1 and found["states"] == truth_of(MAZE).states and found["share"] == pytest.approx(1)
        assert found["seconds"] > 0 and found["bytes"] >= 0  # a small log fits into what the process has


def test_a_run_in_its_own_process_is_the_same() -> None:
    job = Job(MAZE, "suffice", 300, 0)
    ours, theirs = perform(job, None), started(job, None)
    assert theirs is not None
    assert all(ours[what] == theirs[what] for what in ("states", "exact", "share"))


def test_what_takes_too_long_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stationary_runs.LIMIT", 0.01)
    assert started(Job(MAZE, "suffice", 300, 0), None) == LATE


@pytest.mark.parametrize("e", [e for e in EXPERIMENTS if e.horizon <= 15], ids=lambda e: e.name)
def test_the_best_is_the_best_of_the_layers(e: Experiment) -> None:
    truth = truth_of(e)
    layers = minimal_rdp(truth.model, e.horizon, Controller.uniform(truth.model.alphabet))
    assert truth.best == pytest.approx(float(best_plan(layers).value), abs=1e-6)
    assert truth.best > truth.behaviour


def test_the_truth_as_a_peer_gains_everything() -> None:
    log, truth = MAZE.episodes(20_000, 0), truth_of(MAZE)
    letter = {tuple(row): x for x, row in enumerate(log.letters.tolist())}
    delta = np.full((truth.automaton.arrows.source.max() + 1, len(letter)), UNSEEN)
    for q, *step, target in truth.automaton.arrows.rows():
        if tuple(step) in letter:
            delta[q, letter[tuple(step)]] = target
    rdp = as_rdp(as_tau(Machine(delta, ResourceUse(1.0, 1), closed=False), log), log)
    assert share(rdp, truth, MAZE.horizon) == pytest.approx(1)
    assert rdp.counts.sum() == log.total * MAZE.horizon


def test_ladders_end_when_they_have_arrived_or_took_too_long() -> None:
    def goes_on(*sizes: list[Result]) -> bool:
        return open_ladder(MAZE, "suffice", SIZES[len(sizes)], filed(*sizes))

    assert goes_on([WRONG] * 3) and goes_on([RIGHT, RIGHT, WRONG])
    assert not goes_on([RIGHT] * 3) and not goes_on([RIGHT] * 3, []) and not goes_on([WRONG, LATE])


@pytest.mark.parametrize(
    ("sizes", "told"),
    [
        ([[WRONG] * 3, [RIGHT] * 3], "1,000"),
        ([[RIGHT] * 3, [RIGHT] * 3], "300"),
        ([[RIGHT] * 3, [WRONG] * 3, [RIGHT] * 3], "3,000"),
        ([[RIGHT] * 3, [RIGHT, RIGHT, WRONG]], "> 1,000"),
        ([[WRONG], [RIGHT]], "> 300"),
        ([[WRONG], [LATE]], "> 300 †"),
        ([[LATE]], "†"),
        ([], "not run"),
    ],
)
def test_episodes_needed(sizes: list[list[Result]], told: str) -> None:
    assert needed(MAZE, "suffice", lambda run: run["exact"] == 1, filed(*sizes)) == told


def test_a_broken_benchmark_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is filed is not run again, what failed is; after one that is neither exact nor good no other seed is run."""
    asked: list[tuple[int, int]] = []
    answers: dict[int, Result | None] = {SEEDS[0]: None, SEEDS[1]: RIGHT, SEEDS[2]: LATE}

    def answer(job: Job, binary: str | None) -> Result | None:
        asked.append((job.n, job.seed))
        return answers[job.seed]

    monkeypatch.setattr(stationary, "started", answer)
    results = filed([RIGHT], [WRONG])
    store, jobs = tmp_path / "stationary.json", [Job(MAZE, "suffice", n, seed) for n in SIZES[:3] for seed in SEEDS]
    run_all(iter([jobs]), results, None, store, at_once=1)
    assert asked == [(n, seed) for n, seeds in ((SIZES[0], SEEDS[1:]), (SIZES[2], SEEDS)) for seed in seeds]
    assert json.loads(store.read_text()) == results
    assert at(MAZE, "suffice", SIZES[2], results) == [RIGHT, LATE]
