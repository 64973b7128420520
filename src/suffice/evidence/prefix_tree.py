"""Exact prefix counts, L∞^p, without enumerating (ARO)^ℓ prefixes. Theory: docs/theory.md, section 5.

The sorted suffixes of a layer form a compact tree whose nodes are the distinct sets "suffixes that begin with e": at
most two per episode. Counts do not grow along a path, so the root of a subtree bounds the evidence in it, and one
preorder scan that skips subtrees finds the largest difference. Memory: 4 bytes per step for the sorted orders, and for
the current layer some 30 bytes per episode for the tree and one count per node and state.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from suffice.data.episodes import Episodes, Outline, weights
from suffice.data.queries import LetterCounts
from suffice.errors import SettingsError, gigabytes, parameter
from suffice.evidence.bounds import Bound
from suffice.evidence.events import Event, Prefix
from suffice.evidence.judging import judge
from suffice.evidence.statistic import CountingPlan, Judgement, QueryRunner, Statistic, StatisticOptions
from suffice.kernels import comparing, trees, walking
from suffice.kernels.array_types import Codes, Float, Int64, UInt32


@dataclass(frozen=True, slots=True)
class PrefixCounts(Statistic):
    """Counts of suffixes that begin with each prefix.

    Examples
    --------
    >>> suffice.learn(episodes, settings=suffice.Settings(suffice.PrefixCounts())).rdp
    <RDP: 11 states in layers 1 1 2 2 2 2 1>
    """

    name: ClassVar[str] = "prefixes"

    @classmethod
    def of(cls, options: StatisticOptions) -> PrefixCounts:
        """Create the statistic from options.

        Parameters
        ----------
        options
            A family is refused; the rest is not used.

        Returns
        -------
        PrefixCounts
            The statistic.
        """
        if options.family is not None:
            raise SettingsError(
                f"{parameter('family', options.family)} can be used only with {parameter('metric', 'languages')}. "
                "Leave out one of them."
            )
        return cls()

    def plan(self, log: Outline, bound: Bound, memory: int) -> PrefixPlan:
        """Prepare counting on a log.

        Parameters
        ----------
        log
            Alphabet, horizon and size of the log.
        bound
            Test that compares samples.
        memory
            Memory limit in bytes. A log that exceeds it is refused.

        Returns
        -------
        PrefixPlan
            The plan of counting.
        """
        refuse_if_too_large(log, memory)
        return PrefixPlan(log)


def refuse_if_too_large(log: Outline, memory: int) -> None:
    """Raise SettingsError if the sorted orders and one tree do not fit into memory."""
    if log.n > MOST_LEAVES:
        raise SettingsError(
            f"the log has {log.n:,} episodes, more than the {MOST_LEAVES:,} that prefixes allow. Use "
            f"{parameter('metric', 'languages')}, or store equal episodes once, with a column of weights."
        )
    needed = (4 * (log.horizon + 2) + BYTES_PER_LEAF) * log.n
    if needed > memory:
        raise SettingsError(
            f"sorting the suffixes of {log.n:,} episodes needs {gigabytes(needed)}, more than the "
            f"{gigabytes(memory)} allowed. Use {parameter('metric', 'languages')}, or raise {parameter('memory')}."
        )


MOST_LEAVES = 1 << 30  # a tree has at most twice as many nodes, numbered with 32 bits
BYTES_PER_LEAF = 64  # tree, histogram and one row of counts, if all suffixes differ


class PrefixPlan(CountingPlan):
    """Prefix counting on one log."""

    divides = False  # a tree is as large as its data, and trees of shards would have to be merged
    estimates = False
    again = False
    rows = False

    def __init__(self, log: Outline) -> None:
        self.letters, self.log = len(log.letters), log
        self._gamma = int(np.prod([len(codes) for codes in log.suffix_alphabet()], dtype=object))

    def prepared_bytes(self, episodes: int) -> int:
        """Return the memory of prepared episodes, in bytes."""
        return 4 * (self.log.horizon + 2) * episodes

    def size(self, length: int, delta: float) -> int:
        """Return |X| = 2(ARO)^ℓ, which reproduces the paper's constant 8."""
        return int(2 * self._gamma**length)

    def shard(self, episodes: Episodes) -> PrefixShard:
        """Prepare some of the episodes for counting."""
        return PrefixShard(episodes, self.letters)

    def combine(self, parts: list[PrefixPart]) -> PrefixPart:
        """Add up the parts of several shards."""
        return PrefixPart.combine(parts, self.letters)

    def layer(
        self, t: int, part: PrefixPart, sizes: Int64, delta: float, runner: QueryRunner | None = None
    ) -> TreeLayer:
        """Create the candidates of layer t from their counts."""
        return TreeLayer(PrefixTree.of(part, len(sizes)), sizes, self.log.letters)


@dataclass(frozen=True, slots=True, eq=False)
class PrefixPart:
    """Suffixes and their lexicographic order."""

    candidate: UInt32  # [N]
    word: Codes  # [ℓ, N]
    weight: Int64  # [N], or empty if all are 1
    order: NDArray[np.uint32]  # [N]

    @classmethod
    def combine(cls, parts: list[PrefixPart], letters: int) -> PrefixPart:
        """Join the suffixes of several parts; equal suffixes of a candidate become one with their total weight."""
        word = np.concatenate([part.word for part in parts], axis=1)
        candidate = np.concatenate([part.candidate for part in parts])
        weight = np.concatenate(
            [part.weight if len(part.weight) else np.ones(len(part.candidate), np.int64) for part in parts]
        )
        order = suffix_orders(word, letters)[0]
        leaf, _, common = trees.leaves_of(word, order)
        start, value, count = walking.tally(candidate, leaf, weight, int(candidate.max()) + 1, len(common))
        example = np.zeros(len(common), np.int64)
        example[leaf] = np.arange(len(leaf))
        word = np.ascontiguousarray(word[:, example[value]])
        of = np.repeat(np.arange(len(start) - 1, dtype=np.uint32), np.diff(start))
        return cls(of, word, count, suffix_orders(word, letters)[0])


class PrefixShard:
    """Episodes with the sorted order of their suffixes from every step."""

    def __init__(self, episodes: Episodes, letters: int) -> None:
        self._word, self._weight = episodes.word, weights(episodes)
        self._orders = suffix_orders(episodes.word, letters)

    def count(self, t: int, candidate: UInt32, n_candidates: int, met: LetterCounts | None = None) -> PrefixPart:
        """Count the suffixes from step t by candidate."""
        return PrefixPart(candidate, self._word[t:], self._weight, self._orders[t])


def suffix_orders(word: Codes, letters: int) -> NDArray[np.uint32]:
    """Return in row t the episodes sorted by their suffix from step t, by one counting sort of row t + 1."""
    orders = np.empty((word.shape[0] + 1, word.shape[1]), np.uint32)
    orders[-1] = np.arange(word.shape[1], dtype=np.uint32)
    for t in range(word.shape[0] - 1, -1, -1):
        trees.sort_by_letter(word[t], orders[t + 1], letters, orders[t])
    return orders


@dataclass(frozen=True, slots=True, eq=False)
class PrefixTree:
    """The compact tree of the suffixes of a layer, nodes in preorder, and the leaves of each candidate with counts."""

    word: Codes  # [ℓ, N]
    example: NDArray[np.uint32]  # [leaves] an episode with this suffix
    end: NDArray[np.int32]  # [V] the subtree of v is v..end[v]−1
    parent: NDArray[np.int32]  # [V]
    depth: NDArray[np.int32]  # [V]
    first_leaf: NDArray[np.uint32]  # [V]
    start: Int64  # [C+1] where the leaves of each candidate begin
    leaf: NDArray[np.uint32]  # node of a leaf
    count: Int64  # suffixes of the candidate at the leaf

    @classmethod
    def of(cls, part: PrefixPart, candidates: int) -> PrefixTree:
        """Build the tree of all suffixes of a layer."""
        leaf, example, common = trees.leaves_of(part.word, part.order)
        end, parent, depth, first_leaf, node = trees.prefix_tree(common, part.word.shape[0])
        start, value, count = walking.tally(part.candidate, leaf, part.weight, candidates, len(common))
        return cls(part.word, example, end, parent, depth, first_leaf, start, node[value], count)

    def leaves(self, c: int) -> tuple[NDArray[np.uint32], Int64]:
        """Return the nodes and counts of the distinct suffixes of candidate c."""
        mine = slice(self.start[c], self.start[c + 1])
        return self.leaf[mine], self.count[mine]

    def prefix(self, node: int, length: int | None = None) -> Codes:
        """Return the prefix of a length on the edge to a node, by default the shortest.

        All prefixes on an edge begin the same suffixes, those below the node.
        """
        length = int(self.depth[self.parent[node]]) + 1 if length is None else length
        return self.word[:length, self.example[self.first_leaf[node]]]


class TreeLayer:
    """Candidates and states as counts over the nodes of one tree."""

    def __init__(self, tree: PrefixTree, sizes: Int64, letters: Codes) -> None:
        self._tree, self._sizes, self._letters = tree, sizes, letters
        # a count never exceeds the number of episodes
        self._dtype = np.dtype(np.int32 if sizes.sum() < 2**31 else np.int64)
        self._row = np.zeros(len(tree.end), self._dtype)
        self._current = -1
        self._states: list[NDArray[np.integer]] = []
        self._state_sizes: list[int] = []
        self.events = float(len(tree.end))

    def _candidate(self, c: int) -> NDArray[np.integer]:
        if c != self._current:
            if self._current >= 0:
                trees.add_paths(*self._tree.leaves(self._current), self._tree.parent, self._row, -1)
            trees.add_paths(*self._tree.leaves(c), self._tree.parent, self._row, 1)
            self._current = c
        return self._row

    def judge(self, kind: int, c: int, low: Float, high: Float, delta: float) -> Judgement:
        """Compare candidate c with every state of the layer."""
        return judge(self, kind, c, low, high, delta)

    def compare(self, kind: int, c: int, low: Float, high: Float) -> tuple[Float, Int64]:
        """Return the evidence and the event for each state; see `Comparable`."""
        best, event, least = np.zeros(len(self._states)), np.zeros(len(self._states), np.int64), math.inf
        row, n = self._candidate(c), self._sizes[c]
        for q, (other, size) in enumerate(zip(self._states, self._state_sizes, strict=True)):
            best[q], event[q] = comparing.compare_trees(
                kind, row, n, other, size, self._tree.end, low[q], high[q], least
            )
            least = min(least, best[q]) if best[q] < low[q] else least
        return best, event

    def testable(self, c: int, q: int, delta: float) -> int:
        """Return Tarone's κ, with one event per node, because all prefixes on an edge begin the same suffixes."""
        row, other, sizes = self._candidate(c), self._states[q], (self._sizes[c], self._state_sizes[q])
        most = comparing.attainable_in_tree(row, sizes[0], other, sizes[1], self._tree.end, math.log(delta))
        return int(comparing.tarone(most, np.ones(len(most)), math.log(delta)))

    def counts(self, c: int, q: int, event: int) -> tuple[int, int, int, int]:
        """Return the counts of an event in candidate c and state q, and their sizes."""
        k1, k2 = self._candidate(c)[event], self._states[q][event]
        return int(k1), int(self._sizes[c]), int(k2), self._state_sizes[q]

    def event(self, number: int) -> Event:
        """Return the event with a number, as data."""
        return prefix_event(self._letters, self._tree.prefix(number))

    def promote(self, c: int) -> None:
        """Make candidate c the next state."""
        self._states.append(self._candidate(c).copy())
        self._state_sizes.append(int(self._sizes[c]))

    def absorb(self, c: int, q: int) -> None:
        """Add the suffixes of candidate c to state q."""
        trees.add_paths(*self._tree.leaves(c), self._tree.parent, self._states[q], 1)
        self._state_sizes[q] += int(self._sizes[c])


def prefix_event(letters: Codes, prefix: Codes) -> Event:
    """Return the event that futures begin with a prefix, given as rows of the letters [X, 3]."""
    return Prefix(tuple((a, o, r) for a, o, r in letters[prefix].tolist()))
