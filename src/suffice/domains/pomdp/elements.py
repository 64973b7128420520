"""States, actions and observations of a `.POMDP` file, referred to by name or number."""

from __future__ import annotations

from suffice.data.alphabet import Value
from suffice.domains.pomdp.statements import PREAMBLE, RESERVED, Statement, is_count, is_name, shown
from suffice.errors import did_you_mean

MAX_ELEMENTS = 100_000  # states, actions or observations


class Elements:
    """The list of states, of actions or of observations of a file."""

    def __init__(self, one: str, statement: Statement) -> None:
        self.one, self.any = one, f"{'a' if one == 'state' else 'an'} {one}"  # for messages
        words = statement.words
        if not words:
            raise statement.error(f"there are no {one}s. Give their names or their number.")
        if len(words) == 1 and is_count(words[0]):
            count = int(words[0])
            self._refuse_count(statement, count)
            self.values: tuple[Value, ...] = tuple(range(count))
        else:
            self._refuse_count(statement, len(words))
            self._check_names(statement)
            self.values = tuple(words)
        self._number = {str(value): i for i, value in enumerate(self.values)}

    def _refuse_count(self, statement: Statement, count: int) -> None:
        if not 1 <= count <= MAX_ELEMENTS:
            limits = f"between 1 and {MAX_ELEMENTS:,}"
            raise statement.error(f"the number of {self.one}s is not {limits}. Change it.", 0)

    def _check_names(self, statement: Statement) -> None:
        known: set[str] = set()
        for i, word in enumerate(statement.words):
            if word == ":":
                hint = did_you_mean(statement.words[i - 1], PREAMBLE) if i else ""
                raise statement.error(f"unexpected ':' among the names of {self.one}s{hint or '. Remove it.'}", i)
            if word in RESERVED:
                raise statement.error(f"{word!r} is a keyword of the format and cannot name {self.any}. Rename it.", i)
            if not is_name(word):
                rule = "Use a letter, then letters, digits, '-', '_' or '.'."
                raise statement.error(f"{shown(word)} cannot name {self.any}. {rule}", i)
            if word in known:
                raise statement.error(f"there are two {self.one}s {shown(word)}. Rename one.", i)
            known.add(word)

    def __len__(self) -> int:
        return len(self.values)

    def find(self, statement: Statement, at: int) -> range:
        """Return the number of the element that a word names, or of all elements for `*`."""
        if at >= len(statement.words):
            raise statement.error(f"{statement.keyword} ends where {self.any} is expected. Add it.", at)
        word, n = statement.words[at], len(self)
        if word == "*":
            return range(n)
        number = int(word) if is_count(word) else self._number.get(word, n)
        if number < n:
            return range(number, number + 1)
        if is_count(word):
            raise statement.error(f"there is no {self.one} {shown(word)}. Use a number from 0 to {n - 1}.", at)
        hint = did_you_mean(word, self._number) or f". Use one of those declared, such as {shown(str(self.values[0]))}."
        raise statement.error(f"unknown {self.one} {shown(word)}{hint}", at)
