"""Columns are chosen from the same episodes wherever a log is stored, and never from those that are held out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import suffice
from suffice.data.encoding.columns import Columns
from suffice.data.encoding.encoder import EncoderRequest
from suffice.data.logs import episode_sample
from suffice.data.logs.episode_sample import FlatLog, learned_part, sample_in_memory
from suffice.data.logs.reading import ReadOptions
from suffice.data.logs.sources import open_table
from suffice.data.streaming import MemoryBudget
from support.fake_workers import Here, write_files

MAZE = suffice.make("t-maze", length=3)


def wide_log(n: int = 1200, seed: int = 0) -> pa.Table:
    """A T-maze with text, numbers and an identifier, in which each episode has a group of its own."""
    rng, rows = np.random.default_rng(seed), []
    for i, episode in enumerate(suffice.simulate(MAZE, n, 8, rng=seed)):
        for t, step in enumerate(episode):
            price = round(float(10 + 5 * step.observation["bit1"] + rng.normal()), 3)
            rows.append({"episode": 3 * i, "step": t, "price": price, "site": f"s{i // 4}", "colour": "rgb"[i % 3]})
            rows[-1] |= {"name": f"é{i}", "level": float(rng.normal()), "action": step.action, "reward": step.reward}
    return pa.Table.from_pylist(rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("wide")
    write_files(wide_log(), made, rows=500, files=2)
    return made


@pytest.mark.parametrize("most_steps", [1 << 19, 8100])
@pytest.mark.parametrize("group", [None, "site"])
def test_learn_has_the_same_bytes_wherever_episodes_are(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_steps: int, group: str | None
):
    """In memory, in pieces and on workers: with all episodes, and with a sample of 900 of 1,200."""
    monkeypatch.setattr(episode_sample, "MOST_STEPS", most_steps)

    def saved(**where: Any) -> bytes:
        model = suffice.learn(folder, stationary=True, group_column=group, plan=False, **where)
        assert model.about.columns_found and model.about.columns_found.episodes == (1200 if most_steps > 9000 else 900)
        model.save(tmp_path / "a.model")
        return (tmp_path / "a.model").read_bytes()

    in_memory = saved()
    assert suffice.load(tmp_path / "a.model").encoder.features == ("price",)
    assert saved(engine=Here.of(3)) == in_memory
    monkeypatch.setattr(MemoryBudget, "holds", lambda self, dataset: False)
    assert saved() == in_memory


def test_learn_uses_all_columns_if_no_sample_fits_into_memory(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("suffice.data.streaming.BYTES_A_VALUE", 1 << 40)
    monkeypatch.setattr(MemoryBudget, "holds", lambda self, dataset: False)
    with pytest.raises(suffice.SettingsError, match="is too little to choose columns"):
        suffice.learn(folder, observations="auto", stationary=True)


def test_columns_are_not_chosen_from_held_out_episodes(folder: Path, tmp_path: Path):
    """The sample has none of the episodes on which the model is evaluated."""
    how = ReadOptions(EncoderRequest(Columns()), held_out=0.25)
    sample = sample_in_memory(open_table(folder), how)
    assert sample.keys is not None
    log = FlatLog.of_piece(open_table(folder), how)
    learned = learned_part(log.keys(), 0.25)
    assert learned.sum() == 900 and len(set(sample.keys.tolist())) == 1200
    assert set(sample.table.column("episode").to_pylist()) == {3 * int(i) for i in np.flatnonzero(learned)}
    model = suffice.learn(folder, hold_out=0.25, stationary=True)
    assert model.about.episodes == model.about.columns_found.episodes == 900
    found = model.evaluate(folder)
    assert found.held_out and found.n_episodes == 300
    rest = wide_log().filter(pa.array(np.repeat(learned, log.rows.length)))
    alone = suffice.learn(rest, observations=["price"], bins={"price": model.encoder.kinds["price"]}, stationary=True)
    assert (alone.rdp.tau == model.rdp.tau).all() and (alone.rdp.counts == model.rdp.counts).all()


def test_held_out_episodes_are_found_by_all_columns(folder: Path):
    model = suffice.learn(folder, hold_out=0.25, stationary=True)
    shuffled = wide_log().take(np.random.default_rng(0).permutation(len(wide_log())))
    assert model.evaluate(shuffled).n_episodes == 300
    with pytest.raises(suffice.SufficeError, match="Pass the log itself, with all of these columns"):
        model.evaluate(suffice.read_log(folder, like=model.encoder))
    with pytest.raises(suffice.SufficeError, match="Pass the log itself, with all of these columns"):
        model.evaluate(wide_log().drop_columns(["level"]))
    assert model.evaluate(wide_log(200, seed=5)).n_episodes == 200


def test_held_out_groups_are_not_chosen_from(folder: Path):
    model = suffice.learn(folder, hold_out=0.25, stationary=True, group_column="site")
    assert model.about.columns_found.episodes == model.about.episodes == 900
    assert not model.about.columns_found.apart and model.evaluate(folder, group_column="site").n_episodes == 300
