"""HTML generation that escapes every string except markup made here, so values of a log cannot inject markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

VOID = {"br", "meta"}  # elements without an end tag
UNSAFE_CHARACTERS = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


class Html(str):
    """A string of markup that must not be escaped again."""

    __slots__ = ()


def text(part: str) -> Html:
    """Return markup unchanged and escape any other string."""
    return part if isinstance(part, Html) else Html(escape(_printable(part)))


def tag(kind: str, /, *parts: str, **attributes: str) -> Html:
    """Return an element; attribute names are written as Python names, such as `class_` and `aria_label`."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_printable(value))}"' for key, value in attributes.items()
    )
    return Html(f"<{kind}{given}>" if kind in VOID else f"<{kind}{given}>{join(parts)}</{kind}>")


def join(parts: Iterable[str], between: str = "") -> Html:
    """Concatenate the escaped parts with a separator."""
    return Html(text(between).join(map(text, parts)))


def table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Sequence[int] = (),
    wide: Sequence[int] = (),
) -> Html:
    """Return a table with a caption and column headings.

    `numbers` lists right-aligned columns, `wide` columns of sentences, which get more room.
    """

    def kind(column: int) -> dict[str, str]:
        return {"class_": "number"} if column in numbers else {"class_": "sentence"} if column in wide else {}

    heads = join(tag("th", name, scope="col", **kind(i)) for i, name in enumerate(head))
    body = join(tag("tr", *(tag("td", cell, **kind(i)) for i, cell in enumerate(row))) for row in rows)
    inner = tag("caption", caption), tag("thead", tag("tr", heads)), tag("tbody", body)
    return tag("div", tag("table", *inner), class_="wide")


def page(title: str, css: str, *body: str) -> Html:
    """Return a complete page without external resources."""
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Html(css)),
    ]
    whole = tag("html", tag("head", *head), "\n", tag("body", *body), lang="en")
    return Html(f"<!DOCTYPE html>\n{whole}\n")


def _printable(part: str) -> str:
    """Replace characters that HTML forbids or that change the direction of the text after them."""
    return UNSAFE_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", part)
