"""The README's examples are run, and say what the README says they say."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def block(language: str, containing: str) -> str:
    """The one code block of that language that contains a text."""
    (found,) = (b for b in re.findall(rf"```{language}\n(.*?)```", README, re.S) if containing in b)
    return found


def steady(text: str) -> str:
    """Without what differs from run to run."""
    return re.sub(r"in \d+\.\d\d s", "in … s", text)


@pytest.fixture(scope="module")
def session(tmp_path_factory):
    """A folder in which the first screen's commands were run, and what they printed."""
    folder = tmp_path_factory.mktemp("readme")
    shown, printed = block("console", "simulate"), ""
    for command in re.findall(r"^\$ suffice (.*)$", shown, re.M):
        script = Path(sys.executable).parent / "suffice"
        done = subprocess.run([script, *shlex.split(command)], cwd=folder, capture_output=True, text=True, check=True)
        printed += f"$ suffice {command}\n{done.stdout}"
    return folder, shown, printed


def test_the_first_screen_prints_what_it_shows(session):
    _, shown, printed = session
    assert steady(printed) == steady(shown)


def test_the_python_example_prints_what_it_shows(session):
    folder, _, _ = session
    code = block("python", "adact_h")
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stdout == block("text", "0.053")


def test_nothing_in_it_waits_to_be_filled_in():
    assert not re.findall(r"\b[A-Z]+_[A-Z_]+\b|TODO", README)


def test_every_option_the_readme_names_exists():
    """Options of suffice, that is: those of its commands and those in the tables and the text."""
    helped = "".join(
        subprocess.run(
            [Path(sys.executable).parent / "suffice", command, "--help"], capture_output=True, text=True, check=True
        ).stdout
        for command in ("simulate", "check", "learn", "info", "export", "compare")
    )
    options = set(re.findall(r"(--[a-z][a-z-]+)", README)) - {"--help"}
    assert options
    assert not {option for option in options if option not in helped}
