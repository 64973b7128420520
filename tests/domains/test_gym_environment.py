"""The domains as Gymnasium environments: its own checker, ids, seeds, ends, and refusals."""

from __future__ import annotations

import dataclasses
import subprocess
import sys
from fractions import Fraction
from typing import Any, cast

import gymnasium
import numpy as np
import pytest
from gymnasium.error import ResetNeeded
from gymnasium.spaces import Discrete, MultiDiscrete
from gymnasium.utils.env_checker import check_env

from suffice.domains.domain import Domain
from suffice.domains.gym.environment import DomainEnv
from suffice.domains.gym.registration import register
from suffice.domains.registry import DOMAINS
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.memory_length import MemoryLength
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.domains.tasks.rotating_mab import RotatingMAB
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SufficeError
from support.domains import EVERY_DOMAIN

pytestmark = pytest.mark.filterwarnings("error")

register()  # in case another test imported the domains before Gymnasium

IDS = [f"suffice/{domain.__name__}-v0" for domain in DOMAINS.values()]


def made(name: str, **options: Any) -> DomainEnv:
    env = gymnasium.make(name, **options).unwrapped
    assert isinstance(env, DomainEnv)
    return env


def play(env: gymnasium.Env[Any, Any], seed: int) -> list[Any]:
    """An episode under random actions, as whatever the environment said."""
    env.action_space.seed(seed)
    said: list[Any] = [env.reset(seed=seed)]
    while len(said) == 1 or not (said[-1][2] or said[-1][3]):
        said.append(env.step(env.action_space.sample()))
    return said


# The promises of Gymnasium


@pytest.mark.parametrize("domain", EVERY_DOMAIN, ids=repr)
def test_gymnasium_finds_nothing_to_complain_about(domain: Domain) -> None:
    options = {field.name: getattr(domain, field.name) for field in dataclasses.fields(cast(Any, domain))}
    env = made(f"suffice/{type(domain).__name__}-v0", **options)
    assert env.horizon == domain.default_horizon and env.domain == domain.for_horizon(env.horizon)
    check_env(env)


@pytest.mark.parametrize("name", IDS)
def test_the_same_seed_gives_the_same_episodes(name: str) -> None:
    first, second = gymnasium.make(name), gymnasium.make(name)
    for seed in range(5):
        assert repr(play(first, seed)) == repr(play(second, seed))
    assert len({repr(play(first, seed)) for seed in range(20)}) > 1


@pytest.mark.parametrize("name", IDS)
def test_vectors(name: str) -> None:
    envs = gymnasium.make_vec(name, num_envs=3)
    seen, _ = envs.reset(seed=1)
    for _ in range(20):  # through ends, which reset by themselves
        assert seen in envs.observation_space
        seen, reward, *_ = envs.step(envs.action_space.sample())
        assert reward.shape == (3,)
    envs.close()


@pytest.mark.parametrize("name", IDS)
def test_numbers_stand_for_words(name: str) -> None:
    env = made(name)
    alphabet = env.alphabet
    assert env.action_space == Discrete(len(alphabet.actions))
    columns = [sorted(set(column)) for column in zip(*alphabet.observations, strict=True)]
    sizes = [len(column) for column in columns]
    assert env.observation_space == (Discrete(sizes[0]) if len(sizes) == 1 else MultiDiscrete(sizes))
    for seed in range(5):
        for observation, *_, info in play(env, seed):
            places = [int(place) for place in np.atleast_1d(observation)]
            words = [column[place] for column, place in zip(columns, places, strict=True)]
            assert info == {"observation": dict(zip(alphabet.features, words, strict=True))}
            assert env.features_of(observation) == info["observation"] and tuple(words) in alphabet.observations


# Ends


@pytest.mark.parametrize("name", IDS)
def test_an_episode_ends_or_is_cut_at_the_horizon(name: str) -> None:
    env = made(name, horizon=7)
    for seed in range(30):
        said = play(env, seed)
        terminated, truncated = said[-1][2:4]
        assert terminated != truncated and len(said) <= 8
        assert np.array_equal(said[-1][0], said[-2][0]) if terminated else len(said) == 8
        assert not any(ended or cut for *_, ended, cut, _ in said[1:-1])
        with pytest.raises(ResetNeeded, match="call reset"):
            env.step(np.int64(0))


def test_an_end_at_the_horizon_is_an_end() -> None:
    env = made("suffice/MemoryLength-v0", length=3)
    assert env.horizon == 3
    env.reset(seed=1)
    assert [env.step(0)[2:4] for _ in range(3)] == [(False, False), (False, False), (True, False)]
    assert made("suffice/MemoryLength-v0", length=8).horizon == 8
    cut = made("suffice/MemoryLength-v0", length=3, horizon=2)
    cut.reset(seed=1)
    assert [cut.step(0)[2:4] for _ in range(2)] == [(False, False), (False, True)]


def test_the_last_observation_comes_again_at_the_end() -> None:
    env = made("suffice/TMaze-v0", length=1, render_mode="ansi")
    north = {"bit1": 0, "bit2": 1, "bit3": 1}
    seed = next(seed for seed in range(9) if env.reset(seed=seed)[1]["observation"] == north)
    observation, _ = env.reset(seed=seed)
    assert env.render() == " G\nA.\n ." and observation.tolist() == [0, 1, 1]
    east, up = env.alphabet.actions.index("E"), env.alphabet.actions.index("N")
    junction, *others = env.step(east)
    assert others == [0.0, False, False, {"observation": {"bit1": 0, "bit2": 1, "bit3": 0}}]
    again, *others = env.step(up)
    assert others == [4.0, True, False, {"observation": {"bit1": 0, "bit2": 1, "bit3": 0}}]
    assert again.tolist() == junction.tolist() and again is not junction and env.render() == "the end"


# Refusals


@pytest.mark.parametrize("action", [-1, 4, 1.0, True, np.bool_(True), "N", None, np.array([1]), np.float64(1)])
def test_what_is_no_action_is_refused(action: Any) -> None:
    env = made("suffice/TMaze-v0")
    env.reset(seed=0)
    with pytest.raises(SufficeError, match=r"is no action .* use one of 0 \(E\), 1 \(N\), 2 \(S\), 3 \(W\)$"):
        env.step(action)
    env.step(np.int64(3))  # the episode goes on


def test_stepping_before_the_first_reset_is_refused() -> None:
    with pytest.raises(ResetNeeded, match="call reset"):
        DomainEnv(TMaze()).step(np.int64(0))
    with pytest.raises(ResetNeeded):
        gymnasium.make("suffice/TMaze-v0").step(0)


def test_what_is_no_observation_is_refused() -> None:
    env = made("suffice/MiniHall-v0")
    assert env.features_of(6) == {"view": 6}
    for wrong in (-1, 7, "view", np.array([0, 1])):
        with pytest.raises(SufficeError, match="is no observation of"):
            env.features_of(wrong)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lenght": 5}, "did you mean 'length'"),
        ({"length": 2.5}, "length needs a whole number, not '2.5'"),
        ({"length": 0}, "use length=1 or more"),
        ({"noise": 1}, "unknown value of noise"),
        ({"horizon": 0}, "horizon of 0"),
        ({"horizon": 1}, "horizon of 2 or more"),
    ],
    ids=str,
)
def test_wrong_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SufficeError, match=message):
        gymnasium.make("suffice/TMaze-v0", **options)


def test_an_unknown_render_mode_is_refused() -> None:
    with pytest.raises(SufficeError, match="use 'ansi' or None"):
        DomainEnv(TMaze(), render_mode="human")
    assert DomainEnv(TMaze()).render() is None


# Options


def test_options_are_keyword_arguments_or_text() -> None:
    maze = made("suffice/TMaze-v0", length=5, horizon=15, noise=True, actions="east", cue_visible=np.bool_(True))
    assert maze.horizon == 15
    assert maze.domain == TMaze(length=5, noise=True, actions="east", cue_visible=True)
    assert made("suffice/TMaze-v0", length=None, horizon=9).domain == TMaze(length=8)
    for enemy in (0.9, "0.9", "9/10", Fraction(9, 10), np.float64(0.9)):
        assert made("suffice/Corridor-v0", enemy=enemy).domain == Corridor(enemy=Fraction(9, 10))
    assert made("suffice/RotatingMAB-v0", arms=np.int64(3)).domain == RotatingMAB(arms=3)


def test_a_domain_can_be_played_without_an_id() -> None:
    env = DomainEnv(MiniHall(wall=True), horizon=4, render_mode="ansi")
    env.reset(seed=0)
    assert (env.render() or "").startswith("room ")
    assert DomainEnv(MemoryLength(length=4)).horizon == 4


# Registration


def runs(program: str) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, timeout=60)


MAKE = "assert gymnasium.make('suffice/TMaze-v0', length=5, horizon=15).unwrapped.horizon == 15"


def test_registering_again_changes_nothing() -> None:
    before = dict(gymnasium.registry)
    register()
    assert gymnasium.registry == before and set(IDS) <= set(before)
    assert all(isinstance(gymnasium.spec(name).entry_point, str) for name in IDS)


@pytest.mark.parametrize(
    "imports",
    [
        "import gymnasium, suffice",
        "import suffice.domains.registry, gymnasium; from suffice.domains.gym.registration import register; register()",
        "import gymnasium; gymnasium.make('suffice:suffice/TMaze-v0')",
    ],
)
def test_ids_are_known_after(imports: str) -> None:
    runs(f"{imports}; {MAKE}")


@pytest.mark.parametrize("words", ["['--help']", "['simulate', 't-maze', '--episodes', '5', '-o', sys.argv[1]]"])
def test_the_command_line_does_not_import_gymnasium(words: str, tmp_path: Any) -> None:
    program = f"""
import sys
from suffice.cli.main import app
try:
    app({words}, exit_on_error=False)
except SystemExit:
    pass
assert "suffice.cli.main" in sys.modules and "gymnasium" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", program, str(tmp_path / "log.csv")], check=True, capture_output=True)
