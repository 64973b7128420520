"""Policies that reach a transition, against all policies of a small automaton."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from suffice.automata.rdp import RDP
from suffice.data.alphabet import PAD
from suffice.domains.simulation import simulate
from suffice.learning.stationary.learner import learn_stationary
from suffice.planning.reaching import Reaching, Transitions


@pytest.fixture(scope="module")
def rdp() -> RDP:
    return learn_stationary(simulate("corridor", 300, rng=1)).rdp


def literal_chance(rdp: RDP, edge: tuple[int, int], decisions: int) -> float:
    """The probability of taking a transition within some decisions, by the recursion over histories."""
    taken, alphabet = rdp.taken(), rdp.alphabet

    def outcomes(q: int, action: int) -> list[tuple[int, float]]:
        symbols = [y for y in np.flatnonzero(taken[q]) if rdp.symbols[y, 0] == action]
        return [(int(y), taken[q, y] / taken[q, symbols].sum()) for y in symbols]

    def best(q: int, left: int) -> float:
        if not left:
            return 0.0
        return max(total(q, action, left) for action in range(PAD + 1, alphabet.n_actions))

    def total(q: int, action: int, left: int) -> float:
        return sum(p * (1.0 if (q, y) == edge else best(int(rdp.tau[q, y]), left - 1)) for y, p in outcomes(q, action))

    return sum(p * (1.0 if edge == (0, y) else best(int(rdp.tau[0, y]), decisions)) for y, p in outcomes(0, 0))


@pytest.mark.parametrize("decisions", [1, 2, 4])
def test_reaching_chance_is_that_of_the_best_policy(rdp: RDP, decisions: int) -> None:
    moves = Transitions.of(rdp)
    places = moves.continuing(rdp)
    found = Reaching.to(moves, places, decisions)
    edges = zip(moves.state[places].tolist(), moves.symbol[places].tolist(), strict=True)
    assert found.chance[:, -1] == pytest.approx([literal_chance(rdp, edge, decisions) for edge in edges])


def test_reaching_in_parts_gives_the_same_policies(rdp: RDP, monkeypatch: pytest.MonkeyPatch) -> None:
    moves = Transitions.of(rdp)
    places = moves.continuing(rdp)
    whole = Reaching.to(moves, places, 4)
    monkeypatch.setattr("suffice.planning.reaching.MOST_CELLS", 1)
    parts = Reaching.to(moves, places, 4)
    assert np.array_equal(whole.actions, parts.actions)
    assert np.array_equal(whole.chance, parts.chance)


def test_transitions_have_chances_that_add_up_to_one_for_each_state_and_action(rdp: RDP) -> None:
    moves = Transitions.of(rdp)
    for q, action in product(range(rdp.n_states), range(-1, moves.n_actions)):
        chance = moves.chance[(moves.state == q) & (moves.action == action)]
        assert not chance.size or chance.sum() == pytest.approx(1)
