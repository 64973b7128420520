"""Distances between the futures of states: the distinguishability μ₀ of a minimal RDP (docs/theory.md, section 7).

μ₀ is the least distance between two states of one layer: the largest difference over a family of languages or over
prefixes (L∞^p), or the sum of differences over prefixes (L₁^p). A family of single patterns needs only three
probabilities for each pattern: that it occurs next, later, or at the last step. One backward pass computes them. Other
families need the distribution of complete membership rows, as in the learner. Prefixes are compared pair by pair; a
pair is dropped as soon as it is known not to be the closest.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from suffice.automata.describe import describe_event
from suffice.data.alphabet import Alphabet
from suffice.data.episodes import Episodes
from suffice.domains.exact.minimal import Minimal
from suffice.errors import SettingsError, parameter
from suffice.evidence.bounds import FISHER_EXACT
from suffice.evidence.events import Event
from suffice.evidence.language_counts import LanguageCounts, simple_events
from suffice.evidence.languages import Family, Patterns, Words
from suffice.evidence.word_counts import BackwardAutomaton, BooleanLevel
from suffice.kernels.array_types import Array

MEMORY = 2 << 30  # bytes for the membership rows of a family
# Doubles that differ by less are equal; pairs of states that are this close to the closest pair are compared exactly.
EQUAL_PROBABILITIES = 1e-12
MAX_FRONTIER = 300_000  # pairs of prefixes that are extended at the same time

Letter = tuple[int, int, int]
Moves = dict[Letter, tuple[Any, int]]  # probability and target


@dataclass(frozen=True, slots=True)
class Closest:
    """The closest two states of a layer, and the event that distinguishes them best."""

    distance: Any  # μ₀; a fraction if arithmetic is rational
    layer: int
    states: tuple[int, int]  # positions in the layer
    event: str  # the language or prefix with this difference; empty if there is none
    probabilities: tuple[Any, Any] | None  # of the event, from each state


@dataclass(frozen=True, slots=True, eq=False)
class LanguageProbabilities:
    """Probabilities of the languages of a family, from each state of one layer."""

    layer: int
    size: int  # |X|
    probabilities: Array  # [Q_t, E] one column for each distinct language
    event: Callable[[int], Event]  # the language of a column
    alphabet: Alphabet


def letters_as_log(minimal: Minimal) -> Episodes:
    """Return the letters as a log that contains every possible step; families are constructed from it."""
    letters = minimal.letters().astype(np.int32)
    follows = np.zeros(len(letters), bool)
    for arrows in minimal.arrows[1:]:
        follows[letter_of(letters, arrows.action, arrows.observation, arrows.reward)] = True
    return Episodes(minimal.alphabet, letters, np.zeros((minimal.horizon + 1, 1), np.uint32), follows)


def letter_of(letters: Any, action: Any, observation: Any, reward: Any) -> NDArray[np.intp]:
    """Return the positions of steps in the list of letters."""
    position = {step: x for x, step in enumerate(map(tuple, letters.tolist()))}
    steps = zip(action.tolist(), observation.tolist(), reward.tolist(), strict=True)
    return np.array([position[step] for step in steps], np.intp)


def futures(minimal: Minimal, family: Family) -> Iterator[LanguageProbabilities]:
    """Yield the probabilities of a family's languages, layer by layer from the last to the first."""
    if minimal.reward_dependence:
        raise SettingsError(minimal.reward_dependence.sentence)
    log = letters_as_log(minimal)
    patterns = (
        LanguageCounts(family).plan(log.outline, FISHER_EXACT, MEMORY).patterns
    )  # refuses families that do not fit into memory
    letters = [letter_of(log.letters, a.action, a.observation, a.reward) for a in minimal.arrows]
    return (_simple if family.is_simple else _general)(minimal, family, patterns, letters)


def _simple(
    minimal: Minimal, family: Family, patterns: Patterns, letters: list[NDArray[np.intp]]
) -> Iterator[LanguageProbabilities]:
    """Compute probabilities for j = k = 1: a pattern occurs later, at the next step, or at the last step."""
    ahead = last = np.zeros((1, patterns.count), object if minimal.rational else float)
    for t in range(minimal.horizon, 0, -1):
        arrows, length = minimal.arrows[t], minimal.horizon - t + 1
        hit = patterns.member[letters[t]].astype(bool)
        p, starts = arrows.probability[:, None], arrows.starts()
        following = np.add.reduceat(p * hit, starts)
        ahead = np.add.reduceat(p * np.where(hit, 1, ahead[arrows.target]), starts)
        last = following if length == 1 else np.add.reduceat(p * last[arrows.target], starts)
        columns = following if length == 1 else np.concatenate([ahead, following, last], axis=1)
        size, event = family.size(patterns.formal, length), simple_events(patterns, length)
        yield LanguageProbabilities(t, size, columns, event, minimal.alphabet)


def _general(
    minimal: Minimal, family: Family, patterns: Patterns, letters: list[NDArray[np.intp]]
) -> Iterator[LanguageProbabilities]:
    """Compute probabilities for any j and k from the distribution of membership rows, one step back at a time."""
    words = Words(patterns.count, min(family.j, minimal.horizon))
    automaton = BackwardAutomaton(patterns.member, words, MEMORY)
    rows: list[dict[int, Any]] = [{0: 1}]  # for each state of the next layer: row → probability
    for t in range(minimal.horizon, 0, -1):
        arrows, length = minimal.arrows[t], minimal.horizon - t + 1
        carried = [(e, row) for e, target in enumerate(arrows.target.tolist()) for row in rows[target]]
        edge, old = (np.array(column) for column in zip(*carried, strict=True))
        new = automaton.before(letters[t][edge], old.astype(np.uint32))
        earlier: list[dict[int, Any]] = [{} for _ in range(minimal.layers[t])]
        for (e, row), became in zip(carried, new.tolist(), strict=True):
            mine = earlier[int(arrows.source[e])]
            mine[became] = mine.get(became, 0) + arrows.probability[e] * rows[int(arrows.target[e])][row]
        rows = earlier
        used = sorted({row for mine in rows for row in mine})
        share = np.array([[float(mine.get(row, 0)) for row in used] for mine in rows])
        columns = words.languages(length)
        level = BooleanLevel.reaching(automaton.rows[used][:, columns], columns, family.k, MEMORY)
        probabilities = np.stack([level.weigh(np.arange(len(used)), mine) for mine in share])
        event = _event_of(level, words, patterns)
        yield LanguageProbabilities(t, family.size(patterns.formal, length), probabilities, event, minimal.alphabet)


def _event_of(level: BooleanLevel, words: Words, patterns: Patterns) -> Callable[[int], Event]:
    return lambda column: level.event(column, lambda word: words.word(word, patterns.pattern))


def closest_in(found: LanguageProbabilities) -> Closest | None:
    """Return the closest two states of a layer under a family of languages; None if there is only one state."""
    exact = found.probabilities
    if len(exact) < 2:
        return None
    table = exact.astype(float)
    gaps = np.full((len(table), len(table)), np.inf)
    for q in range(1, len(table)):
        gaps[q, :q] = np.abs(table[q] - table[:q]).max(axis=1, initial=0.0)
    best: Closest | None = None
    for q, p in np.argwhere(gaps <= gaps.min() + EQUAL_PROBABILITIES):
        differences = np.abs(exact[q] - exact[p])
        if exact.dtype != object:
            differences[differences <= EQUAL_PROBABILITIES] = 0.0
        event = int(np.argmax(differences)) if len(differences) else -1
        distance = differences[event] if event >= 0 else 0
        if best is None or distance < best.distance:
            text = describe_event(found.event(event), found.alphabet) if distance else ""
            both = (exact[p][event], exact[q][event]) if distance else None
            best = Closest(distance, found.layer, (int(p), int(q)), text, both)
    return best


# ---------------------------------------------------------------- prefixes


class _Pairs:
    """Comparison of the futures of two states of a layer, letter by letter."""

    def __init__(self, minimal: Minimal) -> None:
        if minimal.reward_dependence:
            raise SettingsError(minimal.reward_dependence.sentence)
        self._minimal = minimal
        self.moves: list[list[Moves]] = []
        for arrows, n in zip(minimal.arrows, minimal.layers, strict=False):
            layer: list[Moves] = [{} for _ in range(n)]
            for (q, a, o, r, target), p in zip(arrows.rows(), arrows.probability, strict=True):
                layer[q][a, o, r] = (p, target)
            self.moves.append(layer)

    def pairs(self, t: int) -> list[tuple[int, int]]:
        """List the pairs of states of a layer, most similar at the next step first."""

        def gap(pair: tuple[int, int]) -> float:
            first, second = (self.moves[t][q] for q in pair)
            return math.fsum(abs(_chance(first, x) - _chance(second, x)) for x in first.keys() | second.keys())

        return sorted(combinations(range(self._minimal.layers[t]), 2), key=lambda pair: (gap(pair), pair))

    def both(self, t: int, q1: int, q2: int) -> Iterator[tuple[Letter, Any, Any, int, int]]:
        """Yield the letters possible in either state with probabilities and successors, −1 where there is none."""
        first, second = self.moves[t][q1], self.moves[t][q2]
        for letter in sorted(first.keys() | second.keys()):
            (p1, c1), (p2, c2) = first.get(letter, (0, -1)), second.get(letter, (0, -1))
            yield letter, p1, p2, c1, c2

    def largest(self, t: int, q1: int, q2: int, enough: Any) -> tuple[Any, tuple[Any, ...]]:
        """Find the prefix on which two states differ most, or one on which they differ by `enough`.

        Returns the difference, and the prefix with both probabilities. Extensions of a prefix differ by at most its
        larger probability; if both states reach the same state, or one cannot produce the prefix, they differ by at
        most the difference at the prefix.
        """
        most, witness = 0, ((), 0, 0)
        stack: list[tuple[int, int, int, Any, Any, tuple[Any, ...]]] = [(t, q1, q2, 1, 1, ())]
        known: set[tuple[int, int, int, Any, Any]] = set()  # equal continuations are followed only once
        while stack and (enough is None or most < enough):
            u, c1, c2, w1, w2, prefix = stack.pop()
            for letter, p1, p2, d1, d2 in self.both(u, c1, c2):
                v1, v2, longer = w1 * p1, w2 * p2, (*prefix, letter)
                if abs(v1 - v2) > most:
                    most, witness = abs(v1 - v2), (longer, v1, v2)
                key = (u + 1, d1, d2, v1, v2)
                undecided = u < self._minimal.horizon and d1 != d2 and min(d1, d2) >= 0 and max(v1, v2) > most
                if undecided and key not in known:
                    known.add(key)
                    stack.append((*key, longer))
        return most, witness

    def summed(self, t: int, q1: int, q2: int, enough: Any) -> Any:
        """Sum the differences over prefixes of all lengths, until the sum reaches `enough`."""
        frontier: dict[tuple[int, int, Any, Any], int] = {(q1, q2, 1, 1): 1}
        total = settled = (
            0  # differences that no extension changes: prefixes of one state alone, or that reach the same state
        )
        for u in range(t, self._minimal.horizon + 1):
            following: dict[tuple[int, int, Any, Any], int] = {}
            here = settled
            for (c1, c2, w1, w2), times in frontier.items():
                for _, p1, p2, d1, d2 in self.both(u, c1, c2):
                    v1, v2 = w1 * p1, w2 * p2
                    here += times * abs(v1 - v2)
                    if d1 == d2 or min(d1, d2) < 0:
                        settled += times * abs(v1 - v2)
                    else:
                        key = (d1, d2, v1, v2)
                        following[key] = following.get(key, 0) + times
            total, frontier = total + here, following
            if enough is not None and total >= enough:
                break
            if len(frontier) > MAX_FRONTIER:
                raise SettingsError(
                    f"over {MAX_FRONTIER:,} futures of two states differ. Use a smaller {parameter('horizon')}."
                )
        return total


def _chance(moves: Moves, letter: Letter) -> float:
    return float(moves[letter][0]) if letter in moves else 0.0


def closest_by_prefixes(minimal: Minimal) -> list[Closest]:
    """Find the closest states of each layer under L∞^p, and the prefix on which they differ most."""
    walk, found = _Pairs(minimal), []
    for t in range(1, minimal.horizon + 1):
        best: Closest | None = None
        for pair in walk.pairs(t):
            most, (prefix, w1, w2) = walk.largest(t, *pair, best and best.distance)
            if best is None or most < best.distance:
                best = Closest(most, t, pair, _described(minimal, prefix), (w1, w2))
        found += [best] if best else []
    return found


def closest_by_sum(minimal: Minimal) -> list[Closest]:
    """Find the closest states of each layer under L₁^p."""
    walk, found = _Pairs(minimal), []
    for t in range(1, minimal.horizon + 1):
        best: Closest | None = None
        for pair in walk.pairs(t):
            total = walk.summed(t, *pair, best and best.distance)
            if best is None or total < best.distance:
                best = Closest(total, t, pair, "", None)
        found += [best] if best else []
    return found


def _described(minimal: Minimal, prefix: tuple[Letter, ...]) -> str:
    alphabet = minimal.alphabet
    steps = []
    for a, o, r in prefix:
        seen = alphabet.observation(o)
        shown = "end" if seen is None else ", ".join(map(str, seen))
        steps.append(f"{alphabet.action(a)} → ({shown}), {alphabet.rewards[r]:g}")
    return "the next steps are " + "; ".join(steps)
