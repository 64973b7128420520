"""What `suffice check` foretells: held against what learning finds and what is exactly true."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.alphabet import STOP
from suffice.data.episodes import Episodes
from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.registry import make
from suffice.models.log_check import CHECK_SAMPLE, LogCheck, _untold, check_log
from suffice.planning.regorl import regorl


def simulated(name: str, n: int) -> Episodes:
    domain = make(name, {})
    return domain.simulate(n, domain.default_horizon, np.random.default_rng(0))


def untold_by_definition(rdp: RDP) -> float:
    """Walk every transition: is there another one to the same layer that shows the same and leads elsewhere?"""
    layer, taken = rdp.layer_of(), rdp.taken()
    arrivals = [
        (int(layer[q]), int(rdp.symbols[y, 1]), int(rdp.tau[q, y]), int(taken[q, y]))
        for q in range(rdp.n_states)
        for y in range(len(rdp.symbols))
        if rdp.tau[q, y] != UNSEEN and rdp.symbols[y, 1] != STOP
    ]
    untold = sum(n for t, o, q, n in arrivals if any(t == t2 and o == o2 and q != q2 for t2, o2, q2, _ in arrivals))
    return untold / sum(n for *_, n in arrivals)


@pytest.mark.parametrize("name", ["t-maze", "cheese", "cookie", "symbol"])
def test_what_observations_leave_untold_is_as_defined(name: str) -> None:
    rdp = regorl(simulated(name, 2000)).learned.rdp
    assert _untold(rdp) == pytest.approx(untold_by_definition(rdp)) and _untold(rdp) > 0


def test_a_corridor_whose_guard_is_sure_is_markov_and_a_maze_is_not() -> None:
    """The truth, and what a log shows of it."""
    corridor, maze = (make(name, {}) for name in ("corridor", "t-maze"))
    assert _untold(minimal_rdp(corridor.model(5), 5).rdp()) == 0 < _untold(minimal_rdp(maze.model(5), 5).rdp())
    assert "Nothing to remember" in check_log(simulated("corridor", 500)).sentences[1]
    assert "Memory matters" in check_log(simulated("t-maze", 5000)).sentences[1]


def test_a_corridor_is_soon_known() -> None:
    outlook = check_log(simulated("corridor", 1000))
    assert outlook.enough and outlook.growth == ((125, 11), (250, 11), (500, 11), (1000, 11))
    assert outlook.sentences[0].startswith("It looks like enough")


def test_a_maze_takes_more_than_a_thousand_episodes() -> None:
    outlook = check_log(simulated("t-maze", 1000))
    assert not outlook.enough and outlook.sentences[0].startswith("More episodes would tell more")
    sampled = replace(outlook, episodes=10**6, wanted=None)
    assert sampled.sentences[0].startswith("All your episodes will tell more: states learned are")


def test_large_logs_are_sampled_and_the_time_is_for_all() -> None:
    """Ten times the episodes cost about ten times as much; the clock is coarse, so only the order is held to."""
    small, large = simulated("corridor", CHECK_SAMPLE), simulated("corridor", 10 * CHECK_SAMPLE)
    looked = [check_log(episodes) for episodes in (small, large)]
    assert [outlook.tried for outlook in looked] == [CHECK_SAMPLE, CHECK_SAMPLE]
    assert looked[1].seconds > 2 * looked[0].seconds and looked[1].bytes > 5 * looked[0].bytes


@pytest.mark.parametrize("n", [1, 2, 15])
def test_a_handful_of_episodes_is_no_obstacle(n: int) -> None:
    outlook = check_log(simulated("t-maze", n))
    assert outlook.tried == n and not outlook.enough and all(outlook.sentences)


def test_steadiness_counts_doublings_from_the_end() -> None:
    def steady(*states: int) -> int:
        growth = tuple((2**i, n) for i, n in enumerate(states))
        return LogCheck(1, 1, growth, 0, None, False, 0.0, "none", (1,), 0.0, 0).steady

    assert [steady(5), steady(5, 5), steady(4, 5, 5), steady(5, 5, 5, 5), steady(5, 5, 6), steady(100, 102)] == [
        0,
        1,
        1,
        3,
        0,
        1,
    ]
