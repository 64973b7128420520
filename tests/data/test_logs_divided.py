"""Episodes that are divided between logs are refused; other equal ids are different episodes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from suffice.data.encoding.encoder import EncoderRequest
from suffice.data.loading import read_data
from suffice.data.logs.reading import read_log
from suffice.errors import LogError
from support.cli import suffice


def log_of(ids: range, steps: Any) -> pd.DataFrame:
    """Return a log in which each episode has these steps."""
    rows = [(i, step, i % 3, i % 2, i % 2) for i in ids for step in steps]
    return pd.DataFrame(rows, columns=["episode", "step", "o", "action", "reward"])


def many(*logs: Any) -> int:
    return read_data(list(logs), EncoderRequest.of()).episodes.n


FIRST, REST = log_of(range(50), [0, 1, 2]), log_of(range(50), [3, 4, 5])
MIXED = pd.concat([log_of(range(40), [3, 4, 5]), log_of(range(50, 60), range(6))])
RESTARTED = pd.concat([log_of(range(10), [3, 4, 5]), log_of(range(10, 60), range(6))])
DAYS = pd.date_range("2026-05-30", periods=6).strftime("%Y-%m-%d")
DIVIDED = {
    "the rest of all": (FIRST, REST),
    "the rest first": (REST, FIRST),
    "the rest of most, and others": (FIRST, MIXED),
    "the rest of some, and equal ids": (FIRST, RESTARTED),
    "the second step": (log_of(range(9), [0]), log_of(range(9), [1, 2])),
    "years": (log_of(range(9), [2001, 2003]), log_of(range(9), [2004, 2009])),
    "days": (log_of(range(9), DAYS[:3]), log_of(range(9), DAYS[3:])),
    "three logs": (FIRST, log_of(range(90, 99), range(3)), REST),
}


@pytest.mark.parametrize("logs", DIVIDED.values(), ids=DIVIDED)
def test_logs_that_continue_episodes_of_others_are_refused(logs: tuple[pd.DataFrame, ...]) -> None:
    with pytest.raises(LogError, match=r"episode 0 (is divided between two logs|begins with step 3, not 0)"):
        many(*logs)


def test_episodes_that_were_read_before_are_refused_alike() -> None:
    with pytest.raises(LogError, match="steps to 2, another those from 3 \\(50 such episodes\\)"):
        many(read_log(FIRST), read_log(REST)[:])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (FIRST, FIRST),
        (FIRST, log_of(range(50), [1, 2])),
        (FIRST, log_of(range(50, 60), [3, 4, 5])),
        (pd.concat([log_of(range(1), [0]), log_of(range(1, 9), [0, 1])]), log_of(range(9), [1, 2])),
        (log_of(range(9), [2001, 2003]), log_of(range(9), [2002, 2009])),
        (FIRST, log_of(range(50), DAYS[:2])),
        (FIRST, REST.assign(episode=REST["episode"].astype(str) + "b")),
    ],
)
def test_equal_ids_of_other_logs_are_other_episodes(one: pd.DataFrame, other: pd.DataFrame) -> None:
    assert many(one, other) == one["episode"].nunique() + other["episode"].nunique()


def test_learn_refuses_a_divided_log(tmp_path: Path) -> None:
    paths = [str(tmp_path / name) for name in ("p1.csv", "p2.csv")]
    for path, log in zip(paths, (FIRST, REST), strict=True):
        log.to_csv(path, index=False)
    ran = suffice("learn", *paths, "-o", str(tmp_path / "m.model"))
    assert ran.code == 2 and "is divided between two logs" in ran.err and len(ran.err.splitlines()) == 1
