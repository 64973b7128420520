"""The picture of the evidence for each column, and the report that shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import suffice
from suffice.view.column_evidence import draw_column_evidence
from suffice.view.report.report import report_of


@pytest.fixture(scope="module")
def model() -> suffice.Model:
    rng, rows = np.random.default_rng(0), 300 * 4
    log: dict[str, Any] = {"episode": np.repeat(np.arange(300), 4), "step": np.tile(np.arange(4), 300)}
    log |= {"level": rng.normal(size=rows), "noise": rng.normal(size=rows), "action": rng.integers(0, 2, rows)}
    return suffice.learn(log | {"reward": (log["level"] > 0.5).astype(int)}, stationary=True)


def test_draw_column_evidence_has_a_bar_and_a_mark_for_each_column(model):
    (axes,) = draw_column_evidence(model).axes
    names = [label.get_text() for label in axes.get_yticklabels()]
    assert sorted(set(names)) == ["level", "noise"] and names[0] == "level"
    assert len(axes.patches) == len(axes.lines) == len(names)
    assert axes.patches[0].get_width() > axes.lines[0].get_xdata()[0]
    assert axes.patches[-1].get_width() < axes.lines[-1].get_xdata()[0]


def test_draw_columns_writes_the_same_bytes(model, tmp_path: Path):
    first, second = (model.draw_columns(tmp_path / name).read_bytes() for name in ("a.svg", "b.svg"))
    assert first == second and b"level" in first


def test_draw_columns_refuses_models_with_named_columns():
    named = suffice.learn(suffice.simulate("corridor", 50))
    with pytest.raises(suffice.SufficeError, match="were not chosen by the data"):
        named.draw_columns()


def test_report_shows_the_columns_that_matter_and_cuts_on_edges(model):
    page = report_of(model)
    assert "Columns that matter" in page and "level: evidence 10^" in page and "No evidence: noise." in page
    cut = model.to_dict()["columns"][0]["cuts"][0]
    assert f"below {cut:g}" in page and "Evidence for each column" in page
