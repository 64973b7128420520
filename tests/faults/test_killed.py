"""Runs killed at any moment: the same command again gives a model with the same bytes."""

from __future__ import annotations

import os
import pkgutil
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from faults.conftest import IN_PIECES, Undisturbed
from faults.harness import KILLED, LAYERS, Fault, dies_before, goes_on, learn, left_in, started, suffice
from suffice.data.logs.reading import read_log
from suffice.files.signals import resume_message
from suffice.learning import adact_h
from suffice.learning.merging import LayerRecord
from suffice.models import held_out

Record = Callable[[str, object], None]
RUNS: tuple[tuple[str, ...], ...] = (
    LAYERS,
    ("--no-second-look",),
    ("--family", "adaptive"),
    ("--metric", "prefixes"),
    ("--metric", "sketch"),
    ("--stationary",),
    ("--stationary", "auto"),
    ("--split",),
    ("--hold-out", "0.2"),
    IN_PIECES,
    (*IN_PIECES, "--stationary"),
    ("--planner", "none"),
)


@pytest.mark.parametrize("options", RUNS, ids=" ".join)
def test_learn_continues_after_being_killed_repeatedly(
    options: tuple[str, ...], log: Path, tmp_path: Path, undisturbed: Undisturbed, record_property: Record
) -> None:
    """Each run gets further than the one before, and is killed at another moment of a write."""
    expected, kills = undisturbed(*options), 0
    while (ran := suffice(*learn(log, tmp_path, options), fault=dies_before(6 + 7 * kills, tmp_path))).code:
        assert ran.code == KILLED, ran.err
        kills += 1
    assert kills >= 2
    record_property("killed", kills)
    goes_on(log, tmp_path, options, expected)


@pytest.mark.parametrize(
    "options",
    [("--horizon", "2", "--no-second-look"), *(pytest.param(options, marks=pytest.mark.long) for options in RUNS)],
    ids=" ".join,
)
def test_learn_continues_after_being_killed_before_any_change_of_a_file(
    options: tuple[str, ...], log: Path, tmp_path: Path, undisturbed: Undisturbed, record_property: Record
) -> None:
    expected, kills, code = undisturbed(*options), 0, KILLED
    while code == KILLED:
        folder = tmp_path / str(kills)
        folder.mkdir()
        code = suffice(*learn(log, folder, options), fault=dies_before(kills + 1, folder)).code
        goes_on(log, folder, options, expected)
        kills += code == KILLED
    assert code == 0 and kills > 20
    record_property("killed", kills)


@pytest.mark.parametrize("name", ["run", "first-000002", "second-000000", "a.model"])
def test_learn_continues_after_being_killed_with_a_partial_file(
    name: str, log: Path, tmp_path: Path, undisturbed: Undisturbed, record_property: Record
) -> None:
    expected = undisturbed()
    assert suffice(*learn(log, tmp_path, LAYERS), fault=_dies_halfway(name)).code == KILLED
    assert any(name.endswith(".tmp") for folder in (tmp_path, tmp_path / "kept") for name in left_in(folder))
    record_property("killed", 1)
    goes_on(log, tmp_path, LAYERS, expected)


def _dies_halfway(name: str) -> Fault:
    """Truncate a file to half its size when it is synced, and kill the process."""

    def fault() -> None:
        def fsync(file: int) -> None:
            if _is_for(name, file):
                path = os.readlink(f"/proc/self/fd/{file}")
                os.truncate(path, os.stat(path).st_size // 2)
                os.kill(os.getpid(), signal.SIGKILL)

        os.fsync = fsync

    return fault


def _is_for(name: str, file: int) -> bool:
    """Return whether an open file is the temporary file for a name."""
    return f"/.{name}" in os.readlink(f"/proc/self/fd/{file}")


@pytest.mark.parametrize(
    ("seed", "options"),
    [
        (0, LAYERS),
        (1, ("--stationary",)),
        *(pytest.param(seed, RUNS[seed % len(RUNS)], marks=pytest.mark.long) for seed in range(2, 50)),
    ],
)
def test_learn_continues_after_sigkill_at_a_random_moment(
    seed: int,
    options: tuple[str, ...],
    log: Path,
    tmp_path: Path,
    undisturbed: Undisturbed,
    record_property: Record,
) -> None:
    expected, draw, kills = undisturbed(*options), random.Random(seed), 0
    begin = time.monotonic()
    assert suffice(*learn(log, tmp_path, options)).code == 0
    usual = time.monotonic() - begin
    for file in tmp_path.iterdir():
        file.unlink()
    for _ in range(5):
        with started(*learn(log, tmp_path, options)) as child:
            time.sleep(usual * draw.random())
            os.kill(child.pid, signal.SIGKILL)
            kills += child.ended().code == KILLED
    record_property("killed", kills)
    goes_on(log, tmp_path, options, expected)


def test_learn_ends_on_sigterm_without_partial_files(
    log: Path, tmp_path: Path, undisturbed: Undisturbed, record_property: Record
) -> None:
    """The checkpoint stays, and the same command continues."""
    expected = undisturbed()

    def fault() -> None:
        os.fsync = lambda file: os.kill(os.getpid(), signal.SIGTERM) if _is_for("first-000002", file) else None

    ran = suffice(*learn(log, tmp_path, LAYERS), fault=fault)
    assert (ran.code, ran.err) == (128 + signal.SIGTERM, "")
    assert left_in(tmp_path / "kept") == ["first-000000.checkpoint", "first-000001.checkpoint", "run.checkpoint"]
    record_property("killed", 1)
    goes_on(log, tmp_path, LAYERS, expected)


def test_learn_interrupted_names_the_checkpoint_folder(
    log: Path, tmp_path: Path, undisturbed: Undisturbed, record_property: Record
) -> None:
    expected = undisturbed()

    def fault() -> None:
        os.fsync = lambda file: os.kill(os.getpid(), signal.SIGINT) if _is_for("first-000002", file) else None

    ran = suffice(*learn(log, tmp_path, LAYERS), fault=fault)
    assert ran.code == 130
    kept = tmp_path / "kept"
    assert ran.err == f"suffice: interrupted; {resume_message(kept)}\n"
    record_property("killed", 1)
    goes_on(log, tmp_path, LAYERS, expected)


@pytest.mark.parametrize("place", ["suffice.cli.learning_commands.read_logs", "suffice.models.model.Model.save"])
def test_learn_interrupted_while_reading_or_saving_keeps_checkpoints(log: Path, tmp_path: Path, place: str) -> None:
    assert suffice(*learn(log, tmp_path, LAYERS), fault=_dies_halfway("first-000002")).code == KILLED

    def fault() -> None:
        module, _, name = place.rpartition(".")
        setattr(pkgutil.resolve_name(module), name, lambda *_: os.kill(os.getpid(), signal.SIGINT))

    ran = suffice(*learn(log, tmp_path, LAYERS), fault=fault)
    kept = tmp_path / "kept"
    assert ran.err == f"suffice: interrupted; {resume_message(kept)}\n"
    shutil.rmtree(kept)
    ran = suffice(*learn(log, tmp_path, LAYERS), fault=fault)
    assert ("are stored in" in ran.err) == ("save" in place)
    assert ("nothing was written" in ran.err) == ("read" in place)
    assert left_in(tmp_path) == (["kept"] if "save" in place else [])


def test_learn_interrupted_after_saving_does_not_claim_that_nothing_was_written(log: Path, tmp_path: Path) -> None:
    def fault() -> None:
        held_out.note_run = lambda *_: os.kill(os.getpid(), signal.SIGINT)

    ran = suffice(*learn(log, tmp_path, LAYERS), fault=fault)
    assert (ran.code, ran.err) == (130, "suffice: interrupted\n") and (tmp_path / "a.model").exists()


def test_learn_does_not_repeat_layers_of_a_checkpoint(log: Path, tmp_path: Path, undisturbed: Undisturbed) -> None:
    expected = undisturbed()
    assert suffice(*learn(log, tmp_path, LAYERS), fault=_dies_halfway("second-000000")).code == KILLED

    total = read_log(log).total

    def fault() -> None:
        merge = adact_h._LayerLearner._merge

        def merge_parts(self: adact_h._LayerLearner, *rest: Any) -> LayerRecord:
            assert self._log.total < total, "a layer of the whole log was learned again"
            return merge(self, *rest)

        adact_h._LayerLearner._merge = merge_parts  # type: ignore[method-assign]

    assert suffice(*learn(log, tmp_path, LAYERS), fault=fault).code == 0
    assert (tmp_path / "a.model").read_bytes() == expected


def test_learn_without_a_checkpoint_writes_only_the_model(log: Path, tmp_path: Path) -> None:
    k = 1
    while suffice("learn", log, "-o", tmp_path / "a.model", fault=dies_before(k, tmp_path)).code == KILLED:
        k += 1
    assert left_in(tmp_path) == ["a.model", "a.model.run.json"] and k > 3
