"""Reader of Cassandra's `.POMDP` format: every form of its grammar, and every error message."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suffice.domains.pomdp.domain import PomdpDomain
from suffice.domains.pomdp.reading import read_pomdp
from suffice.domains.pomdp.tables import SparseRows
from suffice.errors import SufficeError
from support.pomdp_files import FOLDER, HALF, HEAD, THIRD, WHOLE, F, O, T, read


def message_of(text: str | bytes) -> str:
    """Return the error message for a file, without its path."""
    with pytest.raises(SufficeError) as caught:
        read(text)
    message = str(caught.value)
    assert "\n" not in message and message.startswith(f"{FOLDER}/some.POMDP:")
    return message.removeprefix(f"{FOLDER}/some.POMDP:")


def vector(row: Any, n: int) -> list[Fraction]:
    return [row.get(i, F(0)) for i in range(n)]


def start_of(text: str) -> list[Fraction]:
    return vector(read(HEAD + text + T + O).start, 3)


def transitions_of(text: str, action: int = 1) -> list[list[Fraction]]:
    pomdp = read(HEAD + T + text + "\n" + O)
    return [vector(row, 3) for row in pomdp.transitions[3 * action : 3 * action + 3]]


def seen_of(text: str, action: int = 1) -> list[list[Fraction]]:
    pomdp = read(HEAD + T + O + text)
    return [vector(row, 2) for row in pomdp.seen[3 * action : 3 * action + 3]]


def rewards_of(text: str) -> dict[tuple[int, ...], Fraction]:
    """Return all non-zero rewards."""
    found = read(WHOLE + text).rewards
    parts = itertools.product(range(2), range(3), range(3), range(2))
    return {where: found.of(*where) for where in parts if found.of(*where)}


# ---------------------------------------------------------------- preamble


def test_read_pomdp_accepts_names_and_counts() -> None:
    pomdp = read(WHOLE)
    assert pomdp.discount == F(19, 20)
    assert pomdp.states == ("left", "middle", "right")
    assert (pomdp.actions, pomdp.observations) == (("stay", "go"), ("dark", "light"))
    assert repr(pomdp) == "<Pomdp: 3 states, 2 actions, 2 observations>"
    counted = read(re.sub("left middle right", "3", WHOLE).replace("stay go", "2").replace("dark light", "02"))
    assert (counted.states, counted.actions, counted.observations) == ((0, 1, 2), (0, 1), (0, 1))


@pytest.mark.parametrize("order", [(4, 3, 2, 1, 0), (2, 0, 4, 1, 3)])
def test_read_pomdp_accepts_the_preamble_in_any_order(order: tuple[int, ...]) -> None:
    lines = HEAD.splitlines()
    pomdp = read("\n".join(["start: right", *(lines[i] for i in order), T, O]))
    assert pomdp.states == ("left", "middle", "right") and pomdp.start == {2: 1}


@pytest.mark.parametrize(
    "layout",
    [
        lambda text: text.replace(": ", ":"),
        lambda text: text.replace(":", " : "),
        lambda text: text.replace(" ", "\n\n\t "),
        lambda text: text.replace("\n", "\r\n"),
        lambda text: text.replace("\n", "\r"),
        lambda text: text.replace("\n", " # a comment: T O R 0.5\n  # another\n"),
        lambda text: "\ufeff" + text,
    ],
)
def test_read_pomdp_ignores_layout_and_comments(layout: Callable[[str], str]) -> None:
    text = (
        WHOLE + "T: go : left : middle 1.0\nT: go : left : left 0\nR: go : * : * : light -2.5\nO: go : left 0.25 0.75"
    )
    plain, other = read(text), read(layout(text))
    assert (other.states, other.actions, other.observations) == (plain.states, plain.actions, plain.observations)
    assert (other.transitions, other.seen) == (plain.transitions, plain.seen)
    assert other.rewards.of(1, 0, 1, 1) == F(-5, 2) and other.rewards.of(1, 0, 1, 0) == 0


def test_read_pomdp_accepts_dots_dashes_and_other_alphabets_in_names() -> None:
    pomdp = read(WHOLE.replace("left", "s0.1-a_B").replace("stay", "größer") + "R: größer : s0.1-a_B : * : * 1")
    assert pomdp.states[0] == "s0.1-a_B" and pomdp.rewards.of(0, 0, 0, 0) == 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [THIRD] * 3),
        ("start: uniform\n", [THIRD] * 3),
        ("start:\n0.5 0.25\n0.25\n", [HALF, F(1, 4), F(1, 4)]),
        ("start: 1 0 0\n", [1, 0, 0]),
        ("start: middle\n", [0, 1, 0]),
        ("start: 2\n", [0, 0, 1]),
        ("start include: left 2\n", [HALF, 0, HALF]),
        ("start include : right\n", [0, 0, 1]),
        ("start include: *\n", [THIRD] * 3),
        ("start exclude: left\n", [0, HALF, HALF]),
        ("start\nexclude: 0 right right\n", [0, 1, 0]),
        ("start: 0.333333 0.333333 0.333333\n", [THIRD] * 3),
    ],
)
def test_read_pomdp_reads_every_form_of_start(text: str, expected: list[Fraction]) -> None:
    assert start_of(text) == expected


@pytest.mark.parametrize("start", ["start: 0", "start: 1", "start: 1.0", "start: only", "start: uniform", ""])
def test_read_pomdp_reads_the_start_of_a_single_state(start: str) -> None:
    head = "discount: 1 values: cost states: only actions: 1 observations: 1\n"
    assert read(head + start + "\nT: 0 identity O: 0 1").start == {0: 1}


# ---------------------------------------------------------------- tables

SPLIT = [HALF, F(1, 4), F(1, 4)]
ROWS = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("T: go : left : left 0.0 T: go : left : right 1\n", [[0, 0, 1], ROWS[1], ROWS[2]]),
        ("T: 1 : 0 : 0 0 T: 1 : 0 : 2 1.\n", [[0, 0, 1], ROWS[1], ROWS[2]]),
        ("T: go : middle 0.5 .25 2.5e-1\n", [ROWS[0], SPLIT, ROWS[2]]),
        ("T: go : * 0.5 0.25 25E-2\n", [SPLIT] * 3),
        ("T: * : middle\n+0.5 + 0.25 0.25\n", [ROWS[0], SPLIT, ROWS[2]]),
        ("T: go : right uniform\n", [ROWS[0], ROWS[1], [THIRD] * 3]),
        ("T: go\n0 1 0 0 0 1 1 0 0\n", [[0, 1, 0], [0, 0, 1], [1, 0, 0]]),
        ("T: *\n0 1 0\n0 0 1\n1 0 0\n", [[0, 1, 0], [0, 0, 1], [1, 0, 0]]),
        ("T: go uniform\n", [[THIRD] * 3] * 3),
        ("T: go uniform T: go identity\n", ROWS),
        ("T: go uniform T: * identity T: go : * : * 0 T: go : * : left 1\n", [[1, 0, 0]] * 3),
        ("T: go : * : * 0.333333\n", [[THIRD] * 3] * 3),
        ("T: go : * : left 0.0 T: go : * : right 0 T: go : * : middle 1\n", [[0, 1, 0]] * 3),
        ("T: go : left reset\n", [[THIRD] * 3, ROWS[1], ROWS[2]]),
        ("T: go uniform T: go : left : left 1 T: go : left : 1 0 T: go : left : 2 0\n", [ROWS[0], *[[THIRD] * 3] * 2]),
    ],
)
def test_read_pomdp_reads_every_form_of_transitions(text: str, expected: list[list[Fraction]]) -> None:
    assert transitions_of(text) == expected
    assert ("T: *" in text) or transitions_of(text, action=0) == ROWS


def test_read_pomdp_reads_reset_as_the_start_distribution() -> None:
    pomdp = read(HEAD + "start include: left right\n" + T + "T: * : middle reset\n" + O)
    assert [vector(pomdp.transitions[cell], 3) for cell in (1, 4)] == [[HALF, 0, HALF]] * 2
    assert pomdp.transitions[1] is pomdp.transitions[4]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("O: go : left : dark 1.0 O: go : left : light 0.0\n", [[1, 0], [HALF, HALF], [HALF, HALF]]),
        ("O: * : 2 : 0 0.2 O: * : 2 : 1 0.8\n", [[HALF, HALF], [HALF, HALF], [F(1, 5), F(4, 5)]]),
        ("O: go : middle 0.1 0.9\n", [[HALF, HALF], [F(1, 10), F(9, 10)], [HALF, HALF]]),
        ("O: go\n1 0\n0 1\n0.3 0.7\n", [[1, 0], [0, 1], [F(3, 10), F(7, 10)]]),
        ("O: go : * 1 0 O: go : left uniform\n", [[HALF, HALF], [1, 0], [1, 0]]),
        ("O: go : * : light 1 O: go : * : dark 0\n", [[0, 1]] * 3),
    ],
)
def test_read_pomdp_reads_every_form_of_observations(text: str, expected: list[list[Fraction]]) -> None:
    assert seen_of(text) == expected


def test_read_pomdp_reads_identity_of_observations() -> None:
    pomdp = read(HEAD.replace("dark light", "dark light loud") + T + "O: * identity")
    assert [vector(row, 3) for row in pomdp.seen[:3]] == ROWS


def every(**fixed: int) -> list[tuple[int, ...]]:
    """List all (a, s, s', o) that agree with the fixed parts."""
    sizes = {"a": 2, "s": 3, "t": 3, "o": 2}
    return list(itertools.product(*([fixed[k]] if k in fixed else range(n) for k, n in sizes.items())))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", {}),
        ("R: go : left : right : light 7", {(1, 0, 2, 1): 7}),
        ("R: 1 : 0 : 2 : 1 -7.25", {(1, 0, 2, 1): F(-29, 4)}),
        ("R: * : * : * : * 1e1", dict.fromkeys(every(), 10)),
        ("R: * : left : * : * +3", dict.fromkeys(every(s=0), 3)),
        ("R: go : * : * : dark - 3", dict.fromkeys(every(a=1, o=0), -3)),
        ("R: go : left : right 0.5 -1", {(1, 0, 2, 0): HALF, (1, 0, 2, 1): -1}),
        ("R: go : left : * 0 2", dict.fromkeys(every(a=1, s=0, o=1), 2)),
        ("R: stay : middle\n1 2 3 4 5 6", {(0, 1, t, o): 1 + 2 * t + o for t in range(3) for o in range(2)}),
        ("R: * : * 0 0 0 0 0 6", dict.fromkeys(every(t=2, o=1), 6)),
        ("R: * : * : * : * 1 R: go : * : * : * 0", dict.fromkeys(every(a=0), 1)),
        ("R: go : * : * : * 5 R: * : * : * : * 1", dict.fromkeys(every(), 1)),
        ("R: * : left 1 1 1 1 1 1 R: * : * : right : * 0 R: go : 0 : 2 : 0 9",
         {**dict.fromkeys([*every(s=0, t=0), *every(s=0, t=1)], 1), (1, 0, 2, 0): 9}),
    ],
)  # fmt: skip
def test_read_pomdp_reads_every_form_of_rewards(text: str, expected: dict[tuple[int, ...], Fraction]) -> None:
    assert rewards_of(text) == expected


def test_read_pomdp_negates_costs() -> None:
    pomdp = read(WHOLE.replace("values: reward", "values: cost") + "R: * : * : * : dark 2 R: * : * : * : light -3")
    assert pomdp.rewards.of(0, 0, 0, 0) == -2 and pomdp.rewards.of(0, 0, 0, 1) == 3


def test_read_pomdp_normalises_rounded_rows() -> None:
    assert transitions_of("T: go : left 0.333333 0.333333 0.333333") == [[THIRD] * 3, ROWS[1], ROWS[2]]
    assert transitions_of("T: go : left 0.6 0.400009 0")[0] == [F(600000, 1000009), F(400009, 1000009), 0]


def test_read_pomdp_accepts_entries_in_any_order() -> None:
    assert read(HEAD + "R: * : * : * : * 1\n" + O + T).rewards.of(0, 0, 0, 0) == 1


cells_of = st.lists(st.integers(0, 5), min_size=1, unique=True)
columns_of = st.lists(st.integers(0, 3), min_size=1, unique=True)
values_of = st.integers(0, 3)


@given(st.lists(st.tuples(st.booleans(), cells_of, columns_of, values_of), max_size=30))
def test_sparse_rows_equal_dense_rows(
    writes: list[tuple[bool, list[int], list[int], int]],
) -> None:
    rows, plain = SparseRows(6), [[0] * 4 for _ in range(6)]
    for line, (whole, cells, columns, value) in enumerate(writes, start=1):
        if whole:
            rows.put(cells, dict.fromkeys(columns, F(value)) if value else {}, line)
        else:
            rows.change(cells, columns, F(value), line)
        for cell in cells:
            kept = [0] * 4 if whole else plain[cell]
            plain[cell] = [value if column in columns else kept[column] for column in range(4)]
    assert [vector(row.entries, 4) for row in rows.rows] == plain
    for row in rows.rows:
        assert row.uses == sum(other is row for other in rows.rows) and row.total() == sum(row.entries.values())


part_of = st.sampled_from(["*", "0", "1"])


@given(st.lists(st.tuples(st.lists(part_of, min_size=2, max_size=4), st.integers(-9, 9)), max_size=12))
def test_rewards_of_uses_the_last_matching_rule(rules: list[tuple[list[str], int]]) -> None:
    lines, plain = [], dict.fromkeys(itertools.product(range(2), repeat=4), 0)
    for parts, value in rules:
        table = [value + i for i in range(2 ** (4 - len(parts)))]
        lines.append(f"R: {' : '.join(parts)} {' '.join(map(str, table))}")
        for where in plain:
            if all(part in ("*", str(number)) for part, number in zip(parts, where, strict=False)):
                plain[where] = table[{4: 0, 3: where[3], 2: 2 * where[2] + where[3]}[len(parts)]]
    head = "discount: 1 values: reward states: 2 actions: 2 observations: 2 T: * uniform O: * uniform\n"
    found = read(head + "\n".join(lines)).rewards
    assert {where: found.of(*where) for where in plain} == plain


# ---------------------------------------------------------------- error messages

MESSAGES = {
    "": "1: the file is empty. Add discount, values, states, actions and observations.",
    " \n# only a comment\n": "1: the file is empty. Add discount, values, states, actions and observations.",
    "hello": "1: expected a section, found 'hello'. Begin with 'discount:'.",
    "\ndiscont: 1": "2: expected a section, found 'discont'. Did you mean 'discount'?",
    "x" * 99: f"1: expected a section, found '{'x' * 40}…'. Begin with 'discount:'.",
    "discount 0.9": "1: expected a colon after 'discount'. Write 'discount:', or rename it if this is a name: "
    "'discount' is a keyword of the format.",
    "start include left":
    "1: expected a colon after 'start include'. Write 'start include:', or rename it if this is a name: "
    "'start' is a keyword of the format.",
    HEAD.replace("left", "start"): "3: expected a colon after 'start'. Write 'start:', or rename it if this is a name: "
    "'start' is a keyword of the format.",
    HEAD.replace("discount: 0.95\n", "") + T: "4: there is no 'discount' up to here. Add a line 'discount: …'.",
    HEAD.replace("values: reward\n", ""): "4: there is no 'values' up to here. Add a line 'values: …'.",
    HEAD.replace("states: left middle right\n", ""): "4: there is no 'states' up to here. Add a line 'states: …'.",
    HEAD.replace("actions: stay go\n", ""): "4: there is no 'actions' up to here. Add a line 'actions: …'.",
    HEAD.replace("observations: dark light\n", "") + T + "O: * uniform":
    "4: there is no 'observations' up to here. Add a line 'observations: …'.",
    HEAD.replace("observations", "observation"):
    "5: unexpected ':' among the names of actions. Did you mean 'observations'?",
    HEAD.replace("0.95", "1.5"): "1: the discount 1.5 is not between 0 and 1. Change it.",
    HEAD.replace("0.95", "- 1"): "1: the discount -1 is not between 0 and 1. Change it.",
    HEAD.replace("0.95", "high"):
    "1: expected a number, found 'high'. Separate the parts before the numbers with colons.",
    HEAD.replace("0.95", "0.9 0.8"): "1: unexpected '0.8' after 'discount'. Remove it.",
    HEAD.replace("0.95", ""): "1: discount ends where a number is expected. Add it.",
    HEAD.replace("0.95", "1/2"): "1: expected a number, found '1/2'. Write it as a decimal.",
    HEAD.replace("reward", "rewards"): "2: values are 'reward' or 'cost', not 'rewards'. Did you mean 'reward'?",
    HEAD.replace("reward", ""): "2: values are 'reward' or 'cost', not ''. Write 'reward' or 'cost'.",
    HEAD.replace("reward", "cost 3"): "2: unexpected '3' after 'values'. Remove it.",
    HEAD + "values: cost": "6: 'values' is already given in line 2. Remove one of the two.",
    HEAD + "start: left\nstart: right": "7: 'start' is already given in line 6. Remove one of the two.",
    HEAD + T + "start: left": "7: 'start' comes after the first T, O or R. Move it to the beginning.",
    HEAD.replace("left middle right", ""): "3: there are no states. Give their names or their number.",
    HEAD.replace("left middle right", "0"):
    "3: the number of states is not between 1 and 100,000. Change it.",
    HEAD.replace("left middle right", "9" * 99):
    "3: the number of states is not between 1 and 100,000. Change it.",
    HEAD.replace("dark light", "100001"):
    "5: the number of observations is not between 1 and 100,000. Change it.",
    HEAD.replace("left middle right", "90000").replace("stay go", "90000"):
    "3: 90,000 states with 90,000 actions are too many. Use fewer.",
    HEAD.replace("stay go", "go go"): "4: there are two actions 'go'. Rename one.",
    HEAD.replace("stay go", "reset go"): "4: 'reset' is a keyword of the format and cannot name an action. Rename it.",
    HEAD.replace("stay go", "go,stay"):
    "4: 'go,stay' cannot name an action. Use a letter, then letters, digits, '-', '_' or '.'.",
    HEAD.replace("stay go", "go 2"):
    "4: '2' cannot name an action. Use a letter, then letters, digits, '-', '_' or '.'.",
    HEAD.replace("stay go", "-3"):
    "4: '-3' cannot name an action. Use a letter, then letters, digits, '-', '_' or '.'.",
    HEAD.replace("stay go", "go" * 300):
    f"4: '{'go' * 20}…' cannot name an action. Use a letter, then letters, digits, '-', '_' or '.'.",
    HEAD + "start: 0.5 0.5": "6: start needs 3 numbers here but has 2. Add the others.",
    HEAD + "start: 0.5": "6: start needs 3 numbers here but has 1. Add the others.",
    HEAD + "start:": "6: start needs 3 numbers here but has 0. Add the others.",
    HEAD + "start:\n0.5 0.5 0\n0": "8: start needs 3 numbers here but has more. Remove some.",
    HEAD + "start: 0.5 0.3\n0.1": "7: the probabilities of start add up to 0.9, not 1. Correct them.",
    HEAD + "start: 3": "6: there is no state '3'. Use a number from 0 to 2.",
    HEAD + "start: lefd": "6: unknown state 'lefd'. Did you mean 'left'?",
    HEAD + "start: left\nright": "7: there is more than one state to start in. Write 'start include: …'.",
    HEAD + "start: reset": "6: 'reset' is not allowed here. Write 'T: action : state reset'.",
    HEAD + "start include:": "6: start leaves no state to start in. Name other states.",
    HEAD + "start exclude: *": "6: start leaves no state to start in. Name other states.",
    HEAD + "start include: left\nup": "7: unknown state 'up'. Use one of those declared, such as 'left'.",
    HEAD + "start: -0.5 1 0.5": "6: '-0.5' is not a probability. Use 0 to 1.",
    HEAD: "5: there is no T for action 'stay' in state 'left' up to here. Add it.",
    HEAD + "T: stay identity\n" + O: "7: there is no T for action 'go' in state 'left' up to here. Add it.",
    HEAD + T + "O: stay uniform O: go : left 1 0":
    "7: there is no O for action 'go' that leads to state 'middle' up to here. Add it.",
    WHOLE + "\nT: go : left 0.5 0.4 0":
    "9: the probabilities of T for action 'go' in state 'left' add up to 0.9, not 1. Correct them.",
    WHOLE + "T: go : left : middle 1": "8: the probabilities of T for action 'go' in state 'left' add up to 2, not 1. "
    "Correct them.",
    WHOLE + "T: go : left : left 0": "8: the probabilities of T for action 'go' in state 'left' add up to 0, not 1. "
    "Correct them.",
    WHOLE + "T: go\n1 0 0\n0 1 0\n0 0 0.99998\n# end":
    "11: the probabilities of T for action 'go' in state 'right' add up to 0.99998, not 1. Correct them.",
    WHOLE + "O: go : 1 0.5 0.6":
    "8: the probabilities of O for action 'go' that leads to state 'middle' add up to 1.1, not 1. Correct them.",
    WHOLE + "T: go : left 0 0 1.5": "8: '1.5' is not a probability. Use 0 to 1.",
    WHOLE + "T: go : left\n0 - 0.5 1.5": "9: '0.5' is not a probability. Use 0 to 1.",
    WHOLE + "T: go : left : left 2": "8: '2' is not a probability. Use 0 to 1.",
    WHOLE + "T: go : left 0 1": "8: T needs 3 numbers here but has 2. Add the others.",
    WHOLE + "T: go : left 0 1 0 0": "8: T needs 3 numbers here but has more. Remove some.",
    WHOLE + "T: go\n0 1 0\n0 1 0\n0 1": "11: T needs 9 numbers here but has 8. Add the others.",
    WHOLE + "O: go 0 1": "8: O needs 6 numbers here but has 2. Add the others.",
    WHOLE + "T: go : left : left": "8: T needs 1 number here but has 0. Add the others.",
    WHOLE + "R: go : left 1 2 3": "8: R needs 6 numbers here but has 3. Add the others.",
    WHOLE + "R: go : left : left 1": "8: R needs 2 numbers here but has 1. Add the others.",
    WHOLE + "R: go : left : left : dark 1 2": "8: R needs 1 number here but has more. Remove some.",
    WHOLE + "R: go 1 2": "8: R needs an action and a state. Write 'R: action : state …'.",
    WHOLE + "R: go : left uniform":
    "8: expected a number, found 'uniform'. Separate the parts before the numbers with colons.",
    WHOLE + "R: go : left : left : dark : 5": "8: R has at most 4 parts. Remove this colon.",
    WHOLE + "T: go : left : left : left 1": "8: T has at most 3 parts. Remove this colon.",
    WHOLE + "T: go left left 1":
    "8: expected a number, found 'left'. Separate the parts before the numbers with colons.",
    WHOLE + "T: go : left 0 1 : 0": "8: expected a number, found ':'. Write it as a decimal.",
    WHOLE + "T: go : left identity": "8: 'identity' is not allowed here. Write 'T: action identity'.",
    WHOLE + "T: go reset": "8: 'reset' is not allowed here. Write 'T: action : state reset'.",
    WHOLE + "O: go : left reset": "8: 'reset' is not allowed here. Write 'T: action : state reset'.",
    WHOLE + "O: go identity": "8: 'identity' is not allowed here. Write 'T: action identity'.",
    WHOLE + "T: go cost": "8: 'cost' is not allowed here. Write numbers.",
    WHOLE + "T:": "8: T ends where an action is expected. Add it.",
    WHOLE + "T: go :": "8: T ends where a state is expected. Add it.",
    WHOLE + "T: go : leff uniform": "8: unknown state 'leff'. Did you mean 'left'?",
    WHOLE + "T: jump uniform": "8: unknown action 'jump'. Use one of those declared, such as 'stay'.",
    WHOLE + "O: go : left : lihgt 1": "8: unknown observation 'lihgt'. Did you mean 'light'?",
    WHOLE + "T: 2 uniform": "8: there is no action '2'. Use a number from 0 to 1.",
    WHOLE + "T: -1 uniform": "8: unknown action '-1'. Use one of those declared, such as 'stay'.",
    WHOLE + "T: 1.0 uniform": "8: unknown action '1.0'. Use one of those declared, such as 'stay'.",
    WHOLE + "R: go : * : * : * 1e99999": "8: the number '1e99999' is too large or too long. Use at most 300 digits.",
    WHOLE + "R: go : * : * : * 1e301": "8: the number '1e301' is too large or too long. Use at most 300 digits.",
    WHOLE + "R: go : * : * : * 1" + "0" * 5000:
    f"8: the number '1{'0' * 39}…' is too large or too long. Use at most 300 digits.",
    WHOLE + "R: go : * : * : * nan":
    "8: expected a number, found 'nan'. Separate the parts before the numbers with colons.",
    WHOLE + "R: go : * : * : * 1.2.3": "8: expected a number, found '1.2.3'. Write it as a decimal.",
    WHOLE + "R: go : * : * : * --1": "8: expected a number, found '--1'. Write it as a decimal.",
    WHOLE + "R: go : * : * : * - -1": "8: expected a number, found '-'. Write it as a decimal.",
    WHOLE + "R: go : * : * : * ٣": "8: expected a number, found '٣'. Write it as a decimal.",
}  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), MESSAGES.items())
def test_read_pomdp_reports_line_problem_and_fix(text: str, expected: str) -> None:
    assert message_of(text) == expected


@pytest.mark.parametrize(
    "data", [HEAD.encode() + b"\n\xff\xfe", HEAD.encode() + b"\n\0", HEAD.encode("utf-16"), b"\x89PNG\r\n\x1a\n\0"]
)
def test_read_pomdp_refuses_binary_data(data: bytes) -> None:
    line, reason = message_of(data).split(": ", 1)
    assert reason == "the file is not text. Save it as plain text in UTF-8."
    assert line == ("7" if data.startswith(b"discount") and b"\n\n" in data else "1")


def test_read_pomdp_refuses_unreadable_files(tmp_path: Path) -> None:
    for path in (tmp_path / "none.POMDP", tmp_path, tmp_path / "none" / "none", Path("a\0b")):
        with pytest.raises(SufficeError, match=r"the file cannot be read \(.*\)\. Check its name"):
            read_pomdp(path)


def test_read_pomdp_refuses_large_files(tmp_path: Path) -> None:
    path = tmp_path / "large.POMDP"
    with path.open("wb") as file:
        file.truncate(1 << 33)
    with pytest.raises(SufficeError, match=r"large.POMDP:1: the file is larger than 64 MiB\. Use a smaller model"):
        read_pomdp(path)


@pytest.mark.parametrize(
    "lines", [["T: 0 : * : 0 1"] * 400, ["T: * uniform", *(f"T: * : {s} : 0 0.5" for s in range(400))]]
)
def test_read_pomdp_refuses_tables_that_are_too_large(lines: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("suffice.domains.pomdp.tables.MAX_WORK", 1 << 21)
    head = "discount: 1 values: cost states: 100000 actions: 2 observations: 1\n"
    message = message_of(head + "\n".join(lines))
    assert re.fullmatch(r"\d+: the tables need more than 16,777,216 entries up to here\. .*", message)


def test_read_pomdp_reads_a_file_of_a_thousand_states() -> None:
    n, k = 1000, 10
    rows = [
        f"T: {a} : {s} : {(s * 7 + a) % n} 0.5\nT: {a} : {s} : {(s + a + 1) % n} 0.5"
        for a in range(k)
        for s in range(n)
    ]
    show = [f"O: * : {s} : {s % 20} 1\nR: * : {s} : * : * {s}" for s in range(n)]
    head = f"discount: 1 values: reward states: {n} actions: {k} observations: 20\nT: * uniform O: * uniform\n"
    zero = "T: * : * : * 0 O: * : * : * 0\n"
    pomdp = read(head + zero + "\n".join([*rows, *show]))
    assert pomdp.transitions[3 * n + 5] == {38: HALF, 9: HALF}
    assert pomdp.rewards.of(3, 5, 38, 18) == 5


def test_read_pomdp_stores_uniform_tables_once_and_refuses_their_model() -> None:
    head = "discount: 1 values: reward states: 2000 actions: 9 observations: 2000\nT: * uniform O: * uniform"
    pomdp = read(head)
    assert len({id(row) for row in (*pomdp.transitions, *pomdp.seen)}) == 2
    with pytest.raises(
        SufficeError, match=r"some.POMDP: its states and actions have 72,000,000,000 outcomes, more than"
    ):
        PomdpDomain(pomdp).model()
