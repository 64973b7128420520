"""Checkpoints of other data or settings, damaged or forged: refused with one line, and never a wrong model."""

from __future__ import annotations

import os
import random
import shutil
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import suffice as product
from faults.conftest import IN_PIECES, Undisturbed
from faults.forging import Contents, forge, putting, read, wide
from faults.harness import KILLED, LAYERS, Ran, dies_before, here, layered, learn, left_in, started, suffice
from suffice.errors import CheckpointError
from suffice.files.checkpoints import FORMAT_VERSION
from suffice.models import choices

Record = Callable[[str, object], None]

ADAPTIVE = ("--family", "adaptive")
TIED = ("--stationary",)


@pytest.fixture(scope="module")
def complete(log: Path, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """Return a function from options to the checkpoints of a run until its end; the folder must not be changed."""
    known: dict[tuple[str, ...], Path] = {}

    def kept(*options: str) -> Path:
        if options not in known:
            folder = known[options] = tmp_path_factory.mktemp("complete")
            stop = dies_before(1, folder / "models")
            (folder / "models").mkdir()
            words = (
                "learn",
                log,
                "-o",
                folder / "models" / "a.model",
                "--checkpoint",
                folder / "kept",
                *layered(options),
            )
            assert here("learn", log, "-o", folder / "warm.model", *layered(options)).code == 0
            assert suffice(*words, fault=stop).code == KILLED
        return known[options] / "kept"

    return kept


@pytest.fixture
def kept(complete: Callable[..., Path], tmp_path: Path) -> Callable[..., Path]:
    """Return the same as `complete` for a copy, which tests may change."""

    def copied(*options: str) -> Path:
        shutil.rmtree(tmp_path / "kept", ignore_errors=True)
        return Path(shutil.copytree(complete(*options), tmp_path / "kept"))

    return copied


def again(log: Path, folder: Path, options: tuple[str, ...]) -> Ran:
    """Run the command again, in this process, which is faster."""
    (folder / "a.model").unlink(missing_ok=True)
    return here(*learn(log, folder, options))


@pytest.mark.parametrize(
    ("before", "options", "difference"),
    [
        (LAYERS, ("--delta", "0.01"), "delta was 0.001 and is now 0.01"),
        (LAYERS, ("--confidence", "0.9"), "confidence was None and is now 0.9"),
        (LAYERS, ("--cut", "0.1"), "cut was 0.0 and is now 0.1"),
        (LAYERS, ("--metric", "prefixes"), "metric was languages and is now prefixes"),
        (LAYERS, ("--family", "1,1,1"), "family was conjunctions and is now 1,1,1"),
        (LAYERS, ADAPTIVE, "family was conjunctions and is now 1,1,1 conjunctions"),
        (LAYERS, ("--bound", "paper"), "bound was fisher and is now paper"),
        (LAYERS, TIED, "stationary was False and is now True"),
        (LAYERS, ("--stationary", "auto"), "stationary was False and is now auto"),
        (LAYERS, ("--no-second-look",), "second_look was True and is now False"),
        (LAYERS, ("--hold-out", "0.2"), "hold_out was None and is now 0.2"),
        (LAYERS, ("--split",), "split was no and is now yes"),
        (LAYERS, ("--seed", "1"), "seed was 0 and is now 1"),
        (LAYERS, ("--horizon", "3"), "horizon was 4 and is now 3"),
        (LAYERS, ("--planner", "greedy"), "strength of the plan was"),
        (LAYERS, ("--planner", "none"), "plan was yes and is now no"),
        (TIED, (*TIED, "--discount", "0.9"), "discount of the plan was None and is now 0.9"),
        (TIED, (*TIED, "--strict"), "strict was False and is now True"),
        (ADAPTIVE, (*ADAPTIVE, "--memory", "1GB"), "memory was"),
        (("--metric", "sketch"), ("--metric", "sketch", "--seed", "1"), "seed of the sketch was 0 and is now 1"),
    ],
)
def test_learn_refuses_a_checkpoint_of_other_settings_and_names_them(
    before: tuple[str, ...],
    options: tuple[str, ...],
    difference: str,
    log: Path,
    tmp_path: Path,
    kept: Callable[..., Path],
) -> None:
    folder = kept(*before)
    files = left_in(folder)
    ran = again(log, tmp_path, options)
    assert ran.refused and difference in ran.err, ran
    assert left_in(folder) == files and not (tmp_path / "a.model").exists()


def test_learn_refuses_a_checkpoint_of_other_settings_before_reading_the_log(
    tmp_path: Path, kept: Callable[..., Path]
) -> None:
    kept()
    ran = again(tmp_path / "none.parquet", tmp_path, ("--delta", "0.01"))
    assert ran.refused and "delta was 0.001 and is now 0.01" in ran.err, ran
    with pytest.raises(CheckpointError, match=r"seed was 0 and is now 1"):
        product.learn(tmp_path / "none.parquet", seed=1, checkpoint=tmp_path / "kept")


@pytest.mark.parametrize("options", [("--threads", "1"), IN_PIECES, ("--memory", "3GB"), ("--json",)])
def test_learn_continues_with_other_settings_of_the_machine(
    options: tuple[str, ...], log: Path, tmp_path: Path, kept: Callable[..., Path], undisturbed: Undisturbed
) -> None:
    steps = len(left_in(kept())) - 1
    ran = again(log, tmp_path, options)
    assert ran.code == 0 and ("--json" in options or f"continued from {steps} layers or rounds" in ran.out), ran
    assert (tmp_path / "a.model").read_bytes() == undisturbed() and left_in(tmp_path) == ["a.model", "a.model.run.json"]


def _one_reward(table: pa.Table) -> pa.Table:
    """Replace the reward of one step by another that occurs in the log."""
    rewards = table.column("reward").to_pylist()
    place = len(rewards) // 2
    rewards[place] = next(r for r in rewards if r != rewards[place])
    return table.set_column(table.column_names.index("reward"), "reward", pa.array(rewards, table["reward"].type))


def _one_more(table: pa.Table) -> pa.Table:
    first = table.filter(pc.equal(table["episode"], table["episode"][0]))
    number = pc.add(pc.max(table["episode"]), 1).cast(table["episode"].type)
    return pa.concat_tables([table, first.set_column(0, "episode", pa.repeat(number, len(first)))])


def _backwards(table: pa.Table) -> pa.Table:
    """Reverse the order of the episodes."""
    ids = pc.subtract(pc.max(table["episode"]), table["episode"]).cast(table["episode"].type)
    return table.set_column(0, "episode", ids).sort_by([("episode", "ascending"), ("step", "ascending")])


@pytest.mark.parametrize("change", [_one_reward, _one_more])
@pytest.mark.parametrize("options", [LAYERS, TIED], ids=str)
def test_learn_refuses_a_checkpoint_of_another_log(
    change: Callable[[pa.Table], pa.Table],
    options: tuple[str, ...],
    log: Path,
    tmp_path: Path,
    kept: Callable[..., Path],
) -> None:
    kept(*options)
    other = tmp_path / "other.parquet"
    pq.write_table(change(pq.read_table(log)), other)
    ran = again(other, tmp_path, options)
    assert ran.refused and "the content of the log differs" in ran.err, ran


def test_learn_refuses_a_checkpoint_of_a_log_of_the_same_shape(
    log: Path, tmp_path: Path, kept: Callable[..., Path]
) -> None:
    kept()
    other = tmp_path / "other.parquet"
    words = ("simulate", "t-maze", "--horizon", "4", "--set", "length=2", "--episodes", "200", "--seed", "5")
    assert here(*words, "-o", other).code == 0
    ran = again(other, tmp_path, LAYERS)
    assert ran.refused and "the content of the log differs" in ran.err and "episodes was" not in ran.err, ran


def test_learn_continues_a_checkpoint_with_another_order_of_the_episodes(
    log: Path, tmp_path: Path, kept: Callable[..., Path], undisturbed: Undisturbed
) -> None:
    other = tmp_path / "other.parquet"
    pq.write_table(_backwards(pq.read_table(log)), other)
    for options in (LAYERS, TIED, ("--hold-out", "0.2"), ("--split",)):
        kept(*options)
        assert again(other, tmp_path, options).code == 0
        assert (tmp_path / "a.model").read_bytes() == undisturbed(*options)


def test_learn_refuses_a_checkpoint_of_another_version_or_a_newer_format(
    log: Path, tmp_path: Path, kept: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(choices, "__version__", "99.0")
    kept()
    assert "and is now 99.0" in again(log, tmp_path, LAYERS).err
    monkeypatch.undo()
    newer = {"format_version": FORMAT_VERSION + 1, "version": "99.0"}
    for name in ("run.checkpoint", "first-000002.checkpoint"):
        forge(kept() / name, lambda contents: contents["header.json"].update(newer))
        ran = again(log, tmp_path, LAYERS)
        assert ran.refused and "Upgrade suffice." in ran.err, ran


@pytest.mark.parametrize("older", range(1, FORMAT_VERSION))
@pytest.mark.parametrize(
    ("name", "fix"),
    [("run.checkpoint", "Delete the folder"), ("first-000002.checkpoint", "Delete this file")],
)
def test_learn_refuses_a_checkpoint_of_an_older_format_with_a_fix(
    log: Path, tmp_path: Path, kept: Callable[..., Path], name: str, fix: str, older: int
) -> None:
    """Format 1 stored witnesses as sentences, format 2 the choices under another key; all had no checksum."""
    changed = {"format_version": older, "version": "0.1"}
    forge(kept() / name, lambda contents: contents["header.json"].update(changed), checksum=False)
    ran = again(log, tmp_path, LAYERS)
    refusal = f"written by suffice 0.1 in format {older}, older than the {FORMAT_VERSION}"
    assert ran.refused and refusal in ran.err and fix in ran.err, ran


class Tried:
    """Runs in this process, which is faster, from copies of the checkpoints of a complete run."""

    def __init__(self, episodes: product.Episodes, folder: Path, **chosen: Any) -> None:
        self._episodes, self._chosen, self._folder = episodes, chosen, folder
        self._right = self._saved(product.learn(episodes, checkpoint=folder / "complete", **chosen))

    def copy(self) -> Path:
        shutil.rmtree(self._folder / "kept", ignore_errors=True)
        return Path(shutil.copytree(self._folder / "complete", self._folder / "kept"))

    def refused(self) -> str:
        """Return the line that refuses the copy."""
        with pytest.raises(CheckpointError) as refused:
            product.learn(self._episodes, checkpoint=self._folder / "kept", **self._chosen)
        assert "\n" not in str(refused.value)
        return str(refused.value)

    def learned(self) -> bool | None:
        """Return whether the model is correct; None if the copy is refused."""
        try:
            model = product.learn(self._episodes, checkpoint=self._folder / "kept", **self._chosen)
        except CheckpointError:
            return None
        return self._saved(model) == self._right

    def _saved(self, model: product.Model) -> bytes:
        model.save(self._folder / "a.model")
        product.load(self._folder / "a.model")
        return (self._folder / "a.model").read_bytes()


@pytest.fixture(scope="module")
def tried(log: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, ...], Tried]:
    episodes = product.read_log(log)
    adaptive = product.Settings(product.AdaptiveLanguages())
    chosen: dict[tuple[str, ...], dict[str, Any]] = {
        LAYERS: {"stationary": False},
        TIED: {"stationary": True},
        ADAPTIVE: {"settings": adaptive},
    }
    return {options: Tried(episodes, tmp_path_factory.mktemp("tried"), **what) for options, what in chosen.items()}


@pytest.mark.parametrize("trials", [40, pytest.param(5_000, marks=pytest.mark.long)])
def test_learn_refuses_checkpoints_with_a_changed_bit_or_a_missing_end(
    trials: int, tried: dict[tuple[str, ...], Tried], record_property: Record
) -> None:
    draw = random.Random(trials)
    for _ in range(trials):
        run = draw.choice(list(tried.values()))
        path = draw.choice(sorted(run.copy().iterdir()))
        data = bytearray(path.read_bytes())
        if draw.random() < 0.3:
            del data[draw.randrange(len(data)) :]
        else:
            data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
        path.write_bytes(data)
        assert "damaged" in run.refused()
    record_property("damaged checkpoints", trials)


@pytest.mark.parametrize("trials", [30, pytest.param(1_000, marks=pytest.mark.long)])
def test_learn_refuses_checkpoints_with_a_changed_number_and_no_new_checksum(
    trials: int, tried: dict[tuple[str, ...], Tried], record_property: Record
) -> None:
    """Without checksums some of these changes gave another model: a distance, a threshold, the sizes of a witness."""
    draw = random.Random(trials)
    for _ in range(trials):
        run = draw.choice(list(tried.values()))
        path = draw.choice([path for path in run.copy().iterdir() if path.name != "run.checkpoint"])
        arrays = sorted(name.removesuffix(".npy") for name in read(path) if name.endswith(".npy"))
        forge(path, putting(draw.choice(arrays), draw.random(), draw.choice((0, 1, 2))), checksum=False)
        assert "its checksum is missing" in run.refused()
    record_property("damaged checkpoints", trials)


@pytest.mark.parametrize(
    "options", [LAYERS, TIED, pytest.param(("--stationary", "auto"), marks=pytest.mark.long)], ids=str
)
def test_learn_refuses_exchanged_checkpoint_files_and_replaces_missing_ones(
    options: tuple[str, ...],
    log: Path,
    tmp_path: Path,
    kept: Callable[..., Path],
    undisturbed: Undisturbed,
    record_property: Record,
) -> None:
    expected = undisturbed(*options)
    steps = [name for name in left_in(kept(*options)) if name != "run.checkpoint"]
    for one, other in pairwise(steps):
        folder = kept(*options)
        (folder / one).replace(folder / other)
        ran = again(log, tmp_path, options)
        assert ran.refused and other in ran.err and one in ran.err, ran
    for name in (steps[0], steps[len(steps) // 2], steps[-1]):  # missing steps are learned again
        (kept(*options) / name).unlink()
        assert again(log, tmp_path, options).code == 0
        assert (tmp_path / "a.model").read_bytes() == expected
    folder = kept(*options)
    (folder / "run.checkpoint").unlink()
    assert "so their run is unknown. Delete them." in again(log, tmp_path, options).err
    record_property("damaged checkpoints", len(steps) + 3)


def test_learn_refuses_checkpoint_files_of_another_run(
    log: Path, tmp_path: Path, kept: Callable[..., Path], complete: Callable[..., Path]
) -> None:
    other = complete("--no-second-look")
    folder = kept()
    shutil.copy(other / "first-000002.checkpoint", folder)
    ran = again(log, tmp_path, LAYERS)
    assert ran.refused and "first-000002.checkpoint" in ran.err


BEYOND = (-2, -(1 << 40), 1 << 20, 1 << 31, 1 << 62)  # invalid numbers of anything
LAYER = ("layer", "state", "symbol", "n", "target", "nearest")
FIRST, SECOND, ROUND = "first-000002.checkpoint", "second-000002.checkpoint", "rounds-000001.checkpoint"


def _figures(**figures: list[str]) -> Callable[[Contents], None]:
    return lambda contents: contents["header.json"]["figures"].update(figures)


STRANGE = [["next", ["action", 99]], 1, 2, 0, 3]  # a witness with an action that does not exist
FORGED: list[tuple[tuple[str, ...], str, Callable[[Contents], None]]] = [
    *(
        (LAYERS, file, putting(f"decision_{name}", place, value))
        for file in (FIRST, SECOND)
        for name in LAYER
        for place, value in ((0.3, -2), (1, 1 << 40))
        if name != "nearest" or value > 0  # a negative number means that there is no nearest state
    ),
    *((TIED, ROUND, putting(f"decision_{name}", 0.5, value)) for name in LAYER[1:] for value in (-2, 1 << 40)),
    *(
        (TIED, ROUND, putting("settled", place, value))
        for place, value in zip((0, 0.2, 0.5, 1), BEYOND[1:], strict=True)
    ),
    *((TIED, ROUND, putting("tests", 0.5, value)) for value in (-1, 0, 1, 2, float("inf"), float("nan"))),
    *((TIED, ROUND, putting("depths", 0.5, value)) for value in BEYOND),
    *(
        (file, name, putting("decision_promoted", 0, 0))
        for file, name in ((LAYERS, FIRST), (LAYERS, SECOND), (TIED, ROUND))
    ),
    *((LAYERS, FIRST, _figures(languages=numbers)) for numbers in ([], ["x"], ["-5"], ["1", "2"], ["9" * 5000])),
    *((LAYERS, FIRST, _figures(needed=numbers)) for numbers in ([], ["0"], ["-2"], ["1.5"])),
    *((LAYERS, SECOND, _figures(tests=numbers)) for numbers in ([], ["-1"], ["99999"], ["1", "1"])),
    *((LAYERS, SECOND, _figures(steps=numbers)) for numbers in ([], ["-1"], ["999"], ["x"])),
    *((ADAPTIVE, FIRST, _figures(rungs=numbers)) for numbers in (["6"], ["-1"], ["x"])),
    *((ADAPTIVE, FIRST, _figures(left_out=numbers)) for numbers in (["0"], ["9"], ["1e3"])),
    *((ADAPTIVE, FIRST, _figures(needed=numbers)) for numbers in (["6"], ["-2"])),
    *((LAYERS, FIRST, lambda contents: contents["header.json"].update(figures={})) for _ in range(1)),
    *(
        (options, file, lambda contents: contents["records.json"].pop())
        for options, file in ((LAYERS, FIRST), (TIED, ROUND))
    ),
    *(
        (options, file, lambda contents: contents["records.json"].append(None))
        for options, file in ((LAYERS, FIRST), (TIED, ROUND))
    ),
    *((LAYERS, FIRST, lambda contents: contents["records.json"].append(7)) for _ in range(1)),
    *(
        (
            options,
            file,
            lambda contents: contents["records.json"].__setitem__(0, [["next", ["action", 99]], 1, 2, 0, 3]),
        )
        for options, file in ((LAYERS, FIRST), (LAYERS, SECOND), (TIED, ROUND))
    ),
]


def test_learn_refuses_checkpoints_with_impossible_numbers(
    tried: dict[tuple[str, ...], Tried], record_property: Record
) -> None:
    """Kernels do not check indices, so these numbers would lead them out of their tables; all shapes are valid."""
    for options, name, change in FORGED:
        forge(tried[options].copy() / name, change)
        message = tried[options].refused()
        assert name in message and "damaged" in message, message
    record_property("forged checkpoints", len(FORGED))


@pytest.mark.parametrize("trials", [30, pytest.param(5_000, marks=pytest.mark.long)])
def test_learn_does_not_crash_on_randomly_forged_checkpoints(
    trials: int, tried: dict[tuple[str, ...], Tried], record_property: Record
) -> None:
    """A carefully forged file may be accepted where the log does not contradict it, but nothing crashes."""
    draw = random.Random(trials)
    for _ in range(trials):
        run = draw.choice(list(tried.values()))
        steps = [file for file in sorted(run.copy().iterdir()) if file.name != "run.checkpoint"]
        forge(draw.choice(steps), lambda contents: _at_random(contents, draw))
        run.learned()
    record_property("forged checkpoints", trials)


def _at_random(contents: Contents, draw: random.Random) -> None:
    arrays = sorted(name for name, content in contents.items() if name.endswith(".npy") and content.size)
    value = draw.choice([*range(-3, 12), *BEYOND, 0.5, draw.randrange(-(1 << 62), 1 << 62)])
    name = draw.choice(arrays)
    array = contents[name] = wide(contents[name])
    array.reshape(-1)[draw.randrange(array.size)] = value


def test_learn_refuses_a_checkpoint_folder_in_use(log: Path, tmp_path: Path, undisturbed: Undisturbed) -> None:
    """The second run is refused, and the first is not affected."""
    expected = undisturbed()
    waits, may_go_on = tmp_path / "waits", tmp_path / "may go on"

    def fault() -> None:
        def fsync(file: int) -> None:
            waits.touch()
            _until(may_go_on.exists)

        os.fsync = fsync

    with started(*learn(log, tmp_path, LAYERS), fault=fault) as first:
        _until(waits.exists)
        ran = again(log, tmp_path, LAYERS)
        assert ran.refused and "another run is using this folder" in ran.err, ran
        may_go_on.touch()
        assert first.ended().code == 0
    assert (tmp_path / "a.model").read_bytes() == expected
    assert left_in(tmp_path) == ["a.model", "a.model.run.json", "may go on", "waits"]


def _until(happened: Callable[[], bool]) -> None:
    for _ in range(3000):
        if happened():
            return
        time.sleep(0.01)
    raise TimeoutError


def test_learn_leaves_other_files_in_the_checkpoint_folder(log: Path, tmp_path: Path, undisturbed: Undisturbed) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    others = ["epoch=3.checkpoint", "my.checkpoint", "notes.txt"]
    for name in others:
        (folder / name).write_text("mine")
    assert again(log, tmp_path, LAYERS).code == 0
    assert left_in(folder) == others and (tmp_path / "a.model").read_bytes() == undisturbed()


@pytest.mark.parametrize("content", [b"", b"mine", b"PK\x05\x06" + bytes(18)])
def test_learn_refuses_a_run_file_that_it_did_not_write(content: bytes, log: Path, tmp_path: Path) -> None:
    folder = tmp_path / "kept"
    folder.mkdir()
    (folder / "run.checkpoint").write_bytes(content)
    ran = again(log, tmp_path, LAYERS)
    assert ran.refused and "run.checkpoint" in ran.err
    assert (folder / "run.checkpoint").read_bytes() == content


def test_learn_refuses_a_checkpoint_folder_that_cannot_be_created(log: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    not_created = "the folder cannot be created"
    for folder, message in (("file", "this is a file"), ("no/such", not_created), ("file/below", not_created)):
        ran = here("learn", log, "-o", tmp_path / "a.model", "--checkpoint", tmp_path / folder)
        assert ran.refused and message in ran.err, ran
    assert left_in(tmp_path) == ["file"]
    missing = here("learn", tmp_path / "none.parquet", "-o", tmp_path / "a.model", "--checkpoint", tmp_path / "file")
    assert missing.refused and "this is a file. Set --checkpoint to a folder." in missing.err, "before reading the log"


def test_learn_refuses_a_checkpoint_folder_that_cannot_be_opened(
    log: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error is simulated, because root can open every folder."""
    folder, opened = tmp_path / "kept", os.open
    folder.mkdir()

    def refuse(path: object, *args: Any, **options: Any) -> int:
        if path == folder:
            raise PermissionError(13, "Permission denied")
        return opened(path, *args, **options)

    monkeypatch.setattr(os, "open", refuse)
    ran = here("learn", tmp_path / "none.parquet", "-o", tmp_path / "a.model", "--checkpoint", folder)
    assert ran.refused and "the folder cannot be opened (Permission denied). Choose another folder." in ran.err, ran


def test_learn_in_python_continues_and_keeps_its_checkpoint(log: Path, tmp_path: Path) -> None:
    """The checkpoint stays, because the call does not know whether the model is saved."""

    def stop(done: int, of: int) -> None:
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=f"stored in {tmp_path}"):
        product.learn(log, stationary=False, progress=stop, checkpoint=tmp_path / "kept")
    assert len(left_in(tmp_path / "kept")) == 4
    model = product.learn(log, stationary=False, checkpoint=tmp_path / "kept")
    assert model.about == product.learn(log, stationary=False).about
    with pytest.raises(CheckpointError, match=r"delta was 0\.001 and is now 0\.5"):
        product.learn(log, delta=0.5, checkpoint=tmp_path / "kept")
