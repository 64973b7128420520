"""Pages that are completed when the site is built, so that they cannot be stale."""

from __future__ import annotations

import re

from sphinx.application import Sphinx

COMMANDS = "<!-- commands -->"
# Links as code hosts need them, and where they lead here.
MOVED = (
    (re.compile(r"\]\((?:\.\./)+benchmarks/(\w+\.md)\)"), r"](/benchmarks/\1)"),
    (
        re.compile(r"\]\((?:\.\./)?examples/(?:(\w+)\.py)?\)"),
        lambda found: f"](/made/examples/{found[1] or 'index'}.rst)",
    ),
)


def complete(app: Sphinx, page: str, source: list[str]) -> None:
    """The texts of `--help` in the page of commands, and links."""
    for link, place in MOVED:
        source[0] = link.sub(place, source[0])
    if COMMANDS in source[0]:
        source[0] = source[0].replace(COMMANDS, commands())


def commands() -> str:
    """Every command with its help, as Markdown."""
    from suffice.cli.main import app

    whole = app.generate_docs(output_format="markdown").replace(" *[default: False]*", "")
    return whole[whole.index("\n## suffice ") :]


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("source-read", complete)
    return {"parallel_read_safe": True}
