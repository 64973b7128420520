"""Text and Arrow files in batches: types are those of the whole log, and errors name the same row."""

from __future__ import annotations

import gzip
import json
import os
import random
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from suffice.data.logs import arrow_files, csv_batches, json_cells, log_files
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.reading import ReadOptions, read_as, read_log
from suffice.data.logs.sources import open_file
from suffice.data.streaming import MemoryBudget, read_stored
from suffice.errors import LogError, SufficeError
from support.logs_in_pieces import read_in_pieces, suffice, write_parts

SCRIPTED = settings(derandomize=True, max_examples=300, deadline=None, database=None)
CELLS = (
    ["1", "2", "-3"], ["0", "1"], ["true", "false"], ["0.5", "1.5"], ["x", "y z"], ["2020-01-01"], ["12:00:00"],
    ["2020-01-01T10:00:00Z"], ["", "NA", "NaN"], ["9223372036854775808", "18446744073709551615"], [" 7 "], ["+5"],
    ["9007199254740992", "9007199254740993"], ["-9223372036854775809"], ["1e17"], ["0x1f", "0X2"], ["1e400", "inf"],
    ['"a\nb"', '"q""r"'], ["é"], ['"1"'], ["01", "00"],
)  # fmt: skip
ROW = {"episode": 0, "step": 0, "seen": "x", "action": "a", "reward": 0.0}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read text in chunks of a few lines, and pieces of two rows."""
    monkeypatch.setattr(log_files, "CHUNK", 64)
    monkeypatch.setattr(MemoryBudget, "rows", 2)


def plain(column: pa.ChunkedArray) -> list[Any]:
    return [value.decode() if isinstance(value, bytes) else value for value in column.to_pylist()]


def kind(column: pa.DataType) -> str:
    return "text" if pa.types.is_dictionary(column) or column in (pa.string(), pa.binary()) else str(column)


def whole_and_batches(path: Path, columns: Sequence[str]) -> tuple[Any, Any]:
    """Return the types and values of a file that is read as a whole, and in batches; or the errors."""
    found: list[Any] = []
    for read in (lambda: open_file(path), lambda: Dataset(str(path), (path,)).open()):
        try:
            table = read()
            found.append([(name, kind(table.types[name]), repr(plain(table.column(name)))) for name in columns])
        except LogError as error:
            found.append(str(error))
    return found[0], found[1]


# ---------------------------------------------------------------- types of text files


@SCRIPTED
@given(st.integers(0, 1 << 30))
def test_csv_batches_have_the_types_of_the_whole_file(seed: int) -> None:
    rng = random.Random(seed)
    pools = rng.choices(CELLS, k=rng.randint(1, 3))
    rows = [f"{rng.choice(rng.choice(pools))},{i}\n" for i in range(rng.randint(1, 12))]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_files, "CHUNK", rng.randint(1, 60))
        path = Path(folder, "a.csv")
        path.write_text("a,b\n" + "".join(rows) + rng.choice(["", "\n\n"]))
        at_once, in_batches = whole_and_batches(path, "ab")
        assert in_batches == at_once


def draw_value(rng: random.Random, depth: int = 0) -> Any:
    k = rng.randrange(11 if depth < 2 else 9)
    if k < 9:
        return (1, 0.5, None, True, "x", "2020-01-01", 2**63, 2**53 + 1, 2**53)[k]
    if k == 9:
        return [draw_value(rng, depth + 1) for _ in range(rng.randrange(4))]
    return {name: draw_value(rng, depth + 1) for name in rng.sample("xyz", rng.randrange(4))}


def similar(value: Any, rng: random.Random) -> Any:
    """Return a value of the same kind, or None."""
    if value is None or rng.random() < 0.1:
        return None
    if isinstance(value, bool):
        return rng.random() < 0.5
    if isinstance(value, str):
        return rng.choice(["x", "2020-01-01", "é"])
    if isinstance(value, int | float):
        return rng.choice([1, 2, 0.5, value, value, 2**63, 2**53 + 1] if rng.random() < 0.5 else [1, -1, value])
    if isinstance(value, list):
        return [similar(rng.choice(value), rng) for _ in range(rng.randrange(4))] if value else []
    return {name: similar(part, rng) for name, part in value.items() if rng.random() < 0.9}


@SCRIPTED
@given(st.integers(0, 1 << 30))
def test_json_batches_have_the_types_of_the_whole_file(seed: int) -> None:
    rng = random.Random(seed)
    value = draw_value(rng)
    rows = [
        {"a": similar(value, rng) if rng.random() < 0.97 else draw_value(rng), "b": i} for i in range(rng.randint(1, 8))
    ]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        patch.setattr(log_files, "CHUNK", rng.randint(1, 90))
        path = Path(folder, "a.jsonl")
        path.write_text("\n".join(json.dumps(row, ensure_ascii=False) for row in rows) + rng.choice(["", "\n\n"]))
        at_once, in_batches = whole_and_batches(path, "ab")
        assert in_batches == at_once


def test_open_json_reads_lists_that_begin_with_missing_values(tmp_path: Path) -> None:
    """Arrow 26 loses such entries where it infers the type."""
    path = tmp_path / "a.jsonl"
    path.write_text('{"a": [null, null, "x"], "b": [null]}\n{"a": ["y"], "b": [null, null]}\n')
    table = open_file(path)
    assert table.column("a").to_pylist() == [[None, None, "x"], ["y"]]
    assert table.column("b").to_pylist() == [[None], [None, None]]


def test_open_csv_reads_line_ends_in_cells_of_large_files(tmp_path: Path) -> None:
    """Arrow parses blocks of 1 MiB, and by default ends them at any line end."""
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + '"two\n\nlines",1\n' * 200_000)
    at_once, in_batches = whole_and_batches(path, "ab")
    assert at_once == in_batches and at_once[0][2].count("two") == 200_000


def test_csv_batches_read_a_quote_within_a_cell(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_files, "CHUNK", 20)
    monkeypatch.setattr(log_files, "LONGEST_CELL", 60)
    path = tmp_path / "a.csv"
    path.write_text("a,b\n" + '5" pipe,1\nx,2\ny,3\nz,4\n' * 20)
    at_once, in_batches = whole_and_batches(path, "ab")
    assert at_once == in_batches and at_once[1][1] == "int64"


@pytest.mark.parametrize(("suffix", "module"), [(".csv", csv_batches), (".jsonl", json_cells)])
def test_batches_refuse_to_compare_too_many_large_numbers(
    suffix: str, module: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, small: None
) -> None:
    monkeypatch.setattr(module, "MOST_COMPARED", 3)
    path = tmp_path / f"a{suffix}"
    numbers = [2**60 + 1000 * i for i in range(6)]
    write_parts(path, [pa.Table.from_pylist([ROW | {"episode": i, "seen": n} for i, n in enumerate(numbers)])])
    assert whole_and_batches(path, ["seen"])[1][0][1] == "int64", "integers of 64 bits are not compared"
    path.write_text(path.read_text().replace(str(numbers[3]), "0.5"))
    assert "column 'seen': more than 3 numbers of 2**53 and above" in whole_and_batches(path, ["seen"])[1]


def test_arrow_batches_of_any_size_hold_only_the_rows_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    table = pa.table({"a": range(200_000), "b": ["some text"] * 200_000})
    for name, limit in (("a.arrow", 0), ("b.arrow", 1 << 24), ("c.stream.arrow", 0), ("d.stream.arrow", 1 << 24)):
        monkeypatch.setattr(arrow_files, "LARGE_BATCH", limit)
        write_parts(tmp_path / name, [table])
        dataset = Dataset.of(tmp_path / name)
        assert dataset is not None
        before = pa.total_allocated_bytes()
        found = [part for _, part in dataset.batches(0, 1, ["b", "a"], 10_000)]
        assert pa.total_allocated_bytes() - before < (1000 if limit == 0 else 2 * table.nbytes)
        assert pa.concat_tables(found).select(["a", "b"]).equals(table) and len(found) == 20


# ---------------------------------------------------------------- files and folders


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".jsonl", ".arrow"])
def test_learn_reads_folders_and_patterns_of_any_format(
    suffix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An episode continues in the next file, and a column is integer in one file and a fraction in the other."""
    monkeypatch.chdir(tmp_path)
    rows = [
        {"episode": i // 3, "step": i % 3, "seen": "xyz"[i * i % 3], "action": "ab"[i % 2], "reward": float(i > 900)}
        for i in range(1200)
    ]
    rows[1100]["reward"] = 0.5
    table = pa.Table.from_pylist(rows)
    Path("logs").mkdir()
    write_parts(Path(f"one{suffix}"), [table])
    for i, part in enumerate([table[:400], table[400:1000], table[1000:]]):
        write_parts(Path(f"logs/part-{i + 8}{suffix}"), [part])
    models = []
    for memory, begin in (("8GB", lambda: None), ("1GB", lambda: read_in_pieces(monkeypatch)(100))):
        begin()
        monkeypatch.setattr(log_files, "CHUNK", 4096)
        for log in (f"one{suffix}", "logs", f"logs/part-*{suffix}"):
            code, _, complaint = suffice("learn", log, "-o", "a.model", "--memory", memory)
            assert code == 0, complaint
            models.append(Path("a.model").read_bytes())
    assert len(set(models)) == 1


def test_dataset_refuses_files_that_cannot_be_combined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("logs").mkdir()
    table = pa.Table.from_pylist([ROW])
    write_parts(Path("logs/a.csv"), [table])
    write_parts(Path("logs/b.jsonl"), [table])
    with pytest.raises(LogError, match=r"^logs: there are CSV and JSON lines files\. Pass a pattern in quotes, such"):
        Dataset.of("logs")
    with pytest.raises(LogError, match=r"^logs/\*: there are .* Use a pattern that matches files of one type\.$"):
        Dataset.of("logs/*")
    write_parts(Path("logs/c.csv"), [table.drop_columns(["step"])])
    with pytest.raises(LogError, match=r"^logs/c\.csv: its columns differ from those of a\.csv \('step' is missing"):
        read_log("logs/*.csv")
    Path("logs/d.json").write_text(json.dumps([ROW], indent=1))
    assert Dataset.of("logs/d.json") is None and read_log("logs/d.json").n == 1
    with pytest.raises(LogError, match=r"^logs/d\.json: files are combined only if they have one object per line"):
        read_log("logs/*.json*")
    write_parts(Path("logs/e.parquet"), [table])
    assert Dataset.of("logs").files == (Path("logs/e.parquet"),)  # type: ignore[union-attr]
    Path("logs/f.xls").write_text("x")
    with pytest.raises(LogError, match=r"^logs/f\.xls: files of this type cannot be combined\. Pass"):
        Dataset.of("logs/*.[xp]*")


# ---------------------------------------------------------------- errors


def refusals(path: Path, how: ReadOptions | None = None) -> list[str]:
    """Return the errors about a log that is read at once, and in pieces."""
    found, how = [], how or ReadOptions()
    for read in (lambda: read_as(path, how), lambda: in_pieces(path, how)):
        with pytest.raises(SufficeError) as caught:
            read()
        found.append(str(caught.value).replace(f"{path.parent}/", ""))
    return found


def in_pieces(path: Path, how: ReadOptions) -> Any:
    dataset = Dataset.of(path)
    assert dataset is not None
    return read_stored(dataset, how, MemoryBudget(1 << 40, 2))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"reward": None}, "row {}, column 'reward': the reward is missing"),
        ({"action": None}, "row {}, column 'action': the action is missing"),
        ({"episode": None}, "row {}, column 'episode': the episode id is missing"),
        ({"step": 0}, "row {}, column 'step'"),
    ],
)
@pytest.mark.parametrize("suffix", [".csv", ".csv.gz", ".jsonl", ".arrow", ".stream.arrow"])
def test_read_stored_names_the_same_row_as_reading_at_once(
    suffix: str, change: dict[str, Any], complaint: str, tmp_path: Path, small: None
) -> None:
    rows = [ROW | {"episode": i // 2, "step": i % 2} for i in range(20)]
    rows[13] |= change
    path = tmp_path / f"a{suffix}"
    write_parts(
        path, [pa.Table.from_pylist(rows[:5]), pa.Table.from_pylist(rows[5:], pa.Table.from_pylist(rows).schema)]
    )
    row = 14
    if "arrow" not in suffix:  # blank lines are skipped, but counted
        text = gzip.decompress(path.read_bytes()) if suffix.endswith("gz") else path.read_bytes()
        lines = text.split(b"\n")
        changed = b"\n".join([*lines[:4], b"", b"", *lines[4:]])
        path.write_bytes(gzip.compress(changed) if suffix.endswith("gz") else changed)
        row = 16 + ("csv" in suffix)
    at_once, stored = refusals(path)
    assert at_once == stored
    assert at_once.startswith(f"a{suffix}, {complaint.format(row)}")


@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("a.csv", "episode,step,seen,action,reward\n" + "0,0,x,a,0\n" * 20 + "0,0,x,a\n", "row 22: 4 cells, but the"),
        ("a.csv", "episode,step,seen,seen,reward\n" + "0,0,x,a,0\n" * 20, "there are two columns 'seen'"),
        ("a.jsonl", (json.dumps(ROW) + "\n") * 9 + '{"episode": \n', "row 10: this is not a JSON object"),
        ("a.jsonl", (json.dumps(ROW) + "\n") * 9 + '{"episode": "x"}\n', "row 10, column 'episode': text where the"),
        ("a.jsonl", (json.dumps(ROW) + "\n") * 9 + '{"a": ' + "[" * 50 + "]" * 50 + "}\n", "row 10: values are nested"),
    ],
    ids=["ragged", "two names", "cut", "kinds", "deep"],
)
def test_batches_refuse_damaged_text_as_reading_at_once_does(
    name: str, text: str, complaint: str, tmp_path: Path, small: None
) -> None:
    (tmp_path / name).write_text(text)
    at_once, stored = refusals(tmp_path / name)
    assert at_once == stored
    assert complaint in at_once


@pytest.mark.parametrize("mapped", [False, True])
@pytest.mark.parametrize("suffix", [".csv.gz", ".jsonl.gz", ".arrow", ".stream.arrow", ".lz4.arrow"])
def test_batches_refuse_damaged_files(
    suffix: str, mapped: bool, tmp_path: Path, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrow_files, "LARGE_BATCH", 0 if mapped else 1 << 24)
    rows = [ROW | {"episode": i // 2, "step": i % 2, "seen": f"value {i}"} for i in range(300)]
    path = tmp_path / f"a{suffix}"
    write_parts(path, [pa.Table.from_pylist(rows)])
    data = path.read_bytes()
    for cut in range(12, len(data), len(data) // 9):
        for damaged in (data[:cut], data[:cut] + b"\xff" * 40 + data[cut + 40 :]):
            path.unlink()  # not overwritten, because it may still be mapped
            path.write_bytes(damaged)
            try:
                in_pieces(path, ReadOptions())
            except SufficeError as error:
                assert f"a{suffix}" in str(error) and "\n" not in str(error)  # noqa: PT017 a value may have changed


@pytest.mark.parametrize("suffix", [".csv", ".jsonl", ".arrow"])
@pytest.mark.parametrize("change", [lambda path: path.write_bytes(path.read_bytes() * 2), os.remove])
def test_batches_refuse_files_that_change_between_passes(
    suffix: str, change: Callable[[Path], None], tmp_path: Path, small: None
) -> None:
    path = tmp_path / f"a{suffix}"
    write_parts(path, [pa.Table.from_pylist([ROW | {"episode": i} for i in range(50)])])
    dataset = Dataset.of(path)
    assert dataset is not None and dataset.rows == 50
    change(path)
    with pytest.raises(LogError, match=r"the file changed while it was read|the file cannot be read"):
        read_stored(dataset, ReadOptions(), MemoryBudget(1 << 40))
