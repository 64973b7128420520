"""What `info` and `report` say about a model of a user's own log."""

from __future__ import annotations

import re
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

from suffice.data.ends import LogEnds
from suffice.models.log_warnings import LogWarning
from suffice.models.model import Model
from support.cli import suffice


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Learn from a log of visits, in which the move decides where a visit stops."""
    folder, rng = tmp_path_factory.mktemp("own"), np.random.default_rng(0)
    rows = ["visit,n,room,move,paid"]
    for visit in range(150):
        for n in range(5):
            move = "stay" if rng.random() < 0.7 else "leave"
            rows.append(f"{visit},{n},{rng.integers(3)},{move},{rng.integers(2)}")
            if move == "leave":
                break
    (folder / "visits.csv").write_text("\n".join(rows))
    columns = ["--episode-column", "visit", "--step-column", "n", "--action-column", "move", "--reward-column", "paid"]
    learned = suffice("learn", str(folder / "visits.csv"), *columns, "-o", str(folder / "visits.model"))
    assert learned.code == 0, learned.err
    return folder / "visits.model"


def test_info_names_the_column_that_predicts_ends_and_proposes_no_domain(model: Path) -> None:
    said, data = suffice("info", str(model)).out, suffice("info", str(model), "--json").out
    assert '"predictor": "move"' in data
    assert re.search(r"^  ends +terminal, assumed$", said, re.MULTILINE)
    assert "--domain" not in said


def test_report_proposes_another_file_than_the_one_that_it_wrote(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(model.parent)
    said = [suffice("report", "visits.model", *output).out.splitlines()[-1] for output in ([], ["-o", "visits.html"])]
    assert [line.split()[-1] for line in said] == ["visits.html", "visits-explorer.html"]


def test_report_has_the_warnings_about_the_log(model: Path, tmp_path: Path) -> None:
    warning = LogWarning("ends", numbers=asdict(LogEnds("censored", True, 31, 31)))
    loaded = replace(Model.load(model), warnings=(warning,))
    loaded.report(tmp_path / "a.html")
    assert "31 episodes stop early and no column marks ends" in (tmp_path / "a.html").read_text()
