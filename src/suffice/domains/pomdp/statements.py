"""The words of a `.POMDP` file, the statements they form, and where each stands.

A statement begins with one of nine keywords and goes on to the next. The keywords are no names, so this needs no
grammar; blanks, line ends and comments only separate words.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import Final

from suffice.errors import ModelError, SufficeError, did_you_mean
from suffice.files.atomic import name_beside

PREAMBLE: Final = ("discount", "values", "states", "actions", "observations")
KEYWORDS: Final = (*PREAMBLE, "start", "T", "O", "R")
RESERVED: Final = frozenset((*KEYWORDS, "uniform", "identity", "reset", "reward", "cost", "include", "exclude"))

MAX_BYTES = 1 << 26  # of a file
LONGEST_WORD = 400  # characters of a word: the digits of the smallest double, and some
LARGEST_NUMBER = Fraction(10**300)  # a double holds it

# Possessive, so that no long word is tried twice. A number must end where its word ends or a sign begins.
_NUMBER = r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+"
_WORD = re.compile(rf"[:*]|{_NUMBER}(?=[\s:*+-]|$)|[+-](?=\s|$)|[^\s:*#]++")
_WHOLE_NUMBER = re.compile(_NUMBER)
_NAME_PATTERN = re.compile(r"[^\W\d_][\w.-]*+")
_EXPONENT = re.compile(r"[eE][+-]?0*([0-9]*)$")


@dataclass(slots=True)
class Statement:
    """A keyword and the words that follow it."""

    path: str
    keyword: str
    line: int
    words: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)  # of each word

    def error(self, reason: str, at: int | None = None) -> SufficeError:
        """A complaint about one of the words, or about the statement."""
        line = self.line if at is None else self.lines[at] if at < len(self.lines) else self.last_line
        return error_at(self.path, line, reason)

    @property
    def last_line(self) -> int:
        """Where the statement ends."""
        return self.lines[-1] if self.lines else self.line

    def number(self, at: int) -> tuple[Fraction, int]:
        """The number at a place, its sign perhaps a word of its own, and the place after it."""
        word = self.words[at] if at < len(self.words) else ""
        if word in ("+", "-") and at + 1 < len(self.words) and self.words[at + 1][0] not in "+-":
            at += 1
            word += self.words[at]
        value = as_number(word)
        if value is not None:
            return value, at + 1
        if not word:
            raise self.error(f"{self.keyword} ends where a number is expected; add it", at)
        if _WHOLE_NUMBER.fullmatch(word):
            raise self.error(f"the number {shown(word)} is too large or too long; use at most 300 digits", at)
        hint = (
            "; separate the parts before the numbers by colons"
            if _NAME_PATTERN.match(word)
            else "; write it as a decimal"
        )
        raise self.error(f"expected a number, found {shown(word)}{hint}", at)


def error_at(path: str, line: int, reason: str) -> SufficeError:
    """One line that names the place, the reason and the fix."""
    return SufficeError(f"{path}:{line}: {reason}")


def text_of(path: Path) -> str:
    """A file's text, its lines ended alike."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelError(
            f"{path}: the file cannot be read ({reason}){name_beside(path) or '; check its name'}"
        ) from error
    if len(data) > MAX_BYTES:
        raise error_at(str(path), 1, f"the file is larger than {MAX_BYTES >> 20} MiB; use a smaller model")
    try:
        text = data.decode("utf-8-sig")
        broken = text.find("\0")
        line = text.count("\n", 0, broken) + 1
    except UnicodeDecodeError as error:
        broken, line = error.start, data.count(b"\n", 0, error.start) + 1
    if broken >= 0:
        raise error_at(str(path), line, "this is no text; save the file as plain text in UTF-8")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def statements(path: str, text: str) -> Iterator[Statement]:
    """The statements of a file in order, each after the next has its colon: without one, it may be a name."""
    current: Statement | None = None
    complete: Statement | None = None
    for line, content in enumerate(text.split("\n"), start=1):
        for word in _WORD.findall(content.partition("#")[0]):
            if word in KEYWORDS:
                following = _opened(current) if current is not None else None
                if complete is not None:
                    yield complete
                current, complete = Statement(path, word, line), following
            elif current is None:
                hint = did_you_mean(word, KEYWORDS) or "; begin with 'discount:'"
                raise error_at(path, line, f"expected a section, found {shown(word)}{hint}")
            else:
                current.words.append(word)
                current.lines.append(line)
    if current is None:
        raise error_at(path, 1, "the file is empty; it needs discount, values, states, actions and observations")
    following = _opened(current)
    if complete is not None:
        yield complete
    yield following


def _opened(statement: Statement) -> Statement:
    """Without its colon; between `start` and the colon may stand `include` or `exclude`."""
    words, which = statement.words, 0
    if statement.keyword == "start" and words and words[0] in ("include", "exclude"):
        which = 1
    if words[which : which + 1] != [":"]:
        keyword = " ".join([statement.keyword, *words[:which]])
        advice = f"write '{keyword}:', or rename it if this is a name: {statement.keyword!r} is a word of the format"
        raise statement.error(f"expected a colon after {keyword!r}; {advice}", which)
    del words[which], statement.lines[which]
    return statement


@lru_cache(maxsize=1 << 16)
def as_number(word: str) -> Fraction | None:
    """The exact value of a decimal; None for anything else and for what a double cannot hold."""
    if len(word) > LONGEST_WORD or not _WHOLE_NUMBER.fullmatch(word):
        return None
    exponent = _EXPONENT.search(word)
    if exponent and len(exponent[1]) > 3:
        return None
    value = Fraction(word)
    return value if abs(value) <= LARGEST_NUMBER else None


def is_count(word: str) -> bool:
    """A whole number without a sign."""
    return word.isascii() and word.isdigit() and len(word) <= LONGEST_WORD


def is_name(word: str) -> bool:
    """A letter, then letters, digits, `-`, `_` and `.`; Cassandra's own programs do not take the dot."""
    return len(word) <= LONGEST_WORD and _NAME_PATTERN.fullmatch(word) is not None and word not in RESERVED


def shown(word: str) -> str:
    """A word in quotes, as short as a message needs it."""
    return repr(word if len(word) <= 40 else f"{word[:40]}…")
