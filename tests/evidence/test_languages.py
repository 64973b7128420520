"""Families: their names, their sizes, their words, and what is refused."""

from __future__ import annotations

import re
from collections import Counter
from itertools import product

import numpy as np
import pytest

from oracle import Conjunctions, Languages, SuffixAlphabet, random_episodes, suffix_alphabet
from oracle.languages import contains, language_events
from oracle.languages import patterns as literal_patterns
from suffice.automata.describe import describe_event
from suffice.data.alphabet import Alphabet
from suffice.data.episodes import Episodes
from suffice.errors import SufficeError
from suffice.evidence import languages as module
from suffice.evidence.events import Last, RewardIs
from suffice.evidence.languages import Family, Patterns, Words, patterns_of
from suffice.evidence.word_counts import BackwardAutomaton
from suffice.learning.adact_h import Settings, adact_h
from support.samples import MEMORY, everything, languages

# Names


@pytest.mark.parametrize("text", ["conjunctions", "1,1,1", "3,2,1", "2,2,2"])
def test_a_family_reads_as_it_is_written(text: str) -> None:
    assert str(Family.parse(text)) == text
    assert Family.parse(text).is_simple == (text in ("conjunctions", "1,1,1"))


@pytest.mark.parametrize(
    "text", ["", "1", "1,1", "1,1,1,1", "a,b,c", "1.5,1,1", "conjunction", "0,1,1", "1,0,1", "1,1,-1"]
)
def test_what_is_no_family_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(SufficeError, match="1,1,1"):
        Family.parse(text)


# Patterns


@pytest.mark.parametrize("text", ["conjunctions", "1,1,1", "2,1,1", "3,1,1"])
@pytest.mark.parametrize("declared", [False, True])
def test_patterns_are_the_literal_ones(text: str, declared: bool) -> None:
    """As many on Γ; and of those that the log tells apart, one each."""
    how = {"early_end": 0.3, "n_features": 2, "declared": declared}
    episodes = random_episodes(np.random.default_rng(4), 2, 2, 3, 2, 2, 12, **how)
    family = Family.parse(text)
    found = patterns_of(family, episodes)
    truth = literal_patterns(Conjunctions() if family.conjunctions else Languages(family.i), suffix_alphabet(episodes))
    assert found.formal == len(truth)
    letters = [tuple(letter) for letter in episodes.letters.tolist()]
    occurs = {letter for letter, follows in zip(letters, episodes.follows, strict=True) if follows}
    columns = [frozenset(x for x, inside in zip(letters, column, strict=True) if inside) for column in found.member.T]
    assert Counter(columns) == Counter({pattern & occurs for pattern in truth})


def named(patterns: Patterns, alphabet: Alphabet) -> list[str]:
    """What each column asks of a step, in words."""
    texts = [describe_event(Last(patterns.pattern(g)), alphabet) for g in range(patterns.count)]
    return [text.removeprefix("at the last step, ") for text in texts]


def test_a_pattern_is_named_by_what_it_asks() -> None:
    episodes = random_episodes(np.random.default_rng(4), 2, 2, 3, 2, 2, 40, n_features=2)
    found = patterns_of(Family.parse("1,1,1"), episodes)
    names = named(found, episodes.alphabet)
    assert {"action = a0", "action = a1", "reward = 0", "reward = 1", "f0 = 0", "f1 = 1"} <= set(names)
    assert "the episode is over" in names and len(set(names)) == len(names)
    for name, column in zip(names, found.member.T, strict=True):
        if name.startswith("reward"):
            inside = episodes.letters[:, 2] == int(name.split()[-1])
            assert (column == (inside & episodes.follows)).all()
    deeper = patterns_of(Family.parse("2,1,1"), episodes)
    assert "(action = a0 and reward = 1)" in named(deeper, episodes.alphabet)


# Words


@pytest.mark.parametrize("length", [1, 2, 3, 4])
@pytest.mark.parametrize("j", [1, 2, 3])
@pytest.mark.parametrize("patterns", [1, 2, 5])
def test_as_many_words_as_the_formula_says(patterns: int, j: int, length: int) -> None:
    columns = Words(patterns, j).languages(length)
    expected = sum(patterns**n * (2 ** (n + 1) - 1 if n < length else 1) for n in range(1, min(j, length) + 1))
    assert len(columns) == len(set(columns.tolist())) == expected == Family(1, j, 1).size(patterns, length)
    assert columns.min() >= 2 and columns.max() < Words(patterns, j).columns
    assert Family(1, j, 2).size(patterns, length) == expected**2
    assert Family(1, j, 3).size(patterns, length) == expected**4


def test_no_words_of_nothing() -> None:
    assert len(Words(3, 2).languages(0)) == Family(1, 2, 1).size(3, 0) == 0


SQUARE = SuffixAlphabet((2, 3), (0, 1), (0,), (("x",),))
NUMBERED = Alphabet(("a",), ("f",), (), tuple(map(float, range(10))))  # rewards that stand for patterns


def universe(length: int) -> tuple[list[tuple[int, int, int]], np.ndarray]:
    """The letters of a 2 × 2 alphabet and all suffixes of a length, in columns below a step 0."""
    letters = sorted(SQUARE.letters())
    suffixes = np.array(list(product(range(len(letters)), repeat=length)), np.uint8).T
    return letters, np.concatenate([np.zeros_like(suffixes[:1]), suffixes])


def memberships(j: int, length: int) -> tuple[Words, np.ndarray, list[frozenset[tuple[int, int, int]]], np.ndarray]:
    """Words over G_1, their columns at this length, the patterns, and which suffix lies in which column."""
    letters, word = universe(length)
    patterns = sorted(literal_patterns(Languages(), SQUARE), key=sorted)
    member = np.array([[x in pattern for pattern in patterns] for x in letters], np.uint8)
    words = Words(len(patterns), j)
    automaton = BackwardAutomaton(member, words, MEMORY)
    ids = automaton.ids(word)[1]
    return words, words.languages(length), patterns, automaton.rows[ids]


@pytest.mark.parametrize(("j", "length"), [(1, 1), (1, 3), (2, 1), (2, 2), (2, 3), (3, 2), (3, 3)])
def test_words_select_what_the_literal_languages_select(j: int, length: int) -> None:
    letters, word = universe(length)
    _, columns, _, rows = memberships(j, length)
    found = Counter(frozenset(np.flatnonzero(rows[:, column]).tolist()) for column in columns)
    suffixes = [tuple(letters[x] for x in column) for column in word[1:].T]
    assert found == language_events(Languages(1, j, 1), SQUARE, letters, suffixes)


@pytest.mark.parametrize(("j", "length"), [(1, 2), (2, 3), (3, 3)])
def test_a_word_means_what_it_says(j: int, length: int) -> None:
    """Reads every description back and compares it with the membership of every suffix."""
    letters, word = universe(length)
    words, columns, patterns, rows = memberships(j, length)
    suffixes = [tuple(letters[x] for x in column) for column in word[1:].T]
    texts = [describe_event(words.word(int(column), RewardIs), NUMBERED) for column in columns]
    assert len(set(texts)) == len(columns)
    for column, text in zip(columns, texts, strict=True):
        steps = re.findall(r"(at the next step|at some point|directly followed by|later) reward = (\d)", text)
        gaps = [how in ("at some point", "later") for how, _ in steps] + [not text.endswith(", and then nothing")]
        sequence = [patterns[int(g)] for _, g in steps]
        assert rows[:, column].tolist() == [contains(gaps, sequence, suffix) for suffix in suffixes], text


# Too large


def refused(family: str, **limits: int) -> tuple[str, str]:
    """The message of a refusal, and the family it proposes."""
    with pytest.raises(SufficeError, match=f"family {family}") as caught:
        adact_h(log(), Settings(languages(family), **limits))
    return str(caught.value), re.search(r"--family (\S+)", str(caught.value))[1]


def log() -> Episodes:
    return random_episodes(np.random.default_rng(0), 3, 2, 3, 2, 2, 60)


@pytest.mark.parametrize(
    ("family", "smaller", "memory"),
    [("1,3,1", "1,2,1", 500_000), ("1,1,3", "1,1,2", 2_000_000), ("1,2,2", "1,2,1", 2_000_000)],
)
def test_a_family_too_large_is_refused_with_its_size_and_a_smaller_one_that_works(
    family: str, smaller: str, memory: int
) -> None:
    formal = patterns_of(Family.parse(family), log()).formal
    message, proposed = refused(family, memory=memory)
    assert proposed == smaller
    for named in (family, smaller):
        assert f"|X| = {Family.parse(named).size(formal, 3):,}" in message
    assert adact_h(log(), Settings(languages(proposed), memory=memory)).rdp.horizon == 3


@pytest.mark.parametrize("family", ["2,3,1", "2,2,2", "2,1,3"])
def test_so_is_one_with_deeper_patterns(family: str) -> None:
    size = Family.parse(family).size(patterns_of(Family.parse(family), log()).formal, 3)
    message, proposed = refused(family, memory=100_000)
    assert f"|X| = {size:,}" in message or "at least" in message
    assert adact_h(log(), Settings(languages(proposed), memory=100_000)).rdp.horizon == 3


def test_patterns_too_many_to_spell_out_are_refused_with_a_level_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PATTERN_BYTES", 20_000)
    message, proposed = refused("3,1,1")
    assert proposed == "2,1,1" and "patterns" in message
    assert adact_h(log(), Settings(languages(proposed))).rdp.horizon == 3
    monkeypatch.setattr(module, "MAX_PATTERN_BYTES", 300)
    message, proposed = refused("conjunctions")
    assert proposed.rstrip(",") == "1,1,1"
    assert adact_h(log(), Settings(languages("1,1,1"))).rdp.horizon == 3


@pytest.mark.parametrize("family", ["1,1,40", "1,1000,1000"])
def test_an_absurd_family_is_refused_at_once(family: str) -> None:
    assert "10^" in refused(family)[0]


def test_words_longer_than_the_horizon_change_nothing() -> None:
    long, longer = (adact_h(log(), Settings(languages(family))) for family in ("1,3,1", "1,1000000,1"))
    assert everything(long) == everything(longer)
