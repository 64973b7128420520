"""The state of a history: where the log went, and where it did not."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
from hypothesis import given, settings

from laws.logs import logs
from suffice.automata.rdp import BEHAVE, RDP, UNSEEN
from suffice.automata.state_tracker import StateTracker
from suffice.data.episodes import Episodes
from suffice.learning.adact_h import Settings, adact_h
from support.log_files import decode
from support.small_automata import LOST, SMALL, automaton


def places(rdp: RDP, *history: tuple[Any, Any]) -> list[int]:
    """The places that a history leads through; observations of one feature."""
    memory, place, found = StateTracker.of(rdp), 0, []
    for action, seen in history:
        place = memory.after(place, (action, (seen,)))
        found.append(place)
    return found


# Memory


def test_where_the_log_went_memory_is_the_state() -> None:
    assert places(SMALL, (None, "x"), ("l", "x"), ("r", "y")) == [1, 3, 6]
    assert places(SMALL, (None, "y"), ("r", "x")) == [2, 5]


def test_a_step_that_a_state_has_not_seen_leads_to_where_it_usually_leads() -> None:
    """At step 1 l → y led to state 5, always; so after x too. At step 2 r → y led to 6, whatever came before."""
    assert places(SMALL, (None, "x"), ("l", "y")) == [1, 5]
    assert places(SMALL, (None, "x"), ("r", "x"), ("r", "y")) == [1, 4, 6]
    assert places(SMALL, (None, "x"), ("l", "y"), ("l", "y")) == [1, 5, 6]


def test_usually_means_most_often_and_among_equals_the_oldest() -> None:
    """r → x led 30 times to state 5, and more or less often to state 6."""
    for often, target in ((35, 6), (30, 5), (29, 5)):
        rdp = automaton(
            [1, 3, 3, 1],
            [
                (0, None, "x", 0.0, 30, 1),
                (0, None, "y", 0.0, often, 2),
                (0, None, "z", 0.0, 9, 3),
                (1, "r", "x", 0.0, 30, 5),
                (2, "r", "x", 0.0, often, 6),
                (3, "l", "x", 0.0, 9, 4),
                *((q, "l", None, 0.0, 1, 7) for q in (4, 5, 6)),
            ],
        )
        assert places(rdp, (None, "z"), ("r", "x")) == [3, target]


def test_a_step_that_nobody_ever_saw_there_is_lost_until_one_is_known() -> None:
    """Lost, one has a place for each step: layers 1, 2, … are LOST + 1, LOST + 2, …"""
    assert places(SMALL, (None, "z")) == [LOST + 1]
    assert places(SMALL, (None, "z"), ("l", "y")) == [LOST + 1, 5]
    assert places(SMALL, (None, "z"), ("l", "z"), ("l", "y")) == [LOST + 1, LOST + 2, 6]
    assert places(SMALL, (None, "x"), ("x", "x"), ("l", "x")) == [1, LOST + 2, LOST + 3], "l → x is unknown at step 2"
    assert places(SMALL, ("l", "y")) == [LOST + 1], "nor does an action come first"


def test_after_the_last_step_one_stays_lost() -> None:
    beyond = places(SMALL, (None, "x"), *[("l", "x")] * 9)
    assert beyond == [1, 3, LOST + 3, *[LOST + 4] * 7]
    memory = StateTracker.of(SMALL)
    assert memory.after(8, ("l", None)) == memory.after(LOST + 4, ("l", None)) == LOST + 4
    assert memory.following.shape == (SMALL.n_states + len(SMALL.layers), len(SMALL.symbols))


def test_memory_knows_what_the_log_had() -> None:
    memory = StateTracker.of(SMALL)
    assert memory.was_seen(1, ("l", ("x",))) and memory.was_seen(0, (None, ("y",)))
    assert not memory.was_seen(1, ("l", ("y",))), "known, but not there"
    assert not memory.was_seen(1, ("l", ("z",))) and not memory.was_seen(LOST + 1, ("l", ("x",)))


def test_choices_are_the_plans_the_logs_or_the_steps() -> None:
    """Actions l and r; state 3 has a plan."""
    actions = np.full(SMALL.n_states, BEHAVE)
    actions[3] = 1
    right = {0: [0, 0], 1: [30, 30], 2: [5, 35], 3: [0, 1], 4: [30, 0], 5: [0, 40], 6: [45, 15], 7: [0, 0], 8: [0, 0]}
    right |= {LOST: [0, 0], LOST + 1: [35, 65], LOST + 2: [50, 50], LOST + 3: [45, 15], LOST + 4: [0, 0]}
    assert StateTracker.of(SMALL).choices(actions).tolist() == [right[place] for place in range(LOST + 5)]


@settings(deadline=None, max_examples=25)
@given(logs())
def test_the_state_most_like_is_the_one_most_often_reached(episodes: Episodes) -> None:
    rdp = adact_h(episodes, Settings(delta=0.3)).rdp
    weights = [1] * episodes.n if episodes.weight is None else episodes.weight.tolist()
    arrived: dict[tuple[int, Any], Counter[int]] = {}
    for steps, weight in zip(decode(episodes), weights, strict=True):
        history: tuple[Any, ...] = ()
        for t, (action, observation, _) in enumerate(steps):
            history = (*history, (action, observation))
            arrived.setdefault((t, (action, observation)), Counter())[rdp.run(history)] += weight
    like = rdp.most_like()
    assert like.shape == (rdp.horizon + 1, len(rdp.symbols))
    for t, y in np.ndindex(like.shape):
        states = arrived.get((t, rdp.symbol(y)), Counter())
        right = min((q for q in states if states[q] == max(states.values())), default=UNSEEN)
        assert like[t, y] == right
