"""The command line in odd environments: it works, or prints one clear line and exits with the right code."""

from __future__ import annotations

import json
import os
import resource
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from suffice.cli import environment
from support.cli import Ran, assert_mistake, suffice

ROWS = "episode,step,seen,action,reward\n" + "".join(
    f"{e},{t},{'rot→' if (e + t) % 3 else 'grün'},{e // (t + 1) % 2},{e % 2}\n" for e in range(40) for t in range(3)
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a log and a model whose texts are neither ASCII nor Latin-1."""
    folder = tmp_path_factory.mktemp("environment")
    (folder / "log.csv").write_text(ROWS, encoding="utf-8")
    assert suffice("learn", str(folder / "log.csv"), "-o", str(folder / "a.model")).code == 0
    return folder


def started(words: str, redirected: str = "", limit: Callable[[], None] | None = None, **variables: str) -> Ran:
    """Run a command in a new process, with variables of the environment and redirections of a shell."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **variables}
    line = f"exec {shlex.quote(sys.executable)} -m suffice {words} {redirected}"
    ran = subprocess.run(["bash", "-c", line], env=environment, capture_output=True, timeout=60, preexec_fn=limit)
    encoding = variables.get("PYTHONIOENCODING", "utf-8")
    return Ran(ran.returncode, ran.stdout.decode(encoding), ran.stderr.decode(encoding))


@pytest.mark.parametrize("encoding", ["latin-1", pytest.param("ascii", marks=pytest.mark.long)])
def test_commands_escape_what_the_encoding_of_stdout_lacks(here: Path, encoding: str) -> None:
    shown = started("info a.model --states", PYTHONIOENCODING=encoding)
    assert shown.code == 0 and not shown.err and "rot\\u2192" in shown.out
    assert ("grün" if encoding == "latin-1" else "gr\\xfcn") in shown.out


@pytest.mark.parametrize("encoding", ["latin-1", pytest.param("utf-8", marks=pytest.mark.long)])
def test_json_is_valid_in_any_encoding(here: Path, encoding: str) -> None:
    shown = started("check log.csv --seconds 1 --json", PYTHONIOENCODING=encoding)
    assert shown.code == 0 and not shown.err
    assert json.loads(shown.out) and ("→" in shown.out or "\\u2192" in shown.out or "rot" not in shown.out)
    described = started("report a.model --json", PYTHONIOENCODING=encoding)
    assert described.code == 0 and "rot→" in str(json.loads(described.out))


def test_commands_work_with_closed_streams(here: Path) -> None:
    """The model would otherwise get the number of a closed stream, and receive what is printed there."""
    learned = started("learn log.csv -o b.model", "<&- >&- 2>&-")
    assert learned == Ran(0, "", "") and (here / "b.model").read_bytes() == (here / "a.model").read_bytes()
    assert started("info a.model", ">&-") == Ran(0, "", "")
    assert started("info none.model --json", "2>&-") == Ran(2, "", "")


@pytest.mark.parametrize("columns", ["0", pytest.param("9" * 20, marks=pytest.mark.long)])
def test_help_is_shown_whatever_columns_says(columns: str) -> None:
    shown = started("learn --help", COLUMNS=columns)
    assert shown.code == 0 and not shown.err and max(map(len, shown.out.splitlines())) <= 120


def test_prepare_ignores_sizes_that_no_terminal_has(monkeypatch: pytest.MonkeyPatch) -> None:
    for value in ("0", "-5", "x", "", "19", "1001", "9" * 30, "²"):
        monkeypatch.setenv("COLUMNS", value)
        assert environment.prepare() == "" and "COLUMNS" not in os.environ
    monkeypatch.setenv("COLUMNS", "80")
    assert environment.prepare() == "" and os.environ["COLUMNS"] == "80"


@pytest.mark.parametrize("threads", ["0", pytest.param("many", marks=pytest.mark.long)])
def test_learn_refuses_a_senseless_number_of_compiler_threads(here: Path, threads: str) -> None:
    ran = started("learn log.csv -o b.model", NUMBA_NUM_THREADS=threads)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith(f"suffice: the environment variable NUMBA_NUM_THREADS={threads} is not a number")


@pytest.mark.parametrize(
    "variables",
    [
        pytest.param({"NUMBA_CACHE_DIR": "/proc/none", "TMPDIR": "/none", "HOME": "/none"}, id="no folders"),
        pytest.param({"TERM": "dumb", "LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}, id="no locale"),
    ],
)
def test_learn_works_without_folders_of_the_user_and_without_a_locale(here: Path, variables: dict[str, str]) -> None:
    ran = started("learn log.csv -o b.model", **variables)
    assert (ran.code, ran.err) == (0, "") and (here / "b.model").read_bytes() == (here / "a.model").read_bytes()


def limited_to(size: int) -> Callable[[], None]:
    return lambda: resource.setrlimit(resource.RLIMIT_AS, (size, size))


def test_commands_refuse_an_address_space_that_is_too_small(here: Path) -> None:
    """Linear algebra libraries hang or end the process if their threads do not get memory."""
    ran = started("learn log.csv -o b.model", limit=limited_to(300 << 20))
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert "the address space is limited to 300 MiB (ulimit -v), and at least 1,536 MiB are needed" in ran.err


def test_learn_works_in_the_smallest_address_space(here: Path) -> None:
    ran = started("learn log.csv -o b.model", limit=limited_to(environment.LEAST_SPACE))
    assert (ran.code, ran.err) == (0, "") and (here / "b.model").read_bytes() == (here / "a.model").read_bytes()


@pytest.mark.parametrize(
    "size", [1_800_000, *(pytest.param(n, marks=pytest.mark.long) for n in (1_600_000, 1_700_000))]
)
def test_check_works_in_an_address_space_that_has_room_for_one_large_reservation(here: Path, size: int) -> None:
    """An allocator that reserves a gibibyte left too little for other libraries, which failed or hung."""
    ran = started("check log.csv --seconds 1", limit=limited_to(size << 10))
    assert (ran.code, ran.err) == (0, "")


def test_is_space_short_if_not_even_that_can_be_found_out(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_memory(path: Path) -> str:
        raise MemoryError

    monkeypatch.setattr(Path, "read_text", no_memory)
    monkeypatch.setattr(environment, "address_limit", lambda: 1 << 30)
    assert environment.is_space_short()
    monkeypatch.setattr(environment, "address_limit", lambda: None)
    assert not environment.is_space_short()


LOOPS = {
    "learn loop.csv -o b.model": "loop.csv: this is a link to other.csv, which leads back to it",
    "learn log.csv loop.csv -o b.model": "loop.csv: this is a link to other.csv, which leads back to it",
    "check loop.csv": "loop.csv: this is a link to other.csv",
    "learn log.csv -o loop.csv": "loop.csv: no file can be written here (Too many levels of symbolic links)",
    "learn log.csv -o b.model --checkpoint loop.csv": "loop.csv: this is a link that leads nowhere. Set --checkpoint",
    "info loop.csv": "loop.csv: the file cannot be read (Too many levels of symbolic links)",
    "draw a.model -o loop.csv/a.svg": "no file can be written here (Too many levels of symbolic links)",
    "evaluate a.model --log loop.csv": "loop.csv: this is a link to other.csv",
    "simulate loop.csv --episodes 5 -o b.csv": "'loop.csv' is not a domain",
}
EMPTY = {
    "learn '' -o b.model": "learn '': the name is empty",
    "learn log.csv -o ''": "-o '': the file name is empty",
    "learn log.csv -o b.model --checkpoint ''": "--checkpoint '': the name is empty",
    "learn log.csv -o b.model --schema ''": "--schema '': the name is empty",
    "check ''": "check '': the name is empty",
    "info ''": "info '': the name is empty",
    "evaluate a.model --log ''": "--log '': the name is empty",
    "evaluate a.model --domain ''": "'' is not a domain",
    "explore a.model --log '' -o b.html": "--log '': the name is empty",
    "explore a.model --compare '' -o b.html": "--compare '': the name is empty",
    "report ''": "report '': the name is empty",
    "draw '' -o b.svg": "draw '': the name is empty",
    "draw a.model -o ''": "-o ",
    "export a.model --format json -o ''": "-o '': the file name is empty",
    "compare a.model ''": "compare '': the name is empty",
    "simulate '' --episodes 5 -o b.csv": "'' is not a domain",
    "exact ''": "'' is not a domain",
}


@pytest.mark.parametrize("line", [*LOOPS, *EMPTY])
def test_commands_refuse_loops_of_links_and_empty_names(here: Path, line: str) -> None:
    (here / "loop.csv").symlink_to("other.csv")
    (here / "other.csv").symlink_to("loop.csv")
    assert_mistake(here, shlex.split(line), {**LOOPS, **EMPTY}[line])
