"""The examples of the README and of the pages beside it are run and say what is said they say; its table is that of the
results.

`python tests/rewrite_examples.py` puts what they say now into all of them, `… docs/tutorial.md` into those named.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from support.cli import ok
from support.page_examples import PAGES, SHOWN, TABLE, with_outputs, with_table
from support.paths import ROOT

README = (ROOT / "README.md").read_text(encoding="utf-8")


# They start many processes: some pages wait for `make test-long`, and for whoever rewrites them all.
QUICK = ("README.md", "docs/tutorial.md")


@pytest.mark.parametrize(
    "name", [page if page in QUICK else pytest.param(page, marks=pytest.mark.long) for page in PAGES]
)
def test_the_examples_print_what_they_show(name: str, tmp_path: Path) -> None:
    page = (ROOT / name).read_text(encoding="utf-8")
    assert SHOWN.search(page)
    assert with_outputs(page, tmp_path) == page


def test_the_readme_has_its_examples() -> None:
    assert len(SHOWN.findall(README)) >= 6


def test_the_table_is_that_of_the_results() -> None:
    assert len(TABLE.findall(README)) == 1
    assert with_table(README) == README


@pytest.mark.parametrize("name", PAGES)
def test_nothing_in_it_waits_to_be_filled_in(name: str) -> None:
    assert not re.findall(r"\b[A-Z]+_[A-Z_]+\b|TODO", (ROOT / name).read_text(encoding="utf-8"))


def test_every_option_the_pages_name_exists():
    """Options of suffice, that is: those of its commands and those in the tables and the text."""
    commands = (
        "simulate",
        "exact",
        "check",
        "learn",
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
    told = "".join((ROOT / name).read_text(encoding="utf-8") for name in (*PAGES, "docs/concepts.md"))
    options = set(re.findall(r"(--[a-z][a-z-]+)", told)) - {"--help"}
    assert options
    assert not {option for option in options if option not in helped}
