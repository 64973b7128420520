"""Verdicts and lower bounds keep their rates on processes with known values; full size: benchmarks/calibration.py."""

from __future__ import annotations

from pathlib import Path

import calibration_runs
import pytest
from calibration_goals import binomial_tail, rejected_goals, report
from calibration_processes import kinds
from calibration_runs import Cell, append, cells, group, load, run, run_all, store


def test_learn_verdicts_are_calibrated_on_a_few_logs() -> None:
    random = [kind for kind in kinds() if kind.startswith("random ")]
    chosen = cells((300, 1000), ["noise", *random, "cheat-mab", "corridor", "repeat-first", "t-maze"])
    assert not rejected_goals([run(cell, seed) for cell in chosen for seed in range(500, 503)])


@pytest.mark.long
def test_learn_verdicts_are_calibrated_on_all_processes() -> None:
    assert not rejected_goals(list(run_all(cells(), range(1000, 1200))))


def test_stored_runs_miss_no_goal() -> None:
    assert not rejected_goals(load())


def test_append_continues_stored_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibration_runs, "STORED", tmp_path / "runs.jsonl.gz")
    monkeypatch.setattr(calibration_runs, "UNFINISHED", tmp_path / "runs.part.jsonl")
    chosen = [Cell("noise", 40, "layers"), Cell("corridor", 40, "layers")]
    first = list(run_all(chosen, range(2), workers=1))
    store(first[:1])
    append(first[1])
    with (tmp_path / "runs.part.jsonl").open("a") as file:
        file.write('{"kind": "noi')  # the process was killed while it wrote
    assert load() == first[:2]
    rest = list(run_all(chosen, range(2), load(), workers=1))
    assert rest == first[2:]
    store([*rest, *first[:2]])
    stored = (tmp_path / "runs.jsonl.gz").read_bytes()
    store(first)
    assert (tmp_path / "runs.jsonl.gz").read_bytes() == stored and not (tmp_path / "runs.part.jsonl").exists()


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
