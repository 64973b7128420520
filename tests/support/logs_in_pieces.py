"""Helpers for logs that are read in pieces."""

from __future__ import annotations

import contextlib
import gzip
import io
import json
import random
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from suffice.cli.main import main
from suffice.data.streaming import MemoryBudget


def write_files(folder: Path, table: pa.Table, files: Sequence[Sequence[int]], suffix: str = ".parquet") -> Path:
    """Write a table to files with row groups or record batches of these sizes, if the format has any."""
    at = 0
    for i, groups in enumerate(files):
        parts = [table[at + sum(groups[:j]) : at + sum(groups[: j + 1])] for j in range(len(groups))]
        at += sum(groups)
        write_parts(folder / f"part-{i}{suffix}", parts or [table[:0]])
    return folder


def write_parts(path: Path, parts: Sequence[pa.Table]) -> None:
    """Write a log in the format of its name; `.stream.arrow` is a stream, and `.lz4.arrow` is compressed."""
    rows, schema = pa.concat_tables(parts), parts[0].schema
    if path.suffix == ".arrow":
        options = pa.ipc.IpcWriteOptions(compression="lz4" if ".lz4" in path.name else None)
        kind = pa.ipc.new_stream if ".stream" in path.name else pa.ipc.new_file
        with pa.OSFile(str(path), "wb") as file, kind(file, schema, options=options) as writer:
            for part in parts:
                writer.write_table(part)
    elif path.suffix == ".parquet":
        with pq.ParquetWriter(path, schema) as writer:
            for part in parts:
                writer.write_table(part, row_group_size=max(len(part), 1))
    elif ".csv" in path.name:
        with pa.output_stream(str(path), compression="gzip" if path.suffix == ".gz" else None) as sink:
            csv.write_csv(rows, sink)
    elif len(rows):  # a file of lines without rows is empty, and refused
        text = "".join(json.dumps(row) + "\n" for row in rows.to_pylist()).encode()
        path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def read_in_pieces(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Return a function that makes every log too large, with pieces of about `rows` rows."""

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
