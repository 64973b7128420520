"""Division of a `.POMDP` file into words and statements, with their lines.

A statement begins with one of nine keywords and ends at the next. Keywords cannot be names, so no grammar is needed;
blanks, line ends and comments only separate words.
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
from suffice.files.atomic import similar_name_hint

PREAMBLE: Final = ("discount", "values", "states", "actions", "observations")
KEYWORDS: Final = (*PREAMBLE, "start", "T", "O", "R")
RESERVED: Final = frozenset((*KEYWORDS, "uniform", "identity", "reset", "reward", "cost", "include", "exclude"))

MAX_BYTES = 1 << 26  # size of a file
LONGEST_WORD = 400  # characters; more than the digits of the smallest double
LARGEST_NUMBER = Fraction(10**300)  # fits into a double

# Possessive quantifiers avoid backtracking in long words. A number ends at the end of its word or before a sign.
_NUMBER = r"[+-]?(?:[0-9]++(?:\.[0-9]*+)?+|\.[0-9]++)(?:[eE][+-]?[0-9]++)?+"
_WORD = re.compile(rf"[:*]|{_NUMBER}(?=[\s:*+-]|$)|[+-](?=\s|$)|[^\s:*#]++")
_WHOLE_NUMBER = re.compile(_NUMBER)
_NAME_PATTERN = re.compile(r"[^\W\d_][\w.-]*+")
_EXPONENT = re.compile(r"[eE][+-]?0*([0-9]*)$")


@dataclass(slots=True)
class Statement:
    """A keyword with the words that follow it."""

    path: str
    keyword: str
    line: int
    words: list[str] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)  # of each word

    def error(self, reason: str, at: int | None = None) -> SufficeError:
        """Return an error about one of the words, or about the whole statement."""
        line = self.line if at is None else self.lines[at] if at < len(self.lines) else self.last_line
        return error_at(self.path, line, reason)

    @property
    def last_line(self) -> int:
        """Number of the last line of the statement."""
        return self.lines[-1] if self.lines else self.line

    def number(self, at: int) -> tuple[Fraction, int]:
        """Return the number at a position, whose sign may be a separate word, and the position after it."""
        word = self.words[at] if at < len(self.words) else ""
        if word in ("+", "-") and at + 1 < len(self.words) and self.words[at + 1][0] not in "+-":
            at += 1
            word += self.words[at]
        value = as_number(word)
        if value is not None:
            return value, at + 1
        if not word:
            raise self.error(f"{self.keyword} ends where a number is expected. Add it.", at)
        if _WHOLE_NUMBER.fullmatch(word):
            raise self.error(f"the number {shown(word)} is too large or too long. Use at most 300 digits.", at)
        hint = (
            ". Separate the parts before the numbers with colons."
            if _NAME_PATTERN.match(word)
            else ". Write it as a decimal."
        )
        raise self.error(f"expected a number, found {shown(word)}{hint}", at)


def error_at(path: str, line: int, reason: str) -> SufficeError:
    """Return an error that names the file and the line."""
    return SufficeError(f"{path}:{line}: {reason}")


def text_of(path: Path) -> str:
    """Read the text of a file, with line ends replaced by `LF`."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ModelError(
            f"{path}: the file cannot be read ({reason}){similar_name_hint(path) or '. Check its name.'}"
        ) from error
    if len(data) > MAX_BYTES:
        raise error_at(str(path), 1, f"the file is larger than {MAX_BYTES >> 20} MiB. Use a smaller model.")
    try:
        text = data.decode("utf-8-sig")
        broken = text.find("\0")
        line = text.count("\n", 0, broken) + 1
    except UnicodeDecodeError as error:
        broken, line = error.start, data.count(b"\n", 0, error.start) + 1
    if broken >= 0:
        raise error_at(str(path), line, "the file is not text. Save it as plain text in UTF-8.")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def statements(path: str, text: str) -> Iterator[Statement]:
    """Yield the statements of a file in order; a statement is complete when the next one has its colon."""
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
                hint = did_you_mean(word, KEYWORDS) or ". Begin with 'discount:'."
                raise error_at(path, line, f"expected a section, found {shown(word)}{hint}")
            else:
                current.words.append(word)
                current.lines.append(line)
    if current is None:
        raise error_at(path, 1, "the file is empty. Add discount, values, states, actions and observations.")
    following = _opened(current)
    if complete is not None:
        yield complete
    yield following


def _opened(statement: Statement) -> Statement:
    """Remove the colon of a statement; `include` or `exclude` may precede that of `start`."""
    words, which = statement.words, 0
    if statement.keyword == "start" and words and words[0] in ("include", "exclude"):
        which = 1
    if words[which : which + 1] != [":"]:
        keyword = " ".join([statement.keyword, *words[:which]])
        advice = (
            f"Write '{keyword}:', or rename it if this is a name: {statement.keyword!r} is a keyword of the format."
        )
        raise statement.error(f"expected a colon after {keyword!r}. {advice}", which)
    del words[which], statement.lines[which]
    return statement


@lru_cache(maxsize=1 << 16)
def as_number(word: str) -> Fraction | None:
    """Return the exact value of a decimal; None for anything else, and for numbers that do not fit into a double."""
    if len(word) > LONGEST_WORD or not _WHOLE_NUMBER.fullmatch(word):
        return None
    exponent = _EXPONENT.search(word)
    if exponent and len(exponent[1]) > 3:
        return None
    value = Fraction(word)
    return value if abs(value) <= LARGEST_NUMBER else None


def is_count(word: str) -> bool:
    """Check for a whole number without a sign."""
    return word.isascii() and word.isdigit() and len(word) <= LONGEST_WORD


def is_name(word: str) -> bool:
    """Check for a letter, then letters, digits, `-`, `_` and `.`; Cassandra's programs do not accept the dot."""
    return len(word) <= LONGEST_WORD and _NAME_PATTERN.fullmatch(word) is not None and word not in RESERVED


def shown(word: str) -> str:
    """Return a word in quotes, shortened for a message."""
    return repr(word if len(word) <= 40 else f"{word[:40]}…")
