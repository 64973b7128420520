"""Rows and cells of CSV files: the header, line numbers and problems of rows, and numbers that are not exact as floats.

Arrow reads integers from 2⁶³ on, and integers beside fractions, as floats, of which different integers may be one. Such
columns are read again as text.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import suppress
from csv import Error as CsvError
from csv import reader as csv_reader
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from suffice.data.encoding.tables import EXACT, NO_ROWS, exact_number, refuse_columns
from suffice.data.logs.arrays import first_line
from suffice.data.logs.limits import lines, opened
from suffice.errors import LogError

TABS = (".tsv", ".tsv.gz", ".tab")  # suffixes of files whose cells are separated by tabs
BYTE_ORDER_MARK = "\ufeff"
# Arrow would read 1 and 0 as booleans, too, beside true and false.
BOOLEANS = {"true_values": ["true", "True", "TRUE"], "false_values": ["false", "False", "FALSE"]}


def delimiter_of(path: Path) -> str:
    """Return what separates the cells of a file: tabs in .tsv files, else commas."""
    return "\t" if path.name.lower().endswith(TABS) else ","


def header_of(path: Path) -> list[str]:
    """Return the names of the columns."""
    _, header = next(_records(path), (0, []))
    if not header or header == [BYTE_ORDER_MARK]:
        raise LogError(f"{path}: the file is empty. Write a header and one row per decision.")
    if any("\0" in name or "\ufffd" in name for name in header):
        raise LogError(f"{path}, row 1: the header is not UTF-8 text. Save the file as UTF-8.")
    refuse_columns(path, len(header))
    return header


def unreadable(path: Path, width: int, error: Exception) -> LogError:
    """Return the error about a file that Arrow cannot parse: its first row with too many or too few cells."""
    rows = 0
    for line, record in _records(path):
        rows += 1
        if len(record) != width:
            problem = f", row {line}: {len(record)} cells, but the header has {width}. Correct or remove the row."
            return LogError(f"{path}{problem}")
    if rows == 1:  # Arrow needs a line end after the header
        return LogError(f"{path}: {NO_ROWS}")
    return LogError(f"{path}: this is not a CSV file ({first_line(error)}). Export it again.")


def line_of(path: Path, row: int) -> str:
    """Return the number of the line where a row ends, which blank lines and line ends in cells move."""
    return str(next((line for i, (line, _) in enumerate(_records(path)) if i == row + 1), row + 2))


def _records(path: Path) -> Iterator[tuple[int, list[str]]]:
    """Yield line number and cells of every row but blank ones; slow, and used for error messages only."""
    with opened(path) as file, io.TextIOWrapper(file, "utf-8", errors="replace", newline="") as text:
        reader = csv_reader(lines(text, path), delimiter=delimiter_of(path))
        with suppress(CsvError):
            yield from ((reader.line_num, record) for record in reader if record)


# ---------------------------------------------------------------- numbers that are not exact as floats


def numbers_as_text(floats: pa.ChunkedArray, cells: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the cells of a numeric column as text, missing where they are missing as numbers."""
    texts = pc.utf8_trim_whitespace(cells.cast(pa.string()))
    return pc.if_else(pc.is_null(floats), pa.scalar(None, pa.string()), texts)


def as_unsigned(texts: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """Return the numbers as unsigned integers of 64 bits; None if some are not."""
    try:
        return texts.cast(pa.uint64())
    except pa.ArrowInvalid:
        return None


class LargeNumbers:
    """The large numbers of a column, compared with the floats that stand for them."""

    def __init__(self) -> None:
        self._known: dict[float, int | Decimal | None] = {}

    def merge(self, floats: pa.ChunkedArray, texts: pa.ChunkedArray) -> bool:
        """Add numbers; return whether two different numbers are one float."""
        large = pc.fill_null(pc.and_(pc.greater_equal(pc.abs(floats), float(EXACT)), pc.is_finite(floats)), False)
        for text in pc.unique(texts.filter(large)).to_pylist():
            if self._known.setdefault(float(text), exact_number(text)) != exact_number(text):
                return True
        return False

    def __len__(self) -> int:
        return len(self._known)
