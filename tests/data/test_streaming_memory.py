"""Logs larger than memory: limits on memory are kept."""

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
    """From now on every Parquet log is too large, and pieces have about so many rows."""
    return read_in_pieces(monkeypatch)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder `maze`, a log in three files: who recalls the first sight is paid at the end."""
    return make_logs(tmp_path_factory)


# ---------------------------------------------------------------- memory

LIMIT = 600  # MB


def write_many(path: Path, episodes: int) -> None:
    """Five decisions each; the first sight says what pays at the end."""
    rng, chunk = np.random.default_rng(0), 200_000
    with pq.ParquetWriter(path, pa.table(few_steps(0, 1, rng)).schema) as writer:
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
    """In a process that cannot take more than so many MB; allocators that reserve more than they use are not asked."""

    def confine() -> None:
        if limit is not None:
            resource.setrlimit(resource.RLIMIT_DATA, (limit * 10**6, limit * 10**6))

    command = [sys.executable, "-m", "suffice", "learn", str(log), "-o", output, "--memory", memory, "--threads", "2"]
    plain = {"ARROW_DEFAULT_MEMORY_POOL": "system", "OPENBLAS_NUM_THREADS": "1"}
    return subprocess.run(
        command, preexec_fn=confine, env=os.environ | plain, capture_output=True, text=True, check=False
    )


def assert_kept_within(folder: Path, episodes: int) -> None:
    log = folder / "log.parquet"
    write_many(folder / "few.parquet", 40_000)  # to compile, which is no part of the limit
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


def test_no_more_of_a_file_is_held_than_a_piece(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).integers(0, 1 << 62, (20, 100_000))  # which cannot be packed
    with pq.ParquetWriter(tmp_path / "log.parquet", pa.schema({"noise": pa.int64()})) as writer:
        for group in rows:
            writer.write_table(pa.table({"noise": group}))
    dataset = Dataset.of(tmp_path / "log.parquet")
    assert dataset is not None
    before = pa.total_allocated_bytes()
    held = [pa.total_allocated_bytes() for _ in dataset.batches(0, len(dataset.units), ["noise"], 10_000)]
    assert len(held) >= 200 and max(held) - before < rows.nbytes / 4


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process cannot be confined")
def test_a_limit_is_kept_where_more_cannot_be_had(tmp_path: Path) -> None:
    assert_kept_within(tmp_path, 2_000_000)


@pytest.mark.long
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a process cannot be confined")
def test_a_limit_is_kept_by_logs_many_times_as_large(tmp_path: Path) -> None:
    assert_kept_within(tmp_path, 20_000_000)


def test_a_limit_that_nothing_fits_into_is_refused(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MemoryBudget, "holds", lambda room, dataset: False)
    code, _, complaint = suffice("learn", "maze", "-o", "no.model", "--observations", "seen", "--memory", "100MB")
    assert (code, complaint.count("\n")) == (2, 1)
    assert complaint.startswith("suffice: --memory 100MB is too little for this log")
    assert complaint.endswith("give at least 410MB, and 4 bytes more for each episode\n"), "how many is not known yet"
    least = re.findall(r"at least (\d+MB)", complaint)
    assert suffice("learn", "maze", "-o", "a.model", "--observations", "seen", "--memory", *least)[0] == 0


def test_small_logs_are_read_at_once_whatever_the_limit(here: Path) -> None:
    assert suffice("learn", "maze", "-o", "a.model", "--observations", "seen", "--memory", "1MB")[0] == 0


def test_what_is_mostly_padding_is_read_in_pieces(tmp_path: Path) -> None:
    log = {"episode": [0] * 1000 + [*range(1, 100_000)], "step": [*range(1000)] + [0] * 99_999}
    rows = len(log["episode"])
    log |= {"seen": [0] * rows, "action": [0] * rows, "reward": [0] * rows}
    pq.write_table(pa.table(log), tmp_path / "log.parquet")
    dataset = Dataset.of(tmp_path / "log.parquet")
    room = MemoryBudget(500 * 10**6, 2)
    assert dataset is not None and room.holds(dataset)
    found = read_source(tmp_path / "log.parquet", ReadOptions(), room).episodes
    assert isinstance(found, StoredLog) and (found.n, found.horizon) == (100_000, 1000)


def test_pieces_grow_with_the_memory_there_is() -> None:
    rooms = [MemoryBudget(memory * 10**6, 2) for memory in (450, 600, 1000, 4000)]
    assert sorted({room.rows for room in rooms}) == [room.rows for room in rooms]
    assert MemoryBudget(450 * 10**6, 64).workers() < MemoryBudget(4 * 10**9, 64).workers() <= 64


@pytest.mark.parametrize("family", ["conjunctions", "2,1,1", "adaptive"])
def test_episodes_prepared_slice_by_slice_count_the_same(
    here: Path, in_pieces: Callable[[int], None], monkeypatch: pytest.MonkeyPatch, family: str
) -> None:
    given = ("maze", "--observations", "seen", "--family", family, "-o")
    assert suffice("learn", *given, "whole.model")[0] == 0
    in_pieces(2000)
    for module in (statistic, adaptive_layer):
        monkeypatch.setattr(module, "PREPARED", 1 << 12)
    assert suffice("learn", *given, "pieces.model")[0] == 0
    assert Path("pieces.model").read_bytes() == Path("whole.model").read_bytes()


def test_text_ids_are_known_again_whatever_their_neighbours_are() -> None:
    """An episode torn in two is found out by its id, in pieces with longer and with shorter ids."""
    long = pa.array(["b", "a rather long id"])
    assert _marks(pa.array(["b", "a"]))[0] == _marks(long)[0] and len(set(_marks(long).tolist())) == 2
    parts = [Extent(2, 1, ids[0].as_py(), ids[-1].as_py(), False, _marks(ids)) for ids in (long, long[::-1])]
    with pytest.raises(LogError, match="do not lie together"):
        Extent.combine(parts, "log")
