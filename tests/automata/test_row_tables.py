"""Tables whose rows are made when they are indexed: they read like the arrays that they stand for."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from suffice.automata import tally as tally_module
from suffice.automata.rdp import RDP, UNSEEN
from suffice.automata.row_tables import ComputedRows, LayeredSuccessors, RowTable, SharedRows, SparseRows
from suffice.automata.state_tracker import StateTracker
from suffice.data.episodes import Episodes
from suffice.data.memory_limit import limit_memory
from suffice.errors import MemoryLimitError
from suffice.learning.stationary.learner import learn_stationary
from support.wide_models import wide_log, wide_rdp

RNG = np.random.default_rng(0)
DENSE = RNG.integers(0, 3, (40, 7)) * RNG.integers(0, 2, (40, 7))


def tables() -> dict[str, tuple[RowTable, Any]]:
    """Return each kind of table with the array that it stands for."""
    row = RNG.integers(0, 5, 40)
    moves = RNG.integers(UNSEEN, 4, (5, 7)).astype(np.int32)
    layer, place = np.sort(RNG.integers(0, 3, 40)), RNG.integers(0, 40, (4, 5)).astype(np.int32)
    place[:, -1] = UNSEEN
    keys = np.flatnonzero(DENSE)
    return {
        "shared": (SharedRows(DENSE[:5], row), DENSE[:5][row]),
        "layered": (
            LayeredSuccessors(moves, row, layer, place),
            np.array([[place[t + 1, q] for q in moves[r]] for t, r in zip(layer, row, strict=True)]),
        ),
        "sparse": (SparseRows(DENSE.shape, keys, DENSE.ravel()[keys]), DENSE),
        "counted": (SparseRows.counted(DENSE.shape, np.repeat(keys, DENSE.ravel()[keys]), np.ones(DENSE.sum())), DENSE),
        "computed": (ComputedRows(DENSE.shape, lambda states: DENSE[states]), DENSE),
    }


@pytest.mark.parametrize("name", tables())
def test_row_tables_read_like_arrays(name: str) -> None:
    table, dense = tables()[name]
    some, letters = np.array([3, 39, 0, 3, -1]), np.array([6, 0, -1, 2, 4])
    for index in (slice(None), slice(5, 9), slice(38, 60), slice(4, 4), 7, -1, some, dense[:, 0] > 0, some[:0]):
        assert np.array_equal(table[index], dense[index]), index
    for pair in ((some, letters), (3, 2), (some[:, None], np.arange(7)), (some[:0], letters[:0])):
        assert np.array_equal(table[pair], dense[pair]), pair
    for pair in ((slice(None), 2), (slice(3, 9), dense[0] > 0), (some, slice(2, 5)), (3, slice(None))):
        assert np.array_equal(table[pair], dense[pair]), pair
    assert (table.shape, table.dtype, len(table), table.nbytes) == (dense.shape, dense.dtype, 40, dense.nbytes)
    assert np.array_equal(np.asarray(table), dense) and np.array_equal(table.T, dense.T)
    assert np.array_equal(table.sum(axis=1), dense.sum(axis=1)) and table.sum(dtype=float) == dense.sum()
    assert np.array_equal(table.any(axis=1, keepdims=True), dense.any(axis=1, keepdims=True))
    assert table.min(initial=0) == min(dense.min(), 0) and np.array_equal(table != UNSEEN, dense != UNSEEN)
    assert np.array_equal(np.where(table > 1, table, 0), np.where(dense > 1, dense, 0))
    if name != "computed":
        assert np.array_equal(pickle.loads(pickle.dumps(table))[some], dense[some])
    assert np.array_equal(copy.copy(table)[some], dense[some])


def test_row_tables_are_made_in_full_only_within_the_memory_limit() -> None:
    table = SharedRows(np.zeros((1, 1000), np.int64), np.zeros(10**6, np.int64))
    with (
        limit_memory("1GB"),
        pytest.raises(MemoryLimitError, match=r"1,000,000 states and 1,000 .* 8\.0 GB .* 1\.0 GB"),
    ):
        np.asarray(table)
    assert table[:5].shape == (5, 1000)


def dense_unroll(rdp: RDP) -> RDP:
    """Unroll a stationary automaton to tables in full, state by state."""
    horizon, known = rdp.horizon, rdp.when_cut()
    layers = [[0]]
    for _ in range(horizon):
        layers.append(sorted({int(q) for p in layers[-1] for q in rdp.tau[p] if q != UNSEEN}))
    numbers = {(t, q): i for i, (t, q) in enumerate((t, q) for t, layer in enumerate(layers) for q in layer)}
    n, of_letter = len(numbers) + 1, rdp.symbol_of_letter()
    tau, counts = np.full((n, len(rdp.symbols)), UNSEEN, np.int32), np.zeros((n, len(rdp.letters)), np.int64)
    for (t, q), i in numbers.items():
        for x, times in enumerate(rdp.counts[q].tolist()):
            counts[i, known[x] if t == horizon else x] += times
        if t == horizon:
            counts[i] += 0 if rdp.cut is None else rdp.cut[q]
            tau[i, of_letter[counts[i] > 0]] = n - 1
        else:
            tau[i] = [UNSEEN if p == UNSEEN else numbers[t + 1, p] for p in rdp.tau[q].tolist()]
    sizes = np.array([*map(len, layers), 1])
    return RDP(rdp.alphabet, rdp.letters, rdp.symbols, sizes, tau, counts)


def random_log(n: int, seed: int) -> Episodes:
    return wide_log(n, 9, 5, 4, seed)


@pytest.mark.parametrize("learned", [False, True])
def test_unroll_stores_rows_once_and_reads_like_tables_in_full(learned: bool) -> None:
    log = random_log(400, 0)
    rdp = learn_stationary(log).rdp if learned else wide_rdp(log, 5, stationary=True)
    (found, stands), literal = rdp.unroll(), dense_unroll(rdp)
    assert isinstance(found.counts, RowTable) and np.array_equal(found.layers, literal.layers)
    assert np.array_equal(found.tau[:], literal.tau) and np.array_equal(found.counts[:], literal.counts)
    assert np.array_equal(found.counts[found.states_at(2)], rdp.counts[stands[found.states_at(2)]])
    for mine, theirs in zip(found.edges(), literal.edges(), strict=True):
        assert np.array_equal(mine, theirs)


def test_tally_is_the_same_if_stored_sparsely(monkeypatch: pytest.MonkeyPatch) -> None:
    rdp, other = wide_rdp(random_log(60, 0), 5), random_log(300, 1)  # many of their histories are unseen
    for log in (other, other.compact(), other.columns(np.arange(1))):
        monkeypatch.setattr(tally_module, "LARGE", 1 << 40)
        dense = rdp.tally(log)
        monkeypatch.setattr(tally_module, "LARGE", 0)
        sparse = rdp.tally(log)
        assert isinstance(sparse.counts, SparseRows) and dense.lost.any() == (log.n > 1)
        assert np.array_equal(sparse.counts[:], dense.counts) and np.array_equal(sparse.lost, dense.lost)
        halves = [rdp.tally(log.columns(part)) for part in np.array_split(np.arange(log.n), min(log.n, 2))]
        query = tally_module.TallyQuery(rdp.vocabulary, rdp.tau, rdp.limit)
        assert np.array_equal(query.combine(halves).counts[:], dense.counts)


def test_state_tracker_of_an_unrolled_automaton_is_that_of_its_tables_in_full() -> None:
    rdp, other = wide_rdp(random_log(30, 0), 5, stationary=True), random_log(300, 1)
    mine, literal = StateTracker.of(rdp.layered()), StateTracker.of(dense_unroll(rdp))
    assert np.array_equal(mine.along(other), literal.along(other))
    assert np.array_equal(mine.following, literal.following)
    nowhere = (literal.astray, literal.following)
    for place, symbol in ((0, rdp.symbol(0)), (5, rdp.symbol(6)), (len(mine.astray) - 1, rdp.symbol(2))):
        assert mine.after(place, symbol) == nowhere[1][place, rdp.vocabulary.index()[symbol]]
    assert mine.after(3, ("no action", None)) == nowhere[0][3]
