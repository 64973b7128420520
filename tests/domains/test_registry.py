"""Options of domains: conversion by type, and refusal of unknown options and values."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from suffice.domains.registry import DOMAINS, make
from suffice.domains.tasks.cheat_mab import CheatMAB
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SettingsError, SufficeError, alternatives


def test_make_converts_text_to_the_type_of_the_option() -> None:
    assert make("t-maze", {}) == TMaze()
    options = {"length": "7", "cue_visible": "true", "noise": "false", "actions": "east"}
    assert make("t-maze", options) == TMaze(length=7, cue_visible=True, noise=False, actions="east")
    assert make("mini-hall", {"observations": "classic", "reset": "immediate", "wall": "true"}) == MiniHall(
        observations="classic", reset="immediate", wall=True
    )
    assert make("corridor", {"enemy": "0.9", "columns": "3"}) == Corridor(columns=3, enemy=Fraction(9, 10))
    assert make("cheat-mab", {"code": "001"}) == CheatMAB()
    assert all(make(name, {}) == domain() for name, domain in DOMAINS.items())


def test_make_accepts_options_as_keywords() -> None:
    assert make("t-maze", length=8) == make("t-maze", {"length": "8"}) == TMaze(length=8)
    assert make("t-maze", length=np.int64(8), noise=True, actions="east") == TMaze(8, noise=True, actions="east")
    for enemy in (0.9, "0.9", "9/10", Fraction(9, 10)):
        assert make("corridor", enemy=enemy).enemy == Fraction(9, 10)
    assert make("t-maze", {"length": 3, "noise": True}, length=8) == TMaze(8, noise=True)  # keywords take precedence
    assert make("t-maze", length=None, noise=np.bool_(True)) == TMaze(noise=True)


T_MAZE_OPTIONS = "Its options are length, cue_visible, noise, actions."
ALL_DOMAINS = f"Choose {alternatives(DOMAINS)}."


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("t-maze", {"lenght": "5"}, f"lenght is not an option of t-maze. Did you mean 'length'? {T_MAZE_OPTIONS}"),
        ("t-maze", {"horizon": "5"}, f"horizon is not an option of t-maze. {T_MAZE_OPTIONS}"),
        ("t-maze", {"DEFAULT_HORIZON": "5"}, f"DEFAULT_HORIZON is not an option of t-maze. {T_MAZE_OPTIONS}"),
        (
            "t-maze",
            {"actions": "est"},
            "actions='est' is not a known value. Did you mean 'east'? Choose all, east or forward.",
        ),
        ("t-maze", {"noise": "ture"}, "noise='ture' is not a known value. Did you mean 'true'? Choose true or false."),
        ("t-maze", {"length": "four"}, "length='four' is not a whole number. Use one such as 3."),
        ("t-maze", {"length": 2.5}, "length=2.5 is not a whole number. Use one such as 3."),
        ("t-maze", {"length": True}, "length=True is not a whole number. Use one such as 3."),
        ("mini-hall", {"reset": "now"}, "reset='now' is not a known value. Choose next or immediate."),
        ("corridor", {"enemy": "often"}, "enemy='often' is not a number. Use one such as 0.9 or 9/10."),
        ("corridor", {"enemy": "1/0"}, "enemy='1/0' is not a number. Use one such as 0.9 or 9/10."),
        ("corridor", {"enemy": "1.5"}, "enemy=3/2 is not a probability. Use a number from 0 to 1."),
        ("corridor", {"enemy": "-0.1"}, "enemy=-1/10 is not a probability. Use a number from 0 to 1."),
        ("corridor", {"columns": "0"}, "columns=0 leaves no corridor. Use columns=1 or more."),
        ("cookie", {"actions": "silly"}, "actions='silly' is not a known value. Choose all or sensible."),
        ("cheese", {"reset": "later"}, "reset='later' is not a known value. Choose next or immediate."),
        ("rotating-mab", {"arms": "1"}, "arms=1 leaves nothing to choose. Use arms=2 or more."),
        ("reset-rotating-mab", {"arms": "0"}, "arms=0 leaves nothing to choose. Use arms=2 or more."),
        ("malfunction-mab", {"limit": "0"}, "limit=0 means that arm 0 never works. Use limit=1 or more."),
        ("cheat-mab", {"code": "012"}, "code='012' does not consist of the arms 0 and 1. Use a code such as 001."),
        ("cheat-mab", {"code": ""}, "code='' does not consist of the arms 0 and 1. Use a code such as 001."),
        (
            "rotating-maze",
            {"period": "0"},
            "period=0 is not a number of actions between two rotations. Use period=1 or more.",
        ),
        ("enemy-corridor", {"columns": "1"}, "columns=1 cannot be divided into halves. Use columns=2 or more."),
        ("flickering-grid", {"hidden": "0.2"}, "hidden is not an option of flickering-grid. It has no options."),
        ("repeat-first", {"answers": "0"}, "answers=0 cannot add up to a return of 1. Use answers=1 or more."),
        ("memory-length", {"length": "0"}, "length=0 leaves no action. Use length=1 or more."),
        ("passive-t-maze", {"length": "0"}, "length=0 leaves no corridor. Use length=1 or more."),
        ("delayed-match", {"colours": "1"}, "colours=1 is not possible. Use colours=2 to 8."),
        ("delayed-match", {"delay": "-1"}, "delay=-1 is not a number of blanks. Use delay=0 or more."),
        ("repeat-previous", {"suits": "9"}, "suits=9 is not possible. Use suits=2 to 8."),
        ("repeat-previous", {"k": "0"}, "k=0 is not an earlier observation. Use k=1 (the last one) or more."),
        ("repeat-previous", {"answers": "0"}, "answers=0 cannot add up to a return of 1. Use answers=1 or more."),
    ],
)
def test_make_names_problem_and_fix(name: str, options: dict[str, object], message: str) -> None:
    for attempt in (lambda: make(name, options), lambda: make(name, **options)):
        with pytest.raises(SettingsError) as error:
            attempt()
        assert str(error.value) == message


@pytest.mark.parametrize(("name", "hint"), [("tmaze", "Did you mean 't-maze'?"), ("poker", "")])
def test_make_lists_the_domains_if_one_is_unknown(name: str, hint: str) -> None:
    with pytest.raises(SufficeError) as error:
        make(name)
    assert all(part in str(error.value) for part in (f"{name!r}", hint, ALL_DOMAINS))


def test_make_refuses_options_of_a_pomdp_file() -> None:
    with pytest.raises(SettingsError, match=r"^tiger.POMDP: a .POMDP file has no options. Remove noise"):
        make("tiger.POMDP", noise=True)
