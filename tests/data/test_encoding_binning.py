"""Binning of numbers and rewards: by request, stored in the model, and equal at run time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from suffice.data.encoding.binning import Bins, EqualWidth, parse_binning
from suffice.data.logs.reading import read_log
from suffice.domains.gym.automaton_state import AutomatonState
from suffice.errors import SufficeError
from suffice.models.model import Model
from suffice.planning.regorl import regorl
from support.cli import suffice
from support.log_files import decode, write


def log(values: Any, **more: Any) -> dict[str, Any]:
    """Return a log with an episode of one step for each value."""
    n = len(values)
    return {"episode": np.arange(n), "x": values, "action": np.arange(n) % 2, "reward": np.arange(n) / 8} | more


def binned(values: Any, how: Any) -> list[Any]:
    return [steps[0][1][0] for steps in decode(read_log(log(values), bins={"x": how}))]


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (2, [0, 0, 1, 1, 1, 1]),
        (np.int64(2), [0, 0, 1, 1, 1, 1]),
        (EqualWidth(2), [0, 0, 0, 0, 0, 1]),
        (EqualWidth(10), [0, 0, 0, 0, 0, 9]),
        ((1, 3), [0, 1, 1, 2, 2, 2]),
        (Bins((1.0, 3.0)), [0, 1, 1, 2, 2, 2]),
        ((-5, 500), [1, 1, 1, 1, 1, 1]),
    ],
)
def test_read_log_bins_by_every_kind_of_request(how: Any, expected: list[int]) -> None:
    assert binned([0, 1, 2, 3, 4, 100], how) == expected


def test_equal_width_does_not_overflow_for_huge_numbers() -> None:
    assert binned([-1.7e308, 0, 1.7e308], EqualWidth(2)) == [0, 1, 1]


def test_read_log_makes_no_symbol_of_a_bin_without_rows() -> None:
    source = log([1, 2], action=[0, 100], reward=[0.0, 100.0])
    alphabet = read_log(source, bins={"action": EqualWidth(10), "reward": (25, 50, 75)}).alphabet
    assert (alphabet.actions, alphabet.rewards) == ((0, 9), (0.0, 100.0))


def test_parse_binning_reads_counts_widths_and_edges() -> None:
    assert [parse_binning(text) for text in ("8", "8:quantile", "8:width", "0,", "0,1.5,9")] == [
        8,
        8,
        EqualWidth(8),
        (0.0,),
        (0.0, 1.5, 9.0),
    ]
    for wrong in ("", "x", "8:x", "2.5", "1,x", "2,1", "1,1", "nan,1", "0,inf", ","):
        with pytest.raises(SufficeError, match="is not a way to bin"):
            parse_binning(wrong)
    for odd in ((2, 1), (), ("a",), (float("nan"),), 2.5, None, [[1, 2]]):
        with pytest.raises(SufficeError, match="for 'x' is neither a number of bins nor ascending edges"):
            read_log(log([1, 2]), bins={"x": odd})  # type: ignore[dict-item]


def test_read_log_bins_a_vector_part_by_part() -> None:
    source = log(np.array([[0, 9], [1, 8], [2, 7], [3, 6]]))
    episodes = read_log(source, bins={"x": 2})
    report = episodes.report
    assert report.bins == {"x.0": Bins((1.0,)), "x.1": Bins((7.0,))}
    assert episodes.alphabet.observations == ((0, 1), (1, 0), (1, 1))
    assert read_log(source, bins={"x.1": 2}).report.bins == {"x.1": Bins((7.0,))}


@pytest.mark.parametrize("how", [3, EqualWidth(3), (0.2, 0.21, 5)])
@pytest.mark.parametrize("scale", [1e-14, 1, 1e9])
def test_read_log_preserves_mean_returns_when_binning_rewards(how: Any, scale: float) -> None:
    """Mean returns are those of the kept episodes, up to the horizon, by their weights."""
    rng = np.random.default_rng(0)
    rewards, weight = rng.random(60) * scale, np.repeat(rng.integers(1, 9, 20), 3)
    how = tuple(edge * scale for edge in how) if isinstance(how, tuple) else how
    source = log(np.ones(60), episode=np.repeat(np.arange(20), 3), reward=rewards, weight=weight)
    for horizon in (3, 2):
        kept = np.arange(60) % 3 < horizon
        expected = (rewards * weight)[kept].sum() / weight[::3].sum()
        episodes = read_log(source, bins={"reward": how}, horizon=horizon)
        report = episodes.report
        assert len(episodes.alphabet.rewards) <= 1 + len(report.bins["reward"].levels)
        got = np.array([sum(step[2] for step in steps) for steps in decode(episodes)])
        assert episodes.weight is not None
        assert got @ episodes.weight / episodes.total == pytest.approx(expected, rel=1e-11)
        again = read_log(source, bins=report.bins, horizon=horizon)
        assert again.digest() == episodes.digest()


class Dial(gymnasium.Env[Any, Any]):
    """An environment whose observations are two numbers of 32 bits."""

    action_space = spaces.Discrete(2)
    observation_space = spaces.Box(0, 1, (2,), np.float32)

    def reset(self, **options: Any) -> tuple[Any, dict[str, Any]]:
        super().reset(**options)
        return np.array([0.1, 0.7], np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        return np.array([0.7, 0.1], np.float32), 0.0, False, True, {}


def test_policy_applies_the_bins_of_the_model_at_run_time(tmp_path: Path) -> None:
    """Numbers on an edge, which 32 bits do not represent exactly, are included."""
    seen = np.tile(np.array([[0.1, 0.7], [0.7, 0.1]], np.float32), (100, 1))
    ids = {"episode": np.repeat(np.arange(100), 2), "step": np.tile([0, 1], 100)}
    actions = np.random.default_rng(0).integers(2, size=200)
    source = {**ids, "x": seen, "action": actions, "reward": actions + np.linspace(0, 0.1, 200)}
    episodes = read_log(source, bins={"x": (0.1, 0.7), "reward": 2})
    report = episodes.report
    Model.of(regorl(episodes), episodes, encoder=report.encoder).save(tmp_path / "a.model")
    model = Model.load(tmp_path / "a.model")
    assert model.bins == report.bins and len(model.bins["reward"].levels) == 2
    assert read_log(source, bins=model.bins).digest() == episodes.digest()
    policy = model.policy()
    for first, second in ((seen[0], seen[1]), ((0.1, 0.7), (0.7, 0.1)), ((0.69, 5), (5, 0.69))):
        policy.reset()
        policy.act({"x": first})
        policy.act(second)
    assert policy.steps == 6 and policy.fallbacks == 0
    env = AutomatonState(Dial(), model)
    env.reset(seed=0)
    env.step(0)
    assert env.fallbacks == 0


# ---------------------------------------------------------------- the command line


def test_command_line_bins_and_names_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [f"{e},{t},{rng.random()},{rng.integers(2)},{rng.random()}\n" for e in range(60) for t in range(2)]
    write(tmp_path, "patient,visit,pulse,drug,gain\n" + "".join(rows))
    names = "--columns", "episode=patient,step=visit,action=drug,reward=gain"
    asked = "--bin", "pulse=2:width", "--bin", "gain=2"
    assert "No problems found" in suffice("check", "log.csv", *names, *asked).out
    learned = suffice("learn", "log.csv", "-o", "a.model", *names, *asked, "--hold-out", "0.5")
    assert learned.code == 0, learned.err
    model = Model.load(tmp_path / "a.model")
    assert len(model.bins["pulse"].edges) == 1 and len(model.bins["gain"].levels) == 2
    judged = suffice("evaluate", "a.model", "--log", "log.csv", *names)
    assert judged.code == 0, judged.err
    for wrong, complaint in {
        (
            "--columns",
            "episod=patient",
        ): "--columns episod=patient: 'episod' is not a role of a column. Did you mean 'episode'?",
        ("--columns", "episode=absent"): "there is no column 'absent' (episode)",
        (*names, "--bin", "pulse=x"): "--bin pulse=x is not a way to bin. Write a number of bins (8)",
        (*names, "--bin", "puls=2"): "--bin: 'puls' is not an observation, action or reward column",
    }.items():
        refused = suffice("check", "log.csv", *wrong)
        assert refused.code == 2 and complaint in refused.err and refused.err.count("\n") == 1
