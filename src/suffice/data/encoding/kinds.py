"""Column encoders, which convert the values of one column to symbols.

Each kind of column is one class. It encodes a whole column of a log, and a single value at run time, to the same
symbols. Kinds are listed in `KINDS`; model files refer to a kind by its name there and store its fields.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import msgspec

from suffice.data.alphabet import MISSING, Value
from suffice.data.alphabet import plain as plain_value
from suffice.data.encoding.tables import Coded, LogTable, is_missing, number, plain, plain_or_missing
from suffice.errors import LogError, SettingsError
from suffice.kernels.array_types import Float, Int64
from suffice.registry import Lazy, Registry


@dataclass(frozen=True)
class LogColumn:
    """One column of a log, the input of column encoders."""

    table: LogTable
    name: str
    max_values: int | None = None  # distinct values that are accepted as symbols

    @cached_property
    def numbers(self) -> Float:
        """[rows] finite numbers, −∞ where one may be missing; read once, any other column is refused."""
        return self.table.numbers(self.name)


class ColumnRequest(ABC):
    """A column encoder that is not yet fitted to a log: "8 bins", for example."""

    @abstractmethod
    def fit(self, column: LogColumn) -> ColumnEncoder:
        """Fit the encoder to a column."""

    def needs_log(self, *, reward: bool) -> bool:
        """Return whether `fit`, or `fit_rewards` for a reward column, reads all rows of a log."""
        return True


class ColumnEncoder(ColumnRequest):
    """A fitted encoder, which converts the values of a column to symbols.

    A kind of column is a frozen dataclass that inherits from this class and defines `kind`, `encode` and
    `encode_value`; its fields are stored in model files. The other methods have defaults.
    """

    kind: ClassVar[str]  # its name in `KINDS`

    @abstractmethod
    def encode(self, column: LogColumn) -> Coded[Value]:
        """Return the symbol of each row of a log."""

    @abstractmethod
    def encode_value(self, value: Any, name: str) -> Value:
        """Return the symbol of one value; raise a LogError that names the column if there is none."""

    def fit(self, column: LogColumn) -> ColumnEncoder:
        """Return the encoder itself, which is already fitted."""
        return self

    def needs_log(self, *, reward: bool) -> bool:
        """Return whether fitting reads all rows of a log."""
        return False

    def fit_rewards(self, column: LogColumn, counts: Int64) -> ColumnEncoder:
        """Return the encoder of a reward column, whose rows count `counts` times and whose symbols are rewards."""
        raise SettingsError(
            f"column {column.name!r}: a reward cannot be a column of kind {self.kind!r}. Leave the column unencoded, "
            "or bin it."
        )

    def encode_rewards(self, column: LogColumn) -> Coded[float]:
        """Return the reward of each row of a log."""
        raise NotImplementedError

    def legend(self) -> list[str]:
        """Return what the symbols 0, 1, … stand for; empty if symbols are values."""
        return []


@dataclass(frozen=True, slots=True)
class Category(ColumnEncoder):
    """A column whose values are symbols: text, booleans, integers, and floats with few distinct values."""

    kind: ClassVar[str] = "category"

    def encode(self, column: LogColumn) -> Coded[Value]:
        """Return the value of each row; that of missing observations is `MISSING`."""
        parse = plain_or_missing if column.table.may_miss(column.name) else plain
        return column.table.encode(column.name, parse, column.max_values)

    def encode_value(self, value: Any, name: str) -> Value:
        """Return the value itself, or the symbol of missing values; refuse infinite numbers."""
        if value is None or value == "" or isinstance(value, float):
            if is_missing(value):
                return MISSING
            if isinstance(value, float) and not math.isfinite(value):
                raise LogError(f"{name}: {value} is not a finite number. Replace it.")
        return plain_value(value)

    def fit_rewards(self, column: LogColumn, counts: Int64) -> Category:
        """Return the encoder itself, because rewards are their own symbols."""
        return self

    def encode_rewards(self, column: LogColumn) -> Coded[float]:
        """Return the reward of each row."""
        return column.table.encode(column.name, number, column.max_values)


CATEGORY = Category()


KINDS: Registry[type[ColumnEncoder]] = Registry(
    "kind of column",
    {
        "category": Category,
        "number": Lazy("suffice.data.encoding.binning:Bins"),
        "frequent": Lazy("suffice.data.encoding.grouping:Frequent"),
    },
    group="suffice.column_encoders",
    needs=("kind", "encode", "encode_value"),
)


def to_data(encoder: ColumnEncoder) -> dict[str, Any]:
    """Convert an encoder to the form that a model file stores: its kind and its fields."""
    fields: dict[str, Any] = msgspec.to_builtins(encoder)
    return {"kind": encoder.kind, **fields}


def from_data(data: Mapping[str, Any]) -> ColumnEncoder:
    """Convert from the form that a model file stores; raise a ValueError or SettingsError if it is invalid."""
    fields = dict(data)
    made = msgspec.convert(fields, KINDS[str(fields.pop("kind", ""))])
    if unknown := sorted(fields.keys() - to_data(made).keys()):
        raise ValueError(f"a column of kind {made.kind!r} has no {unknown[0]!r:.80}")
    return made
