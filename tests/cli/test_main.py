"""Tests of the command line as a whole: a session, JSON for scripts, mistakes, signals and equal bytes."""

from __future__ import annotations

import json
import math
import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from suffice.automata.compare import compare
from suffice.data.logs.reading import read_log
from suffice.data.logs.writing import write_log
from suffice.domains.tasks.mini_hall import MiniHall
from suffice.domains.tasks.t_maze import TMaze
from suffice.models.model import Model
from suffice.version import __version__
from support.cli import (
    END,
    MAZE,
    SCRIPT,
    Ran,
    assert_mistake,
    contents,
    installed,
    ok,
    on_a_terminal,
    read_until,
    suffice,
    unwrapped,
    without_colours,
)
from support.log_files import RAGGED, convert
from support.processes import with_signals

pytestmark = pytest.mark.filterwarnings("ignore:Cyclopts application invoked without tokens")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Make a folder with a log and a model of it."""
    folder = tmp_path_factory.mktemp("made")
    ok("simulate", *MAZE, "--episodes", "9000", "-o", str(folder / "log.parquet"))
    ok("learn", str(folder / "log.parquet"), "-o", str(folder / "a.model"), "--stationary", "no")
    return folder


# A whole session


def test_commands_work_together_in_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Most commands are run as the installed script, similar ones within this process."""
    monkeypatch.chdir(tmp_path)

    def run(*args: str) -> str:
        ran = installed(*args)
        assert (ran.code, ran.err) == (0, "")
        return ran.out

    said = run("simulate", *MAZE, "--episodes", "9000", "--seed", "3", "-o", "log.csv")
    assert said == "Wrote 9,000 episodes of t-maze to log.csv.\nNext: suffice learn log.csv -o log.model\n"
    checked = json.loads(ok("check", "log.csv", "--json", "--write-schema", "schema.json"))
    assert (checked["episodes"], checked["horizon"], checked["observations"]) == (9000, 4, 4)
    assert "No problems found." in ok("check", "log.csv", "--schema", "schema.json")
    learned = run("learn", "log.csv", "-o", "a.model", "--stationary", "no")
    about = json.loads(ok("info", "a.model", "--json"))
    layers = " ".join(map(str, about["layers"]))
    assert f"{about['states']} states in layers {layers} (one per step), from 9,000 episodes" in learned
    ok("export", "a.model", "--format", "json", "-o", "a.json")
    ok("export", "a.model", "--format", "dot", "-o", "a.dot")
    assert json.loads((tmp_path / "a.json").read_text())["layers"] == about["layers"]
    assert (tmp_path / "a.dot").read_text().startswith("digraph rdp {")
    ok("learn", "log.csv", "-o", "b.model", "--horizon", "3", "--stationary", "no")
    equal, different = run("compare", "a.model", "a.model"), ok("compare", "a.model", "b.model")
    assert equal == "Equal up to renaming of states.\nNext: suffice info a.model --states\n"
    assert different.splitlines()[0] == "Different. After the empty history: horizons 4 and 3."
    assert different.splitlines()[1:] == ["Next: suffice info a.model --decisions 5"]
    made = {"log.csv", "schema.json", "a.model", "a.model.run.json", "a.json", "a.dot", "b.model", "b.model.run.json"}
    assert set(os.listdir(tmp_path)) == made


def test_simulate_follows_seed_and_options(tmp_path: Path) -> None:
    def log(name: str, *args: str) -> str:
        ok("simulate", *args, "--episodes", "300", "-o", str(tmp_path / name))
        return read_log(tmp_path / name).digest()

    assert log("a.csv", "mini-hall", "--seed", "1") == log("a.parquet", "mini-hall", "--seed", "1")
    assert log("b.csv", "mini-hall", "--seed", "2") != log("c.csv", "mini-hall", "--seed", "1")
    log("d.csv", "t-maze", "--horizon", "6", "--set", "length=2", "--set", "noise=true")
    episodes = read_log(tmp_path / "d.csv")
    report = episodes.report
    assert report.horizon == 6 and (1, 1, 1) in episodes.alphabet.observations


def test_learn_refuses_files_of_one_log_passed_one_by_one(here: Path) -> None:
    """An episode that continues in the next file is incomplete by itself."""
    rows = pq.read_table("log.parquet")
    for i, part in enumerate((rows.slice(0, 6), rows.slice(6))):
        pq.write_table(part, f"part-{i}.parquet")
    ran = suffice("learn", "part-0.parquet", "part-1.parquet", "-o", "b.model")
    assert ran.code == 2
    assert ran.err.endswith(". If these files are one log, pass their folder or a quoted pattern.\n")
    assert ok("learn", "part-*.parquet", "-o", "b.model")
    ray = suffice("learn", "part-0.parquet", "part-1.parquet", "-o", "b.model", "--engine", "ray")
    assert ray.code == 2 and "workers read one log, but several were given. Put their Parquet" in ray.err


# JSON for scripts


def test_info_json_keeps_its_keys_and_types(here: Path) -> None:
    about = json.loads(ok("info", "a.model", "--json"))
    lists = [about[name] for name in ("layers", "candidates", "languages")]
    assert [len(values) for values in lists] == [about["horizon"] + 2] * 3 == [6] * 3
    assert all(type(value) is int for values in lists for value in values)
    assert about["states"] == sum(about["layers"]) and about["layers"][0] == about["layers"][-1] == 1
    assert all(c >= q for c, q in zip(about["candidates"], about["layers"], strict=True))
    assert about["languages"][0] == about["languages"][-1] == 0 and min(about["languages"][1:-1]) > 0
    assert about["delta"] == 0.001 and about["confidence"] is None
    assert about["promise"]["sentence"].startswith("No false split with") and about["promise"]["tests"] > 0
    assert 0 < about["seconds"] < 60 and about["bytes"] > 10**6
    assert about["log_hash"] == read_log(here / "log.parquet").digest() and about["version"] == __version__
    assert (about["metric"], about["family"], about["bound"]) == ("languages", "conjunctions", "fisher")
    assert about["episodes"] == 9000


def test_info_works_without_run_notes(here: Path) -> None:
    (here / "a.model.run.json").unlink()
    about = json.loads(ok("info", "a.model", "--json"))
    assert about["seconds"] is None and about["bytes"] is None
    assert "seconds" not in ok("info", "a.model")


def test_info_shows_states_and_decisions_in_columns(here: Path) -> None:
    about = json.loads(ok("info", "a.model", "--json"))
    lines = ok("info", "a.model", "--states", "--decisions", "2").splitlines()
    states = [found.split() for line in lines for found in re.findall(r"layer \d+ state \d+ +[\d.]+%", line)]
    assert len(states) == about["states"] - 1
    gathered = [line for line in lines if line.startswith("  over: ")]
    assert len(gathered) == 1 and not any("· pad" in line for line in lines)
    starts = {line.index("e.g. ") for line in lines if "e.g. " in line}
    assert len(starts) == 1  # columns are aligned
    for t in range(about["horizon"] + 1):
        shares = [float(words[4].rstrip("%")) for words in states if words[1] == str(t)]
        assert len(shares) == about["layers"][t] and sum(shares) == pytest.approx(100, abs=0.5)
    assert len([line for line in lines if "against" in line]) == 2


@pytest.mark.parametrize(
    "args",
    [
        ("learn", "log.parquet", "-o", "b.model", "--json"),
        ("learn", "log.parquet", "-o", "b.model", "--json", "--cut", "0.2"),
        ("info", "a.model", "--json"),
        ("check", "log.parquet", "--json"),
        ("check", "log.parquet", "--json", "--bin", "bit1=2"),
        ("compare", "a.model", "a.model", "--json"),
    ],
    ids=" ".join,
)
def test_json_option_prints_json_and_nothing_else(here: Path, args: tuple[str, ...]) -> None:
    assert isinstance(json.loads(ok(*args)), dict)


def test_learn_json_equals_info_json(here: Path) -> None:
    learned = json.loads(ok("learn", "log.parquet", "-o", "b.model", "--json", "--confidence", "0.9"))
    assert learned == json.loads(ok("info", "b.model", "--json"))
    assert learned["confidence"] == 0.9 and learned["promise"]["false_split"] <= 0.1 + 1e-9


def test_compare_prints_the_same_as_text_and_json(here: Path) -> None:
    ok("learn", "log.parquet", "-o", "b.model", "--delta", "1e-300")
    found = json.loads(ok("compare", "a.model", "b.model", "--json"))
    difference = compare(Model.load("a.model").rdp, Model.load("b.model").rdp)
    assert difference is not None and found["equal"] is False
    assert found["difference"]["reason"] == difference.reason
    said = f"Different. After {found['difference']['history']}: {found['difference']['reason']}."
    following = "Next: suffice info a.model --decisions 5"
    assert unwrapped(ok("compare", "a.model", "b.model")) == f"{said} {following}"
    assert json.loads(ok("compare", "a.model", "a.model", "--json")) == {"equal": True, "difference": None}


def test_export_json_pads_episodes_that_end_early(here: Path) -> None:
    ok("export", "a.model", "--format", "json", "-o", "a.json")
    rows = json.loads((here / "a.json").read_text())["transitions"]
    assert any(row["action"] == "pad" and row["observation"] is None and row["rewards"][0][0] == 0 for row in rows)


def test_check_json_counts_rows_episodes_and_values(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(RAGGED)
    found = json.loads(ok("check", "log.csv", "--json"))
    assert (found["rows"], found["episodes"], found["horizon"], found["lengths"]) == (6, 3, 3, [1, 2, 3])
    assert found["values"] == {"action": 2, "colour": 2, "size": 2, "reward": 3} and found["padded"] == 2
    assert found["sorted"] is True and len(found["languages"]) == 5
    assert os.listdir(tmp_path) == ["log.csv"]


def test_check_seconds_limits_the_episodes_that_are_tried(here: Path) -> None:
    whole, brief = (json.loads(ok("check", "log.parquet", "--json", *more)) for more in ([], ["--seconds", "1e-6"]))
    assert whole["episodes_tried"] == 9000 and 10 <= brief["episodes_tried"] < 9000
    assert brief["episodes"] == whole["episodes"] == 9000


MISTAKES = [
    ("check log.parquet --seconds 0", "--seconds 0 is not a time budget. Use a number above 0."),
    ("lern log.parquet -o b", "lern: there is no such command. Did you mean learn?"),
    ("--verbose", "--verbose: there is no such option"),
    ("learn log.parquet -o b --metrc sketch", "learn --metrc: there is no such option. Did you mean --metric?"),
    ("learn log.parquet -o b --metric langages", "Did you mean languages? Choose languages, prefixes or sketch."),
    ("learn log.parquet -o b --bound fischer", "Did you mean fisher?"),
    ("learn log.parquet", "learn: -o is missing. Usage: suffice learn LOG -o MODEL"),
    ("learn -o b", "learn: LOG is missing. Usage: suffice learn LOG -o MODEL"),
    ("learn log.parquet -o", "learn -o: the value is missing. Usage: suffice learn LOG -o MODEL"),
    ("learn log.parquet -o b --delta", "learn --delta: the value is missing. See suffice learn --help."),
    ("learn log.parquet --ouput b", "learn --ouput: there is no such option. Did you mean --output?"),
    ("learn log.parquet -o b -o c", "-o is given twice. Leave one out."),
    ("info a.model b.model", "info: the argument b.model is one too many. Usage: suffice info MODEL"),
    ("info a.model --decisions few", "--decisions few is not a whole number. Use a number such as 10."),
    ("reproduce table1", "reproduce: -o is missing. Usage: suffice reproduce EXPERIMENT -o FOLDER"),
    ("reproduce", "reproduce: EXPERIMENT is missing. Usage: suffice reproduce EXPERIMENT -o FOLDER"),
    ("learn log.parquet -o b --stationary true", "--stationary true: there is no such choice. Choose no, yes or auto."),
    ("learn --halp", "Did you mean --help?"),
    ("export t-maze --format json -o b.json", "t-maze is a domain. Use --format pomdp, or name a model file."),
    ("completion tcsh", "completion tcsh: there is no such choice. Choose bash, zsh or fish."),
    (
        "learn log.parquet log.parquet -o b",
        "log.parquet: this log is given twice, and its episodes would count twice. Leave one out.",
    ),
    ("learn nothing.parquet -o b", "nothing.parquet: there is no such file"),
    ("learn folder -o b", "folder: there is no log in this folder"),
    ("learn log.txt -o b", "log.txt: the file type is not known. Use a Parquet, Arrow, CSV, TSV or JSON lines file"),
    ("learn notes.csv.gz -o b", "notes.csv.gz: the file is not compressed by gzip. Rename it to notes.csv."),
    ("learn empty.csv -o b", "empty.csv: the file is empty"),
    ("learn header.csv -o b", "header.csv: there are columns but no rows"),
    ("learn column.csv -o b", "column.csv: there is no action column. The columns are"),
    ("learn column.csv -o b --action-column mov", "Did you mean --columns action=move?"),
    ("learn twice.csv -o b", "row 3, column 'step': episode 0 has step 0 twice, first in row 2"),
    ("learn words.csv -o b", "row 2, column 'reward': 'much' is not a number"),
    (
        "learn many.csv -o b --action-column price --observations reward --columns reward=action",
        "many.csv, column 'price': 1,200 distinct actions are too many for a finite alphabet (limit 1,000).",
    ),
    ("learn many.csv -o b --bin price", "--bin price: the value is missing. Write --bin COLUMN=K."),
    ("learn many.csv -o b --bin =8", "Write --bin COLUMN=K."),
    (
        "learn many.csv -o b --bin price=x",
        "--bin price=x is not a way to bin. Write a number of bins (8), of equal width (8:width)",
    ),
    ("learn many.csv -o b --bin price=1", "many.csv: --bin price=1 is out of range. Use 2 to 1,000 bins."),
    (
        "learn many.csv -o b --bin prize=8",
        "--bin: 'prize' is not an observation, action or reward column. Did you mean 'price'?",
    ),
    ("learn log.parquet -o b --horizon 0", "--horizon 0 leaves no decision. Use 1 or more."),
    ("learn log.parquet -o b --schema schema.json", "schema.json: "),
    ("learn log.parquet -o b --schema none.json", "none.json: there is no such file"),
    ("learn log.parquet -o b --metric sketch --family 1,1,1", "languages overlap, so their counts add up to more than"),
    ("learn log.parquet -o b --metric sketch --family 1,1,1", "(paper, section 4.2). Use --metric languages."),
    ("learn log.parquet -o b --metric prefixes --family 1,1,1", "can be used only with --metric languages"),
    ("learn log.parquet -o b --family 0,1,1", "I, J and K are numbers from 1 on"),
    ("learn log.parquet -o b --family 1,1", "--family 1,1 is not a language family"),
    ("learn log.parquet -o b --family 3,3,3", "do not fit into"),
    ("learn log.parquet -o b --family 1,1,40", "languages on this log do not fit into"),
    ("learn wide.csv -o b --max-values 3000 --family 2,1,1", "too many for the memory. Try --family 1,1,1"),
    ("learn log.parquet -o b --memory 1KB", "Raise --memory"),
    ("learn log.parquet -o b --delta 0", "--delta 0 is not a probability between 0 and 1. Try 0.001."),
    ("learn log.parquet -o b --delta 1.5", "--delta 1.5 is not a probability between 0 and 1."),
    ("learn log.parquet -o b --delta nan", "--delta nan is not a probability between 0 and 1."),
    ("learn log.parquet -o b --delta small", "--delta small is not a number. Use a number such as 0.1."),
    ("learn log.parquet -o b --confidence 1", "--confidence 1 is not a probability between 0 and 1. Try 0.95."),
    (
        "learn log.parquet -o b --delta 0.1 --confidence 0.9",
        "--delta and --confidence both set the level of the tests. Leave one",
    ),
    ("learn log.parquet -o b --cut 1", "--cut 1 is not a share of the episodes"),
    ("learn log.parquet -o b --threads 0", "--threads 0 is not a number of threads. Use 1 or more."),
    ("learn log.parquet -o b --memory lots", "--memory lots is not a size. Write it like 500MB or 4GB."),
    ("learn log.parquet -o b --memory GB", "--memory GB is not a size. Write it like"),
    ("learn log.parquet -o b --memory 0", "--memory 0 is 0 bytes, which is too little. Write it like"),
    ("learn log.parquet -o b --memory=-1GB", "--memory -1GB is not a size. Write it like"),
    ("learn log.parquet -o nowhere/b", "-o nowhere/b: there is no folder nowhere. Create it first."),
    ("learn nothing.parquet -o nowhere/b", "there is no folder nowhere"),  # refused before reading
    ("learn log.parquet -o a.model/b", "there is no folder a.model"),
    ("learn log.parquet -o folder", "-o folder: this is a folder. Name a file to write."),
    ("check nothing.csv", "nothing.csv: there is no such file"),
    ("check log.parquet --write-schema nowhere/s.json", "--write-schema nowhere/s.json: there is no folder"),
    (
        "simulate t-mase --episodes 5 -o b.csv",
        "'t-mase' is not a domain. Did you mean 't-maze'? Choose corridor, t-maze, cookie",
    ),
    ("simulate t-maze --episodes 0 -o b.csv", "--episodes 0 is too few. Use 1 or more."),
    ("simulate t-maze --episodes many -o b.csv", "--episodes many is not a whole number. Use a number such as 10."),
    ("simulate t-maze -o b.csv", "simulate: --episodes is missing. Usage: suffice simulate DOMAIN"),
    (
        "simulate t-maze --episodes 5 -o b.txt",
        "b.txt: the file type is not known. Use a Parquet, Arrow, CSV, TSV or JSON lines file, whose name ends in",
    ),
    ("simulate t-maze --episodes 5 -o nowhere/b.csv", "there is no folder nowhere"),
    ("simulate t-maze --episodes 1000000000000 -o nowhere/b.csv", "there is no folder nowhere"),  # likewise
    (
        "simulate t-maze --episodes 5 -o b.csv --set length",
        "--set length: the value is missing. Write --set OPTION=VALUE.",
    ),
    ("simulate t-maze --episodes 5 -o b.csv --set lenght=3", "Did you mean 'length'?"),
    ("simulate t-maze --episodes 5 -o b.csv --set length=long", "--set length=long is not a whole number"),
    ("simulate t-maze --episodes 5 -o b.csv --set length=0", "Use length=1 or more"),
    ("simulate t-maze --episodes 5 -o b.csv --set noise=1", "Choose true or false"),
    ("simulate t-maze --episodes 5 -o b.csv --horizon 1", "--horizon 1 leaves no corridor. Use 2 or more"),
    ("info nothing.model", "nothing.model: there is no such file. Make one with: suffice learn LOG -o nothing.model"),
    (
        "info log.parquet",
        "log.parquet: this is not a model file, or it is damaged (File is not a zip file). Learn or copy",
    ),
    (
        "info other.model --json",
        "other.model: this is not a model file, or it is damaged (File is not a zip file). Learn or copy",
    ),
    ("info .", ".: this is a folder. Name a model file."),
    ("info a.model --jsn", "info --jsn: there is no such option. Did you mean --json?"),
    ("export a.model --format svg -o b.svg", "--format svg: there is no such choice. Choose json, dot or pomdp."),
    ("export a.model --format json", "export: -o is missing."),
    ("export a.model -o b.json", "export: --format is missing."),
    ("export other.model --format dot -o b.dot", "other.model: this is not a model file, or it is damaged"),
    ("export a.model --format json -o nowhere/b.json", "there is no folder nowhere"),
    ("export a.model --format json -o folder", "-o folder: this is a folder. Name a file to write."),
    ("compare a.model", "compare: SECOND is missing. Usage: suffice compare FIRST SECOND"),
    ("compare a.model nothing.model", "nothing.model: there is no such file"),
]


@pytest.mark.parametrize(("args", "complaint"), MISTAKES, ids=[args for args, _ in MISTAKES])
def test_mistakes_print_one_line_and_write_nothing(here: Path, args: str, complaint: str) -> None:
    assert_mistake(here, args.split(), complaint)


def test_file_names_with_line_ends_are_printed_in_one_line(here: Path) -> None:
    assert_mistake(here, ["learn", "two\nlines.csv", "-o", "b"], "two lines.csv: there is no such file")


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        (["learn", "log.parquet", "-o", "b", "--memory", "inf"], "--memory inf"),
        (["learn", "log.parquet", "-o", ""], "-o"),
        (["learn", "log.parquet", "-o", "."], "."),
        (["export", "a.model", "--format", "json", "-o", "."], "."),
        (["learn", "log.parquet", "-o", "log.parquet"], "log.parquet"),
        (["learn", "log.parquet", "-o", "b", "--metric", "sketch", "--seed", "-1"], "--seed"),
        (["simulate", "t-maze", "--episodes", "5", "-o", "b.csv", "--seed", "-1"], "--seed"),
        (["simulate", "t-maze", "--episodes", "5", "-o", "b.csv", "--horizon", "0"], "horizon"),
        (["simulate", "t-maze", "--episodes", "5.5", "-o", "b.csv"], "--episodes"),
        (["learn", "log.parquet", "-o", "b", "--horizon", "2.5"], "--horizon"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_in_values_print_one_line(here: Path, args: list[str], complaint: str) -> None:
    assert_mistake(here, args, complaint)


def test_installed_script_reports_mistakes(here: Path) -> None:
    """Exit code, streams and an existing model are as for the function."""
    before = contents(here)
    ran = installed("learn", "nothing.parquet", "-o", "a.model", "--json")
    assert ran == Ran(2, "", "suffice: nothing.parquet: there is no such file. Check the name and the folder.\n")
    assert contents(here) == before


def test_out_of_memory_prints_one_line(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("suffice.models.api.regorl", fail)
    ran = suffice("learn", "log.parquet", "-o", "b.model")
    assert ran.code == 1 and ran.err.startswith("suffice: out of memory. ") and ran.err.count("\n") == 1
    assert not (here / "b.model").exists()


LONG = "x" * 300


@pytest.mark.parametrize(
    "words",
    [
        ("info", LONG),
        ("check", f"{LONG}.csv"),
        ("learn", f"{LONG}.parquet", "-o", "b.model"),
        ("learn", "log.parquet", "-o", LONG),
        ("learn", "log.parquet", "-o", "b.model", "--checkpoint", LONG),
        ("learn", "log.parquet", "-o", "b.model", "--like", LONG),
    ],
)
def test_commands_refuse_file_names_that_are_too_long(here: Path, words: tuple[str, ...]) -> None:
    before = contents(here)
    ran = suffice(*words)
    assert ran.code == 2 and "name too long" in ran.err and ran.err.count("\n") == 1
    assert contents(here) == before


@pytest.mark.parametrize("words", [("info", "a.model", "--json"), ("learn", "--help")], ids=" ".join)
def test_main_exits_with_success_when_stdout_is_closed(here: Path, words: tuple[str, ...]) -> None:
    """As in suffice info a.model --json | true."""
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run([SCRIPT, *words], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (0, b"")


# Equal bytes for equal input


@pytest.mark.parametrize(
    "options",
    ["", "--family 1,2,1", "--family 1,1,2", "--metric prefixes", "--metric sketch", "--confidence 0.9 --cut 0.01"],
)
def test_learn_gives_equal_bytes_for_any_threads_format_and_row_order(here: Path, options: str) -> None:
    """9,000 episodes make two shards."""
    rows = read_log("log.parquet").report.rows
    order = random.Random(0).sample(range(rows), rows)
    write_log(read_log("log.parquet"), "log.csv")
    shuffled = [str(convert(here / "log.csv", f"shuffled{suffix}", order)) for suffix in (".csv", ".parquet")]
    models = set()
    for log, threads in [("log.parquet", 1), ("log.parquet", 2), ("log.csv", 2), *((log, 2) for log in shuffled)]:
        ok("learn", log, "-o", "b.model", "--threads", str(threads), *options.split())
        models.add((here / "b.model").read_bytes())
    assert len(models) == 1


def test_learn_gives_equal_bytes_in_another_process(here: Path) -> None:
    environment = os.environ | {"PYTHONHASHSEED": "1"}  # ours is another
    assert installed("learn", "log.parquet", "-o", "b.model", "--stationary", "no", env=environment).code == 0
    assert (here / "b.model").read_bytes() == (here / "a.model").read_bytes()


def test_learn_gives_other_bytes_for_other_settings(here: Path) -> None:
    runs = ["--delta 0.002", "--confidence 0.9", "--bound paper", "--family 1,1,1", "--horizon 3", "--cut 0.01"]
    runs += ["--metric prefixes", "--metric sketch", "--metric sketch --seed 1", "--observations bit1,bit2"]
    models = {(here / "a.model").read_bytes()}
    for run in runs:
        ok("learn", "log.parquet", "-o", "b.model", *run.split())
        models.add((here / "b.model").read_bytes())
    assert len(models) == 1 + len(runs)


# Start-up time and progress


@pytest.mark.parametrize("args", [(), ("--help",), ("learn", "--help"), ("--version",)], ids=" ".join)
def test_help_is_printed_within_600_milliseconds(args: tuple[str, ...]) -> None:
    """The fastest of five runs counts, in processor time on a busy machine. An idle one needs 0.2 to 0.3 s."""
    times: list[float] = []
    while len(times) < 5 and min(times, default=math.inf) > 0.6:
        start, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
        ran = installed(*args)
        elapsed, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
        busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        times.append(busy if os.getloadavg()[0] > len(os.sched_getaffinity(0)) / 2 else elapsed)
        assert (ran.code, ran.err) == (0, "") and ran.out.startswith(("Usage: suffice", __version__))
    assert min(times) <= 0.6


@pytest.mark.parametrize("args", [[], ["--help"], ["learn", "--help"], ["lern"]], ids=" ".join)
def test_help_needs_no_heavy_imports(args: list[str]) -> None:
    program = (
        "import contextlib, io, sys\nfrom suffice.cli.main import main\n"
        f"sys.argv = ['suffice', *{args!r}]\n"
        "with contextlib.suppress(SystemExit), contextlib.redirect_stdout(io.StringIO()): main()\n"
        "heavy = {'numpy', 'numba', 'pyarrow', 'llvmlite', 'msgspec'} & set(sys.modules)\n"
        "print(*sorted(heavy))"
    )
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "\n"


def test_progress_is_shown_on_terminals_only(here: Path, large: Path) -> None:
    process, end = on_a_terminal("learn", str(large / "many.parquet"), "-o", "b.model", "--json")
    shown = read_until(end, END)
    out, _ = process.communicate()
    os.close(end)
    assert process.returncode == 0 and b"Reading" in shown and b"many.parquet" in shown
    assert json.loads(out)["episodes"] == 2_000_000 and b"\x1b" not in out
    quiet = installed("learn", "log.parquet", "-o", "b.model", env=os.environ | {"FORCE_COLOR": "1"})
    assert quiet.err == "" and "Learning" not in quiet.out and "\x1b" not in quiet.out


def test_mistakes_print_one_line_on_a_terminal(here: Path) -> None:
    process, end = on_a_terminal("learn", "nothing.csv", "-o", "b.model")
    shown = without_colours(read_until(end, END))
    process.communicate()
    os.close(end)
    assert process.returncode == 2 and shown.count(b"suffice: ") == 1
    assert shown.rstrip().endswith(b"suffice: nothing.csv: there is no such file. Check the name and the folder.")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Make two logs: one takes a second to read, the other takes seconds to learn with --family 1,2,1."""
    folder, rng = tmp_path_factory.mktemp("large"), np.random.default_rng(0)
    write_log(TMaze().simulate(2_000_000, 3, rng), folder / "many.parquet")
    write_log(MiniHall().simulate(15_000, 15, rng), folder / "long.parquet")
    yield folder
    shutil.rmtree(folder)


def modules_of(process: subprocess.Popen[Any]) -> str:
    return Path(f"/proc/{process.pid}/maps").read_text()


linux = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="looks into /proc")


@linux
def test_learn_interrupted_while_reading_writes_nothing(large: Path) -> None:
    before = contents(large)
    command = [SCRIPT, "learn", str(large / "many.parquet"), "-o", str(large / "a.model")]
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, preexec_fn=with_signals())
    while "llvmlite" not in modules_of(process):  # imports come last before the reading
        time.sleep(0.01)
    time.sleep(0.4)
    assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=30)
    assert process.returncode == 130 and out == "" and "Traceback" not in err
    assert contents(large) == before
    assert err == "suffice: interrupted; nothing was written\n"


@linux
def test_learn_interrupted_while_learning_writes_nothing(large: Path) -> None:
    before = contents(large)
    args = ("learn", str(large / "long.parquet"), "-o", str(large / "a.model"), "--family", "1,2,1")
    process, end = on_a_terminal(*args)
    assert b"Learning" in read_until(end, b"Learning")
    process.send_signal(signal.SIGINT)
    shown = without_colours(read_until(end, END))
    out, _ = process.communicate(timeout=60)
    os.close(end)
    assert process.returncode == 130 and out == b"" and b"Traceback" not in shown
    assert contents(large) == before
    assert shown.count(b"suffice: ") == 1 and b"suffice: interrupted; nothing was written" in shown
