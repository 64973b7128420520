"""Logs in one or many files of one format, opened as a table or read in batches.

A folder or a pattern with `*` names several files. They form one log, in the order of their names, and an episode may
continue in the next file. A log that is read in pieces is never in memory as a whole; the rows of an episode must then
be contiguous, which a first pass over the ids checks (`pieces`).
"""

from __future__ import annotations

import re
import zlib
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from glob import glob, has_magic
from itertools import groupby
from pathlib import Path
from typing import Any

import pyarrow as pa

from suffice.data.encoding.tables import FileError, LogTable, settled
from suffice.data.logs.arrays import first_line
from suffice.data.logs.formats import FORMATS, LogFormat, all_suffixes, format_of, refuse_bytes
from suffice.data.logs.limits import BROKEN
from suffice.data.logs.log_files import LogFiles, Unit
from suffice.errors import LogError


@dataclass(frozen=True)
class Dataset:
    """A log in one or several files of a format that is read in batches."""

    name: str
    files: tuple[Path, ...]
    text: tuple[str, ...] = ()  # columns that are text in formats without types

    @classmethod
    def of(cls, source: object, text: Collection[str] = ()) -> Dataset | None:
        """Return the files that a path, folder or pattern names; None if they are not read in batches."""
        if not isinstance(source, str | Path):
            return None
        path, name = Path(source), str(source)
        if path.is_dir():
            return cls(name, tuple(sorted(_logs_in(path, name), key=_by_numbers)), tuple(text))
        if has_magic(name) and not path.exists():
            found = [Path(file) for file in glob(name, recursive=True) if Path(file).is_file()]
            if not found:
                raise FileError(
                    f"{name}: no file matches this pattern. Check the pattern and its quotes, or pass a folder."
                )
            _refuse_several_formats(name, found, "Use a pattern that matches files of one type")
            return cls(name, tuple(sorted(found, key=_by_numbers)), tuple(text))
        log_format = _format_in_pieces(path)
        if log_format is None or not path.is_file():
            return None
        with _reading(path):
            refuse_bytes(path)
            whole = log_format.files((path,), text) is None
        return None if whole else cls(name, (path,), tuple(text))

    @cached_property
    def _stamps(self) -> dict[Path, tuple[int, int, int]]:
        """The identity of each file when it was opened first."""
        return {}

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what differs between machines: the stamps, and what was read."""
        return {name: self.__dict__[name] for name in self.__dataclass_fields__}

    @property
    def format(self) -> LogFormat:
        """The format of all files."""
        return format_of(self.files[0])

    @cached_property
    def about(self) -> LogFiles:
        """The files as their format reads them."""
        for file in self.files:
            self._refuse_if_changed(file)
            with _reading(file):
                refuse_bytes(file)
        with _reading(self.name):
            found = self.format.files(self.files, self.text)
        if found is None:
            raise FileError(f"{self.name}: some of these files can only be read one by one. Pass them one by one.")
        return found

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema that all files share."""
        with _reading(self.name):
            found = self.about.schema
        for file in self.files:  # a schema may be found by reading all rows
            self._refuse_if_changed(file)
        return found

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The parts of all files, in order."""
        assert self.schema is not None, "files are checked before their rows are counted"
        return self.about.units

    @property
    def rows(self) -> int:
        """Number of rows of all files."""
        return sum(unit.rows for unit in self.units)

    @cached_property
    def decisions(self) -> int:
        """Approximate number of decisions of all files."""
        with _reading(self.name):
            return self.about.decisions

    @cached_property
    def loaded(self) -> int:
        """Approximate memory of the columns, if they are not read one at a time."""
        with _reading(self.name):
            return self.about.loaded

    @cached_property
    def width(self) -> int:
        """Number of columns of each file."""
        with _reading(self.name):
            return self.about.width

    def place(self, row: int) -> str:
        """Return the row number to show to a user, with the file if there are several."""
        if len(self.files) == 1:
            return self.about.row_name(0, row)
        unit = next(unit for unit in reversed(self.units) if unit.first <= row)
        before = next(other.first for other in self.units if other.file == unit.file)
        return f"{self.about.row_name(unit.file, row - before)} of {self.files[unit.file].name}"

    def open(self) -> LogTable:
        """Open all rows as a table, whose columns are read on demand if the format allows it."""
        if self.about.by_column:
            return self.table()
        parts = [table for _, table in self.batches(0, len(self.units), self.schema.names, max(self.rows, 1))]
        whole = pa.concat_tables(parts) if parts else self.schema.empty_table()
        return LogTable.of(whole, self.name, self.place)

    def table(self) -> LogTable:
        """Open all rows as a table, whose columns are read on demand."""

        def column(name: str) -> pa.ChunkedArray:
            parts: list[pa.Array] = []
            for i, file in enumerate(self.files):
                self._refuse_if_changed(file)
                parts += settled(self.about.column(i, name)).chunks
                self._refuse_if_changed(file)
            return pa.chunked_array(parts) if parts else settled(self.schema.empty_table().column(name))

        empty = LogTable.of(self.schema.empty_table(), self.name, self.place)
        return replace(empty, rows=self.rows, column=column)

    def batches(self, begin: int, end: int, columns: Sequence[str], rows: int) -> Iterator[tuple[int, pa.Table]]:
        """Yield the rows of units begin..end−1 in batches of at most `rows`, each with the number of its first row."""
        for i, units in groupby(self.units[begin:end], lambda unit: unit.file):
            file, wanted = self.files[i], list(units)
            first = wanted[0].first
            self._refuse_if_changed(file)
            try:
                with _reading(file):
                    for table in self.about.batches(i, [unit.group for unit in wanted], columns, rows):
                        for part in (table[at : at + rows] for at in range(0, len(table), rows)):
                            yield first, part
                            first += len(part)
            except Exception:
                self._refuse_if_changed(file)  # perhaps the cause
                raise
            self._refuse_if_changed(file)
            if first != wanted[-1].first + wanted[-1].rows:
                raise FileError(f"{file}: there are fewer rows than its metadata states. Export it again.")

    def _refuse_if_changed(self, file: Path) -> None:
        """Refuse a file that changed, because a log is read in several passes."""
        try:
            found = file.stat()
        except OSError as error:
            raise FileError(
                f"{file}: the file cannot be read ({error.strerror}). Check the file and its permissions."
            ) from error
        stamp = found.st_ino, found.st_size, found.st_mtime_ns
        if self._stamps.setdefault(file, stamp) != stamp:
            raise FileError(f"{file}: the file changed while it was read. Read it again once it is complete.")


@contextmanager
def _reading(file: Path | str) -> Iterator[None]:
    """Convert the errors of a file that is damaged or cannot be read."""
    try:
        yield
    except pa.ArrowMemoryError as error:
        raise MemoryError from error
    except MemoryError:
        raise
    except OSError as error:
        raise FileError(
            f"{file}: the file cannot be read ({first_line(error)}). Check the file and its permissions."
        ) from error
    except (*BROKEN, EOFError, zlib.error) as error:
        raise FileError(f"{file}: the file cannot be read ({first_line(error)}). Copy or export it again.") from error


def _format_in_pieces(file: Path) -> LogFormat | None:
    """Return the format of a file if it is read in batches."""
    try:
        found = format_of(file)
    except LogError:  # the file type is not known
        return None
    return found if found.in_pieces else None


def files_of(source: str) -> tuple[str | Path, ...]:
    """Return the files of a log, or its name if it is not in files that are read in batches."""
    dataset = Dataset.of(source)
    return (source,) if dataset is None else dataset.files


def _logs_in(folder: Path, name: str) -> list[Path]:
    """Return the logs in a folder: its Parquet files, or else the files of its only format.

    Names that begin with a dot or an underscore belong to other programs.
    """
    found = []
    for file in folder.rglob("*"):
        hidden = any(part.startswith((".", "_")) for part in file.relative_to(folder).parts)
        if not hidden and file.name.lower().endswith(all_suffixes()) and file.is_file():
            found.append(file)
    if not found:
        raise FileError(f"{name}: there is no log in this folder. Pass a file, or another folder.")
    preferred = FORMATS[next(iter(FORMATS.own))]
    if first := [file for file in found if format_of(file) is preferred]:
        return first
    _refuse_several_formats(name, sorted(found), f"Pass a pattern in quotes, such as '{name}/*{found[0].suffix}'")
    return found


def _refuse_several_formats(name: str, files: Sequence[Path], fix: str) -> None:
    """Refuse files that cannot be combined to one log."""
    if other := [file for file in files if _format_in_pieces(file) is None]:
        raise FileError(f"{other[0]}: files of this type cannot be combined. Pass the files one by one.")
    titles = dict.fromkeys(format_of(file).title for file in files)
    if len(titles) > 1:
        raise FileError(f"{name}: there are {' and '.join(titles)} files. {fix}.")


def _by_numbers(file: Path) -> list[tuple[int, int, str]]:
    """Return a sort key by which part-2 comes before part-10."""
    parts = re.split(r"([0-9]+)", str(file))
    keys = [(1, int(part), "") if i % 2 else (0, 0, part) for i, part in enumerate(parts)]
    return [*keys, (2, 0, str(file))]  # distinguishes part-1 from part-01
