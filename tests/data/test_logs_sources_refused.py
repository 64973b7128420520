"""Errors about logs of any kind: one line each, and no other exception is raised."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from suffice.data.encoding.columns import Columns
from suffice.data.logs.reading import read_log
from suffice.errors import LogError, LogProblemsError, SufficeError
from support.log_files import refusal, write
from support.log_sources import HUGGING, Dataset, Episode

ROW = {"episode": 0, "step": 0, "o": 1, "action": 1, "reward": 0}
TWO: dict[str, Any] = {"episode": [0, 0], "step": [0, 1], "o": [1, 2], "action": [1, 1], "reward": [0, 1]}


def said(source: Any, **options: Any) -> str:
    """Return the error about data in memory."""
    with pytest.raises(LogError) as caught:
        read_log(source, **options)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def rows(*changes: dict[str, Any] | str) -> str:
    return "\n".join(change if isinstance(change, str) else json.dumps(ROW | change) for change in changes)


# ---------------------------------------------------------------- JSON


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        (rows({}, "", '{"episode":0,'), ", row 3: this is not a JSON object"),
        (rows({}, "[1]"), ", row 2: this is not a JSON object"),
        ('{"episode":0,', ", row 1: this is not a JSON object"),
        ("5", ", row 1: this is not a JSON object"),
        (rows({}, "", {"step": 1, "o": "a"}), ", row 3, column 'o': text where the rows before have a numb"),
        (rows({"o": True}, {"step": 1}), ", row 2, column 'o': a number where the rows before have a boolean"),
        (
            rows({"o": [1]}, "", {"step": 1, "o": ["a"]}),
            ", row 3, column 'o': text where the rows before have a numb",
        ),
        (rows({"o": {"x": 1}}, {"o": {"x": []}}), ", row 2, column 'o.x': a list where the rows before have a number"),
        (rows({}, "", {"step": 1, "action": None}), ", row 3, column 'action': the action is missing"),
        (rows({}, {"step": 1, "o": float("inf")}), ", row 2, column 'o': inf is not a finite number"),
        (rows({}).replace('"o"', '"step"'), ": JSON parse error: Column(/step) was specified twice"),
        (
            rows({"o": "é"}, {"step": 1, "o": "x"}).encode("latin1").replace(b"\\u00e9", b"\xe9"),
            ", row 1: this is not a JSON object",
        ),
        ("{}\n{}", ": there are no columns."),
        (" \n\n", ": there are no columns."),
    ],
)
def test_read_log_names_the_line_of_invalid_json_lines(tmp_path: Path, text: str | bytes, complaint: str) -> None:
    assert refusal(write(tmp_path, text, "log.jsonl")).startswith(f"log.jsonl{complaint}")
    data = text if isinstance(text, bytes) else text.encode()
    assert refusal(write(tmp_path, gzip.compress(data), "log.jsonl.gz")).startswith(f"log.jsonl.gz{complaint}")


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[]", ": there are no columns."),
        ("[{}", ": this is not an array of objects"),
        ("[[1, 2, 3]]", ": this is not an array of objects"),
        (
            json.dumps([ROW, ROW | {"step": 1, "o": "a"}]),
            ", row 2, column 'o': text where the rows before have a numb",
        ),
        (json.dumps([ROW, ROW | {"step": 1, "o": 2**70}]), ", row 2, column 'o': an integer beyond 64 bits"),
        (json.dumps([ROW, ROW | {"step": 1, "reward": None}]), ", row 2, column 'reward': the reward is missing"),
    ],
)
def test_read_log_refuses_invalid_json_arrays(tmp_path: Path, text: str, complaint: str) -> None:
    assert refusal(write(tmp_path, text, "log.json")).startswith(f"log.json{complaint}")


@pytest.mark.parametrize("depth", [30, 3_000, 300_000])
@pytest.mark.parametrize(
    "nest",
    [
        lambda n: '{"a":' + "[" * n + "]" * n + "}",
        lambda n: '{"a":' * n + "1" + "}" * n,
        lambda n: '{"a":' + "[" * n,
        lambda n: '{"a":["]",' + '["]",' * n + "]" * n + "]}",
        lambda n: '[{"a":' + "[" * n + "]" * n + "}]",
        lambda n: "[" * n,
    ],
)
def test_read_log_refuses_deeply_nested_json(tmp_path: Path, nest: Callable[[int], str], depth: int) -> None:
    """Deep nesting must exhaust neither the stack nor the time."""
    refusal(write(tmp_path, nest(depth), "log.jsonl"))


def test_read_log_refuses_unreadable_files(tmp_path: Path) -> None:
    assert "not compressed by gzip" in refusal(write(tmp_path, rows({}), "log.jsonl.gz"))
    assert "cannot be read" in refusal(write(tmp_path, gzip.compress(rows({}).encode() * 9)[:-9], "log.jsonl.gz"))
    assert "cannot be read" in refusal(tmp_path / ("a" * 5000 + ".csv"))
    assert "not an Arrow file" in refusal(write(tmp_path, rows({}), "log.arrow"))
    assert "not an Arrow file" in refusal(write(tmp_path, b"ARROW1" + bytes(99), "log.arrow"))


# ---------------------------------------------------------------- lists and vectors


LISTS: dict[str, Any] = {"o": [[1, 2], [3]], "action": [[1, 1], [1]], "reward": [[0, 1], [0]]}


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [
        ({"o": [[1, 2], [3, 4, 5]]}, ", row 2, column 'o': 3 entries where column 'reward' has 1"),
        ({"o": [[1, 2, 3], [3]]}, ", row 1, column 'o': 3 entries where column 'reward' has 2"),
        ({"o": [[1, 2], None]}, ", row 2, column 'o': 0 entries where column 'reward' has 1"),
        ({"action": [[1, None], [3]]}, ", row 1, step 1, column 'action': the action is missing"),
        ({"reward": [[0, None], [3]]}, ", row 1, step 1, column 'reward': the reward is missing"),
        ({"o": [[[1], [1, 2]], [[3]]]}, ", column 'o': its type is list<item: int64>, but a cell holds one"),
        ({"o": [[[[1]], [[2, 3]]], [[[3]]]]}, ", column 'o': its type is list<item: int64>, but a cell holds one"),
        ({"action": [[[1, 2], [1, 2]], [[1, 2]]]}, ", column 'action': a cell holds 2 values (action.0, action.1 …)"),
        ({"o.x": LISTS["o"], "o": [[{"x": 1}, {"x": 2}], [{"x": 3}]]}, ": there are two columns 'o.x'"),
    ],
)
def test_read_log_refuses_lists_of_different_lengths_or_types(changes: dict[str, Any], complaint: str) -> None:
    for source in (pa.table(LISTS | changes), LISTS | changes):
        assert said(source).startswith(f"the {type(source).__name__}{complaint}")


def test_read_log_refuses_a_log_of_empty_episodes() -> None:
    assert "all lists are empty" in said(pa.table({k: pa.array([[], []], pa.list_(pa.int8())) for k in LISTS}))


def test_read_log_refuses_vector_actions_and_images() -> None:
    assert said(TWO | {"action": np.ones((2, 3))}).startswith("the dict, column 'action': a cell holds 3 values (act")
    arrays = {"observations": np.ones((2, 2)), "actions": np.ones((2, 2)), "rewards": [0, 1], "terminals": [0, 1]}
    assert said(arrays).startswith("the dict, column 'actions': a cell holds 2 values (actions.0,")
    assert said(TWO | {"o": np.zeros((2, 84, 84), np.uint8)}).startswith(
        "the dict, column 'o': its type is fixed_size_list"
    )
    pictures = Dataset([Episode(np.zeros((2, 3, 84, 84), np.uint8), np.ones(2), np.ones(2))])
    assert said(pictures).startswith("the Dataset, column 'observation': its type is fixed_size_list")
    assert read_log(TWO | {"picture": np.zeros((2, 84, 84))}, Columns(observations=("o",))).n == 1


# ---------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("values", "complaint"),
    [
        ([1, "a"], ", row 2, column 'o': text where the rows before have a numb"),
        ([float("-inf"), 1.0], ", row 1, column 'o': -inf is not a finite number"),
        ([2**63, 2**64], ", row 2, column 'o': an integer beyond 64 bits"),
        ([-1, 2**63], ", column 'o': an integer beyond 64 bits"),
        ([[1], [2**63]], ", row 2, column 'o': an integer beyond 64 bits"),
        ([1, 10**400], ", row 2, column 'o': an integer beyond 64 bits"),
        (["a", "\ud800"], ", row 2, column 'o': this is not UTF-8 text"),
        ([b"a", b"\xff"], ", row 2, column 'o': b'\\xff' is not UTF-8 text"),
        ([1, 1j], ", row 2, column 'o': "),
        ([1, object()], ", row 2, column 'o': "),
        ([1, {2}], ", row 2, column 'o': a set has no order"),
        ([[1], {"a": 2}], ", row 2, column 'o': a record where the rows before have a list"),
        ([1, 2, 3], ": the arrays differ in length: 'o' has 3 entries, 'reward' has 2"),
        (np.array([1j, 2]), ", row 1, column 'o': "),
        (np.zeros((2, 0)), ", column 'o': "),
        (np.array(3), ": there are no observation columns"),
        ("ab", ": there are no observation columns"),
        ((i for i in (1, 2)), ": there are no observation columns"),
    ],
)
def test_read_log_names_the_row_of_invalid_values(values: Any, complaint: str) -> None:
    assert said(TWO | {"o": values}).startswith(f"the dict{complaint}")
    if isinstance(values, list) and len(values) == 2:
        listed = [{name: column[i] for name, column in (TWO | {"o": values}).items()} for i in range(2)]
        assert said(listed).startswith(f"the list{complaint}")


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        (None, "an object of type NoneType is not a log. Pass a file"),
        (3, "an object of type int is not a log"),
        (b"abc", "an object of type bytes is not a log"),
        ((i for i in []), "an object of type generator is not a log"),
        ({1, 2}, "an object of type set is not a log"),
        (np.zeros((2, 3)), "an object of type ndarray is not a log"),
        ([], "the list: there are no episodes"),
        ({}, "the dict: there are no arrays"),
        ({"o": np.array(3)}, "the dict: there are no arrays"),
        ([{}], "the list: there are no columns"),
        ([[]], "the list: there are columns but no rows"),
        ([None], "the list: episode 0 is None, not a list of steps. Give (observation, action, reward) for each step."),
        ([1, 2], "the list: episode 0 is 1, not a list of"),
        (["ab"], "the list: 'ab' is not an episode. Pass one file by its name"),
        ([[1]], "the list: episode 0, step 0: 1 is not a step. Give (observation, action, reward)."),
        ([[(1, 2)]], "the list: episode 0, step 0: a tuple is not a step"),
        ([[((1, 2), 1, 1), (1, 1, 1)]], "the list: episode 0, step 1: it has observation, action, reward, unlike"),
        ([[((), 1, 1)]], "the list: there are no observation columns"),
        ([[(1, (1, 2), 1)]], "the list, column 'action': a cell holds 2 values"),
        (
            {1: [1, 2], "2": [1, 2]},
            "the dict: there is no episode, action or reward",
        ),
        ([{1: 1, "1": 2}], "the list: there are two columns '1'"),
        (Dataset([]), "the Dataset: no episode has a step"),
        (Dataset(None), "the Dataset cannot be read"),
        (Dataset(3), "the Dataset cannot be read"),
        (Dataset([1]), "the Dataset: episode 0 has no observations"),
        (Dataset([Episode([], [], [])]), "the Dataset: no episode has a step"),
        (Dataset([Episode([1], [1, 2, 3], [1, 2])]), "the Dataset: episode 0 has 2 rewards, but 1 values of"),
        ([Episode(1, 1, 1)], "the list: episode 0: observation is a single value. Pass episodes that have a value per"),
        (Dataset([Episode([[1], [1, 2]], [1, 2], [1, 2])]), "the Dataset: episode 0, observation: the values differ"),
        (Dataset([Episode([1, 2], [1, 2], [1, 2], "maybe")]), "the Dataset: episode 0, terminated: 'maybe' is neither"),
        (Dataset([Episode([1], [1], [1]), Episode(["a"], [1], [1])]), "the Dataset, column 'observation': its shape"),
        (Dataset([Episode([1], [1], [1]), Episode([[1, 2]], [1], [1])]), "the Dataset, column 'observation': its sh"),
        (Dataset([Episode([1], [1], [1]), Episode([1], [1], [1], None)]), "the Dataset: episode 1 has episode, step"),
        (pd.DataFrame(), "the DataFrame: there are no columns"),
        (pd.DataFrame({"episode": []}), "the DataFrame: there are columns but no rows"),
        (pd.DataFrame(np.zeros((2, 5))), "the DataFrame: there is no episode, action or reward column"),
        (pd.concat([pd.DataFrame(TWO)] * 2, axis=1), "the DataFrame: there are two columns 'episode'. Rename"),
        (
            pd.DataFrame(TWO | {"o": pd.Series([1, "a"], dtype=object)}),
            "the DataFrame, column 'o': its values are not of one",
        ),
        (
            pd.DataFrame({("a", "b"): [1], ("a", "c"): [2]}),
            "the DataFrame: there is no episode, action or reward column",
        ),
        (pd.Series([1, 2]), "the Series cannot be read"),
        (pl.DataFrame(TWO).lazy(), "the LazyFrame: this is a lazy table. Pass the result"),
        (pl.DataFrame(TWO | {"o": pl.Series([1, 2], dtype=pl.Int128)}), "the DataFrame cannot be read"),
        (pa.Table.from_arrays([pa.array([1])] * 2, ["a", "a"]), "the Table: there are two columns 'a'"),
        (HUGGING.to_iterable_dataset(), "the IterableDataset is a stream of rows"),
    ],
)
def test_read_log_refuses_objects_that_are_not_logs(source: Any, complaint: str) -> None:
    assert said(source).startswith(complaint)


def test_read_log_accepts_any_column_name(tmp_path: Path) -> None:
    odd = {"a,b": [1, 2], "x.y": [3, 4], "p\nq": [5, 6], "é = ü": [7, 8]}
    pq.write_table(pa.table(TWO | odd), tmp_path / "log.parquet")
    assert read_log(tmp_path / "log.parquet").alphabet.features == ("o", *odd)
    with pytest.raises(SufficeError) as caught:
        read_log(TWO | odd, bins={"z": 3})
    assert "\n" not in str(caught.value)


# ---------------------------------------------------------------- random data


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.binary(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.tuples(inner, inner, inner)
        | st.dictionaries(st.sampled_from(["episode", "step", "obs", "action", "reward", "terminated", "x"]), inner)
    ),
    max_leaves=25,
)
QUICK = settings(max_examples=100, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))


def attempt(source: Any) -> bool:
    """Return whether a source can be read; check that the error has one line if not."""
    try:
        read_log(source, max_values=50)
        return True
    except SufficeError as error:
        message = str(error)
        lines = error.problems if isinstance(error, LogProblemsError) else (message,)
    assert message and "\n".join(lines) == message
    return False


@QUICK
@given(anything)
def test_read_log_raises_only_suffice_errors_for_any_value(value: Any) -> None:
    if not isinstance(value, str):
        attempt(value)


@QUICK
@given(st.dictionaries(st.sampled_from(["obs", "action", "reward", "done", "x"]), st.lists(anything, max_size=3)))
def test_read_log_raises_only_suffice_errors_for_any_column(columns: dict[str, list[Any]]) -> None:
    """Random columns are combined with valid ones."""
    named = TWO | columns
    attempt(named)
    attempt([dict(zip(named, row, strict=True)) for row in zip(*named.values(), strict=False)])


def _binary(opened: Callable[..., Any]) -> bytes:
    table = pa.table(
        TWO
        | {"t": ["a", "b"], "c": pa.array(["x", "y"]).dictionary_encode(), "v": [[1, 2], [3, 4]], "r": [{"z": 1}] * 2}
    )
    sink = io.BytesIO()
    with opened(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


SOUND = {
    "log.arrow": _binary(pa.ipc.new_file),
    "stream.arrow": _binary(pa.ipc.new_stream),
    "log.parquet": _binary(pq.ParquetWriter),
    "log.jsonl": rows({"o": {"a": [1]}, "x": "é"}, {"step": 1, "o": {"a": [2]}, "x": "b"}).encode(),
    "log.json": json.dumps([ROW, ROW | {"step": 1}]).encode(),
    "log.csv": b"episode,step,o,action,reward\n0,0,a,1,0\n0,1,b,1,1\n",
}


@pytest.mark.parametrize("name", SOUND)
def test_read_log_raises_only_suffice_errors_for_damaged_files(tmp_path: Path, name: str) -> None:
    """Changed or missing bytes raise only our own errors, and do not end the process."""
    rng, sound, refused = np.random.default_rng(0), SOUND[name], 0
    read_log(write(tmp_path, sound, name))
    for trial in range(150):
        broken = np.frombuffer(sound, np.uint8).copy()
        broken[rng.integers(len(broken), size=rng.choice([1, 2, 8]))] = rng.integers(256)
        cut = rng.integers(1, len(broken)) if trial % 5 == 0 else len(broken)
        (tmp_path / name).unlink()
        refused += not attempt(write(tmp_path, broken[:cut].tobytes(), name))
    assert refused > 20


@QUICK
@given(data=st.binary(min_size=1, max_size=60), name=st.sampled_from(list(SOUND)))
def test_read_log_refuses_arbitrary_bytes(tmp_path_factory: pytest.TempPathFactory, data: bytes, name: str) -> None:
    refusal(write(tmp_path_factory.getbasetemp(), data, name))
