"""`model.draw`, `explore`, `report`, `export` and `compare` write the bytes of the commands of the same names."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import matplotlib.figure
import numpy as np
import pytest

import suffice
from suffice import Model
from support.cli import ok


def corridor(n: int, seed: int) -> suffice.Episodes:
    return suffice.simulate(suffice.make("corridor").model(5), n, 5, np.random.default_rng(seed))


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("views")
    suffice.write_log(corridor(300, 1), folder / "log.parquet")
    suffice.learn(folder / "log.parquet", hold_out=0.2, stationary=False).save(folder / "a.model")
    suffice.learn(folder / "log.parquet", stationary=True).save(folder / "b.model")
    return folder


@pytest.fixture
def model(here: Path) -> Model:
    return suffice.load("a.model")


def both(command: str, name: str) -> tuple[bytes, bytes]:
    """Run a command that writes `command.SUFFIX`, and read that file and the one of Python."""
    suffix = Path(name).suffix
    ok(*command.split(), "-o", f"command{suffix}")
    return Path(f"command{suffix}").read_bytes(), Path(name).read_bytes()


@pytest.mark.parametrize(
    ("words", "options", "suffix"),
    [
        ("", {}, ".svg"),
        ("--no-labels --title Maze --most 6", {"labels": False, "title": "Maze", "most": 6}, ".svg"),
        ("--full", {"full": True}, ".png"),
        ("", {}, ".dot"),
    ],
)
def test_draw_writes_the_bytes_of_the_command(model: Model, words: str, options: dict[str, Any], suffix: str) -> None:
    assert model.draw(f"python{suffix}", **options) == Path(f"python{suffix}")
    ours, theirs = both(f"draw a.model {words}", f"python{suffix}")
    assert ours == theirs


def test_draw_without_a_path_returns_the_figure(model: Model) -> None:
    assert isinstance(model.draw(title="Maze"), matplotlib.figure.Figure)


def test_draw_refuses_other_suffixes_and_options_of_dot_files(model: Model) -> None:
    message = r"maze\.gif: the file type is not known\. End the name in \.svg, \.png, \.pdf or \.dot\."
    with pytest.raises(suffice.SettingsError, match=message):
        model.draw("maze.gif")
    with pytest.raises(suffice.SettingsError, match="Leave out labels, full, title and most"):
        model.draw("maze.dot", most=4)


@pytest.mark.parametrize(
    ("words", "options"),
    [
        ("", {}),
        ("--log log.parquet --episodes 3", {"log": "log.parquet", "episodes": 3}),
        ("--compare b.model", {"compare": "b.model", "compare_title": "b.model"}),
    ],
)
def test_explore_writes_the_bytes_of_the_command(model: Model, words: str, options: dict[str, Any]) -> None:
    if "compare" in options:
        options = options | {"compare": suffice.load(options["compare"])}
    model.explore("python.html", title="a.model", **options)
    ours, theirs = both(f"explore a.model {words}", "python.html")
    assert ours == theirs and model.explore(title="a.model", **options) == theirs.decode()


def test_explore_takes_episodes_and_refuses_impossible_numbers(model: Model) -> None:
    assert model.explore(log=corridor(50, 2)) != model.explore()
    with pytest.raises(suffice.SettingsError, match=r"episodes=0: .* from 1 to 1,000"):
        model.explore(episodes=0)


@pytest.mark.parametrize(("words", "options"), [("", {}), ("--log log.parquet", {"log": "log.parquet"})])
def test_report_writes_the_bytes_of_the_command(model: Model, words: str, options: dict[str, Any]) -> None:
    model.report("python.html", title="a", **options)
    ours, theirs = both(f"report a.model {words}", "python.html")
    assert ours == theirs and model.report(title="a", **options) == theirs.decode()
    content = json.loads(str(model.report(title="a", format="json", **options)))
    assert content == json.loads(ok("report", "a.model", *words.split(), "--json"))


def test_report_refuses_other_formats(model: Model) -> None:
    with pytest.raises(suffice.SettingsError, match=r"format='pdf' is not a format of a report"):
        model.report(format="pdf")  # type: ignore[arg-type]


@pytest.mark.parametrize("format", ["json", "dot", "pomdp"])
def test_export_writes_the_bytes_of_the_command(model: Model, format: Any) -> None:
    suffix = {"pomdp": ".POMDP"}.get(format, f".{format}")
    assert model.export(f"python{suffix}") == Path(f"python{suffix}")
    ours, theirs = both(f"export a.model --format {format}", f"python{suffix}")
    assert ours == theirs and model.export(format=format) == theirs.decode()


def test_export_refuses_unknown_formats(model: Model) -> None:
    with pytest.raises(suffice.SettingsError, match="Choose 'json', 'dot' or 'pomdp'"):
        model.export("a.xml", format="xml")  # type: ignore[arg-type]
    for path in (None, "a.xml"):
        with pytest.raises(suffice.SettingsError, match="Set format to 'json', 'dot' or 'pomdp'"):
            model.export(path)


def test_compare_takes_models_automata_and_domains(model: Model) -> None:
    same = suffice.learn(corridor(300, 1), stationary=False)
    assert model.compare(same) is model.compare(same.rdp) is None
    truth = json.loads(ok("compare", "a.model", "corridor", "--json"))
    for domain in ("corridor", suffice.make("corridor"), suffice.make("corridor").model(5)):
        assert (model.compare(domain) is None) == truth["equal"]
    difference = model.compare(suffice.load("b.model"))
    assert difference is not None and "stationary" in difference.reason


def test_report_of_a_split_names_options_from_python_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sentences on proofs name parameters; a page names them as the command that it shows."""
    monkeypatch.chdir(tmp_path)
    ok("simulate", "corridor", "--episodes", "500", "-o", "log.parquet")
    ok("learn", "log.parquet", "-o", "a.model", "--split", "--max-states", "40")
    ok("report", "a.model", "-o", "command.html")
    suffice.load("a.model").report("python.html", title="a")
    assert Path("python.html").read_bytes() == Path("command.html").read_bytes()
    assert "--planner subsampled" in Path("python.html").read_text(encoding="utf-8")


def test_views_and_files_never_replace_an_input_or_a_file_of_another_kind(tmp_path: Path) -> None:
    episodes = suffice.simulate(suffice.make("corridor").model(5), 100, 5, np.random.default_rng(0))
    more = suffice.simulate(suffice.make("corridor").model(5), 100, 5, np.random.default_rng(1))
    model, log, page = suffice.learn(episodes), tmp_path / "mine.csv", tmp_path / "page.html"
    suffice.write_log(more, log)
    model.report(page)
    model.save(tmp_path / "a.model")
    calls = (
        lambda: model.report(log, log=log, format="json"),
        lambda: model.report(page, format="json"),
        lambda: model.export(log, format="json"),
        lambda: model.export(tmp_path / "a.model", format="dot"),
        lambda: model.save(log),
    )
    before = [path.read_bytes() for path in (log, page, tmp_path / "a.model")]
    for call in calls:
        with pytest.raises(suffice.SettingsError, match="Choose another name"):
            call()
    assert [path.read_bytes() for path in (log, page, tmp_path / "a.model")] == before


def test_explore_takes_the_file_of_another_model(tmp_path: Path) -> None:
    model = suffice.learn(suffice.simulate(suffice.make("corridor").model(5), 100, 5, np.random.default_rng(0)))
    model.save(tmp_path / "a.model")
    assert model.explore(compare=tmp_path / "a.model") == model.explore(compare=model)
    with pytest.raises(suffice.SettingsError, match="compare is of type int, not a model"):
        model.explore(compare=5)  # type: ignore[arg-type]
    with pytest.raises(suffice.SettingsError, match="type int is not a domain"):
        model.compare(5)  # type: ignore[arg-type]
    with pytest.raises(suffice.SettingsError, match="type int is not a path"):
        suffice.load(3)  # type: ignore[arg-type]
