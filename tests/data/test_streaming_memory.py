"""Logs larger than memory: reading and learning keep within the memory limit."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from suffice.data.loading import read_source
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.pieces import Extent, _marks
from suffice.data.logs.reading import ReadOptions
from suffice.data.stored import StoredLog
from suffice.data.streaming import MemoryBudget
from suffice.errors import LogError
from suffice.evidence import adaptive_layer, statistic
from support.logs_in_pieces import make_logs, read_in_pieces, suffice


@pytest.fixture
def in_pieces(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that makes every log too large, with pieces of about `rows` rows."""
    return read_in_pieces(monkeypatch)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of `maze`, a log in three files in which memory of the first observation is rewarded."""
    return make_logs(tmp_path_factory)


# ---------------------------------------------------------------- memory

LIMIT = 600  # MB


def write_many(path: Path, episodes: int) -> None:
    """Write episodes of five decisions, in which the last reward depends on the first observation."""
    rng, chunk = np.random.default_rng(0), 200_000
    schema = pa.table(few_steps(0, 1, rng)).schema
    if path.suffix == ".jsonl":
        with path.open("w") as file:
            steps = few_steps(0, episodes, rng)
            form = "{" + ", ".join(f'"{name}": %s' for name in steps) + "}\n"
            file.writelines(form % values for values in zip(*(v.tolist() for v in steps.values()), strict=True))
        return
    writers: dict[str, Any] = {".parquet": pq.ParquetWriter, ".csv": csv.CSVWriter, ".arrow": pa.ipc.new_file}
    with writers[path.suffix](str(path), schema) as writer:
        for begin in range(0, episodes, chunk):
            writer.write_table(pa.table(few_steps(begin, min(chunk, episodes - begin), rng)))


def few_steps(begin: int, n: int, rng: np.random.Generator) -> dict[str, Any]:
    seen, action = rng.integers(0, 2, (n, 5)), rng.integers(0, 2, (n, 5))
    reward = np.zeros((n, 5))
    reward[:, -1] = action[:, -1] == seen[:, 0]
    return {
        "episode": np.repeat(np.arange(begin, begin + n), 5),
        "step": np.tile(np.arange(5), n),
        "seen": seen.ravel(),
        "action": action.ravel(),
        "reward": reward.ravel(),
    }


def learn_within(limit: int | None, log: Path, output: str, memory: str) -> subprocess.CompletedProcess[str]:
    """Learn in a process limited to `limit` MB, without allocators that reserve more than they use."""

    def confine() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (limit * 10**6, limit * 10**6))

    command = [sys.executable, "-m", "suffice", "learn", str(log), "-o", output, "--memory", memory, "--threads", "2"]
    command += ["--stationary", "no"]  # a cycle does not fit into the limit
    plain = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        command, preexec_fn=confine, env=os.environ | plain, capture_output=True, text=True, check=False
    )


def assert_kept_within(folder: Path, episodes: int) -> None:
    log = folder / "log.parquet"
    write_many(folder / "few.parquet", 40_000)  # compiles the kernels, which the limit does not include
    learn_within(None, folder / "few.parquet", str(folder / "few.model"), "410MB")
    write_many(log, episodes)
    kept = learn_within(LIMIT, log, str(folder / "kept.model"), f"{LIMIT}MB")
    assert (kept.returncode, kept.stderr) == (0, "")
    peak = json.loads((folder / "kept.model.run.json").read_text())["bytes"]
    assert peak < LIMIT * 10**6
    too_large = learn_within(LIMIT, log, str(folder / "no.model"), "8GB")
    assert too_large.returncode == 1
    assert too_large.stderr.startswith("suffice: out of memory. ") and too_large.stderr.count("\n") == 1
    assert not (folder / "no.model").exists()
    assert learn_within(None, log, str(folder / "whole.model"), "8GB").returncode == 0
    assert (folder / "kept.model").read_bytes() == (folder / "whole.model").read_bytes()


def test_batches_hold_no_more_of_a_file_than_a_piece(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).integers(0, 1 << 62, (20, 100_000))  # random numbers cannot be compressed
    with pq.ParquetWriter(tmp_path / "log.parquet", pa.schema({"noise": pa.int64()})) as writer:
        for group in rows:
            writer.write_table(pa.table({"noise": group}))
    dataset = Dataset.of(tmp_path / "log.parquet")
    assert dataset is not None
    before = pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() for _ in dataset.batches(0, len(dataset.units), ["noise"], 10_000)]
    assert len(held) >= 200 and max(held) - before < rows.nbytes / 4


@pytest.mark.skipif(sys.platform != "linux", reason="memory of a process cannot be limited on this platform")
def test_learn_keeps_the_memory_limit_in_a_confined_process(tmp_path: Path) -> None:
    assert_kept_within(tmp_path, 2_000_000)


SLOW = pytest.mark.long


@pytest.mark.parametrize("suffix", [".csv", pytest.param(".jsonl", marks=SLOW), pytest.param(".arrow", marks=SLOW)])
@pytest.mark.skipif(sys.platform != "linux", reason="memory of a process cannot be limited on this platform")
def test_learn_keeps_the_memory_limit_for_files_of_any_format(suffix: str, tmp_path: Path) -> None:
    write_many(tmp_path / f"few{suffix}", 40_000)  # compiles the kernels, which the limit does not include
    learn_within(None, tmp_path / f"few{suffix}", str(tmp_path / "few.model"), "410MB")
    log, least, peaks = tmp_path / f"log{suffix}", 430, []
    write_many(log, 600_000)
    for model, memory, limit in (("kept", f"{least}MB", LIMIT), ("whole", "8GB", None)):
        learned = learn_within(limit, log, str(tmp_path / f"{model}.model"), memory)
        assert (learned.returncode, learned.stderr) == (0, "")
        peaks.append(json.loads((tmp_path / f"{model}.model.run.json").read_text())["bytes"])
    assert peaks[0] < least * 10**6 < peaks[1]
    assert (tmp_path / "kept.model").read_bytes() == (tmp_path / "whole.model").read_bytes()


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="memory of a process cannot be limited on this platform")
def test_learn_keeps_the_memory_limit_for_much_larger_logs(tmp_path: Path) -> None:
    assert_kept_within(tmp_path, 20_000_000)


def test_learn_refuses_a_memory_limit_below_the_smallest_pieces(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryBudget, "holds", lambda room, dataset: False)
    code, _, complaint = suffice("learn", "maze", "-o", "no.model", "--observations", "seen", "--memory", "100MB")
    assert (code, complaint.count("\n")) == (2, 1)
    assert complaint.startswith("suffice: --memory 100MB is too little for this log")
    assert complaint.endswith("Use at least 410MB, and 4 bytes more for each episode.\n"), (
        "their number is not known yet"
    )
    least = re.findall(r"at least (\d+MB)", complaint)
    assert suffice("learn", "maze", "-o", "a.model", "--observations", "seen", "--memory", *least)[0] == 0


def test_learn_reads_small_logs_at_once_for_any_limit(here: Path) -> None:
    assert suffice("learn", "maze", "-o", "a.model", "--observations", "seen", "--memory", "1MB")[0] == 0


def test_read_source_reads_mostly_padded_logs_in_pieces(tmp_path: Path) -> None:
    log = {"episode": [0] * 1000 + [*range(1, 100_000)], "step": [*range(1000)] + [0] * 99_999}
    rows = len(log["episode"])
    log |= {"seen": [0] * rows, "action": [0] * rows, "reward": [0] * rows}
    pq.write_table(pa.table(log), tmp_path / "log.parquet")
    dataset = Dataset.of(tmp_path / "log.parquet")
    room = MemoryBudget(500 * 10**6, 2)
    assert dataset is not None and room.holds(dataset)
    found = read_source(tmp_path / "log.parquet", ReadOptions(), room).episodes
    assert isinstance(found, StoredLog) and (found.n, found.horizon) == (100_000, 1000)


def test_memory_budget_allows_larger_pieces_with_more_memory() -> None:
    rooms = [MemoryBudget(memory * 10**6, 2) for memory in (450, 600, 1000, 4000)]
    assert sorted({room.rows for room in rooms}) == [room.rows for room in rooms]
    assert MemoryBudget(450 * 10**6, 64).workers() < MemoryBudget(4 * 10**9, 64).workers() <= 64


@pytest.mark.parametrize("family", ["conjunctions", "2,1,1", "adaptive"])
def test_learn_counts_the_same_when_episodes_are_prepared_in_slices(
    here: Path, in_pieces: Callable[[int], None], monkeypatch: pytest.MonkeyPatch, family: str
) -> None:
    given = ("maze", "--observations", "seen", "--family", family, "-o")
    assert suffice("learn", *given, "whole.model")[0] == 0
    in_pieces(2000)
    for module in (statistic, adaptive_layer):
        monkeypatch.setattr(module, "PREPARED", 1 << 12)
    assert suffice("learn", *given, "pieces.model")[0] == 0
    assert Path("pieces.model").read_bytes() == Path("whole.model").read_bytes()


def test_extent_finds_repeated_text_ids_of_any_length() -> None:
    """A divided episode is found by its id, in pieces with longer and with shorter ids."""
    long = pa.array(["b", "a rather long id"])
    assert _marks(pa.array(["b", "a"]))[0] == _marks(long)[0] and len(set(_marks(long).tolist())) == 2
    parts = [Extent(2, 1, ids[0].as_py(), ids[-1].as_py(), False, _marks(ids)) for ids in (long, long[::-1])]
    with pytest.raises(LogError, match="are not contiguous"):
        Extent.combine(parts, "log")
