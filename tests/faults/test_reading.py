"""Files that change, shrink or disappear while they are read: one clear line, or the correct model."""

from __future__ import annotations

import gzip
import io
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

from faults.conftest import IN_PIECES, Undisturbed
from faults.harness import Fault, here, suffice
from suffice.data.logs import parquet_files

Record = Callable[[str, object], None]


@pytest.fixture
def mine(log: Path, tmp_path: Path) -> Path:
    """Write a copy of the log in many row groups, to be damaged."""
    pq.write_table(pq.read_table(log), tmp_path / "mine.parquet", row_group_size=50)
    return tmp_path / "mine.parquet"


def _cut(path: Path) -> None:
    os.truncate(path, path.stat().st_size * 2 // 3)


def _overwritten(path: Path) -> None:
    """Overwrite the middle of a file, so that its footer describes other contents."""
    with path.open("r+b") as file:
        file.seek(path.stat().st_size // 5)
        file.write(b"\xff" * (path.stat().st_size // 3))


def _exchanged(path: Path) -> None:
    """Replace a file by another log with longer episodes, in one row group."""
    other = path.with_name("other.parquet")
    shutil.move(other, path)


def before_opening(k: int, damage: Callable[[Path], None]) -> Fault:
    """Damage a file before it is opened for the k-th time."""

    def fault() -> None:
        times, opening = iter(range(1, 10_000)), parquet_files._open

        def _open(file: Path, *args: Any) -> pq.ParquetFile:
            if next(times) == k:
                damage(file)
            return opening(file, *args)

        parquet_files._open = _open

    return fault


@pytest.mark.parametrize("damage", [Path.unlink, _cut, _overwritten, _exchanged])
@pytest.mark.parametrize("options", [(), IN_PIECES], ids=["at once", "in pieces"])
def test_learn_refuses_a_file_that_changes_while_it_is_read(
    options: tuple[str, ...],
    damage: Callable[[Path], None],
    mine: Path,
    log: Path,
    tmp_path: Path,
    undisturbed: Undisturbed,
    record_property: Record,
) -> None:
    simulated = ("simulate", "t-maze", "--horizon", "5", "--set", "length=2", "--episodes", "200", "-o")
    expected, whole, faults = undisturbed(*options), mine.read_bytes(), 0
    assert here(*simulated, tmp_path / "other.parquet").code == 0
    other = (tmp_path / "other.parquet").read_bytes()
    for k in range(1, 40, 3):
        mine.write_bytes(whole)
        (tmp_path / "other.parquet").write_bytes(other)
        ran = suffice("learn", mine, "-o", tmp_path / "a.model", *options, fault=before_opening(k, damage))
        if ran.code == 0 and mine.exists() and mine.read_bytes() == whole:  # it was opened fewer than k times
            break
        faults += 1
        assert ran.refused or (ran.code, ran.err) == (0, ""), ran
        if ran.refused:
            assert "mine.parquet" in ran.err and not (tmp_path / "a.model").exists()
        elif damage is not _exchanged:
            assert (tmp_path / "a.model").read_bytes() == expected
        (tmp_path / "a.model").unlink(missing_ok=True)
    assert faults > 1
    record_property("files that changed while they were read", faults)


@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), pa.ArrowInvalid("broken page"), MemoryError()])
@pytest.mark.parametrize("options", [(), IN_PIECES], ids=["at once", "in pieces"])
def test_learn_reports_a_row_group_that_cannot_be_read(
    options: tuple[str, ...],
    error: Exception,
    mine: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    record_property: Record,
) -> None:
    class Broken:
        def __init__(self, file: pq.ParquetFile) -> None:
            self._file = file

        def __getattr__(self, name: str) -> Any:
            return getattr(self._file, name)

        def read(self, *args: Any, **options: Any) -> pa.Table:
            raise error

        def iter_batches(self, *args: Any, **options: Any) -> Any:
            for i, batch in enumerate(self._file.iter_batches(*args, **options)):
                if i == 2:
                    raise error
                yield batch

    opening = parquet_files._open
    monkeypatch.setattr(parquet_files, "_open", lambda *args: Broken(opening(*args)))
    ran = here("learn", mine, "-o", tmp_path / "a.model", *options)
    assert ran.refused or (isinstance(error, MemoryError) and ran.code == 1), ran
    assert len(ran.err.splitlines()) == 1 and not (tmp_path / "a.model").exists()
    record_property("files that changed while they were read", 1)


@pytest.mark.parametrize("name", ["cut.parquet", "cut.csv", "cut.jsonl", "cut.csv.gz", "cut.arrow"])
def test_check_refuses_truncated_files(name: str, log: Path, tmp_path: Path, record_property: Record) -> None:
    """Only a text file that ends between two rows is accepted, as a shorter log."""
    whole = _written(log, tmp_path / name)
    cuts = sorted({len(whole) * i // 12 for i in range(12)} | {len(whole) - 1})
    for cut in cuts:
        (tmp_path / name).write_bytes(whole[:cut])
        ran = here("check", tmp_path / name)
        assert ran.refused or (ran.code == 0 and name in ("cut.csv", "cut.jsonl")), ran
    record_property("files that changed while they were read", len(cuts))


def _written(log: Path, path: Path) -> bytes:
    table = pq.read_table(log)
    if path.suffix == ".parquet":
        pq.write_table(table, path)
    elif path.suffix == ".arrow":
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, 100)
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        buffer = io.BytesIO()
        csv.write_csv(table, buffer)
        path.write_bytes(gzip.compress(buffer.getvalue(), mtime=0) if path.suffix == ".gz" else buffer.getvalue())
    return path.read_bytes()
