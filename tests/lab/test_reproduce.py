"""`suffice reproduce` runs experiments and writes pages, figures and results."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

from suffice.domains.exact.minimal import minimal_rdp
from suffice.domains.registry import make
from suffice.errors import SufficeError
from suffice.lab import figures, table1
from suffice.lab.experiment import Experiment, Result, Results
from suffice.lab.reproduce import run_studies
from suffice.lab.runner import RunSettings
from suffice.lab.store import load_bundle, save
from suffice.lab.studies import STUDIES
from suffice.lab.study import Page, Study
from suffice.view.style import drawing
from support.cli import SCRIPT, suffice
from support.processes import with_signals


def few(quick: bool) -> list[Experiment]:
    seeds = (1,) if quick else (1, 2)
    return [Experiment(domain="corridor", horizon=3, episodes=50, seed=s, learner="layers") for s in seeds]


def count(results: Results) -> Page:
    with drawing():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(1, 1))
    return Page(f"{len(results)} results\n\n![nothing](empty.svg)\n", (("empty", figure),))


def test_run_studies_writes_page_figures_and_results(tmp_path: Path) -> None:
    study = Study("few", "A few", few, count)
    results, files = run_studies("few", (study,), tmp_path, RunSettings(1))
    assert [file.name for file in files] == ["few.md", "empty.svg", "empty.png", "few.jsonl.gz"]
    assert (tmp_path / "few.md").read_text() == "2 results\n\n![nothing](empty.svg)\n"
    assert sorted(r.experiment.seed for r in load_bundle(files[-1])) == [1, 2] and len(results) == 2
    ElementTree.parse(tmp_path / "empty.svg")
    before = {file: file.read_bytes() for file in files}
    for single in (tmp_path / "runs").iterdir():
        single.unlink()
    run_studies("few", (study,), tmp_path, RunSettings(1))  # from the bundle, without running anything
    assert {file: file.read_bytes() for file in files} == before and not list((tmp_path / "runs").iterdir())


def test_run_studies_adds_runs_that_results_call_for(tmp_path: Path) -> None:
    """Rounds continue until no more runs are wanted, or the remaining ones cannot run."""

    def wanted(seed: int, learner: str = "layers") -> Experiment:
        return Experiment(domain="corridor", horizon=3, episodes=50, seed=seed, learner=learner)

    def more(results: Results, quick: bool) -> list[Experiment]:
        n = len(results)
        return [] if quick else [wanted(n), wanted(n, "flexfringe/css")] if n < 4 else [wanted(0, "flexfringe/css")]

    study = Study("few", "A few", lambda quick: [wanted(0)], count, more)
    assert len(run_studies("few", (study,), tmp_path, RunSettings(1), quick=True)[0]) == 1
    results, files = run_studies("few", (study,), tmp_path, RunSettings(1))
    assert sorted(run.experiment.seed for run in results) == [0, 1, 2, 3]
    assert len(load_bundle(files[-1])) == 4


def test_reproduce_figures_writes_page_and_drawings(tmp_path: Path) -> None:
    ran = suffice("reproduce", "figures", "--quick", "-o", str(tmp_path / "new" / "folder"))
    assert ran.code == 0 and "Next: read" in ran.out
    page = (tmp_path / "new" / "folder" / "figures.md").read_text()
    for drawn in figures.FIGURES:
        domain = make(drawn.domain, drawn.options)
        states = minimal_rdp(domain.model(domain.default_horizon), domain.default_horizon).n_states
        assert f"{states} states from {drawn.quick:,} episodes, H = 5, seed 0: equal to the minimal automaton." in page
        assert f"]({drawn.name}.svg)" in page
        ElementTree.parse(tmp_path / "new" / "folder" / f"{drawn.name}.svg")
        assert (tmp_path / "new" / "folder" / f"{drawn.name}.png").read_bytes().startswith(b"\x89PNG")


def test_draw_figures_uses_the_common_definition_of_exact(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every state is found, although the log lacks some histories."""
    options = {"arms": "2"}
    monkeypatch.setattr(type(make("rotating-mab", options)), "default_horizon", 4)
    monkeypatch.setattr(figures, "FIGURES", (figures.PaperFigure("mab", "MAB", "rotating-mab", options, 100, 100),))
    figures.draw_figures(tmp_path, quick=True)
    assert "9 states from 100 episodes, H = 4, seed 0: equal to the minimal" in (tmp_path / "figures.md").read_text()


@pytest.fixture
def done(tmp_path: Path) -> Path:
    """Return a folder with results of all quick runs, one of them stopped; peers are not installed."""
    for i, e in enumerate(table1.experiments(quick=True)):
        late = {"stopped": "over 1800 s", "limit": 1800.0} if i == 0 else {"states": 7}
        save(Result(experiment=e, **late), tmp_path)  # type: ignore[arg-type]
    return tmp_path


def test_reproduce_does_not_repeat_finished_runs(done: Path) -> None:
    ran = suffice("reproduce", "table1", "--quick", "-o", str(done))
    assert ran.code == 0 and "130 runs, 1 of them stopped at the limit; each is a line of" in ran.out
    assert f"Next: read {done / 'table1.md'}" in ran.out
    assert "# Table 1 of the paper, reproduced" in (done / "table1.md").read_text()
    found = json.loads(suffice("reproduce", "table1", "--quick", "-o", str(done), "--json").out)
    assert found["runs"] == 130 and list(found["stopped"].values()) == ["over 1800 s"]
    assert all(Path(file).exists() for file in found["files"])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["table1", "--jobs", "0"], "--jobs 0 is too few. Use 1 or more."),
        (["curves", "--time-limit", "0"], "--time-limit 0 is not a number of seconds between 0 and 1e+07. Try 60."),
        (["curves", "--time-limit", "nan"], "--time-limit nan is not a number of seconds between"),
        (["curves", "--time-limit", "inf"], "--time-limit inf is not a number of seconds between"),
        (["table2"], "reproduce table2: there is no such choice. Did you mean table1?"),
        (["table1", "--flexfringe", "/no/such"], "--flexfringe /no/such is not an executable program."),
    ],
)
def test_reproduce_reports_mistakes_in_one_line(arguments: list[str], message: str, tmp_path: Path) -> None:
    ran = suffice("reproduce", *arguments, "-o", str(tmp_path / "out"))
    assert ran.code == 2 and message in ran.err and ran.err.count("\n") == 1 and not ran.out


def test_reproduce_refuses_folders_it_cannot_write_to(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in ("file", "file/folder"):
        ran = suffice("reproduce", "figures", "-o", str(tmp_path / name))
        assert ran.code == 2 and "the folder cannot be written to" in ran.err
    assert "the name of the output folder is empty" in suffice("reproduce", "figures", "-o", "").err
    (tmp_path / "runs").write_text("")
    with pytest.raises(
        SufficeError, match=r"runs: the folder cannot be created \(File exists\)\. Move or rename the file"
    ):
        save(Result(experiment=few(True)[0]), tmp_path)


def test_reproduce_refuses_curves_early_without_matplotlib(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for what in ("curves", "figures"):
        ran = suffice("reproduce", what, "--quick", "-o", str(tmp_path))
        assert ran.code == 2 and "pip install 'suffice[plots]'" in ran.err
    assert not list(tmp_path.rglob("*.json"))


def test_run_studies_quick_keeps_results_of_full_runs(tmp_path: Path) -> None:
    study = Study("few", "A few", few, count)
    run_studies("few", (study,), tmp_path, RunSettings(1))
    run_studies("few", (study,), tmp_path, RunSettings(1), quick=True)
    assert len(load_bundle(tmp_path / "few.jsonl.gz")) == 2
    assert (tmp_path / "few.md").read_text().startswith("1 results")


def test_reproduce_omits_and_reports_failed_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "flexfringe"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    failing = [Experiment(domain="corridor", horizon=3, episodes=50, seed=1, learner="flexfringe/css"), *few(True)]
    study = Study("table1", "Fails", lambda quick: failing, count)
    monkeypatch.setitem(STUDIES, "table1", (study,))
    ran = suffice("reproduce", "table1", "--flexfringe", str(program), "-o", str(tmp_path / "out"))
    assert ran.code == 1 and "1 runs; each is a line" in ran.out
    assert "1 runs failed and are left out" in ran.err and "flexfringe failed: no message" in ran.err
    assert (tmp_path / "out" / "table1.md").read_text().startswith("1 results")


def test_reproduce_keeps_finished_runs_when_interrupted(tmp_path: Path) -> None:
    command = [SCRIPT, "reproduce", "table1", "--quick", "--jobs", "1", "-o", str(tmp_path)]
    clean = {key: value for key, value in os.environ.items() if key != "FLEXFRINGE"}
    pipe = subprocess.PIPE
    child = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env=clean, preexec_fn=with_signals())
    try:
        deadline = time.monotonic() + 120
        while not list((tmp_path / "runs").glob("*.json")):
            assert child.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=60)
    finally:
        child.kill()
    assert child.returncode == 130 and not out
    assert "interrupted" in err and str(tmp_path) in err and "the same command" in err
    assert "Traceback" not in err and not (tmp_path / "table1.md").exists()
    assert not list(tmp_path.rglob("*.tmp"))
