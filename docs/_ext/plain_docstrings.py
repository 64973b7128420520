"""Translate docstrings to reStructuredText: plain English with `code` in backticks, indented blocks, numpydoc sections.

`sphinx.ext.napoleon` then turns the numpydoc sections into field lists.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

from sphinx.application import Sphinx

CODE = re.compile(r"(`[^`]+`)")
MARKUP = re.compile(r"([*|\\]|(?<=\w)_(?!\w))")  # characters with a meaning in reStructuredText only
DESCRIBED = re.compile(r"^(Parameters|Attributes)$", re.M)
ARRAY = re.compile(r"~?numpy\.ndarray\[tuple\[[^]]*\], ~?numpy\.dtype\[([^]]*)\]\]")
FIELD = re.compile(r"^    (\w+): .*?  # (.*)$", re.M)


def translate(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Translate a docstring in place; add the comments of dataclass fields that no section describes."""
    described = DESCRIBED.search("\n".join(lines))
    lines[:] = [line for paragraph in "\n".join(lines).split("\n\n") for line in [*_plain(paragraph), ""]]
    if what == "class" and not described:
        lines += _fields(thing)


def shorten(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Show the element type of arrays instead of their full type."""
    short = (ARRAY.sub(r"NDArray[\1]", text) if text else text for text in (signature, returned))
    return next(short), next(short)


def skip(app: Sphinx, what: str, name: str, thing: Any, skipped: bool, options: Any) -> bool | None:
    """Skip fields of named tuples, whose generated docstrings are not informative."""
    return True if str(inspect.getdoc(thing)).startswith("Alias for field number") else None


def _plain(paragraph: str) -> list[str]:
    lines = paragraph.splitlines()
    if lines and all(line.startswith("    ") for line in lines if line):
        return ["::", "", *lines]
    examples = next((i for i, line in enumerate(lines) if line.lstrip().startswith(">>>")), len(lines))
    prose = lines[:examples]
    plain = ["".join(part if CODE.fullmatch(part) else _escaped(part) for part in CODE.split(line)) for line in prose]
    return [*plain, *lines[examples:]]


def _escaped(text: str) -> str:
    return MARKUP.sub(r"\\\1", text)


def _fields(kind: type) -> list[str]:
    """List the fields of a dataclass or named tuple with the comments beside them."""
    names = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
    names += getattr(kind, "_fields", ())  # of a named tuple
    comments = dict(FIELD.findall(inspect.getsource(kind))) if names else {}
    return [*(f"- `{name}`: {_escaped(comments[name])}" for name in names if name in comments), ""]


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect the extension to Sphinx, before napoleon."""
    app.connect("autodoc-process-docstring", translate, priority=100)
    app.connect("autodoc-process-signature", shorten)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}
