"""Exact stationary automata: known sizes, the futures of the layered automaton, and models without one."""

from __future__ import annotations

from collections import defaultdict
from fractions import Fraction
from pathlib import Path

import pytest

from suffice.data.alphabet import DUMMY, PAD, STOP
from suffice.domains.domain import Domain
from suffice.domains.exact.minimal import Minimal, minimal_rdp
from suffice.domains.exact.stationary import END, START, Stationary, stationary_rdp
from suffice.domains.registry import make
from suffice.domains.tasks.cheese import Cheese
from suffice.domains.tasks.cookie import Cookie
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.enemy_corridor import EnemyCorridor
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.domains.tasks.rotating_maze import RotatingMaze
from suffice.domains.tasks.t_maze import TMaze
from suffice.domains.tasks.two_keys import TwoKeys
from suffice.errors import SufficeError
from support.paths import ROOT

TIGER = ROOT / "examples" / "pomdp" / "tiger.POMDP"
CASES = [
    (TMaze(length=4, cue_visible=True), 12),
    (TMaze(length=5), 14),
    (TMaze(length=4, noise=True), 12),
    (Cheese(), 16),
    (MiniHall(), 21),
    (Corridor(), 11),
    (EnemyCorridor(columns=8), 17),
    (TwoKeys(), 31),
    (Cookie(), 15),
]

Chances = dict[tuple[int, int, int], Fraction]  # of action, observation and reward codes


@pytest.mark.parametrize(("domain", "states"), [*CASES, (RotatingMaze(), 122)], ids=str)
def test_stationary_rdp_has_known_number_of_states(domain: Domain, states: int) -> None:
    found = stationary_rdp(domain.model(10))
    assert found.n_states == states
    used = {*found.arrows.source.tolist(), *found.arrows.target.tolist()}
    assert len(used) == states and used - {END} == {START, *range(2, max(used) + 1)}


def steps_of(found: Stationary) -> dict[int, dict[tuple[int, int, int], tuple[int, Fraction]]]:
    """Return, for each state, the target and probability of each action, observation and reward."""
    arrows, steps = found.arrows, defaultdict(dict)
    for (q, a, o, r, target), p in zip(arrows.rows(), arrows.probability, strict=True):
        assert (a, o, r) not in steps[q] and p > 0
        steps[q][a, o, r] = target, p
    return steps


@pytest.mark.parametrize("domain", [case[0] for case in CASES], ids=str)
def test_stationary_rdp_converts_to_a_deterministic_automaton(domain: Domain) -> None:
    found = stationary_rdp(domain.model(10))
    for q, steps in steps_of(found).items():
        assert sum(p for _, p in steps.values()) == 1
        by_symbol = defaultdict(set)
        for (a, o, _), (target, _) in steps.items():
            by_symbol[a, o].add(target)
            assert (target == END) == (o == STOP) and (a == DUMMY) == (q == START) and (a == PAD) == (q == END)
        assert all(len(targets) == 1 for targets in by_symbol.values())


@pytest.mark.parametrize("domain", [case[0] for case in CASES], ids=str)
def test_stationary_rdp_has_the_futures_of_the_layered_automaton(domain: Domain) -> None:
    """All histories of up to three actions have the same probabilities, far from the horizon."""
    model = domain.model(10)
    steps, layered = steps_of(stationary_rdp(model)), minimal_rdp(model, 10)
    rows = [layer_steps(layered, t) for t in range(5)]
    pairs = {(START, 0)}
    for t in range(4):
        following = set()
        for q, p in pairs:
            ours, theirs = (
                {key: chance for key, (_, chance) in found[i].items()} for found, i in ((steps, q), (rows[t], p))
            )
            assert ours == theirs
            following |= {(steps[q][key][0], rows[t][p][key][0]) for key in ours}
        pairs = following
    assert len({q for q, _ in pairs}) == len(pairs), "a state has one future"


def layer_steps(layered: Minimal, t: int) -> dict[int, dict[tuple[int, int, int], tuple[int, Fraction]]]:
    arrows, steps = layered.arrows[t], defaultdict(dict)
    for (q, a, o, r, target), p in zip(arrows.rows(), arrows.probability, strict=True):
        steps[q][a, o, r] = target, p
    return steps


@pytest.mark.parametrize(
    ("domain", "horizon"), [(TMaze(length=3), 24), (Cheese(), 24), (Corridor(columns=3), 12)], ids=str
)
def test_stationary_rdp_is_minimal(domain: Domain, horizon: int) -> None:
    """The middle layer of the layered automaton has as many states as are reachable in this number of steps."""
    model = domain.model(horizon)
    steps, half = steps_of(stationary_rdp(model)), horizon // 2
    reached = {START}
    for _ in range(half):
        reached = {target for q in reached for target, _ in steps[q].values()}
    assert minimal_rdp(model, horizon).layers[half] == len(reached)


def test_stationary_rdp_refuses_models_whose_beliefs_never_repeat() -> None:
    """In the tiger problem every further noise changes the belief."""
    with pytest.raises(SufficeError, match=r"no finite stationary automaton.*without stationary=True"):
        stationary_rdp(make(str(TIGER), {}).model(5))


def test_stationary_rdp_refuses_informative_rewards_until_they_are_observed(tmp_path: Path) -> None:
    """Only rewards distinguish the two hidden states; with observed rewards there are four states."""
    (tmp_path / "secret.POMDP").write_text(
        "discount: 1.0\nvalues: reward\nstates: a b\nactions: x y\nobservations: o\n"
        "T: * identity\nO: * uniform\nR: x : a : * : * 1\n"
    )
    model = make(str(tmp_path / "secret.POMDP"), {}).model(5)
    with pytest.raises(SufficeError, match=r"observing_reward\(\)"):
        stationary_rdp(model)
    assert stationary_rdp(model.observing_reward()).n_states == 4
