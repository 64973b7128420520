"""Parts of dates and times as columns, in logs and at run time."""

from __future__ import annotations

from collections import namedtuple
from typing import Any

import numpy as np
import pandas as pd
import pytest

import suffice
from suffice.data.encoding.encoder import Encoder
from suffice.data.encoding.parts import PARTS, part_of_value, with_parts
from suffice.data.logs.sources import open_table
from suffice.errors import LogError

WRITTEN = ("2026-05-30 10:07", "1969-12-31 23:59:59", "2024-02-29", "2000-01-01 00:30", "2023-12-31 12:00")
TIMES = [pd.Timestamp(text) for text in WRITTEN]


def expected(stamp: pd.Timestamp, part: str) -> Any:
    if part == "year":
        begin, end = pd.Timestamp(stamp.year, 1, 1), pd.Timestamp(stamp.year + 1, 1, 1)
        return round(stamp.year + (stamp - begin) / (end - begin), 6)
    return stamp.strftime("%a") if part == "weekday" else getattr(stamp, part)


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("form", ["text", "stamp"])
def test_parts_of_columns_and_of_values_agree_with_pandas(part: str, form: str) -> None:
    texts = [stamp.isoformat(" ") for stamp in TIMES]
    column = [*texts, None] if form == "text" else [*TIMES, pd.NaT]
    found = with_parts(open_table(pd.DataFrame({"at": column})), [f"at.{part}"]).column(f"at.{part}").to_pylist()
    assert found == [*(expected(stamp, part) for stamp in TIMES), None]
    assert [part_of_value(value, part) for value in texts] == found[:-1]
    assert [part_of_value(value.to_pydatetime(), part) for value in TIMES] == found[:-1]
    assert part_of_value(None, part) is None and part_of_value("", part) is None
    for text in ("soon", "30.5.2026", 7):
        with pytest.raises(LogError, match="it is not a date such as 2026-05-30"):
            part_of_value(text, part)


def weekend_log(n: int = 1500) -> pd.DataFrame:
    """Return visits at random times; the second action is better at weekends only."""
    rng = np.random.default_rng(2)
    at = pd.Timestamp("2026-01-01") + pd.to_timedelta(rng.integers(0, 600 * 1440, n), unit="min")
    action = rng.integers(0, 2, n)
    good = np.where(np.asarray(at.dayofweek >= 5) == (action == 1), 0.9, 0.1)
    log = {"episode": np.arange(n), "step": 0, "at": at.strftime("%Y-%m-%d %H:%M"), "noise": rng.normal(size=n)}
    return pd.DataFrame(log | {"action": action, "reward": (rng.random(n) < good).astype(int)})


def test_learn_finds_that_the_weekday_matters_and_the_policy_reads_raw_rows() -> None:
    log = weekend_log()
    model = suffice.learn(log)
    assert model.encoder.features == ("at.weekday",)
    assert model.encoder.ignored == ("noise",)
    policy = model.policy(deterministic=True)
    Row = namedtuple("Row", ["at", "noise"])
    for day, best in (("2027-01-02", 1), ("2027-01-05", 0)):
        row = {"at": day, "noise": 0.5}
        rows = (row, pd.Series(row), Row(**row), (day, 0.5), {"at": pd.Timestamp(day)}, {"at.weekday": row_day(day)})
        for observation in rows:
            policy.reset()
            assert policy.act(observation) == best
    named = suffice.learn(log, observations=["at.weekday"])
    assert named.encoder.features == ("at.weekday",)
    assert suffice.read_log(weekend_log(40), like=model).alphabet.features == ("at.weekday",)


def row_day(day: str) -> str:
    return pd.Timestamp(day).strftime("%a")


def test_parts_of_something_else_are_refused() -> None:
    log = weekend_log(50)
    with pytest.raises(LogError, match=r"column 'noise': it has no hour: its values are not dates"):
        suffice.read_log(log, observations="noise.hour")
    with pytest.raises(LogError, match=r"observation: 'at.weekday' is missing"):
        Encoder.of_features(["at.weekday"]).encode_observation({"noise": 1})
