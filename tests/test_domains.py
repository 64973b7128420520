"""The simulators against their definitions: literal walks, hand-traced episodes, frequencies within five sigma."""

from __future__ import annotations

import dataclasses
import itertools
import math

import numpy as np
import pytest

from suffice.domains import DOMAINS, Domain, MiniHall, TMaze, make
from suffice.episodes import DUMMY, PAD, STOP, Codes, Episodes
from suffice.errors import SufficeError

EVERY_DOMAIN: list[Domain] = [
    TMaze(),
    TMaze(length=2),
    TMaze(length=40),
    TMaze(length=3, cue_visible=True, noise=True),
    TMaze(length=2, actions="east"),
    TMaze(length=2, noise=True, actions="forward"),
    MiniHall(),
    MiniHall(observations="classic", wall=True),
    MiniHall(reset="immediate"),
]
T_MAZES = [domain for domain in EVERY_DOMAIN if isinstance(domain, TMaze)]
MINI_HALLS = [domain for domain in EVERY_DOMAIN if isinstance(domain, MiniHall)]


def run(domain: Domain, n: int, horizon: int, seed: int = 7) -> Episodes:
    return domain.simulate(n, horizon, np.random.default_rng(seed))


def codes(episodes: Episodes) -> tuple[Codes, Codes, Codes]:
    """Action, observation and reward codes, each [H+1, N]."""
    action, observation, reward = np.moveaxis(episodes.letters[episodes.word], -1, 0)
    return action, observation, reward


def steps(episodes: Episodes, i: int) -> list[tuple[object, object, float]]:
    """Episode `i` as (action, features joined to text or None, reward)."""
    alphabet = episodes.alphabet
    out: list[tuple[object, object, float]] = []
    for a, o, r in episodes.letters[episodes.word[:, i]]:
        features = alphabet.observation(o)
        text = None if features is None else "".join(str(feature) for feature in features)
        out.append((alphabet.action(a), text, alphabet.rewards[r]))
    return out


def doing(episodes: Episodes, actions: str, first: tuple[int, ...]) -> list[int]:
    """The episodes that begin with these actions after this first observation."""
    action, observation, _ = codes(episodes)
    wanted = [episodes.alphabet.actions.index(name) + 2 for name in actions.split()]
    same = (action[1 : len(wanted) + 1] == np.array(wanted)[:, None]).all(axis=0)
    same &= observation[0] == episodes.alphabet.observations.index(first) + 1
    return [int(i) for i in np.flatnonzero(same)]


def near(share: float, p: float, n: int) -> bool:
    return abs(share - p) <= 5 * math.sqrt(p * (1 - p) / n)


# What every domain promises


@pytest.mark.parametrize("domain", EVERY_DOMAIN, ids=repr)
@pytest.mark.parametrize("horizon", [2, 9])
def test_special_symbols_stand_in_their_places(domain: Domain, horizon: int) -> None:
    episodes = run(domain, 5_000, horizon)
    action, observation, reward = codes(episodes)
    zero = episodes.alphabet.rewards.index(0.0)
    assert (episodes.horizon, episodes.n) == (horizon, 5_000)
    assert (action[0] == DUMMY).all() and (reward[0] == zero).all() and (observation[0] != STOP).all()
    assert (action[1:] != DUMMY).all() and (action[1] != PAD).all()
    pad = action == PAD
    assert (pad[1:] >= pad[:-1]).all(), "padding goes on to the horizon"
    assert (observation[pad] == STOP).all() and (reward[pad] == zero).all()
    last = (~pad).sum(axis=0) - 1  # the episode's own last step
    is_last = np.arange(horizon + 1)[:, None] == last
    assert ((observation == STOP) == (pad | is_last)).all()


@pytest.mark.parametrize("domain", EVERY_DOMAIN, ids=repr)
def test_alphabet_does_not_depend_on_the_sample(domain: Domain) -> None:
    assert run(domain, 1, 2).alphabet == run(domain, 3_000, 9).alphabet == domain.alphabet


@pytest.mark.parametrize("domain", EVERY_DOMAIN, ids=repr)
def test_every_observation_and_reward_of_the_alphabet_occurs(domain: Domain) -> None:
    domain = dataclasses.replace(domain, length=2) if isinstance(domain, TMaze) else domain
    letters = run(domain, 20_000, 12).letters
    assert set(letters[:, 1]) == set(range(domain.alphabet.n_observations))
    assert set(letters[:, 2]) == set(range(len(domain.alphabet.rewards)))


@pytest.mark.parametrize("domain", EVERY_DOMAIN, ids=repr)
def test_same_seed_same_bytes(domain: Domain) -> None:
    assert run(domain, 1_000, 6, seed=1).digest() == run(domain, 1_000, 6, seed=1).digest()
    assert run(domain, 1_000, 6, seed=1).digest() != run(domain, 1_000, 6, seed=2).digest()


@pytest.mark.parametrize("domain", [TMaze(length=1), TMaze(), MiniHall()], ids=repr)
def test_a_horizon_without_actions_is_refused(domain: Domain) -> None:
    with pytest.raises(SufficeError, match="horizon of 0"):
        run(domain, 5, 0)


def test_default_horizons() -> None:
    assert (TMaze.DEFAULT_HORIZON, MiniHall.DEFAULT_HORIZON) == (5, 15)


# T-maze

NORTH_CUE, SOUTH_CUE = (0, 1, 1), (1, 1, 0)
STEP = {"N": 0, "S": 0, "E": 1, "W": -1}


def expected_t_maze(maze: TMaze, length: int, walked: list[tuple[object, object, float]]) -> None:
    """Walk an episode's actions literally, and compare every observation and reward."""
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


def test_t_maze_traced_by_hand() -> None:
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


def test_t_maze_early_end_is_padded() -> None:
    episodes = run(TMaze(length=1), 5_000, 4)
    for actions, reward in [("E N", 4.0), ("E S", -1.0)]:
        for i in doing(episodes, actions, NORTH_CUE):
            ending = (actions[-1], None, reward)
            assert steps(episodes, i)[1:] == [("E", "010", 0.0), ending, *[("pad", None, 0.0)] * 2]
    bumped = doing(episodes, "E E W", SOUTH_CUE)
    assert bumped and steps(episodes, bumped[0])[1:4] == [("E", "010", 0.0), ("E", "010", -1.0), ("W", "101", 0.0)]


def test_t_maze_draws_are_uniform() -> None:
    n = 100_000
    action, observation, _ = codes(run(TMaze(length=2, noise=True), n, 3))
    alphabet = TMaze(noise=True).alphabet
    assert near((observation[0] == alphabet.observations.index(NORTH_CUE) + 1).mean(), 1 / 2, n)
    for a in range(2, 6):
        assert near((action[1] == a).mean(), 1 / 4, n)
    assert near((observation[1] == alphabet.observations.index((1, 1, 1)) + 1).mean(), 1 / 2, n)
    both = (observation[0] == alphabet.observations.index(NORTH_CUE) + 1) & (action[1] == 2)
    assert near(both.mean(), 1 / 8, n), "the policy does not know the cue"


@pytest.mark.parametrize(("actions", "corridor"), [("east", "E"), ("forward", "EW")])
def test_t_maze_actions_before_and_at_the_junction(actions: str, corridor: str) -> None:
    episodes = run(make("t-maze", {"length": "2", "actions": actions}), 2_000, 6)
    before: set[object] = set()
    at: set[object] = set()
    for i in range(episodes.n):
        walked = steps(episodes, i)
        for (_, seen, _), (action, _, _) in itertools.pairwise(walked):
            if action != "pad":
                (at if seen == "010" else before).add(action)
    assert before == set(corridor) and at == {"N", "S"}


def test_t_maze_needs_a_corridor() -> None:
    with pytest.raises(SufficeError, match="length=1 or more"):
        TMaze(length=0)
    with pytest.raises(SufficeError, match="horizon of 2 or more"):
        run(TMaze(), 5, 1)


# Mini-hall

PAPER = [0, 1, 2, 3, 4, 5, 3, 1, 3, 1, 4, 5, 6]
CLASSIC = [0, 1, 2, 3, 4, 5, 6, 7, 6, 7, 4, 5, 8]
ROOM_STATES = range(12)


def outcomes(hall: MiniHall, state: int, action: object) -> list[tuple[int, float]]:
    """The (state, reward) pairs that may follow, straight from the definition."""
    if state == 12:
        return [(s, 0.0) for s in ROOM_STATES]
    doors = {2: 6, 4: 0, 5: 9, 10: 12, 11: 7, 6: 6 if hall.wall else 0}
    turned = {"turn": 1, "turn-back": -1}
    after = doors.get(state, state) if action == "forward" else state - state % 4 + (state + turned[str(action)]) % 4
    if after == 12 and hall.reset == "immediate":
        return [(s, 1.0) for s in ROOM_STATES]
    return [(after, 1.0 if after == 12 else 0.0)]


@pytest.mark.parametrize("hall", MINI_HALLS, ids=repr)
def test_mini_hall_episodes_have_an_explanation(hall: MiniHall) -> None:
    episodes = run(hall, 1_000, 15)
    view = CLASSIC if hall.observations == "classic" else PAPER
    for i in range(episodes.n):
        walked = steps(episodes, i)
        possible = {s for s in ROOM_STATES if str(view[s]) == walked[0][1]}
        for action, seen, reward in walked[1:]:
            after = {pair for s in possible for pair in outcomes(hall, s, action)}
            possible = {s for s, r in after if r == reward and seen in (None, str(view[s]))}
            assert possible, walked


def test_mini_hall_traced_by_hand() -> None:
    episodes = run(MiniHall(), 150_000, 6)
    to_goal = doing(episodes, "forward turn-back forward turn forward", (2,))  # 2 → 6 → 5 → 9 → 10 → goal
    assert to_goal
    for i in to_goal:
        assert [seen for _, seen, _ in steps(episodes, i)[:-1]] == ["2", "3", "5", "1", "4", "6"]
        assert [reward for *_, reward in steps(episodes, i)] == [0, 0, 0, 0, 0, 1, 0]
    around = doing(episodes, "forward turn turn turn turn turn-back", (0,))  # 0 stays, then round room 0
    assert around
    assert [seen for _, seen, _ in steps(episodes, around[0])[:-1]] == ["0", "0", "1", "2", "3", "0"]


@pytest.mark.parametrize(("wall", "view"), [(False, "0"), (True, "6")])
def test_mini_hall_wall(wall: bool, view: str) -> None:
    episodes = run(MiniHall(observations="classic", wall=wall), 10_000, 3)
    found = doing(episodes, "forward forward", (2,))  # 2 → 6 → 0, or 6 behind the wall
    assert found and {steps(episodes, i)[2] for i in found} == {("forward", view, 0.0)}


def test_mini_hall_view_four_is_two_places() -> None:
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


# Options as text


def test_make_converts_text_by_field_type() -> None:
    assert make("t-maze", {}) == TMaze()
    options = {"length": "7", "cue_visible": "true", "noise": "false", "actions": "east"}
    assert make("t-maze", options) == TMaze(length=7, cue_visible=True, noise=False, actions="east")
    assert make("mini-hall", {"observations": "classic", "reset": "immediate", "wall": "true"}) == MiniHall(
        observations="classic", reset="immediate", wall=True
    )
    assert all(make(name, {}) == domain() for name, domain in DOMAINS.items())


T_MAZE_OPTIONS = "known: length, cue_visible, noise, actions"


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("tmaze", {}, "unknown domain: 'tmaze'; did you mean 't-maze'? known: t-maze, mini-hall"),
        ("chess", {}, "unknown domain: 'chess'; known: t-maze, mini-hall"),
        ("t-maze", {"lenght": "5"}, f"unknown option of t-maze: 'lenght'; did you mean 'length'? {T_MAZE_OPTIONS}"),
        ("t-maze", {"horizon": "5"}, f"unknown option of t-maze: 'horizon'; {T_MAZE_OPTIONS}"),
        ("t-maze", {"DEFAULT_HORIZON": "5"}, f"unknown option of t-maze: 'DEFAULT_HORIZON'; {T_MAZE_OPTIONS}"),
        (
            "t-maze",
            {"actions": "est"},
            "unknown value of actions: 'est'; did you mean 'east'? known: all, east, forward",
        ),
        ("t-maze", {"noise": "ture"}, "unknown value of noise: 'ture'; did you mean 'true'? known: true, false"),
        ("t-maze", {"length": "four"}, "length needs a whole number, not 'four'"),
        ("mini-hall", {"reset": "now"}, "unknown value of reset: 'now'; known: next, immediate"),
    ],
)
def test_make_says_what_is_wrong(name: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(SufficeError) as error:
        make(name, options)
    assert str(error.value) == message
