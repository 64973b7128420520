"""Layered and stationary automata have the same interface."""

from __future__ import annotations

import numpy as np
import pytest

import suffice
from suffice.automata.rdp import RDP
from suffice.errors import ModelError
from suffice.planning.plan import fold_plan
from suffice.planning.planner import plan_on


@pytest.fixture(scope="module")
def both() -> dict[str, RDP]:
    episodes = suffice.make("corridor").simulate(300, 5, np.random.default_rng(1))
    return {"layered": suffice.adact_h(episodes).rdp, "stationary": suffice.learn_stationary(episodes).rdp}


def test_labels_and_addresses_name_each_state_once(both: dict[str, RDP]) -> None:
    layered, cyclic = both["layered"], both["stationary"]
    assert layered.labels()[:4] == ["0.0", "1.0", "2.0", "2.1"]
    assert layered.addresses()[3] == {"t": 2, "state": 1}
    assert cyclic.labels() == [str(q) for q in range(cyclic.n_states)]
    assert cyclic.addresses()[3] == {"state": 3}
    for rdp in both.values():
        assert len(set(rdp.labels())) == rdp.n_states


def test_layer_at_and_states_at_cover_the_states_of_a_step(both: dict[str, RDP]) -> None:
    layered, cyclic = both["layered"], both["stationary"]
    for t in range(layered.horizon + 2):
        states = layered.states_at(t)
        assert layered.layer_at(t) == t and set(layered.layer_of()[states].tolist()) == {t}
    assert [cyclic.layer_at(t) for t in (0, 3, 100)] == [0, 0, 0]
    assert cyclic.states_at(100) == slice(0, cyclic.n_states)


def test_limit_and_final_are_set_for_layered_automata_only(both: dict[str, RDP]) -> None:
    layered, cyclic = both["layered"], both["stationary"]
    assert (layered.limit, layered.final) == (5, layered.n_states - 1)
    assert (cyclic.limit, cyclic.final) == (None, None)


def test_shares_count_episodes_in_layers_and_steps_if_stationary(both: dict[str, RDP]) -> None:
    layered, cyclic = both["layered"], both["stationary"]
    for t in range(layered.horizon + 1):
        assert layered.shares()[layered.states_at(t)].sum() == pytest.approx(1)
    assert cyclic.shares().sum() == pytest.approx(1)


def test_shares_of_a_cycle_count_the_state_of_every_step_with_the_last_decision() -> None:
    episodes = suffice.make("t-maze", length=4).simulate(2000, 5, np.random.default_rng(1))
    rdp = suffice.learn_stationary(episodes).rdp
    states = rdp.run_all(episodes)[: episodes.horizon + 1]
    visits = np.bincount(states[states >= 0].ravel(), minlength=rdp.n_states)
    assert rdp.shares() == pytest.approx(visits / visits.sum())
    assert rdp.shares().min() > 0  # also of the last state, in which episodes make only their last decision


def test_unroll_of_layers_is_the_automaton_itself(both: dict[str, RDP]) -> None:
    layered, cyclic = both["layered"], both["stationary"]
    found, stands = layered.unroll()
    assert found is layered is layered.layered() and stands.tolist() == list(range(layered.n_states))
    found, stands = cyclic.unroll()
    assert not found.stationary and found.horizon == cyclic.horizon and len(stands) == found.n_states
    assert np.array_equal(found.counts[found.states_at(2)], cyclic.counts[stands[found.states_at(2)]])
    with pytest.raises(ModelError, match="more than 3 states"):
        cyclic.unroll(most=3)


def test_fold_plan_of_layers_is_the_same_plan(both: dict[str, RDP]) -> None:
    layered, cyclic = both["layered"], both["stationary"]
    plan = plan_on(layered)
    folded = fold_plan(layered, plan)
    for name in ("actions", "values", "lower"):
        assert np.array_equal(getattr(folded, name), getattr(plan, name))
    assert len(fold_plan(cyclic, plan_on(cyclic.layered())).actions) == cyclic.n_states
