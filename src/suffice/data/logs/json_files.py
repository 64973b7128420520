"""JSON files with one object per line or one array of objects; an object is a row or a whole episode."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.json as pajson

from suffice.data.encoding.tables import LogTable
from suffice.data.logs.arrays import first_line, table_of_rows
from suffice.data.logs.formats import LogFormat
from suffice.data.logs.json_batches import JsonFiles
from suffice.data.logs.json_cells import (
    MALFORMED,
    MARK,
    PARSED_BYTES,
    float_places,
    has_lines,
    is_valid,
    large_places,
    line_of,
    only_integers,
    problem_in,
    refuse_deep,
    starting_line,
    unreadable,
    untimed,
    with_entries,
    with_integers,
)
from suffice.data.logs.limits import BROKEN, is_packed, opened
from suffice.errors import LogError
from suffice.files import json_text


class Json(LogFormat):
    """The log format of JSON files, which are only read."""

    name: ClassVar[str] = "json"
    title: ClassVar[str] = "JSON lines"
    suffixes: ClassVar[tuple[str, ...]] = (".jsonl", ".jsonl.gz", ".ndjson", ".json")

    def open(self, path: Path, text: Collection[str]) -> LogTable:
        """Open a file; its values have types."""
        return open_json(path)

    def files(self, paths: Sequence[Path], text: Collection[str]) -> JsonFiles | None:
        """Return files of lines; arrays are read as a whole."""
        arrays = [path for path in paths if not has_lines(path)]
        if arrays and len(paths) > 1:
            raise LogError(f"{arrays[0]}: files are combined only if they have one object per line. Write them so.")
        return None if arrays else JsonFiles(paths, text)


JSON = Json()


def open_json(path: Path) -> LogTable:
    """Open lines of objects, an array of them, or a single one on several lines."""
    if has_lines(path):
        return _open_lines(path)
    try:
        found: Any = json_text.decode(_whole(path), dict[str, Any] | list[dict[str, Any]])  # type: ignore[arg-type]
    except MALFORMED as error:
        if not starting_line(path).startswith(b"["):
            raise LogError(f"{path}{problem_in(path)}") from error
        raise LogError(
            f"{path}: this is not an array of objects ({first_line(error)}). Write one object per row."
        ) from error
    return LogTable.of(table_of_rows(found if isinstance(found, list) else [found], str(path)), str(path))


def _open_lines(path: Path) -> LogTable:
    refuse_deep(path)
    try:
        table = _parse(path)
        if (schema := with_entries(untimed(table.schema))) != table.schema or not is_valid(table):
            table = _parse(path, schema)
        table.validate(full=True)  # refuses text that is not UTF-8
        large = [place for name in schema.names for place in large_places(table.column(name), (name,))]
        if inexact := float_places(schema, large):
            table = _parse(path, with_integers(schema, only_integers([path], inexact)))
    except (MemoryError, pa.ArrowMemoryError) as error:
        raise MemoryError from error
    except BROKEN as error:
        raise unreadable(path, error) from error
    return LogTable.of(table, str(path), lambda row: line_of(path, row))


def _parse(path: Path, schema: pa.Schema | None = None) -> pa.Table:
    with pa.input_stream(str(path), compression="gzip" if is_packed(path) else None) as stream:
        return pajson.read_json(stream, pajson.ReadOptions(block_size=PARSED_BYTES), pajson.ParseOptions(schema))


def _whole(path: Path) -> bytes:
    """Return the bytes of a file that does not have one object per line."""
    data = bytearray()
    with opened(path) as file:
        while piece := file.read(1 << 20):
            data += piece
            if len(data) > PARSED_BYTES:
                limit = f"{PARSED_BYTES >> 20} MiB"
                raise LogError(f"{path}: an array of more than {limit} cannot be read. Write one object per line.")
    return bytes(data).removeprefix(MARK)
