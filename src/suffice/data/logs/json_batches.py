"""Files of JSON lines in batches, with the column types of the whole log.

A first pass lets Arrow infer the types of each chunk and combines them: a column of integers and floats is one of
floats, missing values fit any type, and records have the fields of all of their chunks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.json as pajson

from suffice.data.encoding.tables import LogTable
from suffice.data.logs.arrays import ONE_KIND
from suffice.data.logs.json_cells import (
    Place,
    float_places,
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
from suffice.data.logs.limits import BROKEN
from suffice.data.logs.log_files import TextFiles, chunks
from suffice.errors import LogError
from suffice.files import json_text

BYTES_A_VALUE = 12  # memory per value of a file that is read as a whole, beside its text


class JsonFiles(TextFiles):
    """The chunks of files with one object per line."""

    @cached_property
    def width(self) -> int:
        """Number of names in the first object."""
        try:
            return max(1, len(json_text.decode(starting_line(self.files[0]), dict[str, Any])))
        except ValueError:  # several objects on a line
            return 1

    @property
    def decisions(self) -> int:
        """Approximate number of decisions, which is that of lines or of the entries of their lists."""
        _, lines, commas = self._counts
        return max(lines, commas // max(self.width - 1, 1))

    @property
    def loaded(self) -> int:
        """Approximate memory of all files: their text and their values."""
        size, lines, commas = self._counts
        return 2 * size + BYTES_A_VALUE * (lines + commas)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns, with types that fit all values of all files."""
        scan = self._scan
        schema = with_entries(scan.schema)
        if inexact := float_places(schema, scan.large):
            return with_integers(schema, only_integers(self.files, inexact))
        return schema

    @property
    def _rows(self) -> Sequence[int]:
        return self._scan.rows

    def batches(self, file: int, groups: Sequence[int], columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Yield the rows of a file."""
        schema = pa.schema([self.schema.field(name) for name in columns])
        for table in _parsed(self.files[file], schema):
            yield table.select(list(columns))

    def row_name(self, file: int, row: int) -> str:
        """Return the number of the line of a row."""
        return line_of(self.files[file], row)

    @cached_property
    def _scan(self) -> _Scan:
        """The first pass over all files."""
        schema, rows, large = pa.schema([]), [], dict[Place, None]()
        for file in self.files:
            refuse_deep(file)
            rows.append(0)
            for kinds, table in _inferred(file):
                schema = _combined(file, schema, kinds)
                rows[-1] += len(table)
                for name in table.column_names:
                    large |= dict.fromkeys(large_places(table.column(name), (name,)))
        LogTable.of(schema.empty_table(), str(self.files[0]))  # refuses too many columns
        return _Scan(schema, rows, tuple(large))


@dataclass(frozen=True, slots=True)
class _Scan:
    """The result of a first pass."""

    schema: pa.Schema
    rows: list[int]  # of each file
    large: tuple[Place, ...]  # of numbers that may not be exact as floats


def _inferred(path: Path) -> Iterator[tuple[pa.Schema, pa.Table]]:
    """Yield the types and rows of the chunks of a file."""
    for text in _chunks(path):
        with _reading(path):
            table = _parse(text)
            kinds = untimed(table.schema)
            if not is_valid(table):
                table = _parse(text, with_entries(kinds))
                table.validate(full=True)  # refuses text that is not UTF-8
        yield kinds, table


def _parsed(path: Path, schema: pa.Schema) -> Iterator[pa.Table]:
    """Yield the rows of the chunks of a file, with the columns of a schema."""
    for text in _chunks(path):
        with _reading(path):
            table = _parse(text, schema)
            table.validate(full=True)
        yield table


def _chunks(path: Path) -> Iterator[bytes]:
    """Yield the chunks of a file, without those of blank lines."""
    return (text for text in chunks(path) if text.strip())


def _parse(text: bytes, schema: pa.Schema | None = None) -> pa.Table:
    options = pajson.ParseOptions(schema, unexpected_field_behavior="infer" if schema is None else "ignore")
    return pajson.read_json(pa.BufferReader(text), pajson.ReadOptions(block_size=len(text) + 1), options)


@contextmanager
def _reading(path: Path) -> Iterator[None]:
    """Convert an error of Arrow to one that names the line."""
    try:
        yield
    except (MemoryError, pa.ArrowMemoryError) as error:
        raise MemoryError from error
    except BROKEN as error:
        raise unreadable(path, error) from error


class _DifferentKindsError(Exception):
    """Signals values of two kinds, with the path to them."""


def _combined(path: Path, one: pa.Schema, other: pa.Schema) -> pa.Schema:
    """Return the columns of two chunks."""
    try:
        return pa.schema(_fields(list(one), list(other)))
    except _DifferentKindsError as error:
        problem = problem_in(path) or f", column {error}: it has values of different kinds in two files. {ONE_KIND}"
        raise LogError(f"{path}{problem}") from error


def _fields(one: Sequence[pa.Field], other: Sequence[pa.Field]) -> list[pa.Field]:
    """Return the fields of two records, in the order in which they first occur."""
    kinds = {field.name: field.type for field in one}
    for field in other:
        try:
            kinds[field.name] = _fitting(kinds.get(field.name, pa.null()), field.type)
        except _DifferentKindsError as error:
            raise _DifferentKindsError(".".join(filter(None, (field.name, str(error))))) from None
    return [pa.field(name, kind) for name, kind in kinds.items()]


def _fitting(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """Return the type that fits values of two types."""
    if one == other or pa.types.is_null(other):
        return one
    if pa.types.is_null(one):
        return other
    if {one, other} == {pa.int64(), pa.float64()}:
        return pa.float64()
    if pa.types.is_list(one) and pa.types.is_list(other):
        return pa.list_(_fitting(one.value_type, other.value_type))
    if pa.types.is_struct(one) and pa.types.is_struct(other):
        return pa.struct(_fields(list(one), list(other)))
    raise _DifferentKindsError
