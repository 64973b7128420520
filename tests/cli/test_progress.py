"""Progress: on a terminal, for what takes long, with a rate and the time left; colours there and nowhere else."""

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

from suffice.cli import waiting
from suffice.cli.printing import complain, say, say_next
from suffice.cli.progress import progress_bar
from support.cli import END, MAZE, ok, read_until, without_colours

WIPED = b"\x1b[?25h\r\x1b[1A\x1b[2K"  # the cursor shows again, goes up and clears the line
LONG = "A sentence of many words that does not fit into a narrow terminal and has to go on in the next line of it."


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch, *streams: str, columns: int = 100, **environment: str) -> Iterator[int]:
    """A terminal in place of streams of this process; what it shows is read from its other end."""
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


def test_a_long_task_shows_its_share_its_rate_and_the_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch, "stderr") as end:
        monkeypatch.setattr(waiting, "PROGRESS_DELAY", 0.1)
        work(8, 0.1)
        drawn = shown_by(end)
    shown = without_colours(drawn).decode()
    told = re.findall(r"Working .*? (\d+)% · ([\d.]+)M steps/s · \d:\d\d · \d:\d\d left", shown)
    assert told and all(0 < int(share) <= 100 and 5 < float(rate) <= 20 for share, rate in told)
    assert drawn.endswith(WIPED)


def test_a_spinner_shows_the_time_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch, "stderr") as end:
        monkeypatch.setattr(waiting, "PROGRESS_DELAY", 0.1)
        with waiting.waiting("Reading [log].csv"):
            time.sleep(0.4)
        shown = without_colours(shown_by(end)).decode()
    assert re.search(r"Reading \[log\]\.csv 0:00", shown) and "%" not in shown


def test_until_there_is_something_to_count_no_share_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch, "stderr") as end:
        monkeypatch.setattr(waiting, "PROGRESS_DELAY", 0.1)
        with progress_bar("Working", "steps") as progress:
            progress(0, 0)
            time.sleep(0.3)
        shown = without_colours(shown_by(end)).decode()
    assert "Working" in shown and "%" not in shown


def test_a_short_task_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    assert 0.3 <= waiting.PROGRESS_DELAY <= 1
    with terminal(monkeypatch, "stderr") as end:
        work(2, 0.01)
        assert shown_by(end) == b""


def test_a_failing_task_leaves_no_bar_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        with progress_bar("Failing", "steps"):
            time.sleep(0.2)
            raise KeyboardInterrupt

    with terminal(monkeypatch, "stderr") as end:
        monkeypatch.setattr(waiting, "PROGRESS_DELAY", 0.05)
        with pytest.raises(KeyboardInterrupt):
            fail()
        shown = shown_by(end)
        time.sleep(0.2)
        assert b"Failing" in shown and shown_by(end) == b""  # nothing goes on drawing
    assert shown.endswith(WIPED)


def test_without_a_terminal_or_on_a_dumb_one_nothing_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    pipe = io.StringIO()
    with monkeypatch.context() as patched:
        patched.setattr(sys, "stderr", pipe)
        patched.setattr(waiting, "PROGRESS_DELAY", 0.0)
        work(2, 0.05)
    assert pipe.getvalue() == ""
    with terminal(monkeypatch, "stderr", TERM="dumb") as end:
        monkeypatch.setattr(waiting, "PROGRESS_DELAY", 0.0)
        work(2, 0.05)
        assert shown_by(end) == b""


@pytest.mark.parametrize(
    ("number", "short"), [(0.25, "0.25"), (3.0, "3"), (47.3, "47"), (1234.0, "1.23k"), (2.5e6, "2.5M"), (3e9, "3G")]
)
def test_rates_are_short(number: float, short: str) -> None:
    assert waiting._short(number) == short


def test_times_are_clocks() -> None:
    assert [waiting._clock(s) for s in (0.2, 59.6, 61, 3661)] == ["0:00", "1:00", "1:01", "1:01:01"]


# Colours and width


def test_on_a_terminal_sentences_are_wrapped_and_labels_stand_out(monkeypatch: pytest.MonkeyPatch) -> None:
    with terminal(monkeypatch, "stdout", columns=40) as end:
        say(LONG)
        say_next(f"suffice learn {'x' * 60} -o y")
        shown = shown_by(end)
    lines = without_colours(shown).decode().splitlines()
    assert max(map(len, lines[:-1])) <= 40 and " ".join(line.strip() for line in lines[:-1]) == LONG
    assert lines[-1] == f"Next: suffice learn {'x' * 60} -o y"  # whole, to be copied
    assert b"\x1b[1m" in shown


def test_elsewhere_a_sentence_is_a_line_without_colours(capsys: pytest.CaptureFixture[str]) -> None:
    say(LONG * 5, label="Note:")
    complain("wrong,\nin two lines")
    out, err = capsys.readouterr()
    assert out == f"Note: {LONG * 5}\n" and err == "suffice: wrong, in two lines\n"


@pytest.mark.parametrize(
    ("environment", "red"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)], ids=str
)
def test_mistakes_are_red_unless_colours_are_unwanted(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], red: bool
) -> None:
    with terminal(monkeypatch, "stderr", **environment) as end:
        complain("there is no such file")
        shown = shown_by(end)
    assert without_colours(shown) == b"suffice: there is no such file\r\n"
    assert bool(re.search(rb"\x1b\[[0-9;]*31m", shown)) == red


def test_a_result_reads_the_same_on_a_terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log, model = str(tmp_path / "log.parquet"), str(tmp_path / "a.model")
    ok("simulate", *MAZE, "--episodes", "500", "-o", log)
    ok("learn", log, "-o", model)
    piped = ok("info", model)
    from suffice.cli.main import app

    with terminal(monkeypatch, "stdout", columns=10_000) as end:
        app(["info", model], result_action="return_value")
        shown = shown_by(end)
    assert b"\x1b[" in shown and "\x1b" not in piped
    assert without_colours(shown).decode().replace("\r\n", "\n") == piped
