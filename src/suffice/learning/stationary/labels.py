"""Labels of steps, given which the stationary learner compares the outcomes of actions in two futures.

Labels come from a reference automaton that may be wrong: at first the last observation, then the automaton of the last
round. For the first few steps they may also come from a tree of everything that has happened since: those labels are
always right, but fewer and fewer steps share one. `kernels.evidence.weigh` averages over both, so neither is chosen.
Theory: docs/theory.md, section 8.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from suffice.automata.rdp import UNSEEN
from suffice.data.alphabet import PAD, STOP, smallest_uint
from suffice.data.episodes import Episodes, weights
from suffice.errors import MemoryLimitError, gigabytes, parameter
from suffice.evidence.events import After, Chosen, Later, New, OutcomeAt, Paid, Shown, ShownAmong, Witness
from suffice.kernels import evidence as evidence_kernels
from suffice.kernels import stationary
from suffice.kernels.array_types import Codes, Int32, Int64
from suffice.kernels.evidence import DEPTH
from suffice.kernels.futures import Room
from suffice.learning.refinement import EQUAL
from suffice.learning.stationary.grouping import observation_groups, symbol_groups

ALL = 1 << 62
BYTES_PER_CELL = 56  # for a label or a node of the tree, and a letter: three cells, those of events, and room to work
BYTES_PER_PAIR = 24  # of symbols
GROUPED_DEPTH = 2  # depth of the tree if observations are grouped
CHOICE = 0  # kind of the events that are choices of actions
NEW = -1  # in place of an event: one that a label has never seen


@dataclass(frozen=True, slots=True, eq=False)
class PointerLog:
    """A log in the form that pointers read, episode by episode, with only action and reward of the last step.

    The observation of the last step is o_⊥ whether the episode ended there or the log was cut, so comparisons must not
    use it. The last step of an episode that was cut off is the last that was observed; nothing after it is read. Every
    step is therefore three events, each given those before it: the choice of the action, its reward, and its
    observation. Events are numbered: first observations (by letter), then pairs of action and reward, then choices.
    """

    episodes: Episodes
    symbols: Codes  # [Y, 2]
    word: Codes  # [N, H+1] letters; those of the last step have separate numbers
    last: Int32  # [N] the last step of each episode
    symbol_of: Int32  # [X]
    action_of: Int32  # [X] the action, with separate numbers at the last step; UNSEEN without a choice
    events: Int32  # [3, X] choice, reward and observation; UNSEEN for none
    kind_of: Int32  # [V] the kind of each event; events of one kind exclude each other
    weight: Int64
    grouped: bool = False  # whether only groups of observations are compared
    adaptive: bool = False  # whether choices of actions are left out, because the logger learned while it acted

    @classmethod
    def of(cls, episodes: Episodes, grouped: bool = False, adaptive: bool = False) -> PointerLog:
        """Convert episodes to this form; `grouped` if observations are compared by group (`grouping`)."""
        symbols, symbol_of = episodes.symbols()
        letters, n_actions, n_rewards = episodes.letters, episodes.alphabet.n_actions, len(episodes.alphabet.rewards)
        pairs, pair_of = np.unique(letters[:, 0] * np.int64(n_rewards) + letters[:, 2], return_inverse=True)
        n, wide = len(letters), len(letters) + len(pairs)
        word = np.empty((episodes.n, episodes.horizon + 1), smallest_uint(wide))
        word[:] = episodes.word.T
        last, each = _last_steps(episodes), np.arange(episodes.n)
        word[each, last] = n + pair_of[episodes.word[last, each]]
        by_pair = pairs // n_rewards
        action = np.concatenate([letters[:, 0], n_actions + by_pair])
        pair = np.concatenate([pair_of, np.arange(len(pairs))])
        shown = np.concatenate([_shown(episodes, pair_of, grouped), np.full(len(pairs), UNSEEN)])
        events = np.stack([wide + len(pairs) + action % n_actions, wide + pair, shown])
        nothing = action % n_actions <= PAD
        events[:, nothing], action[nothing] = UNSEEN, UNSEEN
        if adaptive:
            events[0] = UNSEEN
        kinds = np.concatenate([n_actions + 1 + pair, 1 + by_pair, np.zeros(n_actions, np.int64)])
        padded = np.concatenate([symbol_of, np.zeros(len(pairs), symbol_of.dtype)])
        symbol_of, action_of, events, kind_of = (part.astype(np.int32) for part in (padded, action, events, kinds))
        codes = symbol_of, action_of, events, kind_of
        return cls(episodes, symbols, word, last, *codes, weights(episodes), grouped, adaptive)

    def columns(self, part: Int64) -> PointerLog:
        """Return some of the episodes in this form."""
        return PointerLog.of(self.episodes.columns(part), self.grouped, self.adaptive)

    @property
    def walked(self) -> stationary.Steps:
        """The steps, as kernels read them."""
        return stationary.Steps(self.word, self.last, self.weight, self.symbol_of)

    @property
    def horizon(self) -> int:
        """The horizon H of the log's episodes."""
        return int(self.word.shape[1]) - 1

    def tables(self, seen: NDArray[np.bool_]) -> CountTables:
        """Make tables for nodes that have seen these letters [nodes, X]."""
        met = np.zeros((len(seen), len(self.kind_of)), bool)
        nodes, letters = np.nonzero(seen)
        for event in self.events:
            counted = event[letters] != UNSEEN
            met[nodes[counted], event[letters[counted]]] = True
        return CountTables(met, self.kind_of)

    def total(self, columns: Int64) -> int:
        """Return the total weight of some episodes."""
        return int(self.weight[columns].sum()) if len(self.weight) else len(columns)

    def ends(self) -> NDArray[np.bool_]:
        """Return [Y], the symbols after which an episode is over."""
        return np.asarray(self.symbols[:, 1] == STOP)

    def transitions(self, path: Int32, most: int = ALL) -> Iterator[tuple[int, int, Int64, Int64]]:
        """Generate the transitions of episodes in states [N, H+1]: state, symbol, episodes and steps of visits.

        Transitions that end an episode are omitted.
        """
        n_states = int(path.max(initial=0)) + 1
        begin, episodes, visits = stationary.transitions(path, self.walked, ~self.ends(), n_states, most)
        for key in np.flatnonzero(np.diff(begin)).tolist():
            places = slice(begin[key], begin[key + 1])
            yield *divmod(key, len(self.symbols)), episodes[places].astype(np.int64), visits[places].astype(np.int64)

    def outcome(self, event: int) -> Chosen | Paid | Shown | ShownAmong | New:
        """Convert the number of an event to a description: a choice, a reward or an observation."""
        letters = self.episodes.letters
        of_pairs, of_choices = len(self.symbol_of), 2 * len(self.symbol_of) - len(letters)
        if event == NEW:
            return New()
        if event >= of_choices:
            return Chosen(event - of_choices)
        a, o, r = letters[self._letter_of(event)].tolist()
        if event >= of_pairs:
            return Paid(a, r)
        return ShownAmong(a, o, r) if self.grouped else Shown(a, o, r)

    def _letter_of(self, event: int) -> int:
        """Return a letter that has the event."""
        return int(np.flatnonzero((self.events == event).any(axis=0))[0])


def _shown(episodes: Episodes, pair_of: Int64, grouped: bool) -> Int64:
    """Return [X], the event of each letter's observation: the first letter of its pair and group of observations."""
    groups = observation_groups(episodes, grouped)
    keys = pair_of.reshape(-1) * len(groups) + groups[episodes.letters[:, 1]]
    _, first, place = np.unique(keys, return_index=True, return_inverse=True)
    return np.asarray(first[place.reshape(-1)])


def _last_steps(episodes: Episodes) -> Int32:
    """Return [N], the last observed step of each episode."""
    if episodes.length is None:
        return np.full(episodes.n, episodes.horizon, np.int32)
    return np.asarray(np.clip(episodes.length - 1, 0, episodes.horizon), np.int32)


def grouped(keys: Int64) -> Iterator[tuple[int, Int64]]:
    """Generate each key in order, with its places in order."""
    order = np.argsort(keys, kind="stable")
    begin = [*np.flatnonzero(np.diff(keys[order], prepend=-1)).tolist(), len(keys)]
    for here, end in pairwise(begin):
        yield int(keys[order[here]]), order[here:end]


class CountTables:
    """Cells that count the events at nodes (labels), one table for each node and kind of event.

    The last cell of a table counts events of that kind that the node has never seen.
    """

    def __init__(self, seen: NDArray[np.bool_], kind_of: Int32) -> None:
        """Make cells for the events that nodes have seen [nodes, V]; events without a kind are not counted."""
        nodes, events = np.nonzero(seen & (kind_of != UNSEEN))
        order = np.lexsort((events, kind_of[events], nodes))
        nodes, events = nodes[order], events[order]
        width = int(kind_of.max(initial=0)) + 1
        keys, table = np.unique(nodes * width + kind_of[events], return_inverse=True)
        sizes = np.bincount(table, minlength=len(keys)) + 1
        self.begin = np.concatenate([[0], np.cumsum(sizes)])  # [G+1]
        self.nodes, self.kinds = keys // width, keys % width  # [G]
        place = np.arange(len(table)) + table  # each earlier table has one more cell
        self.event_of = np.full(int(self.begin[-1]), NEW)
        self.event_of[place] = events
        other = np.full((len(seen), width), UNSEEN, np.int32)
        other[self.nodes, self.kinds] = self.begin[1:] - 1
        self.cell_of = other[:, kind_of]  # [nodes, V]
        self.cell_of[:, kind_of == UNSEEN] = UNSEEN
        self.cell_of[nodes, events] = place

    def of_letters(self, steps: PointerLog) -> Int32:
        """Return [nodes, X, 3], the cells in which each node counts the events of a letter."""
        cells = np.empty((len(self.cell_of), len(steps.symbol_of), 3), np.int32)
        for i, event in enumerate(steps.events):
            np.take(self.cell_of, event, axis=1, out=cells[:, :, i], mode="wrap")
            cells[:, event == UNSEEN, i] = UNSEEN
        return cells

    def widest(self, more: int) -> int:
        """Return the largest number of cells if a number of nodes get a second table of each kind."""
        return int(self.begin[-1]) + more * int(np.bincount(self.nodes, np.diff(self.begin)).max(initial=0))

    def grouped_by(self, group: Int64) -> evidence_kernels.Tables:
        """Return the tables as kernels read them, with the group of each."""
        of_node = np.searchsorted(self.nodes, np.arange(len(self.cell_of) + 1))
        return evidence_kernels.Tables(self.begin, group, of_node)


class Labelling:
    """The reference automaton and the tree, as tables for kernels."""

    def __init__(self, steps: PointerLog, reference: Int32, memory: int = ALL) -> None:
        """Make the tables; `memory` limits their size, in bytes."""
        self.reference, self._steps = reference, steps
        tree, seen, parents = _tree(steps, len(reference), memory)  # before any other table is made
        self.tables = tables_of(steps, reference)
        self.tree_tables, self._parents = steps.tables(seen), parents
        levels = np.array([_level(node, parents) for node in range(len(tree))])
        self.automaton = self.tables.grouped_by((self.tables.kinds == CHOICE).astype(np.int64))
        self.tree = self.tree_tables.grouped_by(
            levels[self.tree_tables.nodes] + DEPTH * (self.tree_tables.kinds == CHOICE)
        )
        first, width = int(self.tree_tables.begin[-1]), int(self.tables.begin[-1])
        cells, tree_cells = (tables.of_letters(steps) for tables in (self.tables, self.tree_tables))
        self.labels = stationary.Labels(reference, cells, tree, tree_cells, DEPTH, first, width)
        self.size = first + (DEPTH + 1) * width

    def room(self) -> Room:
        """Allocate the tables that comparisons fill and clear."""
        nodes, labels = len(self.labels.tree), len(self.reference)
        most, counts = max(nodes, labels), (self.size, 2)
        return Room(
            mine=np.zeros(counts, np.int64),
            twice=np.zeros(counts, np.int64),
            node_met=np.zeros(nodes, bool),
            label_met=np.zeros(labels, bool),
            met=np.zeros(most, np.int64),
            node_twice=np.zeros(nodes, bool),
            label_twice=np.zeros(labels, bool),
            nodes_twice=np.zeros(nodes, np.int64),
            labels_twice=np.zeros(labels, np.int64),
            n_twice=np.zeros(2, np.int64),
        )

    def depth_needed(self, one: Int64, other: Int64, threshold: float) -> int:
        """Return how many steps beyond the next one the tree needs to distinguish two rows; DEPTH if it cannot."""
        for depth in range(DEPTH):  # nodes are numbered by depth, and tables by node
            tables = int(np.count_nonzero(self.tree.group % DEPTH <= depth))
            evidence, _, _ = evidence_kernels.evidence_of_rows(one, other, self.tree_tables.begin[: tables + 1], EQUAL)
            if evidence >= threshold:
                return depth
        return DEPTH

    def witness(self, cell: int, one: Int64, other: Int64) -> Witness:
        """Return the witness for a cell in which two rows of counts differ."""
        first = self.labels.first
        if cell < first:
            tables, rows = self.tree_tables, (one[:first], other[:first])
        else:
            tables, cell = self.tables, cell - first
            rows = tuple(row[first:].reshape(DEPTH + 1, -1).sum(axis=0) for row in (one, other))
        g = int(np.searchsorted(tables.begin, cell, side="right")) - 1
        what = self._steps.outcome(int(tables.event_of[cell]))
        place = self._path(int(tables.nodes[g])) if tables is self.tree_tables else Later()
        (k1, n1), (k2, n2) = ((int(row[cell]), int(row[tables.begin[g] : tables.begin[g + 1]].sum())) for row in rows)
        return Witness(OutcomeAt(place, what), k1, n1, k2, n2)

    def _path(self, node: int) -> After | Later:
        symbols: list[tuple[int, int]] = []
        if node and self._steps.grouped:  # the node is after one of several symbols
            return Later()
        while node:
            node, y = self._parents[node]
            a, o = self._steps.symbols[y].tolist()
            symbols.append((a, o))
        return After(tuple(reversed(symbols)))


def tables_of(steps: PointerLog, tau: Int32) -> CountTables:
    """Make tables for the letters that the states of an automaton with all transitions have seen."""
    path = stationary.trace(tau, steps.walked)
    return steps.tables(np.asarray(stationary.count_letters(path, steps.walked, len(tau)) > 0))


def _tree(steps: PointerLog, labels: int, memory: int) -> tuple[Int32, NDArray[np.bool_], list[tuple[int, int]]]:
    """Return the tree of what happens within DEPTH steps: nodes [T, Y], letters seen [T, X], parents and symbols.

    The last node is beyond the tree: unseen symbols lead there, and it leads only to itself. The tables of the tree and
    of a number of labels are refused if they do not fit into memory.
    """
    group_of, n_letters = symbol_groups(steps.episodes, steps.grouped), len(steps.symbol_of)
    n_symbols, depths = int(group_of.max()) + 1, GROUPED_DEPTH if steps.grouped else DEPTH
    pairs = 0 if steps.grouped else len(steps.symbols) ** 2  # whose targets are compared (`settling`)
    parents = [(0, 0)]
    children: list[Int32] = []  # by depth; −1 for none
    seen = []
    node, level = np.zeros_like(steps.word[:, 1:], np.int32), 0  # node of every step, and the first node of this depth
    for depth in range(depths):
        letters = steps.word[:, 1 + depth :]
        if (len(parents) + labels) * n_letters * BYTES_PER_CELL + pairs * BYTES_PER_PAIR > memory:
            raise MemoryLimitError(
                f"{n_letters:,} distinct steps follow each other in too many ways for {gigabytes(memory)}. Bin the "
                f"observations with {parameter('bins')}, use fewer columns with {parameter('observations')}, or raise "
                f"{parameter('memory')}."
            )
        met = np.zeros((len(parents) - level, n_letters), bool)
        met[node - level, letters] = True
        seen.append(met)
        number = np.full((len(met), n_symbols), -1, np.int32)
        children.append(number)
        if depth == depths - 1:
            break
        symbols = group_of[steps.symbol_of[letters[:, :-1]]]
        taken = np.zeros(number.shape, bool)
        taken[node[:, :-1] - level, symbols] = True
        sources, by = np.nonzero(taken)
        number[sources, by] = np.arange(len(sources)) + len(parents)
        node = number[node[:, :-1] - level, symbols]
        parents, level = [*parents, *zip((sources + level).tolist(), by.tolist(), strict=True)], len(parents)
    tree = np.concatenate([*children, np.full((1, n_symbols), -1, np.int32)])[:, group_of]
    beyond = np.zeros((1, n_letters), bool)
    return np.where(tree < 0, len(tree) - 1, tree).astype(np.int32), np.concatenate([*seen, beyond]), [*parents, (0, 0)]


def _level(node: int, parents: list[tuple[int, int]]) -> int:
    level = 0
    while node:
        node, level = parents[node][0], level + 1
    return level
