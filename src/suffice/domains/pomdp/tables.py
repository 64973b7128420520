"""Tables that wildcards fill without filling memory.

Probabilities are rows, one for each cell (an action and a state). Cells that were always written together share one
row, which is divided once a statement writes to some of them only. Rewards stay rules, the last that fits decides.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import lcm

Row = Mapping[int, Fraction]  # what has a probability above 0

MAX_WORK = 1 << 24  # cells written to and entries copied: some ten seconds


class TooMuchWorkError(Exception):
    """A file asks for more than MAX_WORK."""


@dataclass(slots=True, eq=False)
class SharedRow:
    """A row and how many cells it is for."""

    entries: dict[int, Fraction]
    uses: int
    line: int  # of the last statement that wrote to it

    def total(self) -> Fraction:
        """Over the common denominator: much faster than adding fractions."""
        whole = lcm(*{p.denominator for p in self.entries.values()})
        return Fraction(sum(p.numerator * (whole // p.denominator) for p in self.entries.values()), whole)


class SparseRows:
    """Rows under construction."""

    def __init__(self, cells: int) -> None:
        self.rows = [SharedRow({}, cells, 0)] * cells
        self._work = 0

    def put(self, cells: Sequence[int], entries: dict[int, Fraction], line: int) -> None:
        """These cells have this row."""
        self._spend(len(cells) + len(entries) + 4)  # a row takes as long as some entries
        row = SharedRow(entries, len(cells), line)
        for cell in cells:
            self.rows[cell].uses -= 1
            self.rows[cell] = row

    def change(self, cells: Sequence[int], columns: Sequence[int], value: Fraction, line: int) -> None:
        """In the rows of these cells, these columns have this value."""
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
    """R(a, s, s', o): ordered rules, found by the parts that they fix."""

    def __init__(self) -> None:
        self._rules: dict[tuple[int, ...], dict[tuple[int, ...], tuple[int, Sequence[Fraction], int, int]]] = {}
        self._n = 0

    def put(self, fixed: Mapping[int, int], values: Sequence[Fraction], strides: tuple[int, int] = (0, 0)) -> None:
        """Where the parts at these positions have these numbers, the reward is `values[s'·i + o·j]`, strides i, j."""
        positions = tuple(sorted(fixed))
        self._n += 1
        self._rules.setdefault(positions, {})[tuple(fixed[p] for p in positions)] = (self._n, values, *strides)

    def of(self, action: int, state: int, after: int, observation: int) -> Fraction:
        """The value of the last rule that fits, 0 without one."""
        parts = (action, state, after, observation)
        found = [rules.get(tuple(parts[p] for p in positions)) for positions, rules in self._rules.items()]
        fitting = [rule for rule in found if rule is not None]
        if not fitting:
            return Fraction(0)
        _, values, i, j = max(fitting, key=lambda rule: rule[0])
        return values[after * i + observation * j]
