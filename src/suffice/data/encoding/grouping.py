"""Encoding of columns with many values: frequent values and one group for the rest, identifiers.

`Frequent` is the fitted encoder of a column of categories with many values. `group` chooses how a column is encoded
that has more values than an alphabet should have.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from suffice.data.alphabet import Value, in_order
from suffice.data.encoding.binning import EqualCount
from suffice.data.encoding.kinds import CATEGORY, ColumnEncoder, ColumnRequest, LogColumn
from suffice.data.encoding.tables import Coded, TooManyValuesError
from suffice.errors import parameter
from suffice.kernels.array_types import Codes

OTHERS = "other values"  # the symbol of all values that are not frequent
MOST_FREQUENT = 63  # values that keep a symbol of their own
FEWEST_ROWS = 10  # of a value that keeps a symbol of its own
RANGES = 16  # of a column of numbers with too many values
MANY_AMOUNTS = 50  # distinct actions, of which some are fractions, above which they are continuous


@dataclass(frozen=True, slots=True)
class Frequent(ColumnEncoder):
    """A column of categories whose frequent values are symbols, while all others share one.

    Parameters
    ----------
    groups
        The frequent values.
    """

    kind: ClassVar[str] = "frequent"

    groups: tuple[Value, ...]

    def encode(self, column: LogColumn) -> Coded[Value]:
        """Return the symbol of each row."""
        coded = CATEGORY.encode(LogColumn(column.table, column.name))
        known = set(self.groups)
        symbols = [value if value in known else OTHERS for value in coded.values]
        place = {symbol: code for code, symbol in enumerate(dict.fromkeys(symbols))}
        return Coded(np.array([place[symbol] for symbol in symbols])[coded.codes], tuple(place))

    def encode_value(self, value: Any, name: str) -> Value:
        """Return the value itself if it is frequent, else the common symbol."""
        symbol = CATEGORY.encode_value(value, name)
        return symbol if symbol in self.groups else OTHERS


def frequent_values(values: tuple[Value, ...], codes: Codes) -> tuple[Value, ...]:
    """Return the values that are frequent in the rows with these codes, in the alphabet's order."""
    counts = np.bincount(codes, minlength=len(values))
    often = np.argsort(-counts, kind="stable")[:MOST_FREQUENT]
    return in_order(values[code] for code in often if counts[code] >= FEWEST_ROWS)


def encode_or_group(column: LogColumn, kind: ColumnRequest) -> tuple[ColumnEncoder, Coded[Value]]:
    """Fit and encode a column of observations; one with too many values is grouped, unless it identifies rows."""
    fitted = kind.fit(column)
    try:
        return fitted, fitted.encode(column)
    except TooManyValuesError:
        if column.table.part:
            raise
    if column.table.is_numeric(column.name):
        fitted = EqualCount(RANGES).fit(column)
        return fitted, fitted.encode(column)
    coded = CATEGORY.encode(LogColumn(column.table, column.name))
    if len(coded.values) == len(coded.codes):
        column.table.refuse_column(
            column.name,
            "every row has a value of its own, so that it identifies rows and cannot tell what follows. Leave the "
            f"column out by naming the others with {parameter('observations')}.",
        )
    fitted = Frequent(frequent_values(coded.values, coded.codes))
    return fitted, fitted.encode(column)


def refuse_continuous(column: LogColumn, actions: Coded[Value]) -> None:
    """Refuse actions that are amounts, because a plan chooses among a few."""
    fractions = [value for value in actions.values if isinstance(value, float)]
    if fractions and len(actions.values) > MANY_AMOUNTS:
        column.table.refuse_column(
            column.name,
            f"{len(actions.values):,} distinct amounts are a continuous action, but a plan chooses among a few. "
            f"Bin them with {parameter('bins', {column.name: 5})}.",
        )
