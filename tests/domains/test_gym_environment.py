"""Domains as Gymnasium environments: the checker of Gymnasium, ids, seeds, ends and refusals."""

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
    """Play an episode with random actions, and return all results of reset and step."""
    env.action_space.seed(seed)
    results: list[Any] = [env.reset(seed=seed)]
    while len(results) == 1 or not (results[-1][2] or results[-1][3]):
        results.append(env.step(env.action_space.sample()))
    return results


# The interface of Gymnasium


@pytest.mark.parametrize("domain", EVERY_DOMAIN, ids=repr)
def test_domain_env_passes_the_gymnasium_checker(domain: Domain) -> None:
    options = {field.name: getattr(domain, field.name) for field in dataclasses.fields(cast(Any, domain))}
    env = made(f"suffice/{type(domain).__name__}-v0", **options)
    assert env.horizon == domain.default_horizon and env.domain == domain.for_horizon(env.horizon)
    check_env(env)


@pytest.mark.parametrize("name", IDS)
def test_domain_env_with_the_same_seed_gives_the_same_episodes(name: str) -> None:
    first, second = gymnasium.make(name), gymnasium.make(name)
    for seed in range(5):
        assert repr(play(first, seed)) == repr(play(second, seed))
    assert len({repr(play(first, seed)) for seed in range(20)}) > 1


@pytest.mark.parametrize("name", IDS)
def test_domain_env_works_in_vector_environments(name: str) -> None:
    envs = gymnasium.make_vec(name, num_envs=3)
    seen, _ = envs.reset(seed=1)
    for _ in range(20):  # episodes end and reset automatically
        assert seen in envs.observation_space
        seen, reward, *_ = envs.step(envs.action_space.sample())
        assert reward.shape == (3,)
    envs.close()


@pytest.mark.parametrize("name", IDS)
def test_domain_env_numbers_stand_for_feature_values(name: str) -> None:
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
def test_domain_env_terminates_or_truncates_at_the_horizon(name: str) -> None:
    env = made(name, horizon=7)
    for seed in range(30):
        results = play(env, seed)
        terminated, truncated = results[-1][2:4]
        assert terminated != truncated and len(results) <= 8
        assert np.array_equal(results[-1][0], results[-2][0]) if terminated else len(results) == 8
        assert not any(ended or cut for *_, ended, cut, _ in results[1:-1])
        with pytest.raises(ResetNeeded, match="Call reset"):
            env.step(np.int64(0))


def test_domain_env_end_at_the_horizon_is_terminated() -> None:
    env = made("suffice/MemoryLength-v0", length=3)
    assert env.horizon == 3
    env.reset(seed=1)
    assert [env.step(0)[2:4] for _ in range(3)] == [(False, False), (False, False), (True, False)]
    assert made("suffice/MemoryLength-v0", length=8).horizon == 8
    cut = made("suffice/MemoryLength-v0", length=3, horizon=2)
    cut.reset(seed=1)
    assert [cut.step(0)[2:4] for _ in range(2)] == [(False, False), (False, True)]


def test_domain_env_repeats_the_last_observation_at_the_end() -> None:
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
def test_domain_env_step_refuses_unknown_actions(action: Any) -> None:
    env = made("suffice/TMaze-v0")
    env.reset(seed=0)
    with pytest.raises(SufficeError, match=r"is not an action .* Use one of 0 \(E\), 1 \(N\), 2 \(S\), 3 \(W\)\.$"):
        env.step(action)
    env.step(np.int64(3))  # the episode goes on


def test_domain_env_step_before_reset_is_refused() -> None:
    with pytest.raises(ResetNeeded, match="Call reset"):
        DomainEnv(TMaze()).step(np.int64(0))
    with pytest.raises(ResetNeeded):
        gymnasium.make("suffice/TMaze-v0").step(0)


def test_domain_env_features_of_refuses_unknown_observations() -> None:
    env = made("suffice/MiniHall-v0")
    assert env.features_of(6) == {"view": 6}
    for wrong in (-1, 7, "view", np.array([0, 1])):
        with pytest.raises(SufficeError, match="is not an observation of"):
            env.features_of(wrong)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"lenght": 5}, "Did you mean 'length'"),
        ({"length": 2.5}, "length=2.5 is not a whole number"),
        ({"length": 0}, "Use length=1 or more"),
        ({"noise": 1}, "noise='1' is not a known value"),
        ({"horizon": 0}, "horizon=0 leaves no action"),
        ({"horizon": 1}, "Use 2 or more"),
    ],
    ids=str,
)
def test_gymnasium_make_refuses_invalid_domain_options(options: dict[str, Any], message: str) -> None:
    with pytest.raises(SufficeError, match=message):
        gymnasium.make("suffice/TMaze-v0", **options)


def test_domain_env_refuses_unknown_render_modes() -> None:
    with pytest.raises(SufficeError, match="Choose 'ansi' or None"):
        DomainEnv(TMaze(), render_mode="human")
    assert DomainEnv(TMaze()).render() is None


# Options


def test_gymnasium_make_accepts_options_as_values_or_text() -> None:
    maze = made("suffice/TMaze-v0", length=5, horizon=15, noise=True, actions="east", cue_visible=np.bool_(True))
    assert maze.horizon == 15
    assert maze.domain == TMaze(length=5, noise=True, actions="east", cue_visible=True)
    assert made("suffice/TMaze-v0", length=None, horizon=9).domain == TMaze(length=8)
    for enemy in (0.9, "0.9", "9/10", Fraction(9, 10), np.float64(0.9)):
        assert made("suffice/Corridor-v0", enemy=enemy).domain == Corridor(enemy=Fraction(9, 10))
    assert made("suffice/RotatingMAB-v0", arms=np.int64(3)).domain == RotatingMAB(arms=3)


def test_domain_env_accepts_a_domain_without_an_id() -> None:
    env = DomainEnv(MiniHall(wall=True), horizon=4, render_mode="ansi")
    env.reset(seed=0)
    assert (env.render() or "").startswith("room ")
    assert DomainEnv(MemoryLength(length=4)).horizon == 4


# Registration


def runs(program: str) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", program], check=True, timeout=60)


MAKE = "assert gymnasium.make('suffice/TMaze-v0', length=5, horizon=15).unwrapped.horizon == 15"


def test_register_again_has_no_effect() -> None:
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
        "import gymnasium, suffice; gymnasium.make('suffice:suffice/TMaze-v0')",
        "import suffice, gymnasium; gymnasium.make('suffice:suffice/TMaze-v0')",
        "import suffice, importlib.util as u; u.find_spec('gymnasium'); import gymnasium",
        "import suffice.playing, gymnasium",
    ],
)
def test_register_makes_ids_known_after_imports(imports: str) -> None:
    runs(f"{imports}; {MAKE}")


@pytest.mark.parametrize("words", ["['--help']", "['simulate', 't-maze', '--episodes', '5', '-o', sys.argv[1]]"])
def test_command_line_does_not_import_gymnasium(words: str, tmp_path: Any) -> None:
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
