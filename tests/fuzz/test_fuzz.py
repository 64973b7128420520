"""No file causes a traceback, a hang, a memory use beyond the limit, or another file to be written."""

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
HOURS = float(os.environ.get("SUFFICE_FUZZ_HOURS", "1"))  # of `make test-long`, for all kinds of files together


def run(*arguments: object, timeout: float) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(TESTS), *filter(None, sys.path)])}
    command = [sys.executable, "-m", "fuzz.running", *map(str, arguments)]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=timeout)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Return the results of one process for all kinds of files."""
    last = tmp_path_factory.mktemp("fuzz") / "last"
    last.touch()
    ran = run("made", EXAMPLES, last, *NAMES, timeout=300)
    found = {line["target"]: line for line in map(json.loads, ran.stdout.splitlines())}
    found["end"] = f"exit code {ran.returncode}, after {last.read_bytes()[:2000]!r}\n{ran.stderr[-3000:]}"
    return found


@pytest.mark.parametrize("name", NAMES)
def test_readers_accept_a_mutated_file_or_refuse_it_in_one_line(results: dict[str, Any], name: str) -> None:
    assert name in results, f"the process ended: {results['end']}"
    assert not results[name]["failure"], results[name]["failure"]
    assert results[name]["inputs"] >= EXAMPLES // 4
    assert results[name]["accepted"] < results[name]["inputs"] or name == "notes", "no input was invalid"


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_readers_survive_an_hour_of_fuzzing(tmp_path: Path, name: str) -> None:
    seconds = round(HOURS * 3600 / len(NAMES))
    ran = run("grown", seconds, tmp_path, name, timeout=seconds + 300)
    failures = {file.name: file.read_bytes()[:2000] for file in tmp_path.glob("failure-*")}
    assert not failures and ran.returncode == 0, f"{ran.stderr[-5000:]}\n{failures}"
