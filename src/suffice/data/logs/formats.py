"""Log formats: how files of each kind are opened as tables, and written.

A format is one class in a file of its own, listed in `FORMATS`. The suffix of a file chooses its format. Parquet alone
can be read in pieces (`datasets`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Collection
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from suffice.data.encoding.tables import LogTable
from suffice.errors import LogError
from suffice.registry import Lazy, Registry


class LogFormat(ABC):
    """A format of log files; one that is only read defines `name`, `title`, `suffixes` and `open`.

    One that is written too defines `writer` and, unless it keeps types, `read_back`.
    """

    name: ClassVar[str]  # in `FORMATS`
    title: ClassVar[str]  # in messages
    suffixes: ClassVar[tuple[str, ...]]  # of file names, in lower case
    in_pieces: ClassVar[bool] = False  # whether files are Parquet, which `Dataset` reads in pieces
    keeps_types: ClassVar[bool] = True  # whether numbers and text are told apart when they are read again

    @property
    def writes(self) -> bool:
        """Whether there is a `writer`."""
        return type(self).writer is not LogFormat.writer

    @abstractmethod
    def open(self, path: Path, text: Collection[str]) -> LogTable:
        """Open a file that is not empty; where values have no types, the columns `text` are text."""

    def writer(self, sink: Any, schema: pa.Schema) -> Any:
        """A context manager with a method `write_table`, which writes to an open binary file."""
        raise NotImplementedError

    def read_back(self, table: pa.Table) -> pa.Table:
        """What reading gives after a table was written; the same where types are kept."""
        return table


FORMATS: Registry[LogFormat] = Registry(
    "log format",
    {
        "parquet": Lazy("suffice.data.logs.parquet_files:PARQUET"),
        "arrow": Lazy("suffice.data.logs.arrow_files:ARROW"),
        "csv": Lazy("suffice.data.logs.csv_files:CSV"),
        "json": Lazy("suffice.data.logs.json_files:JSON"),
    },
    group="suffice.formats",
    needs=("name", "title", "suffixes", "open", "writes", "in_pieces"),
    instances=True,
)


def format_of(path: Path) -> LogFormat:
    """The format of a file, by its suffix."""
    for names in (FORMATS.own, FORMATS):  # others are searched for only if they are needed
        for name in names:
            if path.name.lower().endswith(FORMATS[name].suffixes):
                return FORMATS[name]
    titles = either([log_format.title for log_format in FORMATS.values()])
    raise LogError(f"{path}: a log is a {titles} file; name it {', '.join(all_suffixes())}")


def format_to_write(path: Path) -> LogFormat:
    """The format in which a file of this name is written."""
    found = format_of(path)
    if not found.writes:
        known = either([other.suffixes[0] for other in FORMATS.values() if other.writes])
        raise LogError(f"{path}: logs are read but not written as {found.name.upper()}; name it {known}")
    return found


def all_suffixes() -> tuple[str, ...]:
    """The suffixes of log files."""
    return tuple(suffix for log_format in FORMATS.values() for suffix in log_format.suffixes)


def suffixes_in_pieces() -> tuple[str, ...]:
    """The suffixes of log files that can be read in pieces; `Dataset` reads those of this project only."""
    own = [FORMATS[name] for name in FORMATS.own]
    return tuple(suffix for log_format in own if log_format.in_pieces for suffix in log_format.suffixes)


def either(words: list[str]) -> str:
    """`a, b or c`."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))
