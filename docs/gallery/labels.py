"""Shortest labels for arrows that determine their symbols."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from suffice.automata.histories import Symbol
from suffice.automata.rdp import RDP, UNSEEN

SymbolSet = frozenset[int]
Words = Mapping[str, str]  # replacements for some values

MOST = 3  # terms in a label


def label_arrows(rdp: RDP, words: Words) -> dict[tuple[int, int], str]:
    """Return a label for every pair of a state and a successor."""
    labels: dict[tuple[int, int], str] = {}
    for q, row in enumerate(rdp.tau.tolist()):
        ways: dict[int, list[int]] = {}
        for y, target in enumerate(row):
            if target != UNSEEN:
                ways.setdefault(target, []).append(y)
        symbols = {y: rdp.symbol(y) for ys in ways.values() for y in ys}
        texts = _distinguish([frozenset(ys) for ys in ways.values()], _terms(symbols, words))
        labels |= {(q, target): text for target, text in zip(ways, texts, strict=True)}
    return labels


def _distinguish(ways: Sequence[SymbolSet], terms: Mapping[SymbolSet, str]) -> list[str]:
    """Return a label for each set of symbols; the longest of several terms becomes "else"."""
    if len(ways) == 1:
        return ["any"]
    chosen = [_shortest(way, terms) for way in ways]
    lengths = [len(texts) or MOST + 1 for texts in chosen]
    if lengths and max(lengths) > 1:
        chosen[lengths.index(max(lengths))] = ("else",)
    return [" or ".join(texts) or "other" for texts in chosen]


def _shortest(way: SymbolSet, terms: Mapping[SymbolSet, str]) -> tuple[str, ...]:
    """Return the fewest terms whose union is a set of symbols; none if that takes too many."""
    inside = [symbols for symbols in terms if symbols <= way]
    for count in range(1, MOST + 1):
        for some in combinations(inside, count):
            if frozenset().union(*some) == way:
                return tuple(terms[symbols] for symbols in some)
    return ()


def _terms(symbols: Mapping[int, Symbol], words: Words) -> dict[SymbolSet, str]:
    """Return terms of one or two words, the simplest for each set of symbols."""
    atoms: dict[str, set[int]] = {}
    for rank in range(3):
        for y, symbol in symbols.items():
            for text in _words_for(symbol, rank):
                atoms.setdefault(words.get(text, text), set()).add(y)
    terms = {frozenset(ys): text for text, ys in reversed(atoms.items())}
    for (one, text), (other, more) in combinations(list(terms.items())[::-1], 2):
        terms.setdefault(one & other, f"{text}, {more}")
    return terms


def _words_for(symbol: Symbol, rank: int) -> Iterator[str]:
    """Yield actions that are words, then observed words, then other actions; at step 0 the whole observation."""
    action, observation = symbol
    seen = ["end"] if observation is None else [str(value) for value in observation]
    if action is None:
        whole = (" " if any(map(str.isalpha, seen)) else "").join(seen)
        yield from ([whole], [], [])[rank]
        return
    done, spoken = [str(action)], [value for value in seen if not value.isdigit()]
    yield from ([], spoken, done)[rank] if done[0].isdigit() else (done, spoken, [])[rank]
