"""Names of parameters in messages: as Python writes them, or as options of the command line."""

from __future__ import annotations

import threading
from contextlib import ExitStack
from typing import Any

import pytest

from suffice.errors import SufficeError, alternatives, naming_options, parameter


@pytest.mark.parametrize(
    ("name", "value", "python", "command"),
    [
        ("memory", None, "memory", "--memory"),
        ("hold_out", 0.2, "hold_out=0.2", "--hold-out 0.2"),
        ("stationary", True, "stationary=True", "--stationary"),
        ("plan", False, "plan=False", "--planner none"),
        ("second_look", False, "second_look=False", "--no-second-look"),
        ("planning", "greedy", "planning='greedy'", "--planner greedy"),
        ("bins", {"my age": 8}, "bins={'my age': 8}", "--bin 'my age=8'"),
        ("observations", ["a", "b"], "observations=['a', 'b']", "--observations a,b"),
        ("delta", 2.0, "delta=2.0", "--delta 2"),
    ],
)
def test_parameter_names_python_parameters_or_options(name: str, value: Any, python: str, command: str) -> None:
    assert parameter(name, value) == python
    with naming_options():
        assert parameter(name, value) == command
    assert parameter(name, value) == python


def test_naming_options_is_restored_however_blocks_end() -> None:
    with pytest.raises(SystemExit), naming_options():
        raise SystemExit(2)
    assert parameter("delta") == "delta"
    first, second = ExitStack(), ExitStack()
    first.enter_context(naming_options())
    second.enter_context(naming_options())
    first.close()  # not in the order of a stack, as threads may
    assert parameter("delta") == "--delta"
    second.close()
    assert parameter("delta") == "delta"
    with naming_options(on=False):
        assert parameter("delta") == "delta"


def test_naming_options_applies_to_worker_threads() -> None:
    found: list[str] = []
    with naming_options():
        thread = threading.Thread(target=lambda: found.append(parameter("delta", 0.1)))
        thread.start()
        thread.join()
    assert found == ["--delta 0.1"]


def test_alternatives_are_quoted_in_python_and_bare_on_the_command_line() -> None:
    assert alternatives(["a", "b", "c"]) == "'a', 'b' or 'c'" and alternatives(["a"]) == "'a'"
    with naming_options():
        assert alternatives(["a", "b", "c"]) == "a, b or c"
    assert alternatives([]) == "none"


def test_suffice_error_is_one_printable_line_of_limited_length() -> None:
    text = str(SufficeError("a\nb\x1b[31m" + "x" * 5000))
    assert "\n" not in text and "\x1b" not in text and text.startswith("a b\\x1b[31m") and len(text) < 1600
