"""Logs as columns, which are read one at a time and whose distinct values are numbered.

Values are parsed once per *distinct* value: a column becomes small codes and a short list of Python values, and no
Python object is created per row. Every error names the file, row, column and fix. Row numbers are those a user counts:
the line in a text file (the header of a CSV is line 1), the row from 1 elsewhere.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, Generic, NoReturn, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from suffice.data.alphabet import MISSING, Value, smallest_uint
from suffice.errors import LogError, parameter
from suffice.kernels.array_types import Codes, Float, Int64, Mask

V = TypeVar("V")

FEW = 1 << 12  # rows in which a column may already have all its values
LOOKUP = 1 << 22  # cells of a look-up table that is cheap for any log
MOST_COLUMNS = 10_000


def refuse_columns(source: object, columns: int) -> None:
    """Refuse a log with more columns than are supported."""
    if columns > MOST_COLUMNS:
        raise LogError(f"{source}: there are {columns:,} columns; the limit is {MOST_COLUMNS:,}. Remove columns.")


class TooManyValuesError(LogError):
    """An error for a column with more distinct values than a finite alphabet should have."""


class FileError(LogError):
    """An error for a file as a whole, which cannot be read or changed while it was read."""


class NoEpisodesLeftError(LogError):
    """An error for a log, or a piece of one, of which no episode is left."""

    longest = 0  # decisions of its longest episode


@dataclass(frozen=True, slots=True)
class Coded(Generic[V]):
    """A column as codes of its distinct values."""

    codes: Codes  # [rows]
    values: tuple[V, ...]  # of each code


@dataclass(frozen=True, slots=True)
class LogTable:
    """An open log, whose columns are read on demand, one at a time where the format allows it."""

    source: str  # name of the file, or of the object in memory
    types: Mapping[str, pa.DataType]  # of the columns, in order
    rows: int
    column: Callable[[str], pa.ChunkedArray]
    place: Callable[[int], str]  # row number to show to a user for row 0, 1, …
    notes: tuple[str, ...] = ()  # on how the table was made
    part: bool = False  # whether this is one piece of a log
    roles: Mapping[str, str] = field(default_factory=dict)  # by column, once they are known (`columns`)
    episode_rows: bool = False  # whether rows are episodes, where this piece alone may not show it

    @classmethod
    def of(cls, table: pa.Table, source: str, place: Callable[[int], str] = lambda row: str(row + 1)) -> LogTable:
        """Open columns that are in memory."""
        refuse_columns(source, table.num_columns)
        if twice := [name for name, count in Counter(table.column_names).items() if count > 1]:
            raise LogError(f"{source}: there are two columns {twice[0]!r}. Rename or remove one.")
        types = {field.name: _settled_type(field.type) for field in table.schema}
        return cls(source, types, table.num_rows, lambda name: settled(table.column(name)), place)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self.types)

    def refuse(self, text: str) -> NoReturn:
        """Raise an error about the log as a whole."""
        raise LogError(f"{self.source}: {text}")

    def refuse_column(self, name: str, text: str) -> NoReturn:
        """Raise an error about one column."""
        raise LogError(f"{self.source}, column {name!r}: {text}")

    def refuse_row(self, row: int, name: str, text: str) -> NoReturn:
        """Raise an error about one cell."""
        raise LogError(f"{self.source}, row {self.place(row)}, column {name!r}: {text}")

    def refuse_any(self, wrong: Mask, name: str, text: str) -> None:
        """Raise an error about the first row that is wrong, if there is one."""
        if wrong.any():
            self.refuse_row(int(np.argmax(wrong)), name, text)

    def is_numeric(self, name: str) -> bool:
        """Return whether a column has numbers."""
        return _is_numeric(self.types[name])

    def complete(self, name: str) -> pa.ChunkedArray:
        """Return a column; refuse it if a value is missing."""
        column = self.column(name)
        if column.null_count:
            several = column.null_count > 1 and not self.part
            row = pc.index(pc.is_null(column), True).as_py()
            self.refuse_row(row, name, self.missing(name, column.null_count if several else 1))
        return column

    def missing(self, name: str, count: int = 1) -> str:
        """Return the message about missing values of a column: what is missing, and what to fill in."""
        role = self.roles.get(name, "value")
        fill = "Fill it in"
        if role in ("observation", "reward", "value"):
            numeric = role == "reward" or _is_numeric(self.types[name])
            fill = f"Fill in {'a number' if numeric else 'a value such as unknown'}"
        many = f" ({count:,} are missing in this column)" if count > 1 else ""
        return f"the {CELLS.get(role, role)} is missing{many}. {fill}, or remove the whole episode."

    def may_miss(self, name: str) -> bool:
        """Return whether a column may have missing values: only an observation."""
        return self.roles.get(name) == "observation"

    def distinct(self, name: str) -> tuple[Codes, pa.Array]:
        """Return the code of each row, and the distinct value of each code; None for missing values that may be."""
        try:
            result = _distinct(self.column(name) if self.may_miss(name) else self.complete(name))
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            self.refuse_column(name, f"its type is {type_name(self.types[name])}, but {NOT_A_CELL}")
        pa.default_memory_pool().release_unused()  # frees the column, a quarter of the peak memory
        return result

    def numbers(self, name: str, what: str = "only numbers can be binned. Leave it unbinned, or convert it.") -> Float:
        """Return a column of finite numbers, unchanged; −∞ for missing values that may be."""
        column = self.column(name) if self.may_miss(name) else self.complete(name)
        if pa.types.is_null(column.type):
            return np.full(len(column), -np.inf)
        if not _is_numeric(column.type):
            self.refuse_column(name, f"its type is {type_name(column.type)}, but {what}")
        if pa.types.is_float16(column.type) or pa.types.is_float32(column.type):
            column = column.cast(pa.string())  # 0.1, not 0.10000000149011612
        numbers: Float = column.cast(pa.float64(), safe=False).to_numpy()
        missing = np.isnan(numbers) if self.may_miss(name) else np.zeros(len(numbers), bool)
        infinite = ~np.isfinite(numbers) & ~missing
        if infinite.any():
            row = int(np.argmax(infinite))
            text = f"{numbers[row]} is not a finite number. Replace it, or remove the whole episode."
            self.refuse_row(row, name, text)
        return np.where(missing, -np.inf, numbers) if missing.any() else numbers

    def encode(self, name: str, parse: Callable[[Any], V], limit: int | None = None) -> Coded[V]:
        """Number the parsed values of a column: `parse` converts a distinct value, or raises a ValueError."""
        raw, distinct = self.distinct(name)
        if limit is not None and len(distinct) > limit:
            size = f"{'at least ' if self.part else ''}{len(distinct):,}"
            text = too_many_values(self.roles.get(name), name, size, limit, _is_numeric(distinct.type))
            raise TooManyValuesError(f"{self.source}, column {name!r}: {text}")
        codes: dict[V, int] = {}
        exact: dict[V, int | Decimal] = {}
        wrong: dict[int, str] = {}
        renumber = np.zeros(len(distinct), dtype=smallest_uint(len(distinct)))
        for i, value in enumerate(_python_values(distinct)):
            try:
                parsed = parse(value)
                renumber[i] = codes.setdefault(parsed, len(codes))
                amount = exact_number(value) if isinstance(parsed, float) else None
                if amount is not None and (other := exact.setdefault(parsed, amount)) != amount:
                    wrong[i] = f"{amount} and {other} are the same floating-point number. {WRITE_EXACTLY}"
            except MissingValueError:
                wrong[i] = self.missing(name)
            except ValueError as error:
                wrong[i] = str(error)
        if wrong:
            row = int(np.argmax(np.isin(raw, list(wrong))))
            self.refuse_row(row, name, wrong[int(raw[row])])
        same = np.array_equal(renumber, np.arange(len(renumber)))
        return Coded(raw if same else renumber[raw], tuple(codes))


def settled(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Convert a column to a type that all functions here support; most have one."""
    kind = _settled_type(column.type)
    return column if kind == column.type else column.cast(kind)


def _settled_type(kind: pa.DataType) -> pa.DataType:
    """Return the supported type for a column: Arrow computes little with views, and nothing with extension types."""
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


def type_name(kind: pa.DataType) -> str:
    """Return a readable name of a column type."""
    if pa.types.is_dictionary(kind):
        return type_name(kind.value_type)
    text = (pa.string(), pa.large_string(), pa.binary(), pa.large_binary())
    return "text" if kind in text else "time" if pa.types.is_temporal(kind) else f"{kind!s:.60}"


def has_large(column: pa.ChunkedArray) -> bool:
    """Return whether a column of floats has numbers that may stand for several integers."""
    largest = pc.max(pc.abs(column.filter(pc.is_finite(column)))).as_py()
    return largest is not None and largest >= EXACT


def exact_number(value: Any) -> int | Decimal | None:
    """Return the number in a cell that is an integer, a decimal or text; None for floats and for other text."""
    if isinstance(value, int | Decimal):
        return value
    try:
        return (
            Decimal(value.decode() if isinstance(value, bytes) else value) if isinstance(value, str | bytes) else None
        )
    except (InvalidOperation, UnicodeDecodeError):
        return None


def _is_numeric(kind: pa.DataType) -> bool:
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def _distinct(column: pa.ChunkedArray) -> tuple[Codes, pa.Array]:
    if column.null_count:
        kind = column.type
        plain_column = column.cast(kind.value_type) if pa.types.is_dictionary(kind) else column
        if pa.types.is_null(kind):
            return np.zeros(len(column), np.uint8), pa.nulls(1)
        array = plain_column.dictionary_encode(null_encoding="encode").unify_dictionaries().combine_chunks()
        codes, present = dense(array.indices.to_numpy(zero_copy_only=False), len(array.dictionary))
        return codes, array.dictionary.take(pa.array(present))
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
    return codes, array.dictionary.take(pa.array(present))  # a categorical column may declare more values than occur


def dense(keys: Codes, size: int) -> tuple[Codes, Int64]:
    """Renumber keys below `size` without gaps; return the new codes and the keys that occur, in order."""
    if size > max(LOOKUP, len(keys)):
        unique, codes = np.unique(keys, return_inverse=True)
        return codes.astype(smallest_uint(len(unique))), unique.astype(np.int64)
    occurs = np.zeros(size, dtype=bool)
    occurs[keys[:FEW]] = True
    if occurs.all():  # already in a few rows, so there are no gaps
        return keys.astype(smallest_uint(size)), np.arange(size)
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


EXACT = 2**53  # larger integers are not exact as floats
LARGEST_INTEGER = 2**63
WRITE_EXACTLY = "Write such values as text, or rewards with fewer digits."
FLAGS = {"true": True, "false": False, "1": True, "0": False}  # a CSV column with one bad cell is all text
NO_ROWS = "there are columns but no rows. Write one row per decision."
NOT_A_CELL = "a cell holds one boolean, number or text. Split or convert the column."
CELLS = {"episode": "episode id", "step": "step number", **dict.fromkeys(("terminated", "truncated", "done"), "flag")}


class MissingValueError(ValueError):
    """A cell that is empty; the message depends on its column (`LogTable.missing`)."""


def too_many_values(role: str | None, name: str, size: str, limit: int, numeric: bool) -> str:
    """Return the message about a column with too many distinct values, with the fix that its role and type allow."""
    bins = f"bin them with {parameter('bins', {name: 8})}"
    fixes = [bins if numeric else "group them into fewer"]
    if role == "action":
        fixes = ["group them into fewer actions", *([f"{bins} if they are amounts"] if numeric else [])]
    elif role != "reward":
        fixes.append(f"leave the column out by naming the others with {parameter('observations')}")
    fix = ", ".join([*fixes, f"or raise {parameter('max_values')}"])
    what = {"action": "actions", "reward": "rewards"}.get(role or "", "values")
    return f"{size} distinct {what} are too many for a finite alphabet (limit {limit:,}). {fix[0].upper()}{fix[1:]}."


def plain(value: Any) -> Value:
    """Convert a cell to a value of the alphabet."""
    if value is None or value in ("", b""):
        raise MissingValueError("the value is missing. Fill it in, or remove the whole episode.")
    if isinstance(value, bytes):
        try:
            return value.decode()
        except UnicodeDecodeError:
            raise ValueError(f"{value!r} is not UTF-8 text. Save the file as UTF-8.") from None
    if isinstance(value, bool | int | str):
        return value
    if not isinstance(value, float | Decimal):
        raise ValueError(f"this is a {type(value).__name__}, but {NOT_A_CELL}")
    if not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number. Replace it, or remove the whole episode.")
    if isinstance(value, Decimal) and value == value.to_integral_value() and abs(value) < LARGEST_INTEGER:
        return int(value)
    result = float(value)
    return int(result) if result.is_integer() and abs(result) < EXACT else result


def plain_or_missing(value: Any) -> Value:
    """Convert a cell to a value of the alphabet; an empty one to the symbol of missing values."""
    if is_missing(value):
        return MISSING
    if (found := plain(value)) == MISSING:
        raise ValueError(f"{MISSING!r} is the symbol of missing values. Leave the cell empty, or write another text.")
    return found


def is_missing(value: Any) -> bool:
    """Return whether a cell is empty or not a number."""
    return value is None or value in ("", b"") or (isinstance(value, float | Decimal) and math.isnan(value))


def number(value: Any) -> float:
    """Convert a cell to a finite number; text that spells a number is accepted."""
    value = plain(value)
    try:
        result = float(value)
    except (ValueError, OverflowError):
        raise ValueError(f"{value!r} is not a number. Replace it by a number, or remove the whole episode.") from None
    if not math.isfinite(result):
        raise ValueError(f"{value!r} is not a finite number. Replace it, or remove the whole episode.")
    return result


def integer(value: Any) -> int:
    """Convert a cell to an integer."""
    result = value if isinstance(value, int) else number(value)
    if result != int(result) or abs(result) >= EXACT:
        raise ValueError(f"{value!r} is not an integer within ±2**53. Replace it, or remove the whole episode.")
    return int(result)


def flag(value: Any) -> bool:
    """Convert a cell to a boolean."""
    value = plain(value)
    value = FLAGS.get(value.lower(), value) if isinstance(value, str) else value
    if value not in (0, 1):
        raise ValueError(f"{value!r} is neither true nor false. Write true or false, 1 or 0.")
    return bool(value)
