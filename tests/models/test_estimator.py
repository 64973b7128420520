"""`Learner`: the estimator learns, predicts and scores like `learn`, the policy and off-policy evaluation."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suffice
from suffice import (
    Episodes,
    Learner,
    LogError,
    Model,
    ModelError,
    Planning,
    Settings,
    SettingsError,
    SufficeError,
    make,
    read_log,
    simulate,
    write_log,
)
from support.samples import to_values

HORIZON = 5


def corridor(n: int, seed: int = 0) -> Episodes:
    return simulate(make("corridor").model(HORIZON), n, HORIZON, np.random.default_rng(seed))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("estimator")
    for name, seed in (("old", 1), ("new", 2)):
        write_log(corridor(600, seed), folder / f"{name}.parquet")
    rng = np.random.default_rng(3)
    rows = ["episode,step,heat,action,reward"]
    for episode in range(400):
        for step in range(3):
            heat, action = rng.normal(10 * (episode % 2), 1), rng.integers(2)
            rows.append(f"{episode},{step},{heat:.3f},{'ab'[action]},{int(action == episode % 2)}")
    (folder / "heat.csv").write_text("\n".join(rows))
    return folder


def saved(model: Model) -> bytes:
    model.save("python.model")
    return Path("python.model").read_bytes()


def test_learner_returns_parameters_as_given() -> None:
    settings = Settings(delta=0.01)
    learner = Learner(settings=settings, horizon=4, bins={"x": 3})
    parameters = learner.get_params()
    clone = Learner(**parameters)  # what sklearn.base.clone does
    assert clone is not learner and all(clone.get_params()[name] is value for name, value in parameters.items())
    assert repr(Learner()) == "Learner()" and repr(clone).startswith("Learner(settings=Settings(")
    assert learner.set_params(horizon=5, seed=2) is learner and (learner.horizon, learner.seed) == (5, 2)
    with pytest.raises(
        SettingsError,
        match=r"'depth' is not a parameter of Learner\. Did you mean 'delta'\? Choose from stationary, delta",
    ):
        learner.set_params(depth=3)


def test_learner_fits_the_same_model_as_learn(here: Path) -> None:
    learner = Learner(delta=0.01)
    with pytest.raises(ModelError, match="fit"):
        _ = learner.model_
    assert learner.fit("old.parquet") is learner
    assert saved(learner.model_) == saved(suffice.learn("old.parquet", delta=0.01))
    assert learner.n_states_ == learner.model_.rdp.n_states
    learner.partial_fit("new.parquet")
    assert saved(learner.model_) == saved(suffice.learn(["old.parquet", "new.parquet"], delta=0.01))
    learner.fit("old.parquet")
    assert learner.model_.about.episodes == 600


def test_partial_fit_uses_the_bins_of_the_first_data(here: Path) -> None:
    learner = Learner(bins={"heat": 2}).partial_fit("heat.csv")
    edges = learner.model_.bins
    assert learner.partial_fit("heat.csv").model_.bins == edges
    assert learner.model_.about.episodes == 800


@pytest.mark.parametrize("chosen", [{}, {"stationary": True}, {"stationary": True, "planning": Planning(discount=0.9)}])
def test_predict_returns_the_actions_of_the_policy(here: Path, chosen: dict[str, Any]) -> None:
    learner = Learner(**chosen).fit("old.parquet")
    policy = learner.model_.policy(deterministic=True)
    expected = []
    for steps in to_values(corridor(40, seed=9)):
        policy.reset()
        for action, observation, _ in steps[:-1]:
            policy.observe(action, observation)
            expected.append(policy.act())
    found = learner.predict(corridor(40, seed=9))
    assert found.tolist() == expected and len(found) == 40 * HORIZON


def test_predict_orders_by_episode_and_step_without_padding(here: Path) -> None:
    learner = Learner(bins={"heat": [5.0]}).fit("heat.csv")
    lines = Path("heat.csv").read_text().splitlines()
    kept = [line for line in lines[1:] if not line.startswith(("1,1,", "1,2,"))]  # episode 1 ends early
    Path("some.csv").write_text("\n".join([lines[0], *reversed(kept)]))
    found = learner.predict("some.csv")
    assert len(found) == len(kept) and found[3] == "b" and found[4:7].tolist() == ["a"] * 3
    with pytest.raises(LogError, match="the model's heat"):
        learner.predict(corridor(5))


def test_score_estimates_the_return_of_the_plan_on_other_episodes(here: Path) -> None:
    learner = Learner().fit("old.parquet")
    assert learner.score(corridor(4000, seed=7)) == pytest.approx(5, abs=0.4)  # the optimum
    assert learner.score("new.parquet") > 4
    assert np.isnan(learner.score(corridor(3, seed=7)))  # unknown


def test_score_refuses_the_episodes_that_were_learned_from(here: Path) -> None:
    """A score on them would be biased, whether they are given as a file or as Episodes."""
    learner = Learner().fit("old.parquet")
    for same in ("old.parquet", read_log("old.parquet")):
        with pytest.raises(SettingsError, match="the episodes that the model was learned from"):
            learner.score(same)
    learner.partial_fit("new.parquet")
    with pytest.raises(SettingsError, match="Hold some out"):
        learner.score(["old.parquet", "new.parquet"])


def test_partial_fit_takes_shorter_but_not_longer_episodes(here: Path) -> None:
    """For stored episodes it is not known whether they ended at their last step or were cut there."""
    Path("short.csv").write_text("episode,step,o,action,reward,truncated\n" + "0,0,a,x,0,0\n0,1,a,x,0,1\n" * 1)
    Path("long.csv").write_text("episode,step,o,action,reward\n" + "".join(f"0,{t},a,x,1\n" for t in range(3)))
    with pytest.raises(SufficeError, match=r"3 decisions, more than the earlier ones \(2\)"):
        Learner().fit("short.csv").partial_fit("long.csv")
    with pytest.raises(SufficeError, match="cut off before the horizon 3"):
        Learner(stationary=False).fit("long.csv").partial_fit("short.csv")
    with pytest.raises(SufficeError, match=r"3 decisions, more than the plan \(2\)"):
        Learner().fit("short.csv").predict("long.csv")


def test_learner_accepts_the_parameters_of_learn(here: Path) -> None:
    learner = Learner(bound="paper", family="1,1,1", planning="greedy", observations=["row", "guard"])
    expected = suffice.learn(
        "old.parquet", bound="paper", family="1,1,1", planning="greedy", observations=["row", "guard"]
    )
    found = learner.fit("old.parquet").model_
    assert found.rdp.alphabet == expected.rdp.alphabet and suffice.compare(found.rdp, expected.rdp) is None
    assert found.about.bound == "paper" and found.about.plan is not None and found.about.plan.planner == "greedy"
    assert learner.predict("new.parquet").shape == (600 * HORIZON,)
