"""Logs as columns: reading them one at a time, and numbering the distinct values of each.

Whatever is asked of a value is asked of the *distinct* values only: a column becomes small codes and a short list of
Python values, and no Python object is ever made per row. Every complaint names file, row, column and the fix. A row
is what a person counts: the line in a text file (the header of a CSV is line 1), the row from 1 in all else.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from suffice.data.alphabet import Value, smallest_uint
from suffice.errors import LogError
from suffice.kernels.array_types import Codes, Float, Int64, Mask

V = TypeVar("V")

LOOKUP = 1 << 22  # a look-up table of so many cells is cheap whatever the log
MOST_COLUMNS = 10_000


def refuse_columns(source: object, columns: int) -> None:
    """More than anybody looked at."""
    if columns > MOST_COLUMNS:
        told = f"{columns:,} columns, but {MOST_COLUMNS:,} are the most"
        raise LogError(f"{source}: there are {told}; keep those that matter")


class NothingKeptError(LogError):
    """A log, or a piece of one, of which no episode is left."""

    longest = 0  # decisions, of what there was


@dataclass(frozen=True, slots=True)
class Coded(Generic[V]):
    """A column by its distinct values: two rows agree exactly when their codes do."""

    codes: Codes  # [rows]
    values: tuple[V, ...]  # of each code


@dataclass(frozen=True, slots=True)
class LogTable:
    """An open log: its columns are read when asked for, one at a time where the format allows it."""

    source: str  # the file, or what else a person would call it
    types: Mapping[str, pa.DataType]  # of the columns, in order
    rows: int
    column: Callable[[str], pa.ChunkedArray]
    place: Callable[[int], str]  # by which a person finds row 0, 1, …
    notes: tuple[str, ...] = ()  # what was done to get there
    part: bool = False  # of a log whose other rows are not here

    @classmethod
    def of(cls, table: pa.Table, source: str, place: Callable[[int], str] = lambda row: str(row + 1)) -> LogTable:
        """Of columns in memory."""
        refuse_columns(source, table.num_columns)
        if twice := [name for name, count in Counter(table.column_names).items() if count > 1]:
            raise LogError(f"{source}: there are two columns {twice[0]!r}; rename or remove one")
        types = {field.name: _settled_type(field.type) for field in table.schema}
        return cls(source, types, table.num_rows, lambda name: settled(table.column(name)), place)

    @property
    def names(self) -> tuple[str, ...]:
        """The columns, in order."""
        return tuple(self.types)

    def refuse(self, text: str) -> NoReturn:
        """Complain about the log as a whole."""
        raise LogError(f"{self.source}: {text}")

    def refuse_row(self, row: int, name: str, text: str) -> NoReturn:
        """Complain about one cell."""
        raise LogError(f"{self.source}: row {self.place(row)}, column {name!r}: {text}")

    def refuse_any(self, wrong: Mask, name: str, text: str) -> None:
        """Complain about the first row that is wrong, if there is one."""
        if wrong.any():
            self.refuse_row(int(np.argmax(wrong)), name, text)

    def complete(self, name: str) -> pa.ChunkedArray:
        """A column without missing values."""
        column = self.column(name)
        if column.null_count:
            several = column.null_count > 1 and not self.part
            many = f" ({column.null_count:,} are missing in this column)" if several else ""
            self.refuse_row(pc.index(pc.is_null(column), True).as_py(), name, MISSING + many)
        return column

    def distinct(self, name: str) -> tuple[Codes, pa.Array]:
        """The distinct values of a column and, for each row, which of them it has."""
        try:
            result = _distinct(self.complete(name))
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            self.refuse(f"column {name!r} has type {self.types[name]!s:.60}, but {NOT_A_CELL}")
        pa.default_memory_pool().release_unused()  # the column itself, a quarter of the peak
        return result

    def numbers(self, name: str, what: str = "only numbers can be binned") -> Float:
        """A column of finite numbers, as it is."""
        column = self.complete(name)
        if not _is_numeric(column.type):
            self.refuse(f"column {name!r} has type {column.type}; {what}")
        if pa.types.is_float16(column.type) or pa.types.is_float32(column.type):
            column = column.cast(pa.string())  # 0.1, not 0.10000000149011612
        numbers: Float = column.cast(pa.float64(), safe=False).to_numpy()
        self.refuse_any(~np.isfinite(numbers), name, "not a finite number; replace it")
        return numbers

    def encode(self, name: str, parse: Callable[[Any], V], limit: int | None = None, advice: str = "") -> Coded[V]:
        """Number the meanings of a column: `parse` turns a distinct value into one or raises a ValueError."""
        raw, distinct = self.distinct(name)
        if limit is not None and len(distinct) > limit:
            advice = advice if _is_numeric(distinct.type) else "group them first"
            size = f"{'at least ' if self.part else ''}{len(distinct):,}"
            self.refuse(
                f"column {name!r} has {size} distinct values, more than a finite alphabet can mean "
                f"(limit {limit:,}); {advice}, leave the column out (--observations names what is seen), or raise "
                "--max-values"
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


def settled(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """A column in a type that everything here is done with; most are."""
    kind = _settled_type(column.type)
    return column if kind == column.type else column.cast(kind)


def _settled_type(kind: pa.DataType) -> pa.DataType:
    """Arrow computes little with views, and nothing with types that others have made."""
    if isinstance(kind, pa.BaseExtensionType):
        return _settled_type(kind.storage_type)
    if pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_dictionary(kind) and (inner := _settled_type(kind.value_type)) != kind.value_type:
        return pa.dictionary(pa.int32(), inner)
    if pa.types.is_list(kind) and (inner := _settled_type(kind.value_type)) != kind.value_type:
        return pa.list_(inner)
    if pa.types.is_large_list(kind) and (inner := _settled_type(kind.value_type)) != kind.value_type:
        return pa.large_list(inner)
    if pa.types.is_struct(kind):
        parts = [(field.name, _settled_type(field.type)) for field in kind]
        same = all(part == field.type for (_, part), field in zip(parts, kind, strict=True))
        return kind if same else pa.struct(parts)
    return kind


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


EXACT = 2**53  # beyond this, floats skip integers


FLAGS = {"true": True, "false": False, "1": True, "0": False}  # a CSV column with one bad cell is all text


NOT_A_CELL = "a cell holds one boolean, number or text: split or convert the column"


MISSING = "the value is missing; fill it in (with a word such as unknown), or remove the whole episode"


def plain(value: Any) -> Value:
    """A cell as a value of the alphabet."""
    if value is None or value in ("", b""):
        raise ValueError(MISSING)
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise ValueError(f"{value!r} is not UTF-8 text; save the file as UTF-8") from None
    if isinstance(value, bool | int | str):
        return value
    if not isinstance(value, float | Decimal):
        raise ValueError(f"this is a {type(value).__name__}, but {NOT_A_CELL}")
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number; replace it")
    result = float(value)
    return int(result) if result.is_integer() and abs(result) < EXACT else result


def number(value: Any) -> float:
    """A cell as a finite number; text that spells one will do."""
    value = plain(value)
    try:
        result = float(value)
    except (ValueError, OverflowError):
        raise ValueError(f"{value!r} is not a number; mend it or remove the episode") from None
    if not math.isfinite(result):
        raise ValueError(f"{value!r} is not a finite number; replace it")
    return result


def integer(value: Any) -> int:
    """A cell as an integer."""
    result = value if isinstance(value, int) else number(value)
    if result != int(result) or abs(result) >= EXACT:
        raise ValueError(f"{value!r} is not an integer within ±2**53; mend it or remove the episode")
    return int(result)


def flag(value: Any) -> bool:
    """A cell as yes or no."""
    value = plain(value)
    value = FLAGS.get(value.lower(), value) if isinstance(value, str) else value
    if value not in (0, 1):
        raise ValueError(f"{value!r} is neither true nor false; write true or false, 1 or 0")
    return bool(value)
