"""Language families: names, sizes, patterns, words, and refusal of families that are too large."""

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
def test_family_parse_is_the_inverse_of_str(text: str) -> None:
    assert str(Family.parse(text)) == text
    assert Family.parse(text).is_simple == (text in ("conjunctions", "1,1,1"))


@pytest.mark.parametrize(
    "text", ["", "1", "1,1", "1,1,1,1", "a,b,c", "1.5,1,1", "conjunction", "0,1,1", "1,0,1", "1,1,-1"]
)
def test_family_parse_refuses_other_text_with_an_example(text: str) -> None:
    with pytest.raises(SufficeError, match="1,1,1"):
        Family.parse(text)


# Patterns


@pytest.mark.parametrize("text", ["conjunctions", "1,1,1", "2,1,1", "3,1,1"])
@pytest.mark.parametrize("declared", [False, True])
def test_patterns_of_equals_the_literal_patterns(text: str, declared: bool) -> None:
    """Their number on Γ is the same, and there is one column for each pattern that is distinct on the log."""
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
    """Return the condition of each column, in words."""
    texts = [describe_event(Last(patterns.pattern(g)), alphabet) for g in range(patterns.count)]
    return [text.removeprefix("at the last step, ") for text in texts]


def test_patterns_are_described_by_their_conditions() -> None:
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
def test_words_languages_have_the_number_of_the_formula(patterns: int, j: int, length: int) -> None:
    columns = Words(patterns, j).languages(length)
    expected = sum(patterns**n * (2 ** (n + 1) - 1 if n < length else 1) for n in range(1, min(j, length) + 1))
    assert len(columns) == len(set(columns.tolist())) == expected == Family(1, j, 1).size(patterns, length)
    assert columns.min() >= 2 and columns.max() < Words(patterns, j).columns
    assert Family(1, j, 2).size(patterns, length) == expected**2
    assert Family(1, j, 3).size(patterns, length) == expected**4


def test_words_contain_no_language_of_length_zero() -> None:
    assert len(Words(3, 2).languages(0)) == Family(1, 2, 1).size(3, 0) == 0


SQUARE = SuffixAlphabet((2, 3), (0, 1), (0,), (("x",),))
NUMBERED = Alphabet(("a",), ("f",), (), tuple(map(float, range(10))))  # its rewards stand for patterns


def universe(length: int) -> tuple[list[tuple[int, int, int]], np.ndarray]:
    """Return the letters of a 2 × 2 alphabet, and all suffixes of a length as columns below a step 0."""
    letters = sorted(SQUARE.letters())
    suffixes = np.array(list(product(range(len(letters)), repeat=length)), np.uint8).T
    return letters, np.concatenate([np.zeros_like(suffixes[:1]), suffixes])


def memberships(j: int, length: int) -> tuple[Words, np.ndarray, list[frozenset[tuple[int, int, int]]], np.ndarray]:
    """Return words over G_1, their columns at this length, the patterns, and the membership of suffixes."""
    letters, word = universe(length)
    patterns = sorted(literal_patterns(Languages(), SQUARE), key=sorted)
    member = np.array([[x in pattern for pattern in patterns] for x in letters], np.uint8)
    words = Words(len(patterns), j)
    automaton = BackwardAutomaton(member, words, MEMORY)
    ids = automaton.ids(word)[1]
    return words, words.languages(length), patterns, automaton.rows[ids]


@pytest.mark.parametrize(("j", "length"), [(1, 1), (1, 3), (2, 1), (2, 2), (2, 3), (3, 2), (3, 3)])
def test_words_contain_the_same_suffixes_as_the_literal_languages(j: int, length: int) -> None:
    letters, word = universe(length)
    _, columns, _, rows = memberships(j, length)
    found = Counter(frozenset(np.flatnonzero(rows[:, column]).tolist()) for column in columns)
    suffixes = [tuple(letters[x] for x in column) for column in word[1:].T]
    assert found == language_events(Languages(1, j, 1), SQUARE, letters, suffixes)


@pytest.mark.parametrize(("j", "length"), [(1, 2), (2, 3), (3, 3)])
def test_describe_event_of_a_word_matches_its_membership(j: int, length: int) -> None:
    """Parse every description and compare it with the membership of every suffix."""
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


# Families that are too large


def refused(family: str, **limits: int) -> tuple[str, str]:
    """Return the message of a refusal, and the family that it proposes."""
    with pytest.raises(SufficeError, match=f"family='{family}': ") as caught:
        adact_h(log(), Settings(languages(family), **limits))
    return str(caught.value), re.search(r"Try family='([^']+)'", str(caught.value))[1]


def log() -> Episodes:
    return random_episodes(np.random.default_rng(0), 3, 2, 3, 2, 2, 60)


@pytest.mark.parametrize(
    ("family", "smaller", "memory"),
    [("1,3,1", "1,2,1", 500_000), ("1,1,3", "1,1,2", 2_000_000), ("1,2,2", "1,2,1", 2_000_000)],
)
def test_language_counts_refuse_a_large_family_and_propose_a_smaller_one_that_works(
    family: str, smaller: str, memory: int
) -> None:
    formal = patterns_of(Family.parse(family), log()).formal
    message, proposed = refused(family, memory=memory)
    assert proposed == smaller
    for named in (family, smaller):
        assert f"{Family.parse(named).size(formal, 3):,} languages" in message
    assert adact_h(log(), Settings(languages(proposed), memory=memory)).rdp.horizon == 3


@pytest.mark.parametrize("family", ["2,3,1", "2,2,2", "2,1,3"])
def test_language_counts_refuse_a_large_family_of_deeper_patterns(family: str) -> None:
    size = Family.parse(family).size(patterns_of(Family.parse(family), log()).formal, 3)
    message, proposed = refused(family, memory=100_000)
    assert f"{size:,} languages" in message or "at least" in message
    assert adact_h(log(), Settings(languages(proposed), memory=100_000)).rdp.horizon == 3


def test_patterns_of_refuses_too_many_patterns_and_proposes_a_level_that_works(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_PATTERN_BYTES", 20_000)
    message, proposed = refused("3,1,1")
    assert proposed == "2,1,1" and "patterns" in message
    assert adact_h(log(), Settings(languages(proposed))).rdp.horizon == 3
    monkeypatch.setattr(module, "MAX_PATTERN_BYTES", 300)
    message, proposed = refused("conjunctions")
    assert proposed == "1,1,1"
    assert adact_h(log(), Settings(languages("1,1,1"))).rdp.horizon == 3


@pytest.mark.parametrize("family", ["1,1,40", "1,1000,1000"])
def test_language_counts_refuse_an_enormous_family_at_once(family: str) -> None:
    assert "10^" in refused(family)[0]


def test_adact_h_ignores_words_longer_than_the_horizon() -> None:
    long, longer = (adact_h(log(), Settings(languages(family))) for family in ("1,3,1", "1,1000000,1"))
    assert everything(long) == everything(longer)
