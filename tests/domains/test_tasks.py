"""Domains: comparison with second definitions, with episodes traced by hand, and with simulated frequencies."""

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
from suffice.data.logs.reading import read_log
from suffice.data.logs.writing import write_log
from suffice.domains.domain import Domain
from suffice.domains.finite import ENDED, FiniteModel, Outcomes
from suffice.domains.gym.environment import DomainEnv
from suffice.domains.registry import DOMAINS
from suffice.domains.tasks.cheat_mab import CheatMAB
from suffice.domains.tasks.cheese import Cheese
from suffice.domains.tasks.cookie import Cookie
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.delayed_match import DelayedMatch
from suffice.domains.tasks.enemy_corridor import EnemyCorridor
from suffice.domains.tasks.flickering_grid import FlickeringGrid
from suffice.domains.tasks.malfunction_mab import MalfunctionMAB
from suffice.domains.tasks.memory_length import MemoryLength
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.domains.tasks.passive_t_maze import PassiveTMaze
from suffice.domains.tasks.repeat_first import RepeatFirst
from suffice.domains.tasks.repeat_previous import RepeatPrevious
from suffice.domains.tasks.rotating_mab import ResetRotatingMAB, RotatingMAB
from suffice.domains.tasks.rotating_maze import RotatingMaze
from suffice.domains.tasks.symbol import Symbol
from suffice.domains.tasks.t_maze import TMaze
from suffice.domains.tasks.two_keys import TwoKeys
from suffice.errors import SufficeError
from support.domains import EVERY_DOMAIN
from support.simulated_steps import codes, run, steps

# Properties of every domain


@pytest.mark.parametrize("domain", EVERY_DOMAIN, ids=repr)
@pytest.mark.parametrize("horizon", [2, 9])
def test_simulate_places_special_symbols(domain: Domain, horizon: int) -> None:
    episodes = run(domain, 5_000, horizon)
    action, observation, reward = codes(episodes)
    zero = episodes.alphabet.rewards.index(0.0)
    assert (episodes.horizon, episodes.n) == (horizon, 5_000)
    assert (action[0] == DUMMY).all() and (reward[0] == zero).all() and (observation[0] != STOP).all()
    assert (action[1:] != DUMMY).all() and (action[1] != PAD).all()
    pad = action == PAD
    assert (pad[1:] >= pad[:-1]).all(), "padding goes on to the horizon"
    assert (observation[pad] == STOP).all() and (reward[pad] == zero).all()
    last = (~pad).sum(axis=0) - 1  # last step before the padding
    is_last = np.arange(horizon + 1)[:, None] == last
    assert ((observation == STOP) == (pad | is_last)).all()


@pytest.mark.parametrize("domain", EVERY_DOMAIN, ids=repr)
def test_simulate_uses_the_alphabet_of_the_model(domain: Domain) -> None:
    assert run(domain, 1, 9).alphabet == run(domain, 3_000, 9).alphabet == domain.model(9).alphabet


@pytest.mark.parametrize("domain", EVERY_DOMAIN, ids=repr)
def test_simulate_reaches_every_observation_and_reward(domain: Domain) -> None:
    domain = dataclasses.replace(domain, length=2) if isinstance(domain, TMaze) else domain
    episodes = run(domain, 2_000, 150)
    assert set(episodes.letters[:, 1]) == set(range(episodes.alphabet.n_observations))
    assert set(episodes.letters[:, 2]) == set(range(len(episodes.alphabet.rewards)))


@pytest.mark.parametrize("domain", EVERY_DOMAIN, ids=repr)
def test_simulate_with_the_same_seed_gives_the_same_bytes(domain: Domain) -> None:
    assert run(domain, 1_000, 6, seed=1).digest() == run(domain, 1_000, 6, seed=1).digest()
    assert run(domain, 1_000, 6, seed=1).digest() != run(domain, 1_000, 6, seed=2).digest()


@pytest.mark.parametrize("domain", EVERY_DOMAIN, ids=repr)
def test_domain_has_exact_probabilities_and_renders_states(domain: Domain) -> None:
    model = domain.model()
    for table, rows in ((model.first, 1), (model.after, len(model.states) * len(model.alphabet.actions))):
        sums = [sum(table.probability[a:b]) for a, b in itertools.pairwise(table.begin)]
        assert sums == [1] * rows and all(isinstance(p, Fraction) and p > 0 for p in table.probability)
    pictures = [domain.for_horizon(domain.default_horizon).render(state) for state in model.states]
    assert all(isinstance(picture, str) and picture for picture in pictures)
    if ENDED in model.after.state:
        assert domain.for_horizon(domain.default_horizon).render(None) == "the end"


@pytest.mark.parametrize("name", DOMAINS)
def test_read_log_restores_written_episodes_of_every_domain(name: str, tmp_path: Path) -> None:
    domain = DOMAINS[name]()
    horizon = domain.default_horizon
    episodes = run(domain, 200, horizon)
    for kind in ("csv", "parquet"):
        write_log(episodes, tmp_path / f"log.{kind}")
        read = read_log(tmp_path / f"log.{kind}", horizon=horizon)
        assert [steps(read, i) for i in range(200)] == [steps(episodes, i) for i in range(200)]


@pytest.mark.parametrize("domain", [TMaze(length=1), TMaze(), MiniHall()], ids=repr)
def test_model_refuses_a_horizon_without_actions(domain: Domain) -> None:
    with pytest.raises(SufficeError, match="horizon=0"):
        run(domain, 5, 0)


def test_default_horizons_of_domains_are_known() -> None:
    horizons = [5, 5, 9, 6, 15, 10, 10, 10, 10, 15, 10, 10, 6, 12, 8, 6, 7, 5, 12]
    assert [domain().default_horizon for domain in DOMAINS.values()] == horizons
    assert [MemoryLength(length=8).default_horizon, PassiveTMaze(length=3).default_horizon] == [8, 4]
    assert DelayedMatch(delay=0).default_horizon == 2


# Samples have the distribution of the model

Letter = tuple[int, int, int]  # codes of action, observation, reward
Fold = Callable[[Any, Letter], Hashable]  # summary of an episode after one more step


def distribution(model: FiniteModel, horizon: int, fold: Fold, steps: int) -> dict[Hashable, float]:
    """Return the exact distribution, under the behaviour policy, of the summary that `fold` computes in `steps`."""
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
    """Check with Pearson's chi-square test at level 1e-4; cells with an expectation below five are merged."""
    n = counts.total()
    assert set(counts) <= set(expected), "something impossible happened"
    assert math.isclose(sum(expected.values()), 1)
    cells = [(counts[cell], n * p) for cell, p in expected.items() if n * p >= 5]
    rest = n - sum(seen for seen, _ in cells), n - sum(mean for _, mean in cells)
    cells += [rest] if rest[1] >= 5 else []
    if len(cells) > 1:
        assert chi2.sf(sum((seen - mean) ** 2 / mean for seen, mean in cells), len(cells) - 1) > 1e-4


def by_simulation(domain: Domain, horizon: int) -> list[list[Letter]]:
    """Simulate episodes, as letters."""
    action, observation, reward = (code.T.tolist() for code in codes(run(domain, 4_000, horizon)))
    return [list(zip(*episode, strict=True)) for episode in zip(action, observation, reward, strict=True)]


def by_playing(domain: Domain, horizon: int) -> list[list[Letter]]:
    """Play episodes of the environment under the behaviour policy, as letters."""
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
    """Return summaries of an episode, with the exact distribution of each."""
    horizon = domain.default_horizon
    model = domain.model(horizon)
    unit = math.lcm(*(reward.denominator for reward in model.rewards))
    paid = [int(reward * unit) for reward in model.rewards]  # adding integers is faster

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
def test_sampled_frequencies_agree_with_the_model(
    domain: Domain, sample: Callable[[Domain, int], list[list[Letter]]]
) -> None:
    episodes = sample(domain, domain.default_horizon)
    for asked, law in laws(domain):
        assert_fits(Counter(map(asked, episodes)), law)


# Second definitions

Belief = frozenset[tuple[Any, Fraction]]
Events = dict[Any, tuple[Fraction, Belief]]  # (observation, reward) → probability and resulting belief


def split(belief: Iterable[tuple[Fraction, Next]]) -> Events:
    """Group weighted outcomes by observation and reward."""
    mass: dict[Any, dict[Any, Fraction]] = defaultdict(lambda: defaultdict(Fraction))
    for weight, (p, state, seen, reward) in belief:
        mass[seen, Fraction(reward)][state] += weight * p
    totals = {event: sum(states.values(), Fraction()) for event, states in mass.items()}
    return {
        event: (totals[event], frozenset((state, p / totals[event]) for state, p in states.items()))
        for event, states in mass.items()
    }


def tabled(model: FiniteModel, table: Outcomes, row: int) -> list[Next]:
    """Return a row of a model's tables in values instead of codes."""
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
    """Check that model and law agree exactly after every history of at most `depth` actions."""
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
def test_domain_agrees_with_its_second_definition(domain: Domain) -> None:
    assert_same_law(domain.model(), *LAWS[type(domain)](domain), depth=9)


def test_domains_all_have_a_second_definition_or_literal_walk() -> None:
    assert {*LAWS, TMaze, MiniHall} == set(DOMAINS.values()) == {type(domain) for domain in EVERY_DOMAIN}


# Episodes traced by hand

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
        (RotatingMaze(), "00 W:10 W:20 W:21", F(1, 10) ** 2 * F(9, 10)),  # W then leads north
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
        (DelayedMatch(delay=1), "red same:blank other:red same:-/1", F(1, 4)),
        (DelayedMatch(delay=1), "red same:blank other:red other:-", F(1, 4)),
        (DelayedMatch(colours=3, delay=0), "blue other:green other:-/1", F(1, 9)),
        (DelayedMatch(colours=3, delay=0), "blue other:green same:-/1", F(0)),
        (RepeatPrevious(k=3), "spades spades:clubs spades:spades spades:clubs/1/10 clubs:clubs/1/10", F(1, 4) ** 5),
        (RepeatPrevious(k=1), "hearts clubs:clubs clubs:hearts/1/12", F(1, 4) ** 3),
        (RepeatPrevious(suits=2, k=2, answers=5), "clubs clubs:diamonds clubs:clubs/0.2 clubs:clubs", F(1, 2) ** 4),
    ],
    ids=repr,
)
def test_domain_episodes_traced_by_hand_have_known_probabilities(
    domain: Domain, trace: str, probability: Fraction
) -> None:
    """A trace is the first observation, then action:observation/reward; - is the end, a reward of 0 is omitted."""
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
