"""Simulated domains, one per file: a frozen dataclass of options that simulates Episodes."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from suffice.domains.mini_hall import MiniHall
from suffice.domains.t_maze import TMaze
from suffice.errors import SufficeError

__all__ = ["DOMAINS", "Domain", "MiniHall", "TMaze", "make"]

Domain = TMaze | MiniHall

DOMAINS: Final[dict[str, type[Domain]]] = {"t-maze": TMaze, "mini-hall": MiniHall}


def make(name: str, options: Mapping[str, str]) -> Domain:
    """The domain of that name, its options given as text, as on the command line."""
    domain = DOMAINS[_one_of(DOMAINS, name, "domain")]
    types = get_type_hints(domain)
    names = [field.name for field in fields(domain)]
    values: dict[str, Any] = {}
    for option, text in options.items():
        values[option] = _parse(text, option, types[_one_of(names, option, f"option of {name}")])
    return domain(**values)


def _parse(text: str, option: str, kind: Any) -> Any:
    """The value of an option's text: its field is a bool, a Literal of strings, or a whole number."""
    if kind is bool:
        return _one_of(("true", "false"), text, f"value of {option}") == "true"
    if get_origin(kind) is Literal:
        return _one_of(get_args(kind), text, f"value of {option}")
    try:
        return int(text)
    except ValueError:
        raise SufficeError(f"{option} needs a whole number, not {text!r}") from None


def _one_of(known: Iterable[str], given: str, what: str) -> str:
    names = list(known)
    if given in names:
        return given
    close = difflib.get_close_matches(given, names, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise SufficeError(f"unknown {what}: {given!r}; {hint}known: {', '.join(names)}")
