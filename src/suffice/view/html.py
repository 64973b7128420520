"""HTML generation that escapes every string except markup made here, so values of a log cannot inject markup."""

from __future__ import annotations

import hashlib
import re
from base64 import b64encode
from collections.abc import Iterable, Sequence
from html import escape

VOID = {"br", "meta"}  # elements without an end tag
UNSAFE_CHARACTERS = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
STYLE_ELEMENT = re.compile(r"<style[^<>]*>([^<>]*)</style>")
STYLE_ATTRIBUTE = re.compile(r"""(?P<before><[a-z][^<>]*\s)style="(?P<style>[\w\s#.,:;()%'-]+)\"""")


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
    """Return a complete page without external resources or scripts, under a policy that allows only its style sheet.

    Style elements and attributes of drawings, which the policy does not allow, become part of the style sheet.
    """
    inner, rules = _without_styles(join(body))
    style = css + rules
    policy = (
        f"default-src 'none'; style-src '{content_hash(style)}'; img-src data:; base-uri 'none'; form-action 'none'"
    )
    head = [
        tag("meta", charset="utf-8"),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        Html(f'<meta http-equiv="Content-Security-Policy" content="{policy}">'),
        tag("title", title),
        tag("style", Html(style)),
    ]
    whole = tag("html", tag("head", *head), "\n", tag("body", inner), lang="en")
    return Html(f"<!DOCTYPE html>\n{whole}\n")


def content_hash(part: str) -> str:
    """Return the hash by which a content security policy allows a style sheet or a program."""
    return "sha256-" + b64encode(hashlib.sha256(part.encode()).digest()).decode()


def _without_styles(markup: str) -> tuple[Html, str]:
    """Replace style attributes by classes and remove style elements; return the markup and the rules in their place.

    Angle brackets in texts are escaped, so that what looks like a tag is one.
    """
    classes: dict[str, str] = {}

    def classed(found: re.Match[str]) -> str:
        name = classes.setdefault(found["style"], f"drawn-{len(classes)}")
        return f'{found["before"]}class="{name}"'

    rules = "".join(STYLE_ELEMENT.findall(markup))
    markup = STYLE_ATTRIBUTE.sub(classed, STYLE_ELEMENT.sub("", markup))
    return Html(markup), rules + "".join(f".{name}{{{style}}}\n" for style, name in classes.items())


def _printable(part: str) -> str:
    """Replace characters that HTML forbids or that change the direction of the text after them."""
    return UNSAFE_CHARACTERS.sub("\N{REPLACEMENT CHARACTER}", part)
