"""Helpers for logs that are read in pieces."""

from __future__ import annotations

import contextlib
import io
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from suffice.cli.main import main
from suffice.data.streaming import MemoryBudget


def write_files(folder: Path, table: pa.Table, files: Sequence[Sequence[int]]) -> Path:
    """Write a table to Parquet files with row groups of these sizes."""
    at = 0
    for i, groups in enumerate(files):
        with pq.ParquetWriter(folder / f"part-{i}.parquet", table.schema) as writer:
            for rows in groups or [0]:
                writer.write_table(table[at : at + rows], row_group_size=max(rows, 1))
                at += rows
    return folder


def read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that makes every Parquet log too large, with pieces of about `rows` rows."""

    def begin(rows: int) -> None:
        monkeypatch.setattr(MemoryBudget, "holds", lambda room, dataset: False)
        monkeypatch.setattr(MemoryBudget, "rows", rows)

    return begin


# ---------------------------------------------------------------- logs


def make_logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the folder `maze`, a log in three files in which memory of the first observation is rewarded."""
    folder, rng = tmp_path_factory.mktemp("logs"), random.Random(1)
    rows = []
    for episode in range(400):
        cue, length, weight = rng.choice("lr"), 3 if episode % 7 else 2, rng.randint(1, 3)
        for step in range(length):
            action, last = rng.choice("lr"), step == length - 1
            rows.append(
                {
                    "episode": 3 * episode - 100,
                    "step": step,
                    "seen": cue if step == 0 else rng.choice("xy"),
                    "heat": round(rng.gauss(0, 1), 3),
                    "action": action,
                    "reward": (0.5 if step else 0.0) + (length == 3 and last and action == cue),
                    "count": weight,
                    "timeout": last and length == 2 and episode > 200,
                }
            )
    (folder / "maze").mkdir()
    third = len(rows) // 3
    files = [[third, third - 77], [1] * 30 + [47], [len(rows) - 2 * third]]
    write_files(folder / "maze", pa.Table.from_pylist(rows), files)
    return folder


# ---------------------------------------------------------------- learning


def suffice(*args: str) -> tuple[int, str, str]:
    """Run the command line; return its exit code, output and errors."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["suffice", *args]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), pytest.raises(SystemExit) as stopped:
            main()
    finally:
        sys.argv = before
    return int(stopped.value.code or 0), out.getvalue(), err.getvalue()
