"""How episodes end, decided by all columns before some are chosen: the same as by a log with an alphabet."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from suffice.data.logs.columnar_reading import ColumnarReading, read_columnar
from suffice.data.logs.reading import ReadOptions, read_log
from suffice.data.logs.sources import open_table


def ending_log(rng: np.random.Generator, ends: bool, n: int = 200, horizon: int = 6) -> dict[str, Any]:
    """Episodes without marks, which end by the column `colour`, or which observation leaves at random."""
    rows: list[tuple[Any, ...]] = []
    for i in range(n):
        for t in range(horizon):
            colour = rng.integers(0, 3)
            level = round(float(colour + 0.3 * rng.normal()), 4)
            rows.append(
                (i, t, "rgb"[colour], level, rng.integers(0, 4), rng.integers(0, 2), rng.integers(0, 2), 1 + i % 3)
            )
            if rng.random() < (0.6 * (colour == 2) if ends else 0.2):
                break
    names = ("episode", "step", "colour", "level", "noise", "action", "reward", "weight")
    return {name: np.array([row[j] for row in rows]) for j, name in enumerate(names)}


def columnar(log: dict[str, Any], **options: Any) -> ColumnarReading:
    return read_columnar(open_table(log), ReadOptions(**options))


def without(log: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: column for name, column in log.items() if name not in names}


@pytest.mark.parametrize("left_out", [("level", "weight"), ("level",)])
@pytest.mark.parametrize("seed", range(4))
def test_ends_are_those_of_a_log_with_all_columns(seed, left_out):
    log = without(ending_log(np.random.default_rng(seed), ends=seed % 2 == 0), *left_out)
    read, found = read_log(log), columnar(log)
    expected = read.report.ends
    if "weight" in left_out:  # with weights, each episode counts as several
        assert expected.kind == ("terminal" if seed % 2 == 0 else "censored") and expected.assumed
    assert (found.ends.kind, found.ends.predictor) == (expected.kind, expected.predictor)
    assert (found.ends.shorter, found.ends.cut_off) == (expected.shorter, expected.cut_off)
    assert found.ends.z == pytest.approx(expected.z, rel=1e-12)
    assert found.log.base.censored == read.censored


def test_ends_may_depend_on_a_number():
    log = without(ending_log(np.random.default_rng(7), ends=True), "colour", "weight")
    found = columnar(log)
    assert found.log.column("level").codes is None
    assert (found.ends.kind, found.ends.predictor) == ("terminal", "level") and not found.log.base.censored


def test_ends_of_the_caller_and_of_few_episodes():
    log = without(ending_log(np.random.default_rng(8), ends=True), "weight")
    chosen = columnar(log, ends="censored")
    assert chosen.log.base.censored and not chosen.ends.assumed
    few = columnar(without(ending_log(np.random.default_rng(9), ends=True, n=15), "weight"))
    assert few.ends.kind == "terminal" and few.ends.assumed and few.ends.z is None
