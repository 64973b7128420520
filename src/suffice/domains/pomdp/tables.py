"""Tables of a `.POMDP` file that stay small when wildcards fill them.

Each cell (an action and a state) has a row of probabilities. Cells that were always written together share one row,
which is divided when a statement writes to only some of them. Rewards are stored as rules; the last matching rule
applies.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

Row = Mapping[int, Fraction]  # non-zero probabilities by column

MAX_WORK = 1 << 24  # written cells and copied entries; about ten seconds


class TooMuchWorkError(Exception):
    """A file requires more than MAX_WORK operations."""


@dataclass(slots=True, eq=False)
class SharedRow:
    """A row of probabilities that several cells share."""

    entries: dict[int, Fraction]
    uses: int  # number of cells
    line: int  # of the last statement that changed it

    def total(self) -> Fraction:
        """Sum the entries over a common denominator, which is much faster than adding fractions."""
        whole = lcm(*{p.denominator for p in self.entries.values()})
        return Fraction(sum(p.numerator * (whole // p.denominator) for p in self.entries.values()), whole)


class SparseRows:
    """The rows of a table under construction."""

    def __init__(self, cells: int) -> None:
        self.rows = [SharedRow({}, cells, 0)] * cells
        self._work = 0

    def put(self, cells: Sequence[int], entries: dict[int, Fraction], line: int) -> None:
        """Give some cells a new row."""
        self._spend(len(cells) + len(entries) + 4)  # a new row takes as long as a few entries
        row = SharedRow(entries, len(cells), line)
        for cell in cells:
            self.rows[cell].uses -= 1
            self.rows[cell] = row

    def change(self, cells: Sequence[int], columns: Sequence[int], value: Fraction, line: int) -> None:
        """Set some columns to a value in the rows of some cells."""
        self._spend(len(cells))
        together: dict[int, list[int]] = {}
        for cell in cells:
            together.setdefault(id(self.rows[cell]), []).append(cell)
        for members in together.values():
            row = self.rows[members[0]]
            if len(members) < row.uses:
                self.put(members, dict(row.entries), line)
                row = self.rows[members[0]]
            self._spend(len(columns))
            row.line = line
            if value:
                row.entries.update(dict.fromkeys(columns, value))
            else:
                for column in columns:
                    row.entries.pop(column, None)

    def _spend(self, work: int) -> None:
        self._work += work
        if self._work > MAX_WORK:
            raise TooMuchWorkError


class Rewards:
    """Ordered rules for the rewards R(a, s, s', o), indexed by the parts that they fix."""

    def __init__(self) -> None:
        self._rules: dict[tuple[int, ...], dict[tuple[int, ...], tuple[int, Sequence[Fraction], int, int]]] = {}
        self._n = 0

    def put(self, fixed: Mapping[int, int], values: Sequence[Fraction], strides: tuple[int, int] = (0, 0)) -> None:
        """Add a rule, by which the reward is `values[s'·i + o·j]` (strides i, j) where the parts equal `fixed`."""
        positions = tuple(sorted(fixed))
        self._n += 1
        self._rules.setdefault(positions, {})[tuple(fixed[p] for p in positions)] = (self._n, values, *strides)

    def of(self, action: int, state: int, after: int, observation: int) -> Fraction:
        """Return the value of the last matching rule, or 0."""
        parts = (action, state, after, observation)
        found = [rules.get(tuple(parts[p] for p in positions)) for positions, rules in self._rules.items()]
        fitting = [rule for rule in found if rule is not None]
        if not fitting:
            return Fraction(0)
        _, values, i, j = max(fitting, key=lambda rule: rule[0])
        return values[after * i + observation * j]
