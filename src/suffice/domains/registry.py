"""The table of domains, and `make`, which constructs one from its name and options."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

import numpy as np

from suffice.domains.domain import Domain
from suffice.domains.pomdp.domain import PomdpDomain
from suffice.domains.tasks.cheat_mab import CheatMAB
from suffice.domains.tasks.cheese import Cheese
from suffice.domains.tasks.cookie import Cookie
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.delayed_match import DelayedMatch
from suffice.domains.tasks.enemy_corridor import EnemyCorridor
from suffice.domains.tasks.flickering_grid import FlickeringGrid
from suffice.domains.tasks.malfunction_mab import MalfunctionMAB
from suffice.domains.tasks.memory_length import MemoryLength
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.domains.tasks.passive_t_maze import PassiveTMaze
from suffice.domains.tasks.repeat_first import RepeatFirst
from suffice.domains.tasks.repeat_previous import RepeatPrevious
from suffice.domains.tasks.rotating_mab import ResetRotatingMAB, RotatingMAB
from suffice.domains.tasks.rotating_maze import RotatingMaze
from suffice.domains.tasks.symbol import Symbol
from suffice.domains.tasks.t_maze import TMaze
from suffice.domains.tasks.two_keys import TwoKeys
from suffice.errors import SettingsError, did_you_mean, require_type, spelled
from suffice.registry import Registry

__all__ = [
    "DOMAINS",
    "CheatMAB",
    "Cheese",
    "Cookie",
    "Corridor",
    "DelayedMatch",
    "Domain",
    "EnemyCorridor",
    "FlickeringGrid",
    "MalfunctionMAB",
    "MemoryLength",
    "MiniHall",
    "PassiveTMaze",
    "PomdpDomain",
    "RepeatFirst",
    "RepeatPrevious",
    "ResetRotatingMAB",
    "RotatingMAB",
    "RotatingMaze",
    "Symbol",
    "TMaze",
    "TwoKeys",
    "make",
]

_OURS: Final[dict[str, type[Domain]]] = {
    "corridor": Corridor,
    "t-maze": TMaze,
    "cookie": Cookie,
    "cheese": Cheese,
    "mini-hall": MiniHall,
    "rotating-mab": RotatingMAB,
    "reset-rotating-mab": ResetRotatingMAB,
    "malfunction-mab": MalfunctionMAB,
    "cheat-mab": CheatMAB,
    "rotating-maze": RotatingMaze,
    "enemy-corridor": EnemyCorridor,
    "flickering-grid": FlickeringGrid,
    "symbol": Symbol,
    "two-keys": TwoKeys,
    "repeat-first": RepeatFirst,
    "memory-length": MemoryLength,
    "passive-t-maze": PassiveTMaze,
    "delayed-match": DelayedMatch,
    "repeat-previous": RepeatPrevious,
}
DOMAINS: Final = Registry(
    "domain", _OURS, group="suffice.domains", needs=("__dataclass_fields__", "model", "default_horizon")
)


def make(name: str | Path, options: Mapping[str, object] = MappingProxyType({}), **keywords: object) -> Domain:
    """Make a domain from its name and options, or read one from a `.POMDP` file.

    Parameters
    ----------
    name
        Name of a domain, such as "t-maze" (`suffice simulate --help` and the gallery list them), or path of a
        `.POMDP` file, which has no options.
    options
        Options as a mapping, for names and values that are computed or read from elsewhere. Values may be text, as on
        the command line: `{"length": "8", "noise": "true"}`.
    **keywords
        Options by name: `length=8`. They take precedence over `options`. None stands for the default.

    Returns
    -------
    Domain
        A frozen dataclass of the options, which makes finite models and simulates episodes.

    Raises
    ------
    SettingsError
        If the domain, an option or a value is unknown. The message lists what is known.

    Examples
    --------
    >>> suffice.make("t-maze", length=8)
    TMaze(length=8, cue_visible=False, noise=False, actions='all')
    >>> suffice.make("corridor", {"enemy": "9/10"}, columns=3).enemy
    Fraction(9, 10)
    """
    require_type("name", name, str | Path, "a domain. Name one, such as 't-maze', or a .POMDP file.")
    name = str(name)
    given = {option: value for option, value in {**options, **keywords}.items() if value is not None}
    if name.lower().endswith(".pomdp"):
        if given:
            raise SettingsError(f"{name}: a .POMDP file has no options. Remove {next(iter(given))}, or edit the file.")
        return PomdpDomain.read(name)
    domain = DOMAINS[name]
    types = get_type_hints(domain)
    names = [field.name for field in fields(domain)]  # type: ignore[arg-type]  # every domain is a dataclass
    for option in given:
        if option not in names:
            known = f"Its options are {', '.join(names)}." if names else "It has no options."
            raise SettingsError(f"{option} is not an option of {name}{did_you_mean(option, names) or '.'} {known}")
    return domain(**{option: _parsed(value, option, types[option]) for option, value in given.items()})


def _parsed(value: object, option: str, kind: Any) -> Any:
    """Convert the value of an option to the type of its field: bool, Literal, str, Fraction or int."""
    text = str(value).lower() if isinstance(value, bool | np.bool_) else str(value)
    if kind is bool:
        return _one_of(("true", "false"), text, option) == "true"
    if get_origin(kind) is Literal:
        return _one_of(get_args(kind), text, option)
    if kind is str:
        return text
    number: type[Fraction | int] = Fraction if kind is Fraction else int
    try:
        return number(text)
    except (ValueError, ZeroDivisionError):
        needed = "number. Use one such as 0.9 or 9/10." if kind is Fraction else "whole number. Use one such as 3."
        raise SettingsError(f"{_given(option, value)} is not a {needed}") from None


def _one_of(known: tuple[str, ...], given: str, option: str) -> str:
    if given in known:
        return given
    hint = did_you_mean(given, known) or "."
    choices = f"{', '.join(known[:-1])} or {known[-1]}"
    raise SettingsError(f"{_given(option, given)} is not a known value{hint} Choose {choices}.")


def _given(option: str, value: object) -> str:
    """Return an option with its value, as the user wrote it."""
    return spelled(f"{option}={value!r}", f"--set {option}={value}")
