"""The columns of a log by role: names, defaults, and errors about missing columns.

A column is found by the name that the caller gives, or else by names that loggers use: ours, those of RLlib (`eps_id`,
`t`, `obs`, `actions` …), LeRobot (`episode_index`, `frame_index`, `next.reward` …), Minari and d4rl (`observations`,
`terminals`, `timeouts` …). Case does not matter, nor whether words are joined by `_`, `-` or a space.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

from suffice.data.alphabet import Alphabet
from suffice.data.encoding.tables import LogTable
from suffice.errors import SettingsError, closest, did_you_mean, parameter

# Names that pandas gives to a saved row index, which is never an observation.
ROW_INDEX = re.compile(r"|Unnamed: \d+|__index_level_\d+__")
# The names that loggers use, by role, ours first.
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
    "adaptive_logger": ("adaptive_logger",),
    "group": (),  # only if it is named
}
OWN_NAMES = ("episode", "step", "action", "reward")  # a log with all of them is in our own form
OBSERVED = re.compile(r"(obs|observations?)(\..*)?")  # observation columns of logs in other forms
ENDS = ("terminated", "truncated", "done")


@dataclass(frozen=True, slots=True)
class Columns:
    """The names of the columns of a log by role.

    A role that is None (the default) is found by the usual names of loggers, such as `episode`, `eps_id`, `reward`.

    Parameters
    ----------
    episode
        Id of the episode. Without this column, an episode ends where it is terminated, truncated or done.
    step
        Number of the decision within its episode, from 0 or 1. Without this column, rows are taken in order.
    action
        The logged action.
    reward
        The reward of the action, a number.
    observations
        Observation columns. Default: those of the schema, or else all other columns, in file order.
    weight
        Number of episodes that an episode stands for.
    terminated
        True on the last row of an episode that reached its end.
    truncated
        True on the last row of an episode that the logger cut off.
    done
        True on the last row of every episode.
    propensity
        Probability with which the logged action was chosen.
    adaptive_logger
        Marks a log whose logger learned while it acted. If the column exists, choices of actions are not evidence about
        states.
    group
        Person, site or other group of an episode. Episodes of one group may depend on each other.

    Examples
    --------
    >>> suffice.Columns(episode="patient", action="drug") == suffice.Columns.parse("episode=patient,action=drug")
    True
    """

    episode: str | None = None
    step: str | None = None
    action: str | None = None
    reward: str | None = None
    observations: tuple[str, ...] | None = None
    weight: str | None = None
    terminated: str | None = None
    truncated: str | None = None
    done: str | None = None
    propensity: str | None = None
    adaptive_logger: str | None = None
    group: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.observations, str):
            raise SettingsError(
                f"observations={self.observations!r} is not a tuple of names. Use observations="
                f"{tuple(self.observations.split(','))}."
            )
        if self.observations is not None:
            object.__setattr__(self, "observations", tuple(self.observations))

    @classmethod
    def of(
        cls, columns: Columns | Mapping[str, Any] | str | None, observations: Sequence[str] | str | None = None
    ) -> Columns:
        """Convert any form in which a caller may name columns.

        Parameters
        ----------
        columns
            Names by role: a dict, text as `parse` reads it, or `Columns`. None names nothing.
        observations
            Names of the observation columns: a sequence, or text separated by commas.

        Returns
        -------
        Columns
            The named columns.
        """
        found = cls._of(columns)
        if observations is None:
            return found
        if found.observations is not None:
            raise SettingsError(
                f"{parameter('observations')} and {parameter('columns')} both name the observations. Leave one out."
            )
        names = [name.strip() for name in observations.split(",")] if isinstance(observations, str) else observations
        if not isinstance(names, Iterable) or not all(isinstance(name, str) for name in names):
            raise SettingsError(f"{parameter('observations', observations)} is not a list of names. Give column names.")
        return replace(found, observations=tuple(names))

    @classmethod
    def _of(cls, columns: Columns | Mapping[str, Any] | str | None) -> Columns:
        if isinstance(columns, str):
            return cls.parse(columns)
        if columns is None or isinstance(columns, Columns):
            return columns or cls()
        if not isinstance(columns, Mapping):
            raise SettingsError(
                f"{parameter('columns', columns)} does not name columns. Use a dict such as {{'action': 'drug'}}."
            )
        if unknown := [role for role in columns if role not in cls.__slots__]:
            hint = did_you_mean(str(unknown[0]), cls.__slots__)
            raise SettingsError(
                f"{parameter('columns')}: {unknown[0]!r} is not a role of a column{hint or '.'} "
                f"The roles are {', '.join(cls.__slots__)}."
            )
        wrong = {role: name for role, name in columns.items() if role != "observations" and not _is_name(name)}
        if wrong:
            raise SettingsError(f"{parameter('columns', wrong)}: this is not the name of a column. Give a text.")
        return cls(**columns)

    @classmethod
    def parse(cls, text: str) -> Columns:
        """Parse the names of columns from text.

        Parameters
        ----------
        text
            ROLE=NAME, separated by commas, such as `episode=patient,action=drug,observations=age+pulse`.

        Returns
        -------
        Columns
            The named columns.
        """
        named: dict[str, str] = {}
        for part in filter(None, map(str.strip, text.split(","))):
            role, equals, name = map(str.strip, part.partition("="))
            if role not in cls.__slots__ or not equals or not name or role in named:
                unknown = f"{role!r} is not a role of a column{did_you_mean(role, cls.__slots__) or '.'}"
                twice = f"the role {role!r} is given twice. Leave one out."
                form = twice if role in named else "this is not ROLE=NAME."
                problem = unknown if equals and role not in cls.__slots__ else form
                roles = "" if problem == twice else f" The roles are {', '.join(cls.__slots__)}."
                raise SettingsError(f"{parameter('columns', part)}: {problem}{roles}")
            named[role] = name
        observations = named.pop("observations", None)
        return cls(**named, observations=tuple(observations.split("+")) if observations else None)

    def unusual(self) -> dict[str, str]:
        """Return the names that are not the usual ones of their roles, without observations.

        Returns
        -------
        dict
            Name of the column by role.
        """
        named = {role: getattr(self, role) for role in KNOWN}
        return {role: name for role, name in named.items() if name is not None and name not in KNOWN[role]}

    def where_in(self, names: Sequence[str]) -> Columns:
        """Leave out the names that a log does not have.

        Parameters
        ----------
        names
            The columns of the log.

        Returns
        -------
        Columns
            The named columns that exist; observations only if all of them do.
        """
        kept = {role: name for role in KNOWN if (name := getattr(self, role)) in names}
        seen = self.observations
        return Columns(**kept, observations=seen if seen is not None and set(seen) <= set(names) else None)

    def over(self, others: Columns) -> Columns:
        """Fill in the roles that are None from other names.

        Parameters
        ----------
        others
            The names to use for those roles.

        Returns
        -------
        Columns
            These names where they are given, else the others.
        """
        given = {field.name: value for field in fields(self) if (value := getattr(self, field.name)) is not None}
        return replace(others, **given)


def known_as(role: str, names: Sequence[str]) -> str | None:
    """Return the column that has a role, by the names that loggers use; a log in our own form uses our names only."""
    if not KNOWN[role]:
        return None
    if set(OWN_NAMES) <= set(names):
        return role if role in names else None
    lowered = {plain_name(name): name for name in reversed(names)} | {name: name for name in names}
    return next((lowered[name] for name in KNOWN[role] if name in lowered), None)


def roles_of(columns: Columns) -> dict[str, str]:
    """Return the role of each column."""
    roles = {name: role for role in KNOWN if (name := getattr(columns, role)) is not None}
    return roles | dict.fromkeys(columns.observations or (), "observation")


def plain_name(name: str) -> str:
    """Return a column name in lower case, with words joined by `_`."""
    return re.sub(r"[ -]", "_", name.strip().lower())


def text_columns(columns: Columns, schema: Alphabet | None) -> list[str]:
    """Return the columns whose declared values are text, so that their '1' in a CSV is not a number."""
    if schema is None:
        return []
    declared = dict(zip(schema.features, zip(*schema.observations, strict=True), strict=False))
    declared[columns.action or KNOWN["action"][0]] = schema.actions
    return [name for name, values in declared.items() if all(isinstance(value, str) for value in values)]


def find_columns(
    table: LogTable, columns: Columns, schema: Alphabet | None, drop_truncated: bool
) -> tuple[Columns, tuple[str, ...]]:
    """Resolve the column of each role, and return notes on what was assumed."""
    observations = columns.observations
    if schema is not None:
        observations = schema.features if observations is None else observations
        if observations != schema.features:
            names = ", ".join(schema.features)
            table.refuse(f"the schema's observations are {names}. Leave {parameter('observations')} out.")
    if observations is not None:
        observations = _components(table, observations, "observations" if schema is None else "schema")
    roles = _roles(table, columns, observations or (), drop_truncated)
    notes: list[str] = []
    if observations is None:
        others = [name for name in table.names if name not in roles.values()]
        observations, notes = _observations(others, foreign=not set(OWN_NAMES) <= set(table.names))
    if not observations and columns.observations != ():  # a model that uses no column names none
        table.refuse(
            "there are no observation columns. Add one, which may be constant, or name them with "
            f"{parameter('observations')}."
        )
    named = [*roles.values(), *observations]
    if twice := [name for name, count in Counter(named).items() if count > 1]:
        uses = [role for role, name in roles.items() if name == twice[0]]
        table.refuse(_two_roles(twice[0], [*uses, *["observation"] * observations.count(twice[0])]))
    if roles.get("done") == "done" and set(OWN_NAMES) <= set(table.names):
        notes.append("column 'done' marks ends, and was not read as an observation")
    if "step" not in roles:
        notes.append("there is no step column: the rows of each episode are assumed to be in order")
    if "episode" not in roles:
        ends = ", ".join(repr(roles[role]) for role in ENDS if role in roles)
        notes.append(f"there is no episode column: an episode ends where {ends} is true")
    return Columns(**roles, observations=observations), tuple(notes)


def _two_roles(name: str, uses: Sequence[str]) -> str:
    if len(set(uses)) == 1:
        return f"column {name!r} is named twice as {uses[0]}. Name it once."
    return f"column {name!r} is used as {' and '.join(dict.fromkeys(uses))}. Give it one role."


def _is_name(value: object) -> bool:
    return value is None or isinstance(value, str)


def _roles(table: LogTable, columns: Columns, observations: Sequence[str], drop_truncated: bool) -> dict[str, str]:
    """Return the column of each role that has one; refuse a log that lacks a required or named column."""
    free = [name for name in table.names if name not in observations]
    roles: dict[str, str] = {}
    missing: dict[str, str | None] = {}  # by role, the name that the caller gives
    for role in KNOWN:
        if (given := getattr(columns, role)) is not None:
            if given in table.names:
                roles[role] = given
            else:
                missing[role] = given
        elif (found := known_as(role, table.names)) and found in free and found not in roles.values():
            roles[role] = found
        elif role in ("action", "reward") and found:
            other = [name for name, column in roles.items() if column == found] or ["observation"]
            table.refuse(_two_roles(found, [role, *other]))
        elif role in ("action", "reward"):
            missing[role] = None
    if not any(role in roles or role in missing for role in ENDS):
        if drop_truncated:
            missing["truncated"] = None
        if "episode" not in roles:
            missing.setdefault("episode", None)
    if missing:
        _refuse_missing(table, {role: missing[role] for role in KNOWN if role in missing})
    return roles


def _refuse_missing(table: LogTable, missing: Mapping[str, str | None]) -> None:
    """Raise an error that names every missing column, by role, and similar columns where there are any."""
    for role, given in missing.items():
        for whole in (given,) if given else KNOWN[role]:
            if parts := [other for other in table.names if other.startswith(f"{whole}.")]:
                table.refuse_column(
                    whole,
                    f"a cell holds {len(parts)} values ({', '.join(parts[:3])} …), but the {role} is one value. Write "
                    f"them as one, or name one with {parameter('columns', f'{role}={parts[0]}')}.",
                )
    if len(table.names) == 1 and (separator := re.search(r"[,;\t|]", table.names[0])):
        fix = "by commas, or name a file with tabs .tsv" if separator[0] != "," else "by tabs, or name the file .csv"
        table.refuse(f"the cells are separated by {separator[0]!r}. Separate them {fix}.")
    near = {role: _similar(role, given, table.names) for role, given in missing.items()}
    named = [f"column {given!r} ({role})" for role, given in missing.items() if given]
    *some, last = [role for role, given in missing.items() if not given] or [""]
    usual = [f"{', '.join(some)} or {last} column" if some else f"{last} column"] if last else []
    what = " and no ".join([*named, *usual])
    fix = parameter("columns", ",".join(f"{role}={near[role] or 'NAME'}" for role in missing))
    if all(near.values()):
        table.refuse(f"there is no {what}. Did you mean {fix}?")
    others = ", ".join(map(repr, table.names[:20])) + (", …" if len(table.names) > 20 else "")
    which = "it" if len(missing) == 1 else "them"
    add = f"Add {which}, or name" if usual else "Name"
    drop = f", or leave out {parameter('drop_truncated', True)}" if missing.get("truncated", "") is None else ""
    table.refuse(f"there is no {what}. The columns are {others}. {add} {which} with {fix}{drop}.")


def _similar(role: str, given: str | None, names: Sequence[str]) -> str | None:
    """Return a column that the caller may mean: a misspelt name, or one that contains the name of its role."""
    if given is not None:
        return closest(given, names)
    words = [name for name in names if role in plain_name(name).split("_")]
    return words[0] if len(words) == 1 else closest(role, names, cutoff=0.8)


def _components(table: LogTable, observations: Sequence[str], source: str) -> tuple[str, ...]:
    """Return the observation columns that a parameter names, with vectors and records replaced by their parts."""
    found: list[str] = []
    missing = []
    for name in observations:
        parts = [name] if name in table.names else [n for n in table.names if n.startswith(f"{name}.")]
        found += parts
        missing += [] if parts else [name]
    if missing:
        near = [closest(name, table.names) for name in missing]
        hint = f" Did you mean {', '.join(map(repr, filter(None, near)))}?" if any(near) else ""
        others = ", ".join(map(repr, table.names[:20])) + (", …" if len(table.names) > 20 else "")
        what = " and no column ".join(map(repr, missing))
        table.refuse(f"there is no column {what} ({parameter(source)}).{hint or f' Choose from {others}.'}")
    return tuple(found)


def _observations(others: Sequence[str], foreign: bool) -> tuple[tuple[str, ...], list[str]]:
    """Return the observation columns, with notes: all others or, in logs of another form, those named so."""
    kept = tuple(name for name in others if not ROW_INDEX.fullmatch(name))
    notes = [f"column {name!r} looks like a row index and was left out" for name in others if name not in kept]
    marked = tuple(name for name in kept if OBSERVED.fullmatch(name.lower()))
    if foreign and marked and marked != kept:
        left = [repr(name) for name in kept if name not in marked]
        shown = ", ".join(left[:5]) + (f" and {len(left) - 5} more" if len(left) > 5 else "")
        return marked, [*notes, f"columns left out: {shown}. To use them, name all with {parameter('observations')}"]
    return kept, notes
