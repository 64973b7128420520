"""Forged model files, each of which is used by every command: `python -m fuzz.forged_models SHARE LAST [NAME ...]`.

A forged file has a valid format and one wrong value: in the header, in a witness, or in an array. Unlike the fuzzing of
bytes this is systematic: every field and array of every kind of model is set to every odd value.
"""

from __future__ import annotations

import contextlib
import copy
import io
import json
import math
import random
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np

import suffice
from faults.forging import Contents, read, write
from fuzz.running import PATIENCE, ROOM, keep_within
from fuzz.targets import OBEYED, episodes
from suffice.cli.main import main
from suffice.data.logs.writing import write_log
from suffice.errors import SufficeError

MODELS: dict[str, dict[str, Any]] = {
    "layered": {},
    "paper": {"family": "1,1,1", "bound": "paper", "planning": "greedy"},
    "no-plan": {"plan": False},
    "adaptive": {"family": "adaptive", "second_look": True},
    "prefixes": {"metric": "prefixes"},
    "sketch": {"metric": "sketch", "cut": 0.1},
    "stationary": {"stationary": True},
    "cycle": {"stationary": True, "plan": False},
    "strict": {"stationary": True, "strict": True},
    "discounted": {"stationary": True, "discount": 0.9},
    "held-out": {"hold_out": 0.3},
    "split": {"split": True},
    "binned": {"bins": {"f0": [0.5], "reward": 2}},
}
NUMBERS = (-1, 0, 1, 2, 7, 0.5, -0.5, 1e308, -1e308, 5e-324, 2**31, -(2**31) - 1, 2**53, 2**63 - 1, -(2**63), 2**64)
NOT_NUMBERS = (math.nan, math.inf, -math.inf)
OTHERS = (None, True, False, "", "x", "pad", "\x1b[31m\u202e\n", "é" * 40_000, "</script>", "\ud800")
NESTED = ([], {}, [[]], {"": {}}, [None], [1, 2, 3], ["a", 1], {"kind": "number"}, {"kind": "number", "edges": [1e308]})
DEEP = json.loads("[" * 60 + "]" * 60)
INTEGERS = (-2, -1, 0, 1, 2, 127, 2**31 - 1, 2**31, 2**53 + 1, 2**62, 2**63 - 1, -(2**63))
FLOATS = (-1.0, 0.0, 1e308, -1e308, 5e-324, *NOT_NUMBERS)
TYPES = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", ">i8", "?", "c16", "S3", "U2", "M8[s]", "V4")


class Forged(NamedTuple):
    """A change of a model file: what it is, and a function that makes it."""

    name: str
    change: Callable[[Contents], None]


# ---------------------------------------------------------------- changes


def forgeries(contents: Contents) -> Iterator[Forged]:
    """Yield every change of a model file."""
    for member, content in contents.items():
        if isinstance(content, np.ndarray):
            yield from _array_changes(member, content)
        else:
            yield from _json_changes(member, content)
        yield Forged(f"{member} missing", lambda kept, member=member: kept.pop(member))
    yield Forged("more members", lambda kept: kept.update({"another.npy": np.zeros(3), "more.json": {}}))


def _json_changes(member: str, content: Any) -> Iterator[Forged]:
    for path in _paths(content):
        name = f"{member} {'/'.join(map(str, path))}"
        for value in (*NUMBERS, *NOT_NUMBERS, *OTHERS, *NESTED, DEEP):
            yield Forged(f"{name} = {value!r:.30}", _put(member, path, value))
        yield Forged(f"{name} removed", _change_parent(member, path, lambda parent, key: parent.pop(key)))
        yield Forged(f"{name} repeated", _change_parent(member, path, _repeat))
        yield Forged(f"{name} exchanged", _change_parent(member, path, _exchange))
        yield Forged(f"{name} negated", _change_parent(member, path, _negate))


def _paths(content: Any, before: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path to every part of a JSON text; of long lists the first two and the last."""
    keys = list(content) if isinstance(content, dict) else range(len(content))
    for i, key in enumerate(keys):
        if isinstance(content, list) and 2 <= i < len(keys) - 1:
            continue
        yield (*before, key)
        if isinstance(content[key], dict | list):
            yield from _paths(content[key], (*before, key))


def _put(member: str, path: tuple[Any, ...], value: Any) -> Callable[[Contents], None]:
    def put(parent: Any, key: Any) -> None:
        parent[key] = value

    return _change_parent(member, path, put)


def _change_parent(member: str, path: tuple[Any, ...], change: Callable[[Any, Any], Any]) -> Callable[[Contents], None]:
    def changed(contents: Contents) -> None:
        parent = contents[member]
        for key in path[:-1]:
            parent = parent[key]
        change(parent, path[-1])

    return changed


def _repeat(parent: Any, key: Any) -> None:
    if isinstance(parent, list):
        parent.extend([parent[key]] * 3)
    else:
        parent[f"{key}_"] = parent[key]


def _exchange(parent: Any, key: Any) -> None:
    other = next(iter(parent)) if isinstance(parent, dict) else 0
    parent[key], parent[other] = parent[other], parent[key]


def _negate(parent: Any, key: Any) -> None:
    value = parent[key]
    parent[key] = not value if isinstance(value, bool) else -value if isinstance(value, int | float) else value


def _array_changes(member: str, array: Any) -> Iterator[Forged]:
    def put(name: str, value: Callable[[Any], Any]) -> Forged:
        def change(contents: Contents) -> None:
            with warnings.catch_warnings(), np.errstate(all="ignore"):
                warnings.simplefilter("ignore")
                contents[member] = value(contents[member].copy())

        return Forged(f"{member} {name}", change)

    def cell(place: int, value: Any) -> Callable[[Any], Any]:
        def change(kept: Any) -> Any:
            kept.reshape(-1)[place] = value
            return kept

        return change

    for value in FLOATS if array.dtype.kind == "f" else INTEGERS:
        if array.dtype.kind != "f" and not np.iinfo(array.dtype).min <= value <= np.iinfo(array.dtype).max:
            continue
        for place in {0, array.size // 2, array.size - 1} if array.size else ():
            yield put(f"[{place}] = {value}", cell(place, value))
        yield put(f"all {value}", lambda kept, value=value: np.full_like(kept, value))
    for kind in TYPES:
        if np.dtype(kind) != array.dtype:
            yield put(f"as {kind}", lambda kept, kind=kind: _converted(kept, kind))
    shapes: dict[str, Callable[[Any], Any]] = {
        "transposed": lambda kept: np.ascontiguousarray(kept.T),
        "by column": np.asfortranarray,
        "flat": lambda kept: kept.reshape(-1),
        "one more axis": lambda kept: kept[None],
        "shorter": lambda kept: kept[:-1],
        "narrower": lambda kept: kept[..., :-1],
        "longer": lambda kept: np.concatenate([kept, kept[-1:]]),
        "empty": lambda kept: kept[:0],
        "reversed": lambda kept: np.ascontiguousarray(kept[::-1]),
        "reversed rows": lambda kept: np.ascontiguousarray(kept[..., ::-1]),
        "sorted": lambda kept: np.sort(kept, axis=0),
    }
    for name, change in shapes.items():
        yield put(name, change)


def _converted(array: Any, kind: str) -> Any:
    return array.view("V1") if kind == "V4" else array.astype(kind)


# ---------------------------------------------------------------- use


def command(*words: object) -> tuple[int, str, str]:
    """Run a command in this process; return its exit code and what it prints."""
    out, err, before = io.StringIO(), io.StringIO(), sys.argv
    sys.argv = ["suffice", *map(str, words)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            main()
    except SystemExit as ending:
        return int(ending.code or 0), out.getvalue(), err.getvalue()
    finally:
        sys.argv = before
    raise AssertionError("unreachable")


def commands(model: Path, log: Path, folder: Path) -> Iterator[tuple[object, ...]]:
    """Yield every command that reads a model file."""
    yield "info", model, "--states", "--decisions", 3
    yield "info", model, "--json"
    for kind in ("json", "dot", "pomdp"):
        yield "export", model, "--format", kind, "-o", folder / f"x.{kind}"
    yield "draw", model, "-o", folder / "x.svg"
    yield "explore", model, "-o", folder / "x.html"
    yield "explore", model, "--log", log, "-o", folder / "x.html"
    yield "report", model, "-o", folder / "x.html"
    yield "report", model, "--json"
    yield "evaluate", model, "--log", log, "--json"
    yield "compare", model, model


def act(path: Path) -> None:
    """Use a model in Python: its texts, its table of states and its policy."""
    model = suffice.load(path)
    "".join([repr(model), model._repr_html_(), model.why(2)]).encode()
    model.states  # noqa: B018
    model.to_networkx()
    model.save(path.with_suffix(".again"))
    if model.plan is not None:
        policy = model.policy()
        policy.reset()
        for observation in model.rdp.alphabet.observations[:3]:
            policy.act(observation)


def problem_with(path: Path, log: Path) -> tuple[bool, str]:
    """Return whether a model file is accepted, and what is wrong with how it is handled."""
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", UserWarning)  # a policy warns about observations that the model does not know
        refused = ""
        try:
            act(path)
        except SufficeError as error:
            refused = str(error)
        except Exception as error:
            return True, f"in Python: {''.join(traceback.format_exception(error))[-1500:]}"
        if refused and (not refused.isprintable() or len(refused) > 2000):
            return False, f"not a readable line: {refused!r:.500}"
        for words in commands(path, log, Path(folder)):
            try:
                code, out, err = command(*words)
            except Exception as error:
                return True, f"suffice {words[0]}: {''.join(traceback.format_exception(error))[-1500:]}"
            line = f"suffice {' '.join(map(str, words))}: exit code {code}, {err!r:.500}"
            if code not in (0, 2) or (code == 2) != (err.startswith("suffice: ") and err.count("\n") == 1 and not out):
                return True, line
            if code == 2 and words[0] == "info":
                return False, "" if str(path) in err else line
            if any(character in out + err for character in OBEYED):
                return True, f"control characters: {line}"
            if code == 0 and "--json" in words:
                json.loads(out, parse_constant=_refuse_constant)
    return True, ""


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def run(share: float, last: Path, names: list[str]) -> None:
    """Print for each kind of model, as a line of JSON, the number of forged files and the failures."""
    signal.signal(signal.SIGALRM, _give_up)
    with TemporaryDirectory() as folder:
        path, log = Path(folder) / "a.model", Path(folder) / "log.csv"
        write_log(episodes(200), log)
        for i, name in enumerate(names):
            suffice.learn(log, **MODELS[name]).save(path)
            contents = read(path)
            accepted, problem = problem_with(path, log)
            assert accepted and not problem, f"{name}: a valid file fails: {problem}"
            if not i:
                keep_within(ROOM)
            every = list(forgeries(contents))
            chosen = random.Random(0).sample(every, round(share * len(every)))
            print(json.dumps(_tried(name, contents, chosen, path, log, last)), flush=True)


def _tried(name: str, contents: Contents, chosen: list[Forged], path: Path, log: Path, last: Path) -> dict[str, Any]:
    found: dict[str, Any] = {"model": name, "tried": 0, "accepted": 0, "failures": []}
    for forged in chosen:
        last.write_text(f"{name}: {forged.name}")
        changed = copy.deepcopy(contents)
        try:
            forged.change(changed)
            write(path, changed)
        except (ValueError, UnicodeError):  # such a value cannot be written
            continue
        signal.alarm(PATIENCE)
        started = time.process_time()
        try:
            accepted, problem = problem_with(path, log)
        except Exception as error:
            accepted, problem = True, "".join(traceback.format_exception(error))[-1500:]
        signal.alarm(0)
        found["tried"] += 1
        found["accepted"] += accepted
        if problem:
            found["failures"].append(f"{forged.name}: {problem}")
        if time.process_time() - started > 8:
            found["failures"].append(f"{forged.name}: took {time.process_time() - started:.1f} s")
    return found


def _give_up(*_: object) -> None:
    raise TimeoutError(f"a file took more than {PATIENCE} seconds")


if __name__ == "__main__":
    run(float(sys.argv[1]), Path(sys.argv[2]), sys.argv[3:] or list(MODELS))
