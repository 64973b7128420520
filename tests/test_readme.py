"""The README's examples are run and say what it says they say, and its table is that of the results.

`python tests/test_readme.py` puts what they say now into the README.
"""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from suffice.lab.store import load_bundle
from suffice.lab.table1 import summary

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "docs" / "reproduction" / "table1.jsonl.gz"
README = (ROOT / "README.md").read_text(encoding="utf-8")


BIN = Path(sys.executable).parent
SHOWN = re.compile(r"```console\n(\$ suffice .*?)```|```python\n([^`]*?)```\n\n```text\n(.*?)```", re.S)


def printed(*command: object, folder: Path) -> str:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout


def with_outputs(readme: str, folder: Path) -> str:
    """The README with every example run, in order and in one folder, and its output put in its place."""

    def run(found: re.Match[str]) -> str:
        commands, code, _ = found.groups()
        if code:
            return f"```python\n{code}```\n\n```text\n{printed(sys.executable, '-c', code, folder=folder)}```"
        if "visits.csv" in commands:  # the reader's own
            return found[0]
        told = re.findall(r"^\$ suffice (.*)$", commands, re.M)
        outputs = [f"$ suffice {c}\n{printed(BIN / 'suffice', *shlex.split(c), folder=folder)}" for c in told]
        return f"```console\n{''.join(outputs)}```"

    return SHOWN.sub(run, readme)


TABLE = re.compile(r"(?<=<!-- table1 -->\n).*?(?=<!-- /table1 -->)", re.S)


def with_table(readme: str) -> str:
    """The README with the table of the committed results."""
    results = {result.experiment.id: result for result in load_bundle(RESULTS)}
    return TABLE.sub(lambda _: summary(results), readme)


def steady(text: str) -> str:
    """Without what differs from run to run."""
    return re.sub(r"in \d+\.\d\d s", "in … s", text)


def test_the_examples_print_what_they_show(tmp_path: Path) -> None:
    assert len(SHOWN.findall(README)) >= 6
    shutil.copytree(ROOT / "examples", tmp_path / "examples")
    assert steady(with_outputs(README, tmp_path)) == steady(README)


def test_the_table_is_that_of_the_results() -> None:
    assert len(TABLE.findall(README)) == 1
    assert with_table(README) == README


def test_nothing_in_it_waits_to_be_filled_in():
    assert not re.findall(r"\b[A-Z]+_[A-Z_]+\b|TODO", README)


def test_every_option_the_readme_names_exists():
    """Options of suffice, that is: those of its commands and those in the tables and the text."""
    helped = "".join(
        subprocess.run(
            [Path(sys.executable).parent / "suffice", command, "--help"], capture_output=True, text=True, check=True
        ).stdout
        for command in ("simulate", "exact", "check", "learn", "info", "evaluate", "export", "compare", "reproduce")
    )
    options = set(re.findall(r"(--[a-z][a-z-]+)", README)) - {"--help"}
    assert options
    assert not {option for option in options if option not in helped}


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as name:
        (ROOT / "README.md").write_text(with_table(with_outputs(README, Path(name))), encoding="utf-8")
