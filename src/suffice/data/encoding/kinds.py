"""Column encoders: how the values of one column become symbols.

Each kind of column is one class. It encodes a column of a log at once, and a value at run time by itself, to the same
symbol. Kinds are listed in `KINDS`; model files refer to a kind by its name there and store its fields.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import msgspec

from suffice.data.alphabet import Value
from suffice.data.alphabet import plain as plain_value
from suffice.data.encoding.tables import Coded, LogTable, number, plain
from suffice.errors import LogError, SettingsError
from suffice.kernels.array_types import Float, Int64
from suffice.registry import Lazy, Registry


@dataclass(frozen=True)
class LogColumn:
    """One column of a log, as column encoders see it."""

    table: LogTable
    name: str
    max_values: int | None = None  # distinct values that are accepted as symbols

    @cached_property
    def numbers(self) -> Float:
        """[rows] finite numbers, read once; a column of anything else is refused."""
        return self.table.numbers(self.name)


class ColumnRequest(ABC):
    """A column encoder that is yet to be fitted to a log: "8 bins", for example."""

    @abstractmethod
    def fit(self, column: LogColumn) -> ColumnEncoder:
        """The encoder that this request gives for a column."""

    def needs_log(self, *, reward: bool) -> bool:
        """Whether `fit`, and of a reward column `fit_rewards`, looks at all rows of a log."""
        return True


class ColumnEncoder(ColumnRequest):
    """How the values of a column become symbols.

    A kind of column is a frozen dataclass that inherits from this class and defines `kind`, `encode` and
    `encode_value`; its fields are stored in model files. The other methods have defaults.
    """

    kind: ClassVar[str]  # its name in `KINDS`

    @abstractmethod
    def encode(self, column: LogColumn) -> Coded[Value]:
        """The symbol of each row of a log."""

    @abstractmethod
    def encode_value(self, value: Any, name: str) -> Value:
        """The symbol of one value; a LogError names the column if it has none."""

    def fit(self, column: LogColumn) -> ColumnEncoder:
        """A fitted encoder is what it is."""
        return self

    def needs_log(self, *, reward: bool) -> bool:
        """See `ColumnRequest`."""
        return False

    def fit_rewards(self, column: LogColumn, counts: Int64) -> ColumnEncoder:
        """The encoder for a reward column, whose rows count [rows] times: its symbols are rewards."""
        raise SettingsError(f"column {column.name!r} is the reward, which cannot be a column of kind {self.kind!r}")

    def encode_rewards(self, column: LogColumn) -> Coded[float]:
        """The reward of each row of a log."""
        raise NotImplementedError

    def legend(self) -> list[str]:
        """What the symbols 0, 1, … stand for; empty if symbols are values."""
        return []


@dataclass(frozen=True, slots=True)
class Category(ColumnEncoder):
    """Values that are symbols as they are: text, booleans, integers, and floats where they are few."""

    kind: ClassVar[str] = "category"

    def encode(self, column: LogColumn) -> Coded[Value]:
        """See `ColumnEncoder`."""
        return column.table.encode(column.name, plain, column.max_values, f"bin it: --bin {column.name}=8")

    def encode_value(self, value: Any, name: str) -> Value:
        """See `ColumnEncoder`."""
        if isinstance(value, float) and not math.isfinite(value):
            raise LogError(f"{name} is {value}, which is not a finite number; replace it")
        return plain_value(value)

    def fit_rewards(self, column: LogColumn, counts: Int64) -> Category:
        """See `ColumnEncoder`."""
        return self

    def encode_rewards(self, column: LogColumn) -> Coded[float]:
        """See `ColumnEncoder`."""
        return column.table.encode(column.name, number, column.max_values, f"bin it: --bin {column.name}=8")


CATEGORY = Category()


KINDS: Registry[type[ColumnEncoder]] = Registry(
    "kind of column",
    {"category": Category, "number": Lazy("suffice.data.encoding.binning:Bins")},
    group="suffice.column_encoders",
    needs=("kind", "encode", "encode_value"),
)


def to_data(encoder: ColumnEncoder) -> dict[str, Any]:
    """An encoder as a model file stores it: its kind and its fields."""
    fields: dict[str, Any] = msgspec.to_builtins(encoder)
    return {"kind": encoder.kind, **fields}


def from_data(data: Mapping[str, Any]) -> ColumnEncoder:
    """The encoder that a model file stores; a ValueError or SettingsError if there is none like it."""
    fields = dict(data)
    return msgspec.convert(fields, KINDS[str(fields.pop("kind", ""))])
