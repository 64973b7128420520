"""Prefix counts in Count-Min-Sketches, whose memory per state hardly grows with the data.

There is one sketch per prefix length, so that its total is the sample size, with δ_c = δ/(8(ARO)^ℓ) and
ε = √(ln(2/δ_c)/2n). All sketches of a layer share seeds and a width for the largest possible sample, so they can be
added. A small sample is stored as the list of its distinct suffixes until its sketch is smaller.

With the paper's bound, the distance is the largest difference of estimated frequencies over prefixes more frequent than
ε; below ε a sketch gives no information. With the other bounds every cell is an event fixed before the data: suffixes
whose prefix of length u hashes to it. Then |X| = ℓ·d·w, and samples are compared cell by cell. Theory: docs/theory.md,
section 5; paper, Theorem 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from suffice.data.episodes import Episodes, Outline
from suffice.errors import SettingsError, parameter
from suffice.evidence.bounds import PAPER, Bound
from suffice.evidence.events import Event, SketchCell
from suffice.evidence.judging import judge
from suffice.evidence.prefix_tree import (
    PrefixPart,
    PrefixPlan,
    PrefixShard,
    PrefixTree,
    prefix_event,
    refuse_if_too_large,
)
from suffice.evidence.rows import RowLayer
from suffice.evidence.sketch import CountMinSketch, Shape
from suffice.evidence.statistic import CountingPlan, Judgement, QueryRunner, Statistic, StatisticOptions
from suffice.kernels import sketches as sketches_kernels
from suffice.kernels.array_types import Codes, Float, Int64

BYTES_PER_SUFFIX = 12  # leaf and cumulative count


@dataclass(frozen=True, slots=True)
class PrefixSketches(Statistic):
    """A Count-Min-Sketch of prefixes for each candidate and state.

    Parameters
    ----------
    seed
        Seed of the hash functions.

    Examples
    --------
    >>> suffice.learn(episodes, settings=suffice.Settings(suffice.PrefixSketches(seed=1))).about.bound
    'paper'
    """

    name: ClassVar[str] = "sketch"
    usual_bound: ClassVar[Bound] = PAPER  # its proof covers estimates
    seed: int = 0

    @classmethod
    def of(cls, options: StatisticOptions) -> PrefixSketches:
        """Create the statistic from options.

        Parameters
        ----------
        options
            Only the seed is used. A family is refused.

        Returns
        -------
        PrefixSketches
            The statistic.
        """
        if options.family is not None:
            raise SettingsError(
                f"{parameter('family', options.family)} cannot be combined with {parameter('metric', 'sketch')}: "
                "languages overlap, so their counts add up to more than the sample and the error bound of the sketch "
                f"does not hold (paper, section 4.2). Use {parameter('metric', 'languages')}."
            )
        return cls(options.seed or 0)

    @property
    def options(self) -> StatisticOptions:
        """The options that create this statistic again."""
        return StatisticOptions(self.name, seed=self.seed)

    def plan(self, log: Outline, bound: Bound, memory: int) -> SketchPlan:
        """Prepare counting on a log.

        Parameters
        ----------
        log
            Alphabet, horizon and size of the log.
        bound
            Test that compares samples. If it does not allow estimates, cells are the events.
        memory
            Memory limit in bytes. A log that exceeds it is refused.

        Returns
        -------
        SketchPlan
            The plan of counting.
        """
        refuse_if_too_large(log, memory)
        return SketchPlan(log, self.seed, cells_are_events=not bound.allows_estimates)


class SketchPlan(CountingPlan):
    """Hash seeds, and the shape of the sketches of a layer."""

    divides = False
    again = False
    rows = False

    def __init__(self, log: Outline, seed: int, cells_are_events: bool) -> None:
        self.estimates = not cells_are_events
        self._prefixes = PrefixPlan(log)
        self._total = log.total
        self._seed = seed
        rng = np.random.default_rng(seed)
        self._base = np.uint64(rng.integers(1 << 32, (1 << 61) - 1, dtype=np.uint64))

    def shape(self, length: int, delta: float) -> Shape:
        """Return depth and width for a layer, from δ_c = δ/(8(ARO)^ℓ) and ε = √(ln(2/δ_c)/2n)."""
        return Shape.for_accuracy(self._epsilon(length, delta), self._ln_delta_c(length, delta), self._seed)

    def _ln_delta_c(self, length: int, delta: float) -> float:
        return math.log(delta) - math.log(4) - math.log(self._prefixes.size(length, delta))

    def _epsilon(self, length: int, delta: float) -> float:
        return math.sqrt((math.log(2) - self._ln_delta_c(length, delta)) / (2 * self._total))

    def size(self, length: int, delta: float) -> int:
        """Return |X|, the number of prefixes, or of cells where cells are the events."""
        if self.estimates:
            return self._prefixes.size(length, delta)
        shape = self.shape(length, delta)
        return length * shape.depth * shape.width

    def shard(self, episodes: Episodes) -> PrefixShard:
        """Prepare some of the episodes for counting."""
        return self._prefixes.shard(episodes)

    def prepared_bytes(self, episodes: int) -> int:
        """Return the memory of prepared episodes, in bytes."""
        return self._prefixes.prepared_bytes(episodes)

    def combine(self, parts: list[PrefixPart]) -> PrefixPart:
        """Add up the parts of several shards."""
        return self._prefixes.combine(parts)

    def layer(
        self, t: int, part: PrefixPart, sizes: Int64, delta: float, runner: QueryRunner | None = None
    ) -> RowLayer | SketchLayer:
        """Create the candidates of layer t from their counts."""
        tree = PrefixTree.of(part, len(sizes))
        length = len(tree.word)
        sketcher = Sketcher(tree, self.shape(length, delta), self._base, self._epsilon(length, delta))
        if self.estimates:
            return SketchLayer(sketcher, sizes, self._prefixes.log.letters)
        events = np.ones(length * sketcher.shape.depth * sketcher.shape.width)
        return RowLayer(lambda c: sketcher.cells(*tree.leaves(c)).ravel(), sizes, events, sketcher.cell_event)


@dataclass(frozen=True, slots=True, eq=False)
class Sketcher:
    """Converts lists of suffixes to sketches of their prefixes."""

    tree: PrefixTree
    shape: Shape
    base: np.uint64  # of the polynomial hash of prefixes
    epsilon: float

    @property
    def cell_bytes(self) -> int:
        """Memory of the sketches of all lengths for one sample."""
        return len(self.tree.word) * self.shape.cell_bytes

    def cells(self, nodes: NDArray[np.uint32], counts: Int64) -> Int64:
        """Return the sketches of all prefix lengths, [ℓ, d, w]."""
        cells = np.zeros((len(self.tree.word), self.shape.depth, self.shape.width), np.int64)
        self.add_suffixes(cells, nodes, counts)
        return cells

    def add_suffixes(self, cells: Int64, nodes: NDArray[np.uint32], counts: Int64) -> None:
        """Add suffixes, given by leaf and count, to sketches."""
        sketches = [CountMinSketch.over(table, self.shape.seed) for table in cells]
        for begin in range(0, len(nodes), _CHUNK_SUFFIXES):
            some = nodes[begin : begin + _CHUNK_SUFFIXES]
            keys = np.empty((len(cells), len(some)), np.uint64)
            sketches_kernels.hash_prefixes(
                self.tree.word, self.tree.example[self.tree.first_leaf[some]], self.base, keys
            )
            for sketch, row in zip(sketches, keys, strict=True):
                sketch.add(row, counts[begin : begin + _CHUNK_SUFFIXES])

    def estimate(self, row: _Row, node: int, length: int) -> int:
        """Return how often suffixes of a sample begin with a prefix: the smallest estimate over its own prefixes."""
        nodes, cumulative, cells = row
        if not len(cells):
            low, high = np.searchsorted(nodes, [node, self.tree.end[node]])
            return int(cumulative[high] - cumulative[low])
        keys = np.empty((len(cells), 1), np.uint64)
        example = self.tree.example[self.tree.first_leaf[[node]]]
        sketches_kernels.hash_prefixes(self.tree.word, example, self.base, keys)
        tables = zip(cells[:length], keys, strict=False)
        return min(int(CountMinSketch.over(table, self.shape.seed).query(key)[0]) for table, key in tables)

    def cell_event(self, number: int) -> Event:
        """Return the event that a cell counts."""
        length, rest = divmod(number, self.shape.depth * self.shape.width)
        return SketchCell(length + 1, *divmod(rest, self.shape.width))


_CHUNK_SUFFIXES = 1 << 16  # suffixes hashed at a time

_Row = tuple[NDArray[np.uint32], Int64, Int64]  # leaves, cumulative counts, cells; either leaves or cells are empty
_NO_CELLS = np.zeros((0, 1, 1), np.int64)
_EMPTY: _Row = (np.zeros(0, np.uint32), np.zeros(1, np.int64), _NO_CELLS)


class SketchLayer:
    """Candidates and states as sketches of their prefixes, or as lists of suffixes while those are smaller."""

    events = 0.0  # Tarone's correction does not apply to estimates

    def __init__(self, sketcher: Sketcher, sizes: Int64, letters: Codes) -> None:
        self._sketcher, self._sizes, self._letters = sketcher, sizes, letters
        self._row, self._current = _EMPTY, -1
        self._states: list[_Row] = []
        self._state_sizes: list[int] = []

    def _candidate(self, c: int) -> _Row:
        if c != self._current:
            nodes, counts = self._sketcher.tree.leaves(c)
            order = np.argsort(nodes)
            self._row, self._current = self._settle(nodes[order], counts[order]), c
        return self._row

    def _settle(self, nodes: NDArray[np.uint32], counts: Int64) -> _Row:
        """Return the list of suffixes, or its sketch if that is smaller."""
        if BYTES_PER_SUFFIX * len(nodes) > self._sketcher.cell_bytes:
            return nodes[:0], np.zeros(1, np.int64), self._sketcher.cells(nodes, counts)
        return nodes, np.concatenate([[0], np.cumsum(counts)]), _NO_CELLS

    def judge(self, kind: int, c: int, low: Float, high: Float, delta: float) -> Judgement:
        """Compare candidate c with every state of the layer."""
        return judge(self, kind, c, low, high, delta)

    def compare(self, kind: int, c: int, low: Float, high: Float) -> tuple[Float, Int64]:
        """Return the evidence for each state; an event is a node and a length of prefix on its edge."""
        s, tree, row = self._sketcher, self._sketcher.tree, self._candidate(c)
        best, event = np.zeros(len(self._states)), np.full(len(self._states), -1, np.int64)
        shape = (tree.end, tree.parent, tree.depth, tree.first_leaf)
        hashing = (tree.word, tree.example, s.base, s.shape.multipliers(), s.epsilon)
        least = math.inf
        for q, (other, size) in enumerate(zip(self._states, self._state_sizes, strict=True)):
            best[q], node, length = sketches_kernels.compare_sketch(
                row, self._sizes[c], other, size, shape, *hashing, low[q], high[q], least
            )
            least = min(least, best[q]) if best[q] < low[q] else least
            if node >= 0:
                event[q] = node * (len(tree.word) + 1) + length
        return best, event

    def testable(self, c: int, q: int, delta: float) -> int:
        """Raise SettingsError, because Fisher's test needs exact counts; it uses cells as events instead."""
        raise SettingsError(
            f"Fisher's test does not apply to estimated counts. Use {parameter('bound', 'paper')} with this layer."
        )

    def counts(self, c: int, q: int, event: int) -> tuple[int, int, int, int]:
        """Return the estimated counts of an event in candidate c and state q, and the exact sizes."""
        node, length = divmod(event, len(self._sketcher.tree.word) + 1)
        k1, k2 = (self._sketcher.estimate(row, node, length) for row in (self._candidate(c), self._states[q]))
        return k1, int(self._sizes[c]), k2, self._state_sizes[q]

    def event(self, number: int) -> Event:
        """Return the event with a number, as data."""
        node, length = divmod(number, len(self._sketcher.tree.word) + 1)
        return prefix_event(self._letters, self._sketcher.tree.prefix(node, length))

    def promote(self, c: int) -> None:
        """Make candidate c the next state."""
        nodes, cumulative, cells = self._candidate(c)
        self._states.append((nodes, cumulative, cells.copy()))
        self._state_sizes.append(int(self._sizes[c]))

    def absorb(self, c: int, q: int) -> None:
        """Add the suffixes of candidate c to state q."""
        self._state_sizes[q] += int(self._sizes[c])
        nodes, cumulative, cells = self._states[q]
        more, counts = self._sketcher.tree.leaves(c)
        if len(cells):
            self._sketcher.add_suffixes(cells, more, counts)
            return
        merged, place = np.unique(np.concatenate([nodes, more]), return_inverse=True)
        total = np.zeros(len(merged), np.int64)
        np.add.at(total, place, np.concatenate([np.diff(cumulative), counts]))
        self._states[q] = self._settle(merged, total)
