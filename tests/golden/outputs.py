"""Digests of the outputs of all commands, which show what a change of the program changes for users.

    python tests/golden/outputs.py                # list the outputs that differ from outputs.json
    python tests/golden/outputs.py --keep DIR     # write all outputs into DIR, to compare with another checkout
    python tests/golden/outputs.py --write        # accept the present outputs: rewrite outputs.json

`DIR/compared` has the texts of which the digests are, and `DIR/raw` the files that the commands wrote. So `diff -r
A/compared B/compared` shows what differs between two checkouts. After an intended change rewrite outputs.json, whose
diff then lists the outputs that changed.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import hashlib
import io
import json
import os
import random
import re
import shlex
import shutil
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from suffice import __version__
from suffice.cli.main import main as run_command_line

DIGESTS = Path(__file__).with_name("outputs.json")

MAZE = "t-maze --horizon 4 --set length=2"
CLINIC = "'clinic 1.csv' --columns 'episode=Patient ID,step=visit #,action=drug \"given\",reward=Größe'"
BINS = "--bin temp.°C=3 --bin Größe=4:width"

# Name and command line, in the order in which they run. {} stands for the name; files with this name are outputs, as is
# what the command prints.
CASES = {
    "help": "--help",
    "help-learn": "learn --help",
    "domains": "domains",
    "completion": "completion bash",
    # Logs
    "simulate-csv": f"simulate {MAZE} --episodes 600 -o {{}}.csv",
    "simulate-parquet": f"simulate {MAZE} --episodes 4000 --seed 1 -o {{}}.parquet",
    "simulate-arrow": "simulate cookie --horizon 5 --set actions=sensible --episodes 200 -o {}.arrow",
    "simulate-set": "simulate t-maze --set length=4 --set cue_visible=true --horizon 10 --episodes 500 -o {}.parquet",
    "simulate-mab": "simulate rotating-mab --set arms=2 --horizon 6 --episodes 800 -o {}.parquet",
    "simulate-observed": "simulate corridor --set columns=3 --observe-reward --horizon 3 --episodes 200 -o {}.csv",
    "simulate-table": f"simulate {MAZE} --behaviour table.csv --episodes 300 -o {{}}.csv",
    "simulate-large": f"simulate {MAZE} --episodes 250000 -o {{}}.parquet",
    # Models
    "learn-layers": "learn simulate-parquet.parquet -o {}.model",
    "learn-why": "learn simulate-parquet.parquet --why -o {}.model",
    "learn-json": "learn simulate-csv.csv -o {}.model --json",
    "learn-jsonl": "learn ragged.jsonl -o {}.model",
    "learn-arrow": "learn simulate-arrow.arrow -o {}.model",
    "learn-together": "learn simulate-csv.csv simulate-parquet.parquet --like learn-layers.model -o {}.model",
    "learn-stationary": "learn simulate-set.parquet --stationary yes -o {}.model",
    "learn-strict": "learn simulate-set.parquet --stationary --strict -o {}.model",
    "learn-discount": "learn simulate-mab.parquet --stationary --discount 0.9 -o {}.model",
    "learn-auto": "learn simulate-set.parquet --stationary auto -o {}.model",
    "learn-auto-layers": "learn rising.csv --stationary auto -o {}.model",
    "learn-prefixes": "learn simulate-parquet.parquet --metric prefixes -o {}.model",
    "learn-sketch": "learn simulate-large.parquet --metric sketch --seed 3 -o {}.model",
    "learn-sketch-fisher": "learn simulate-parquet.parquet --metric sketch --bound fisher -o {}.model",
    "learn-1,1,1": "learn simulate-parquet.parquet --metric languages --family 1,1,1 -o {}.model",
    "learn-1,2,1": "learn simulate-parquet.parquet --family 1,2,1 -o {}.model",
    "learn-conjunctions": "learn simulate-parquet.parquet --family conjunctions -o {}.model",
    "learn-adaptive": "learn simulate-mab.parquet --family adaptive -o {}.model",
    "learn-paper": "learn simulate-parquet.parquet --bound paper --delta 0.1 -o {}.model",
    "learn-two-sample": "learn simulate-parquet.parquet --bound two-sample --delta 0.1 -o {}.model",
    "learn-likelihood-ratio": "learn simulate-mab.parquet --bound likelihood-ratio -o {}.model",
    "learn-fisher": "learn simulate-mab.parquet --bound fisher --delta 0.01 --second-look -o {}.model",
    "learn-split": "learn simulate-parquet.parquet --split --seed 5 -o {}.model",
    "learn-greedy": "learn simulate-parquet.parquet --planner greedy -o {}.model",
    "learn-pessimistic": "learn simulate-parquet.parquet --planner pessimistic --strength 0.1 -o {}.model",
    "learn-subsampled": "learn simulate-parquet.parquet --split --planner subsampled --accuracy 1 -o {}.model",
    "learn-no-plan": "learn simulate-parquet.parquet --planner none -o {}.model",
    "learn-safe": "learn simulate-table.csv --planner safe --horizon 3 -o {}.model",
    "learn-binned": f"learn {CLINIC} {BINS} -o {{}}.model",
    "learn-binned-stationary": f"learn {CLINIC} {BINS} --stationary -o {{}}.model",
    "learn-ragged": "learn ragged.csv -o {}.model",
    "learn-drop-truncated": "learn truncated.csv --drop-truncated -o {}.model",
    "learn-hold-out": "learn simulate-parquet.parquet --hold-out 0.3 -o {}.model",
    "learn-confidence": "learn simulate-mab.parquet --confidence 0.95 -o {}.model",
    "learn-cut": "learn simulate-parquet.parquet --cut 0.05 -o {}.model",
    "learn-checkpoint": "learn simulate-parquet.parquet --checkpoint notes --threads 2 -o {}.model",
    "learn-large": "learn simulate-large.parquet -o {}.model",
    "learn-out-of-core": "learn simulate-large.parquet --memory 410MB --threads 2 -o {}.model",  # in pieces
    "simulate-model": f"simulate {MAZE} --behaviour learn-layers.model --epsilon 0.2 --episodes 300 -o {{}}.csv",
    # Views of models
    "info-layers": "info learn-layers.model --states --decisions 5",
    "info-layers-json": "info learn-layers.model --json",
    "info-stationary": "info learn-stationary.model --states --decisions 5",
    "info-stationary-json": "info learn-stationary.model --json --states --decisions 5",
    "info-binned": "info learn-binned.model --states",
    "info-binned-json": "info learn-binned.model --json",
    "info-split": "info learn-subsampled.model",
    "info-no-plan-json": "info learn-no-plan.model --json --states --decisions 3",
    "export-json": "export learn-layers.model --format json -o {}.json",
    "export-dot": "export learn-layers.model --format dot -o {}.dot",
    "export-pomdp": "export learn-layers.model --format pomdp -o {}.POMDP",
    "export-stationary": "export learn-stationary.model --format json -o {}.json",
    "export-binned": "export learn-binned.model --format json -o {}.json",
    "export-domain": f"export {MAZE} --format pomdp -o {{}}.POMDP",
    "draw-layers": "draw learn-layers.model -o {}.svg",
    "draw-stationary": "draw learn-stationary.model --title 'A maze' --full --labels -o {}.svg",
    "draw-most": "draw learn-layers.model --most 6 -o {}.svg",
    "draw-binned": "draw learn-binned.model -o {}.svg",  # observations that read alike, with and without an action
    "explore-layers": "explore learn-layers.model -o {}.html",
    "explore-both": "explore learn-stationary.model --log simulate-set.parquet --episodes 5 "
    "--compare learn-auto.model -o {}.html",
    "report-layers": "report learn-layers.model -o {}.html",
    "report-log": "report learn-hold-out.model --log simulate-parquet.parquet --title 'Held out' -o {}.html",
    "report-stationary-json": "report learn-stationary.model --json",
    "report-binned": "report learn-binned-stationary.model -o {}.html",
    # Checks and evaluation
    "check-csv": "check simulate-csv.csv --write-schema {}.json",
    "check-json": "check simulate-mab.parquet --json",
    "check-clinic": f"check {CLINIC} {BINS}",
    "check-ragged-json": "check ragged.csv --json",
    "learn-schema": "learn simulate-csv.csv --schema check-csv.json -o {}.model",
    "evaluate-exact-json": "evaluate learn-layers.model --domain t-maze --set length=2 --exact --json",
    "evaluate-tried": "evaluate learn-stationary.model --domain t-maze --set length=4 --set cue_visible=true "
    "--episodes 200",
    "evaluate-gymnasium": "evaluate learn-layers.model --domain suffice/TMaze-v0 --set length=2 --episodes 20 --json",
    "evaluate-log-json": "evaluate learn-hold-out.model --log simulate-parquet.parquet --json",
    "evaluate-log": "evaluate learn-layers.model --log simulate-csv.csv",
    "exact": f"exact {MAZE}",
    "exact-json": "exact corridor --set columns=3 --horizon 3 --json",
    "exact-stationary": f"exact {MAZE} --stationary",
    "exact-family": f"exact {MAZE} --family 1,1,1 --json",
    "exact-prefixes": "exact rotating-mab --horizon 5 --metric prefixes --delta 0.01",
    "exact-L1": f"exact {MAZE} --metric L1 --behaviour table.csv",
    "exact-pomdp": "exact export-domain.POMDP --horizon 3",
    "compare-models": "compare learn-layers.model learn-paper.model",
    "compare-models-json": "compare learn-large.model learn-out-of-core.model --json",
    "compare-domain": f"compare learn-large.model {MAZE}",
    "compare-stationary": "compare learn-stationary.model t-maze --set length=4 --set cue_visible=true",
    # Mistakes
    "refuse-missing": "reproduce table1",
    "refuse-file": "learn nothing.csv -o {}.model",
    "refuse-option": "learn simulate-csv.csv --metric language -o {}.model",
    "refuse-columns": "check 'clinic 1.csv'",
    "refuse-truncated": "learn truncated.csv -o {}.model",
    "refuse-model": "info simulate-csv.csv",
    "refuse-discount": "learn simulate-csv.csv --discount 0.9 -o {}.model",
}

# ---------------------------------------------------------------- normalised outputs


def normalised(text: str, folder: Path) -> str:
    """Replace what differs from run to run or from release to release.

    These are the seconds and the memory of learning, measured or expected (which depends on the number of cores), the
    folder, and the package version.
    """
    text = text.replace(str(folder), "FOLDER")
    text = re.sub(r"(\(learned in )[\d.]+ s\b", r"\1SECONDS s", text)  # learn
    text = re.sub(r"(learning takes +about )[\d.e+]+ \w+, and [\d,]+ MB", r"\1SECONDS, and MEMORY", text)  # check
    text = re.sub(r"(?m)^(  seconds +|  peak memory +)[\d.,]+( MB)?$", r"\1NUMBER", text)  # info
    text = re.sub(r'"(seconds|bytes|learning_seconds|learning_bytes)": [\d.e+-]+', r'"\1": "NUMBER"', text)  # --json
    before = r'suffice |suffice</td><td>|"suffice": "|"version": "|  version +'
    return re.sub(rf"({before}){re.escape(__version__)}\b", r"\1VERSION", text)


def text_of(path: Path, folder: Path) -> str:
    """Return a file as text; of a compressed one its contents, because compression depends on library versions."""
    if path.suffix == ".model":
        return "".join(_members(path, folder))
    if path.suffix == ".parquet":
        with pq.ParquetFile(path) as file:
            groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
            about = f"{[(group.num_rows, group.column(0).compression) for group in groups]}\n"
            return about + _rows(file.read())
    if path.suffix == ".arrow":
        with pa.ipc.open_file(path) as file:
            return _rows(file.read_all())
    return normalised(path.read_text(encoding="utf-8"), folder)


def _members(path: Path, folder: Path) -> Iterator[str]:
    """Yield the contents of a model file: JSON as it is, arrays as a digest of their bytes and their values."""
    with zipfile.ZipFile(path) as archive:
        for info in archive.infolist():
            data = archive.read(info)
            yield f"{info.filename} {info.date_time} packed by method {info.compress_type}\n"
            if info.filename.endswith(".npy"):
                array = np.load(io.BytesIO(data))
                yield f"{hashlib.sha256(data).hexdigest()} {array.dtype} {array.shape}\n"
                yield "".join(f"{value!r}\n" for value in array.ravel().tolist())
            else:
                yield normalised(data.decode(), folder) + "\n"


def _rows(table: pa.Table) -> str:
    """Return the columns and rows of a log as text."""
    columns = [column.to_pylist() for column in table.columns]
    return f"{table.schema}\n" + "".join(f"{row}\n" for row in zip(*columns, strict=True))


def digest(text: str) -> str:
    """Return the SHA-256 digest of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


# ---------------------------------------------------------------- running


def outputs(folder: Path) -> dict[str, str]:
    """Run all commands in a folder that is empty, and return their outputs by name, as text that can be compared."""
    found: dict[str, str] = {}
    with _settled(folder):
        write_logs()
        for name, line in CASES.items():
            said = run(*shlex.split(line.format(name)))
            found[f"{name}.stdout"] = normalised(said, folder)
            for path in sorted(Path().glob(f"{name}.*")):
                if not path.name.endswith(".run.json"):  # time and memory of the run
                    found[path.name] = text_of(path, folder)
    return found


def digests(folder: Path) -> dict[str, str]:
    """Return the digest of every output."""
    return {name: digest(text) for name, text in outputs(folder).items()}


def recorded() -> dict[str, str]:
    """Return the digests that are recorded in outputs.json."""
    return dict(json.loads(DIGESTS.read_text()))


def run(*args: str) -> str:
    """Run a command within this process; return what it prints, and after an error its message and exit code."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv, code = ["suffice", *args], 0
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            run_command_line()
    except SystemExit as stopped:
        code = int(stopped.code or 0)
    finally:
        sys.argv = before
    complaint = f"exit code {code}, and on stderr:\n{err.getvalue()}" if code or err.getvalue() else ""
    return out.getvalue() + complaint


@contextlib.contextmanager
def _settled(folder: Path) -> Iterator[None]:
    """Change to a folder, with an environment of 80 columns and no colours."""
    ours, before = {"COLUMNS": "80", "LINES": "25", "NO_COLOR": "1"}, dict(os.environ)
    os.environ.update(ours)
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE"):
        os.environ.pop(name, None)
    try:
        with contextlib.chdir(folder):
            yield
    finally:
        os.environ.clear()
        os.environ.update(before)


# ---------------------------------------------------------------- further logs


def write_logs() -> None:
    """Write logs with unusual names, weights and early ends, and a behaviour table, to the current folder."""
    Path("table.csv").write_text("bit1,bit2,bit3,E,N,S,W\n0,1,0,0,1/2,1/2,0\n,,,0.7,0.1,0.1,0.1\n")
    rng = random.Random(0)
    header = ["visit #", "Patient ID", 'drug "given"', "cough", "temp.°C", "Größe"]
    _write_csv("clinic 1.csv", header, (row for i in range(400) for row in _patient(rng, f"p-{i:03}")))
    header = ["episode", "step", "seen", "action", "reward", "weight", "terminated", "truncated"]
    sessions = [row for i in range(500) for row in _session(rng, i)]
    _write_csv("truncated.csv", header, sessions)
    _write_csv("ragged.csv", header[:6], (row[:6] for row in sessions))
    rows = (dict(zip(header[:5], row[:5], strict=True)) for row in sessions)
    Path("ragged.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    # Rewards become more probable with every step, so that layers are needed.
    coin = (int(2 * rng.random()) for _ in range(10**4))
    late = ([i, t, next(coin), next(coin), int(9 * rng.random() < t + 1)] for i in range(400) for t in range(8))
    _write_csv("rising.csv", header[:5], late)


def _write_csv(name: str, header: list[str], rows: Iterable[list[object]]) -> None:
    with Path(name).open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])


def _patient(rng: random.Random, name: str) -> Iterator[list[object]]:
    """Yield the visits of a patient: the first cough shows which drug helps; visits end with recovery."""
    cough, temperature = ("dry", "wet")[rng.random() < 0.5], 37 + 2 * rng.random()
    for visit in range(1, 5):
        drug = ("A, daily", "B")[rng.random() < 0.5]
        helps = (drug == "B") == (cough == "wet")
        seen = cough if visit == 1 else "none"
        yield [visit, name, drug, seen, round(temperature, 2), round(helps - 0.5 + 0.2 * rng.random(), 3)]
        temperature += (-0.8 if helps else 0.3) + 0.2 * rng.random()
        if temperature < 37:
            return


def _session(rng: random.Random, number: int) -> Iterator[list[object]]:
    """Yield up to five steps: repeating the first observation is rewarded, errors may end the session."""
    first, weight, length = rng.random() < 0.5, 1 + int(3 * rng.random()), 2 + int(4 * rng.random())
    for step in range(length):
        action = rng.random() < 0.5
        reward = (2.5 if action == first else -1) if step else 0
        ends, cut = reward < 0 and rng.random() < 0.3, step == length - 1 and rng.random() < 0.5
        seen = ("left", "right")[first] if step == 0 else "?"
        last = ends or step == length - 1
        yield [number, step, seen, int(action), reward, weight, _truth(last and not cut), _truth(last and cut)]
        if last:
            return


def _truth(value: bool) -> str:
    return "true" if value else "false"


# ---------------------------------------------------------------- command line


def main() -> int:
    """Compare the outputs with outputs.json, write them to a folder, or record them."""
    parser = argparse.ArgumentParser(description="Compare outputs of commands with their recorded digests.")
    parser.add_argument("--write", action="store_true", help="rewrite outputs.json")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="write all outputs into this folder, new or empty")
    options = parser.parse_args()
    if options.keep and options.keep.exists() and any(options.keep.iterdir()):
        parser.error(f"{options.keep} is not empty")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        found = outputs(folder)
        if options.keep:
            shutil.copytree(folder, options.keep / "raw")
            compared = options.keep / "compared"
            compared.mkdir()
            for output, text in found.items():
                (compared / output).write_text(text, encoding="utf-8")
            print(f"Wrote {len(found)} outputs to {compared}, and the files themselves to {options.keep / 'raw'}.")
    made = {output: digest(text) for output, text in sorted(found.items())}
    if options.write:
        DIGESTS.write_text(json.dumps(made, indent=1) + "\n")
        print(f"Wrote {len(made)} digests to {DIGESTS}.")
        return 0
    before = recorded()
    different = sorted(output for output in {*made, *before} if made.get(output) != before.get(output))
    print(
        "\n".join(["These outputs differ from outputs.json:", *different])
        if different
        else "All outputs are as in outputs.json."
    )
    return bool(different)


if __name__ == "__main__":
    sys.exit(main())
