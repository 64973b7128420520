"""Tests of the commands that are suggested at the end of a result: they work when copied."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.cli import MAZE, ok

DOMAIN = ("t-maze", "--set", "length=2")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with a log and models whose names need quotes."""
    folder = tmp_path_factory.mktemp("made")
    log = str(folder / "my log.parquet")
    ok("simulate", *MAZE, "--episodes", "9000", "-o", log)
    ok("learn", log, "-o", str(folder / "my own.model"))
    ok("learn", log, "-o", str(folder / "held.model"), "--hold-out", "0.3")
    ok("learn", log, "-o", str(folder / "coarse.model"), "--delta", "1e-300")
    ok("learn", log, "-o", str(folder / "bare.model"), "--planner", "none")
    return folder


def suggested(said: str) -> list[list[str]]:
    """Return the commands that a result suggests at its end, with the placeholder DOMAIN replaced."""
    (found,) = re.findall(r"^Next:? +(.*)\Z", said.rstrip("\n"), re.M | re.S)
    commands = [shlex.split(command) for command in re.split(r"\s+or +(?=suffice|dot)", found)]
    return [[part for word in c for part in (DOMAIN if word == "DOMAIN" else (word,))] for c in commands]


def follow(words: list[str]) -> str:
    if words[0] == "dot":
        if shutil.which("dot"):
            subprocess.run(words, check=True, timeout=60)
        return ""
    assert words[0] == "suffice"
    return ok(*words[1:])


RESULTS = [
    "domains",
    "check 'my log.parquet'",
    "check 'my log.parquet' --bin bit1=2",
    "learn 'my log.parquet' -o 'b c.model'",
    "learn 'my log.parquet' -o 'b c.model' --hold-out 0.2 --bin bit1=2",
    "learn 'my log.parquet' -o 'b c.model' --planner none",
    "learn 'my log.parquet' -o 'b c.model' --stationary auto",
    "info 'my own.model'",
    "info 'my own.model' --states --decisions 9",
    "learn 'my log.parquet' -o 'b c.model' --why --delta 1e-9",
    "learn 'my log.parquet' -o 'b c.model' --strength 1e6",
    "learn 'my log.parquet' -o 'b c.model' --split --planner subsampled",
    "info bare.model",
    "export 'my own.model' --format json -o 'b c.json'",
    "export 'my own.model' --format dot -o 'b c.dot'",
    "export 'my own.model' --format pomdp -o 'b c.POMDP'",
    "export t-maze --format pomdp -o 'b c.POMDP'",
    "compare 'my own.model' held.model",
    "compare 'my own.model' coarse.model",
    "compare 'my own.model' t-maze --set length=2",
    "compare bare.model t-maze --set length=2",
    "compare coarse.model t-maze --set length=2 --horizon 4",
    "evaluate 'my own.model' --domain t-maze --set length=2",
    "evaluate 'my own.model' --domain t-maze --set length=2 --exact",
    "evaluate 'my own.model' --domain suffice/TMaze-v0 --episodes 100",
    "evaluate held.model --log 'my log.parquet'",
    "exact t-maze --set length=2",
    "exact t-maze --metric L1",
    "exact corridor --family 1,1,1",
    "exact t-maze --horizon 12",
]


@pytest.mark.parametrize("args", RESULTS)
def test_results_have_short_lines_and_suggest_commands_that_work_when_copied(here: Path, args: str) -> None:
    said = ok(*shlex.split(args))
    assert max(map(len, said.splitlines())) <= 120
    for command in suggested(said):
        follow(command)


def test_suggested_commands_lead_from_a_domain_to_pages_about_its_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def chain(said: str, most: int) -> Iterator[str]:
        for _ in range(most):
            first = suggested(said)[0]
            yield first[1]
            said = follow(first)

    followed = list(chain(ok("exact", *DOMAIN), 5))
    assert followed == ["simulate", "learn", "explore", "report", "explore"]


def test_json_output_suggests_no_command(here: Path) -> None:
    for args in ("domains", "info 'my own.model'", "check 'my log.parquet'", "compare bare.model bare.model"):
        assert "Next" not in ok(*shlex.split(args), "--json")
