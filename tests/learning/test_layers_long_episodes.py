"""Learning, planning, checking and viewing take time in proportion to the length of a few long episodes."""

from __future__ import annotations

import resource
import time
import tracemalloc
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import suffice
from oracle import refinement as oracle
from suffice.automata.compare import compare
from suffice.automata.rdp import RDP, UNSEEN
from suffice.data.episodes import Episodes
from suffice.learning import refinement
from suffice.learning.adact_h import Settings, adact_h
from suffice.learning.layers import learn_layers
from suffice.learning.refinement import refine
from suffice.models import trial
from suffice.models.log_check import check
from suffice.models.trial import CHECK_STEPS, FIRST_STEPS, try_sample
from suffice.view.layout import arrange
from suffice.view.scene import expected_visits


def ragged(lengths: list[int], seed: int = 0) -> Episodes:
    """Return episodes of given lengths with random observations, actions and rewards of two values each."""
    rng = np.random.default_rng(seed)
    episode = np.repeat(np.arange(len(lengths)), lengths)
    step = np.concatenate([np.arange(length) for length in lengths])
    values = {name: rng.integers(0, 2, len(step)) for name in ("seen", "action", "reward")}
    return suffice.read_log({"episode": episode, "step": step, **values}, ends="terminal")


def one_long(horizon: int) -> Episodes:
    """Return one long episode among 499 of one step."""
    return ragged([1] * 499 + [horizon])


def cpu_seconds(task: Callable[[], object], repeats: int = 1) -> float:
    """Return the least CPU time of a task."""
    times = []
    for _ in range(repeats):
        begun = time.process_time()
        task()
        times.append(time.process_time() - begun)
    return min(times)


# time and memory


def test_learn_takes_time_in_proportion_to_one_long_episode() -> None:
    """Ten times the length takes about ten times as long; quadratic parts would take a hundred times as long."""
    short, long = one_long(400), one_long(4_000)
    suffice.learn(short)  # compiles
    assert cpu_seconds(lambda: suffice.learn(long)) < 20 * cpu_seconds(lambda: suffice.learn(short), repeats=3)


def test_typical_histories_of_long_episodes_take_little_memory() -> None:
    rdp = learn_layers(one_long(3_000), Settings()).rdp
    tracemalloc.start()
    histories = rdp.typical_histories()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 10e6
    assert len(histories[rdp.n_states - 1]) == 3_001 and len(histories) == rdp.n_states
    assert histories.brief(2).count("→") == 1
    assert "… 2997 more …" in histories.brief(rdp.n_states - 1)


def test_compare_of_long_episodes_takes_little_memory() -> None:
    rdp = learn_layers(one_long(2_000), Settings()).rdp
    tracemalloc.start()
    assert compare(rdp, rdp) is None
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 5e6


def test_arrange_takes_time_in_proportion_to_the_columns() -> None:
    def chain(columns: int) -> Callable[[], object]:
        column = np.repeat(np.arange(columns), 2)
        pairs = np.stack([np.arange(2 * columns - 2), np.arange(2, 2 * columns)], axis=1)
        return lambda: arrange(column, pairs, np.zeros(2 * columns, bool))

    assert cpu_seconds(chain(10_000), repeats=3) < 20 * cpu_seconds(chain(1_000), repeats=3)


@pytest.mark.long
def test_learn_finishes_on_an_episode_of_100_000_steps(tmp_path: Path) -> None:
    model: list[suffice.Model] = []
    seconds = cpu_seconds(lambda: model.append(suffice.learn(one_long(100_000))))
    assert seconds < 40
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 1.5e6  # kilobytes
    assert model[0].rdp.horizon == 100_000 and len(repr(model[0].rdp)) < 100
    model[0].draw(tmp_path / "long.svg")
    model[0].report(tmp_path / "long.html")


# the same results as before


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("steps", [None, 2])
def test_refine_agrees_with_oracle_on_ragged_episodes(
    seed: int, steps: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Layers in which every label has one candidate are not counted, and their candidates only when needed."""
    if steps is not None:
        monkeypatch.setattr(refinement, "_steps_followed", lambda learned: steps)
    rng = np.random.default_rng(seed)
    episodes = ragged([*rng.integers(1, 4, 150).tolist(), 9, 12], seed)
    first = adact_h(episodes, Settings(delta=0.3), ended_apart=True)
    learned = replace(first, settings=Settings(delta=0.3))
    right = oracle.Refinement(learned.rdp, episodes, lambda candidates: 0.3, steps).run()
    found = refine(learned, episodes)
    assert found.rdp.layers.tolist() == right.layers
    for decision, verdict in zip(found.decisions, right.verdicts, strict=True):
        assert (decision.placement.target, decision.placement.promoted) == (verdict.target, verdict.promoted)
        if verdict.nearest is not None:
            assert decision.placement.distance == pytest.approx(verdict.evidence, rel=1e-9, abs=1e-9)
    assert found.promise.second_tests == right.tests


def test_typical_histories_lead_to_their_states() -> None:
    rdp = learn_layers(ragged([1, 2, 3, 4, 7, 11] * 30), Settings()).rdp
    for q, history in enumerate(rdp.typical_histories()):
        assert rdp.run(history) == q


def test_learn_chooses_a_memory_with_one_long_episode_among_many_that_were_cut_off() -> None:
    """Some folds have only episodes that were cut off after one step, so that no later layer can be reached."""
    lengths = [1] * 99 + [30]
    table = {
        "episode": np.repeat(np.arange(100), lengths),
        "step": np.concatenate([np.arange(length) for length in lengths]),
        **{name: np.arange(129) % 2 for name in ("seen", "action", "reward")},
    }
    assert suffice.learn(suffice.read_log(table, ends="censored")).rdp.horizon == 30


def naive_visits(rdp: RDP, model: suffice.Model) -> list[float]:
    """Return the expected visits of each state by propagating the shares of all states at every step."""
    share, total = np.zeros(rdp.n_states), np.zeros(rdp.n_states)
    share[0] = total[0] = 1.0
    actions, of_letter = model.required_plan().actions, rdp.symbol_of_letter()
    for _ in range(rdp.horizon + 1):
        following = np.zeros(rdp.n_states)
        for q in np.flatnonzero(share):
            planned = rdp.letters[:, 0] == actions[q] + 2
            counts = rdp.counts[q] * (planned | (actions[q] < 0) | (rdp.letters[:, 0] <= 1))
            for x in np.flatnonzero(counts):
                following[rdp.tau[q, of_letter[x]]] += share[q] * counts[x] / counts.sum()
        share = following
        total += share
    return [float(value) for value in total]


def test_expected_visits_agree_with_propagation_of_all_states() -> None:
    model = suffice.learn(ragged([2, 3, 5] * 40))
    plan = model.required_plan()
    assert expected_visits(model.rdp, plan) == pytest.approx(naive_visits(model.rdp, model))
    assert (model.rdp.tau != UNSEEN).any()


# texts, trials and refusals


def test_rdp_repr_abbreviates_many_layers() -> None:
    rdp = learn_layers(one_long(300), Settings()).rdp
    assert repr(rdp) == "<RDP: 601 states in layers 1 (×2) 2 (×299) 1>"


def test_check_tries_only_the_first_steps_of_long_episodes() -> None:
    found = check(one_long(3_000))
    assert found.trial.steps == CHECK_STEPS and found.to_dict()["steps_tried"] == CHECK_STEPS
    assert "the first 1,000 of 3,000 steps" in str(found)
    assert found.horizon == 3_000


def test_check_tries_fewer_steps_within_a_small_budget() -> None:
    clock = trial._Clock(1e-9, trial.silently)
    assert trial._affordable_steps(one_long(900), Settings(), clock) == FIRST_STEPS
    assert try_sample(one_long(30), seconds=1e9).steps == 30


def test_check_counts_cpu_time_on_a_busy_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other programs do not use up the budget of trial runs, unless one waits for several budgets."""
    elapsed, used = [0.0], [0.0]
    monkeypatch.setattr(trial, "perf_counter", lambda: elapsed[0])
    monkeypatch.setattr(trial, "process_time", lambda: used[0])
    clock = trial._Clock(10.0, trial.silently)
    elapsed[0], used[0] = 9.0, 2.0
    assert clock.left() == 7.0
    elapsed[0], used[0] = 4.0, 7.0  # on two cores
    assert clock.left() == 6.0
    elapsed[0], used[0] = 30.0, 2.0
    assert clock.left() == 0.0


def test_refine_follows_merged_histories_for_fewer_steps_in_long_episodes(monkeypatch: pytest.MonkeyPatch) -> None:
    episodes = ragged([40] * 20)
    assert suffice.learn(episodes, stationary=False).about.promise.second_steps is None
    monkeypatch.setattr(refinement, "LONG_HORIZON", 10)
    monkeypatch.setattr(refinement, "MOST_COMPARED", 100)
    monkeypatch.setattr(refinement, "FEWEST_STEPS", 7)
    model = suffice.learn(episodes, stationary=False)
    assert model.rdp.horizon == 40 and model.about.promise.second_steps == 7
    assert "Sequences of more than 7 steps were not compared" in model.about.promise.second_sentence
