"""Tests of the completion scripts; that of bash is run in bash."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from suffice.cli.main import app
from suffice.domains.registry import DOMAINS
from support.cli import ok

BASH = shutil.which("bash")
pytestmark = pytest.mark.skipif(BASH is None, reason="there is no bash")


def test_completion_prints_a_script_with_instructions_for_every_shell() -> None:
    for shell in ("bash", "zsh", "fish"):
        script = ok("completion", shell)
        assert script.startswith("# To use it: ") and f"suffice completion {shell}" in script.splitlines()[0]
        assert all(name in script for name in app if not name.startswith("-"))


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shell")
    (folder / "completion.bash").write_text(ok("completion", "bash"))
    for name in ("log.parquet", "lodge.csv", "maze.model"):
        (folder / name).touch()
    return folder / "completion.bash"


def completed(script: Path, *words: str) -> set[str]:
    """Return what bash offers for the last word."""
    line = (
        f"source {shlex.quote(str(script))}; COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; "
        'COMPREPLY=(); _suffice; printf "%s\\n" "${COMPREPLY[@]}"'
    )
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    assert BASH is not None
    ran = subprocess.run(
        [BASH, "--norc", "-c", line],
        cwd=script.parent,
        env=os.environ | {"PATH": path},
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    return set(filter(None, ran.stdout.split("\n")))


def test_completion_offers_commands(script: Path) -> None:
    assert completed(script, "suffice", "e") >= {"exact", "evaluate", "export"}
    assert completed(script, "suffice", "lea") == {"learn"}


def test_completion_offers_options_and_their_values(script: Path) -> None:
    assert completed(script, "suffice", "learn", "log.parquet", "--conf") == {"--confidence"}
    assert completed(script, "suffice", "learn", "log.parquet", "--metric", "s") == {"sketch"}
    assert completed(script, "suffice", "learn", "--planner", "") >= {"safe", "greedy", "none"}


def test_completion_offers_files(script: Path) -> None:
    assert completed(script, "suffice", "learn", "lo") == {"log.parquet", "lodge.csv"}
    assert completed(script, "suffice", "info", "ma") == {"maze.model"}
    assert completed(script, "suffice", "learn", "log.parquet", "-o", "ma") == {"maze.model"}


def test_completion_offers_domains(script: Path) -> None:
    """The script asks the program, so that new domains need no new script."""
    assert completed(script, "suffice", "evaluate", "maze.model", "--domain", "") == set(DOMAINS)
    assert completed(script, "suffice", "compare", "maze.model", "m") >= {"mini-hall", "maze.model"}
