"""`read_whole`: logs that are needed as a whole are refused before they are read if they do not fit into memory."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import suffice
from suffice.data.loading import read_data
from suffice.data.logs.reading import ReadOptions
from suffice.data.memory_limit import limit_memory, resident_bytes
from suffice.data.whole_logs import read_whole
from suffice.errors import MemoryLimitError
from support.confined import confined

STEPS = 20


def write_log(path: Path, episodes: int) -> Path:
    rng = np.random.default_rng(0)
    values = {name: rng.integers(2, size=episodes * STEPS) for name in ("seen", "action", "reward")}
    ids = {"episode": np.repeat(np.arange(episodes), STEPS), "step": np.tile(np.arange(STEPS), episodes)}
    pq.write_table(pa.table(ids | values), path)
    return path


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a model and a log of two million decisions, whose reading takes 0.15 GB."""
    folder = tmp_path_factory.mktemp("whole")
    write_log(folder / "large.parquet", 100_000)
    suffice.learn(write_log(folder / "small.parquet", 200), stationary=True).save(folder / "a.model")
    return folder


@pytest.mark.skipif(sys.platform != "linux", reason="memory of a process cannot be limited here")
@pytest.mark.parametrize("command", ["evaluate", "report", "explore", "check"])
def test_commands_refuse_a_log_larger_than_the_memory_limit(folder: Path, tmp_path: Path, command: str) -> None:
    log, page = str(folder / "large.parquet"), str(tmp_path / "a.html")
    words = [log] if command == "check" else [str(folder / "a.model"), "--log", log]
    words += ["-o", page] if command in ("report", "explore") else []
    ran = confined(300, command, *words, "--memory", "250MB")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert ran.stderr.startswith(f"suffice: {log}: reading this log as a whole needs about 0.1 GB beside the 0.")
    assert ran.stderr.endswith(" Raise --memory, or use a part of the log.\n") and ran.stderr.count("\n") == 1


def test_read_whole_reads_what_fits(folder: Path) -> None:
    with limit_memory(resident_bytes() + 600_000_000):
        episodes, _ = read_whole(folder / "large.parquet", ReadOptions())
    assert episodes.n == 100_000 and episodes.horizon == STEPS


def test_read_whole_refuses_padding_that_does_not_fit(tmp_path: Path) -> None:
    """20,000 episodes of one decision, padded to the 5,000 of another one."""
    path, lengths = tmp_path / "log.parquet", np.array([5_000, *[1] * 20_000])
    episode = np.repeat(np.arange(len(lengths)), lengths)
    values = dict.fromkeys(("seen", "action", "reward"), episode % 2)
    pq.write_table(pa.table({"episode": episode} | values), path)
    with (
        limit_memory(resident_bytes() + 50_000_000),
        pytest.raises(MemoryLimitError, match=r"log\.parquet: padded to 5000 decisions, .*\. Use a part of the log"),
    ):
        read_whole(path, ReadOptions())


def test_read_data_limits_several_logs(folder: Path) -> None:
    logs = [folder / "small.parquet", folder / "large.parquet"]
    with (
        limit_memory(resident_bytes() + 50_000_000),
        pytest.raises(MemoryLimitError, match=r"large\.parquet: reading this log as a whole .*suffice\.limit_memory"),
    ):
        read_data(logs, ReadOptions().encoder)
