"""The study of stationary automata: its runs, and its page from results made by hand."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import cycle

import pytest

from suffice.lab.experiment import Experiment, Result, Results
from suffice.lab.run_experiment import run_experiment
from suffice.lab.scoring import gained, is_exact, states_before_end
from suffice.lab.stationary.page import STATIONARY, needed
from suffice.lab.stationary.runs import LOGS, METHODS, SEEDS, SIZES, Log, next_rung
from suffice.lab.store import load_bundle
from suffice.lab.truth import truth_for
from suffice.planning.planner import GREEDY, plan_on
from support.paths import ROOT

MAZE = Log("t-maze", "length=2 cue_visible=true", 8)
RIGHT, WRONG, LATE = "exact and good", "neither", "stopped"


def result(e: Experiment, outcome: str) -> Result:
    truth = truth_for(e)
    assert truth.stationary is not None
    if outcome == LATE:
        return Result(experiment=e, stopped="over 60 s", limit=60.0)
    right = outcome == RIGHT
    value = truth.truth.optimal_value if right else truth.truth.behaviour.mean_return
    recovered = truth.stationary.n_states - (not right)
    return Result(experiment=e, mean_return=float(value), recovered=recovered, splits=0, merges=0)


def results(*sizes: Sequence[str]) -> Results:
    """Return results of the first sizes of a ladder."""
    runs = [(n, outcomes) for n, outcomes in zip(SIZES, sizes, strict=False)]
    made = [result(MAZE.by("suffice", n, s), outcome) for n, of in runs for s, outcome in zip(SEEDS, of, strict=False)]
    return {run.experiment.id: run for run in made}


@pytest.mark.parametrize(
    ("sizes", "size", "seeds"),
    [
        ([], 0, SEEDS[:1]),
        ([[RIGHT]], 0, SEEDS[1:]),
        ([[RIGHT, RIGHT]], 0, SEEDS[2:]),
        ([[RIGHT, WRONG]], 1, SEEDS[:1]),  # one failure of three suffices
        ([[WRONG] * 3], 1, SEEDS[:1]),
        ([[WRONG], [RIGHT]], 1, SEEDS[1:]),
        ([[RIGHT] * 3], None, ()),
        ([[WRONG], [RIGHT] * 3], None, ()),
        ([[WRONG, LATE]], None, ()),
        ([[WRONG]] * len(SIZES), None, ()),
    ],
)
def test_next_rung_returns_the_next_runs_of_a_ladder(
    sizes: list[list[str]], size: int | None, seeds: tuple[int, ...]
) -> None:
    wanted = [] if size is None else [MAZE.by("suffice", SIZES[size], seed) for seed in seeds]
    assert next_rung(MAZE, "suffice", results(*sizes)) == wanted


@pytest.mark.parametrize(
    ("sizes", "expected"),
    [
        ([[WRONG] * 3, [RIGHT] * 3], "3,000"),
        ([[RIGHT] * 3, [RIGHT] * 3], "1,000"),
        ([[RIGHT] * 3, [WRONG] * 3, [RIGHT] * 3], "10,000"),
        ([[RIGHT] * 3, [RIGHT, RIGHT, WRONG]], "> 3,000"),
        ([[WRONG], [RIGHT]], "> 1,000"),
        ([[WRONG], [LATE]], "> 1,000 †"),
        ([[LATE]], "†"),
        ([], "not run"),
    ],
)
def test_needed_returns_the_size_from_which_all_runs_are_fine(sizes: list[list[str]], expected: str) -> None:
    assert needed(MAZE, "suffice", is_exact, results(*sizes)) == expected


def test_analyse_lists_every_log_and_what_was_not_run() -> None:
    text = STATIONARY.analyse({}).text
    lines = text.splitlines()
    assert len(lines) <= 120
    assert all(sum(line.startswith(f"| {log.name} |") for line in lines) >= 2 for log in LOGS)
    assert "| cheese H=15 | 16 |" + " not run |" * 6 in lines
    assert "FlexFringe was not run." in lines


def test_analyse_shows_exact_and_stopped_runs_of_a_ladder() -> None:
    log, outcomes = LOGS[0], cycle((RIGHT, WRONG))
    runs = [result(log.by(method, SIZES[0], seed), next(outcomes)) for method in METHODS for seed in SEEDS[:2]]
    runs[-1] = result(runs[-1].experiment, LATE)
    text = STATIONARY.analyse({run.experiment.id: run for run in runs}).text
    assert "(1 exact), 0.00 |" in text and "(1 exact), 1.00, others > 60 s |" in text


def test_next_rung_of_stored_results_is_empty() -> None:
    """Every size below the largest was run until it failed or all seeds were finished."""
    found = load_bundle(ROOT / "docs" / "reproduction" / "stationary.jsonl.gz")
    committed = {run.experiment.id: run for run in found}
    for log in LOGS:
        for method in METHODS:
            assert not next_rung(log, method, committed, SIZES[:-1])


@pytest.mark.parametrize("method", ["suffice", "AALpy"])
def test_run_experiment_finds_the_automaton_of_a_maze(method: str) -> None:
    if method == "AALpy":
        pytest.importorskip("aalpy", reason="the baselines are not installed")
    e = MAZE.by(method, 1000, 0)
    true, found = truth_for(e).stationary, run_experiment(e)
    assert true is not None
    assert is_exact(found) and found.before_end == states_before_end(true) == 7 and gained(found) == pytest.approx(1)


@pytest.mark.parametrize("log", [log for log in LOGS if log.horizon <= 15], ids=lambda log: log.name)
def test_ground_truth_stationary_automaton_has_the_optimal_value(log: Log) -> None:
    truth = truth_for(log.by("suffice", 1000, 0))
    assert truth.stationary is not None
    best = plan_on(truth.stationary.unroll()[0], GREEDY).value
    assert best == pytest.approx(float(truth.truth.optimal_value), abs=1e-6)
    assert best > float(truth.truth.behaviour.mean_return)
