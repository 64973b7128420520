"""FlexFringe, run as a program that reads traces and writes an automaton as JSON."""

from __future__ import annotations

import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from suffice.automata.rdp import UNSEEN
from suffice.data.episodes import Episodes
from suffice.errors import MissingError, SettingsError, alternatives, parameter
from suffice.kernels.array_types import Int64
from suffice.lab.learner import LearnerKind, LearnerResult, Task
from suffice.lab.peers.machines import Machine, as_found, closed_setting, traces
from suffice.lab.resources import ProgramError, ResourceUse, measure_command

ROOT: Final = -1  # number of the root in the output of FlexFringe
LIKELIHOOD_RATIO_SETTINGS: Final = (
    *("--heuristic-name", "likelihoodratio", "--data-name", "likelihood_data", "--addtails", "0", "--sinkson", "0"),
    *("--mergeroot", "0", "--confidence_bound", "0.05", "--correction", "1"),
)
ALERGIA: Final = (
    *("--heuristic-name", "alergia", "--data-name", "alergia_data", "--addtails", "0", "--sinkson", "0"),
    *("--state_count", "10", "--finalprob", "1"),
)
CSS_SETTINGS: Final = (
    *("--heuristic-name", "css", "--data-name", "css_data", "--addtails", "0", "--sinkson", "0", "--finalprob", "1"),
    *("--state_count", "10", "--symbol_count", "4", "--largestblue", "0", "--confidence_bound", "0.05"),
    *("--numoftables", "3", "--vectordimension", "20", "--futuresteps", "2", "--conditionalprob", "0"),
)
# The best of about 45 settings, chosen on other seeds (likelihood ratio: with large and with small counts).
HEURISTICS: Final = {
    "likelihood-ratio": (
        *LIKELIHOOD_RATIO_SETTINGS,
        "--state_count",
        "10",
        "--symbol_count",
        "5",
        "--largestblue",
        "1",
    ),
    "likelihood-ratio-few": (
        *LIKELIHOOD_RATIO_SETTINGS,
        "--state_count",
        "3",
        "--symbol_count",
        "1",
        "--largestblue",
        "0",
    ),
    "alergia": (*ALERGIA, "--symbol_count", "4", "--confidence_bound", "0.05", "--largestblue", "0"),
    "alergia-eager": (*ALERGIA, "--symbol_count", "-1", "--confidence_bound", "0.5", "--largestblue", "1"),
    "css": CSS_SETTINGS,
}
HOW_TO_GET_IT: Final = (
    "build it from source (github.com/tudelft-cda-lab/FlexFringe, with cmake, about ten minutes), then add it to the "
    "PATH or set the variable FLEXFRINGE to its path"
)
ABSENT: Final = f"FlexFringe is not installed: {HOW_TO_GET_IT}"


def find_flexfringe(given: str | None = None) -> str | None:
    """Return the given binary, that of the environment variable FLEXFRINGE, or the one on the PATH."""
    variable = os.environ.get("FLEXFRINGE")
    for subject, name in ((parameter("flexfringe", given), given), (f"FLEXFRINGE={variable}", variable)):
        if name:
            if (found := shutil.which(name)) is None:
                raise MissingError(f"{subject} is not an executable program. To install FlexFringe, {HOW_TO_GET_IT}.")
            return str(Path(found).resolve())
    found = shutil.which("flexfringe")
    return found and str(Path(found).resolve())


def flexfringe(episodes: Episodes, binary: str, settings: Sequence[str], closed: bool = False) -> Machine:
    """Learn an automaton from a log with one of the `HEURISTICS`."""
    text, took = learned_json(episodes, binary, settings, closed)
    return Machine(read_flexfringe(text, len(episodes.letters)), took, closed)


def learned_json(episodes: Episodes, binary: str, settings: Sequence[str], closed: bool) -> tuple[str, ResourceUse]:
    """Return the output of FlexFringe and its resources, which include reading the log and writing the output."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_abbadingo(episodes, folder / "log.dat", closed)
        idle = measure_command([binary, "--help"], folder).bytes
        command = [binary, "log.dat", "--outputfile", "learned", "--output", "json", *settings]
        seconds, peak = measure_command(command, folder)
        answer = folder / "learned.final.json"
        if not answer.exists():
            raise ProgramError(f"{Path(binary).name} did not write {answer.name}")
        return answer.read_text(), ResourceUse(seconds, max(peak - idle, 0))


def write_abbadingo(episodes: Episodes, path: Path, closed: bool) -> None:
    """Write traces of letter codes in the Abbadingo format; all traces have the same label."""
    rows = [(1, len(trace), *trace) for trace in traces(episodes, closed)]
    size = (len(rows), len(episodes.letters) + closed)
    path.write_text("".join(" ".join(map(str, row)) + "\n" for row in [size, *rows]))


def read_flexfringe(text: str, n_letters: int) -> Int64:
    """Read the transition table [states, X] with the root first, without the termination symbol."""
    found = json.loads(text)
    ids = [str(node["id"]) for node in sorted(found["nodes"], key=lambda node: node["id"] != ROOT)]
    number = {name: q for q, name in enumerate(ids)}
    delta = np.full((len(ids), n_letters + 1), UNSEEN)
    for edge in found["edges"]:
        delta[number[edge["source"]], int(edge["name"])] = number.get(edge["target"], UNSEEN)
    return delta[:, :n_letters]


def _learn(task: Task) -> LearnerResult:
    setting, closed = closed_setting(task.setting)
    if setting not in HEURISTICS:
        raise SettingsError(
            f"learner {task.name!r}: {setting!r} is not a heuristic. Choose {alternatives(HEURISTICS)}."
        )
    if task.flexfringe is None:
        raise MissingError(ABSENT)
    return as_found(flexfringe(task.episodes, task.flexfringe, HEURISTICS[setting], closed), task.episodes)


def _missing(flexfringe: str | None) -> str:
    return ABSENT if flexfringe is None else ""


FLEXFRINGE: Final = LearnerKind(_learn, cyclic=True, missing=_missing)
