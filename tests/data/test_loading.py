"""Loading of Episodes that `read_log` returned: their report supplies columns and bins."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suffice
from suffice.data.encoding.encoder import EncoderRequest
from suffice.data.loading import read_data
from suffice.errors import LogError, SettingsError
from support.log_files import write

BINS = {"pulse": [70, 90], "gain": 2}
COLUMNS = "episode=patient,step=visit,action=drug,reward=gain,propensity=p"


def log_of(seed: int = 0, visits: int = 3) -> str:
    """Return a CSV of 80 patients with unusual column names and numbers that need bins."""
    rng = np.random.default_rng(seed)
    rows = [
        f"{patient},{visit},{rng.integers(50, 110)},{rng.integers(2)},{rng.random():.3f},{rng.choice([0.25, 0.5])}\n"
        for patient in range(80)
        for visit in range(visits)
    ]
    return "patient,visit,pulse,drug,gain,p\n" + "".join(rows)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return write(tmp_path, log_of())


def test_learn_uses_columns_and_bins_of_the_report(path: Path, tmp_path: Path) -> None:
    """The model of Episodes has the same bytes as that of the log they were read from."""
    episodes = suffice.read_log(path, COLUMNS, bins=BINS)
    from_episodes, from_log = suffice.learn(episodes), suffice.learn(path, columns=COLUMNS, bins=BINS)
    assert from_episodes.bins == from_log.bins and list(from_episodes.bins) == ["pulse", "gain"]
    assert from_episodes.columns.action == "drug"
    for name, model in (("a", from_episodes), ("b", from_log)):
        model.save(tmp_path / f"{name}.model")
    assert (tmp_path / "a.model").read_bytes() == (tmp_path / "b.model").read_bytes()
    policy = from_episodes.policy()
    policy.reset()
    policy.act({"pulse": 71.5})
    assert policy.fallbacks == 0


def test_learn_uses_the_bins_of_selected_and_cut_episodes(path: Path) -> None:
    episodes = suffice.read_log(path, COLUMNS, bins=BINS)
    for some in (episodes[:40], episodes[np.arange(80) % 2 == 0], episodes.cut(2), episodes[::2].padded(5)):
        assert suffice.learn(some).bins == suffice.learn(episodes).bins


def test_learn_refuses_an_empty_selection(path: Path) -> None:
    with pytest.raises(LogError, match=r"there are no episodes\. Select at least one\."):
        suffice.learn(suffice.read_log(path, COLUMNS, bins=BINS)[:0])


def test_learn_refuses_episodes_with_other_bins_than_the_first(path: Path, tmp_path: Path) -> None:
    first = suffice.read_log(path, COLUMNS, bins=BINS)
    second = write(tmp_path, log_of(1), "second.csv")
    alike = suffice.read_log(second, like=first.report.encoder)  # type: ignore[union-attr]
    assert suffice.learn([first, alike]).bins == first.report.bins  # type: ignore[union-attr]
    assert suffice.learn([first, second]).about.log_hash == suffice.learn([first, alike]).about.log_hash
    others: list[Any] = [
        [first, suffice.read_log(second, COLUMNS, bins={**BINS, "pulse": [80]})],
        [suffice.read_log(path, COLUMNS, bins={"gain": 2}, max_values=100), alike],
    ]
    for data in others:
        with pytest.raises(SettingsError, match="these Episodes were read with other bins than the model or the first"):
            suffice.learn(data)


def test_learn_like_a_model_refuses_episodes_with_other_bins(path: Path) -> None:
    model = suffice.learn(path, columns=COLUMNS, bins=BINS)
    alike = suffice.read_log(path, like=model.encoder)
    assert suffice.learn(alike, like=model).bins == model.bins
    with pytest.raises(SettingsError, match="column 'pulse': these Episodes were read with other bins"):
        suffice.learn(suffice.read_log(path, COLUMNS, bins={"gain": 2}), like=model)


def test_learn_accepts_the_bins_of_the_report_but_no_other_number_of_bins(path: Path) -> None:
    episodes = suffice.read_log(path, COLUMNS, bins=BINS)
    assert suffice.learn(episodes, bins=episodes.report.bins).bins == episodes.report.bins  # type: ignore[union-attr]
    with pytest.raises(SettingsError, match="bins: Episodes are binned when they are read, so 'pulse' cannot be"):
        suffice.learn(episodes, bins={"pulse": 4})


def test_read_data_returns_propensities_of_the_report_at_the_longest_horizon(path: Path, tmp_path: Path) -> None:
    first = suffice.read_log(path, COLUMNS, bins=BINS)
    longer = suffice.read_log(write(tmp_path, log_of(2, visits=4), "longer.csv"), COLUMNS, like=first.report.encoder)  # type: ignore[union-attr]
    alone = read_data(first, EncoderRequest(), horizon=2)
    assert alone.propensities is not None and alone.propensities.shape == (3, 80) and len(alone.ids) == 80
    both = read_data([first, longer], EncoderRequest())
    assert both.propensities is not None and both.propensities.shape == (5, 160)
    assert (both.propensities[4, :80] == 1).all() and (both.propensities[4, 80:] < 1).all()


def test_read_log_takes_observations_as_a_sequence_or_text(path: Path) -> None:
    for names in ("pulse, p", ["pulse", "p"], ("pulse", "p")):
        episodes = suffice.read_log(path, "episode=patient,step=visit,action=drug,reward=gain", observations=names)
        assert episodes.alphabet.features == ("pulse", "p")
