"""Policies in single and vector environments of Gymnasium, in every autoreset mode."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.spaces import Dict, Discrete, Text
from gymnasium.vector import AutoresetMode, SyncVectorEnv, VectorEnv
from gymnasium.wrappers import FlattenObservation, RecordEpisodeStatistics, TimeLimit

from suffice.data.alphabet import plain
from suffice.data.encoding.binning import Bins
from suffice.data.encoding.encoder import Encoder
from suffice.domains.exact.values import exact_value
from suffice.domains.gym import requests
from suffice.domains.gym.automaton_state import AutomatonState
from suffice.domains.gym.environment import DomainEnv
from suffice.domains.gym.registration import register
from suffice.domains.gym.rollouts import Played, VectorPolicy, play, play_vector
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SufficeError
from suffice.models.api import learn
from suffice.models.model import Model
from suffice.planning.controller import Controller
from suffice.planning.planner import Planning
from support.gym_models import (
    DISABLED,
    EARLY,
    NEXT,
    SAME,
    Recall,
    asynchronous,
    corridor_model,
    early,
    hasty_model,
    learned,
    logged,
    maze_model,
    of_values,
    sync,
    wander,
)
from support.samples import from_values

register()  # in case another test imported the domains before Gymnasium
EACH_MODE = pytest.mark.parametrize("mode", AutoresetMode, ids=lambda mode: mode.name)


@pytest.fixture(scope="module")
def maze() -> Model:
    """A model whose plan solves the maze."""
    return maze_model()


@pytest.fixture(scope="module")
def hasty() -> Model:
    """A model from few episodes, which mostly keeps the logged behaviour."""
    return hasty_model()


@pytest.fixture(scope="module")
def corridor() -> Model:
    return corridor_model()


def results_of(played: Played) -> tuple[Any, ...]:
    arrays = (played.returns.tolist(), played.steps.tolist(), played.success.tolist())
    return *arrays, played.fallbacks, played.rewards


# Values


def test_play_solves_the_t_maze(maze: Model) -> None:
    for env in (DomainEnv(TMaze(), 5), TimeLimit(RecordEpisodeStatistics(gymnasium.make("suffice/TMaze-v0")), 9)):
        played = play(env, maze.policy(), 100, seed=1)
        assert results_of(played) == ([4.0] * 100, [5] * 100, [True] * 100, 0, (0.0, 4.0))
    assert repr(played) == "<Played: 100 episodes, mean return 4>"


@pytest.mark.parametrize("mode", [None, *AutoresetMode], ids=str)
def test_play_means_agree_with_the_exact_value(hasty: Model, mode: AutoresetMode | None) -> None:
    model = EARLY.model(6)
    exact = exact_value(model, Controller.on_automaton(hasty.rdp, model.alphabet, hasty.required_plan().actions), 6)
    n, policy = 1000, hasty.policy()
    played = play_vector(sync(early, mode=mode), policy, n, seed=1) if mode else play(early(), policy, n, seed=1)
    assert 0 < exact.success_rate < 1 and exact.steps < 6
    for found, value in (
        (played.returns, exact.mean_return),
        (played.steps, exact.steps),
        (played.success, exact.success_rate),
    ):
        assert len(found) == n and abs(found.mean() - float(value)) < 4 * found.std() / np.sqrt(n)
    assert played.rewards == (-1.0, 0.0, 4.0)


# Vector environments


def test_play_vector_plays_the_same_episodes_in_every_mode(hasty: Model) -> None:
    expected = results_of(play_vector(sync(early), hasty.policy(), 60, seed=5))
    for mode in AutoresetMode:
        assert results_of(play_vector(sync(early, mode=mode), hasty.policy(), 60, seed=5)) == expected
    for mode, shared in product(AutoresetMode, (True, False)):
        envs = asynchronous(early, mode=mode, shared_memory=shared)
        assert results_of(play_vector(envs, hasty.policy(), 60, seed=5)) == expected
        envs.close()


@EACH_MODE
@pytest.mark.parametrize("horizon", [None, 2, 4, 6, 9])
def test_play_vector_of_one_environment_equals_play(hasty: Model, mode: AutoresetMode, horizon: int | None) -> None:
    alone = play(early(), hasty.policy(), 100, 3, horizon)
    assert results_of(play_vector(sync(early, 1, mode), hasty.policy(), 100, 3, horizon)) == results_of(alone)
    assert alone.steps.max() <= min(horizon or 6, 6) and alone.steps.min() == min(horizon or 6, 3)


@EACH_MODE
def test_play_vector_works_with_make_vec_and_vector_wrappers(maze: Model, mode: AutoresetMode) -> None:
    for how in ("sync", "async"):
        envs = gymnasium.make_vec(
            "suffice/TMaze-v0", 2, how, {"autoreset_mode": mode}, [RecordEpisodeStatistics], horizon=5
        )
        counting = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs, stats_key="all")
        assert play_vector(counting, maze.policy(), 20, seed=1).returns.tolist() == [4.0] * 20
        assert set(counting.return_queue) == {4.0}
        envs.close()


def returns_by_hand(envs: SyncVectorEnv, policy: VectorPolicy, steps: int) -> list[float]:
    """Play with the loop in the docstring of VectorPolicy, and return the returns."""
    returns, total = [], np.zeros(envs.num_envs)
    observations, _ = envs.reset(seed=1)
    policy.reset()
    for _ in range(steps):
        actions = policy.act(observations)
        assert actions in envs.action_space
        observations, rewards, terminated, truncated, _ = envs.step(actions)
        over = terminated | truncated
        policy.ended(over)
        total += rewards
        returns += total[over].tolist()
        total[over] = 0
        if policy.mode is DISABLED and over.any():
            observations, _ = envs.reset(options={"reset_mask": over})
    return returns


@EACH_MODE
def test_vector_policy_used_by_hand_solves_the_t_maze(maze: Model, mode: AutoresetMode) -> None:
    envs = sync(partial(DomainEnv, TMaze(), 5), 4, mode)
    policy = VectorPolicy(envs, maze.policy(), seed=1)
    assert returns_by_hand(envs, policy, 5) == [4.0] * 4
    assert policy.resting.all() == (mode is NEXT)  # until a reset
    # 60 steps are twelve episodes, or ten if a sixth step begins the next episode
    assert returns_by_hand(envs, policy, 60) == [4.0] * 4 * (10 if mode is NEXT else 12)
    assert policy.fallbacks == 0


class Lottery(gymnasium.Env[Any, Any]):
    """Environment whose short episodes lose in one step, long ones win after three; actions have no effect."""

    action_space, observation_space = Discrete(2), Discrete(1)

    def reset(self, *, seed: int | None = None, options: Any = None) -> Any:
        super().reset(seed=seed)
        self.left = self.np_random.choice([1, 3])
        self.wins = self.left == 3
        return 0, {}

    def step(self, action: Any) -> Any:
        self.left -= 1
        over = bool(self.left == 0)
        return 0, float(over and self.wins), over, False, {}


@pytest.fixture(scope="module")
def gambler() -> Model:
    def episode(long: int, *actions: int) -> Any:
        if long:
            return [(None, (0,), 0.0), *((a, (0,), 0.0) for a in actions[:2]), (actions[2], None, 1.0)]
        return [(None, (0,), 0.0), (actions[0], None, 0.0), *[("pad", None, 0.0)] * 2]

    return learned(from_values([episode(long, *actions) for long in (0, 1) for actions in product((0, 1), repeat=3)]))


@EACH_MODE
def test_play_vector_does_not_prefer_short_episodes(gambler: Model, mode: AutoresetMode) -> None:
    played = play_vector(sync(Lottery, 8, mode), gambler.policy(), 19, seed=100)
    shares = [3, 3, 3, 2, 2, 2, 2, 2]
    alone = [play(Lottery(), gambler.policy(), n, seed=100 + i) for i, n in enumerate(shares)]
    assert played.steps.tolist() == np.concatenate([one.steps for one in alone]).tolist()
    assert played.returns.tolist() == np.concatenate([one.returns for one in alone]).tolist()
    assert set(played.steps.tolist()) == {1, 3} and played.success.tolist() == (played.steps == 3).tolist()
    many = play_vector(
        sync(Lottery, 500, mode), gambler.policy(), 500, seed=0
    )  # counting the first 500 episodes would give a third
    assert abs(many.success.mean() - 0.5) < 4 * 0.5 / np.sqrt(500)


def test_play_vector_plays_fewer_episodes_than_environments(gambler: Model) -> None:
    played = play_vector(sync(Lottery, 5), gambler.policy(), 2, seed=1)
    assert len(played.returns) == 2


@EACH_MODE
def test_play_vector_counts_fallbacks_of_counted_episodes_only(mode: AutoresetMode) -> None:
    """The model has a horizon of one step, so that each long episode falls back twice."""
    policy = of_values((0, 1), (0,)).policy()
    played = play_vector(sync(Lottery, 7, mode), policy, 10, seed=1, horizon=3)
    assert played.fallbacks == 2 * played.success.sum() > 0


# Seeds


def test_play_with_the_same_seed_gives_the_same_episodes(hasty: Model) -> None:
    policy = hasty.policy()
    for once in (
        lambda seed: results_of(play(early(), policy, 50, seed)),
        lambda seed: results_of(play_vector(sync(early), policy, 50, seed)),
    ):
        assert once(7) == once(7) != once(8)
    assert (policy.steps, policy.fallbacks) == (0, 0)  # only copies play
    policy.reset()
    policy.act((9, 9, 9))
    assert play(early(), policy, 50, seed=7).fallbacks == 0 < policy.fallbacks  # copies count from 0


def test_play_without_a_seed_continues_with_its_randomness(hasty: Model) -> None:
    def twice() -> list[Any]:
        env, policy = early(), hasty.policy(np.random.default_rng(3))
        env.reset(seed=1)
        return [results_of(play(env, policy, 50)), results_of(play(env, policy, 50))]

    assert twice() == twice() and twice()[0] != twice()[1]


def test_play_draws_policy_and_environment_independently(corridor: Model) -> None:
    env = DomainEnv(Corridor(), 5)
    player = VectorPolicy(sync(lambda: env, 1), corridor.policy(), seed=3).policies[0]
    env.reset(seed=3)
    assert env.np_random.random() != player._rng.random()


# Horizons


@EACH_MODE
def test_play_cuts_episodes_at_the_horizon(corridor: Model, mode: AutoresetMode) -> None:
    make = partial(DomainEnv, Corridor(), 12)
    usual = play(make(), corridor.policy(), 30, seed=1)
    assert results_of(usual)[:2] == ([5.0] * 30, [5] * 30) and usual.fallbacks == 0
    assert results_of(play_vector(sync(make, 1, mode), corridor.policy(), 30, seed=1)) == results_of(usual)
    longer = play(make(), corridor.policy(), 30, 1, horizon=12)
    assert longer.steps.tolist() == [12] * 30 and longer.fallbacks == 30 * 7  # the model has a horizon of five
    assert results_of(play_vector(sync(make, 1, mode), corridor.policy(), 30, 1, 12)) == results_of(longer)


class Own(VectorEnv[Any, Any, Any]):
    """A vector environment that is not one of Gymnasium's classes."""

    def __init__(self, inner: SyncVectorEnv, mode: AutoresetMode | None) -> None:
        self.inner, self.num_envs, self.metadata = inner, inner.num_envs, {"autoreset_mode": mode} if mode else {}
        self.single_action_space, self.action_space = inner.single_action_space, inner.action_space
        self.single_observation_space, self.observation_space = inner.single_observation_space, inner.observation_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return self.inner.reset(seed=seed, options=options)

    def step(self, actions: Any) -> Any:
        return self.inner.step(actions)


@EACH_MODE
def test_play_vector_works_with_other_vector_environments(gambler: Model, mode: AutoresetMode) -> None:
    expected = results_of(play_vector(sync(Lottery, 4), gambler.policy(), 40, seed=1))
    assert results_of(play_vector(Own(sync(Lottery, 4, mode), mode), gambler.policy(), 40, seed=1)) == expected
    if mode is DISABLED:
        assert play_vector(Own(sync(Lottery, 4, mode), mode), gambler.policy(), 40, 1, 2).steps.max() == 2
    else:
        with pytest.raises(SufficeError, match=r"longer than the horizon.*TimeLimit"):
            play_vector(Own(sync(Lottery, 4, mode), mode), gambler.policy(), 40, 1, 2)


class NamedRecall(Recall):
    """The same environment with named features in another order, and one that the model does not use."""

    observation_space = Dict(f1=Discrete(9), f0=Discrete(9), colour=Text(5))

    def seen(self, cue: int) -> Any:
        return {"f1": self.clock, "f0": cue, "colour": "red"}


def log_by_hand(env: gymnasium.Env[Any, Any], n: int) -> list[Any]:
    env.action_space.seed(0)
    log = []
    for seed in range(n):
        episode: list[Any] = [(None, tuple(plain(v) for v in env.reset(seed=seed)[0].tolist()), 0.0)]
        over = False
        while not over:
            action = env.action_space.sample()
            observation, reward, over, _, _ = env.step(action)
            seen = None if over else tuple(plain(v) for v in observation.tolist())
            episode.append((int(action), seen, reward))
        log.append(episode)
    return log


@pytest.fixture(scope="module")
def recall() -> Model:
    return learned(from_values(log_by_hand(Recall(), 500)))


def test_play_works_in_an_environment_of_another_package(recall: Model) -> None:
    assert recall.rdp.alphabet.actions == (2, 3) and (5, 0) in recall.rdp.alphabet.observations
    for env in (Recall(), NamedRecall(), TimeLimit(Recall(), 5)):
        assert results_of(play(env, recall.policy(), 50, seed=1)) == ([1.0] * 50, [2] * 50, [True] * 50, 0, (0.0, 1.0))
    for envs in (sync(Recall, 3, SAME), sync(NamedRecall, 3), asynchronous(Recall, 2), asynchronous(NamedRecall, 2)):
        assert play_vector(envs, recall.policy(), 51, seed=1).returns.tolist() == [1.0] * 51
        envs.close()


def test_play_works_with_text_observations() -> None:
    class Parrot(Recall):
        action_space, observation_space = Text(5), Text(5)

        def step(self, action: Any) -> Any:
            return "again", float(action == "hello"), True, False, {}

        def seen(self, cue: int) -> Any:
            return "hello?"

    log = [[(None, ("hello?",), 0.0), (word, None, float(word == "hello"))] for word in ("hello", "bye")]
    model = learned(from_values(log * 200))
    assert play(Parrot(), model.policy(), 5, seed=1).returns.tolist() == [1.0] * 5
    assert play_vector(sync(Parrot, 2), model.policy(), 5, seed=1).returns.tolist() == [1.0] * 5


def test_play_and_automaton_state_bin_features_as_the_model_does() -> None:
    """Values below 5 are encoded as 0, others as 1, in the wrapper and in the policy."""
    log = [[(a, o and (int(o[0] >= 5), o[1]), r) for a, o, r in episode] for episode in log_by_hand(Recall(), 500)]
    model = learned(from_values(log), encoder=Encoder.of_features(("f0", "f1"), {"f0": Bins((5.0,))}))
    assert play(Recall(), model.policy(), 50, seed=1).returns.tolist() == [1.0] * 50
    for follower in (model, model.policy()):
        env = AutomatonState(Recall(), follower)
        for seed in range(9):
            seen = env.reset(seed=seed)[0]
            assert seen["state"] == model.rdp.run(((None, (int(seen["observation"][0] >= 5), 0)),))
        assert env.fallbacks == 0


def flattened() -> gymnasium.Env[Any, Any]:
    return FlattenObservation(DomainEnv(TMaze(), 5))


@pytest.mark.parametrize(
    ("actions", "observation", "make", "sides"),
    [
        (
            ("up",),
            (0, 0, 1),
            partial(DomainEnv, TMaze()),
            ["up and features f0, f1, f2", "E, N, S, W and features bit1"],
        ),
        (("E",), (0, 0, 1), partial(DomainEnv, TMaze()), ["E and features f0, f1, f2", "bit1, bit2, bit3"]),
        ((0, 1), (0, 0, 1), partial(DomainEnv, TMaze()), ["actions 0, 1 and features f0, f1", "actions E, N, S, W"]),
        (("E",), (0, 0, 1), flattened, ["actions E and", "actions Discrete(4) and observations Box("]),
        ((0, 2), (0, 0), Recall, ["actions 0, 2 and", "actions Discrete(2, start=2) and observations Box(0.0, 9.0"]),
        (("a",), (0, 0), Recall, ["actions a and", "actions Discrete(2, start=2)"]),
        ((2, 3), (0, 0, 0), Recall, ["features f0, f1, f2", "observations Box(0.0, 9.0, (2,), float32)"]),
        ((2, 3), (0,), Recall, ["features f0,", "observations Box"]),
        ((2, 3), (0, 0, 0, 0), NamedRecall, ["features f0, f1, f2, f3", "observations Dict('f1': Discrete(9)"]),
    ],
)
def test_play_refuses_environments_of_other_spaces(actions: Any, observation: Any, make: Any, sides: list[str]) -> None:
    model = of_values(actions, observation)
    attempts: list[Callable[[], Any]] = [
        lambda: play(make(), model.policy(), 1),
        lambda: play_vector(sync(make), model.policy(), 1),
        lambda: AutomatonState(make(), model),
    ]
    for attempt in attempts:
        with pytest.raises(SufficeError, match=r"\. Use a model learned from its episodes\.$") as caught:
            attempt()
        assert all(side in str(caught.value) for side in sides) and "\n" not in str(caught.value)


def test_play_refuses_the_policy_of_another_domain(corridor: Model, maze: Model) -> None:
    ours, theirs = "actions 0, 1 and features row, column, guard", "actions E, N, S, W and features bit1, bit2, bit3"
    unfit = "the model does not fit the environment"
    envs = asynchronous(partial(DomainEnv, TMaze(), 5), 2)
    for attempt in (
        lambda: play(DomainEnv(TMaze(), 5), corridor.policy(), 1),
        lambda: VectorPolicy(envs, corridor.policy()),
    ):
        with pytest.raises(SufficeError, match=f"^{unfit}: it has {ours}, the environment has {theirs}. Use"):
            attempt()
    assert play_vector(envs, maze.policy(), 4, seed=1).returns.tolist() == [4.0] * 4  # the workers still run
    envs.close()
    with pytest.raises(SufficeError, match=f"^{unfit}: it has {theirs}, the environment has {ours}. Use"):
        AutomatonState(DomainEnv(Corridor(), 5), maze)


def test_play_and_play_vector_refuse_invalid_arguments(gambler: Model) -> None:
    policy = gambler.policy()
    for wrong, complaint in (
        (lambda: play(sync(Lottery), policy, 1), "Use play_vector"),  # type: ignore[arg-type]
        (lambda: play_vector(Lottery(), policy, 1), "make_vec, or use play"),  # type: ignore[arg-type]
        (lambda: play(Lottery(), policy, 0), "episodes=0 leaves nothing to play. Use 1 or more"),
        (lambda: play_vector(sync(Lottery), policy, 1, horizon=0), "horizon=0 leaves no action. Use 1 or more"),
        (lambda: play_vector(Own(sync(Lottery), None), policy, 1), "to a gymnasium.vector.AutoresetMode"),
    ):
        with pytest.raises(SufficeError, match=complaint):
            wrong()


def test_play_reports_mistakes_in_one_line(gambler: Model) -> None:
    envs, policy = sync(Lottery, 4), gambler.policy()
    for wrong, complaint in (
        (lambda: play("Lottery-v0", policy, 1), r"Make it first: gymnasium.make\('Lottery-v0'\)\.$"),  # type: ignore[arg-type]
        (lambda: play(Lottery(), gambler, 1), r"type Model, not a policy\. Pass model.policy\(\)\.$"),  # type: ignore[arg-type]
        (lambda: play_vector(envs, gambler, 1), r"Pass model.policy\(\)\.$"),  # type: ignore[arg-type]
        (lambda: VectorPolicy(envs, gambler), r"Pass model.policy\(\)\.$"),  # type: ignore[arg-type]
        (lambda: play(Lottery(), policy, 1.5), r"^episodes=1\.5 is not a whole number"),  # type: ignore[arg-type]
        (lambda: AutomatonState(Lottery(), "c.model"), r"suffice.load\('c.model'\) returns\.$"),  # type: ignore[arg-type]
        (lambda: AutomatonState(Lottery(), None), "type NoneType, not a model"),  # type: ignore[arg-type]
        (lambda: AutomatonState(envs, gambler), "Wrap each sub-environment"),  # type: ignore[arg-type]
        (lambda: VectorPolicy(envs, policy).act(np.zeros(3, int)), r"not a batch for 4 .* what envs.reset\(\)"),
        (lambda: VectorPolicy(envs, policy).act(None), "not a batch for 4 sub-environments"),
    ):
        with pytest.raises(SufficeError, match=complaint) as caught:
            wrong()
        assert "\n" not in str(caught.value)


def test_play_vector_refuses_rewards_that_are_not_numbers(gambler: Model) -> None:
    class Broken(Lottery):
        def step(self, action: Any) -> Any:
            seen, _, *rest = super().step(action)
            return seen, np.nan, *rest

    with pytest.raises(SufficeError, match=r"^sub-environment 0, episode 0, step 0: the reward .*nan"):
        play_vector(sync(Broken, 2), gambler.policy(), 4, seed=1)


def test_play_matches_features_by_name(recall: Model) -> None:
    """Equal numbers of features are not enough where the observations have names."""

    class Renamed(NamedRecall):
        observation_space = Dict(f1=Discrete(9), cue=Discrete(9))

        def seen(self, cue: int) -> Any:
            return {"f1": self.clock, "cue": cue}

    with pytest.raises(SufficeError, match=r"it has actions 2, 3 and features f0, f1, the environment has .* 'cue'"):
        play(Renamed(), recall.policy(), 1)


def test_played_repr_shows_standard_error_and_fallbacks(hasty: Model) -> None:
    played = Played.of([[1.0], [0.0, 0.0], [2.0]], fallbacks=1)
    assert repr(played) == "<Played: 3 episodes, mean return 1 ± 0.58, 25.00% of steps fell back>"
    assert repr(Played.of([[0.1, 0.2], [0.3]], 0)) == "<Played: 2 episodes, mean return 0.3>"
    assert repr(Played.of([[1.0, 1.0]], 0)) == "<Played: 1 episode, mean return 2>"


# Stationary automata


@pytest.fixture(scope="module")
def endless() -> Model:
    """A stationary model of episodes of six steps, with a discounted plan."""
    return learn(logged(Corridor(), 2000, 6), stationary=True, planning=Planning(discount=0.9))


@EACH_MODE
def test_play_of_a_discounted_plan_continues_until_the_environment_ends(endless: Model, mode: AutoresetMode) -> None:
    make = partial(DomainEnv, Corridor(), 20)
    played = play(make(), endless.policy(), 10, seed=1)
    assert results_of(played)[:2] == ([20.0] * 10, [20] * 10) and played.fallbacks == 0
    assert results_of(play_vector(sync(make, 1, mode), endless.policy(), 10, seed=1)) == results_of(played)
    assert play(make(), endless.policy(), 10, 1, horizon=9).steps.tolist() == [9] * 10


def test_play_of_a_discounted_plan_refuses_an_endless_environment(
    endless: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(requests, "LONGEST_EPISODE", 50)
    make = partial(DomainEnv, Corridor(), 200)
    for attempt in (
        lambda: play(make(), endless.policy(), 1),
        lambda: play_vector(sync(make, 2), endless.policy(), 3),
    ):
        with pytest.raises(SufficeError, match=r"episode 0 has not ended after 50 steps.*horizon="):
            attempt()


def test_automaton_state_of_a_stationary_model_has_no_horizon(endless: Model) -> None:
    env, inner = AutomatonState(DomainEnv(Corridor(), 20), endless), DomainEnv(Corridor(), 20)
    policy = endless.policy()
    for seed in range(20):
        policy.reset()
        begun, *steps = wander(env, seed)
        policy.observe(None, inner.features_of(begun[1]["observation"]))
        for action, shown, terminated, _ in steps:
            if not terminated:
                policy.observe(inner.alphabet.actions[action], inner.features_of(shown["observation"]))
                assert shown["state"] == policy.state
