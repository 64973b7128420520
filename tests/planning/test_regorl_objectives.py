"""`regorl` with groups of dependent episodes, and with objectives other than the return."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import suffice
from suffice.data.episodes import Episodes
from suffice.domains.registry import make
from suffice.errors import SufficeError
from suffice.planning.planner import Planning
from suffice.planning.regorl import Split, regorl
from support.samples import from_values


def noise_of_persons(seed: int, n: int = 40, each: int = 25) -> Episodes:
    """Return episodes in which actions have no effect, but persons differ in their rewards and in their actions."""
    rng = np.random.default_rng(seed)
    lucky, likes = (np.repeat(rng.random(n), each)[:, None] for _ in range(2))
    rewards, actions = ((rng.random((n * each, 2)) < chance).astype(int).tolist() for chance in (lucky, likes))
    seen = rng.integers(2, size=(n * each, 2)).tolist()
    steps = [
        [(None, (o[0],), 0), (a[0], (o[1],), r[0]), (a[1], None, r[1])]
        for o, a, r in zip(seen, actions, rewards, strict=True)
    ]
    return replace(from_values(steps), group=np.repeat(np.arange(n), each).astype(np.uint64))


@pytest.mark.parametrize("stationary", [False, True])
def test_regorl_follows_plans_on_noise_of_groups_only_if_it_does_not_know_them(stationary: bool) -> None:
    """At most 2.5 % with groups, up to 28 % without; 40 of 1,000 episodes count in the first case."""
    runs = 40
    follows = {True: 0, False: 0}
    for seed in range(runs):
        episodes = noise_of_persons(seed)
        for grouped in follows:
            used = episodes if grouped else replace(episodes, group=None)
            follows[grouped] += regorl(used, stationary=stationary).verdict.code == "follow"
    assert follows[True] <= 4, "5 of 40 have probability 0.003 at a level of 0.025"
    assert follows[False] >= 4, "without groups the level does not hold"


def test_regorl_judges_plans_by_folds_of_whole_groups_or_not_at_all() -> None:
    episodes = noise_of_persons(1, n=5, each=40)
    assert regorl(episodes).verdict.reasons == ("too_few_episodes",)
    assert regorl(replace(episodes, group=None)).judged is not None


@pytest.mark.parametrize("stationary", [False, True])
def test_regorl_predicts_what_the_objective_says(stationary: bool) -> None:
    """In the corridor every decision of the best plan has reward 1."""
    log = make("corridor").simulate(600, 5, np.random.default_rng(0))
    discounted = regorl(log, planning=Planning(objective="discounted", discount=0.5), stationary=stationary)
    per_step = regorl(log, planning=Planning(objective="per-step"), stationary=stationary)
    plain = regorl(log, stationary=stationary)
    assert discounted.prediction.value == pytest.approx(sum(0.5**t for t in range(5)), abs=0.02)
    assert per_step.prediction.value == pytest.approx(plain.prediction.value / 5)
    assert per_step.prediction.error == pytest.approx(plain.prediction.error / 5, rel=1e-3)
    assert per_step.behaviour.value == pytest.approx(plain.behaviour.value / 5)
    assert per_step.behaviour.error == pytest.approx(plain.behaviour.error / 5)
    assert (discounted.verdict.code, per_step.verdict.code) == ("follow", "follow")
    assert "reward per step" in per_step.sentence and "discounted return" in discounted.sentence


@pytest.mark.parametrize("choice", [{"split": Split()}, {"planning": "subsampled"}])
def test_regorl_refuses_other_objectives_where_only_returns_are_proved(choice: dict[str, Any]) -> None:
    log = make("corridor").simulate(60, 5, np.random.default_rng(0))
    with pytest.raises(SufficeError, match="proved for returns"):
        suffice.learn(log, objective="per-step", **choice)
