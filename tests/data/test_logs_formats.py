"""The table `FORMATS` of log formats, to which other packages may add."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.csv as pacsv
import pytest

from suffice import LogError, learn, read_log, write_log
from suffice.data.encoding.tables import LogTable
from suffice.data.logs.datasets import Dataset
from suffice.data.logs.formats import FORMATS, LogFormat, all_suffixes, format_of

STEPS = [[("red", "go", 0), ("green", "go", 1)], [("green", "go", 1), ("red", "stop", 0.5)]]


class Bars(LogFormat):
    """A log format with values separated by bars."""

    name: ClassVar[str] = "bars"
    title: ClassVar[str] = "BSV"
    suffixes: ClassVar[tuple[str, ...]] = (".bsv",)
    keeps_types: ClassVar[bool] = False

    def open(self, path: Path, text: Collection[str]) -> LogTable:
        return LogTable.of(pacsv.read_csv(path, parse_options=pacsv.ParseOptions(delimiter="|")), str(path))

    def writer(self, sink: Any, schema: pa.Schema) -> Any:
        return pacsv.CSVWriter(sink, schema, write_options=pacsv.WriteOptions(delimiter="|"))

    def read_back(self, table: pa.Table) -> pa.Table:
        buffer = pa.BufferOutputStream()
        with self.writer(buffer, table.schema) as writer:
            writer.write_table(table)
        return pacsv.read_csv(pa.BufferReader(buffer.getvalue()), parse_options=pacsv.ParseOptions(delimiter="|"))


@contextmanager
def registered(log_format: LogFormat) -> Iterator[None]:
    FORMATS.register(log_format.name, log_format)
    try:
        yield
    finally:
        FORMATS.unregister(log_format.name)


def test_formats_have_distinct_suffixes() -> None:
    suffixes = [suffix for name in FORMATS for suffix in FORMATS[name].suffixes]
    assert len(set(suffixes)) == len(suffixes)
    for suffix in suffixes:
        assert suffix in FORMATS[format_of(Path(f"LOG{suffix.upper()}")).name].suffixes


@pytest.mark.parametrize("suffix", [suffix for name in FORMATS for suffix in FORMATS[name].suffixes])
def test_formats_read_what_they_write(tmp_path: Path, suffix: str) -> None:
    episodes = read_log(STEPS)
    path = tmp_path / f"log{suffix}"
    if not format_of(path).writes:
        with pytest.raises(LogError, match="logs are not written as"):
            write_log(episodes, path)
        return
    write_log(episodes, path)
    assert read_log(path).digest() == episodes.digest()
    assert (Dataset.of(path) is not None) == format_of(path).in_pieces


@pytest.mark.parametrize("suffix", [".bsv", *(suffix for name in FORMATS for suffix in FORMATS[name].suffixes)])
def test_formats_keep_text_that_looks_like_numbers_or_refuse_it(tmp_path: Path, suffix: str) -> None:
    steps = [[("1", "1", 0), ("2", "1", 1)], [("2", "2", 1), ("1", "1", 0.5)]]
    episodes, path = read_log(steps), tmp_path / f"log{suffix}"
    with registered(Bars()):
        try:
            write_log(episodes, path)
        except LogError:
            assert not path.exists()
        else:
            assert read_log(path).digest() == episodes.digest()


def test_writes_is_true_for_formats_with_a_writer() -> None:
    class Reads(LogFormat):
        open = Bars.open

    class ReadsAndWrites(Reads):
        writer = Bars.writer

    assert not Reads().writes and ReadsAndWrites().writes


def test_formats_register_makes_a_format_readable_and_writable(tmp_path: Path) -> None:
    episodes = read_log(STEPS)
    with registered(Bars()):
        write_log(episodes, tmp_path / "log.bsv")
        assert "|" in (tmp_path / "log.bsv").read_text()
        assert read_log(tmp_path / "log.bsv").digest() == episodes.digest()
        assert learn(str(tmp_path / "log.bsv")).about.log_hash == episodes.digest()
        assert ".bsv" in all_suffixes()
        with pytest.raises(
            LogError, match=r"the file type is not known\. Use a Parquet, Arrow, CSV, .* or BSV file, .* or \.bsv\.$"
        ):
            format_of(Path("log.xls"))
    with pytest.raises(
        LogError,
        match=r"the file type is not known\. Use a Parquet, Arrow, CSV\W.* file, whose name ends in \.parquet, ",
    ):
        read_log(tmp_path / "log.bsv")


def test_write_log_refuses_a_format_that_is_only_read(tmp_path: Path) -> None:
    class ReadOnly(LogFormat):
        name: ClassVar[str] = "other"
        title: ClassVar[str] = "Other"
        suffixes: ClassVar[tuple[str, ...]] = (".other",)
        open = Bars.open

    with (
        registered(ReadOnly()),
        pytest.raises(LogError, match=r"not written as OTHER\. Name the file \.parquet, \.arrow"),
    ):
        write_log(read_log(STEPS), tmp_path / "log.other")
