"""The domains against their definitions.

Literal walks, hand-traced episodes and second definitions, the same in law to the last fraction; and what is sampled
against what the model says, by chi-square and within five sigma.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable
from fractions import Fraction
from functools import cache
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.stats import chi2

from oracle.domains import LAWS, F, Law, Next
from suffice.data.alphabet import DUMMY, PAD, STOP
from suffice.data.episodes import Episodes
from suffice.data.logs.reading import read_log
from suffice.data.logs.writing import write_log
from suffice.domains.domain import Domain
from suffice.domains.finite import ENDED, FiniteModel, Outcomes
from suffice.domains.gym.environment import DomainEnv
from suffice.domains.registry import DOMAINS, make
from suffice.domains.tasks.cheat_mab import CheatMAB
from suffice.domains.tasks.cheese import Cheese
from suffice.domains.tasks.cookie import Cookie
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.enemy_corridor import EnemyCorridor
from suffice.domains.tasks.flickering_grid import FlickeringGrid
from suffice.domains.tasks.malfunction_mab import MalfunctionMAB
from suffice.domains.tasks.memory_length import MemoryLength
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.domains.tasks.passive_t_maze import PassiveTMaze
from suffice.domains.tasks.repeat_first import RepeatFirst
from suffice.domains.tasks.rotating_mab import ResetRotatingMAB, RotatingMAB
from suffice.domains.tasks.rotating_maze import RotatingMaze
from suffice.domains.tasks.symbol import Symbol
from suffice.domains.tasks.t_maze import TMaze
from suffice.domains.tasks.two_keys import TwoKeys
from suffice.errors import SufficeError
from suffice.kernels.array_types import Codes
from support.domains import EVERY_DOMAIN

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


def doing(episodes: Episodes, actions: str, first: tuple[object, ...]) -> list[int]:
    """The episodes that begin with these actions after this first observation."""
    action, observation, _ = codes(episodes)
    names = [str(name) for name in episodes.alphabet.actions]
    wanted = [names.index(name) + 2 for name in actions.split()]
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
    assert run(domain, 1, 9).alphabet == run(domain, 3_000, 9).alphabet == domain.model(9).alphabet


@pytest.mark.parametrize("domain", EVERY_DOMAIN, ids=repr)
def test_every_observation_and_reward_of_the_alphabet_occurs(domain: Domain) -> None:
    domain = dataclasses.replace(domain, length=2) if isinstance(domain, TMaze) else domain
    episodes = run(domain, 2_000, 150)
    assert set(episodes.letters[:, 1]) == set(range(episodes.alphabet.n_observations))
    assert set(episodes.letters[:, 2]) == set(range(len(episodes.alphabet.rewards)))


@pytest.mark.parametrize("domain", EVERY_DOMAIN, ids=repr)
def test_same_seed_same_bytes(domain: Domain) -> None:
    assert run(domain, 1_000, 6, seed=1).digest() == run(domain, 1_000, 6, seed=1).digest()
    assert run(domain, 1_000, 6, seed=1).digest() != run(domain, 1_000, 6, seed=2).digest()


@pytest.mark.parametrize("domain", EVERY_DOMAIN, ids=repr)
def test_probabilities_are_exact_and_states_can_be_drawn(domain: Domain) -> None:
    model = domain.model()
    for table, rows in ((model.first, 1), (model.after, len(model.states) * len(model.alphabet.actions))):
        sums = [sum(table.probability[a:b]) for a, b in itertools.pairwise(table.begin)]
        assert sums == [1] * rows and all(isinstance(p, Fraction) and p > 0 for p in table.probability)
    pictures = [domain.for_horizon(domain.default_horizon).render(state) for state in model.states]
    assert all(isinstance(picture, str) and picture for picture in pictures)
    if ENDED in model.after.state:
        assert domain.for_horizon(domain.default_horizon).render(None) == "the end"


@pytest.mark.parametrize("name", DOMAINS)
def test_a_log_of_every_domain_can_be_read_again(name: str, tmp_path: Path) -> None:
    domain = DOMAINS[name]()
    horizon = domain.default_horizon
    episodes = run(domain, 200, horizon)
    for kind in ("csv", "parquet"):
        write_log(episodes, tmp_path / f"log.{kind}")
        read, _ = read_log(tmp_path / f"log.{kind}", horizon=horizon)
        assert [steps(read, i) for i in range(200)] == [steps(episodes, i) for i in range(200)]


@pytest.mark.parametrize("domain", [TMaze(length=1), TMaze(), MiniHall()], ids=repr)
def test_a_horizon_without_actions_is_refused(domain: Domain) -> None:
    with pytest.raises(SufficeError, match="horizon of 0"):
        run(domain, 5, 0)


def test_default_horizons() -> None:
    horizons = [5, 5, 9, 6, 15, 10, 10, 10, 10, 15, 10, 10, 6, 12, 8, 6, 7]
    assert [domain().default_horizon for domain in DOMAINS.values()] == horizons
    assert (MemoryLength(length=8).default_horizon, PassiveTMaze(length=3).default_horizon) == (8, 4)


# What is sampled has the model's distribution

Letter = tuple[int, int, int]  # codes of action, observation, reward
Fold = Callable[[Any, Letter], Hashable]  # what is kept of an episode after one more step


def distribution(model: FiniteModel, horizon: int, fold: Fold, steps: int) -> dict[Hashable, float]:
    """The exact distribution, under the usual policy, of what `fold` keeps after so many steps."""
    policy, nothing = model.usual, model.alphabet.rewards.index(0.0)
    now: dict[Any, float] = defaultdict(float)
    for share, s, o in zip(model.first.probability, model.first.state, model.first.observation, strict=True):
        now[int(s), int(policy.first[o]), fold((), (DUMMY, int(o), nothing))] += float(share)
    for t in range(1, steps + 1):
        after: dict[Any, float] = defaultdict(float)
        for (s, memory, kept), p in now.items():
            if s == ENDED:
                after[s, memory, fold(kept, (PAD, STOP, nothing))] += p
                continue
            for a, chance in enumerate(policy.chances[memory]):
                row = s * len(model.alphabet.actions) + a
                for k in range(model.after.begin[row], model.after.begin[row + 1]) if chance else ():
                    seen = int(model.after.observation[k])
                    letter = a + 2, STOP if t == horizon else seen, int(model.after.reward[k])
                    key = int(model.after.state[k]), int(policy.after[memory, a, seen]), fold(kept, letter)
                    after[key] += p * float(chance) * float(model.after.probability[k])
        now = after
    total: dict[Hashable, float] = defaultdict(float)
    for (_, _, kept), p in now.items():
        total[kept] += p
    return total


def assert_fits(counts: Counter[Hashable], expected: dict[Hashable, float]) -> None:
    """Pearson's chi-square at level 1e-4; cells with fewer than five expected are taken together."""
    n = counts.total()
    assert set(counts) <= set(expected), "something impossible happened"
    assert math.isclose(sum(expected.values()), 1)
    cells = [(counts[cell], n * p) for cell, p in expected.items() if n * p >= 5]
    rest = n - sum(seen for seen, _ in cells), n - sum(mean for _, mean in cells)
    cells += [rest] if rest[1] >= 5 else []
    if len(cells) > 1:
        assert chi2.sf(sum((seen - mean) ** 2 / mean for seen, mean in cells), len(cells) - 1) > 1e-4


def by_simulation(domain: Domain, horizon: int) -> list[list[Letter]]:
    """Episodes as letters."""
    action, observation, reward = (code.T.tolist() for code in codes(run(domain, 4_000, horizon)))
    return [list(zip(*episode, strict=True)) for episode in zip(action, observation, reward, strict=True)]


def by_playing(domain: Domain, horizon: int) -> list[list[Letter]]:
    """Episodes of the environment under the usual policy, as letters."""
    env, rng = DomainEnv(domain, horizon), np.random.default_rng(3)
    alphabet, policy = env.alphabet, env.model.usual
    nothing, table = alphabet.rewards.index(0.0), policy.table.cumsum(axis=1)
    env.reset(seed=5)
    episodes = []
    for _ in range(400):
        _, info = env.reset()
        code = alphabet.observations.index(tuple(info["observation"].values())) + 1
        episode, memory, over = [(DUMMY, code, nothing)], policy.first[code], False
        while not over:
            action = min(int(np.searchsorted(table[memory], rng.random(), side="right")), len(alphabet.actions) - 1)
            _, reward, terminated, truncated, info = env.step(np.int64(action))
            code = alphabet.observations.index(tuple(info["observation"].values())) + 1
            memory, over = policy.after[memory, action, code], terminated or truncated
            episode.append((action + 2, STOP if over else code, alphabet.rewards.index(reward)))
        episodes.append(episode + [(PAD, STOP, nothing)] * (horizon + 1 - len(episode)))
    return episodes


@cache
def laws(domain: Domain) -> list[tuple[Callable[[list[Letter]], Hashable], dict[Hashable, float]]]:
    """What may be asked of an episode, and how probable each answer is."""
    horizon = domain.default_horizon
    model = domain.model(horizon)
    unit = math.lcm(*(reward.denominator for reward in model.rewards))
    paid = [int(reward * unit) for reward in model.rewards]  # whole numbers are added up faster

    def history(kept: tuple[Letter, ...], letter: Letter) -> tuple[Letter, ...]:
        return (*kept, letter)

    def latest(kept: object, letter: Letter) -> Letter:
        return letter

    def total(kept: Any, letter: Letter) -> int:
        return (kept or 0) + paid[letter[2]]

    return [
        (lambda e: tuple(e[:3]), distribution(model, horizon, history, 2)),
        *((itemgetter(t), distribution(model, horizon, latest, t)) for t in (1, horizon // 2, horizon)),
        (lambda e: sum(paid[r] for _, _, r in e), distribution(model, horizon, total, horizon)),
    ]


@pytest.mark.parametrize("sample", [by_simulation, by_playing])
@pytest.mark.parametrize("domain", EVERY_DOMAIN, ids=repr)
def test_frequencies_agree_with_the_model(domain: Domain, sample: Callable[[Domain, int], list[list[Letter]]]) -> None:
    episodes = sample(domain, domain.default_horizon)
    for asked, law in laws(domain):
        assert_fits(Counter(map(asked, episodes)), law)


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
    alphabet = TMaze(noise=True).model().alphabet
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


# The other domains, defined a second time

Belief = frozenset[tuple[Any, Fraction]]
Events = dict[Any, tuple[Fraction, Belief]]  # what is seen and paid: how probably, and what is then believed


def split(belief: Iterable[tuple[Fraction, Next]]) -> Events:
    """What may happen, from weighted outcomes."""
    mass: dict[Any, dict[Any, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for weight, (p, state, seen, reward) in belief:
        mass[seen, Fraction(reward)][state] += weight * p
    totals = {event: sum(states.values(), Fraction()) for event, states in mass.items()}
    return {
        event: (totals[event], frozenset((state, p / totals[event]) for state, p in states.items()))
        for event, states in mass.items()
    }


def tabled(model: FiniteModel, table: Outcomes, row: int) -> list[Next]:
    """A row of a model's tables in words."""
    return [
        (
            table.probability[k],
            None if table.state[k] == ENDED else int(table.state[k]),
            model.alphabet.observation(int(table.observation[k])),
            model.rewards[table.reward[k]],
        )
        for k in range(table.begin[row], table.begin[row + 1])
    ]


def assert_same_law(model: FiniteModel, start: list[Next], law: Law, depth: int) -> None:
    """After every history of at most so many actions, the model and the law expect the same, to the last fraction."""
    actions = model.alphabet.actions

    def children(ours: Events, theirs: Events) -> list[tuple[Belief, Belief]]:
        assert {event: p for event, (p, _) in ours.items()} == {event: p for event, (p, _) in theirs.items()}
        return [(ours[event][1], theirs[event][1]) for event in ours if event[0] is not None]

    def split_first(outcomes: list[Next]) -> Events:
        return split((Fraction(1), outcome) for outcome in outcomes)

    layer = dict.fromkeys(children(split_first(tabled(model, model.first, 0)), split_first(start)))
    for _ in range(depth):
        following: dict[tuple[Belief, Belief], None] = {}
        for ours, theirs in layer:
            for i, action in enumerate(actions):
                rows = ((p, tabled(model, model.after, s * len(actions) + i)) for s, p in ours)
                mine = split((p, outcome) for p, row in rows for outcome in row)
                other = split((p, outcome) for s, p in theirs for outcome in law(s, action))
                following |= dict.fromkeys(children(mine, other))
        layer = following


@pytest.mark.parametrize("domain", [d for d in EVERY_DOMAIN if type(d) in LAWS], ids=repr)
def test_a_second_definition_has_the_same_law(domain: Domain) -> None:
    assert_same_law(domain.model(), *LAWS[type(domain)](domain), depth=9)


def test_every_domain_has_a_second_definition_or_a_literal_walk() -> None:
    assert {*LAWS, TMaze, MiniHall} == set(DOMAINS.values()) == {type(domain) for domain in EVERY_DOMAIN}


# Traced by hand

BLANKS = "blue:blankblank left:blankblank green:blankblank"  # waiting


@pytest.mark.parametrize(
    ("domain", "trace", "probability"),
    [
        (Corridor(), "00clear 0:01enemy 1:12enemy 1:13clear/1", F(1, 2)),
        (Corridor(), "00clear 1:11clear/1 1:12clear/1 1:13clear/1 1:14clear/1 0:05enemy 0:01clear/1", F(1, 2)),
        (Corridor(enemy=F(9, 10)), "00clear 1:11enemy 1:12clear/1", F(1, 2) * F(1, 10) * F(1, 10)),
        (Cookie(), "white up:red press:red down:white left:blue-cookie eat:blue/1 eat:blue", F(1, 2)),
        (Cookie(), "white up:red press:red press:red down:white right:green eat:green left:white", F(1, 2)),
        (Cookie(), "white press:white eat:white down:white left:blue left:blue up:blue right:white", F(1)),
        (Cheese(), "c S:e S:g/1 N:a", F(1, 10) * F(1, 10)),
        (Cheese(), "e S:f", F(2, 10)),
        (Cheese(), "d S:e S:f S:f W:f N:e E:e N:d N:d E:d W:b", F(1, 10)),
        (Cheese(reset="immediate"), "c S:e S:b/1", F(1, 10) * F(2, 10)),
        (RotatingMAB(), "no 0:yes/1 1:yes/1 0:yes/1", F(9, 10) ** 3),
        (RotatingMAB(), "no 0:yes/1 0:yes/1 0:no", F(9, 10) * F(2, 10) * F(1, 10)),
        (RotatingMAB(arms=3), "no 0:yes/1 1:yes/1 1:no 2:yes/1 0:yes/1", F(9, 10) ** 4 * F(8, 10)),
        (ResetRotatingMAB(), "no 0:yes/1 1:yes/1 0:no 0:yes/1", F(9, 10) ** 3 * F(8, 10)),
        (MalfunctionMAB(), "none 0:0/1 0:0/1 0:0/1 0:0/1", F(0)),
        (MalfunctionMAB(limit=2), "none 0:0/1 1:1/1 0:0 0:0 0:0/1", F(8, 10) * F(2, 10) * F(2, 10) * F(8, 10)),
        (MalfunctionMAB(limit=2), "none 0:0/1 0:0/1 1:1/1 0:0/1", F(8, 10) ** 3 * F(2, 10)),
        (CheatMAB(), "no 0:no 0:no 1:no 1:yes/1 0:yes/1", F(8, 10) ** 3),
        (CheatMAB(), "no 0:no 0:no 0:no 1:no 1:no", F(8, 10) ** 5),
        (CheatMAB(), "no 0:no 0:no 1:no 0:no", F(0)),
        (RotatingMaze(), "00 N:01 N:02 N:12 S:02 S:03 W:13 S:-/1", F(9, 10) ** 7),
        (RotatingMaze(), "00 S:01 N:00", F(1, 10) ** 2),
        (RotatingMaze(), "00 W:10 W:20 W:21", F(1, 10) ** 2 * F(9, 10)),  # then west is north
        (RotatingMaze(period=1), "00 N:01 N:11 N:10 N:00 E:10", F(9, 10) ** 5),
        (RotatingMaze(), "00 N:00 E:00", F(1, 10) ** 2),
        (EnemyCorridor(), "0clear 0:1enemy 1:2clear/1 1:3enemy 0:4enemy", F(2, 10) * F(8, 10) * F(2, 10) * F(9, 10)),
        (EnemyCorridor(columns=3), "0clear 0:1clear/1 0:2clear/1 0:0clear/1", F(8, 10) * F(1, 10) * F(8, 10)),
        (FlickeringGrid(), "0,0 W:hidden E:1,0 N:hidden", F(8, 10) * F(2, 10) * F(8, 10) * F(2, 10)),
        (FlickeringGrid(), "0,0 N:0,1 N:0,2 N:0,3 N:0,4 E:1,4 E:2,4 E:-/1", F(8, 10) ** 7),
        (Symbol(), f"redleft {BLANKS} red:blankblank left:-/1", F(1, 6)),
        (Symbol(), f"redleft {BLANKS} red:blankblank right:-", F(1, 6)),
        (Symbol(), f"redleft {BLANKS} left:-", F(1, 6)),
        (
            TwoKeys(),
            "hallnono west:westyesno take:westyesyes take:westyesyes hall:hallnoyes open:hallnono "
            "west:westyesno take:westnoyes open:westnoyes hall:hallnoyes open:-/1",
            F(1, 3),
        ),
        (
            TwoKeys(),
            "hallnono take:hallnono west:westyesno take:westnoyes east:eastyesyes hall:hallnoyes open:hallnono "
            "open:hallnono east:eastyesno take:eastnoyes hall:hallnoyes open:-/1",
            F(1, 3),
        ),
        (RepeatFirst(), "hearts hearts:clubs/0.125 clubs:hearts hearts:spades/0.125", F(1, 4) ** 4),
        (MemoryLength(length=3), "1 0:blank 0:blank 1:-/1", F(1, 2)),
        (MemoryLength(length=3), "1 1:blank 1:blank 0:-", F(1, 2)),
        (PassiveTMaze(length=2), "011 W:101 N:010 E:010/-1 N:-/4", F(1, 2)),
        (PassiveTMaze(length=2), "110 S:101 S:010 N:-/-1", F(1, 2)),
    ],
    ids=repr,
)
def test_traced_by_hand(domain: Domain, trace: str, probability: Fraction) -> None:
    """The first observation, then action:observation/reward, where - is the end and a reward of 0 is not written."""
    model = domain.model()
    names = [str(action) for action in model.alphabet.actions]
    first, *moves = trace.split()
    belief = [(p, state) for p, state, seen, _ in tabled(model, model.first, 0) if word(seen) == first]
    for move in moves:
        action, _, rest = move.partition(":")
        wanted, _, paid = rest.partition("/")
        belief = [
            (p * q, after)
            for p, state in belief
            for q, after, seen, reward in tabled(model, model.after, state * len(names) + names.index(action))
            if word(seen) == wanted and reward == Fraction(paid or 0)
        ]
    assert sum(p for p, _ in belief) == probability


def word(seen: tuple[object, ...] | None) -> str:
    return "-" if seen is None else "".join(str(value) for value in seen)


# Options as text


def test_make_converts_text_by_field_type() -> None:
    assert make("t-maze", {}) == TMaze()
    options = {"length": "7", "cue_visible": "true", "noise": "false", "actions": "east"}
    assert make("t-maze", options) == TMaze(length=7, cue_visible=True, noise=False, actions="east")
    assert make("mini-hall", {"observations": "classic", "reset": "immediate", "wall": "true"}) == MiniHall(
        observations="classic", reset="immediate", wall=True
    )
    assert make("corridor", {"enemy": "0.9", "columns": "3"}) == Corridor(columns=3, enemy=Fraction(9, 10))
    assert make("cheat-mab", {"code": "001"}) == CheatMAB()
    assert all(make(name, {}) == domain() for name, domain in DOMAINS.items())


T_MAZE_OPTIONS = "known: length, cue_visible, noise, actions"
ALL_DOMAINS = "known: " + ", ".join(DOMAINS)


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("tmaze", {}, f"unknown domain: 'tmaze'; did you mean 't-maze'? {ALL_DOMAINS}"),
        ("poker", {}, f"unknown domain: 'poker'; {ALL_DOMAINS}"),
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
        ("corridor", {"enemy": "often"}, "enemy needs a number such as 0.9 or 9/10, not 'often'"),
        ("corridor", {"enemy": "1/0"}, "enemy needs a number such as 0.9 or 9/10, not '1/0'"),
        ("corridor", {"enemy": "1.5"}, "enemy=3/2 is no probability; use a number from 0 to 1"),
        ("corridor", {"enemy": "-0.1"}, "enemy=-1/10 is no probability; use a number from 0 to 1"),
        ("corridor", {"columns": "0"}, "a corridor of 0 columns has no place to go; use columns=1 or more"),
        ("cookie", {"actions": "silly"}, "unknown value of actions: 'silly'; known: all, sensible"),
        ("cheese", {"reset": "later"}, "unknown value of reset: 'later'; known: next, immediate"),
        ("rotating-mab", {"arms": "1"}, "a bandit with arms=1 leaves no choice; use arms=2 or more"),
        ("reset-rotating-mab", {"arms": "0"}, "a bandit with arms=0 leaves no choice; use arms=2 or more"),
        ("malfunction-mab", {"limit": "0"}, "with limit=0 arm 0 would never work; use limit=1 or more"),
        ("cheat-mab", {"code": "012"}, "code=012 does not spell the arms 0 and 1; use a code such as 001"),
        ("cheat-mab", {"code": ""}, "code= does not spell the arms 0 and 1; use a code such as 001"),
        ("rotating-maze", {"period": "0"}, "a compass cannot turn after every 0 actions; use period=1 or more"),
        ("enemy-corridor", {"columns": "1"}, "columns=1 cannot be halved; use columns=2 or more"),
        ("flickering-grid", {"hidden": "0.2"}, "unknown option of flickering-grid: 'hidden'; known: none"),
        ("repeat-first", {"answers": "0"}, "answers=0 cannot add up to a reward of 1; use answers=1 or more"),
        ("memory-length", {"length": "0"}, "an episode of length=0 has no last action; use length=1 or more"),
        ("passive-t-maze", {"length": "0"}, "a t-maze of length 0 has no corridor; use length=1 or more"),
    ],
)
def test_make_says_what_is_wrong(name: str, options: dict[str, str], message: str) -> None:
    with pytest.raises(SufficeError) as error:
        make(name, options)
    assert str(error.value) == message
