"""Errors of the command-line parser as one line each: subject, problem, fix."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from cyclopts import CoercionError, CycloptsError, MissingArgumentError, UnknownOptionError, UnusedCliTokensError
from cyclopts.exceptions import RepeatArgumentError, UnknownCommandError

from suffice.cli.app import COMMANDS, USAGE
from suffice.errors import closest

NUMBERS = {
    int: "is not a whole number. Use a number such as 10.",
    float: "is not a number. Use a number such as 0.1.",
}
SHORT_NAMES = {"--output": "-o"}  # options that the usage lines show by their short names


def message_of(error: CycloptsError) -> str:
    """Return the line to print for a mistake in the arguments of the command line."""
    command = " ".join(error.command_chain or ())
    if isinstance(error, UnknownCommandError):
        return _unknown_command((error.unused_tokens or ["?"])[0])
    if isinstance(error, UnknownOptionError):
        return _unknown_option(command, error)
    if isinstance(error, MissingArgumentError):
        return _missing(command, error)
    if isinstance(error, CoercionError):
        return _unusable_value(command, error)
    if isinstance(error, UnusedCliTokensError):
        extra = (error.unused_tokens or ["?"])[0]
        return f"{command}: the argument {extra} is one too many. {_usage(command)}"
    if isinstance(error, RepeatArgumentError):
        return f"{error.token.keyword} is given twice. Leave one out."
    return f"{command}: {error}" if command else str(error)


def _unknown_command(name: str) -> str:
    known = [command for commands in COMMANDS.values() for command in commands if not command.startswith("-")]
    kind = "option" if name.startswith("-") else "command"
    return f"{name}: there is no such {kind}.{_did_you_mean(name, known)} For a list use suffice --help."


def _unknown_option(command: str, error: UnknownOptionError) -> str:
    name = (error.token.keyword or error.token.value).split("=", 1)[0]
    names = chain.from_iterable(argument.names for argument in error.argument_collection if argument.parse)
    known = ["--help", *(other for other in names if other.startswith("--"))]
    subject = f"{command} {name}".lstrip()
    listed = f"suffice {command} --help".replace("  ", " ")
    return f"{subject}: there is no such option.{_did_you_mean(name, known)} For a list use {listed}."


def _missing(command: str, error: MissingArgumentError) -> str:
    argument = error.argument
    assert argument is not None
    given = error.keyword or next((token.keyword for token in argument.tokens if token.keyword), None)
    if given is not None:
        return f"{command} {given}: the value is missing. {_usage(command, given)}"
    name = argument.name if argument.name.startswith("-") else argument.name.upper()
    misspelt = closest(name, [word for word in error.unused_tokens or () if word.startswith("--")])
    hint = f" {misspelt} is not an option." if misspelt else ""
    return f"{command}: {SHORT_NAMES.get(name, name)} is missing.{hint} {_usage(command)}"


def _unusable_value(command: str, error: CoercionError) -> str:
    token, kind = error.token, error.target_type
    if token is None or kind is None:
        return f"{command}: {error}"
    if not token.value and kind is Path:
        return f"{token.keyword or command} '': the name is empty. Name a file or folder."
    subject = f"{token.keyword or command} {token.value}".lstrip()
    if choices := _choices(kind):
        return f"{subject}: there is no such choice.{_did_you_mean(token.value, choices)} Choose {_listed(choices)}."
    return f"{subject} {NUMBERS.get(kind, f'is not a possible value. See suffice {command} --help.')}"


def _choices(kind: Any) -> list[str]:
    if get_origin(kind) is Literal:
        return [str(choice) for choice in get_args(kind)]
    return [choice for part in get_args(kind) for choice in _choices(part)]


def _did_you_mean(name: str, known: Sequence[str]) -> str:
    meant = closest(name, known)
    return "" if meant is None else f" Did you mean {meant}?"


def _listed(choices: Sequence[str]) -> str:
    return f"{', '.join(choices[:-1])} or {choices[-1]}" if len(choices) > 1 else choices[0]


def _usage(command: str, option: str = "") -> str:
    """Return the usage of a command or, for an option that the usage omits, the command that shows its help."""
    shown = USAGE.get(command, "")
    if option and SHORT_NAMES.get(option, option) not in shown.split():
        return f"See suffice {command} --help."
    return f"Usage: {shown}" if shown else f"See suffice {command} --help."
