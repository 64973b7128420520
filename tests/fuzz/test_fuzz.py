"""No file makes a traceback, a hang, more memory than a limit, or another file than the given one."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
NAMES = ("model", "checkpoint", "csv", "csv.gz", "jsonl", "json", "parquet", "arrow", "pomdp", "schema", "notes")
EXAMPLES = 60
HOURS = float(os.environ.get("SUFFICE_FUZZ_HOURS", "1"))  # of `make test-long`, all kinds of files together


def run(*arguments: object, timeout: float) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])}
    command = [sys.executable, "-m", "fuzz.running", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout)


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What one process found out about all kinds of files."""
    last = tmp_path_factory.mktemp("fuzz") / "last"
    last.touch()
    ran = run("made", EXAMPLES, last, *NAMES, timeout=300)
    found = {line["target"]: line for line in map(json.loads, ran.stdout.splitlines())}
    found["end"] = f"exit code {ran.returncode}, after {last.read_bytes()[:2000]!r}\n{ran.stderr[-3000:]}"
    return found


@pytest.mark.parametrize("name", NAMES)
def test_files_are_taken_or_refused_in_one_line(told: dict[str, Any], name: str) -> None:
    assert name in told, f"the process died: {told['end']}"
    assert not told[name]["fault"], told[name]["fault"]
    assert told[name]["inputs"] >= EXAMPLES // 4
    assert told[name]["taken"] < told[name]["inputs"] or name == "notes", "nothing was spoiled"


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_an_hour_of_files_finds_no_fault(tmp_path: Path, name: str) -> None:
    seconds = round(HOURS * 3600 / len(NAMES))
    ran = run("grown", seconds, tmp_path, name, timeout=seconds + 300)
    faults = {file.name: file.read_bytes()[:2000] for file in tmp_path.glob("fault-*")}
    assert not faults and ran.returncode == 0, f"{ran.stderr[-5000:]}\n{faults}"
