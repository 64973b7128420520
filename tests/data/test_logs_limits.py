"""Files that would need much memory or time are refused before they are read."""

from __future__ import annotations

import gzip
import itertools
import tracemalloc
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from suffice.data.encoding import tables
from suffice.data.logs import arrow_messages, limits
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.reading import read_log
from suffice.data.logs.schema import read_schema
from support.log_files import FIRST, refusal, write

MIB = 1 << 20
ROW = b"0,0,1,1,0\n"
COLUMNS = {"episode": [0, 0, 1], "step": [0, 1, 0], "o": ["a", "b", "a"], "action": [1, 2, 1], "reward": [0, 1, 0]}


@pytest.fixture(autouse=True)
def little_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ROOMY", MIB)
    monkeypatch.setattr(limits, "FEW_ROWS", 100_000)


def peak(path: Path) -> tuple[str, int]:
    """Return the error about a file, and the peak memory in bytes."""
    tracemalloc.start()
    try:
        return refusal(path), tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("name", ["log.csv.gz", "log.jsonl.gz"])
def test_read_log_refuses_gzip_files_that_decompress_to_too_much(tmp_path: Path, name: str) -> None:
    row = ROW if name == "log.csv.gz" else b'{"episode": 0, "step": 0, "o": 1, "action": 1, "reward": 0}\n'
    first = FIRST.encode() if name == "log.csv.gz" else b""
    bomb = write(tmp_path, gzip.compress(first + row * 400_000, 9), name)
    said, taken = peak(bomb)
    assert "bytes decompress to more than 200 times as many" in said and taken < 40 * MIB
    assert "step 0 twice" in refusal(write(tmp_path, gzip.compress(first + row * 400), name)), "small files are read"


def test_read_log_reads_large_gzip_files_of_plausible_ratio(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = "".join(f"{i},0,{o},1,0\n" for i, o in enumerate(rng.integers(0, 9, 100_000).tolist()))
    episodes = read_log(write(tmp_path, gzip.compress(f"episode,step,o,action,reward\n{rows}".encode()), "a.csv.gz"))
    assert episodes.n == 100_000, "more bytes than ROOMY, but as many as its size allows"


def test_read_log_refuses_parquet_files_with_implausibly_many_rows(tmp_path: Path) -> None:
    zeros = pa.array(np.zeros(1_000_000, np.int64))
    pq.write_table(pa.table(dict.fromkeys(COLUMNS, zeros)), tmp_path / "a.parquet", compression="zstd")
    said, taken = peak(tmp_path / "a.parquet")
    assert "claims 1,000,000 rows" in said and taken < MIB


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.binary()])
def test_read_log_keeps_long_values_of_a_dictionary_once(tmp_path: Path, kind: pa.DataType) -> None:
    text = pa.DictionaryArray.from_arrays(np.zeros(30_000, np.int8), pa.array(["x" * 100_000], kind))
    zeros, ids = np.zeros(30_000, np.int64), np.arange(30_000)
    pq.write_table(
        pa.table({"episode": ids, "step": zeros, "o": text, "action": zeros, "reward": zeros}), tmp_path / "a.pq"
    )
    before = pa.default_memory_pool().max_memory()
    assert read_log(tmp_path / "a.pq").n == 30_000
    assert pa.default_memory_pool().max_memory() < before + 100 * MIB, "not 3 GB"


@pytest.mark.parametrize(("packing", "stream"), list(itertools.product([None, "lz4", "zstd"], [False, True])))
def test_unpacked_adds_up_declared_sizes_of_arrow_buffers(tmp_path: Path, packing: str | None, stream: bool) -> None:
    columns: dict[str, Any] = COLUMNS | {"o": pa.array(["a", "b", "a"]).dictionary_encode(), "reward": [0.5, 1, 0.5]}
    table = pa.concat_tables([pa.table(columns)] * 100).combine_chunks()
    path, sink = tmp_path / "a.arrow", pa.BufferOutputStream()
    options = pa.ipc.IpcWriteOptions(compression=packing)
    with (pa.ipc.new_stream if stream else pa.ipc.new_file)(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=70)
    path.write_bytes(sink.getvalue())
    found = list(arrow_messages.messages(memoryview(path.read_bytes())))
    declared = sum(message.unpacked for message in found)
    assert [message.rows for message in found] == [None, 70, 70, 70, 70, 20], "one dictionary, five batches"
    assert declared == 0 if packing is None else table.nbytes <= declared <= table.nbytes + 1000
    assert "step 0 twice" in refusal(path)


@pytest.mark.parametrize("stream", [False, True])
def test_read_log_refuses_arrow_files_that_decompress_to_too_much(tmp_path: Path, stream: bool) -> None:
    table = pa.table({name: np.zeros(4_000_000, np.int64) for name in COLUMNS})
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    kind = pa.ipc.new_stream if stream else pa.ipc.new_file
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, kind(file, table.schema, options=options) as writer:
        writer.write_table(table)
    del table
    before = pa.total_allocated_bytes()
    assert "bytes decompress to more than 200 times as many" in refusal(tmp_path / "a.arrow")
    assert pa.total_allocated_bytes() <= before


def test_read_log_refuses_arrow_files_with_implausibly_many_rows(tmp_path: Path) -> None:
    nothing = pa.nulls(10**9)
    table = pa.table(dict.fromkeys(COLUMNS, nothing))
    with pa.OSFile(str(tmp_path / "a.arrow"), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    assert "claims 1,000,000,000 rows" in refusal(tmp_path / "a.arrow")


@pytest.mark.parametrize("name", ["log.csv", "log.parquet", "log.jsonl"])
def test_read_log_refuses_too_many_columns(tmp_path: Path, name: str) -> None:
    names = [*COLUMNS, *(f"c{i}" for i in range(tables.MOST_COLUMNS))]
    path = tmp_path / name
    if name == "log.parquet":
        pq.write_table(pa.table({name: [0] for name in names}), path)
    elif name == "log.csv":
        path.write_text(",".join(names) + "\n" + ",".join("0" for _ in names) + "\n")
    else:
        path.write_text("{" + ",".join(f'"{name}": 0' for name in names) + "}\n")
    assert refusal(path) == f"{name}: there are 10,005 columns; the limit is 10,000. Remove columns."


def test_read_log_refuses_very_long_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "LONGEST_LINE", 1000)
    assert "row 1: the line is longer than" in refusal(write(tmp_path, b"a," * 600))
    row = b'{"episode": 0, "step": 0, "o": "a", "action": 1, "reward": 0}\n'
    long = row.replace(b'"a"', b'"' + b"a" * 2000 + b'"')
    assert "row 2: the line is longer" in refusal(write(tmp_path, row + long + row.replace(b'"a"', b"["), "log.jsonl"))


@pytest.mark.parametrize("data", [b"[" * 100_000, b'{"a":' * 100_000, b'[{"a":' + b"[" * 99 + b"]" * 99 + b"}]"])
@pytest.mark.parametrize("name", ["log.json", "log.jsonl"])
def test_read_log_refuses_deep_json_with_little_memory(tmp_path: Path, data: bytes, name: str) -> None:
    said, taken = peak(write(tmp_path, data, name))
    assert "deep" in said and taken < 20 * MIB


def test_read_schema_refuses_invalid_json_in_one_line(tmp_path: Path) -> None:
    for data in (b"[" * 100_000, b'{"actions": ' * 2000, b'{"a": "\xff"}', b"\xff", b"", b"{}"):
        with pytest.raises(limits.LogError) as caught:
            read_schema(write(tmp_path, data, "schema.json"))
        assert str(caught.value).isprintable()


def test_dataset_sorts_file_names_in_any_script(tmp_path: Path) -> None:
    for name in ("1²2.parquet", "10.parquet", "9.parquet", "٣.parquet"):
        pq.write_table(pa.table(COLUMNS), tmp_path / name)
    found = Dataset.of(tmp_path)
    assert found is not None and [file.name for file in found.files][1:3] == ["9.parquet", "10.parquet"]
