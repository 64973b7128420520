"""Verdicts and lower bounds keep their rates on processes with known values; full size: benchmarks/calibration.py."""

from __future__ import annotations

import pytest
from calibration import Cell, Rates, Run, binomial_tail, cells, group, load, rejected_cells, report, run, run_all
from calibration_processes import kinds


def assert_calibrated(runs: list[Run]) -> None:
    """Check that no goal is clearly missed: one-sided binomial tests at level 1 %."""
    rates, noise = Rates.of(runs), Rates.of(one for one in runs if one.kind == "noise")
    assert binomial_tail(rates.runs, rates.bound_fails, 0.05) >= 0.01
    assert binomial_tail(noise.runs, noise.follows, 0.05) >= 0.01
    assert binomial_tail(rates.worse, rates.worse_followed, 0.05) >= 0.01
    missed = rates.gains - rates.gains_followed
    assert binomial_tail(rates.gains, missed, 0.1) >= 0.01
    for its in group(runs).values():
        assert sum(one.lower is None for one in its) <= 0.2 * len(its)


def test_learn_verdicts_are_calibrated_on_a_few_logs() -> None:
    chosen = ["noise", "random uniform", "random epsilon-greedy", "random history", "cheese", "cheat-mab"]
    assert_calibrated([run(cell, seed) for cell in cells((300,), chosen) for seed in range(500, 504)])


@pytest.mark.long
def test_learn_verdicts_are_calibrated_on_all_processes() -> None:
    runs = run_all(cells(memories=["chosen"]), range(600, 800))
    assert_calibrated(runs)
    assert not rejected_cells(runs)


def test_run_is_the_same_when_repeated() -> None:
    cell = Cell("random history", 300, "cycle")
    assert run(cell, 1) == run(cell, 1) and run(cell, 1) != run(cell, 2)


def test_report_has_a_row_for_each_cell_of_the_stored_runs() -> None:
    stored = load()
    lines = list(report(stored))
    assert stored and sum(line.startswith(tuple(f"| {kind} |" for kind in kinds())) for line in lines) == len(
        group(stored)
    )


@pytest.mark.parametrize(("n", "k", "p", "right"), [(3, 0, 0.5, 1.0), (3, 3, 0.5, 0.125), (2, 1, 0.1, 0.19)])
def test_binomial_tail_is_the_sum_of_probabilities(n: int, k: int, p: float, right: float) -> None:
    assert binomial_tail(n, k, p) == pytest.approx(right)
