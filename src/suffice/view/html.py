"""HTML as text: whatever is not markup made here is escaped, so no value of a log can become part of a page."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

VOID = {"br", "meta"}  # elements without an end
UNSAFE_CHARACTERS = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


class Html(str):
    """Markup, which needs no escaping any more."""

    __slots__ = ()


def text(part: str) -> Html:
    """What may stand in a page: markup as it is, everything else escaped."""
    return part if isinstance(part, Html) else Html(escape(_printable(part)))


def tag(kind: str, /, *parts: str, **attributes: str) -> Html:
    """An element; attributes that Python cannot spell end or are joined with an underscore: `class_`, `aria_label`."""
    given = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(_printable(value))}"' for key, value in attributes.items()
    )
    return Html(f"<{kind}{given}>" if kind in VOID else f"<{kind}{given}>{join(parts)}</{kind}>")


def join(parts: Iterable[str], between: str = "") -> Html:
    """One after the other."""
    return Html(text(between).join(map(text, parts)))


def table(
    caption: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Sequence[int] = (),
    wide: Sequence[int] = (),
) -> Html:
    """With a caption for everybody and headings for each column.

    `numbers` are columns to be aligned as such, `wide` those of sentences, which want room.
    """

    def kind(column: int) -> dict[str, str]:
        return {"class_": "number"} if column in numbers else {"class_": "sentence"} if column in wide else {}

    heads = join(tag("th", name, scope="col", **kind(i)) for i, name in enumerate(head))
    body = join(tag("tr", *(tag("td", cell, **kind(i)) for i, cell in enumerate(row))) for row in rows)
    inner = tag("caption", caption), tag("thead", tag("tr", heads)), tag("tbody", body)
    return tag("div", tag("table", *inner), class_="wide")


def page(title: str, css: str, *body: str) -> Html:
    """A whole page that needs nothing from elsewhere."""
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("title", title),
        tag("style", Html(css)),
    ]
    whole = tag("html", tag("head", *head), "\n", tag("body", *body), lang="en")
    return Html(f"<!DOCTYPE html>\n{whole}\n")


def _printable(part: str) -> str:
    """Without characters that no page may contain, or that turn round what is written after them."""
    return UNSAFE_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", part)
