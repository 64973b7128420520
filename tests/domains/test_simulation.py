"""Simulation: policies are followed, chunks do not matter, and logs are written in chunks."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from suffice.data.episodes import Episodes
from suffice.data.logs.reading import read_log
from suffice.data.logs.writing import write_log
from suffice.domains import simulation
from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.exact.values import exact_value
from suffice.domains.simulation import simulate, stream
from suffice.domains.tasks.cookie import Cookie
from suffice.domains.tasks.corridor import Corridor
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SettingsError, SufficeError
from suffice.planning.controller import Controller
from suffice.planning.planner import backward_induction
from support.cli import ok


def returns(episodes: Episodes) -> np.ndarray:
    rewards = np.array(episodes.alphabet.rewards)[episodes.letters[:, 2]]
    return rewards[episodes.word].sum(axis=0)


@pytest.mark.parametrize("epsilon", [Fraction(0), Fraction(1, 3), Fraction(1)])
@pytest.mark.parametrize(("domain", "horizon"), [(TMaze(), 5), (Cookie(), 9), (Corridor(enemy=Fraction(4, 5)), 5)])
def test_simulate_agrees_with_exact_value_of_the_policy(domain, horizon: int, epsilon: Fraction) -> None:
    model = domain.model(horizon)
    rdp = minimal_rdp(model, horizon).rdp()
    policy = Controller.on_automaton(rdp, model.alphabet, backward_induction(rdp).actions, epsilon)
    episodes = simulate(model, 20_000, horizon, np.random.default_rng(5), policy)
    sample = returns(episodes)
    exact = exact_value(model, policy, horizon)
    assert sample.mean() == pytest.approx(float(exact.mean_return), abs=5 * sample.std() / 20_000**0.5 + 1e-12)
    success, paid = float(exact.success_rate), np.array(episodes.alphabet.rewards)[episodes.letters[:, 2]] > 0
    assert (
        abs(paid[episodes.word].any(axis=0).mean() - success) <= 5 * (success * (1 - success) / 20_000) ** 0.5 + 1e-12
    )


class AlmostOne:
    """A random number generator that always returns the largest number below 1."""

    def random(self, size: object) -> np.ndarray:
        return np.full(size, np.nextafter(1.0, 0.0))


def test_simulate_never_draws_an_action_of_probability_zero() -> None:
    """This holds even if cumulative sums round to less than 1, as for 0.2 + 0.7 + 0.1, and the draw lies above."""
    model = TMaze().model(4)
    uniform = Controller.uniform(model.alphabet)
    chances = (Fraction(2, 10), Fraction(7, 10), Fraction(1, 10), Fraction(0))
    never = Controller(model.alphabet, uniform.first, uniform.after, (chances,))
    assert np.cumsum(never.table)[-1] < 1
    episodes = simulate(model, 1, 4, AlmostOne(), never)  # type: ignore[arg-type]
    assert {episodes.alphabet.action(int(a)) for a in episodes.letters[:, 0]} == {None, "S"}


def test_stream_yields_the_episodes_of_simulate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "CHUNK_STEPS", 1000)
    model = TMaze().model(5)
    whole = simulate(model, 1234, 5, np.random.default_rng(3))
    parts = list(stream(model, 1234, 5, np.random.default_rng(3)))
    assert [part.n for part in parts] == [200] * 6 + [34]
    read = np.concatenate([part.letters[part.word] for part in parts], axis=1)
    assert np.array_equal(read, whole.letters[whole.word])


@pytest.mark.parametrize("name", ["log.parquet", "log.csv", "log.csv.gz"])
def test_write_log_of_a_stream_equals_that_of_all_episodes(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(simulation, "CHUNK_STEPS", 1000)
    model = Cookie().model(9)
    write_log(simulate(model, 700, 9, np.random.default_rng(3)), tmp_path / f"whole-{name}")
    write_log(stream(model, 700, 9, np.random.default_rng(3)), tmp_path / f"parts-{name}")
    whole, parts = (read_log(tmp_path / f"{which}-{name}") for which in ("whole", "parts"))
    assert whole.digest() == parts.digest() and parts.n == 700


def test_write_log_of_a_stream_limits_row_groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(simulation, "CHUNK_STEPS", 1000)
    write_log(stream(TMaze().model(5), 1000, 5, np.random.default_rng(3)), tmp_path / "log.parquet")
    groups = pq.ParquetFile(tmp_path / "log.parquet").metadata
    assert max(groups.row_group(i).num_rows for i in range(groups.num_row_groups)) <= 1000


def test_simulate_refuses_invalid_arguments() -> None:
    model, rng = TMaze().model(5), np.random.default_rng(0)
    with pytest.raises(SufficeError, match="0 episodes cannot be simulated"):
        simulate(model, 0, 5, rng)
    with pytest.raises(SufficeError, match="horizon=0 leaves no action"):
        simulate(model, 5, 0, rng)
    with pytest.raises(SufficeError, match="another alphabet"):
        simulate(model, 5, 5, rng, Controller.uniform(Cookie().model(5).alphabet))


def test_simulate_takes_names_and_domains_with_their_default_horizon(tmp_path: Path) -> None:
    by_name = simulate("t-maze", 300, rng=7)
    assert by_name.horizon == TMaze().default_horizon
    for other in (simulate(TMaze(), 300, rng=7), simulate(TMaze().model(5), 300, 5, np.random.default_rng(7))):
        assert other.digest() == by_name.digest()
    ok("simulate", "t-maze", "--episodes", "300", "--seed", "7", "-o", str(tmp_path / "log.parquet"))
    write_log(by_name, tmp_path / "python.parquet")
    assert (tmp_path / "python.parquet").read_bytes() == (tmp_path / "log.parquet").read_bytes()
    with pytest.raises(SettingsError, match=r"a finite model has no default horizon\. Pass horizon="):
        simulate(TMaze().model(5), 3)
    with pytest.raises(SettingsError, match="rng=-1 is not a seed"):
        simulate("t-maze", 3, rng=-1)
