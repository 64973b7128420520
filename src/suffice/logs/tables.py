"""Log files as columns: opening Parquet and CSV, and numbering the distinct values of a column.

Whatever is asked of a value is asked of the *distinct* values only: a column becomes small codes and a short list of
Python values, and no Python object is ever made per row. Every complaint names file, row, column and the fix. A row
is what a person counts: the line in a CSV file (the header is line 1), the row from 1 in a Parquet file.
"""

from __future__ import annotations

import contextlib
import csv
import gzip
import zlib
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from suffice.episodes import Codes, Int64, smallest_uint
from suffice.errors import SufficeError
from suffice.files import name_beside
from suffice.logs.values import MISSING, NOT_A_CELL

V = TypeVar("V")
Bools = NDArray[np.bool_]
Floats = NDArray[np.float64]

LOOKUP = 1 << 22  # a look-up table of so many cells is cheap whatever the log
KINDS = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".csv.gz": "csv"}


@dataclass(frozen=True, slots=True)
class Coded(Generic[V]):
    """A column by its distinct values: two rows agree exactly when their codes do."""

    codes: Codes  # [rows]
    values: tuple[V, ...]  # of each code


@dataclass(frozen=True, slots=True)
class Table:
    """An open log: its columns are read when asked for, one at a time where the format allows it."""

    path: Path
    names: tuple[str, ...]
    rows: int
    column: Callable[[str], pa.ChunkedArray]
    line: Callable[[int], int]  # the number by which a person finds row 0, 1, …

    def refuse(self, text: str) -> NoReturn:
        """Complain about the file as a whole."""
        raise SufficeError(f"{self.path}: {text}")

    def refuse_row(self, row: int, name: str, text: str) -> NoReturn:
        """Complain about one cell."""
        raise SufficeError(f"{self.path}: row {self.line(row)}, column {name!r}: {text}")

    def refuse_any(self, wrong: Bools, name: str, text: str) -> None:
        """Complain about the first row that is wrong, if there is one."""
        if wrong.any():
            self.refuse_row(int(np.argmax(wrong)), name, text)

    def complete(self, name: str) -> pa.ChunkedArray:
        """A column without missing values."""
        column = self.column(name)
        if column.null_count:
            self.refuse_row(pc.index(pc.is_null(column), True).as_py(), name, MISSING)
        return column

    def distinct(self, name: str) -> tuple[Codes, pa.Array]:
        """The distinct values of a column and, for each row, which of them it has."""
        try:
            result = _distinct(self.complete(name))
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            self.refuse(f"column {name!r} has type {self.column(name).type}, but {NOT_A_CELL}")
        pa.default_memory_pool().release_unused()  # the column itself, a quarter of the peak
        return result

    def numbers(self, name: str, what: str = "only numbers can be binned") -> Floats:
        """A column of finite numbers, as it is."""
        column = self.complete(name)
        if not _is_numeric(column.type):
            self.refuse(f"column {name!r} has type {column.type}; {what}")
        numbers: Floats = column.cast(pa.float64(), safe=False).to_numpy()
        self.refuse_any(~np.isfinite(numbers), name, "not a finite number; replace it")
        return numbers

    def encode(self, name: str, parse: Callable[[Any], V], limit: int | None = None, advice: str = "") -> Coded[V]:
        """Number the meanings of a column: `parse` turns a distinct value into one or raises a ValueError."""
        raw, distinct = self.distinct(name)
        if limit is not None and len(distinct) > limit:
            advice = advice if _is_numeric(distinct.type) else "group them first"
            self.refuse(
                f"column {name!r} has {len(distinct):,} distinct values, more than a finite alphabet can mean "
                f"(limit {limit:,}); {advice}, or raise --max-values"
            )
        codes: dict[V, int] = {}
        wrong: dict[int, str] = {}
        renumber = np.zeros(len(distinct), dtype=smallest_uint(len(distinct)))
        for i, value in enumerate(_python_values(distinct)):
            try:
                renumber[i] = codes.setdefault(parse(value), len(codes))
            except ValueError as error:
                wrong[i] = str(error)
        if wrong:
            row = int(np.argmax(np.isin(raw, list(wrong))))
            self.refuse_row(row, name, wrong[int(raw[row])])
        return Coded(renumber[raw], tuple(codes))


def _is_numeric(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _distinct(column: pa.ChunkedArray) -> tuple[Codes, pa.Array]:
    if pa.types.is_signed_integer(column.type):
        numbers = column.to_numpy()
        low, high = int(numbers.min()), int(numbers.max())
        if high - low < max(LOOKUP, len(numbers)):
            codes, present = dense(np.subtract(numbers, low, dtype=np.int64), high - low + 1)
            return codes, pa.array(present + low)
    encoded = column.unify_dictionaries() if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    array = encoded.combine_chunks()
    codes, present = dense(array.indices.to_numpy(zero_copy_only=False), len(array.dictionary))
    if len(present) == len(array.dictionary):
        return codes, array.dictionary
    return codes, array.dictionary.take(pa.array(present))  # a categorical column may declare more than it holds


def dense(keys: Codes, size: int) -> tuple[Codes, Int64]:
    """Keys below `size` renumbered without gaps, and the keys that occur, both in order."""
    if size > max(LOOKUP, len(keys)):
        unique, codes = np.unique(keys, return_inverse=True)
        return codes.astype(smallest_uint(len(unique))), unique.astype(np.int64)
    occurs = np.zeros(size, dtype=bool)
    occurs[keys] = True
    present = np.flatnonzero(occurs)
    renumber = np.zeros(size, dtype=smallest_uint(len(present)))
    renumber[present] = np.arange(len(present))
    return renumber[keys], present


def _python_values(values: pa.Array) -> list[Any]:
    kind = values.type
    if pa.types.is_float16(kind) or pa.types.is_float32(kind):
        return [float(text) for text in values.cast(pa.string()).to_pylist()]  # 0.1, not 0.10000000149011612
    return list((values.cast(pa.string()) if pa.types.is_temporal(kind) else values).to_pylist())


def format_of(path: Path) -> str:
    """`parquet` or `csv`, by the suffix."""
    for suffix, kind in KINDS.items():
        if path.name.lower().endswith(suffix):
            return kind
    raise SufficeError(f"{path}: a log is a Parquet or CSV file; name it {', '.join(KINDS)}")


def open_table(path: str | Path, text: Collection[str] = ()) -> Table:
    """Open a log; in a CSV the columns `text` are text even where they look like numbers."""
    path = Path(path)
    if path.is_dir():
        raise SufficeError(f"{path}: this is a folder; name a file in it")
    if not path.exists():
        raise SufficeError(f"{path}: there is no such file{name_beside(path)}")
    kind = format_of(path)
    try:
        if path.stat().st_size == 0:
            raise SufficeError(f"{path}: the file is empty; a log has a header and one row per decision")
        table = _open_parquet(path) if kind == "parquet" else _open_csv(path, text)
    except (OSError, EOFError, zlib.error) as error:
        raise SufficeError(
            f"{path}: the file cannot be read ({_first_line(error)}); copy or export it again"
        ) from error
    if twice := [name for i, name in enumerate(table.names) if name in table.names[:i]]:
        table.refuse(f"there are two columns {twice[0]!r}; rename or remove one")
    if table.rows == 0:
        table.refuse("there are columns but no rows; a log has one row per decision")
    return table


def _open_parquet(path: Path) -> Table:
    try:
        schema = pq.read_schema(path)
        # Parquet stores text as codes and a dictionary already: keep it so, instead of a string per row.
        text = [field.name for field in schema if pa.types.is_string(field.type)]
        file = pq.ParquetFile(path, read_dictionary=text)
    except pa.ArrowInvalid as error:
        raise SufficeError(f"{path}: this is not a Parquet file ({_first_line(error)}); export it again") from error

    def column(name: str) -> pa.ChunkedArray:
        try:
            return file.read(columns=[name]).column(name)
        except (pa.ArrowException, OSError) as error:
            raise SufficeError(f"{path}: column {name!r} cannot be read ({_first_line(error)})") from error

    return Table(path, tuple(schema.names), file.metadata.num_rows, column, lambda row: row + 1)


def _open_csv(path: Path, text: Collection[str]) -> Table:
    _, header = next(_csv_records(path), (0, []))
    if not header:
        raise SufficeError(f"{path}: the file is empty; a log has a header and one row per decision")
    if any("\0" in name or "\ufffd" in name for name in header):
        raise SufficeError(f"{path}: row 1: the header is not UTF-8 text; save the file as UTF-8")
    try:
        table = parse_csv(lambda: str(path), text)
    except pa.ArrowInvalid as error:
        fault = _ragged_row(path, len(header)) or f"this is not a CSV file ({_first_line(error)}); export it again"
        raise SufficeError(f"{path}: {fault}") from error
    return Table(path, tuple(table.column_names), table.num_rows, table.column, lambda row: _csv_line(path, row))


def parse_csv(source: Callable[[], Any], text: Collection[str] = ()) -> pa.Table:
    """A CSV as a table; columns that look like dates or times stay the text they are."""

    def parse(text: Collection[str]) -> pa.Table:
        types = {name: pa.binary() for name in text}  # not string: `plain` says which row is no UTF-8
        options = pacsv.ConvertOptions(column_types=types, auto_dict_encode=True, auto_dict_max_cardinality=1000)
        return pacsv.read_csv(source(), convert_options=options)

    table = parse(text)
    dates = [field.name for field in table.schema if pa.types.is_temporal(field.type)]
    return parse([*text, *dates]) if dates else table


def _csv_records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Line number and cells of every row, blank lines left out: slow, for the sake of a good complaint only."""
    opener = gzip.open if path.name.lower().endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8", errors="replace", newline="") as file:
        reader = csv.reader(file)
        with contextlib.suppress(csv.Error):
            yield from ((reader.line_num, record) for record in reader if record)


def _csv_line(path: Path, row: int) -> int:
    return next((line for i, (line, _) in enumerate(_csv_records(path)) if i == row + 1), row + 2)


def _ragged_row(path: Path, width: int) -> str | None:
    for line, record in _csv_records(path):
        if len(record) != width:
            return f"row {line} has {len(record)} cells, but the header has {width}; mend or remove the row"
    return None


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
