"""Formats of log files, which open files as tables and write them.

A format is one class in a file of its own, listed in `FORMATS`. The suffix of a file chooses its format. Formats with
`files` are also read in batches, so that logs may be larger than memory or consist of several files (`datasets`).
"""

from __future__ import annotations

import stat
from abc import ABC, abstractmethod
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa

from suffice.data.encoding.tables import LogTable
from suffice.data.logs.limits import is_packed
from suffice.data.logs.log_files import LogFiles
from suffice.errors import LogError
from suffice.files.atomic import broken_link, similar_name_hint
from suffice.registry import Lazy, Registry

GZIP = b"\x1f\x8b"  # first bytes of a gzip file


class LogFormat(ABC):
    """A format of log files.

    A format that is only read defines `name`, `title`, `suffixes` and `open`, and `files` if it can be read in batches.
    One that is also written defines `writer` and, unless it keeps types, `read_back`.
    """

    name: ClassVar[str]  # key in `FORMATS`
    title: ClassVar[str]  # name in messages
    suffixes: ClassVar[tuple[str, ...]]  # of file names, in lower case
    on_workers: ClassVar[bool] = False  # whether the workers of a cluster can read parts of a file
    keeps_types: ClassVar[bool] = True  # whether files distinguish numbers from text

    @property
    def writes(self) -> bool:
        """Whether the format has a `writer`."""
        return type(self).writer is not LogFormat.writer

    @property
    def in_pieces(self) -> bool:
        """Whether the format has `files`."""
        return type(self).files is not LogFormat.files

    @abstractmethod
    def open(self, path: Path, text: Collection[str]) -> LogTable:
        """Open a file that is not empty; in formats without types, the columns `text` are text."""

    def files(self, paths: Sequence[Path], text: Collection[str]) -> LogFiles | None:
        """Return the files of one log, to be read in batches; None if a single file can only be read as a whole."""
        return None

    def writer(self, sink: Any, schema: pa.Schema) -> Any:
        """Return a context manager with a method `write_table`, which writes to an open binary file."""
        raise NotImplementedError

    def read_back(self, table: pa.Table) -> pa.Table:
        """Return the table as it is read after writing; the same if types are kept."""
        return table


FORMATS: Registry[LogFormat] = Registry(
    "log format",
    {
        "parquet": Lazy("suffice.data.logs.parquet_files:PARQUET"),
        "arrow": Lazy("suffice.data.logs.arrow_files:ARROW"),
        "csv": Lazy("suffice.data.logs.csv_files:CSV"),
        "tsv": Lazy("suffice.data.logs.csv_files:TSV"),
        "json": Lazy("suffice.data.logs.json_files:JSON"),
    },
    group="suffice.formats",
    needs=("name", "title", "suffixes", "open", "files", "writes", "in_pieces"),
    instances=True,
)


def format_of(path: Path) -> LogFormat:
    """Return the format of a file by its suffix."""
    for names in (FORMATS.own, FORMATS):  # plug-ins are loaded only if needed
        for name in names:
            if path.name.lower().endswith(FORMATS[name].suffixes):
                return FORMATS[name]
    titles = either([log_format.title for log_format in FORMATS.values()])
    endings = either(list(all_suffixes()))
    problem = "this is named like a model" if path.suffix.lower() == ".model" else "the file type is not known"
    raise LogError(f"{path}: {problem}. Use a {titles} file, whose name ends in {endings}.")


def format_to_write(path: Path) -> LogFormat:
    """Return the format in which a file of this name is written."""
    found = format_of(path)
    if not found.writes:
        known = either([other.suffixes[0] for other in FORMATS.values() if other.writes])
        raise LogError(f"{path}: logs are not written as {found.name.upper()}. Name the file {known}.")
    return found


def all_suffixes() -> tuple[str, ...]:
    """Return the suffixes of log files."""
    return tuple(suffix for log_format in FORMATS.values() for suffix in log_format.suffixes)


def either(words: list[str]) -> str:
    """Join words as `a, b or c`."""
    return " or ".join(filter(None, (", ".join(words[:-1]), words[-1])))


def no_such_file(path: Path) -> str:
    """Return the message about a file that does not exist: a broken link, or perhaps a misspelt name."""
    return broken_link(path) or (
        f"{path}: there is no such file{similar_name_hint(path) or '. Check the name and the folder.'}"
    )


def refuse_bytes(path: Path) -> None:
    """Refuse pipes and devices, empty files, and files that are compressed although their name does not say so."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise LogError(f"{path}: this is a pipe or a device. Save the data to a file first.")
    if found.st_size == 0:
        raise LogError(f"{path}: the file is empty. Write one row per decision.")
    with path.open("rb") as file:
        packed = file.read(len(GZIP)) == GZIP
    if packed and not is_packed(path):
        name = f"{path.name}.gz"
        fix = f"Rename it to {name}" if name.lower().endswith(all_suffixes()) else "Unpack it with gunzip"
        raise LogError(f"{path}: the file is compressed by gzip, but its name does not end in .gz. {fix}.")
    if is_packed(path) and not packed:
        raise LogError(f"{path}: the file is not compressed by gzip. Rename it to {path.name[:-3]}.")
