"""Targets of fuzzing: for each kind of file some valid examples, words to insert, and a function that uses a file."""

from __future__ import annotations

import contextlib
import gzip
import io
import os
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

import suffice
from oracle import random_episodes
from suffice.cli.output import describe, print_sentences, print_states, print_table, print_undecided
from suffice.data.episodes import Episodes
from suffice.data.logs.reading import read_log
from suffice.data.logs.schema import read_schema, write_schema
from suffice.data.logs.writing import write_log
from suffice.domains.pomdp.domain import PomdpDomain
from suffice.errors import LogProblemsError, SufficeError
from suffice.files.run_notes import load_run_notes
from suffice.models.export import to_dot, to_json
from suffice.models.log_check import check_episodes
from suffice.models.model import Model
from suffice.view.explorer.page import page_of
from suffice.view.report.content import content_of

NUMBERS = (b"-1", b"1e999", b"NaN", b"9223372036854775808", b"1" * 400, b"0.1", b"null", b"true")
BYTES = (b"\0", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", bytes(8), b"\x80\0\0\0\0\0\0\0")
TEXTS = (
    b"\x1b[31m",
    b"\xed\xa0\x80",
    b"\xe2\x80\xa8",
    b"\xe2\x80\xae",
    b"</script>",
    b"../x",
    b'"',
    b"\n",
    b"\r",
    b",",
)
BRACKETS = (b"[" * 2000, b'{"a":' * 300, b"[]", b"{}", b"]", b"}", b":")
WORDS = (b"T:", b"O:", b"R:", b"*", b"uniform", b"identity", b"reset", b"start include:", b"100000", b"#", b"states: 9")
OBEYED = "\x1b\x07\x08\r\u202e\u2066"  # control characters that terminals interpret


@dataclass(frozen=True, slots=True)
class Target:
    """One kind of file to fuzz."""

    suffix: str
    seeds: Callable[[], list[bytes]]
    words: tuple[bytes, ...]
    use: Callable[[Path], None]
    cost: int = 1  # time of an input relative to most others

    def __call__(self, data: bytes) -> bool:
        """Return whether a file is accepted; check that it is otherwise refused, and nothing is written.

        A refusal is one line, or a line for each of several problems of a log.
        """
        with TemporaryDirectory() as folder, contextlib.redirect_stdout(io.StringIO()) as said:
            path = Path(folder) / f"a{self.suffix}"
            path.write_bytes(data)
            try:
                self.use(path)
                refused: tuple[str, ...] = ()
            except LogProblemsError as error:
                refused = error.problems
            except SufficeError as error:
                refused = (str(error),)
            assert os.listdir(folder) == [path.name] and path.read_bytes() == data, "a file was written"
        for line in refused:
            assert line.isprintable() and len(line) < 5000, f"not a readable line: {line!r:.5000}"
        assert not any(character in said.getvalue() for character in OBEYED), "the output has control characters"
        said.getvalue().encode()
        return not refused


# ---------------------------------------------------------------- use of a file


def use_model(path: Path) -> None:
    """Load a model, and print, export and use it."""
    model = Model.load(path)
    print_table(describe(model, str(path)))
    print_sentences(model)
    print_states(model)
    print_undecided(model, 3)
    shown = repr(model), model._repr_html_(), to_json(model), to_dot(model), page_of(model, title=path.stem)
    "".join(shown).encode()
    content_of(model, None, path.stem)
    if model.plan is not None:
        policy = model.policy()
        policy.reset()
        for observation in model.rdp.alphabet.observations[:3]:
            policy.act(observation)


def use_log(path: Path) -> None:
    """Read a log, and learn from it if it is small."""
    episodes = read_log(path)
    report = episodes.report
    episodes.digest()
    if episodes.n <= 100 and episodes.horizon <= 10:
        str(check_episodes(episodes, report))
        print_states(suffice.learn(episodes))


def use_checkpoint(path: Path) -> None:
    """Continue a run with a checkpoint of which one file is replaced by this one."""
    which, data = path.read_bytes()[:1], path.read_bytes()[1:]
    parts = [(stationary, name) for stationary in (False, True) for name in checkpoint(stationary)]
    stationary, changed = parts[(which or b"\0")[0] % len(parts)]
    with TemporaryDirectory() as folder:
        for name, kept in checkpoint(stationary).items():
            (Path(folder) / name).write_bytes(data if name == changed else kept)
        try:
            suffice.learn(episodes(200), stationary=stationary, checkpoint=folder)
        finally:
            assert all(name.endswith(".checkpoint") for name in os.listdir(folder)), "another file was written"


def use_pomdp(path: Path) -> None:
    """Read a .POMDP file and simulate it if it is small."""
    domain = PomdpDomain.read(path)
    if len(domain.pomdp.states) <= 50:
        domain.simulate(5, 3, np.random.default_rng(0)).digest()


def use_notes(path: Path) -> None:
    """Load run notes, which may be absent."""
    load_run_notes(str(path).removesuffix(".run.json"))


# ---------------------------------------------------------------- valid files


@cache
def episodes(n: int = 12) -> Episodes:
    """Return a few random episodes."""
    rng = np.random.default_rng(4)
    return random_episodes(rng, 3, 2, 2, 2, 2, n, n_features=2, early_end=0.3, weighted=True)


def models() -> list[bytes]:
    """Return model files with layers and stationary."""
    with TemporaryDirectory() as folder:
        path, files = Path(folder) / "a.model", []
        for stationary in (False, True):
            suffice.learn(episodes(200), stationary=stationary).save(path)
            files.append(unpacked(path))
        return files


def unpacked(path: Path) -> bytes:
    """Return an archive without compression, so that changed bytes reach its content."""
    plain = io.BytesIO()
    with zipfile.ZipFile(path) as packed, zipfile.ZipFile(plain, "w") as archive:
        for name in packed.namelist():
            archive.writestr(zipfile.ZipInfo(name), packed.read(name))
    return plain.getvalue()


@cache
def checkpoint(stationary: bool) -> dict[str, bytes]:
    """Return the checkpoint files of a run by name."""
    with TemporaryDirectory() as folder:
        suffice.learn(episodes(200), stationary=stationary, checkpoint=folder)
        return {file.name: unpacked(file) for file in sorted(Path(folder).iterdir())}


def checkpoints() -> list[bytes]:
    """Return each file of a checkpoint, after a byte with its number."""
    kept = [*checkpoint(False).values(), *checkpoint(True).values()]
    return [bytes([i]) + data for i, data in enumerate(kept)]


def logs(suffix: str) -> list[bytes]:
    """Return a log of the episodes in one format."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"a{suffix.removesuffix('.gz')}"
        write_log(episodes(), path)
        data = path.read_bytes()
        return [gzip.compress(data, mtime=0) if suffix.endswith(".gz") else data]


ROWS = b"""{"episode": "a", "step": 0, "seen": {"light": "red", "at": [1, 2]}, "action": "go", "reward": 0}
{"episode": "a", "step": 1, "seen": {"light": "green", "at": [1, 3]}, "action": "go", "reward": 1.5}
{"episode": "b", "step": 0, "seen": {"light": "green", "at": [1, 2]}, "action": "stay", "reward": -1e3}
"""
NESTED = b"""{"obs": [[1, 2], [3, 4]], "actions": ["a", "b"], "rewards": [0, 1.5], "terminals": [false, true]}
{"obs": [[1, 2]], "actions": ["b"], "rewards": [-1], "terminals": [true]}
"""
TIGER = b"""discount: 0.95
values: reward
states: left right
actions: listen open-left open-right
observations: 2
start: uniform
T: listen identity
T: open-left uniform
T: open-right
0.5 0.5
0.5 0.5
O: listen
0.85 0.15
0.15 0.85
O: open-left uniform
O: open-right : * : 0 0.5
O: open-right : * : 1 0.5
R: listen : * : * : * -1
R: open-left : left : * : * -100
"""


def schemas() -> list[bytes]:
    """Return the schema of the same episodes."""
    with TemporaryDirectory() as folder:
        write_schema(episodes().alphabet, Path(folder) / "a.json")
        return [(Path(folder) / "a.json").read_bytes()]


def use_schema(path: Path) -> None:
    """Read a schema file of an alphabet."""
    read_schema(path)


TARGETS = {
    "model": Target(".model", models, NUMBERS + BYTES + TEXTS + BRACKETS, use_model),
    "checkpoint": Target(".checkpoint", checkpoints, NUMBERS + BYTES + TEXTS + BRACKETS, use_checkpoint, cost=4),
    "csv": Target(".csv", partial(logs, ".csv"), NUMBERS + BYTES + TEXTS, use_log),
    "csv.gz": Target(".csv.gz", partial(logs, ".csv.gz"), BYTES, use_log),
    "jsonl": Target(".jsonl", lambda: [ROWS, NESTED], NUMBERS + TEXTS + BRACKETS, use_log),
    "json": Target(
        ".json", lambda: [b"[" + NESTED.replace(b"\n", b",")[:-1] + b"]"], NUMBERS + TEXTS + BRACKETS, use_log
    ),
    "parquet": Target(".parquet", partial(logs, ".parquet"), BYTES, use_log),
    "arrow": Target(".arrow", partial(logs, ".arrow"), BYTES, use_log),
    "pomdp": Target(".POMDP", lambda: [TIGER], NUMBERS + BYTES + TEXTS + WORDS, use_pomdp),
    "schema": Target(".json", schemas, NUMBERS + TEXTS + BRACKETS, use_schema),
    "notes": Target(".run.json", lambda: [b'{"seconds": 1.5, "bytes": 7}'], NUMBERS + TEXTS + BRACKETS, use_notes),
}
