"""Policy tables are CSV files with action probabilities by observation and, optionally, by step.

A table has a column with the probability of each action, columns of features, and optionally a column `step` (the
first decision is step 0). An empty cell of a feature or step matches everything; the first row that matches is used:

    bit1,bit2,bit3,E,N,S,W
    0,1,0,0,1/2,1/2,0
    ,,,0.9,0,0,0.1
"""

from __future__ import annotations

import csv
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import NoReturn

import numpy as np

from suffice.data.alphabet import Alphabet, Value, in_order
from suffice.errors import SufficeError
from suffice.files.atomic import similar_name_hint
from suffice.planning.controller import Chances, Controller

STEP_COLUMN = "step"
ROUNDING = Fraction(1, 10**6)  # by which the probabilities of a row may miss 1


def read_policy_table(path: str | Path, alphabet: Alphabet, horizon: int) -> Controller:
    """Read the policy in a table, for the observations and actions of an alphabet."""
    path = Path(path)
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:  # some programs write a byte-order mark
            lines = list(csv.reader(file))
    except OSError as error:
        missing = isinstance(error, FileNotFoundError)
        problem = "there is no such file" if missing else f"the table cannot be read ({error.strerror})"
        raise SufficeError(f"{path}: {problem}{similar_name_hint(path) or '. Check its name.'}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise SufficeError(
            f"{path}: this is not a CSV file ({error}). Write action probabilities as CSV in UTF-8."
        ) from None
    table = _PolicyRows(path, lines, alphabet, horizon)
    choices = [table.chances(t, o) for t, o in product(table.steps, alphabet.observations)]
    if not table.by_step:
        return Controller.by_observation(alphabet, choices)
    return _by_step(alphabet, choices, horizon)


def _by_step(alphabet: Alphabet, choices: list[Chances], horizon: int) -> Controller:
    """Make a controller with memory t·O + o; memories of the last step repeat, because no action follows them."""
    n = len(alphabet.observations)
    last_seen = np.maximum(np.arange(alphabet.n_observations) - 1, 0)
    following = np.minimum(np.arange(horizon) + 1, horizon - 1) * n
    after = np.repeat(following, n)[:, None, None] + last_seen
    after = np.broadcast_to(after, (horizon * n, len(alphabet.actions), alphabet.n_observations))
    return Controller(alphabet, last_seen.astype(np.int32), after.astype(np.int32), tuple(choices))


class _PolicyRows:
    """The rows of a policy table, checked against an alphabet."""

    def __init__(self, path: Path, lines: list[list[str]], alphabet: Alphabet, horizon: int) -> None:
        self._path, self._alphabet = path, alphabet
        columns = zip(alphabet.features, zip(*alphabet.observations, strict=True), strict=True)
        self._known = {STEP_COLUMN: [str(t) for t in range(horizon)]}
        self._known |= {name: [str(value) for value in in_order(values)] for name, values in columns}
        header = [name.strip() for name in lines[0]] if lines else []
        actions = [str(a) for a in alphabet.actions]
        if missing := [a for a in actions if a not in header]:
            self._refuse(1, f"there is no column for action {missing[0]}. Add one for each of {', '.join(actions)}.")
        if unknown := [name for name in header if name not in (*actions, *alphabet.features, STEP_COLUMN)]:
            known = ", ".join((*alphabet.features, STEP_COLUMN, *actions))
            self._refuse(1, f"column {unknown[0]!r} is neither a feature nor an action. Use {known}.")
        if twice := [name for name in header if header.count(name) > 1]:
            self._refuse(1, f"column {twice[0]!r} occurs twice. Remove one.")
        self.by_step = STEP_COLUMN in header and STEP_COLUMN not in alphabet.features
        self.steps = range(horizon if self.by_step else 1)  # with probabilities of their own
        self._rows: list[tuple[dict[str, str], Chances]] = []
        for number, cells in enumerate(lines[1:], start=2):
            if cells:
                self._rows.append(self._row(number, header, cells, actions))
        if not self._rows:
            self._refuse(1, "no row follows the header. Add one for every observation, or one with empty cells.")

    def _row(
        self, number: int, header: list[str], cells: list[str], actions: list[str]
    ) -> tuple[dict[str, str], Chances]:
        if len(cells) != len(header):
            self._refuse(number, f"{len(cells)} cells under {len(header)} columns. Write one cell for each column.")
        row = {name: cell.strip() for name, cell in zip(header, cells, strict=True)}
        chances = [self._probability(number, name, row.pop(name)) for name in actions]
        if abs(sum(chances, Fraction(0)) - 1) > ROUNDING:
            self._refuse(number, f"the probabilities add up to {float(sum(chances)):g}. Make them add up to 1.")
        wanted = {name: cell for name, cell in row.items() if cell}
        for name, cell in wanted.items():
            if cell not in self._known[name]:
                known = self._known[name] if len(self._known[name]) < 20 else [*self._known[name][:19], "…"]
                self._refuse(number, f"column {name!r}: {cell!r} never occurs. Use {', '.join(known)}.")
        return wanted, tuple(p / sum(chances) for p in chances)

    def _probability(self, number: int, name: str, text: str) -> Fraction:
        try:
            p = Fraction(text or "0")
        except (ValueError, ZeroDivisionError):
            p = Fraction(-1)
        if not 0 <= p <= 1:
            self._refuse(number, f"column {name!r}: {text!r} is not a probability. Write it like 0.25 or 1/4.")
        return p

    def _refuse(self, line: int, reason: str) -> NoReturn:
        raise SufficeError(f"{self._path}, row {line}: {reason}")

    def chances(self, step: int, observation: tuple[Value, ...]) -> Chances:
        """Return the action probabilities of the first row that matches."""
        seen = {name: str(value) for name, value in zip(self._alphabet.features, observation, strict=True)}
        seen.setdefault(STEP_COLUMN, str(step))
        for wanted, chances in self._rows:
            if all(seen[name] == cell for name, cell in wanted.items()):
                return chances
        shown = ", ".join(f"{name} = {value}" for name, value in seen.items() if name != STEP_COLUMN or self.by_step)
        raise SufficeError(f"{self._path}: no row matches {shown}. Add one, or a last row with empty cells.")
