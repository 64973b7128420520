"""CSV files in batches, with the column types of the whole log.

Arrow tries integers, booleans, dates and times, floats and text, in this order, and takes the first type that fits all
cells. A first pass lets it do so chunk by chunk; the type of a column follows from those of its chunks. Where that is
not certain, a further pass reads the column again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv

from suffice.data.encoding.tables import EXACT, LogTable, has_large
from suffice.data.logs.csv_cells import (
    BOOLEANS,
    LargeNumbers,
    as_unsigned,
    delimiter_of,
    header_of,
    line_of,
    numbers_as_text,
    unreadable,
)
from suffice.data.logs.limits import BROKEN, refuse_bomb
from suffice.data.logs.log_files import TextFiles, chunks, refuse_difference
from suffice.errors import LogError

TEXT = pa.dictionary(pa.int32(), pa.binary())  # not string, because `plain` names the row that is not UTF-8
NUMBERS_AS_TEXT = pa.string()  # of numbers that are different but the same float
BYTES_A_CELL = 12  # memory per cell of a file that is read as a whole, beside its text
MOST_COMPARED = 1 << 17  # distinct large numbers of a column that are compared
QUOTE = b'"'


class CsvFiles(TextFiles):
    """The chunks of CSV files."""

    @cached_property
    def width(self) -> int:
        """Number of columns of each file."""
        return len(header_of(self.files[0]))

    @property
    def decisions(self) -> int:
        """Approximate number of rows, which is that of line ends."""
        return self._counts[1]

    @property
    def loaded(self) -> int:
        """Approximate memory of all files: their text, and a number or code for each cell."""
        return 2 * self._counts[0] + BYTES_A_CELL * self.decisions * self.width

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns, with types that fit all cells of all files."""
        return pa.schema([(name, self._type(name, column)) for name, column in self._scan.columns.items()])

    @property
    def _rows(self) -> Sequence[int]:
        return self._scan.rows

    def batches(self, file: int, groups: Sequence[int], columns: Sequence[str], rows: int) -> Iterator[pa.Table]:
        """Yield the rows of a file."""
        types = {name: self.schema.field(name).type for name in columns or self.schema.names}
        inexact = [name for name, kind in types.items() if kind == NUMBERS_AS_TEXT]
        types |= dict.fromkeys(inexact, TEXT)
        for chunk in _chunks(self.files[file], self._names):
            table = chunk.parse(types)
            for name in inexact:
                texts = numbers_as_text(chunk.parse({name: pa.float64()}).column(0), table.column(name))
                table = table.set_column(table.column_names.index(name), name, texts)
            yield table

    def row_name(self, file: int, row: int) -> str:
        """Return the number of the line of a row."""
        return line_of(self.files[file], row)

    @cached_property
    def _names(self) -> list[str]:
        """The names of the columns of all files."""
        schemas = [pa.schema([(name, pa.null()) for name in _names_in(file)]) for file in self.files]
        refuse_difference(self.files, schemas)
        return list(LogTable.of(schemas[0].empty_table(), str(self.files[0])).names)

    @cached_property
    def _scan(self) -> _Scan:
        """The first pass over all files."""
        scan = _Scan({name: _Column() for name in self._names}, [])
        for file in self.files:
            refuse_bomb(file)
            scan.rows.append(0)
            for chunk in _chunks(file, self._names):
                inferred = [name for name, column in scan.columns.items() if not column.is_text]
                inferred = [name for name in inferred if name not in self.text]
                table = chunk.parse(dict.fromkeys(inferred) or {self._names[0]: TEXT})
                scan.rows[-1] += len(table)
                for name in inferred:
                    scan.columns[name].add(table.column(name), chunk.has_hexadecimals)
        return scan

    def _type(self, name: str, column: _Column) -> pa.DataType:
        """Return the type of a column, by reading it again if its chunks do not decide it."""
        kind = TEXT if name in self.text else column.type
        if column.doubtful and not self._fits(name, kind):
            return TEXT
        if kind != pa.float64() or not column.large:
            return kind
        if all(as_unsigned(texts) is not None for _, texts in self._numbers(name)):
            return pa.uint64()
        numbers = LargeNumbers()
        for floats, texts in self._numbers(name):
            if numbers.merge(floats, texts):
                return NUMBERS_AS_TEXT
            if len(numbers) > MOST_COMPARED:
                raise LogError(
                    f"{self.files[0]}, column {name!r}: more than {MOST_COMPARED:,} numbers of 2**53 and above are too "
                    "many to compare, and some may be the same floating-point number. Write the column as text, or "
                    "remove it."
                )
        return kind

    def _fits(self, name: str, kind: pa.DataType) -> bool:
        """Return whether all cells of a column have a type."""
        try:
            for file in self.files:
                for chunk in _chunks(file, self._names):
                    chunk.convert({name: kind})
        except pa.ArrowInvalid:
            return False
        return True

    def _numbers(self, name: str) -> Iterator[tuple[pa.ChunkedArray, pa.ChunkedArray]]:
        """Yield a column as floats and as text."""
        for file in self.files:
            for chunk in _chunks(file, self._names):
                floats = chunk.parse({name: pa.float64()}).column(0)
                yield floats, numbers_as_text(floats, chunk.parse({name: TEXT}).column(0))


@dataclass(frozen=True, slots=True)
class _Scan:
    """The result of a first pass."""

    columns: dict[str, _Column]
    rows: list[int]  # of each file


class _Column:
    """What is known of the cells of a column."""

    def __init__(self) -> None:
        self._kinds: set[pa.DataType] = set()
        self._hexadecimal = False
        self.large = False  # whether integers are not exact as floats

    def add(self, cells: pa.ChunkedArray, hexadecimals: bool) -> None:
        """Add the cells of a chunk, with the type that Arrow infers."""
        kind = cells.type
        if pa.types.is_integer(kind):
            self._hexadecimal = self._hexadecimal or hexadecimals
            low, high = pc.min_max(cells).values()
            self.large = self.large or max(-low.as_py(), high.as_py()) >= EXACT
        elif pa.types.is_floating(kind):
            self.large = self.large or has_large(cells)
        elif not pa.types.is_null(kind) and not pa.types.is_boolean(kind):
            kind = TEXT
        self._kinds.add(kind)

    @property
    def is_text(self) -> bool:
        """Whether some cells are text, or dates or times, which stay text."""
        return TEXT in self._kinds

    @property
    def type(self) -> pa.DataType:
        """The first type that fits all cells, if they are not `doubtful`."""
        kinds = self._kinds - {pa.null()}
        if kinds == {pa.int64(), pa.float64()}:
            return pa.float64()
        return next(iter(kinds), pa.null()) if len(kinds) < 2 else TEXT

    @property
    def doubtful(self) -> bool:
        """Whether the type may not fit, because hexadecimal integers are not floats."""
        return self._hexadecimal and {pa.int64(), pa.float64()} <= self._kinds


@dataclass(frozen=True, slots=True)
class _Chunk:
    """Some lines of a file."""

    path: Path
    text: bytes
    names: list[str] | None  # None: the first line has the names

    @property
    def has_hexadecimals(self) -> bool:
        """Whether there may be integers such as 0x1f."""
        return b"0x" in self.text or b"0X" in self.text

    def parse(self, types: Mapping[str, pa.DataType | None] = MappingProxyType({})) -> pa.Table:
        """Parse columns; a type of None is inferred."""
        try:
            return self.convert(types)
        except pa.ArrowMemoryError as error:
            raise MemoryError from error
        except BROKEN as error:
            raise unreadable(self.path, len(header_of(self.path)), error) from error

    def convert(self, types: Mapping[str, pa.DataType | None]) -> pa.Table:
        """Parse columns, without a message about cells that do not have the type."""
        given = {name: kind for name, kind in types.items() if kind is not None}
        return pacsv.read_csv(
            pa.BufferReader(self.text),
            pacsv.ReadOptions(block_size=max(len(self.text), 1), column_names=self.names),
            pacsv.ParseOptions(delimiter=delimiter_of(self.path)),
            convert_options=pacsv.ConvertOptions(column_types=given, include_columns=list(types), **BOOLEANS),
        )


def _chunks(path: Path, names: list[str] | None = None) -> Iterator[_Chunk]:
    """Yield the chunks of a file, without those of blank lines."""
    header = None
    for text in chunks(path, QUOTE):
        if text.strip(b"\r\n"):
            yield _Chunk(path, text, header)
            header = names


def _names_in(path: Path) -> list[str]:
    """Return the names of the columns as Arrow reads them, after a check of the header."""
    header_of(path)
    first = next(_chunks(path), None)
    return [] if first is None else list(first.parse().column_names)
