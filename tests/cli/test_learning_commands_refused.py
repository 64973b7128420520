"""Logs and names that `learn` and `check` refuse: one line on stderr, exit code 2, and nothing is written."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.cli import assert_mistake

HEADER = "episode,step,seen,action,reward\n"
ROWS = [f"{e},{t},{'ab'[(e + t) % 2]},{e // (t + 1) % 2},{e % 2}\n" for e in range(20) for t in range(2)]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an empty folder."""
    return tmp_path_factory.mktemp("refused")


def changed(old: str, new: str) -> str:
    """Return a log with a change in each of its rows."""
    return HEADER + "".join(row.replace(old, new) for row in ROWS)


@pytest.mark.filterwarnings("error")  # a warning would be a second line
@pytest.mark.parametrize(
    ("name", "text", "complaint"),
    [
        ("latin.csv", changed(",a,", ",é,").encode("latin-1"), ", column 'seen': b'\\xe9' is not UTF-8 text"),
        ("large.csv", changed(",1\n", ",1e308\n"), "rewards from 0 to 1e+308 exceed the range of doubles"),
        ("infinite.csv", changed(",a,", ",-inf,").replace(",b,", ",1.5,"), "column 'seen': -inf is not a finite"),
        ("header.csv", HEADER.strip(), "there are columns but no rows"),
        ("mark.csv", "\ufeff", "the file is empty"),
        ("commas.tsv", changed("", ""), "the cells are separated by ','. Separate them by tabs"),
        ("a.model", changed("", ""), "this is named like a model"),
    ],
)
def test_learn_and_check_refuse_logs_in_one_line(here: Path, name: str, text: str | bytes, complaint: str) -> None:
    (here / name).write_bytes(text.encode() if isinstance(text, str) else text)
    assert_mistake(here, ["learn", name, "-o", "b.model"], complaint)


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["learn", "log.csv", "--horizon", "9" * 20, "-o", "b.model"], "mostly padding. Use a smaller --horizon"),
        (["learn", "log.csv", "-o", "x" * 250], "File name too long"),
        (["learn", "b.model.run.json", "-o", "b.model"], "this would overwrite an input file"),
        (["learn", "log.csv", "-o", "taken.model"], "taken.model.run.json: this is a folder"),
        (["check", "absent.csv", "--seconds", "0"], "--seconds 0 is not a time budget"),
        (["info", "link.model"], "link.model: this is a link to absent.model, which does not exist"),
        (["check", "circle.csv"], "circle.csv: this is a link to circle.csv, which leads back to it"),
    ],
)
def test_commands_refuse_names_and_numbers_before_any_work(here: Path, args: list[str], complaint: str) -> None:
    (here / "log.csv").write_text(changed("", ""))
    (here / "b.model.run.json").write_text('{"episode": 0, "step": 0, "seen": 1, "action": 1, "reward": 0}\n')
    (here / "taken.model.run.json").mkdir()
    (here / "link.model").symlink_to("absent.model")
    (here / "circle.csv").symlink_to("circle.csv")
    assert_mistake(here, args, complaint)
