"""Arrow files and streams, memory-mapped, with a check of sizes before anything is decompressed."""

from __future__ import annotations

import mmap
import struct
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import pyarrow as pa

from suffice.data.encoding.tables import FileError, LogTable, refuse_columns
from suffice.data.logs.arrays import first_line
from suffice.data.logs.arrow_messages import Message, is_file, messages
from suffice.data.logs.formats import LogFormat
from suffice.data.logs.limits import BROKEN, refuse_rows, refuse_unpacked
from suffice.data.logs.log_files import LogFiles, Unit, refuse_difference

LARGE_BATCH = 1 << 24  # bytes of a record batch that is not read as a whole
DROP = getattr(mmap, "MADV_DONTNEED", None)  # tells the system to free pages, which it can read again


class ArrowFormat(LogFormat):
    """The log format of Arrow files and streams."""

    name: ClassVar[str] = "arrow"
    title: ClassVar[str] = "Arrow"
    suffixes: ClassVar[tuple[str, ...]] = (".arrow", ".feather", ".ipc")

    def open(self, path: Path, text: Collection[str]) -> LogTable:
        """Open a file or stream; its values have types."""
        return open_arrow(path)

    def files(self, paths: Sequence[Path], text: Collection[str]) -> LogFiles:
        """Return the record batches of files."""
        return ArrowFiles(paths, text)

    def writer(self, sink: Any, schema: pa.Schema) -> Any:
        """Return a writer of an Arrow file."""
        return pa.ipc.new_file(sink, schema)


ARROW = ArrowFormat()


def open_arrow(path: Path) -> LogTable:
    """Open the columns of a file or a stream."""
    with _reading(path), pa.memory_map(str(path)) as file:
        data = memoryview(file.read_buffer())
        file.seek(0)
        refuse_unpacked(path, sum(message.unpacked for message in messages(data)))
        table = (pa.ipc.open_file if is_file(data) else pa.ipc.open_stream)(file).read_all()
        refuse_rows(path, table.num_rows)
        table.validate(full=True)  # damaged offsets would otherwise read arbitrary memory
    return LogTable.of(table, str(path))


class ArrowFiles(LogFiles):
    """The record batches of files; a stream is one unit, because it is read from its beginning."""

    @property
    def width(self) -> int:
        """Number of columns of each file."""
        return len(self.schema.names)

    @property
    def decisions(self) -> int:
        """Approximate number of decisions of all files."""
        return sum(unit.values for unit in self.units)

    @property
    def loaded(self) -> int:
        """Memory of the mapped bytes of all files, and of what they decompress to."""
        return sum(message.size + message.unpacked for about in self._abouts for message in about.messages)

    @property
    def largest(self) -> int:
        """Bytes to which the largest compressed batch decompresses."""
        return max((message.unpacked for about in self._abouts for message in about.messages), default=0)

    @cached_property
    def schema(self) -> pa.Schema:
        """The schema that all files share."""
        refuse_difference(self.files, [about.schema for about in self._abouts])
        return self._abouts[0].schema

    @cached_property
    def units(self) -> tuple[Unit, ...]:
        """The record batches of files, and whole streams."""
        found: list[Unit] = []
        first, nested = 0, any(pa.types.is_nested(field.type) for field in self.schema)
        for i, about in enumerate(self._abouts):
            batches = [message for message in about.messages if message.rows is not None]
            for group, part in enumerate([[batch] for batch in batches] if about.is_file else [batches]):
                rows = sum(message.rows or 0 for message in part)
                size = sum(message.unpacked or message.size for message in part) if nested else 0
                found.append(Unit(i, group, first, rows, max(rows, size // max(len(self.schema), 1))))
                first += rows
        return tuple(found)

    @cached_property
    def _abouts(self) -> tuple[_About, ...]:
        return tuple(_about(file) for file in self.files)

    def batches(self, file: int, groups: Sequence[int], columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Yield the rows of some record batches, of which only the pages in use stay in memory."""
        path, about = self.files[file], self._abouts[file]
        fields = sorted(self.schema.get_field_index(name) for name in columns)
        # With named fields, Arrow 26 would copy a mapped batch as a whole.
        options = pa.ipc.IpcReadOptions(included_fields=None if about.is_mapped else fields)
        with _reading(path), path.open("rb") as opened:
            mapped = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ) if about.is_mapped else None
            source = pa.OSFile(str(path)) if mapped is None else pa.BufferReader(pa.py_buffer(mapped))
            if about.is_file:
                reader = pa.ipc.open_file(source, options=options)
                found = (reader.get_batch(group) for group in groups)
            else:
                found = iter(pa.ipc.open_stream(source, options=options))
            for batch in found:
                for at in range(0, len(batch), rows):
                    table = pa.Table.from_batches([batch[at : at + rows]]).select(list(columns))
                    table.validate(full=True)
                    yield table
                    if mapped is not None and DROP is not None:
                        mapped.madvise(DROP)


class _About(NamedTuple):
    """What the metadata of a file say."""

    schema: pa.Schema
    is_file: bool
    messages: list[Message]

    @property
    def is_mapped(self) -> bool:
        """Whether batches are too large to be read one by one; a mapped file must not become shorter meanwhile."""
        return any(message.size > LARGE_BATCH for message in self.messages if not message.unpacked)


def _about(path: Path) -> _About:
    with _reading(path), pa.memory_map(str(path)) as file:
        data = memoryview(file.read_buffer())
        file.seek(0)
        found = list(messages(data))
        refuse_unpacked(path, sum(message.unpacked for message in found))
        refuse_rows(path, sum(message.rows or 0 for message in found))
        schema = (pa.ipc.open_file if is_file(data) else pa.ipc.open_stream)(file).schema
        refuse_columns(path, len(schema.names))  # names that are not UTF-8 raise an error
        return _About(schema, is_file(data), found)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Convert the errors of a damaged file."""
    try:
        yield
    except (MemoryError, pa.ArrowMemoryError) as error:
        raise MemoryError from error
    except (*BROKEN, struct.error) as error:
        raise FileError(f"{path}: this is not an Arrow file ({first_line(error)}). Export it again.") from error
