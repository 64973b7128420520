"""Examples of the README and of documentation pages print what is shown, and tables match the stored results.

`python tests/rewrite_examples.py [PAGE ...]` inserts the current outputs.
"""

from __future__ import annotations

import contextlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from support.cli import ok
from support.page_examples import PAGES, SHOWN, TABLE, with_outputs, with_table
from support.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")
MOST_WORDS = 1100


# Examples start many processes: most pages are left to `make test-long`.
QUICK = ("README.md", "docs/tutorial.md")


@pytest.mark.parametrize(
    "name", [page if page in QUICK else pytest.param(page, marks=pytest.mark.long) for page in PAGES]
)
def test_examples_of_pages_print_what_they_show(name: str, tmp_path: Path) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    assert SHOWN.search(page)
    assert with_outputs(page, tmp_path) == page


def test_readme_has_examples_and_at_most_1100_words() -> None:
    assert len(SHOWN.findall(README)) >= 1
    assert len(README.split()) <= MOST_WORDS


def test_commands_of_readme_learn_the_minimal_automaton_and_an_optimal_policy(tmp_path: Path) -> None:
    """The claims below the five commands."""
    block = README[README.index("```sh\nsuffice simulate") :]
    commands = block[len("```sh\n") : block.index("\n```\n")].splitlines()
    with contextlib.chdir(tmp_path):
        outputs = [ok(*shlex.split(command, comments=True)[1:]) for command in commands]
        assert "achieves 100.0% of the possible gain" in " ".join(outputs[2].split())
        ok("learn", "log.parquet", "--stationary", "no", "-o", "layers.model")
        assert ok("compare", "layers.model", "t-maze").startswith("Equal up to renaming of states.")
    assert len(commands) == 5 and all("Next" in output for output in outputs)


def test_readme_shows_python_within_the_first_screen() -> None:
    assert README.index("```python") < README.index("\n## ")
    assert README[: README.index("```python")].count("\n") < 15


def test_example_log_is_the_one_of_the_how_to_page(tmp_path: Path) -> None:
    code = SHOWN.search((ROOT / "docs/howto/my-own-log.md").read_text(encoding="utf-8"))
    assert code is not None
    subprocess.run([sys.executable, "-c", code[2]], cwd=tmp_path, check=True)
    generated = (tmp_path / "support.csv").read_text(encoding="utf-8")
    assert generated.splitlines() == (ROOT / "examples/support.csv").read_text(encoding="utf-8").splitlines()


def test_table_of_readme_matches_stored_results() -> None:
    assert len(TABLE.findall(README)) == 1
    assert with_table(README) == README


@pytest.mark.parametrize("name", PAGES)
def test_pages_have_no_placeholders(name: str) -> None:
    assert not re.findall(r"\b[A-Z]+_[A-Z_]+\b|TODO", (ROOT / name).read_text(encoding="utf-8"))


def test_options_named_in_pages_exist() -> None:
    """Compare the options in texts, tables and examples with the help of all commands."""
    commands = (
        "simulate",
        "exact",
        "check",
        "learn",
        "train",
        "suggest",
        "info",
        "evaluate",
        "export",
        "compare",
        "draw",
        "explore",
        "report",
        "reproduce",
    )
    helped = "".join(ok(command, "--help") for command in commands)
    texts = "".join((ROOT / name).read_text(encoding="utf-8") for name in (*PAGES, "docs/concepts.md"))
    ours = re.sub(r"^pip .*$", "", texts, flags=re.MULTILINE)
    options = set(re.findall(r"(--[a-z][a-z-]+)", ours)) - {"--help"}
    assert options
    assert not {option for option in options if option not in helped}
