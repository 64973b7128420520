"""Reading keeps numbers apart that are the same floating-point number, or refuses their column."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Sequence
from datetime import date
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import suffice
from suffice.data.logs.reading import read_log
from suffice.errors import LogError
from support.logs_in_pieces import write_parts

FIRST = 2**63  # beyond signed integers
LARGE = (FIRST, FIRST + 1, 2**64 - 1, 5)
BESIDE_FRACTIONS = (2**53, 2**53 + 1, 0.5)


def rows_of(values: Sequence[Any], column: str = "seen") -> list[dict[str, Any]]:
    """Return a log of one decision per episode, in which a column has these values."""
    return [
        {"episode": i, "step": 0, "seen": "x", "action": "a", "reward": 0.0, column: value}
        for i, value in enumerate(values)
    ]


def csv_of(path: Path, values: Sequence[Any], column: str = "seen") -> Path:
    rows = rows_of(values, column)
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def json_of(path: Path, values: Sequence[Any], column: str = "seen") -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows_of(values, column)))
    return path


def parquet_of(path: Path, values: Sequence[Any], kind: pa.DataType, column: str = "seen") -> Path:
    table = pa.Table.from_pylist([row | {column: 0} for row in rows_of(values, column)])
    pq.write_table(table.set_column(table.column_names.index(column), column, pa.array(values, kind)), path)
    return path


def seen_in(log: Any) -> set[Any]:
    return {observation[0] for observation in read_log(log).alphabet.observations}


def test_read_log_gives_the_same_integers_of_64_bits_from_every_format(tmp_path: Path) -> None:
    (tmp_path / "array.json").write_text(json.dumps(rows_of(LARGE), indent=1))
    logs = [
        csv_of(tmp_path / "a.csv", LARGE),
        json_of(tmp_path / "a.jsonl", LARGE),
        tmp_path / "array.json",
        parquet_of(tmp_path / "a.parquet", LARGE, pa.uint64()),
        pa.Table.from_pylist(rows_of(range(4))).set_column(2, "seen", pa.array(LARGE, pa.uint64())),
        {name: [row[name] for row in rows_of(LARGE)] for name in rows_of(LARGE)[0]},
    ]
    for log in logs:
        found = seen_in(log)
        assert found == set(LARGE) and all(type(value) is int for value in found)
    models = [suffice.learn(log, stationary=False) for log in logs]
    for i, model in enumerate(models):
        model.save(tmp_path / f"{i}.model")
        assert {o[0] for o in suffice.load(tmp_path / f"{i}.model").rdp.alphabet.observations} == set(LARGE)
    assert len({(tmp_path / f"{i}.model").read_bytes() for i in range(4)}) == 1


@pytest.mark.parametrize("column", ["episode", "action"])
def test_read_log_reads_integers_of_64_bits_as_ids_and_actions(column: str, tmp_path: Path) -> None:
    for log in (csv_of(tmp_path / "a.csv", LARGE, column), json_of(tmp_path / "a.jsonl", LARGE, column)):
        episodes = read_log(log)
        assert episodes.n == len(LARGE) if column == "episode" else set(episodes.alphabet.actions) == set(LARGE)


@pytest.mark.parametrize(
    "values",
    [BESIDE_FRACTIONS, (2**64, 2**64 + 1), (-1, FIRST, FIRST + 1), (-FIRST - 1, -FIRST - 2), ("1e17", 10**17 + 1)],
    ids=repr,
)
def test_read_log_keeps_inexact_numbers_of_a_csv_as_text(values: Sequence[Any], tmp_path: Path) -> None:
    assert seen_in(csv_of(tmp_path / "a.csv", values)) == set(map(str, values))


@pytest.mark.parametrize("values", [BESIDE_FRACTIONS, (2**64, 2**64 + 1), (-1, FIRST, FIRST + 1)], ids=repr)
@pytest.mark.parametrize("inner", [lambda v: v, lambda v: {"x": v}, lambda v: [0, v]], ids=["flat", "record", "list"])
def test_read_log_refuses_inexact_numbers_of_json_lines(values: Sequence[Any], inner: Any, tmp_path: Path) -> None:
    path = json_of(tmp_path / "a.jsonl", [inner(value) for value in values])
    with pytest.raises(LogError, match=r"a\.jsonl, row \d, column 'seen.*are the same floating-point number\. Write"):
        read_log(path)
    with pytest.raises(LogError, match="column 'seen"):
        read_log(rows_of([inner(value) for value in values]))


def test_read_log_reads_nested_integers_of_64_bits_in_json_lines(tmp_path: Path) -> None:
    path = json_of(tmp_path / "a.jsonl", [{"x": [value, 1.5]} for value in LARGE])
    with pytest.raises(LogError, match="are the same floating-point number"):
        read_log(path)  # the list has fractions as well
    path = json_of(tmp_path / "a.jsonl", [{"x": [value, 1], "y": 1e20} for value in LARGE])
    assert {o[0] for o in read_log(path).alphabet.observations} == set(LARGE)


@pytest.mark.parametrize("values", [(1e20, 2.5), (2.0**53, 0.5), (1e300, -1e300, 0.0), (9.5e15, 1.0, 9.5e15)], ids=repr)
def test_read_log_keeps_large_floats_that_are_distinct(values: Sequence[float], tmp_path: Path) -> None:
    for log in (csv_of(tmp_path / "a.csv", values), json_of(tmp_path / "a.jsonl", values)):
        found = seen_in(log)
        assert found == set(values) and not any(isinstance(value, str) for value in found)


def test_read_log_keeps_missing_values_of_large_columns_missing(tmp_path: Path) -> None:
    for values in ((*LARGE, ""), (*BESIDE_FRACTIONS, "")):
        assert "(missing)" in seen_in(csv_of(tmp_path / "a.csv", values))


def test_read_log_keeps_large_decimals_apart_or_refuses_them(tmp_path: Path) -> None:
    whole = [Decimal(2**53), Decimal(2**53 + 1)]
    assert seen_in(parquet_of(tmp_path / "a.parquet", whole, pa.decimal128(20, 0))) == {2**53, 2**53 + 1}
    parts = [Decimal("0.1"), Decimal("0.10000000000000000001")]
    with pytest.raises(LogError, match=r"row 2, column 'seen'.*are the same floating-point number"):
        read_log(parquet_of(tmp_path / "b.parquet", parts, pa.decimal128(30, 20)))


def test_read_log_refuses_rewards_that_are_the_same_float(tmp_path: Path) -> None:
    rewards = [2**53, 2**53 + 1, 0]
    logs = [
        csv_of(tmp_path / "a.csv", rewards, "reward"),
        csv_of(tmp_path / "b.csv", [*rewards, 0.5], "reward"),
        json_of(tmp_path / "a.jsonl", rewards, "reward"),
        parquet_of(tmp_path / "a.parquet", rewards, pa.int64(), "reward"),
    ]
    for log in logs:
        with pytest.raises(LogError, match=r"row \d, column 'reward'.*are the same floating-point number"):
            read_log(log)
    assert read_log(csv_of(tmp_path / "c.csv", [2**53, 0.5], "reward")).alphabet.rewards == (0.0, 0.5, 2.0**53)


@pytest.mark.parametrize("values", [LARGE, (2**53, 2**53 + 1, 5), (-FIRST, 1 - FIRST)], ids=repr)
def test_read_log_keeps_large_integers_of_steps_and_arrays_apart(values: Sequence[int]) -> None:
    objects = [SimpleNamespace(observations=[value], actions=["a"], rewards=[0.0]) for value in values]
    together = [SimpleNamespace(observations=list(values), actions=["a"] * len(values), rewards=[0.0] * len(values))]
    arrays: dict[str, Any] = {name: [row[name] for row in rows_of(values)] for name in rows_of(values)[0]}
    steps = [[(value, "a", 0.0)] for value in values]
    for log in (steps, together, arrays, arrays | {"seen": deque(values)}):
        assert seen_in(log) == set(values) and all(type(value) is int for value in seen_in(log))
    try:
        assert seen_in(objects) == set(values)
    except LogError as error:  # integers of 64 bits with and without a sign are two types
        assert "column 'observation': " in str(error)  # noqa: PT017 either is right


def test_read_log_refuses_integers_that_fractions_of_other_episodes_make_inexact() -> None:
    parts = [np.array([2**53, 2**53 + 1]), np.array([0.5, 1.5])]
    episodes = [SimpleNamespace(observations=part, actions=["a", "b"], rewards=[0.0, 1.0]) for part in parts]
    with pytest.raises(LogError, match=r"column 'observation': integers of 2\*\*53 and above are not exact"):
        read_log(episodes)
    parts[0] -= 10
    assert len(seen_in(episodes)) == 4


def test_read_log_keeps_booleans_and_integers_of_a_csv_apart(tmp_path: Path) -> None:
    assert seen_in(csv_of(tmp_path / "a.csv", ["true", 1, 0])) == {"true", "1", "0"}
    assert seen_in(csv_of(tmp_path / "b.csv", ["true", "false"])) == {True, False}


MEANT = {
    "integers": (3, -(2**62), 2**62 + 1),
    "large integers": LARGE,
    "floats": (0.1, -0.0, 0.30000000000000004, 1e20, 2.0),
    "booleans": (True, False),
    "text": ("a", "b c", "é"),
    "dates": (date(2020, 1, 1), date(2020, 1, 2)),
    "decimals": (Decimal("0.10"), Decimal("2.00")),
    "whole decimals": (Decimal(2**53), Decimal(2**53 + 1)),
}


@pytest.mark.parametrize("name", MEANT)
def test_read_log_gives_the_same_alphabet_from_every_format(name: str, tmp_path: Path) -> None:
    values = MEANT[name]
    column = pa.array(values, pa.uint64() if name == "large integers" else None)
    table = pa.Table.from_pylist(rows_of(range(len(values)))).set_column(2, "seen", column)
    for suffix in (".parquet", ".arrow", ".csv"):
        write_parts(tmp_path / f"a{suffix}", [table])
    lines = [json.dumps(row | {"seen": "@"}).replace('"@"', as_json(row["seen"])) for row in table.to_pylist()]
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    logs = [table, *(tmp_path / f"a{suffix}" for suffix in (".parquet", ".arrow", ".csv", ".jsonl"))]
    alphabets = [read_log(log).alphabet for log in logs]
    assert len(alphabets[0].observations) == len(values)
    assert all(alphabet == alphabets[0] for alphabet in alphabets)
    assert len({repr(alphabet) for alphabet in alphabets}) == 1  # 1 == 1.0 == True


def as_json(value: Any) -> str:
    return str(value) if isinstance(value, Decimal) else json.dumps(value, default=str)
