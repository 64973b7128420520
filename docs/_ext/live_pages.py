"""Sphinx extension that inserts the texts of `--help` into the page of commands, and adapts links."""

from __future__ import annotations

import re

from sphinx.application import Sphinx

COMMANDS = "<!-- commands -->"
# Links that work on code hosts, and their targets on the site.
MOVED = (
    (re.compile(r"\]\((?:\.\./)+benchmarks/(\w+\.md)\)"), r"](/benchmarks/\1)"),
    (
        re.compile(r"\]\((?:\.\./)?examples/(?:(\w+)\.py)?\)"),
        lambda found: f"](/made/examples/{found[1] or 'index'}.rst)",
    ),
)


def complete(app: Sphinx, page: str, source: list[str]) -> None:
    """Insert the help of all commands, and replace links, in the source of a page."""
    for link, place in MOVED:
        source[0] = link.sub(place, source[0])
    if COMMANDS in source[0]:
        source[0] = source[0].replace(COMMANDS, commands())


def commands() -> str:
    """Return the help of every command as Markdown."""
    from suffice.cli.main import app

    whole = app.generate_docs(output_format="markdown").replace(" *[default: False]*", "")
    whole = re.sub(r"(?m)^suffice (\S+) \1\b", r"suffice \1", whole)  # in usage lines the name comes twice
    return whole[whole.index("\n## suffice ") :]


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the extension with Sphinx."""
    app.connect("source-read", complete)
    return {"parallel_read_safe": True}
