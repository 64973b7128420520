"""Docstrings are plain English with `code` in backticks and indented blocks; here they become what Sphinx reads."""

from __future__ import annotations

import dataclasses
import inspect
import re
from typing import Any

from sphinx.application import Sphinx

CODE = re.compile(r"(`[^`]+`)")
MARKUP = re.compile(r"([*|\\]|(?<=\w)_(?!\w))")  # that would mean something to Sphinx, and nothing to us
ARRAY = re.compile(r"~?numpy\.ndarray\[tuple\[[^]]*\], ~?numpy\.dtype\[([^]]*)\]\]")
FIELD = re.compile(r"^    (\w+): .*?  # (.*)$", re.M)


def translate(app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """In place, as autodoc wants it; of a record, its fields with the comments beside them."""
    lines[:] = [line for paragraph in "\n".join(lines).split("\n\n") for line in [*_plain(paragraph), ""]]
    if what == "class":
        lines += _fields(thing)


def shorten(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, signature: str | None, returned: str | None
) -> tuple[str | None, str | None]:
    """Arrays by what they hold."""
    short = (ARRAY.sub(r"NDArray[\1]", text) if text else text for text in (signature, returned))
    return next(short), next(short)


def skip(app: Sphinx, what: str, name: str, thing: Any, skipped: bool, options: Any) -> bool | None:
    """Fields of named tuples, whose docstrings say nothing."""
    return True if str(inspect.getdoc(thing)).startswith("Alias for field number") else None


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
    """`name`: comment; the signature has their types."""
    names = [field.name for field in dataclasses.fields(kind)] if dataclasses.is_dataclass(kind) else []
    names += getattr(kind, "_fields", ())  # of a named tuple
    told = dict(FIELD.findall(inspect.getsource(kind))) if names else {}
    return [*(f"- `{name}`: {_escaped(told[name])}" for name in names if name in told), ""]


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    app.connect("autodoc-process-docstring", translate)
    app.connect("autodoc-process-signature", shorten)
    app.connect("autodoc-skip-member", skip)
    return {"parallel_read_safe": True}
