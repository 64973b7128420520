"""Peers of the experiments: they find known automata, and their outputs are read correctly."""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("aalpy", reason="the baselines are not installed")

from suffice.automata.rdp import UNSEEN
from suffice.data.alphabet import DUMMY, PAD, STOP, Alphabet
from suffice.data.episodes import Episodes
from suffice.domains.domain import Domain
from suffice.domains.exact.stationary import Stationary, stationary_rdp
from suffice.domains.tasks.cheese import Cheese
from suffice.domains.tasks.rotating_maze import RotatingMaze
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SufficeError
from suffice.kernels.array_types import Int64
from suffice.lab.peers.alergia import aalpy
from suffice.lab.peers.flexfringe import (
    HEURISTICS,
    find_flexfringe,
    flexfringe,
    learned_json,
    read_flexfringe,
    write_abbadingo,
)
from suffice.lab.peers.machines import Machine, as_rdp, as_tau, traces, with_end
from suffice.lab.resources import ResourceUse
from suffice.lab.scoring import match_states, value_of
from support.paths import ROOT

MAZE, HORIZON = TMaze(length=2, cue_visible=True), 8
GOLDEN = ROOT / "tests" / "golden"
RECORDED = GOLDEN / "flexfringe_t_maze.json"  # learned from episodes()


@cache
def episodes() -> Episodes:
    return MAZE.simulate(1000, HORIZON, np.random.default_rng(0))


@cache
def truth() -> Stationary:
    return stationary_rdp(MAZE.model(HORIZON))


def machine(delta: Int64) -> Machine:
    return Machine(delta, ResourceUse(1.0, 1), closed=False)


@cache
def recorded() -> Int64:
    return as_tau(machine(read_flexfringe(RECORDED.read_text(), len(episodes().letters))), episodes())


def matches(tau: Int64, log: Episodes, true: Stationary) -> bool:
    return match_states(as_rdp(tau, log), true.rdp(log.horizon), with_end(tau, log) != UNSEEN).exact


def exact(tau: Int64) -> bool:
    return matches(tau, episodes(), truth())


def check(found: Machine) -> None:
    """Check the automaton only; resources of such a small run are below the resolution of the measurement."""
    assert exact(as_tau(found, episodes()))


def test_aalpy_finds_the_automaton_of_a_maze() -> None:
    check(aalpy(episodes(), 1.0))


def test_read_flexfringe_reads_the_automaton_of_a_maze() -> None:
    assert exact(recorded())


@pytest.mark.skipif(find_flexfringe() is None, reason="no FlexFringe: set FLEXFRINGE to its binary")
def test_flexfringe_finds_the_automaton_of_a_maze() -> None:
    found = flexfringe(episodes(), find_flexfringe() or "", HEURISTICS["likelihood-ratio-few"])
    check(found)
    np.testing.assert_array_equal(as_tau(found, episodes()), recorded())


# Stored outputs of three heuristics on episodes() with a termination symbol, as in the paper, and their states.
CLOSED = (("likelihood-ratio", 7), ("alergia", 7), ("css", 7))


def read_closed(text: str) -> Machine:
    return Machine(read_flexfringe(text, len(episodes().letters)), ResourceUse(1.0, 1), closed=True)


@pytest.mark.parametrize(("heuristic", "states"), CLOSED)
def test_read_flexfringe_output_of_each_heuristic_can_be_planned_on(heuristic: str, states: int) -> None:
    """The automata have cycles and the termination symbol; they are not exact, but suffice for the optimal plan."""
    text = (GOLDEN / f"flexfringe_{heuristic}.json").read_text()
    edges = json.loads(text)["edges"]
    assert str(len(episodes().letters)) in {edge["name"] for edge in edges}  # the termination symbol
    tau = as_tau(read_closed(text), episodes())
    assert len(tau) == states and any(q in row for q, row in enumerate(tau.tolist()))
    value = value_of(as_rdp(tau, episodes()), MAZE.model(HORIZON))
    assert value.mean_return == pytest.approx(4)


@pytest.mark.skipif(find_flexfringe() is None, reason="no FlexFringe: set FLEXFRINGE to its binary")
@pytest.mark.parametrize(("heuristic", "states"), CLOSED)
def test_flexfringe_output_equals_the_stored_one(heuristic: str, states: int) -> None:
    del states
    text, took = learned_json(episodes(), find_flexfringe() or "", HEURISTICS[heuristic], closed=True)
    assert text == (GOLDEN / f"flexfringe_{heuristic}.json").read_text()
    assert 0 < took.seconds < 60 and took.bytes >= 0


def test_write_abbadingo_writes_digits_and_termination_symbols(tmp_path: Path) -> None:
    log = episodes()
    write_abbadingo(log, tmp_path / "log.dat", closed=True)
    (n, size), *rows = (
        [int(word) for word in line.split()] for line in (tmp_path / "log.dat").read_text().splitlines()
    )
    assert (n, size) == (log.total, len(log.letters) + 1)
    assert all(row[0] == 1 and row[1] == len(row) - 2 and row[-1] == len(log.letters) for row in rows)
    assert [row[2:] for row in rows] == traces(log, closed=True)


def test_flexfringe_settings_have_not_changed() -> None:
    """Results are stored by name, so a changed setting needs a new name."""
    text = json.dumps(HEURISTICS, sort_keys=True).encode()
    assert hashlib.blake2b(text, digest_size=8).hexdigest() == "044048c099b41e9c"


def test_find_flexfringe_explains_how_to_install_a_missing_binary() -> None:
    with pytest.raises(
        SufficeError, match=r"flexfringe='/no/such' is not an executable program\. .* build it from source"
    ):
        find_flexfringe("/no/such")


def test_as_tau_orders_states_breadth_first_and_keeps_loops() -> None:
    tau = recorded()
    first = [int(target) for target in dict.fromkeys(tau[tau != UNSEEN].tolist())]
    assert first == list(range(1, len(tau)))
    assert any(q in row for q, row in enumerate(tau.tolist()))
    symbols = episodes().symbols()[0]
    assert ((tau[0] != UNSEEN) == (symbols[:, 0] == DUMMY)).all()
    assert (tau[:, symbols[:, 1] == STOP] == UNSEEN).all()


@pytest.mark.parametrize(("domain", "horizon"), [(MAZE, HORIZON), (Cheese(), 15), (RotatingMaze(), 15)], ids=str)
def test_as_tau_of_the_true_automaton_is_exact(domain: Domain, horizon: int) -> None:
    log, true = domain.simulate(1000, horizon, np.random.default_rng(0)), stationary_rdp(domain.model(horizon))
    letter = {tuple(row): x for x, row in enumerate(log.letters.tolist())}
    delta = np.full((true.arrows.source.max() + 1, len(letter)), UNSEEN)
    for q, *step, target in true.arrows.rows():
        if tuple(step) in letter:
            delta[q, letter[tuple(step)]] = target
    assert matches(as_tau(machine(delta), log), log, true)


def test_match_states_detects_wrong_transitions() -> None:
    tau = recorded()
    for q, symbol in np.argwhere(tau != UNSEEN).tolist():
        wrong = tau.copy()
        wrong[q, symbol] = (tau[q, symbol] + 1) % len(tau)
        assert not exact(wrong)


def test_match_states_detects_superfluous_and_missing_states() -> None:
    tau = recorded()
    (cell,) = np.argwhere(tau == len(tau) - 1)[-1:].tolist()
    doubled = np.vstack([tau, tau[-1]])
    doubled[tuple(cell)] = len(tau)
    assert not exact(doubled)
    one = np.where(tau[:1] == UNSEEN, UNSEEN, 0)
    assert not exact(one)


def test_match_states_ignores_unseen_transitions() -> None:
    tau = recorded().copy()
    q = len(tau) - 1
    loop = np.flatnonzero(tau[q] == q)[0]
    tau[q, loop] = UNSEEN
    assert exact(tau)


@pytest.mark.parametrize(("weight", "loops"), [((1, 1, 1), True), ((3, 1, 1), False)])
def test_as_tau_follows_the_most_frequent_reward(weight: tuple[int, ...], loops: bool) -> None:
    """Reward 0 leads from state 1 to 2 and back; reward 1 leads to 3, which loops; two of three episodes have 1."""
    alphabet = Alphabet(("go",), ("sight",), (("wall",),), (0.0, 1.0))
    action = np.array([[DUMMY] * 3] + [[2] * 3] * 4)
    observation = np.array([[1] * 3] * 4 + [[STOP] * 3])
    reward = np.array([[0] * 3, [0, 1, 1], *[[0] * 3] * 3])
    log = Episodes.from_steps(alphabet, action, observation, reward, np.array(weight))
    letter = {tuple(row): x for x, row in enumerate(log.letters.tolist())}
    delta = np.full((4, len(letter)), UNSEEN)
    delta[0, letter[DUMMY, 1, 0]] = 1
    delta[1:, letter[2, 1, 0]] = 2, 1, 3
    delta[1, letter[2, 1, 1]] = 3
    go = log.symbols()[0].tolist().index([2, 1])
    assert as_tau(machine(delta), log)[:, go].tolist() == [UNSEEN, 2, 2 if loops else 1]


def test_traces_open_stop_at_ends_and_before_the_horizon() -> None:
    log = episodes()
    for trace, column in zip(traces(log, closed=False), log.word.T.tolist(), strict=True):
        assert trace == column[: len(trace)] and len(trace) <= HORIZON
        action, observation = log.letters[trace, :2].T
        assert (action != PAD).all() and (observation[:-1] != STOP).all()
        assert len(trace) == HORIZON or observation[-1] == STOP
