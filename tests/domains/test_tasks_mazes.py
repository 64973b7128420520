"""T-maze and Mini-hall: comparison with literal walks and episodes traced by hand."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from suffice.data.episodes import Episodes
from suffice.domains.registry import make
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SufficeError
from support.simulated_steps import MINI_HALLS, ROOM_STATES, T_MAZES, codes, outcomes, run, steps


def doing(episodes: Episodes, actions: str, first: tuple[object, ...]) -> list[int]:
    """Find the episodes that begin with this observation and these actions."""
    action, observation, _ = codes(episodes)
    names = [str(name) for name in episodes.alphabet.actions]
    wanted = [names.index(name) + 2 for name in actions.split()]
    same = (action[1 : len(wanted) + 1] == np.array(wanted)[:, None]).all(axis=0)
    same &= observation[0] == episodes.alphabet.observations.index(first) + 1
    return [int(i) for i in np.flatnonzero(same)]


def near(share: float, p: float, n: int) -> bool:
    return abs(share - p) <= 5 * math.sqrt(p * (1 - p) / n)


# T-maze

NORTH_CUE, SOUTH_CUE = (0, 1, 1), (1, 1, 0)
STEP = {"N": 0, "S": 0, "E": 1, "W": -1}


def expected_t_maze(maze: TMaze, length: int, walked: list[tuple[object, object, float]]) -> None:
    """Walk the actions of an episode literally, and compare every observation and reward."""
    cue, cell, horizon = walked[0][1], 0, len(walked) - 1
    assert walked[0] in {(None, "011", 0.0), (None, "110", 0.0)}
    for t, (action, seen, reward) in enumerate(walked[1:], 1):
        if cell == length and action in ("N", "S"):
            assert (seen, reward) == (None, 4.0 if (action == "N") == (cue == "011") else -1.0)
            assert walked[t + 1 :] == [("pad", None, 0.0)] * (horizon - t)
            return
        before, cell = cell, min(max(cell + STEP[str(action)], 0), length)
        assert reward == (-1.0 if cell == before else 0.0)
        allowed = {"010"} if cell == length else {"101", "111"} if maze.noise else {"101"}
        if cell == 0 and maze.cue_visible:
            allowed = {str(cue)}
        assert seen in allowed if t < horizon else seen is None


@pytest.mark.parametrize("maze", T_MAZES, ids=repr)
@pytest.mark.parametrize("horizon", [2, 5, 10])
def test_t_maze_episodes_agree_with_a_literal_walk(maze: TMaze, horizon: int) -> None:
    episodes = run(maze, 400, horizon)
    for i in range(episodes.n):
        expected_t_maze(maze, horizon - 1 if maze.length is None else maze.length, steps(episodes, i))


def test_t_maze_agrees_with_episodes_traced_by_hand() -> None:
    episodes = run(TMaze(), 60_000, 5)
    corridor, junction = ("E", "101", 0.0), ("E", "010", 0.0)
    for cue, last in itertools.product([NORTH_CUE, SOUTH_CUE], "NS"):
        reward = 4.0 if (cue, last) in [(NORTH_CUE, "N"), (SOUTH_CUE, "S")] else -1.0
        found = doing(episodes, f"E E E E {last}", cue)
        assert found
        for i in found:
            assert steps(episodes, i)[1:] == [corridor, corridor, corridor, junction, (last, None, reward)]
    for i in doing(episodes, "W N E W S", NORTH_CUE):
        walked = [("W", "101", -1.0), ("N", "101", -1.0), ("E", "101", 0.0), ("W", "101", 0.0), ("S", None, -1.0)]
        assert steps(episodes, i)[1:] == walked


def test_t_maze_pads_episodes_that_end_early() -> None:
    episodes = run(TMaze(length=1), 5_000, 4)
    for actions, reward in [("E N", 4.0), ("E S", -1.0)]:
        for i in doing(episodes, actions, NORTH_CUE):
            ending = (actions[-1], None, reward)
            assert steps(episodes, i)[1:] == [("E", "010", 0.0), ending, *[("pad", None, 0.0)] * 2]
    bumped = doing(episodes, "E E W", SOUTH_CUE)
    assert bumped and steps(episodes, bumped[0])[1:4] == [("E", "010", 0.0), ("E", "010", -1.0), ("W", "101", 0.0)]


def test_t_maze_behaviour_policy_draws_uniformly() -> None:
    n = 100_000
    action, observation, _ = codes(run(TMaze(length=2, noise=True), n, 3))
    alphabet = TMaze(noise=True).model().alphabet
    assert near((observation[0] == alphabet.observations.index(NORTH_CUE) + 1).mean(), 1 / 2, n)
    for a in range(2, 6):
        assert near((action[1] == a).mean(), 1 / 4, n)
    assert near((observation[1] == alphabet.observations.index((1, 1, 1)) + 1).mean(), 1 / 2, n)
    both = (observation[0] == alphabet.observations.index(NORTH_CUE) + 1) & (action[1] == 2)
    assert near(both.mean(), 1 / 8, n), "the policy does not know the cue"


@pytest.mark.parametrize(("actions", "corridor"), [("east", "E"), ("forward", "EW")])
def test_t_maze_actions_option_limits_the_behaviour_policy(actions: str, corridor: str) -> None:
    episodes = run(make("t-maze", {"length": "2", "actions": actions}), 2_000, 6)
    before: set[object] = set()
    at: set[object] = set()
    for i in range(episodes.n):
        walked = steps(episodes, i)
        for (_, seen, _), (action, _, _) in itertools.pairwise(walked):
            if action != "pad":
                (at if seen == "010" else before).add(action)
    assert before == set(corridor) and at == {"N", "S"}


def test_t_maze_refuses_options_without_a_corridor() -> None:
    with pytest.raises(SufficeError, match="length=1 or more"):
        TMaze(length=0)
    with pytest.raises(SufficeError, match=r"horizon=1 leaves no corridor\. Use 2 or more"):
        run(TMaze(), 5, 1)


# Mini-hall

PAPER = [0, 1, 2, 3, 4, 5, 3, 1, 3, 1, 4, 5, 6]
CLASSIC = [0, 1, 2, 3, 4, 5, 6, 7, 6, 7, 4, 5, 8]


@pytest.mark.parametrize("hall", MINI_HALLS, ids=repr)
def test_mini_hall_episodes_are_explained_by_hidden_states(hall: MiniHall) -> None:
    episodes = run(hall, 1_000, 15)
    view = CLASSIC if hall.observations == "classic" else PAPER
    for i in range(episodes.n):
        walked = steps(episodes, i)
        possible = {s for s in ROOM_STATES if str(view[s]) == walked[0][1]}
        for action, seen, reward in walked[1:]:
            after = {pair for s in possible for pair in outcomes(hall, s, action)}
            possible = {s for s, r in after if r == reward and seen in (None, str(view[s]))}
            assert possible, walked


def test_mini_hall_agrees_with_episodes_traced_by_hand() -> None:
    episodes = run(MiniHall(), 150_000, 6)
    to_goal = doing(episodes, "forward turn-back forward turn forward", (2,))  # 2 → 6 → 5 → 9 → 10 → goal
    assert to_goal
    for i in to_goal:
        assert [seen for _, seen, _ in steps(episodes, i)[:-1]] == ["2", "3", "5", "1", "4", "6"]
        assert [reward for *_, reward in steps(episodes, i)] == [0, 0, 0, 0, 0, 1, 0]
    around = doing(episodes, "forward turn turn turn turn turn-back", (0,))  # stays in 0, then turns around in room 0
    assert around
    assert [seen for _, seen, _ in steps(episodes, around[0])[:-1]] == ["0", "0", "1", "2", "3", "0"]


@pytest.mark.parametrize(("wall", "view"), [(False, "0"), (True, "6")])
def test_mini_hall_wall_option_blocks_the_door(wall: bool, view: str) -> None:
    episodes = run(MiniHall(observations="classic", wall=wall), 10_000, 3)
    found = doing(episodes, "forward forward", (2,))  # 2 → 6 → 0, or 6 behind the wall
    assert found and {steps(episodes, i)[2] for i in found} == {("forward", view, 0.0)}


def test_mini_hall_view_four_is_shown_in_two_states() -> None:
    episodes = run(MiniHall(), 100_000, 2)
    found = doing(episodes, "forward", (4,))  # state 4 leads to 0, state 10 to the goal
    after = [steps(episodes, i)[1][1:] for i in found]
    assert set(after) == {("0", 0.0), ("6", 1.0)}
    assert near(after.count(("6", 1.0)) / len(after), 1 / 2, len(after))


def test_mini_hall_start_and_reset_are_uniform() -> None:
    n = 200_000
    _, observation, reward = codes(run(MiniHall(), n, 3))
    goal = observation[1] == 7
    assert near(goal.mean(), 1 / 36, n) and (reward[1] == goal).all() and (reward[2][goal] == 0).all()
    for view in range(6):
        p = PAPER[:12].count(view) / 12
        assert near((observation[0] == view + 1).mean(), p, n)
        assert near((observation[2][goal] == view + 1).mean(), p, int(goal.sum()))


def test_mini_hall_immediate_reset_is_uniform() -> None:
    _, observation, reward = codes(run(MiniHall(reset="immediate"), 200_000, 3))
    won = reward[1] == 1
    for view in range(6):
        assert near((observation[1][won] == view + 1).mean(), PAPER[:12].count(view) / 12, int(won.sum()))
