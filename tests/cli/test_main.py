"""The command line: what it promises to people and to scripts."""

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
    without_colours,
)
from support.log_files import RAGGED, convert
from support.processes import with_signals

pytestmark = pytest.mark.filterwarnings("ignore:Cyclopts application invoked without tokens")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a log and a model of it."""
    folder = tmp_path_factory.mktemp("made")
    ok("simulate", *MAZE, "--episodes", "9000", "-o", str(folder / "log.parquet"))
    ok("learn", str(folder / "log.parquet"), "-o", str(folder / "a.model"))
    return folder


# A whole session


def test_a_session(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the installed script, but for what differs little from what it has done already."""
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
    learned = run("learn", "log.csv", "-o", "a.model")
    about = json.loads(ok("info", "a.model", "--json"))
    assert learned.startswith(f"{about['states']} states in layers {' '.join(map(str, about['layers']))}, from 9,000 ")
    ok("export", "a.model", "--format", "json", "-o", "a.json")
    ok("export", "a.model", "--format", "dot", "-o", "a.dot")
    assert json.loads((tmp_path / "a.json").read_text())["layers"] == about["layers"]
    assert (tmp_path / "a.dot").read_text().startswith("digraph rdp {")
    ok("learn", "log.csv", "-o", "b.model", "--horizon", "3")
    equal, different = run("compare", "a.model", "a.model"), ok("compare", "a.model", "b.model")
    assert equal == "Equal up to renaming of states.\nNext: suffice info a.model --states\n"
    assert different.splitlines()[0] == "Different. After the empty history: horizons 4 and 3."
    assert different.splitlines()[1:] == ["Next: suffice info a.model --decisions 5"]
    made = {"log.csv", "schema.json", "a.model", "a.model.run.json", "a.json", "a.dot", "b.model", "b.model.run.json"}
    assert set(os.listdir(tmp_path)) == made


def test_simulated_logs_follow_seed_and_options(tmp_path: Path) -> None:
    def log(name: str, *args: str) -> str:
        ok("simulate", *args, "--episodes", "300", "-o", str(tmp_path / name))
        return read_log(tmp_path / name)[0].digest()

    assert log("a.csv", "mini-hall", "--seed", "1") == log("a.parquet", "mini-hall", "--seed", "1")
    assert log("b.csv", "mini-hall", "--seed", "2") != log("c.csv", "mini-hall", "--seed", "1")
    log("d.csv", "t-maze", "--horizon", "6", "--set", "length=2", "--set", "noise=true")
    episodes, report = read_log(tmp_path / "d.csv")
    assert report.horizon == 6 and (1, 1, 1) in episodes.alphabet.observations


def test_files_of_one_log_that_the_shell_named_one_by_one(here: Path) -> None:
    """An episode that goes on in the next file is none by itself."""
    rows = pq.read_table("log.parquet")
    for i, part in enumerate((rows.slice(0, 6), rows.slice(6))):
        pq.write_table(part, f"part-{i}.parquet")
    told = suffice("learn", "part-0.parquet", "part-1.parquet", "-o", "b.model")
    assert told.code == 2 and told.err.endswith(
        "; if these files are one log, name their folder, or quote the pattern\n"
    )
    assert ok("learn", "part-*.parquet", "-o", "b.model")
    ray = suffice("learn", "part-0.parquet", "part-1.parquet", "-o", "b.model", "--engine", "ray")
    assert ray.code == 2 and "workers read one log; put its Parquet files into one folder" in ray.err


# Figures for scripts


def test_info_keeps_its_promise(here: Path) -> None:
    about = json.loads(ok("info", "a.model", "--json"))
    lists = [about[name] for name in ("layers", "candidates", "languages")]
    assert [len(values) for values in lists] == [about["horizon"] + 2] * 3 == [6] * 3
    assert all(type(value) is int for values in lists for value in values)
    assert about["states"] == sum(about["layers"]) and about["layers"][0] == about["layers"][-1] == 1
    assert all(c >= q for c, q in zip(about["candidates"], about["layers"], strict=True))
    assert about["languages"][0] == about["languages"][-1] == 0 and min(about["languages"][1:-1]) > 0
    assert about["delta"] == 0.001 and about["confidence"] is None
    assert about["promise"]["sentence"].startswith("With probability at least") and about["promise"]["tests"] > 0
    assert 0 < about["seconds"] < 60 and about["bytes"] > 10**6
    assert about["log_hash"] == read_log(here / "log.parquet")[0].digest() and about["version"] == __version__
    assert (about["metric"], about["family"], about["bound"]) == ("languages", "conjunctions", "fisher")
    assert about["episodes"] == 9000


def test_info_without_run_notes(here: Path) -> None:
    (here / "a.model.run.json").unlink()
    about = json.loads(ok("info", "a.model", "--json"))
    assert about["seconds"] is None and about["bytes"] is None
    assert "seconds" not in ok("info", "a.model")


def test_info_shows_states_and_decisions(here: Path) -> None:
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
def test_json_and_nothing_else(here: Path, args: tuple[str, ...]) -> None:
    assert isinstance(json.loads(ok(*args)), dict)


def test_learn_and_info_say_the_same(here: Path) -> None:
    learned = json.loads(ok("learn", "log.parquet", "-o", "b.model", "--json", "--confidence", "0.9"))
    assert learned == json.loads(ok("info", "b.model", "--json"))
    assert learned["confidence"] == 0.9 and learned["promise"]["false_split"] <= 0.1 + 1e-9


def test_compare_tells_scripts_and_people_the_same(here: Path) -> None:
    ok("learn", "log.parquet", "-o", "b.model", "--delta", "1e-300")
    told = json.loads(ok("compare", "a.model", "b.model", "--json"))
    difference = compare(Model.load("a.model").rdp, Model.load("b.model").rdp)
    assert difference is not None and told["equal"] is False
    assert told["difference"]["reason"] == difference.reason
    said = f"Different. After {told['difference']['history']}: {told['difference']['reason']}."
    assert ok("compare", "a.model", "b.model").splitlines()[:-1] == [said]
    assert json.loads(ok("compare", "a.model", "a.model", "--json")) == {"equal": True, "difference": None}


def test_exported_early_ends_are_pads(here: Path) -> None:
    ok("export", "a.model", "--format", "json", "-o", "a.json")
    rows = json.loads((here / "a.json").read_text())["transitions"]
    assert any(row["action"] == "pad" and row["observation"] is None and row["rewards"][0][0] == 0 for row in rows)


def test_check_counts_what_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("log.csv").write_text(RAGGED)
    found = json.loads(ok("check", "log.csv", "--json"))
    assert (found["rows"], found["episodes"], found["horizon"], found["lengths"]) == (6, 3, 3, [1, 2, 3])
    assert found["values"] == {"action": 2, "colour": 2, "size": 2, "reward": 3} and found["padded"] == 2
    assert found["sorted"] is True and len(found["languages"]) == 5
    assert os.listdir(tmp_path) == ["log.csv"]


MISTAKES = [
    ("lern log.parquet -o b", 'Unknown command "lern". Did you mean "learn"?'),
    ("--verbose", "Unknown command"),
    ("learn log.parquet -o b --metrc sketch", "Unknown option: --metrc. Did you mean --metric?"),
    ("learn log.parquet -o b --metric langages", 'Did you mean "languages"?'),
    ("learn log.parquet -o b --bound fischer", 'Did you mean "fisher"?'),
    ("learn log.parquet", "--output requires an argument"),
    ("learn -o b", "LOG requires an argument"),
    ("learn log.parquet log.parquet -o b", "log.parquet is given twice"),
    ("learn nothing.parquet -o b", "nothing.parquet: there is no such file"),
    ("learn folder -o b", "folder: there is no Parquet file in this folder"),
    ("learn log.txt -o b", "log.txt: a log is a Parquet, Arrow, CSV or JSON lines file"),
    ("learn notes.csv.gz -o b", "notes.csv.gz: the file cannot be read"),
    ("learn empty.csv -o b", "empty.csv: the file is empty"),
    ("learn header.csv -o b", "header.csv: there are columns but no rows"),
    ("learn column.csv -o b", "column.csv: there is no column 'action', only"),
    ("learn column.csv -o b --action-column mov", "did you mean 'move'? say --action-column move"),
    ("learn twice.csv -o b", "row 3, column 'step': episode 0 has step 0 twice, first in row 2"),
    ("learn gap.csv -o b", "row 3, column 'step': episode 0 jumps from step 0 to step 2"),
    ("learn missing.csv -o b", "row 3, column 'price': the value is missing"),
    ("learn words.csv -o b", "row 2, column 'reward': 'much' is not a number"),
    ("learn many.csv -o b", "column 'price' has 1,200 distinct values"),
    ("learn many.csv -o b", "bin it: --bin price=8"),
    ("check many.csv", "bin it: --bin price=8"),
    ("learn many.csv -o b --bin price", "--bin price should read --bin COLUMN=K"),
    ("learn many.csv -o b --bin =8", "should read --bin COLUMN=K"),
    ("learn many.csv -o b --bin price=x", "write a number of bins (8)"),
    ("learn many.csv -o b --bin price=1", "ask for 2 to 1,000 bins"),
    ("learn many.csv -o b --bin prize=8", "--bin prize is for an observation, action or reward column: action, price"),
    ("learn log.parquet -o b --horizon 0", "--horizon must be at least 1, not 0"),
    ("learn log.parquet -o b --schema schema.json", "schema.json: "),
    ("learn log.parquet -o b --schema none.json", "none.json: the schema cannot be read"),
    ("learn log.parquet -o b --metric sketch --family 1,1,1", "languages overlap, so their counts add up to more than"),
    ("learn log.parquet -o b --metric sketch --family 1,1,1", "(paper, §4.2); use --metric languages"),
    ("learn log.parquet -o b --metric prefixes --family 1,1,1", "--family goes with --metric languages only"),
    ("learn log.parquet -o b --family 0,1,1", "at least 1, not 0,1,1"),
    ("learn log.parquet -o b --family 1,1", "'1,1' is no language family"),
    ("learn log.parquet -o b --family 3,3,3", "does not fit into"),
    ("learn log.parquet -o b --family 1,1,40", "languages on this log, which does not fit into"),
    ("learn wide.csv -o b --max-values 3000 --family 2,1,1", "which does not fit; try --family 1,1,1"),
    ("learn log.parquet -o b --memory 1KB", "or raise --memory"),
    ("learn log.parquet -o b --delta 0", "delta is a probability between 0 and 1, not 0"),
    ("learn log.parquet -o b --delta 1.5", "delta is a probability between 0 and 1, not 1.5"),
    ("learn log.parquet -o b --delta nan", "delta is a probability between 0 and 1, not nan"),
    ("learn log.parquet -o b --delta small", "--delta"),
    ("learn log.parquet -o b --confidence 1", "confidence is a probability between 0 and 1, not 1"),
    ("learn log.parquet -o b --delta 0.1 --confidence 0.9", "Leave one of them out"),
    ("learn log.parquet -o b --cut 1", "cut is a share"),
    ("learn log.parquet -o b --threads 0", "threads must be at least 1"),
    ("learn log.parquet -o b --memory lots", "--memory lots is not a size. Write it like 500MB or 4GB"),
    ("learn log.parquet -o b --memory GB", "--memory GB is not a size"),
    ("learn log.parquet -o b --memory 0", "--memory 0 is 0 bytes, which is too little"),
    ("learn log.parquet -o b --memory=-1GB", "--memory -1GB is not a size"),
    ("learn log.parquet -o nowhere/b", "nowhere/b: there is no folder nowhere; create it first"),
    ("learn nothing.parquet -o nowhere/b", "there is no folder nowhere"),  # said before the work
    ("learn log.parquet -o a.model/b", "there is no folder a.model"),
    ("learn log.parquet -o folder", "-o 'folder' names no file"),
    ("check nothing.csv", "nothing.csv: there is no such file"),
    ("check log.parquet --write-schema nowhere/s.json", "there is no folder nowhere"),
    ("simulate t-mase --episodes 5 -o b.csv", "unknown domain: 't-mase'; did you mean 't-maze'?"),
    ("simulate t-maze --episodes 0 -o b.csv", "--episodes must be at least 1, not 0"),
    ("simulate t-maze --episodes many -o b.csv", "--episodes"),
    ("simulate t-maze -o b.csv", "--episodes requires an argument"),
    ("simulate t-maze --episodes 5 -o b.txt", "name it .parquet, .pq, .arrow"),
    ("simulate t-maze --episodes 5 -o nowhere/b.csv", "there is no folder nowhere"),
    ("simulate t-maze --episodes 1000000000000 -o nowhere/b.csv", "there is no folder nowhere"),  # likewise
    ("simulate t-maze --episodes 5 -o b.csv --set length", "--set length should read --set OPTION=VALUE"),
    ("simulate t-maze --episodes 5 -o b.csv --set lenght=3", "did you mean 'length'?"),
    ("simulate t-maze --episodes 5 -o b.csv --set length=long", "length needs a whole number, not 'long'"),
    ("simulate t-maze --episodes 5 -o b.csv --set length=0", "use length=1 or more"),
    ("simulate t-maze --episodes 5 -o b.csv --set noise=1", "known: true, false"),
    ("simulate t-maze --episodes 5 -o b.csv --horizon 1", "use a horizon of 2 or more"),
    ("info nothing.model", "nothing.model: there is no such file; make one with: suffice learn LOG -o nothing.model"),
    ("info log.parquet", "log.parquet: this is no model file, or a damaged one"),
    ("info other.model --json", "other.model: this is no model file, or a damaged one"),
    ("info .", ".: the file cannot be read (Is a directory)"),
    ("info a.model --jsn", "Did you mean --json?"),
    ("export a.model --format svg -o b.svg", 'Choose from: "json", "dot"'),
    ("export a.model --format json", "--output requires an argument"),
    ("export a.model -o b.json", "--format requires an argument"),
    ("export other.model --format dot -o b.dot", "other.model: this is no model file"),
    ("export a.model --format json -o nowhere/b.json", "there is no folder nowhere"),
    ("export a.model --format json -o folder", "-o 'folder' names no file"),
    ("compare a.model", "requires an argument"),
    ("compare a.model nothing.model", "nothing.model: there is no such file"),
]


@pytest.mark.parametrize(("args", "complaint"), MISTAKES, ids=[args for args, _ in MISTAKES])
def test_a_mistake_is_one_line_and_writes_nothing(here: Path, args: str, complaint: str) -> None:
    assert_mistake(here, args.split(), complaint)


def test_a_name_of_two_lines_is_one_line(here: Path) -> None:
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
def test_a_mistake_in_a_value_is_refused(here: Path, args: list[str], complaint: str) -> None:
    assert_mistake(here, args, complaint)


def test_a_mistake_from_outside(here: Path) -> None:
    """The script itself: exit code, streams, and a model that was there before."""
    before = contents(here)
    ran = installed("learn", "nothing.parquet", "-o", "a.model", "--json")
    assert ran == Ran(2, "", "suffice: nothing.parquet: there is no such file\n")
    assert contents(here) == before


def test_out_of_memory_is_one_line(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise MemoryError

    monkeypatch.setattr("suffice.models.api.regorl", fail)
    ran = suffice("learn", "log.parquet", "-o", "b.model")
    assert ran.code == 1 and ran.err.startswith("suffice: out of memory; ") and ran.err.count("\n") == 1
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
def test_names_that_no_file_may_have_are_the_users_affair(here: Path, words: tuple[str, ...]) -> None:
    before = contents(here)
    ran = suffice(*words)
    assert ran.code == 2 and "name too long" in ran.err and ran.err.count("\n") == 1
    assert contents(here) == before


@pytest.mark.parametrize("words", [("info", "a.model", "--json"), ("learn", "--help")], ids=" ".join)
def test_a_reader_that_leaves_is_no_fault(here: Path, words: tuple[str, ...]) -> None:
    """suffice info a.model --json | true"""
    reading, writing = os.pipe()
    os.close(reading)
    ran = subprocess.run([SCRIPT, *words], stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (ran.returncode, ran.stderr) == (0, b"")


# The same input gives the same bytes


@pytest.mark.parametrize(
    "options",
    ["", "--family 1,2,1", "--family 1,1,2", "--metric prefixes", "--metric sketch", "--confidence 0.9 --cut 0.01"],
)
def test_models_are_the_same_to_the_byte(here: Path, options: str) -> None:
    """Whatever the threads, the format of the log and the order of its rows; 9,000 episodes make two shards."""
    rows = read_log("log.parquet")[1].rows
    order = random.Random(0).sample(range(rows), rows)
    write_log(read_log("log.parquet")[0], "log.csv")
    shuffled = [str(convert(here / "log.csv", f"shuffled{suffix}", order)) for suffix in (".csv", ".parquet")]
    models = set()
    for log, threads in [("log.parquet", 1), ("log.parquet", 2), ("log.csv", 2), *((log, 2) for log in shuffled)]:
        ok("learn", log, "-o", "b.model", "--threads", str(threads), *options.split())
        models.add((here / "b.model").read_bytes())
    assert len(models) == 1


def test_another_process_gives_the_same_bytes(here: Path) -> None:
    environment = os.environ | {"PYTHONHASHSEED": "1"}  # ours is another
    assert installed("learn", "log.parquet", "-o", "b.model", env=environment).code == 0
    assert (here / "b.model").read_bytes() == (here / "a.model").read_bytes()


def test_other_settings_give_other_bytes(here: Path) -> None:
    runs = ["--delta 0.002", "--confidence 0.9", "--bound paper", "--family 1,1,1", "--horizon 3", "--cut 0.01"]
    runs += ["--metric prefixes", "--metric sketch", "--metric sketch --seed 1", "--observations bit1,bit2"]
    models = {(here / "a.model").read_bytes()}
    for run in runs:
        ok("learn", "log.parquet", "-o", "b.model", *run.split())
        models.add((here / "b.model").read_bytes())
    assert len(models) == 1 + len(runs)


# At once


@pytest.mark.parametrize("args", [(), ("--help",), ("learn", "--help"), ("--version",)], ids=" ".join)
def test_help_comes_at_once(args: tuple[str, ...]) -> None:
    """One time in five; in processor time where others keep the machine busy. Alone it takes 0.2 to 0.3 seconds."""
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


def test_progress_is_for_terminals_only(here: Path, large: Path) -> None:
    process, end = on_a_terminal("learn", str(large / "many.parquet"), "-o", "b.model", "--json")
    shown = read_until(end, END)
    out, _ = process.communicate()
    os.close(end)
    assert process.returncode == 0 and b"Reading" in shown and b"many.parquet" in shown
    assert json.loads(out)["episodes"] == 2_000_000 and b"\x1b" not in out
    quiet = installed("learn", "log.parquet", "-o", "b.model", env=os.environ | {"FORCE_COLOR": "1"})
    assert quiet.err == "" and "Learning" not in quiet.out and "\x1b" not in quiet.out


def test_mistakes_on_a_terminal_are_one_line_too(here: Path) -> None:
    process, end = on_a_terminal("learn", "nothing.csv", "-o", "b.model")
    shown = without_colours(read_until(end, END))
    process.communicate()
    os.close(end)
    assert process.returncode == 2 and shown.count(b"suffice: ") == 1
    assert shown.rstrip().endswith(b"suffice: nothing.csv: there is no such file")


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two million short episodes take a second to read, fifteen thousand long ones seconds to learn by words of two."""
    folder, rng = tmp_path_factory.mktemp("large"), np.random.default_rng(0)
    write_log(TMaze().simulate(2_000_000, 3, rng), folder / "many.parquet")
    write_log(MiniHall().simulate(15_000, 15, rng), folder / "long.parquet")
    yield folder
    shutil.rmtree(folder)


def modules_of(process: subprocess.Popen[Any]) -> str:
    return Path(f"/proc/{process.pid}/maps").read_text()


linux = pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="looks into /proc")


@linux
def test_interrupted_while_reading(large: Path) -> None:
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
def test_interrupted_while_learning(large: Path) -> None:
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
