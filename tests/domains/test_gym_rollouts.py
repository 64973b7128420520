"""Policies in Gymnasium environments: one or many at once, in every autoreset mode."""

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
from suffice.domains.exact.values import evaluate
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
    """Knows the way."""
    return maze_model()


@pytest.fixture(scope="module")
def hasty() -> Model:
    """Knows so little that it mostly behaves as its log did."""
    return hasty_model()


@pytest.fixture(scope="module")
def corridor() -> Model:
    return corridor_model()


def told(played: Played) -> tuple[Any, ...]:
    arrays = (played.returns.tolist(), played.steps.tolist(), played.success.tolist())
    return *arrays, played.fallbacks, played.rewards


# Values


def test_the_t_maze_is_solved(maze: Model) -> None:
    for env in (DomainEnv(TMaze(), 5), TimeLimit(RecordEpisodeStatistics(gymnasium.make("suffice/TMaze-v0")), 9)):
        played = play(env, maze.policy(), 100, seed=1)
        assert told(played) == ([4.0] * 100, [5] * 100, [True] * 100, 0, (0.0, 4.0))
    assert repr(played) == "<Played: 100 episodes, mean return 4>"


@pytest.mark.parametrize("mode", [None, *AutoresetMode], ids=str)
def test_means_agree_with_the_exact_value(hasty: Model, mode: AutoresetMode | None) -> None:
    model = EARLY.model(6)
    exact = evaluate(model, Controller.on_automaton(hasty.rdp, model.alphabet, hasty.required_plan().actions), 6)
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


# Many at once


def test_every_mode_plays_the_same_episodes(hasty: Model) -> None:
    expected = told(play_vector(sync(early), hasty.policy(), 60, seed=5))
    for mode in AutoresetMode:
        assert told(play_vector(sync(early, mode=mode), hasty.policy(), 60, seed=5)) == expected
    for mode, shared in product(AutoresetMode, (True, False)):
        envs = asynchronous(early, mode=mode, shared_memory=shared)
        assert told(play_vector(envs, hasty.policy(), 60, seed=5)) == expected
        envs.close()


@EACH_MODE
@pytest.mark.parametrize("horizon", [None, 2, 4, 6, 9])
def test_one_of_many_plays_as_one_alone(hasty: Model, mode: AutoresetMode, horizon: int | None) -> None:
    alone = play(early(), hasty.policy(), 100, 3, horizon)
    assert told(play_vector(sync(early, 1, mode), hasty.policy(), 100, 3, horizon)) == told(alone)
    assert alone.steps.max() <= min(horizon or 6, 6) and alone.steps.min() == min(horizon or 6, 3)


@EACH_MODE
def test_make_vec_and_vector_wrappers(maze: Model, mode: AutoresetMode) -> None:
    for how in ("sync", "async"):
        envs = gymnasium.make_vec(
            "suffice/TMaze-v0", 2, how, {"autoreset_mode": mode}, [RecordEpisodeStatistics], horizon=5
        )
        counting = gymnasium.wrappers.vector.RecordEpisodeStatistics(envs, stats_key="all")
        assert play_vector(counting, maze.policy(), 20, seed=1).returns.tolist() == [4.0] * 20
        assert set(counting.return_queue) == {4.0}
        envs.close()


def returns_by_hand(envs: SyncVectorEnv, policy: VectorPolicy, steps: int) -> list[float]:
    """As the docstring of VectorPolicy has it."""
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
def test_by_hand(maze: Model, mode: AutoresetMode) -> None:
    envs = sync(partial(DomainEnv, TMaze(), 5), 4, mode)
    policy = VectorPolicy(envs, maze.policy(), seed=1)
    assert returns_by_hand(envs, policy, 5) == [4.0] * 4
    assert policy.resting.all() == (mode is NEXT)  # which a reset undoes
    # in 60 steps twelve episodes, or ten where a sixth step begins the next
    assert returns_by_hand(envs, policy, 60) == [4.0] * 4 * (10 if mode is NEXT else 12)
    assert policy.fallbacks == 0


class Lottery(gymnasium.Env[Any, Any]):
    """Nobody wins in the one step of a short episode; a long one wins after three. Nothing depends on the action."""

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
def test_short_episodes_are_not_preferred(gambler: Model, mode: AutoresetMode) -> None:
    played = play_vector(sync(Lottery, 8, mode), gambler.policy(), 19, seed=100)
    shares = [3, 3, 3, 2, 2, 2, 2, 2]
    alone = [play(Lottery(), gambler.policy(), n, seed=100 + i) for i, n in enumerate(shares)]
    assert played.steps.tolist() == np.concatenate([one.steps for one in alone]).tolist()
    assert played.returns.tolist() == np.concatenate([one.returns for one in alone]).tolist()
    assert set(played.steps.tolist()) == {1, 3} and played.success.tolist() == (played.steps == 3).tolist()
    many = play_vector(
        sync(Lottery, 500, mode), gambler.policy(), 500, seed=0
    )  # who counts the first 500 finds a third
    assert abs(many.success.mean() - 0.5) < 4 * 0.5 / np.sqrt(500)


def test_fewer_episodes_than_environments(gambler: Model) -> None:
    played = play_vector(sync(Lottery, 5), gambler.policy(), 2, seed=1)
    assert len(played.returns) == 2


@EACH_MODE
def test_only_episodes_that_count_fall_back(mode: AutoresetMode) -> None:
    """The model knows one step only, so that each long episode falls back twice."""
    policy = of_values((0, 1), (0,)).policy()
    played = play_vector(sync(Lottery, 7, mode), policy, 10, seed=1, horizon=3)
    assert played.fallbacks == 2 * played.success.sum() > 0


# Seeds


def test_the_same_seed_gives_the_same_episodes(hasty: Model) -> None:
    policy = hasty.policy()
    for once in (
        lambda seed: told(play(early(), policy, 50, seed)),
        lambda seed: told(play_vector(sync(early), policy, 50, seed)),
    ):
        assert once(7) == once(7) != once(8)
    assert (policy.steps, policy.fallbacks) == (0, 0)  # copies play
    policy.reset()
    policy.act((9, 9, 9))
    assert play(early(), policy, 50, seed=7).fallbacks == 0 < policy.fallbacks  # and count anew


def test_without_a_seed_randomness_goes_on(hasty: Model) -> None:
    def twice() -> list[Any]:
        env, policy = early(), hasty.policy(np.random.default_rng(3))
        env.reset(seed=1)
        return [told(play(env, policy, 50)), told(play(env, policy, 50))]

    assert twice() == twice() and twice()[0] != twice()[1]


def test_environment_and_policy_do_not_share_their_luck(corridor: Model) -> None:
    env = DomainEnv(Corridor(), 5)
    player = VectorPolicy(sync(lambda: env, 1), corridor.policy(), seed=3).policies[0]
    env.reset(seed=3)
    assert env.np_random.random() != player._rng.random()


# Horizons


@EACH_MODE
def test_an_environment_that_goes_on_beyond_the_horizon(corridor: Model, mode: AutoresetMode) -> None:
    make = partial(DomainEnv, Corridor(), 12)
    usual = play(make(), corridor.policy(), 30, seed=1)
    assert told(usual)[:2] == ([5.0] * 30, [5] * 30) and usual.fallbacks == 0
    assert told(play_vector(sync(make, 1, mode), corridor.policy(), 30, seed=1)) == told(usual)
    longer = play(make(), corridor.policy(), 30, 1, horizon=12)
    assert longer.steps.tolist() == [12] * 30 and longer.fallbacks == 30 * 7  # the model ends after five
    assert told(play_vector(sync(make, 1, mode), corridor.policy(), 30, 1, 12)) == told(longer)


class Own(VectorEnv[Any, Any, Any]):
    """A vector environment that is not Gymnasium's."""

    def __init__(self, inner: SyncVectorEnv, mode: AutoresetMode | None) -> None:
        self.inner, self.num_envs, self.metadata = inner, inner.num_envs, {"autoreset_mode": mode} if mode else {}
        self.single_action_space, self.action_space = inner.single_action_space, inner.action_space
        self.single_observation_space, self.observation_space = inner.single_observation_space, inner.observation_space

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return self.inner.reset(seed=seed, options=options)

    def step(self, actions: Any) -> Any:
        return self.inner.step(actions)


@EACH_MODE
def test_other_vector_environments(gambler: Model, mode: AutoresetMode) -> None:
    expected = told(play_vector(sync(Lottery, 4), gambler.policy(), 40, seed=1))
    assert told(play_vector(Own(sync(Lottery, 4, mode), mode), gambler.policy(), 40, seed=1)) == expected
    if mode is DISABLED:
        assert play_vector(Own(sync(Lottery, 4, mode), mode), gambler.policy(), 40, 1, 2).steps.max() == 2
    else:
        with pytest.raises(SufficeError, match="longer than the horizon; limit them"):
            play_vector(Own(sync(Lottery, 4, mode), mode), gambler.policy(), 40, 1, 2)


class NamedRecall(Recall):
    """The same with names, in another order, and with something that the model does not read."""

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


def test_a_foreign_environment(recall: Model) -> None:
    assert recall.rdp.alphabet.actions == (2, 3) and (5, 0) in recall.rdp.alphabet.observations
    for env in (Recall(), NamedRecall(), TimeLimit(Recall(), 5)):
        assert told(play(env, recall.policy(), 50, seed=1)) == ([1.0] * 50, [2] * 50, [True] * 50, 0, (0.0, 1.0))
    for envs in (sync(Recall, 3, SAME), sync(NamedRecall, 3), asynchronous(Recall, 2), asynchronous(NamedRecall, 2)):
        assert play_vector(envs, recall.policy(), 51, seed=1).returns.tolist() == [1.0] * 51
        envs.close()


def test_an_environment_that_says_strings() -> None:
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


def test_binned_features() -> None:
    """A value below 5 is called 0, others 1; the wrapper reads it as the policy does."""
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
def test_what_cannot_be_the_models_is_refused(actions: Any, observation: Any, make: Any, sides: list[str]) -> None:
    model = of_values(actions, observation)
    attempts: list[Callable[[], Any]] = [
        lambda: play(make(), model.policy(), 1),
        lambda: play_vector(sync(make), model.policy(), 1),
        lambda: AutomatonState(make(), model),
    ]
    for attempt in attempts:
        with pytest.raises(SufficeError, match=r"; take a model learned from its episodes$") as caught:
            attempt()
        assert all(side in str(caught.value) for side in sides) and "\n" not in str(caught.value)


def test_the_policy_of_another_domain_is_refused(corridor: Model, maze: Model) -> None:
    ours, theirs = "actions 0, 1 and features row, column, guard", "actions E, N, S, W and features bit1, bit2, bit3"
    envs = asynchronous(partial(DomainEnv, TMaze(), 5), 2)
    for attempt in (
        lambda: play(DomainEnv(TMaze(), 5), corridor.policy(), 1),
        lambda: VectorPolicy(envs, corridor.policy()),
    ):
        with pytest.raises(SufficeError, match=f"^the model has {ours}, the environment {theirs}; take"):
            attempt()
    assert play_vector(envs, maze.policy(), 4, seed=1).returns.tolist() == [4.0] * 4  # no worker was harmed
    envs.close()
    with pytest.raises(SufficeError, match=f"^the model has {theirs}, the environment {ours}"):
        AutomatonState(DomainEnv(Corridor(), 5), maze)


def test_what_cannot_be_played_is_refused(gambler: Model) -> None:
    policy = gambler.policy()
    for wrong, complaint in (
        (lambda: play(sync(Lottery), policy, 1), "use play_vector"),  # type: ignore[arg-type]
        (lambda: play_vector(Lottery(), policy, 1), "make_vec, or use play"),  # type: ignore[arg-type]
        (lambda: play(Lottery(), policy, 0), "0 episodes cannot be played; ask for 1 or more"),
        (lambda: play_vector(sync(Lottery), policy, 1, horizon=0), "a horizon of 0 leaves no action; use 1 or more"),
        (lambda: play_vector(Own(sync(Lottery), None), policy, 1), "to an AutoresetMode of gymnasium"),
    ):
        with pytest.raises(SufficeError, match=complaint):
            wrong()


def test_mistakes_are_told_in_one_line(gambler: Model) -> None:
    envs, policy = sync(Lottery, 4), gambler.policy()
    for wrong, complaint in (
        (lambda: play("Lottery-v0", policy, 1), r"make it first: gymnasium.make\('Lottery-v0'\)$"),  # type: ignore[arg-type]
        (lambda: play(Lottery(), gambler, 1), r"not a Model: give model.policy\(\)$"),  # type: ignore[arg-type]
        (lambda: play_vector(envs, gambler, 1), r"give model.policy\(\)$"),  # type: ignore[arg-type]
        (lambda: VectorPolicy(envs, gambler), r"give model.policy\(\)$"),  # type: ignore[arg-type]
        (lambda: play(Lottery(), policy, 1.5), "^episodes is a whole number, not 1.5$"),  # type: ignore[arg-type]
        (lambda: AutomatonState(Lottery(), "c.model"), r"suffice.load\('c.model'\) returns$"),  # type: ignore[arg-type]
        (lambda: AutomatonState(Lottery(), None), "^a NoneType is no model"),  # type: ignore[arg-type]
        (lambda: AutomatonState(envs, gambler), "wrap each of several on its own"),  # type: ignore[arg-type]
        (lambda: VectorPolicy(envs, policy).act(np.zeros(3, int)), r"no observations of 4 .* what envs.reset\(\)"),
        (lambda: VectorPolicy(envs, policy).act(None), "no observations of 4 sub-environments"),
    ):
        with pytest.raises(SufficeError, match=complaint) as caught:
            wrong()
        assert "\n" not in str(caught.value)


def test_a_reward_that_is_no_number_is_refused_in_vectors_too(gambler: Model) -> None:
    class Broken(Lottery):
        def step(self, action: Any) -> Any:
            seen, _, *rest = super().step(action)
            return seen, np.nan, *rest

    with pytest.raises(SufficeError, match=r"^sub-environment 0, episode 0, step 0: the reward is .*nan"):
        play_vector(sync(Broken, 2), gambler.policy(), 4, seed=1)


def test_features_of_other_names_are_other_features(recall: Model) -> None:
    """Even where there are as many of them; without names nothing can be known."""

    class Renamed(NamedRecall):
        observation_space = Dict(f1=Discrete(9), cue=Discrete(9))

        def seen(self, cue: int) -> Any:
            return {"f1": self.clock, "cue": cue}

    with pytest.raises(SufficeError, match=r"the model has .* features f0, f1, the environment .* 'cue'"):
        play(Renamed(), recall.policy(), 1)


def test_what_was_played_says_how_sure_it_is_and_how_often_it_was_lost(hasty: Model) -> None:
    played = Played.of([[1.0], [0.0, 0.0], [2.0]], fallbacks=1)
    assert repr(played) == "<Played: 3 episodes, mean return 1 ± 0.58, 25.00% of steps fell back>"
    assert repr(Played.of([[0.1, 0.2], [0.3]], 0)) == "<Played: 2 episodes, mean return 0.3>"
    assert repr(Played.of([[1.0, 1.0]], 0)) == "<Played: 1 episode, mean return 2>"


# Stationary automata


@pytest.fixture(scope="module")
def endless() -> Model:
    """Of episodes of six steps, with a discounted plan for ever."""
    return learn(logged(Corridor(), 2000, 6), stationary=True, planning=Planning(discount=0.9))


@EACH_MODE
def test_a_discounted_plan_goes_on_until_the_environment_ends_it(endless: Model, mode: AutoresetMode) -> None:
    make = partial(DomainEnv, Corridor(), 20)
    played = play(make(), endless.policy(), 10, seed=1)
    assert told(played)[:2] == ([20.0] * 10, [20] * 10) and played.fallbacks == 0
    assert told(play_vector(sync(make, 1, mode), endless.policy(), 10, seed=1)) == told(played)
    assert play(make(), endless.policy(), 10, 1, horizon=9).steps.tolist() == [9] * 10


def test_a_plan_for_ever_in_an_environment_without_an_end(endless: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(requests, "LONGEST_EPISODE", 50)
    make = partial(DomainEnv, Corridor(), 200)
    for attempt in (
        lambda: play(make(), endless.policy(), 1),
        lambda: play_vector(sync(make, 2), endless.policy(), 3),
    ):
        with pytest.raises(SufficeError, match="episode 0 has not ended after 50 steps; cut episodes with horizon="):
            attempt()


def test_a_stationary_automaton_knows_no_horizon(endless: Model) -> None:
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
