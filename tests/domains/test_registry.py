"""Options of domains as text: converted by type, or refused with what is known."""

from __future__ import annotations

from fractions import Fraction

import pytest

from suffice.domains.registry import DOMAINS, make
from suffice.domains.tasks.cheat_mab import CheatMAB
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SufficeError, alternatives

# Options as text


def test_make_converts_text_by_field_type() -> None:
    assert make("t-maze", {}) == TMaze()
    options = {"length": "7", "cue_visible": "true", "noise": "false", "actions": "east"}
    assert make("t-maze", options) == TMaze(length=7, cue_visible=True, noise=False, actions="east")
    assert make("mini-hall", {"observations": "classic", "reset": "immediate", "wall": "true"}) == MiniHall(
        observations="classic", reset="immediate", wall=True
    )
    assert make("corridor", {"enemy": "0.9", "columns": "3"}) == Corridor(columns=3, enemy=Fraction(9, 10))
    assert make("cheat-mab", {"code": "001"}) == CheatMAB()
    assert all(make(name, {}) == domain() for name, domain in DOMAINS.items())


T_MAZE_OPTIONS = "known: length, cue_visible, noise, actions"
ALL_DOMAINS = f"Choose {alternatives(DOMAINS)}."


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("tmaze", {}, f"'tmaze' is not a domain. Did you mean 't-maze'? {ALL_DOMAINS}"),
        ("poker", {}, f"'poker' is not a domain. {ALL_DOMAINS}"),
        ("t-maze", {"lenght": "5"}, f"unknown option of t-maze: 'lenght'; did you mean 'length'? {T_MAZE_OPTIONS}"),
        ("t-maze", {"horizon": "5"}, f"unknown option of t-maze: 'horizon'; {T_MAZE_OPTIONS}"),
        ("t-maze", {"DEFAULT_HORIZON": "5"}, f"unknown option of t-maze: 'DEFAULT_HORIZON'; {T_MAZE_OPTIONS}"),
        (
            "t-maze",
            {"actions": "est"},
            "unknown value of actions: 'est'; did you mean 'east'? known: all, east, forward",
        ),
        ("t-maze", {"noise": "ture"}, "unknown value of noise: 'ture'; did you mean 'true'? known: true, false"),
        ("t-maze", {"length": "four"}, "length needs a whole number, not 'four'"),
        ("mini-hall", {"reset": "now"}, "unknown value of reset: 'now'; known: next, immediate"),
        ("corridor", {"enemy": "often"}, "enemy needs a number such as 0.9 or 9/10, not 'often'"),
        ("corridor", {"enemy": "1/0"}, "enemy needs a number such as 0.9 or 9/10, not '1/0'"),
        ("corridor", {"enemy": "1.5"}, "enemy=3/2 is no probability; use a number from 0 to 1"),
        ("corridor", {"enemy": "-0.1"}, "enemy=-1/10 is no probability; use a number from 0 to 1"),
        ("corridor", {"columns": "0"}, "a corridor of 0 columns has no place to go; use columns=1 or more"),
        ("cookie", {"actions": "silly"}, "unknown value of actions: 'silly'; known: all, sensible"),
        ("cheese", {"reset": "later"}, "unknown value of reset: 'later'; known: next, immediate"),
        ("rotating-mab", {"arms": "1"}, "a bandit with arms=1 leaves no choice; use arms=2 or more"),
        ("reset-rotating-mab", {"arms": "0"}, "a bandit with arms=0 leaves no choice; use arms=2 or more"),
        ("malfunction-mab", {"limit": "0"}, "with limit=0 arm 0 would never work; use limit=1 or more"),
        ("cheat-mab", {"code": "012"}, "code=012 does not spell the arms 0 and 1; use a code such as 001"),
        ("cheat-mab", {"code": ""}, "code= does not spell the arms 0 and 1; use a code such as 001"),
        ("rotating-maze", {"period": "0"}, "a compass cannot turn after every 0 actions; use period=1 or more"),
        ("enemy-corridor", {"columns": "1"}, "columns=1 cannot be halved; use columns=2 or more"),
        ("flickering-grid", {"hidden": "0.2"}, "unknown option of flickering-grid: 'hidden'; known: none"),
        ("repeat-first", {"answers": "0"}, "answers=0 cannot add up to a reward of 1; use answers=1 or more"),
        ("memory-length", {"length": "0"}, "an episode of length=0 has no last action; use length=1 or more"),
        ("passive-t-maze", {"length": "0"}, "a t-maze of length 0 has no corridor; use length=1 or more"),
    ],
)
def test_make_says_what_is_wrong(name: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(SufficeError) as error:
        make(name, options)
    assert str(error.value) == message
