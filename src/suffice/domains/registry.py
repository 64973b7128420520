"""Domains, one per file: a frozen dataclass of options that defines a finite model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from fractions import Fraction
from types import MappingProxyType
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from suffice.domains.domain import Domain
from suffice.domains.pomdp.domain import PomdpDomain
from suffice.domains.tasks.cheat_mab import CheatMAB
from suffice.domains.tasks.cheese import Cheese
from suffice.domains.tasks.cookie import Cookie
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.enemy_corridor import EnemyCorridor
from suffice.domains.tasks.flickering_grid import FlickeringGrid
from suffice.domains.tasks.malfunction_mab import MalfunctionMAB
from suffice.domains.tasks.memory_length import MemoryLength
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.domains.tasks.passive_t_maze import PassiveTMaze
from suffice.domains.tasks.repeat_first import RepeatFirst
from suffice.domains.tasks.rotating_mab import ResetRotatingMAB, RotatingMAB
from suffice.domains.tasks.rotating_maze import RotatingMaze
from suffice.domains.tasks.symbol import Symbol
from suffice.domains.tasks.t_maze import TMaze
from suffice.domains.tasks.two_keys import TwoKeys
from suffice.errors import SettingsError, did_you_mean
from suffice.registry import Registry

__all__ = [
    "DOMAINS",
    "CheatMAB",
    "Cheese",
    "Cookie",
    "Corridor",
    "Domain",
    "EnemyCorridor",
    "FlickeringGrid",
    "MalfunctionMAB",
    "MemoryLength",
    "MiniHall",
    "PassiveTMaze",
    "PomdpDomain",
    "RepeatFirst",
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
}
DOMAINS: Final = Registry(
    "domain", _OURS, group="suffice.domains", needs=("__dataclass_fields__", "model", "default_horizon")
)


def make(name: str, options: Mapping[str, str] = MappingProxyType({})) -> Domain:
    """The domain of that name, its options given as text, as on the command line; or that of a `.POMDP` file.

    >>> suffice.make("t-maze", {"length": "8"})
    TMaze(length=8, cue_visible=False, noise=False, actions='all')
    """
    if name.lower().endswith(".pomdp"):
        if options:
            raise SettingsError(f"{name}: a file has no options; leave out {next(iter(options))}, or change the file")
        return PomdpDomain.read(name)
    domain = DOMAINS[name]
    types = get_type_hints(domain)
    names = [field.name for field in fields(domain)]  # type: ignore[arg-type]  # every domain is a dataclass
    values: dict[str, Any] = {}
    for option, text in options.items():
        values[option] = _parse(text, option, types[_one_of(names, option, f"option of {name}")])
    return domain(**values)


def _parse(text: str, option: str, kind: Any) -> Any:
    """The value of an option's text: its field is a bool, a Literal, a text, a fraction or a whole number."""
    if kind is bool:
        return _one_of(("true", "false"), text, f"value of {option}") == "true"
    if get_origin(kind) is Literal:
        return _one_of(get_args(kind), text, f"value of {option}")
    if kind is str:
        return text
    number, needed = (Fraction, "number such as 0.9 or 9/10") if kind is Fraction else (int, "whole number")
    try:
        return number(text)
    except (ValueError, ZeroDivisionError):
        raise SettingsError(f"{option} needs a {needed}, not {text!r}") from None


def _one_of(known: Iterable[str], given: str, what: str) -> str:
    names = list(known)
    if given in names:
        return given
    hint = did_you_mean(given, names) or ";"
    raise SettingsError(f"unknown {what}: {given!r}{hint} known: {', '.join(names) or 'none'}")
