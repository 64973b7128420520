"""How episodes end where no column marks it: the rule, its level and power, and what the log says afterwards."""

from __future__ import annotations

from dataclasses import replace
from itertools import permutations
from typing import Any

import numpy as np
import pytest
from scipy.stats import binom

import suffice
from oracle import random_episodes
from suffice.data.ends import association, decide_ends, refuse_cut_off, whole_if_assumed
from suffice.data.episodes import Episodes
from suffice.data.logs.reading import read_log
from suffice.data.stored import Writer
from suffice.errors import SufficeError
from support.censoring import censored


def panel(rng: np.random.Generator, n: int = 300, horizon: int = 8) -> Episodes:
    """Return episodes that observation leaves at random."""
    return censored(random_episodes(rng, horizon, 2, 3, 4, 3, n), rng, 0.15)


def undecided(episodes: Episodes) -> Episodes:
    """Return episodes whose ends nothing marks: all shorter ones may be cut off."""
    decisions = episodes.lengths()
    length = np.where(decisions < episodes.horizon, decisions + 1, episodes.horizon + 1).astype(np.int32)
    return replace(episodes, length=length, report=None)


def goal_log(rng: np.random.Generator, n: int = 60, horizon: int = 6) -> list[Any]:
    """Return episodes that end with the first reward."""
    found = []
    for _ in range(n):
        steps = []
        for _ in range(horizon):
            action = ("left", "right")[rng.integers(2)]
            paid = int(action == "right" and rng.random() < 0.3)
            steps.append((int(rng.integers(3)), action, paid))
            if paid:
                break
        found.append(steps)
    return found


def test_auto_takes_random_stops_for_cut_off_at_the_stated_level() -> None:
    rng = np.random.default_rng(1)
    wrong = sum(decide_ends(panel(rng), "auto", marked=False)[1].kind != "censored" for _ in range(100))
    assert wrong <= binom.ppf(0.999, 100, 0.02)


def test_auto_takes_stops_that_rewards_predict_for_ends() -> None:
    episodes = read_log(goal_log(np.random.default_rng(0)))
    ends = episodes.report.ends
    assert (ends.kind, ends.assumed, ends.predictor, ends.cut_off) == ("terminal", True, "reward", 0)
    assert episodes.length is None and ends.shorter == int((episodes.lengths() < 6).sum())
    assert "count as ended; if they were cut off, use ends='censored'" in (ends.text or "")


def persons(rng: np.random.Generator, n: int = 20, each: int = 40, horizon: int = 5) -> tuple[Episodes, np.ndarray]:
    """Return episodes of persons who each leave at a rate of their own and mostly see a light of their own."""
    steps: list[Any] = []
    for _ in range(n):
        stop, light = rng.uniform(0.02, 0.5), int(rng.integers(3))
        for _ in range(each):
            length = 1 + next((t for t in range(horizon - 1) if rng.random() < stop), horizon - 1)
            lights = [light if rng.random() < 0.8 else int(rng.integers(3)) for _ in range(length)]
            steps.append([(seen, ("a", "b")[rng.integers(2)], int(rng.integers(2))) for seen in lights])
    return undecided(read_log(steps, ends="terminal")), np.repeat(np.arange(n, dtype=np.uint64), each)


def test_auto_takes_leaving_at_personal_rates_for_cut_off_only_with_groups() -> None:
    """Persons who leave early have a light of their own, so that the light predicts leaving within these persons."""
    rng, alone, grouped = np.random.default_rng(5), 0, 0
    for _ in range(20):
        episodes, group = persons(rng)
        alone += decide_ends(episodes, "auto", marked=False)[1].kind == "terminal"
        grouped += decide_ends(replace(episodes, group=group), "auto", marked=False)[1].kind == "terminal"
    assert alone >= 5 and grouped <= binom.ppf(0.999, 20, 0.02)


def test_decide_ends_of_copies_is_that_of_one_episode_of_each_group() -> None:
    episodes = undecided(read_log(goal_log(np.random.default_rng(0), 100)))
    copies = np.repeat(np.arange(100), 7)
    several = replace(episodes.columns(copies), group=copies.astype(np.uint64))
    one, same = (decide_ends(log, "auto", marked=False)[1] for log in (episodes, several))
    assert same.predictor == one.predictor and same.z == pytest.approx(one.z)


def test_declared_cuts_are_doubtful_where_something_predicts_them() -> None:
    steps = goal_log(np.random.default_rng(0))
    ends = read_log(steps, ends="censored").report.ends
    assert ends.doubtful and not ends.assumed and ends.predictor == "reward"
    assert "says so, but 'reward' predicts where they stop; if they ended, use ends='terminal'" in (ends.text or "")
    log, ends = decide_ends(panel(np.random.default_rng(0)), "censored", marked=False)
    assert log.censored and not ends.doubtful and ends.predictor is None and ends.text is None


def test_ends_override_the_rule_and_marks_override_ends() -> None:
    steps = goal_log(np.random.default_rng(0))
    chosen = read_log(steps, ends="censored")
    assert chosen.censored and chosen.report.ends.kind == "censored" and not chosen.report.ends.assumed
    assert np.array_equal(chosen.word, read_log(steps).word)
    assert not read_log(steps, ends="terminal").censored
    marked, ends = decide_ends(chosen, "terminal", marked=True)
    assert marked.censored and ends.kind == "marked"


def test_nothing_is_assumed_for_equal_lengths_or_tested_with_few_episodes() -> None:
    rng = np.random.default_rng(0)
    same = random_episodes(rng, 4, 2, 3, 2, 3, 40).padded(6)
    log, ends = decide_ends(undecided(same), "auto", marked=False)
    assert not log.censored and ends.kind == "horizon" and ends.text is None
    few, ends = decide_ends(panel(rng, 15), "auto", marked=False)
    assert not few.censored and ends.assumed and "too few to compare" in (ends.text or "")


def test_decide_ends_is_the_same_for_a_log_in_a_file() -> None:
    for episodes in (panel(np.random.default_rng(4)), undecided(read_log(goal_log(np.random.default_rng(0), 200)))):
        writer = Writer(episodes.horizon)
        for begin in range(0, episodes.n, 37):
            writer.add(episodes.columns(slice(begin, begin + 37)))
        here, there = (decide_ends(log, "auto", marked=False) for log in (episodes, writer.finish(1)))
        assert here[1] == there[1] and here[0].censored == there[0].censored


def test_association_has_the_exact_permutation_moments() -> None:
    """The literal version: all permutations of the columns of a small table are equally likely."""
    rows, columns = [0, 0, 1, 1, 2, 2, 2], [0, 1, 0, 0, 1, 1, 1]

    def table(columns: tuple[int, ...] | list[int]) -> np.ndarray:
        found = np.zeros((3, 2), np.int64)
        np.add.at(found, (rows, list(columns)), 1)
        return found

    def x2(counts: np.ndarray) -> float:
        share = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
        return float(((counts - share) ** 2 / share).sum())

    every = [x2(table(order)) for order in permutations(columns)]
    expected = (x2(table(columns)) - np.mean(every)) / np.std(every)
    assert association(table(columns)[None]) == pytest.approx(expected)
    twice = np.stack([table(columns)] * 2)
    assert association(twice) == pytest.approx(expected * np.sqrt(2))


def test_layers_refuse_cut_off_episodes_unless_they_were_only_assumed() -> None:
    episodes = panel(np.random.default_rng(0))
    with pytest.raises(SufficeError, match="cut off before the horizon 8, and layers need whole episodes"):
        refuse_cut_off(episodes)
    log, ends = decide_ends(episodes, "auto", marked=False)
    whole, changed = whole_if_assumed(log, ends)
    assert not whole.censored and changed.kind == "terminal" and "layers need whole episodes" in (changed.text or "")
    log, ends = decide_ends(episodes, "censored", marked=False)
    assert whole_if_assumed(log, ends)[0].censored


def test_read_log_refuses_an_unknown_choice_of_ends() -> None:
    with pytest.raises(SufficeError, match=r"ends='never' is not a choice\. Choose 'terminal', 'censored' or 'auto'\."):
        read_log(goal_log(np.random.default_rng(0)), ends="never")  # type: ignore[arg-type]


def stopped_log(n: int, effect: float, costs: bool) -> dict[str, Any]:
    """Return a log whose rewards depend a little on the action or, as costs, whose episodes action 1 stops."""
    rng, rows = np.random.default_rng(1), []
    for episode in range(n):
        for step in range(int(rng.integers(2, 7)) if not costs else 6):
            seen, action = rng.integers(0, 2, 2).tolist()
            rows.append((episode, step, seen, action, -1.0 if costs else float(rng.random() < 0.5 + effect * action)))
            if costs and action and rng.random() < 0.6:
                break
    return dict(zip(("episode", "step", "seen", "action", "reward"), map(list, zip(*rows, strict=True)), strict=True))


def test_other_verdict_is_that_of_the_other_assumption() -> None:
    log = stopped_log(400, 0, True)
    ended, cut_off = suffice.learn(log, stationary=True), suffice.learn(log, stationary=True, ends="censored")
    assert ended.about.ends.kind == "terminal" and ended.about.plan.verdict == "follow"
    assert ended.about.ends.other_verdict == cut_off.about.plan.verdict == "no difference"


def test_other_verdict_is_not_that_of_a_sample_too_small_to_show_the_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("suffice.models.api.COMPARED_ENDS_STEPS", 1 << 9)
    log = stopped_log(1500, 0.12, False)
    whole, ended = suffice.learn(log), suffice.learn(log, ends="terminal")
    assert whole.about.plan.verdict == ended.about.plan.verdict == "follow"
    assert whole.about.ends.kind == "censored" and whole.about.ends.other_verdict is None


def test_read_log_names_the_columns_that_predict_ends() -> None:
    steps = [
        (i, t, *step) for i, episode in enumerate(goal_log(np.random.default_rng(0))) for t, step in enumerate(episode)
    ]
    table = dict(zip(("visit", "n", "room", "move", "paid"), map(list, zip(*steps, strict=True)), strict=True))
    columns = suffice.Columns(episode="visit", step="n", action="move", reward="paid")
    ends = read_log(table, columns=columns).report.ends
    assert ends.predictor == "paid" and ends.text is not None and "'paid' predicts where they stop" in ends.text
