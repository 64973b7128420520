"""Help that teaches: every example in it runs, and misspelt names are told what was meant."""

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
    """The commands of a help text: what is indented and, with continued lines joined, begins with suffice."""
    lines = text.replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.startswith("    suffice ")]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that the examples start from; those they write are written in the order of the help."""
    folder = tmp_path_factory.mktemp("made")
    log = str(folder / "log.parquet")
    ok("simulate", "t-maze", "--episodes", "5000", "-o", log)
    for name, options in {"maze": (), "other": ("--planner", "none"), "held": ("--hold-out", "0.2")}.items():
        ok("learn", log, "-o", str(folder / f"{name}.model"), *options)
    (folder / "visits.csv").write_text(VISITS)
    return folder


def test_every_command_has_its_group_and_comes_once() -> None:
    listed = [name for names in COMMANDS.values() for name in names]
    assert set(NAMES) <= set(listed) and len(set(listed)) == len(listed)
    shown = ok("--help")
    assert all(f"─ {title} ─" in shown for title, names in COMMANDS.items() if set(names) & set(NAMES))
    assert "─ Commands ─" not in shown
    for name in NAMES:
        (line,) = re.findall(rf"│ {name}  .*", shown)
        assert line.rstrip("│ ").endswith("."), f"{name} takes more than a line"


def test_the_help_is_what_one_gets_without_a_command(recwarn: pytest.WarningsRecorder) -> None:
    assert ok() == ok("--help")


@pytest.mark.parametrize("name", NAMES)
def test_every_command_shows_examples_that_fit(name: str) -> None:
    shown = ok(name, "--help")
    # docstrings of a single parameter say "For example:", lest they be taken for another style of docstring
    block = re.search(r"(?:Examples|For example):\n\n(.*?)\n\n", text_of(name), re.S)
    assert block
    lines = [line[4:] for line in block[1].splitlines()]
    assert 2 <= len([line for line in lines if "suffice " in line]) <= 4
    assert all(len(line) <= 78 and f" {line}" in shown for line in lines)


@pytest.mark.parametrize("name", [name for name in NAMES if name not in SLOW])
def test_the_examples_of_a_command_run(here: Path, name: str) -> None:
    for line in examples(text_of(name)):
        words = shlex.split(line, comments=True)
        if "|" not in words:
            ok(*words[1:])


def test_the_first_session_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    session = examples(app.help)
    assert len(session) == 4
    for line in session:
        ok(*shlex.split(line, comments=True)[1:])


def test_what_most_people_need_to_learn_comes_first() -> None:
    titles = re.findall(r"╭─ (.*?) ─", ok("learn", "--help"))
    assert titles == [
        "Arguments", "What to learn", "How the log is read", "How futures are compared", "How to plan", "Resources",
    ]  # fmt: skip


MEANT = [
    ("simulte t-maze", 'Did you mean "simulate"?'),
    ("learn log.parquet -o b --metric langauges", 'Did you mean "languages"?'),
    ("learn log.parquet -o b --stationary atuo", 'Did you mean "auto"?'),
    ("learn log.parquet -o b --family conjuctions", "Did you mean 'conjunctions'?"),
    ("learn log.parqet -o b", "log.parqet: there is no such file; did you mean log.parquet?\n"),
    ("learn LOG.parquet -o b", "did you mean log.parquet?"),
    ("check visit.csv", "did you mean visits.csv?"),
    ("check log.parquet --schema visits.cvs", "did you mean visits.csv?"),
    ("info maz.model", "Did you mean maze.model? If not, make one with: suffice learn LOG -o maz.model"),
    ("simulate t-maz --episodes 5 -o b.csv", "Did you mean 't-maze'?"),
    ("simulate t-maze --episodes 5 -o b.csv --set lenth=3", "did you mean 'length'?"),
    ("simulate t-maze --episodes 5 -o b.csv --behaviour maze.modl", "Did you mean maze.model?"),
    ("evaluate maze.model --domain tmaze", "Did you mean 't-maze'?"),
    ("evaluate maze.model --domain suffice/TMaz-v0", "did you mean 'suffice/TMaze-v0'?"),
    ("compare maze.model t-maz", "t-maz is neither a file nor a domain; did you mean the domain t-maze?"),
    ("export t-maz --format pomdp -o b.POMDP", "did you mean the domain t-maze?"),
    ("reproduce tabel1 -o b", 'Did you mean "table1"?'),
]


@pytest.mark.parametrize(("args", "hint"), MEANT, ids=[args for args, _ in MEANT])
def test_a_misspelt_name_is_told_what_was_meant(here: Path, args: str, hint: str) -> None:
    assert_mistake(here, args.split(), hint)


def test_a_name_like_no_other_is_told_nothing(here: Path) -> None:
    for args in ("learn nothing.parquet -o b", "info b.model", "simulate zzz --episodes 5 -o b.csv"):
        assert "did you mean" not in suffice(*args.split()).err


def test_stationary_before_a_file_is_no_misspelt_value(here: Path) -> None:
    shutil.copy("log.parquet", "autos.parquet")
    ok("learn", "--stationary", "autos.parquet", "-o", "b.model")


def test_help_in_a_pipe_has_no_colours() -> None:
    ran = subprocess.run(
        [Path(sys.executable).with_name("suffice"), "learn", "--help"], capture_output=True, text=True, check=True
    )
    assert "\x1b" not in ran.stdout and "--stationary" in ran.stdout
