"""Tests of the help texts, whose examples run, and of hints for misspelt names."""

from __future__ import annotations

import inspect
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from suffice.cli.app import COMMANDS
from suffice.cli.main import app
from support.cli import assert_mistake, ok, suffice

NAMES = [name for name in app if not name.startswith("-")]
VISITS = "patient,visit,fever,treatment,outcome\n" + "".join(
    f"{i},{step},{(i + step) % 2},{'rest' if i % 3 else 'drug'},{i % 3 == 0:d}\n"
    for i in range(60)
    for step in range(3)
)
SLOW = ("reproduce",)


def text_of(name: str) -> str:
    return inspect.cleandoc(app[name].default_command.__doc__ or "")


def examples(text: str) -> list[str]:
    """Return the commands of a help text: indented lines that begin with suffice, continued lines joined."""
    lines = text.replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.startswith("    suffice ")]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make the files that the examples read."""
    folder = tmp_path_factory.mktemp("made")
    log = str(folder / "log.parquet")
    ok("simulate", "t-maze", "--episodes", "5000", "-o", log)
    for name, options in {"maze": (), "other": ("--planner", "none"), "held": ("--hold-out", "0.2")}.items():
        ok("learn", log, "-o", str(folder / f"{name}.model"), *options)
    (folder / "visits.csv").write_text(VISITS)
    return folder


def test_help_lists_every_command_once_in_its_group() -> None:
    listed = [name for names in COMMANDS.values() for name in names]
    assert set(NAMES) <= set(listed) and len(set(listed)) == len(listed)
    shown = ok("--help")
    assert all(f"─ {title} ─" in shown for title, names in COMMANDS.items() if set(names) & set(NAMES))
    assert "─ Commands ─" not in shown
    for name in NAMES:
        (line,) = re.findall(rf"│ {name}  .*", shown)
        assert line.rstrip("│ ").endswith("."), f"{name} takes more than a line"


def test_suffice_without_a_command_prints_the_help(recwarn: pytest.WarningsRecorder) -> None:
    assert ok() == ok("--help")


@pytest.mark.parametrize("name", NAMES)
def test_help_of_every_command_shows_examples_that_fit(name: str) -> None:
    shown = ok(name, "--help")
    # With a single parameter, "Examples:" would be parsed as another style of docstring; these say "For example:".
    block = re.search(r"(?:Examples|For example):\n\n(.*?)\n\n", text_of(name), re.S)
    assert block
    lines = [line[4:] for line in block[1].splitlines()]
    assert 2 <= len([line for line in lines if "suffice " in line]) <= 4
    assert all(len(line) <= 78 and f" {line}" in shown for line in lines)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in SLOW])
def test_examples_in_the_help_of_every_command_run(here: Path, name: str) -> None:
    for line in examples(text_of(name)):
        words = shlex.split(line, comments=True)
        if "|" not in words:
            ok(*words[1:])


def test_help_shows_a_first_session_that_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = examples(app.help)
    assert len(session) == 4
    for line in session:
        ok(*shlex.split(line, comments=True)[1:])


def test_help_of_learn_shows_the_common_options_first() -> None:
    shown = ok("learn", "--help")
    assert re.findall(r"╭─ (.*?) ─", shown) == [
        "Arguments", "Common options", "Printed result", "Reading the log", "Learning and tests", "Planning",
        "Resources and seed",
    ]  # fmt: skip
    common = shown.partition("─ Common options ─")[2].partition("╰")[0]
    assert re.findall(r"^│ [* ]  (--\w+)", common, re.M) == [
        "--output", "--stationary", "--columns", "--observations", "--bin",
    ]  # fmt: skip


@pytest.mark.parametrize("args", [(), *((name,) for name in NAMES)], ids=str)
def test_help_fits_into_100_columns(args: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    assert max(len(line) for line in ok(*args, "--help").splitlines()) <= 100


MEANT = [
    ("simulte t-maze", "Did you mean simulate?"),
    ("learn log.parquet -o b --metric langauges", "Did you mean languages?"),
    ("learn log.parquet -o b --stationary atuo", "Did you mean auto?"),
    ("learn log.parquet -o b --family conjuctions", "Did you mean 'conjunctions'?"),
    ("learn log.parqet -o b", "log.parqet: there is no such file. Did you mean log.parquet?\n"),
    ("learn LOG.parquet -o b", "Did you mean log.parquet?"),
    ("check visit.csv", "Did you mean visits.csv?"),
    ("check log.parquet --schema visits.cvs", "Did you mean visits.csv?"),
    ("info maz.model", "Did you mean maze.model? If not, make one with: suffice learn LOG -o maz.model"),
    ("simulate t-maz --episodes 5 -o b.csv", "Did you mean 't-maze'?"),
    ("simulate t-maze --episodes 5 -o b.csv --set lenth=3", "Did you mean 'length'?"),
    ("simulate t-maze --episodes 5 -o b.csv --behaviour maze.modl", "Did you mean maze.model?"),
    ("evaluate maze.model --domain tmaze", "Did you mean 't-maze'?"),
    ("evaluate maze.model --domain suffice/TMaz-v0", "Did you mean 'suffice/TMaze-v0'?"),
    ("compare maze.model t-maz", "t-maz is neither a file nor a domain. Did you mean the domain t-maze?"),
    ("export t-maz --format pomdp -o b.POMDP", "Did you mean the domain t-maze?"),
    ("reproduce tabel1 -o b", "Did you mean table1?"),
]


@pytest.mark.parametrize(("args", "hint"), MEANT, ids=[args for args, _ in MEANT])
def test_misspelt_names_get_a_suggestion(here: Path, args: str, hint: str) -> None:
    assert_mistake(here, args.split(), hint)


def test_unknown_names_get_no_suggestion(here: Path) -> None:
    for args in ("learn nothing.parquet -o b", "info b.model", "simulate zzz --episodes 5 -o b.csv"):
        assert "did you mean" not in suffice(*args.split()).err.lower()


def test_stationary_before_a_file_is_not_a_misspelt_value(here: Path) -> None:
    shutil.copy("log.parquet", "autos.parquet")
    ok("learn", "--stationary", "autos.parquet", "-o", "b.model")


def test_help_has_no_colours_in_a_pipe() -> None:
    ran = subprocess.run(
        [Path(sys.executable).with_name("suffice"), "learn", "--help"], capture_output=True, text=True, check=True
    )
    assert "\x1b" not in ran.stdout and "--stationary" in ran.stdout
