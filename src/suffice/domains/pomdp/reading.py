"""Reader of Cassandra's `.POMDP` format, with its complete grammar and exact decimals.

In addition to the grammar of pomdp-solve it accepts `start` as the number of a state (which the manual of pomdp-solve
describes), wildcards in `start include`, `.5` for `0.5`, dots in names, and `O: a identity` if there are as many
observations as states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

from suffice.data.alphabet import Value
from suffice.domains.pomdp.elements import Elements
from suffice.domains.pomdp.statements import (
    PREAMBLE,
    RESERVED,
    Statement,
    as_number,
    error_at,
    is_count,
    is_name,
    shown,
    statements,
    text_of,
)
from suffice.domains.pomdp.tables import MAX_WORK, Rewards, Row, SharedRow, SparseRows, TooMuchWorkError
from suffice.errors import did_you_mean

MAX_TABLE_CELLS = 1 << 22  # number of states times number of actions
ROUNDING_TOLERANCE = Fraction(1, 100_000)  # as in pomdp-solve, because files have rounded numbers


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Pomdp:
    """Tables of a `.POMDP` file; elements are names, or numbers from 0 if the file gives only their number."""

    path: str
    discount: Fraction
    states: tuple[Value, ...]  # [S]
    actions: tuple[Value, ...]  # [A]
    observations: tuple[Value, ...]  # [O]
    start: Row  # distribution of the first state
    transitions: tuple[Row, ...]  # [A·S] by action and state: distribution of the next state
    seen: tuple[Row, ...]  # [A·S] by action and next state: distribution of the observation
    rewards: Rewards  # costs are negative rewards

    def __repr__(self) -> str:
        sizes = f"{len(self.states)} states, {len(self.actions)} actions, {len(self.observations)} observations"
        return f"<Pomdp: {sizes}>"


def read_pomdp(path: str | Path) -> Pomdp:
    """Read a `.POMDP` file; errors name the line of the file."""
    reader = _PomdpParser(str(path))
    try:
        for statement in statements(str(path), text_of(Path(path))):
            reader.take(statement)
    except TooMuchWorkError:
        reason = f"the tables need more than {MAX_WORK:,} entries up to here. Use fewer states or fewer wildcards."
        raise error_at(str(path), reader.line, reason) from None
    return reader.finish()


class _PomdpParser:
    """Parser that builds the tables statement by statement."""

    def __init__(self, path: str) -> None:
        self._path = path
        self.line = 1  # last line of the previous statement
        self._begun = False
        self._preamble: dict[str, Statement] = {}

    def take(self, statement: Statement) -> None:
        """Process the next statement of the file."""
        keyword = statement.keyword
        if keyword in ("T", "O", "R"):
            self._begin()
            {"T": self._transition, "O": self._observation, "R": self._reward}[keyword](statement)
        elif self._begun:
            raise statement.error(f"{keyword!r} comes after the first T, O or R. Move it to the beginning.")
        elif keyword in self._preamble:
            first = self._preamble[keyword].line
            raise statement.error(f"{keyword!r} is already given in line {first}. Remove one of the two.")
        else:
            self._preamble[keyword] = statement
            self._declare(statement)
        self.line = statement.last_line

    def finish(self) -> Pomdp:
        """Return the POMDP, after checking its probabilities."""
        self._begin()
        transitions = self._checked("T", self._transitions, "in")
        seen = self._checked("O", self._seen, "that leads to")
        return Pomdp(
            path=self._path,
            discount=self._discount,
            states=self._states.values,
            actions=self._actions.values,
            observations=self._observations.values,
            start=self._start,
            transitions=transitions,
            seen=seen,
            rewards=self._rewards,
        )

    # ------------------------------------------------------------ preamble

    def _declare(self, statement: Statement) -> None:
        """Process a section of the preamble; `start` is processed later, when the states are known."""
        match statement.keyword:
            case "discount":
                self._discount = self._read_discount(statement)
            case "values":
                self._sign = self._read_sign(statement)
            case "states":
                self._states = Elements("state", statement)
            case "actions":
                self._actions = Elements("action", statement)
            case "observations":
                self._observations = Elements("observation", statement)

    def _begin(self) -> None:
        """Check that the preamble is complete, and prepare the tables."""
        if self._begun:
            return
        self._begun = True
        for keyword in PREAMBLE:
            if keyword not in self._preamble:
                raise error_at(self._path, self.line, f"there is no {keyword!r} up to here. Add a line '{keyword}: …'.")
        cells = len(self._states) * len(self._actions)
        if cells > MAX_TABLE_CELLS:
            reason = f"{len(self._states):,} states with {len(self._actions):,} actions are too many. Use fewer."
            raise self._preamble["states"].error(reason)
        self._start: Row = self._uniform(self._states)
        if "start" in self._preamble:
            self._start = self._read_start(self._preamble["start"])
        self._transitions, self._seen, self._rewards = SparseRows(cells), SparseRows(cells), Rewards()

    def _read_discount(self, statement: Statement) -> Fraction:
        discount, after = statement.number(0)
        self._expect_end(statement, after)
        if not 0 <= discount <= 1:
            raise statement.error(f"the discount {float(discount):g} is not between 0 and 1. Change it.", 0)
        return discount

    def _read_sign(self, statement: Statement) -> int:
        word = statement.words[0] if statement.words else ""
        if word not in ("reward", "cost"):
            hint = did_you_mean(word, ("reward", "cost")) or ". Write 'reward' or 'cost'."
            raise statement.error(f"values are 'reward' or 'cost', not {shown(word)}{hint}", 0)
        self._expect_end(statement, 1)
        return 1 if word == "reward" else -1

    def _read_start(self, statement: Statement) -> Row:
        words, states = statement.words, self._states
        if words and words[0] in ("include", "exclude"):
            named = {s for i in range(1, len(words)) for s in states.find(statement, i)}
            kept = [s for s in range(len(states)) if (s in named) == (words[0] == "include")]
            if not kept:
                raise statement.error("start leaves no state to start in. Name other states.")
            return dict.fromkeys(kept, Fraction(1, len(kept)))
        if words == ["uniform"]:
            return self._uniform(states)
        if words and words[0] in RESERVED:
            raise statement.error(f"{words[0]!r} is not allowed here. {_where(words[0])}", 0)
        if words and is_name(words[0]) and len(words) > 1:
            raise statement.error("there is more than one state to start in. Write 'start include: …'.", 1)
        # a single whole number is a state, unless it is the probability 1 of the only state
        if len(words) == 1 and (is_name(words[0]) or (is_count(words[0]) and (len(states) > 1 or words[0] == "0"))):
            return dict.fromkeys(states.find(statement, 0), Fraction(1))
        ((row, line),) = self._probabilities(statement, 0, len(states))
        return self._normalised(SharedRow(row, 1, line), "start")

    # ------------------------------------------------------------ tables

    def _transition(self, statement: Statement) -> None:
        parts, at = self._parts(statement, (self._actions, self._states, self._states), least=1)
        self._fill(self._transitions, statement, parts, at, self._states)

    def _observation(self, statement: Statement) -> None:
        parts, at = self._parts(statement, (self._actions, self._states, self._observations), least=1)
        self._fill(self._seen, statement, parts, at, self._observations)

    def _reward(self, statement: Statement) -> None:
        elements = (self._actions, self._states, self._states, self._observations)
        parts, at = self._parts(statement, elements, least=2)
        wide = len(self._observations)
        strides = {4: (0, 0), 3: (0, 1), 2: (wide, 1)}[len(parts)]
        count = {4: 1, 3: wide, 2: wide * len(self._states)}[len(parts)]
        values, _ = self._numbers(statement, at, count)
        fixed = {i: part[0] for i, part in enumerate(parts) if len(part) < len(elements[i])}
        self._rewards.put(fixed, [self._sign * value for value in values], strides)

    def _parts(self, statement: Statement, elements: Sequence[Elements], least: int) -> tuple[list[range], int]:
        """Return the elements between the colons, and the position of the next word."""
        parts, at = [elements[0].find(statement, 0)], 1
        while statement.words[at : at + 1] == [":"]:
            if len(parts) == len(elements):
                raise statement.error(f"{statement.keyword} has at most {len(elements)} parts. Remove this colon.", at)
            parts.append(elements[len(parts)].find(statement, at + 1))
            at += 2
        if len(parts) < least:
            raise statement.error(f"{statement.keyword} needs an action and a state. Write 'R: action : state …'.", at)
        return parts, at

    def _fill(self, rows: SparseRows, statement: Statement, parts: list[range], at: int, columns: Elements) -> None:
        """Process one probability, a row, or a matrix with a row for each state."""
        n, wide, line = len(self._states), len(columns), statement.last_line
        within = parts[1] if len(parts) > 1 else range(n)
        cells = [a * n + s for a in parts[0] for s in within]
        word = statement.words[at] if len(statement.words) == at + 1 else ""
        if len(parts) == 3:
            ((single, _),) = self._probabilities(statement, at, 1)
            rows.change(cells, parts[2], single.get(0, Fraction(0)), line)
        elif word == "uniform":
            rows.put(cells, self._uniform(columns), line)
        elif word == "reset" and len(parts) == 2 and statement.keyword == "T":
            rows.put(cells, dict(self._start), line)
        elif word == "identity" and len(parts) == 1 and wide == n:
            for s in within:
                rows.put([a * n + s for a in parts[0]], {s: Fraction(1)}, line)
        elif word in RESERVED:
            raise statement.error(f"{word!r} is not allowed here. {_where(word)}", at)
        elif len(parts) == 2:
            rows.put(cells, *self._probabilities(statement, at, wide)[0])
        else:
            for s, row in enumerate(self._probabilities(statement, at, wide, height=n)):
                rows.put([a * n + s for a in parts[0]], *row)

    def _probabilities(
        self, statement: Statement, at: int, wide: int, height: int = 1
    ) -> list[tuple[dict[int, Fraction], int]]:
        """Return rows of non-zero probabilities, with the last line of each."""
        values, lines = self._numbers(statement, at, wide * height, probabilities=True)
        begins = range(0, wide * height, wide)
        return [({i: p for i, p in enumerate(values[k : k + wide]) if p}, lines[k + wide - 1]) for k in begins]

    def _numbers(
        self, statement: Statement, at: int, count: int, probabilities: bool = False
    ) -> tuple[list[Fraction], list[int]]:
        """Return the remaining numbers of a statement, which must be `count`, and their lines."""
        values: list[Fraction] = []
        lines: list[int] = []
        needed = f"{statement.keyword} needs {count:,} number{'s' if count > 1 else ''} here"
        words = statement.words
        while at < len(words):
            known = as_number(words[at])  # faster than `statement.number`, which handles the other words
            value, after = (known, at + 1) if known is not None else statement.number(at)
            if len(values) == count:
                raise statement.error(f"{needed} but has more. Remove some.", at)
            if probabilities and not 0 <= value.numerator <= value.denominator:
                raise statement.error(
                    f"{shown(statement.words[after - 1])} is not a probability. Use 0 to 1.", after - 1
                )
            values.append(value)
            lines.append(statement.lines[at])
            at = after
        if len(values) < count:
            raise statement.error(f"{needed} but has {len(values):,}. Add the others.", at)
        return values, lines

    def _expect_end(self, statement: Statement, at: int) -> None:
        if at < len(statement.words):
            what = f"unexpected {shown(statement.words[at])} after {statement.keyword!r}"
            raise statement.error(f"{what}{did_you_mean(statement.words[at], PREAMBLE) or '. Remove it.'}", at)

    @staticmethod
    def _uniform(elements: Elements) -> dict[int, Fraction]:
        return dict.fromkeys(range(len(elements)), Fraction(1, len(elements)))

    # ------------------------------------------------------------ sums of probabilities

    def _checked(self, keyword: str, rows: SparseRows, relation: str) -> tuple[Row, ...]:
        checked: dict[int, Row] = {}
        for cell, row in enumerate(rows.rows):
            if id(row) not in checked:
                a, s = divmod(cell, len(self._states))
                names = shown(str(self._actions.values[a])), shown(str(self._states.values[s]))
                checked[id(row)] = self._normalised(row, f"{keyword} for action {names[0]} {relation} state {names[1]}")
        return tuple(checked[id(row)] for row in rows.rows)

    def _normalised(self, row: SharedRow, what: str) -> Row:
        """Divide a row by its sum, which may differ from 1 by a rounding error."""
        total = row.total()
        if abs(total - 1) > ROUNDING_TOLERANCE:
            if not row.line:
                raise error_at(self._path, self.line, f"there is no {what} up to here. Add it.")
            reason = f"the probabilities of {what} add up to {float(total):.10g}, not 1. Correct them."
            raise error_at(self._path, row.line, reason)
        return row.entries if total == 1 else {column: p / total for column, p in row.entries.items()}


def _where(word: str) -> str:
    places = {"reset": "Write 'T: action : state reset'.", "identity": "Write 'T: action identity'."}
    return places.get(word, "Write numbers.")
