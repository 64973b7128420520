"""Model files: a round trip changes nothing, damaged files are refused in one line, nothing is executed."""

from __future__ import annotations

import io
import json
import os
import random
import zipfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracle import random_episodes
from suffice.automata.compare import compare
from suffice.automata.rdp import UNSEEN
from suffice.data.alphabet import Alphabet
from suffice.data.episodes import Episodes
from suffice.domains.tasks.t_maze import TMaze
from suffice.errors import SufficeError
from suffice.evidence.bounds import PAPER
from suffice.evidence.prefix_sketch import PrefixSketches
from suffice.evidence.prefix_tree import PrefixCounts
from suffice.files.run_notes import RunNotes, load_run_notes, save_run_notes
from suffice.learning.adact_h import Settings, adact_h
from suffice.learning.windows import _automaton
from suffice.models.export import to_dot, to_json
from suffice.models.header import episodes_of
from suffice.models.model import Model
from support.archives import entries_of, npy, write_entries

SETTINGS = {
    "default": Settings(),
    "confidence": Settings(confidence=0.9),
    "cut": Settings(delta=0.5, cut=0.2),
    "prefixes": Settings(PrefixCounts(), PAPER, delta=0.3),
    "sketch": Settings(PrefixSketches(5), delta=0.3),
}


@cache
def model(name: str = "default") -> Model:
    episodes = random_episodes(np.random.default_rng(4), 3, 2, 3, 2, 4, 900, early_end=0.3, weighted=True)
    return Model.of(adact_h(episodes, SETTINGS[name]), episodes)


def equal(first: Model, second: Model) -> bool:
    arrays = [
        [getattr(m.rdp, name) for name in ("letters", "symbols", "layers", "tau", "counts")] for m in (first, second)
    ]
    return (
        all(a.dtype == b.dtype and np.array_equal(a, b) for a, b in zip(*arrays, strict=True))
        and repr(first.rdp.alphabet) == repr(second.rdp.alphabet)
        and first.about == second.about
        and first.decisions == second.decisions
    )


def saved(folder: Path, name: str = "default") -> Path:
    model(name).save(folder / "a.model")
    return folder / "a.model"


def refusal(path: Path) -> str:
    with pytest.raises(SufficeError) as caught:
        Model.load(path)
    assert "\n" not in str(caught.value) and str(caught.value).startswith(f"{path}: ")
    return str(caught.value).removeprefix(f"{path}: ")


# Round trip


@pytest.mark.parametrize("name", SETTINGS)
def test_load_returns_what_save_wrote(tmp_path: Path, name: str) -> None:
    path = saved(tmp_path, name)
    loaded = Model.load(path)
    assert equal(loaded, model(name))
    assert os.listdir(tmp_path) == ["a.model"]
    loaded.save(tmp_path / "b.model")
    assert (tmp_path / "b.model").read_bytes() == path.read_bytes()


def test_load_distinguishes_none_from_numbers(tmp_path: Path) -> None:
    """The first state of a layer has no nearest one; those of the last layer have a distance, but no threshold."""
    verdicts = [d.placement for d in Model.load(saved(tmp_path)).decisions]
    first = [v for v in verdicts if v.nearest is None]
    assert first and all((v.distance, v.threshold, v.detectable, v.witness) == (None, None, None, None) for v in first)
    last = [v for v in verdicts if v.nearest is not None and v.threshold is None]
    assert last and all((v.distance, v.nearest) == (0.0, 0) for v in last)
    assert any(v.threshold is not None and v.witness for v in verdicts)
    assert {type(v.promoted) for v in verdicts} == {type(v.forced) for v in verdicts} == {bool}
    assert any(d.placement.forced for d in model("cut").decisions), "one of the saved placements is forced"


@pytest.mark.parametrize(
    "values",
    [(True, False), (1, 2**60), (0.1, 1e300, -3), ("1", "01", "true"), ("é\n", '"', "\\", " ", "😀"), (2.0**53, 3)],
)
def test_load_returns_any_logged_value_unchanged(tmp_path: Path, values: tuple[Any, ...]) -> None:
    n = len(values)
    alphabet = Alphabet(values, ('a "column"',), tuple((v,) for v in values), (0.1, -1e300, 2**60))
    action, observation = np.stack([np.zeros(n, int), np.arange(n) + 2]), np.stack([np.arange(n) + 1, np.zeros(n, int)])
    episodes = Episodes.from_steps(alphabet, action, observation, np.stack([np.full(n, 1), np.arange(n) % 4]))
    made = Model.of(adact_h(episodes), episodes)
    made.save(tmp_path / "a.model")
    assert equal(Model.load(tmp_path / "a.model"), made)


@pytest.mark.parametrize("statistic", [PrefixCounts(), PrefixSketches()], ids=["prefixes", "sketch"])
def test_save_accepts_horizons_of_hundreds_of_steps(tmp_path: Path, statistic: Any) -> None:
    """|X| = 2(ARO)^ℓ is then larger than any float."""
    rng = np.random.default_rng(0)
    episodes = random_episodes(rng, 400, 2, 3, 2, 2, 8)
    made = Model.of(adact_h(episodes, Settings(statistic)), episodes)
    made.save(tmp_path / "a.model")
    assert equal(Model.load(tmp_path / "a.model"), made)


def test_save_writes_log_and_settings_to_the_header(tmp_path: Path) -> None:
    episodes = TMaze().simulate(500, 3, np.random.default_rng(0))
    Model.of(adact_h(episodes, Settings(delta=0.01)), episodes).save(tmp_path / "a.model")
    about = json.loads(entries_of(tmp_path / "a.model")["header.json"])
    assert about["format"] == "suffice-rdp" and about["format_version"] == 2
    assert about["log_hash"] == episodes.digest() and about["episodes"] == 500 and about["delta"] == 0.01
    assert about["actions"] == ["E", "N", "S", "W"] and about["encoder"]["observations"] == ["bit1", "bit2", "bit3"]
    assert len(about["layers"]) == len(about["candidates"]) == len(about["languages"]) == episodes.horizon + 2


# Damage


def test_load_refuses_a_truncated_file(tmp_path: Path) -> None:
    path = saved(tmp_path)
    whole = path.read_bytes()
    for length in [*range(0, len(whole), 41), *range(len(whole) - 40, len(whole))]:
        path.write_bytes(whole[:length])
        assert "model file" in refusal(path) and "damaged" in refusal(path)


def test_load_refuses_flipped_bytes_unless_they_are_harmless(tmp_path: Path) -> None:
    path, rng = saved(tmp_path), random.Random(0)
    whole, said = path.read_bytes(), []
    for trial in range(400):
        damaged = bytearray(whole)
        least = 0 if trial % 2 else whole.index(b"PK\x01\x02")  # half of them in the directory of the archive
        damaged[rng.randrange(least, len(whole))] ^= rng.choice([1 << rng.randrange(8), rng.randrange(1, 256)])
        path.write_bytes(damaged)
        try:
            assert equal(Model.load(path), model()), "another model was loaded"
        except SufficeError as error:
            said.append(str(error))
    assert len(said) > 200 and not any("\n" in text for text in said)


def test_load_refuses_damaged_entries_unless_they_are_harmless(tmp_path: Path) -> None:
    """Check sums are valid, contents may not be, as if another program wrote them. A loaded model can be used."""
    path, rng = saved(tmp_path), random.Random(1)
    whole = entries_of(path)
    faults = set()
    for _ in range(400):
        entries = dict(whole)
        name = rng.choice(list(entries))
        data = bytearray(entries[name])
        data[rng.randrange(len(data))] ^= rng.choice([1 << rng.randrange(8), rng.randrange(1, 256)])
        entries[name] = bytes(data[: rng.randrange(len(data))] if rng.random() < 0.1 else data)
        write_entries(path, entries)
        try:
            loaded = Model.load(path)
            to_json(loaded), to_dot(loaded), loaded.rdp.minimise()
            assert compare(loaded.rdp, loaded.rdp) is None
        except Exception as error:
            if not isinstance(error, SufficeError) or "\n" in str(error):
                faults.add((name, repr(error)))
    assert not faults


@pytest.mark.parametrize("name", ["header.json", "witnesses.json", "tau.npy", "letters.npy", "decision_nearest.npy"])
def test_load_refuses_a_missing_entry(tmp_path: Path, name: str) -> None:
    path = saved(tmp_path)
    write_entries(path, {key: data for key, data in entries_of(path).items() if key != name})
    assert "this model file is damaged" in refusal(path)


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("tau", lambda a: a[1:]),
        ("tau", lambda a: a[0]),
        ("tau", lambda a: np.where(a > 0, 0, a)),
        ("tau", lambda a: a.astype(float)),
        ("tau", lambda a: np.array(5)),
        ("counts", lambda a: a[:, 1:]),
        ("counts", lambda a: a.astype("datetime64[s]").astype(str)[0]),
        ("layers", lambda a: a + 1),
        ("layers", lambda a: -a),
        ("layers", lambda a: a.astype(float)),
        ("letters", lambda a: a[1:]),
        ("symbols", lambda a: a[1:]),
        ("decision_n", lambda a: a[1:]),
        ("decision_distance", lambda a: np.full(len(a), "x")),
        pytest.param("letters", lambda a: a + 100, id="letters of no alphabet"),
        pytest.param("symbols", lambda a: a + 100, id="symbols of no alphabet"),
        pytest.param("symbols", lambda a: a[:, :1], id="symbols without observations"),
        pytest.param("counts", lambda a: -a, id="negative counts"),
        pytest.param("counts", lambda a: a + 1, id="counts without transitions"),
        pytest.param("counts", lambda a: a + 0.5, id="fractional counts"),
        pytest.param("counts", lambda a: a.astype(str), id="counts in words"),
    ],
)
def test_load_refuses_inconsistent_arrays(tmp_path: Path, name: str, change: Callable[[Any], Any]) -> None:
    path = saved(tmp_path)
    entries = entries_of(path)
    array = np.load(io.BytesIO(entries[f"{name}.npy"]))
    write_entries(path, entries | {f"{name}.npy": npy(change(array))})
    assert "this model file is damaged" in refusal(path)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        (lambda h: h | {"format": "other"}, "its format is 'other', not 'suffice-rdp'"),
        (lambda h: h | {"layers": "1 2"}, "layers"),
        (lambda h: h | {"actions": [*h["actions"], None]}, "actions"),
        (lambda h: h | {"observations": [[1, 2], *h["observations"]]}, "an observation has another number of values"),
        (lambda h: {k: v for k, v in h.items() if k != "promise"}, "promise"),
        (lambda h: [h], "Expected `object`, got `array`"),
        pytest.param(lambda h: h | {"actions": []}, "", id="actions that the letters have"),
        pytest.param(lambda h: h | {"layers": [9, *h["layers"][1:]]}, "", id="layers of another automaton"),
    ],
)
def test_load_refuses_a_wrong_header(tmp_path: Path, change: Callable[[Any], Any], complaint: str) -> None:
    path = saved(tmp_path)
    entries = entries_of(path)
    write_entries(path, entries | {"header.json": json.dumps(change(json.loads(entries["header.json"]))).encode()})
    said = refusal(path)
    assert "this model file is damaged" in said and complaint in said


def test_load_refuses_a_newer_format_and_suggests_an_upgrade(tmp_path: Path) -> None:
    """The version is checked first, so the rest of the header may be unknown."""
    path = saved(tmp_path)
    write_entries(
        path, {"header.json": b'{"format": "suffice-rdp", "format_version": 3, "version": "9.1", "new": [1]}'}
    )
    said = refusal(path)
    assert said.startswith("written by suffice 9.1 in format 3, newer than the 2") and said.endswith("Upgrade suffice.")


def test_load_refuses_an_older_format_and_suggests_to_learn_again(tmp_path: Path) -> None:
    """Format 1 stored sentences in its witnesses and its header."""
    path = saved(tmp_path)
    entries = entries_of(path)
    header = json.loads(entries["header.json"]) | {"format_version": 1, "version": "0.1"}
    sentences = json.dumps(["within 3 steps, reward = 1: 0.50 against 0.00"] * len(model().decisions))
    write_entries(path, entries | {"header.json": json.dumps(header).encode(), "witnesses.json": sentences.encode()})
    said = refusal(path)
    assert said.startswith("written by suffice 0.1 in format 1, older than the 2 that suffice ")
    assert said.endswith(" reads. Learn it again from its log.")


@pytest.mark.parametrize(
    ("witness", "complaint"),
    [
        ([["next", ["action", 99]], 1, 2, 0, 3], "its witnesses are of another automaton"),
        ([["next", ["feature", 0, 0]], 1, 2, 0, 3], "its witnesses are of another automaton"),
        ([["word", [True], [["reward", 0]]], 1, 2, 0, 3], "its witnesses are of another automaton"),
        ([["word", [True], []], 1, 2, 0, 3], "its witnesses are of another automaton"),
        ([["next", ["conjunction", []]], 1, 2, 0, 3], "its witnesses are of another automaton"),
        ([["prefix", []], 1, 2, 0, 3], "its witnesses are of another automaton"),
        ([["next", ["reward", 0]], 3, 2, 0, 3], "its witnesses are of another automaton"),
        ([["next", ["reward", -1]], 1, 2, 0, 3], "Expected `int` >= 0"),
        ([["next", ["reward", 0]], 1, 2], "Expected `array` of length 5"),
        ([["sentence", "reward = 1"], 1, 2, 0, 3], "Invalid value 'sentence'"),
        ("at the next step, reward = 1: 0.50 against 0.00", "Expected `array | null`, got `str`"),
        (json.loads('["either", ["prefix", []], ' * 70 + "0" + "]" * 70), "more than 64 deep"),
    ],
)
def test_load_refuses_forged_witnesses(tmp_path: Path, witness: Any, complaint: str) -> None:
    path = saved(tmp_path)
    entries = entries_of(path)
    witnesses = [witness, *json.loads(entries["witnesses.json"])[1:]]
    write_entries(path, entries | {"witnesses.json": json.dumps(witnesses).encode()})
    said = refusal(path)
    assert "this model file is damaged" in said and complaint in said


@pytest.mark.parametrize("name", SETTINGS)
def test_save_writes_no_sentences(tmp_path: Path, name: str) -> None:
    """Except for values and column names of the log, texts are codes: short, and without a full stop."""
    header = json.loads(entries_of(saved(tmp_path, name))["header.json"])
    header = {name: value for name, value in header.items() if name not in ("actions", "features", "observations")}

    def texts(part: Any) -> list[str]:
        parts = part.values() if isinstance(part, dict) else part if isinstance(part, list) else ()
        return [part] if isinstance(part, str) else [text for each in parts for text in texts(each)]

    found = texts([header, json.loads(entries_of(tmp_path / "a.model")["witnesses.json"])])
    assert found and all(len(text.split()) <= 6 and not text.endswith(".") for text in found), found


@pytest.mark.parametrize("data", [b"", b"episode,step\n0,1\n", b"PK\x03\x04", b"PK\x05\x06" + bytes(18), bytes(1000)])
def test_load_refuses_files_that_are_not_models(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "a.model").write_bytes(data)
    assert "damaged" in refusal(tmp_path / "a.model")


def test_load_refuses_folders_and_missing_files(tmp_path: Path) -> None:
    assert "this is a folder. Name a model file." in refusal(tmp_path)
    assert refusal(tmp_path / "b.model").startswith("there is no such file. Make one with suffice.learn(log).save(")


class Trap:
    """Object that creates a folder when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.mkdir, (str(self.folder),)


def test_load_never_unpickles_data(tmp_path: Path) -> None:
    path, sprung = saved(tmp_path), tmp_path / "sprung"
    objects = np.array([Trap(sprung)], dtype=object)
    entries = entries_of(path)
    for name in entries:
        if name.endswith(".npy"):
            write_entries(path, entries | {name: npy(objects, allow_pickle=True)})
            assert "Object arrays cannot be loaded" in refusal(path)
    with path.open("wb") as file:
        np.savez(file, allow_pickle=True, tau=objects, header=objects)
    assert "damaged" in refusal(path)
    assert not sprung.exists()


@pytest.mark.parametrize("shape", ["(3,", f"(1{'0' * 14},)}}"])
def test_load_refuses_a_wrong_array_header(tmp_path: Path, shape: str) -> None:
    path = saved(tmp_path)
    text = f"{{'descr': '<i8', 'fortran_order': False, 'shape': {shape}".ljust(117) + "\n"
    data = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode()
    write_entries(path, entries_of(path) | {"layers.npy": data})
    assert "damaged" in refusal(path)


# Notes on a run


def test_run_notes_are_stored_beside_the_model(tmp_path: Path) -> None:
    path = saved(tmp_path)
    assert load_run_notes(path) is None
    save_run_notes(path, RunNotes(1.2346, 10**9))
    notes = load_run_notes(path)
    assert notes is not None and (notes.seconds, notes.bytes) == (1.2346, 10**9)
    for damaged in (b"", b"{}", b'{"seconds": "long"}', b"\xff"):
        (tmp_path / "a.model.run.json").write_bytes(damaged)
        assert load_run_notes(path) is None
    assert equal(Model.load(path), model())


# Saving


def test_save_refuses_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(SufficeError, match=r"there is no folder .*nowhere\. Create it first"):
        model().save(tmp_path / "nowhere" / "a.model")
    assert not os.listdir(tmp_path)


def test_save_does_not_overwrite_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a.model").mkdir()
    with pytest.raises(SufficeError, match=r"a\.model: this is a folder\. Name a file to write"):
        model().save(tmp_path / "a.model")
    assert os.listdir(tmp_path) == ["a.model"] and not os.listdir(tmp_path / "a.model")


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is read-only for root")
def test_save_leaves_a_read_only_folder_unchanged(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(SufficeError, match="the file cannot be written"):
            model().save(tmp_path / "a.model")
        assert not os.listdir(tmp_path)
    finally:
        tmp_path.chmod(0o700)


@pytest.mark.parametrize("fault", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_save_leaves_the_old_file_when_it_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, fault: BaseException
) -> None:
    path = saved(tmp_path)
    before, write = path.read_bytes(), zipfile.ZipFile.open

    def fail_at_the_end(archive: zipfile.ZipFile, entry: Any, *rest: Any) -> Any:
        if entry.filename == "tau.npy":
            raise fault
        return write(archive, entry, *rest)

    monkeypatch.setattr(zipfile.ZipFile, "open", fail_at_the_end)
    with pytest.raises((SufficeError, KeyboardInterrupt)) as caught:
        model("cut").save(path)
    assert caught.type is KeyboardInterrupt or "No space left on device" in str(caught.value)
    assert path.read_bytes() == before and os.listdir(tmp_path) == ["a.model"]


def test_episodes_of_counts_first_steps_although_unknown_transitions_return_to_the_first_state() -> None:
    episodes = TMaze().simulate(40, 5, np.random.default_rng(0))
    symbols, _ = episodes.symbols()
    rdp = _automaton(episodes, np.full((2, len(symbols)), UNSEEN, np.int32), 1)
    assert rdp.counts[0].sum() > 40 and episodes_of(rdp) == 40
