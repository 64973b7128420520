"""Which column of a log means what: names, defaults, and a helping word where one is missing."""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

from suffice.episodes import Alphabet
from suffice.logs.tables import Table

# What pandas calls the row index when it saves one: never an observation.
ROW_INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")
# Known only after the action: as an observation of the same row they tell the future.
OUTCOMES = ("done", "terminal", "terminated")


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns of a log."""

    episode: str = "episode"
    step: str = "step"
    action: str = "action"
    reward: str = "reward"
    observations: tuple[str, ...] | None = None  # None: those of the schema, else all others, in file order
    weight: str | None = None  # None: the column 'weight', if there is one and it is no observation
    truncated: str | None = None  # None: the column 'truncated', likewise
    propensity: str | None = None  # the probability with which the logged action was chosen; None: there is no column


def text_columns(columns: Columns, schema: Alphabet | None) -> list[str]:
    """Columns whose declared values are text: in a CSV their '1' is no number."""
    if schema is None:
        return []
    declared = dict(zip(schema.features, zip(*schema.observations, strict=True), strict=False))
    declared[columns.action] = schema.actions
    return [name for name, values in declared.items() if all(isinstance(value, str) for value in values)]


def find_columns(
    table: Table, columns: Columns, schema: Alphabet | None, drop_truncated: bool
) -> tuple[Columns, tuple[str, ...]]:
    """The columns with every default resolved, and what is worth a note."""
    observations = columns.observations
    if schema is not None:
        observations = schema.features if observations is None else observations
        if observations != schema.features:
            table.refuse(f"the schema's observations are {', '.join(schema.features)}; leave --observations out")
    roles = {role: getattr(columns, role) for role in ("episode", "step", "action", "reward")}
    taken = (*roles.values(), *(observations or ()))
    for role in ("weight", "truncated"):
        by_default = role if role in table.names and role not in taken else None
        if name := getattr(columns, role) or by_default:
            roles[role] = name
    if drop_truncated:
        roles.setdefault("truncated", "truncated")
    if columns.propensity is not None:
        roles["propensity"] = columns.propensity
    for role, name in roles.items():
        if name not in table.names:
            _refuse_missing(table, name, f"--{role}-column")
    notes: list[str] = []
    if observations is None:
        others = [name for name in table.names if name not in roles.values()]
        observations = tuple(name for name in others if not ROW_INDEX.fullmatch(name))
        notes = _notes(others, observations)
    for name in observations:
        if name not in table.names:
            _refuse_missing(table, name, "--observations")
    if not observations:
        table.refuse("there are no observation columns; add one, if only a constant, or name them with --observations")
    named = [*roles.values(), *observations]
    if twice := [name for i, name in enumerate(named) if name in named[:i]]:
        table.refuse(f"column {twice[0]!r} is asked for twice; give it one role")
    return Columns(**roles, observations=observations), tuple(notes)


def _notes(others: Sequence[str], observations: Sequence[str]) -> list[str]:
    index = [f"column {name!r} looks like a row index and was left out" for name in others if name not in observations]
    return index + [
        f"column {name!r} was read as an observation; if it tells what came after, name the others with --observations"
        for name in observations
        if name in OUTCOMES
    ]


def _refuse_missing(table: Table, name: str, option: str) -> NoReturn:
    if len(table.names) == 1:
        table.refuse(f"there is only one column, {table.names[0]!r}; separate the cells by commas")
    lowered = {other.lower(): other for other in table.names}
    if close := difflib.get_close_matches(name.lower(), lowered, n=1):
        near = lowered[close[0]]
        table.refuse(f"there is no column {name!r}; did you mean {near!r}? say {option} {shlex.quote(near)}")
    table.refuse(f"there is no column {name!r}, only {', '.join(map(repr, table.names))}; name it with {option}")
