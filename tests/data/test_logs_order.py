"""Any column that can be ordered is a step column; all problems of a log are listed at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from suffice.data.encoding.times import DAY, microseconds_of
from suffice.data.logs.reading import read_log
from suffice.errors import LogProblemsError
from support.cli import suffice
from support.log_files import FIRST, write

LOG = {
    "episode": [0, 0, 0, 1, 1],
    "step": [0, 1, 2, 0, 1],
    "o": ["a", "b", "c", "a", "d"],
    "action": [1, 2, 1, 2, 1],
    "reward": [0, 0, 1, 0, 0],
}
TIMES = ["2026-05-30 10:07", "2026-05-30 10:08", "2026-06-01 00:00", "2025-01-01 09:00", "2026-01-01 09:00"]
ORDERED = [
    [1, 2, 3, 1, 2],
    [2019, 2020, 2024, 2001, 2002],
    [-5, 0, 2**62, -(2**62), 7],
    [0.5, 1.25, 1e9, -3.5, -3.25],
    ["7", "9", "10", "1", "1.5"],
    [text[:10] + f" {9 + i}:00".replace(" 9", " 09") for i, text in enumerate(TIMES)],
    TIMES,
    [f"{text.replace(' ', 'T')}:00.250Z" for text in TIMES],
    pd.to_datetime(TIMES),
    pd.to_datetime(TIMES).tz_localize("Europe/Berlin"),
    [day.date() for day in pd.to_datetime(["2026-05-30", "2026-05-31", "2026-06-01", "2025-01-01", "2026-01-01"])],
]


@pytest.mark.parametrize("steps", ORDERED, ids=lambda steps: str(steps[0]))
@pytest.mark.parametrize("shuffled", [False, True])
def test_read_log_orders_rows_by_any_column(steps: Any, shuffled: bool) -> None:
    log = pd.DataFrame(LOG).assign(step=steps)
    log = log.sample(frac=1, random_state=1) if shuffled else log
    assert read_log(log).digest() == read_log(LOG).digest()


@pytest.mark.parametrize("text", [False, True])
def test_read_log_orders_rows_by_nanoseconds(text: bool) -> None:
    steps: Any = [f"2026-05-30 10:07:00.00000000{i}" for i in (1, 3, 5, 2, 4)]
    log = LOG | {"step": steps if text else pd.to_datetime(steps).as_unit("ns")}
    assert read_log(pd.DataFrame(log).sample(frac=1, random_state=3)).digest() == read_log(LOG).digest()


def test_read_log_agrees_with_sorting_on_random_steps() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        n = 40
        log = pd.DataFrame({"episode": rng.integers(0, 6, n), "step": rng.permutation(n) * rng.choice([1, 7, 0.5])})
        log = log.assign(o=rng.integers(0, 3, n), action=rng.integers(0, 2, n), reward=rng.integers(0, 2, n))
        spelled = log.sort_values(["episode", "step"])
        spelled["step"] = spelled.groupby("episode").cumcount()
        assert read_log(log).digest() == read_log(spelled).digest()


@pytest.mark.parametrize(
    ("steps", "note"),
    [
        (
            [0, 1, 3, 0, 1],
            "episode 0 jumps from 1 to 3",
        ),
        ([0, 1, 2, 1, 2], "episode 1 begins with 1"),
        ([2019, 2022, 2025, 2001, 2005], None),
    ],
)
def test_read_log_notes_missing_rows_of_a_log_that_counts_them(steps: list[int], note: str | None) -> None:
    report = read_log(LOG | {"step": steps}).report
    expected = f"column 'step': an episode lacks steps ({note}); rows are used in order"
    assert report is not None and report.notes == (() if note is None else (expected,))


def test_microseconds_of_dates_and_times_agree_with_pandas() -> None:
    for text in [*TIMES, "2026-05-30", "2026-05-30T10:07:12.5Z"]:
        stamp = pd.Timestamp(text)
        assert microseconds_of(text) == stamp.value // 1000
        assert microseconds_of(stamp.to_pydatetime()) == stamp.value // 1000
    assert microseconds_of("1970-01-02") == DAY
    assert microseconds_of("1970-01-02 00:00:00.000001999") == DAY + 1
    assert microseconds_of("30.5.2026") is None and microseconds_of(7) is None and microseconds_of("2026-13-01") is None


BROKEN = FIRST + "0,0,1,,much\n0,2,1,1,\n"


def test_read_log_lists_all_problems_of_a_log(tmp_path: Path) -> None:
    with pytest.raises(LogProblemsError) as caught:
        read_log(write(tmp_path, BROKEN))
    step, action, reward = caught.value.problems
    assert "row 3, column 'step': episode 0 has step 0 twice, first in row 2. Remove one" in step
    assert "row 3, column 'action': the action is missing. Fill it in" in action
    assert "row 3, column 'reward': 'much' is not a number. Replace it" in reward
    assert str(caught.value) == "\n".join(caught.value.problems)


@pytest.mark.parametrize("command", ["check", "learn"])
def test_the_command_line_prints_one_line_for_each_problem(tmp_path: Path, command: str) -> None:
    options = ("-o", str(tmp_path / "m.model")) if command == "learn" else ()
    ran = suffice(command, str(write(tmp_path, BROKEN)), *options)
    assert (ran.code, ran.out) == (2, "")
    lines = ran.err.splitlines()
    assert len(lines) == 3 and all(line.startswith("suffice: ") and "log.csv, row 3" in line for line in lines)


def test_learn_prints_one_line_for_each_problem_of_several_files(tmp_path: Path) -> None:
    good = write(tmp_path, pd.DataFrame(LOG).to_csv(index=False), "good.csv")
    ran = suffice("learn", str(good), str(write(tmp_path, BROKEN)), "-o", str(tmp_path / "m.model"))
    lines = ran.err.splitlines()
    assert ran.code == 2 and len(lines) == 4
    assert all("log.csv, row 3" in line and line.count("Remove") <= 1 for line in lines[:3])
    assert lines[3] == "suffice: If these files are one log, pass their folder or a quoted pattern."


def test_read_log_reads_tabs(tmp_path: Path) -> None:
    text = pd.DataFrame(LOG).to_csv(index=False)
    tabs = read_log(write(tmp_path, text.replace(",", "\t"), "log.tsv"))
    assert tabs.digest() == read_log(write(tmp_path, text)).digest()


def test_simulate_writes_tabs_that_are_read_again(tmp_path: Path) -> None:
    logs = [tmp_path / "log.tsv", tmp_path / "log.csv"]
    for log in logs:
        ran = suffice("simulate", "t-maze", "--episodes", "20", "--seed", "1", "-o", str(log))
        assert ran.code == 0
    assert logs[0].read_text() == logs[1].read_text().replace(",", "\t")
    assert read_log(logs[0]).digest() == read_log(logs[1]).digest()
