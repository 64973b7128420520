"""Encoding of text with many values: frequent values are symbols, and all others share one.

Only the choice of columns (`logs.columnar_reading`) groups values, by episodes that are the same wherever a log is
read; reading itself never does.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from suffice.data.alphabet import Value, in_order
from suffice.data.encoding.kinds import CATEGORY, ColumnEncoder, LogColumn
from suffice.data.encoding.tables import Coded
from suffice.errors import parameter
from suffice.kernels.array_types import Codes

OTHERS = "other values"  # the symbol of all values that are not frequent
MOST_FREQUENT = 63  # values that keep a symbol of their own
FEWEST_ROWS = 10  # of a value that keeps a symbol of its own
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
    """Return the values that are frequent in the rows with these codes, in the alphabet's order.

    Of equally frequent values the first in that order are kept, so that the order of rows does not matter.
    """
    counts = dict(zip(values, np.bincount(codes, minlength=len(values)).tolist(), strict=True))
    often = [value for value in in_order(values) if counts[value] >= FEWEST_ROWS]
    return in_order(sorted(often, key=lambda value: -counts[value])[:MOST_FREQUENT])


def refuse_continuous(column: LogColumn, actions: Coded[Value]) -> None:
    """Refuse actions that are amounts, because a plan chooses among a few."""
    fractions = [value for value in actions.values if isinstance(value, float)]
    if fractions and len(actions.values) > MANY_AMOUNTS:
        column.table.refuse_column(
            column.name,
            f"{len(actions.values):,} distinct amounts are a continuous action, but a plan chooses among a few. "
            f"Bin them with {parameter('bins', {column.name: 5})}.",
        )
