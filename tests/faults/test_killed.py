"""Kill it at any moment, give the same command again, and the result is the same bytes."""

from __future__ import annotations

import os
import pkgutil
import random
import shutil
import signal
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from faults.conftest import IN_PIECES, Undisturbed
from faults.harness import KILLED, LAYERS, Fault, dies_before, goes_on, learn, left_in, started, suffice
from suffice.learning import adact_h
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
def test_dies_again_and_again(
    options: tuple[str, ...], log: Path, tmp_path: Path, undisturbed: Undisturbed, record_property: Record
) -> None:
    """Each run gets further than the one before, and dies at another moment of a write."""
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
def test_dies_before_every_change_of_a_file(
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
def test_dies_as_a_file_is_half_written(
    name: str, log: Path, tmp_path: Path, undisturbed: Undisturbed, record_property: Record
) -> None:
    expected = undisturbed()
    assert suffice(*learn(log, tmp_path, LAYERS), fault=_dies_halfway(name)).code == KILLED
    assert any(name.endswith(".tmp") for folder in (tmp_path, tmp_path / "kept") for name in left_in(folder))
    record_property("killed", 1)
    goes_on(log, tmp_path, LAYERS, expected)


def _dies_halfway(name: str) -> Fault:
    """As a file is about to be safe on the disk, only half of it is there."""

    def fault() -> None:
        def fsync(file: int) -> None:
            if _is_for(name, file):
                path = os.readlink(f"/proc/self/fd/{file}")
                os.truncate(path, os.stat(path).st_size // 2)
                os.kill(os.getpid(), signal.SIGKILL)

        os.fsync = fsync

    return fault


def _is_for(name: str, file: int) -> bool:
    """Whether an open file is to become one of such a name."""
    return f"/.{name}" in os.readlink(f"/proc/self/fd/{file}")


@pytest.mark.parametrize(
    ("seed", "options"),
    [
        (0, LAYERS),
        (1, ("--stationary",)),
        *(pytest.param(seed, RUNS[seed % len(RUNS)], marks=pytest.mark.long) for seed in range(2, 50)),
    ],
)
def test_killed_from_outside_at_a_random_moment(
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


def test_ended_by_a_scheduler(log: Path, tmp_path: Path, undisturbed: Undisturbed, record_property: Record) -> None:
    """SIGTERM leaves nothing half written; the checkpoint stays."""
    expected = undisturbed()

    def fault() -> None:
        os.fsync = lambda file: os.kill(os.getpid(), signal.SIGTERM) if _is_for("first-000002", file) else None

    ran = suffice(*learn(log, tmp_path, LAYERS), fault=fault)
    assert (ran.code, ran.err) == (128 + signal.SIGTERM, "")
    assert left_in(tmp_path / "kept") == ["first-000000.checkpoint", "first-000001.checkpoint", "run.checkpoint"]
    record_property("killed", 1)
    goes_on(log, tmp_path, LAYERS, expected)


def test_interrupted_by_a_person(log: Path, tmp_path: Path, undisturbed: Undisturbed, record_property: Record) -> None:
    """Who is told that nothing is lost."""
    expected = undisturbed()

    def fault() -> None:
        os.fsync = lambda file: os.kill(os.getpid(), signal.SIGINT) if _is_for("first-000002", file) else None

    ran = suffice(*learn(log, tmp_path, LAYERS), fault=fault)
    assert ran.code == 130
    kept = tmp_path / "kept"
    assert ran.err == f"suffice: interrupted; what is done is kept in {kept}, and the same command goes on\n"
    record_property("killed", 1)
    goes_on(log, tmp_path, LAYERS, expected)


@pytest.mark.parametrize("place", ["suffice.cli.learning_commands.read_logs", "suffice.models.model.Model.save"])
def test_interrupted_while_nothing_is_learned(log: Path, tmp_path: Path, place: str) -> None:
    """Before, and after: what is kept is kept all the same."""
    assert suffice(*learn(log, tmp_path, LAYERS), fault=_dies_halfway("first-000002")).code == KILLED

    def fault() -> None:
        module, _, name = place.rpartition(".")
        setattr(pkgutil.resolve_name(module), name, lambda *_: os.kill(os.getpid(), signal.SIGINT))

    ran = suffice(*learn(log, tmp_path, LAYERS), fault=fault)
    kept = tmp_path / "kept"
    assert ran.err == f"suffice: interrupted; what is done is kept in {kept}, and the same command goes on\n"
    shutil.rmtree(kept)
    ran = suffice(*learn(log, tmp_path, LAYERS), fault=fault)
    assert ("is kept in" in ran.err) == ("save" in place) and ("nothing was written" in ran.err) == ("read" in place)
    assert left_in(tmp_path) == (["kept"] if "save" in place else [])


def test_interrupted_once_the_model_is_saved(log: Path, tmp_path: Path) -> None:
    def fault() -> None:
        held_out.note_run = lambda *_: os.kill(os.getpid(), signal.SIGINT)

    ran = suffice(*learn(log, tmp_path, LAYERS), fault=fault)
    assert (ran.code, ran.err) == (130, "suffice: interrupted\n") and (tmp_path / "a.model").exists()


def test_a_run_goes_on_and_does_not_begin_again(log: Path, tmp_path: Path, undisturbed: Undisturbed) -> None:
    """What was found before is not worked out again."""
    expected = undisturbed()
    assert suffice(*learn(log, tmp_path, LAYERS), fault=_dies_halfway("second-000000")).code == KILLED

    def fault() -> None:
        def merge(*_: object) -> None:
            raise AssertionError("a layer was worked out again")

        adact_h._LayerLearner._merge = merge  # type: ignore[assignment,method-assign]

    assert suffice(*learn(log, tmp_path, LAYERS), fault=fault).code == 0
    assert (tmp_path / "a.model").read_bytes() == expected


def test_without_a_checkpoint_nothing_is_written_but_the_model(log: Path, tmp_path: Path) -> None:
    k = 1
    while suffice("learn", log, "-o", tmp_path / "a.model", fault=dies_before(k, tmp_path)).code == KILLED:
        k += 1
    assert left_in(tmp_path) == ["a.model", "a.model.run.json"] and k > 3
