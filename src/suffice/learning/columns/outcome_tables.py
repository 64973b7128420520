"""Which outcomes follow the arrival in a state: the contingency tables that a column is tested by.

Each table belongs to a state, a later pair of a state and an action, and a kind of arrival (`kernels.columns`). It has
at most one event of each episode, except for every visit with what follows at once, and where episodes have groups one
event of each group, drawn by a coin. Its outcome is the reward of the pair at its first occurrence, or the state that
follows it. Tables whose outcomes do not vary, or that are small, show
nothing and are left out; this depends on the outcomes alone and not on any column. Theory: docs/theory.md, section 12.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.columnar import ColumnarLog
from suffice.data.content import content_hashes
from suffice.data.episodes import Episodes
from suffice.kernels import columns as kernels
from suffice.kernels.array_types import Codes, Float, Int32, Int64, UInt64

KINDS = kernels.DRAWN_VISIT + 1
FEWEST_EVENTS = 12  # of a table: with fewer, no column reaches a usual level
MOST_OUTCOMES = 8  # that a table distinguishes; the rarest count as one
MOST_EVENTS = 1 << 22  # of all tables


@dataclass(frozen=True, slots=True, eq=False)
class OutcomeTables:
    """Contingency tables as lists of events, grouped by table."""

    begin: Int64  # [T+1] first event of each table
    cell: Int64  # [E] step · N + episode of the arrival
    outcome: Int64  # [E] rank of the outcome in its table
    sizes: Int64  # [T] number of outcomes
    names: Int64  # [T, MOST_OUTCOMES] code of the reward, or state, of each rank; −1: several
    kind: Int64  # [T] kind of arrival, 0 to KINDS − 1
    place: Int64  # [T, 3] state, later state, action
    next_state: Codes  # [T] 1 if the outcome is the next state, 0 if it is the reward
    effect: Float  # [T] at least 1, by which counts are divided (`kernels.columns.design_effects`)
    path: Int32  # [H+1, N] state after each step
    n_states: int

    def __len__(self) -> int:
        return len(self.sizes)


def walk(rdp: RDP, episodes: Episodes) -> Int32:
    """Return the state after each step of the episodes that an automaton was learned from, [H+1, N]."""
    tau = np.concatenate([rdp.tau, np.full((1, rdp.tau.shape[1]), UNSEEN, np.int32)])  # the last row: not known
    path = np.empty(episodes.word.shape, np.int32)
    kernels.walk(tau, rdp.symbol_of_letter(), episodes.word, path)
    return path


def outcome_tables(log: ColumnarLog, path: Int32, coins: UInt64, most_events: int = MOST_EVENTS) -> OutcomeTables:
    """List the events of a log along the states of an automaton; of a large log, of its first episodes."""
    lengths = log.decides.sum(axis=0, dtype=np.int64)
    last = np.full(log.n, log.horizon) if log.base.length is None else log.base.length.astype(np.int64) - 1
    n_states, n_actions = int(path.max()) + 1, log.base.alphabet.n_actions
    room = int(min(most_events, 2 * lengths.sum() * (1 + 2 * min(n_states, log.horizon)))) + 4
    key, cell, outcome = (np.empty(room, np.int64) for _ in range(3))
    size, _ = kernels.events(path, log.action, log.reward, lengths, last, coins, n_actions, key, cell, outcome)
    key, cell, outcome, unit = _in_tables(log, coins, (key[:size], cell[:size], outcome[:size]), n_states, n_actions)
    begin = np.append(np.flatnonzero(np.diff(key, prepend=-1)), len(key))
    sizes, ranked = kernels.rank_outcomes(begin, outcome, MOST_OUTCOMES, max(len(log.base.alphabet.rewards), n_states))
    kept = (sizes > 1) & (np.diff(begin) >= FEWEST_EVENTS)
    mask = np.repeat(kept, np.diff(begin))
    names, next_state = np.divmod(key[begin[:-1]][kept], 2)
    names, action = np.divmod(names, n_actions)
    names, later = np.divmod(names, n_states)
    kind, state = np.divmod(names, n_states)
    begin = np.concatenate([[0], np.cumsum(np.diff(begin)[kept])])
    cell, outcome, unit, sizes = cell[mask], outcome[mask], unit[mask], sizes[kept]
    return OutcomeTables(
        begin=begin,
        cell=cell,
        outcome=outcome,
        sizes=sizes,
        names=ranked[kept],
        effect=kernels.design_effects(begin, unit, outcome, sizes),
        kind=kind,
        place=np.stack([state, later, action], axis=1),
        next_state=next_state,
        path=path,
        n_states=n_states,
    )


def _in_tables(
    log: ColumnarLog, coins: UInt64, events: tuple[Int64, Int64, Int64], n_states: int, n_actions: int
) -> tuple[Int64, Int64, Int64, Int64]:
    """Sort events by table and by unit, which is the episode or its group.

    Returned are the keys, cells, outcomes and units. Of the events of a group in a table, one is kept; all are if every
    visit counts.
    """
    key, cell, outcome = events
    episode = cell % log.n
    if log.base.group is None:
        order = np.argsort(key, kind="stable")
        return key[order], cell[order], outcome[order], episode[order]
    unit = np.unique(log.base.group, return_inverse=True)[1][episode]
    drawn = (coins[episode] ^ key.astype(np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
    order = np.lexsort((drawn, unit, key))
    key, cell, outcome, unit = key[order], cell[order], outcome[order], unit[order]
    every = key < 2 * n_actions * n_states * n_states * (kernels.EVERY_VISIT + 1)
    first = (np.diff(key, prepend=-1) != 0) | (np.diff(unit, prepend=-1) != 0)
    kept = every | first
    return key[kept], cell[kept], outcome[kept], unit[kept]


def coins_of(log: ColumnarLog) -> UInt64:
    """Return a pseudo-random number for each episode, which depends on its actions and rewards alone, [N]."""
    return content_hashes(log.base)
