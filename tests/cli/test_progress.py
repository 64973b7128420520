"""Tests of progress bars on terminals, and of wrapping and colours of printed text."""

from __future__ import annotations

import io
import os
import pty
import re
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from suffice.cli import progress as progress_module
from suffice.cli.printing import complain, say, say_block, say_next
from suffice.cli.progress import progress_bar
from suffice.errors import naming_options
from support.cli import END, MAZE, ok, read_until, without_colours

WIPED = b"\x1b[?25h\r\x1b[1A\x1b[2K"  # the cursor shows again, goes up and clears the line
LONG = "A sentence of many words that does not fit into a narrow terminal and continues on further lines."


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch, *streams: str, columns: int = 100, **environment: str) -> Iterator[int]:
    """Replace streams of this process by a terminal, and yield the end from which its output is read."""
    ours, theirs = pty.openpty()
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm", "COLUMNS": str(columns), **environment}.items():
        monkeypatch.setenv(name, value)
    with os.fdopen(theirs, "w") as file:
        for stream in streams:
            monkeypatch.setattr(sys, stream, file)
        yield ours
        monkeypatch.undo()
    os.close(ours)


def shown_by(end: int) -> bytes:
    return read_until(end, END, 0.3)


def work(steps: int, seconds: float) -> None:
    with progress_bar("Working", "steps") as progress:
        for done in range(steps):
            time.sleep(seconds)
            progress((done + 1) * 2_000_000, steps * 2_000_000)


def test_progress_bar_shows_share_rate_and_remaining_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch, "stderr") as end:
        monkeypatch.setattr(progress_module, "PROGRESS_DELAY", 0.1)
        work(8, 0.1)
        drawn = shown_by(end)
    shown = without_colours(drawn).decode()
    figures = re.findall(r"Working .*? (\d+)% · ([\d.]+)M steps/s · \d:\d\d · \d:\d\d left", shown)
    assert figures and all(0 < int(share) <= 100 and 5 < float(rate) <= 20 for share, rate in figures)
    assert drawn.endswith(WIPED)


def test_waiting_shows_the_elapsed_time(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch, "stderr") as end:
        monkeypatch.setattr(progress_module, "PROGRESS_DELAY", 0.1)
        with progress_module.waiting("Reading [log].csv"):
            time.sleep(0.4)
        shown = without_colours(shown_by(end)).decode()
    assert re.search(r"Reading \[log\]\.csv 0:00", shown) and "%" not in shown


def test_progress_bar_shows_no_share_before_the_total_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch, "stderr") as end:
        monkeypatch.setattr(progress_module, "PROGRESS_DELAY", 0.1)
        with progress_bar("Working", "steps") as progress:
            progress(0, 0)
            time.sleep(0.3)
        shown = without_colours(shown_by(end)).decode()
    assert "Working" in shown and "%" not in shown


def test_progress_bar_shows_nothing_for_short_work(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0.3 <= progress_module.PROGRESS_DELAY <= 1
    with terminal(monkeypatch, "stderr") as end:
        work(2, 0.01)
        assert shown_by(end) == b""


def test_progress_bar_is_removed_when_the_work_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        with progress_bar("Failing", "steps"):
            time.sleep(0.2)
            raise KeyboardInterrupt

    with terminal(monkeypatch, "stderr") as end:
        monkeypatch.setattr(progress_module, "PROGRESS_DELAY", 0.05)
        with pytest.raises(KeyboardInterrupt):
            fail()
        shown = shown_by(end)
        time.sleep(0.2)
        assert b"Failing" in shown and shown_by(end) == b""  # nothing goes on drawing
    assert shown.endswith(WIPED)


def test_progress_bar_shows_nothing_without_a_capable_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", pipe)
        patched.setattr(progress_module, "PROGRESS_DELAY", 0.0)
        work(2, 0.05)
    assert pipe.getvalue() == ""
    with terminal(monkeypatch, "stderr", TERM="dumb") as end:
        monkeypatch.setattr(progress_module, "PROGRESS_DELAY", 0.0)
        work(2, 0.05)
        assert shown_by(end) == b""


@pytest.mark.parametrize(
    ("number", "short"), [(0.25, "0.25"), (3.0, "3"), (47.3, "47"), (1234.0, "1.23k"), (2.5e6, "2.5M"), (3e9, "3G")]
)
def test_short_formats_rates_with_three_digits(number: float, short: str) -> None:
    assert progress_module._short(number) == short


def test_clock_formats_seconds_as_minutes_and_hours() -> None:
    assert [progress_module._clock(s) for s in (0.2, 59.6, 61, 3661)] == ["0:00", "1:00", "1:01", "1:01:01"]


# Colours and width


def test_say_wraps_text_and_highlights_labels_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch, "stdout", columns=40) as end:
        say(LONG)
        say_next(f"suffice learn {'x' * 60} -o y")
        shown = shown_by(end)
    lines = without_colours(shown).decode().splitlines()
    assert max(map(len, lines[:-1])) <= 40 and " ".join(line.strip() for line in lines[:-1]) == LONG
    assert lines[-1] == f"Next: suffice learn {'x' * 60} -o y"  # whole, to be copied
    assert b"\x1b[1m" in shown


def test_say_wraps_at_120_characters_without_colours_in_a_pipe(capsys: pytest.CaptureFixture[str]) -> None:
    text = " ".join([LONG] * 5)
    say(text, label="Note:")
    complain("wrong,\nin two lines")
    out, err = capsys.readouterr()
    first, *others = out.splitlines()
    assert others and max(map(len, [first, *others])) <= 120
    assert first.startswith("Note: A sentence") and all(line.startswith("      ") and line[6] != " " for line in others)
    assert " ".join(out.split()) == f"Note: {text}" and err == "suffice: wrong, in two lines\n"


def test_say_keeps_words_that_are_longer_than_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    say(f"Wrote {'x' * 150}.csv, a file.")
    assert capsys.readouterr().out == f"Wrote\n  {'x' * 150}.csv,\n  a file.\n"


def test_say_block_aligns_texts_and_indents_their_continuation(capsys: pytest.CaptureFixture[str]) -> None:
    say_block([("Advice", "short"), ("Long label", " ".join(["word"] * 40)), ("", "again")])
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "Advice      short" and lines[-1] == " " * 12 + "again"
    assert all(line.startswith(" " * 12 + "word") for line in lines[2:-1]) and max(map(len, lines)) <= 120


def test_say_next_prints_one_command_per_line_if_they_do_not_fit(capsys: pytest.CaptureFixture[str]) -> None:
    say_next("suffice info a", "suffice info b")
    assert capsys.readouterr().out == "Next: suffice info a   or   suffice info b\n"
    say_next(f"suffice info {'a' * 80}", f"suffice info {'b' * 80}")
    assert capsys.readouterr().out == f"Next: suffice info {'a' * 80}\n   or suffice info {'b' * 80}\n"


@pytest.mark.parametrize(
    ("environment", "red"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)], ids=str
)
def test_complain_is_red_unless_colours_are_disabled(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], red: bool
) -> None:
    with terminal(monkeypatch, "stderr", **environment) as end:
        complain("there is no such file")
        shown = shown_by(end)
    assert without_colours(shown) == b"suffice: there is no such file\r\n"
    assert bool(re.search(rb"\x1b\[[0-9;]*31m", shown)) == red


def test_info_prints_the_same_text_on_a_terminal_and_in_a_pipe(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, model = str(tmp_path / "log.parquet"), str(tmp_path / "a.model")
    ok("simulate", *MAZE, "--episodes", "500", "-o", log)
    ok("learn", log, "-o", model)
    piped = ok("info", model)
    from suffice.cli.main import app

    with terminal(monkeypatch, "stdout", columns=10_000) as end, naming_options():
        app(["info", model], result_action="return_value")
        shown = shown_by(end)
    assert b"\x1b[" in shown and "\x1b" not in piped
    assert without_colours(shown).decode().replace("\r\n", "\n") == piped
