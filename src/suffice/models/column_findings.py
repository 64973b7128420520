"""How the observation columns of a model were chosen, as its file stores it."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from suffice.data.alphabet import Value

Count = Annotated[int, Meta(ge=0, lt=1 << 60)]
Logarithm = Annotated[float, Meta(ge=-1e9, le=1e18)]


class ColumnExample(msgspec.Struct, frozen=True):
    """An outcome that is more frequent with one value of some columns than with another, in the same state."""

    action: Value
    reward: float | None  # None: the outcome is a state
    values: list[Value | list[float | None]]  # of each column: a value, or the limits of a range
    others: list[Value | list[float | None]]
    k1: Count  # times that the outcome occurred with these values
    n1: Count
    k2: Count  # with the others
    n2: Count


class ColumnFinding(msgspec.Struct, frozen=True):
    """The evidence for a column, or for a pair of columns, given the state of the automaton."""

    columns: list[str]
    log_e: Logarithm  # logarithm of the e-value
    threshold: Logarithm
    tells: Literal["reward", "later reward", "state"] | None = None
    example: ColumnExample | None = None


class ColumnsFound(msgspec.Struct, frozen=True):
    """How the observation columns were chosen."""

    delta: Annotated[float, Meta(gt=0, lt=1)]  # probability of a false selection
    episodes: Count  # that they were chosen from
    kept_all: bool = False  # of a narrow log, because all columns predict rewards as well or better
    chosen: list[ColumnFinding] = []  # in the order in which they were added
    others: list[ColumnFinding] = []  # evidence of the other columns, given the chosen ones
    dropped: list[str] = []  # redundant columns, which were added first
    left_out: dict[str, Literal["constant", "identifier", "many values"]] = {}  # columns that were not tried
    pairs: Count = 0  # number of pairs that were tried
    apart: bool = False  # whether held-out episodes, which all offered columns identify, were left out
