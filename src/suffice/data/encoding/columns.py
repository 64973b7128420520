"""Which column of a log means what: names, defaults, and a helping word where one is missing.

A column is found by the name that is given, else by names that loggers are known to use: ours, those of RLlib
(`eps_id`, `t`, `obs`, `actions` …), LeRobot (`episode_index`, `frame_index`, `next.reward` …), Minari and d4rl
(`observations`, `terminals`, `timeouts` …). Capitals do not matter, nor whether words are joined by `_`, `-` or
a space.
"""

from __future__ import annotations

import re
import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NoReturn

from suffice.data.alphabet import Alphabet
from suffice.data.encoding.tables import LogTable
from suffice.errors import SettingsError, closest, did_you_mean

# What pandas calls the row index when it saves one: never an observation.
ROW_INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")
# By role, the names that loggers use, ours first.
KNOWN = {
    "episode": ("episode", "episode_id", "eps_id", "episode_index", "trajectory", "trajectory_id", "traj_id"),
    "step": ("step", "t", "timestep", "time_step", "frame_index"),
    "action": ("action", "actions"),
    "reward": ("reward", "rewards", "next.reward"),
    "weight": ("weight",),
    "terminated": ("terminated", "terminateds", "terminations", "terminal", "terminals", "next.terminated"),
    "truncated": ("truncated", "truncateds", "truncations", "timeout", "timeouts", "next.truncated"),
    "done": ("done", "dones", "next.done"),
    "propensity": ("action_prob",),
}
OWN_NAMES = ("episode", "step", "action", "reward")  # a log with all of them is in our own form
OBSERVED = re.compile(r"(obs|observations?)(\..*)?")  # else, what is observed
ENDS = ("terminated", "truncated", "done")


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns of a log; None: as loggers are known to call it, if there is one.

    >>> suffice.Columns(episode="patient", action="drug") == suffice.Columns.parse("episode=patient,action=drug")
    True
    """

    episode: str | None = None  # without one, an episode ends where it is terminated, truncated or done
    step: str | None = None  # without one, the rows of an episode are in order
    action: str | None = None
    reward: str | None = None
    observations: tuple[str, ...] | None = None  # None: those of the schema, else all others, in file order
    weight: str | None = None
    terminated: str | None = None  # true on the last row of an episode that came to its end
    truncated: str | None = None  # true on the last row of an episode that the logger cut off
    done: str | None = None  # true on the last row of every episode
    propensity: str | None = None  # the probability with which the logged action was chosen

    def __post_init__(self) -> None:
        if isinstance(self.observations, str):
            raise SettingsError(f"observations is a tuple of names, not the text {self.observations!r}; split it")
        if self.observations is not None:
            object.__setattr__(self, "observations", tuple(self.observations))

    @classmethod
    def of(cls, columns: Columns | Mapping[str, Any] | str | None) -> Columns:
        """From whatever names them: text as `parse` reads it, or a dict by role."""
        if isinstance(columns, str):
            return cls.parse(columns)
        if columns is None or isinstance(columns, Columns):
            return columns or cls()
        if unknown := [role for role in columns if role not in cls.__slots__]:
            told = did_you_mean(str(unknown[0]), cls.__slots__) or "."
            raise SettingsError(
                f"{unknown[0]!r} is no role of a column{told}; the roles are {', '.join(cls.__slots__)}"
            )
        return cls(**columns)

    @classmethod
    def parse(cls, text: str) -> Columns:
        """ROLE=NAME, separated by commas, such as `episode=patient,action=drug,observations=age+pulse`."""
        named: dict[str, str] = {}
        for part in filter(None, map(str.strip, text.split(","))):
            role, equals, name = map(str.strip, part.partition("="))
            if role not in cls.__slots__ or not equals or not name or role in named:
                told = did_you_mean(role, cls.__slots__) if role not in cls.__slots__ else ""
                told = told or "; write ROLE=NAME, each once."
                raise SettingsError(f"--columns {part}{told} The roles are {', '.join(cls.__slots__)}")
            named[role] = name
        observations = named.pop("observations", None)
        return cls(**named, observations=tuple(observations.split("+")) if observations else None)

    def unusual(self) -> dict[str, str]:
        """The names by role that nobody would guess; observations are known otherwise."""
        named = {role: getattr(self, role) for role in KNOWN}
        return {role: name for role, name in named.items() if name is not None and name not in KNOWN[role]}

    def where_in(self, names: Sequence[str]) -> Columns:
        """Without the names that a log does not have."""
        kept = {role: name for role in KNOWN if (name := getattr(self, role)) in names}
        seen = self.observations
        return Columns(**kept, observations=seen if seen is not None and set(seen) <= set(names) else None)

    def over(self, others: Columns) -> Columns:
        """These where they are given, others where not."""
        given = {field.name: value for field in fields(self) if (value := getattr(self, field.name)) is not None}
        return replace(others, **given)


def known_as(role: str, names: Sequence[str]) -> str | None:
    """The column that has a role, by the names that loggers use; a log in our own form uses ours, and no others."""
    if set(OWN_NAMES) <= set(names):
        return role if role in names else None
    lowered = {plain_name(name): name for name in reversed(names)} | {name: name for name in names}
    return next((lowered[name] for name in KNOWN[role] if name in lowered), None)


def plain_name(name: str) -> str:
    """Without capitals, and with words joined in one way."""
    return re.sub(r"[ -]", "_", name.strip().lower())


def text_columns(columns: Columns, schema: Alphabet | None) -> list[str]:
    """Columns whose declared values are text: in a CSV their '1' is no number."""
    if schema is None:
        return []
    declared = dict(zip(schema.features, zip(*schema.observations, strict=True), strict=False))
    declared[columns.action or KNOWN["action"][0]] = schema.actions
    return [name for name, values in declared.items() if all(isinstance(value, str) for value in values)]


def find_columns(
    table: LogTable, columns: Columns, schema: Alphabet | None, drop_truncated: bool
) -> tuple[Columns, tuple[str, ...]]:
    """The columns with every default resolved, and what is worth a note."""
    observations = columns.observations
    if schema is not None:
        observations = schema.features if observations is None else observations
        if observations != schema.features:
            table.refuse(f"the schema's observations are {', '.join(schema.features)}; leave --observations out")
    if observations is not None:
        observations = tuple(part for name in observations for part in _components(table, name))
    roles = _roles(table, columns, observations or (), drop_truncated)
    notes: list[str] = []
    if observations is None:
        others = [name for name in table.names if name not in roles.values()]
        observations, notes = _observations(others, foreign=not set(OWN_NAMES) <= set(table.names))
    if not observations:
        table.refuse("there are no observation columns; add one, if only a constant, or name them with --observations")
    named = [*roles.values(), *observations]
    if twice := [name for name, count in Counter(named).items() if count > 1]:
        table.refuse(f"column {twice[0]!r} is asked for twice; give it one role")
    if roles.get("done") == "done" and set(OWN_NAMES) <= set(table.names):
        notes.append("column 'done' marks ends, and was not read as an observation")
    if "step" not in roles:
        notes.append("there is no step column: the rows of an episode are taken in the order they have")
    if "episode" not in roles:
        ends = ", ".join(repr(roles[role]) for role in ENDS if role in roles)
        notes.append(f"there is no episode column: an episode ends where {ends} is true")
    return Columns(**roles, observations=observations), tuple(notes)


def _roles(table: LogTable, columns: Columns, observations: Sequence[str], drop_truncated: bool) -> dict[str, str]:
    """The column of each role that has one."""
    free = [name for name in table.names if name not in observations]
    roles: dict[str, str] = {}
    for role, usual in KNOWN.items():
        if (given := getattr(columns, role)) is not None:
            if given not in table.names:
                _refuse_missing(table, given, f"--{role}-column")
            roles[role] = given
        elif (found := known_as(role, table.names)) and found in free and found not in roles.values():
            roles[role] = found
        elif role in ("action", "reward") and found:
            table.refuse(f"column {found!r} is asked for twice; give it one role")
        elif role in ("action", "reward"):
            _refuse_missing(table, usual[0], f"--{role}-column", usual)
    if not any(role in roles for role in ENDS):
        if drop_truncated:
            _refuse_missing(table, "truncated", "--truncated-column")
        if "episode" not in roles:
            _refuse_missing(table, "episode", "--episode-column", KNOWN["episode"])
    return roles


def _components(table: LogTable, name: str) -> list[str]:
    """A column, or those that it was taken apart into."""
    parts = [other for other in table.names if other.startswith(f"{name}.")]
    if name not in table.names and not parts:
        _refuse_missing(table, name, "--observations")
    return [name] if name in table.names else parts


def _observations(others: Sequence[str], foreign: bool) -> tuple[tuple[str, ...], list[str]]:
    """All other columns; of logs in another form, if that marks what is observed, only those."""
    kept = tuple(name for name in others if not ROW_INDEX.fullmatch(name))
    notes = [f"column {name!r} looks like a row index and was left out" for name in others if name not in kept]
    marked = tuple(name for name in kept if OBSERVED.fullmatch(name.lower()))
    if foreign and marked and marked != kept:
        left = [repr(name) for name in kept if name not in marked]
        told = ", ".join(left[:5]) + (f" and {len(left) - 5} more" if len(left) > 5 else "")
        return marked, [*notes, f"left out: {told}; name all that is observed with --observations"]
    return kept, notes


def _refuse_missing(table: LogTable, name: str, option: str, usual: Sequence[str] = ()) -> NoReturn:
    for whole in (name, *usual):
        if not (parts := [other for other in table.names if other.startswith(f"{whole}.")]):
            continue
        table.refuse(
            f"column {whole!r} holds {len(parts)} values ({', '.join(parts[:3])} …), where one is needed; write them "
            f"as one, or name the one that matters with {option}"
        )
    if len(table.names) == 1:
        table.refuse(f"there is only one column, {table.names[0]!r}; separate the cells by commas")
    if near := closest(name, table.names):
        table.refuse(f"there is no column {name!r}; did you mean {near!r}? say {option} {shlex.quote(near)}")
    others = ", ".join(map(repr, table.names[:20])) + (", …" if len(table.names) > 20 else "")
    table.refuse(f"there is no column {name!r}, only {others}; name it with {option}")
