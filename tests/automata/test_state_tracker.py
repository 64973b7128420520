"""`StateTracker` follows histories of the log and unseen ones."""

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
    """Return the places along a history; observations have one feature."""
    memory, place, found = StateTracker.of(rdp), 0, []
    for action, seen in history:
        place = memory.after(place, (action, (seen,)))
        found.append(place)
    return found


def test_state_tracker_follows_states_on_logged_histories() -> None:
    assert places(SMALL, (None, "x"), ("l", "x"), ("r", "y")) == [1, 3, 6]
    assert places(SMALL, (None, "y"), ("r", "x")) == [2, 5]


def test_state_tracker_goes_to_most_similar_state_after_unseen_step() -> None:
    """At step 1 l → y always led to state 5, so it does after x too. At step 2 r → y always led to 6."""
    assert places(SMALL, (None, "x"), ("l", "y")) == [1, 5]
    assert places(SMALL, (None, "x"), ("r", "x"), ("r", "y")) == [1, 4, 6]
    assert places(SMALL, (None, "x"), ("l", "y"), ("l", "y")) == [1, 5, 6]


def test_state_tracker_prefers_most_frequent_then_first_state() -> None:
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


def test_state_tracker_is_lost_until_a_known_step() -> None:
    """There is a lost place for each step: layers 1, 2, … are LOST + 1, LOST + 2, …"""
    assert places(SMALL, (None, "z")) == [LOST + 1]
    assert places(SMALL, (None, "z"), ("l", "y")) == [LOST + 1, 5]
    assert places(SMALL, (None, "z"), ("l", "z"), ("l", "y")) == [LOST + 1, LOST + 2, 6]
    assert places(SMALL, (None, "x"), ("x", "x"), ("l", "x")) == [1, LOST + 2, LOST + 3], "l → x is unknown at step 2"
    assert places(SMALL, ("l", "y")) == [LOST + 1], "no action precedes the first observation"


def test_state_tracker_stays_lost_after_the_last_step() -> None:
    beyond = places(SMALL, (None, "x"), *[("l", "x")] * 9)
    assert beyond == [1, 3, LOST + 3, *[LOST + 4] * 7]
    memory = StateTracker.of(SMALL)
    assert memory.after(8, ("l", None)) == memory.after(LOST + 4, ("l", None)) == LOST + 4
    assert memory.following.shape == (SMALL.n_states + len(SMALL.layers), len(SMALL.symbols))


def test_state_tracker_was_seen_only_for_logged_transitions() -> None:
    memory = StateTracker.of(SMALL)
    assert memory.was_seen(1, ("l", ("x",))) and memory.was_seen(0, (None, ("y",)))
    assert not memory.was_seen(1, ("l", ("y",))), "a known symbol, but not in this state"
    assert not memory.was_seen(1, ("l", ("z",))) and not memory.was_seen(LOST + 1, ("l", ("x",)))


def test_state_tracker_choices_come_from_plan_state_or_step() -> None:
    """The actions are l and r; only state 3 has a planned action."""
    actions = np.full(SMALL.n_states, BEHAVE)
    actions[3] = 1
    right = {0: [0, 0], 1: [30, 30], 2: [5, 35], 3: [0, 1], 4: [30, 0], 5: [0, 40], 6: [45, 15], 7: [0, 0], 8: [0, 0]}
    right |= {LOST: [0, 0], LOST + 1: [35, 65], LOST + 2: [50, 50], LOST + 3: [45, 15], LOST + 4: [0, 0]}
    assert StateTracker.of(SMALL).choices(actions).tolist() == [right[place] for place in range(LOST + 5)]


@settings(deadline=None, max_examples=25)
@given(logs())
def test_rdp_most_like_is_the_state_most_often_reached(episodes: Episodes) -> None:
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
