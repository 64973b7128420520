"""The program ends as it is told to, whatever the place it was at makes of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.processes import with_signals

INTERRUPTED = (130, "", "suffice: interrupted; nothing was written\n")


def ran(program: str, *words: str, ignoring: int | None = None) -> tuple[int, str, str]:
    """How a Python program ended, and what it said; it ignores one signal or none, whatever this process ignores."""
    child = subprocess.run(
        [sys.executable, "-c", f"import os, signal, sys\n{program}", *words],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=with_signals(ignoring),
    )
    return child.returncode, child.stdout, child.stderr


WITHIN = (
    "from suffice.files.signals import exiting_on_signals, exit_if_signalled, if_interrupted, is_kept_in\n"
    "with exiting_on_signals():\n    "
)


@pytest.mark.parametrize(
    "error", ["TypeError('bad argument')", "SystemError", "MemoryError", "SystemExit(2)", "OSError"]
)
def test_an_interruption_may_become_another_exception(error: str) -> None:
    program = f"{WITHIN}try: os.kill(os.getpid(), signal.SIGINT)\n    except KeyboardInterrupt: raise {error} from None"
    assert ran(program) == INTERRUPTED


SWALLOWED = """
    import ctypes
    call_back = ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGINT))  # as the compiler does
    call_back()
"""


def test_an_interruption_that_was_swallowed_is_heeded_at_the_next_report() -> None:
    reporting = "    with progress_bar('Learning', 'layers') as progress: progress(1, 2); print('on')"
    assert ran(f"from suffice.cli.progress import progress_bar\n{WITHIN}{SWALLOWED}{reporting}") == INTERRUPTED
    elsewhere = (
        "import threading; other = threading.Thread(target=exit_if_signalled); other.start(); other.join(); print('on')"
    )
    assert ran(f"{WITHIN}pass{SWALLOWED}    {elsewhere}") == (0, "on\n", "")


def test_other_exceptions_that_cannot_be_raised_are_complained_of() -> None:
    code, _, said = ran(f"{WITHIN}import ctypes; ctypes.CFUNCTYPE(None)(lambda: 1 / 0)()")
    assert code == 0 and "ZeroDivisionError" in said
    theirs = "sys.unraisablehook = lambda unraisable: print('theirs')"
    assert ran(f"{theirs}\n{WITHIN}import ctypes; ctypes.CFUNCTYPE(None)(lambda: 1 / 0)()") == (0, "theirs\n", "")


def test_those_who_schedule_are_told_nothing() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        assert ran(f"{WITHIN}os.kill(os.getpid(), {number:d})") == (128 + number, "", "")


def test_ray_has_no_say_in_it() -> None:
    """It replaces the handler while it starts; its own way of ending is not taken for ours."""
    its_way = "signal.signal(signal.SIGTERM, lambda number, _: sys.exit(number)); "
    starting = f"from suffice.engines.ray import _heeding_sigterm\n{WITHIN}with _heeding_sigterm(): {its_way}"
    assert ran(f"{starting}os.kill(os.getpid(), signal.SIGTERM)") == (128 + signal.SIGTERM, "", "")
    assert ran(f"{starting}pass\n    os.kill(os.getpid(), signal.SIGTERM)") == (128 + signal.SIGTERM, "", "")
    assert ran(f"{starting}sys.exit(3)")[0] == 3


def test_impatience_changes_nothing() -> None:
    again = "    sys.stderr.flush = lambda: os.kill(os.getpid(), signal.SIGINT)\n"
    assert ran(f"{WITHIN}pass\n{again}    os.kill(os.getpid(), signal.SIGINT)") == INTERRUPTED


def test_a_thread_is_not_waited_for() -> None:
    asleep = "import threading, time; threading.Thread(target=time.sleep, args=(600,)).start()"
    assert ran(f"{WITHIN}{asleep}; os.kill(os.getpid(), signal.SIGINT)") == INTERRUPTED


def test_what_is_kept_is_said_and_cannot_move_the_cursor() -> None:
    code, _, said = ran(f"{WITHIN}with if_interrupted(is_kept_in('a\\x1b[2Jb')): os.kill(os.getpid(), signal.SIGINT)")
    assert (code, said.count("\x1b")) == (130, 0)
    assert said.startswith("suffice: interrupted; what is done is kept in a") and "the same command goes on" in said


def test_other_errors_and_the_time_after_are_as_they_were() -> None:
    assert ran(f"{WITHIN}sys.exit(7)")[0] == 7
    code, _, said = ran(f"{WITHIN}pass\nos.kill(os.getpid(), signal.SIGINT)")
    assert code == -signal.SIGINT and said.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.parametrize("ignored", [signal.SIGHUP, signal.SIGINT])
def test_who_has_a_signal_ignored_has_it_ignored(ignored: signal.Signals) -> None:
    """As `nohup` does, and a shell that starts something in the background."""
    assert ran(f"{WITHIN}os.kill(os.getpid(), {ignored:d}); print('on')", ignoring=ignored) == (0, "on\n", "")


def at_import(what: str) -> str:
    """The command line, with something that happens when its parser is imported."""
    return (
        f"class Finder:\n    def find_spec(self, name, *_):\n        if name == 'cyclopts':\n            {what}\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from suffice.__main__ import main\n"
        "main()"
    )


def test_interrupted_while_it_is_imported() -> None:
    assert ran(at_import("os.kill(os.getpid(), signal.SIGINT)"), "--version") == INTERRUPTED


def test_an_interruption_that_an_import_swallowed_is_heeded() -> None:
    swallowed = "try: os.kill(os.getpid(), signal.SIGINT)\n            except KeyboardInterrupt: pass"
    assert ran(at_import(swallowed), "--version") == INTERRUPTED


def test_whoever_reads_the_complaint_may_have_left() -> None:
    """As `suffice … 2>&1 | tee log` does: the same interruption ends both."""
    interrupted = f"{WITHIN}os.kill(os.getpid(), signal.SIGINT)"
    for left in ("end, other = os.pipe(); os.close(end); os.dup2(other, 2)", "sys.stderr.close()", "sys.stderr = None"):
        assert ran(f"{left}\n{interrupted}") == (130, "", "")


def test_what_is_done_before_it_is_heard_is_done() -> None:
    assert ran(f"{WITHIN}pass{SWALLOWED}    sys.exit(0)")[0] == 0
    assert ran(f"{WITHIN}pass{SWALLOWED}    sys.exit(1)") == INTERRUPTED


def test_that_nothing_was_written_is_told_only_until_something_is(tmp_path: Path) -> None:
    written = f"with replacing(Path({str(tmp_path / 'a')!r})) as temporary: temporary.write_text('all')"
    imports = "from pathlib import Path; from suffice.files.atomic import replacing"
    told = ran(f"{imports}\n{WITHIN}{written}\n    os.kill(os.getpid(), signal.SIGINT)")
    assert told == (130, "", "suffice: interrupted\n")
    before = f"{imports}\n{written}\n{WITHIN}os.kill(os.getpid(), signal.SIGINT)"
    assert ran(before) == INTERRUPTED, "by whom it was before is not known"


def test_of_what_is_told_the_innermost_counts() -> None:
    nested = "if_interrupted('outer'), if_interrupted('inner')"
    told = ran(f"{WITHIN}with {nested}: os.kill(os.getpid(), signal.SIGINT)")
    assert told == (130, "", "suffice: interrupted; inner\n")
    noted = (
        "try: os.kill(os.getpid(), signal.SIGINT)\n    except KeyboardInterrupt as error: error.add_note('x'); raise"
    )
    assert ran(f"{WITHIN}{noted}") == INTERRUPTED, "notes of others are not for users"


def test_the_script_begins_where_imports_can_be_interrupted() -> None:
    script = os.path.join(os.path.dirname(sys.executable), "suffice")
    with open(script) as file:
        assert "from suffice.__main__ import main" in file.read()
