"""Signals end the program with the right exit code and message, wherever they arrive."""

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
    """Run a Python program that ignores one signal or none; return its exit code, stdout and stderr."""
    child = subprocess.run(
        [sys.executable, "-c", f"import os, signal, sys\n{program}", *words],
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=with_signals(ignoring),
    )
    return child.returncode, child.stdout, child.stderr


WITHIN = (
    "from suffice.files.signals import exiting_on_signals, exit_if_signalled, if_interrupted, resume_message\n"
    "with exiting_on_signals():\n    "
)


@pytest.mark.parametrize(
    "error", ["TypeError('bad argument')", "SystemError", "MemoryError", "SystemExit(2)", "OSError"]
)
def test_exiting_on_signals_exits_when_the_interruption_became_another_exception(error: str) -> None:
    program = f"{WITHIN}try: os.kill(os.getpid(), signal.SIGINT)\n    except KeyboardInterrupt: raise {error} from None"
    assert ran(program) == INTERRUPTED


SWALLOWED = """
    import ctypes
    call_back = ctypes.CFUNCTYPE(None)(lambda: os.kill(os.getpid(), signal.SIGINT))  # as in the compiler
    call_back()
"""


def test_exit_if_signalled_handles_a_lost_interruption_at_the_next_progress_report() -> None:
    reporting = "    with progress_bar('Learning', 'layers') as progress: progress(1, 2); print('on')"
    assert ran(f"from suffice.cli.progress import progress_bar\n{WITHIN}{SWALLOWED}{reporting}") == INTERRUPTED
    elsewhere = (
        "import threading; other = threading.Thread(target=exit_if_signalled); other.start(); other.join(); print('on')"
    )
    assert ran(f"{WITHIN}pass{SWALLOWED}    {elsewhere}") == (0, "on\n", "")


def test_exiting_on_signals_reports_other_unraisable_exceptions() -> None:
    code, _, said = ran(f"{WITHIN}import ctypes; ctypes.CFUNCTYPE(None)(lambda: 1 / 0)()")
    assert code == 0 and "ZeroDivisionError" in said
    theirs = "sys.unraisablehook = lambda unraisable: print('theirs')"
    assert ran(f"{theirs}\n{WITHIN}import ctypes; ctypes.CFUNCTYPE(None)(lambda: 1 / 0)()") == (0, "theirs\n", "")


def test_sigterm_and_sighup_end_the_program_without_a_message() -> None:
    for number in (signal.SIGTERM, signal.SIGHUP):
        assert ran(f"{WITHIN}os.kill(os.getpid(), {number:d})") == (128 + number, "", "")


def test_signal_handler_is_restored_after_ray_replaces_it() -> None:
    """Ray replaces the handler while it starts, and exits with the number of the signal."""
    its_way = "signal.signal(signal.SIGTERM, lambda number, _: sys.exit(number)); "
    starting = (
        f"from suffice.engines.ray_cluster import _restoring_sigterm\n{WITHIN}with _restoring_sigterm(): {its_way}"
    )
    assert ran(f"{starting}os.kill(os.getpid(), signal.SIGTERM)") == (128 + signal.SIGTERM, "", "")
    assert ran(f"{starting}pass\n    os.kill(os.getpid(), signal.SIGTERM)") == (128 + signal.SIGTERM, "", "")
    assert ran(f"{starting}sys.exit(3)")[0] == 3


def test_exiting_on_signals_ignores_a_second_interruption() -> None:
    again = "    sys.stderr.flush = lambda: os.kill(os.getpid(), signal.SIGINT)\n"
    assert ran(f"{WITHIN}pass\n{again}    os.kill(os.getpid(), signal.SIGINT)") == INTERRUPTED


def test_exiting_on_signals_does_not_wait_for_threads() -> None:
    asleep = "import threading, time; threading.Thread(target=time.sleep, args=(600,)).start()"
    assert ran(f"{WITHIN}{asleep}; os.kill(os.getpid(), signal.SIGINT)") == INTERRUPTED


def test_if_interrupted_prints_the_resume_message_without_control_characters() -> None:
    block = "with if_interrupted(resume_message('a\\x1b[2Jb')): os.kill(os.getpid(), signal.SIGINT)"
    code, _, said = ran(f"{WITHIN}{block}")
    assert (code, said.count("\x1b")) == (130, 0)
    assert said.startswith("suffice: interrupted; checkpoints are stored in a")
    assert said.endswith("; run the same command again to continue\n")


def test_exiting_on_signals_leaves_other_errors_and_later_signals_unchanged() -> None:
    assert ran(f"{WITHIN}sys.exit(7)")[0] == 7
    code, _, said = ran(f"{WITHIN}pass\nos.kill(os.getpid(), signal.SIGINT)")
    assert code == -signal.SIGINT and said.rstrip().endswith("KeyboardInterrupt")


@pytest.mark.parametrize("ignored", [signal.SIGHUP, signal.SIGINT])
def test_exiting_on_signals_ignores_signals_that_the_parent_ignores(ignored: signal.Signals) -> None:
    """`nohup` does this, and a shell that starts a program in the background."""
    assert ran(f"{WITHIN}os.kill(os.getpid(), {ignored:d}); print('on')", ignoring=ignored) == (0, "on\n", "")


def at_import(what: str) -> str:
    """Return a program that runs the command line, and a statement when its parser is imported."""
    return (
        f"class Finder:\n    def find_spec(self, name, *_):\n        if name == 'cyclopts':\n            {what}\n"
        "sys.meta_path.insert(0, Finder())\n"
        "from suffice.__main__ import main\n"
        "main()"
    )


def test_main_reports_an_interruption_during_imports() -> None:
    assert ran(at_import("os.kill(os.getpid(), signal.SIGINT)"), "--version") == INTERRUPTED


def test_main_handles_an_interruption_lost_during_imports() -> None:
    swallowed = "try: os.kill(os.getpid(), signal.SIGINT)\n            except KeyboardInterrupt: pass"
    assert ran(at_import(swallowed), "--version") == INTERRUPTED


def test_exiting_on_signals_exits_cleanly_when_stderr_is_closed() -> None:
    """In `suffice … 2>&1 | tee log` the same interruption ends both."""
    interrupted = f"{WITHIN}os.kill(os.getpid(), signal.SIGINT)"
    for left in ("end, other = os.pipe(); os.close(end); os.dup2(other, 2)", "sys.stderr.close()", "sys.stderr = None"):
        assert ran(f"{left}\n{interrupted}") == (130, "", "")


def test_exiting_on_signals_succeeds_if_the_command_finished_before_the_signal() -> None:
    assert ran(f"{WITHIN}pass{SWALLOWED}    sys.exit(0)")[0] == 0
    assert ran(f"{WITHIN}pass{SWALLOWED}    sys.exit(1)") == INTERRUPTED


def test_interrupted_program_claims_that_nothing_was_written_only_if_true(tmp_path: Path) -> None:
    written = f"with replacing(Path({str(tmp_path / 'a')!r})) as temporary: temporary.write_text('all')"
    imports = "from pathlib import Path; from suffice.files.atomic import replacing"
    result = ran(f"{imports}\n{WITHIN}{written}\n    os.kill(os.getpid(), signal.SIGINT)")
    assert result == (130, "", "suffice: interrupted\n")
    before = f"{imports}\n{written}\n{WITHIN}os.kill(os.getpid(), signal.SIGINT)"
    assert ran(before) == INTERRUPTED, "files written before the block do not count"


def test_if_interrupted_prints_the_innermost_message() -> None:
    nested = "if_interrupted('outer'), if_interrupted('inner')"
    result = ran(f"{WITHIN}with {nested}: os.kill(os.getpid(), signal.SIGINT)")
    assert result == (130, "", "suffice: interrupted; inner\n")
    noted = (
        "try: os.kill(os.getpid(), signal.SIGINT)\n    except KeyboardInterrupt as error: error.add_note('x'); raise"
    )
    assert ran(f"{WITHIN}{noted}") == INTERRUPTED, "notes of other code are not shown"


def test_installed_script_starts_with_the_main_that_handles_signals() -> None:
    script = os.path.join(os.path.dirname(sys.executable), "suffice")
    with open(script) as file:
        assert "from suffice.__main__ import main" in file.read()
