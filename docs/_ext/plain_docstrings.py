"""Docstrings are plain English with `code` in backticks and indented blocks; here they become what Sphinx reads."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

from sphinx.application import Sphinx

CODE = re.compile(r"(`[^`]+`)")
MARKUP = re.compile(r"([*|\\]|(?<=\w)_(?!\w))")  # that would mean something to Sphinx, and nothing to us
FIELD = re.compile(r"^    (\w+): ([^#=]+?)(?: = .*?)?(?:  # (.*))?$", re.M)


def translate(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """In place, as autodoc wants it; of a dataclass, its fields with the comments beside them."""
    lines[:] = [line for paragraph in "\n".join(lines).split("\n\n") for line in [*_plain(paragraph), ""]]
    if what == "class" and dataclasses.is_dataclass(thing):
        lines += _fields(thing)


def _plain(paragraph: str) -> list[str]:
    lines = paragraph.splitlines()
    if lines and lines[0].startswith(">>>"):
        return lines
    if lines and all(line.startswith("    ") for line in lines if line):
        return ["::", "", *lines]
    return ["".join(part if CODE.fullmatch(part) else _escaped(part) for part in CODE.split(line)) for line in lines]


def _escaped(text: str) -> str:
    return MARKUP.sub(r"\\\1", text)


def _fields(kind: type) -> list[str]:
    """`name` (type): comment."""
    names = {field.name for field in dataclasses.fields(kind)}
    told = [found for found in FIELD.findall(inspect.getsource(kind)) if found[0] in names]
    return [f"- `{name}` ({_escaped(kind)}){': ' if about else ''}{_escaped(about)}" for name, kind, about in told] + [""]


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", translate)
    return {"parallel_read_safe": True}
