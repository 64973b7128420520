"""Kernels that are not compiled at first: every version gives the same result, and small logs compile little."""

from __future__ import annotations

import math
import os
import subprocess
import sys
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numba import njit

from suffice.data.logs.writing import write_log
from suffice.domains.registry import make
from suffice.kernels import assignment, comparing, evidence, futures, patterns, sums, walking
from suffice.kernels import columns as column_kernels
from suffice.kernels import jit as jit_module
from suffice.kernels import stationary as stationary_kernels
from suffice.kernels.jit import _Tiered, interpreted, jit_unless_small
from suffice.models.api import learn

Rng = np.random.Generator


def walked(rng: Rng) -> dict[str, Any]:
    """Draw the arguments of walking kernels: C candidates, Q states, X letters, N episodes of U steps."""
    n, c, q, x, u = int(rng.integers(1, 60)), 5, 4, 6, 3
    return {
        "candidate": rng.integers(0, c, n).astype(np.uint32),
        "join": rng.integers(0, q, c),
        "candidate_of": rng.integers(0, c, q * x),
        "word": rng.integers(0, x, (u, n)).astype(rng.choice([np.uint8, np.uint16])),
        "weight": rng.integers(1, 5, n) if rng.random() < 0.5 else np.zeros(0, np.int64),
        "cell_of": rng.integers(3, 9, (q, x)).astype(np.uint32),
        "after": rng.integers(0, q, (q, x)).astype(np.uint32),
        "labels": rng.integers(0, q, c).astype(np.int32),
        "row_of": np.array([0, -1, 1, -1, 2]),
        "sizes": (n, c, q, x),
    }


def by_walking(rng: Rng) -> dict[str, tuple[Any, ...]]:
    a = walked(rng)
    _, c, q, x = a["sizes"]
    word, weight, candidate = a["word"], a["weight"], a["candidate"]
    tables, rows = np.zeros((2, c, x), np.int64), np.zeros((3, 6), np.int64)
    along = a["after"], a["cell_of"], a["labels"]
    return {
        "advance": (candidate, a["join"], a["candidate_of"], x, word[0]),
        "advance_and_meet": (candidate, a["join"], a["candidate_of"], word[0], word[1], word[2], weight, tables),
        "count_along": (a["after"], word, rng.integers(0, 4, len(candidate)), weight, np.zeros((2, q, x), np.int64)),
        "relabel": (candidate, rng.integers(0, 9, c)),
        "add_rows": (rng.integers(0, 9, (c, x)), a["join"], q),
        "cross_count": (candidate, a["join"], word[0], weight, q, x),
        "meet": (*along, a["row_of"], candidate, word, weight, 3, rows),
        "meet_from": (*along[:2], a["labels"][:3], 2, candidate, word, weight, 3, rows),
    }


def by_patterns(rng: Rng) -> dict[str, tuple[Any, ...]]:
    a, w = walked(rng), 2
    n, c, _, x = a["sizes"]
    hits = rng.integers(0, 1 << 63, (x, w), dtype=np.uint64)
    later = rng.integers(0, 1 << 63, (w, n), dtype=np.uint64) if rng.random() < 0.5 else np.zeros((0, 0), np.uint64)
    known = later if later.size else rng.integers(0, 1 << 63, (w, n), dtype=np.uint64)
    return {
        "patterns_met": (a["word"], hits, later, np.zeros((w, n), np.uint64)),
        "letters_in_patterns": (rng.integers(0, 9, (c, x)), rng.integers(0, 2, (x, 7)).astype(np.uint8)),
        "count_patterns": (a["candidate"], a["word"], hits, later, a["weight"], c, 100),
        "count_patterns#": (a["candidate"], a["word"][:0], hits, known, a["weight"], c, 128),
    }


def by_sums(rng: Rng) -> dict[str, tuple[Any, ...]]:
    a = walked(rng)
    n, _, _, x = a["sizes"]
    numbers = rng.normal(size=n) * 10.0 ** rng.integers(-300, 300) * (rng.random(n) < 0.9)
    length = rng.integers(0, 4, n).astype(np.int32) if rng.random() < 0.5 else np.zeros(0, np.int32)
    group = rng.integers(0, 1 << 63, n, dtype=np.uint64) if rng.random() < 0.5 else np.zeros(0, np.uint64)
    hashes = rng.integers(0, 1 << 63, x, dtype=np.uint64) * (rng.random(x) < 0.8)
    return {
        "add_values": (a["word"], rng.normal(size=x), rng.normal(size=n)),
        "squares": (numbers, np.zeros(n), np.zeros(n)),
        "significands": (rng.normal(size=n).view(np.int64), a["weight"], 26),
        "mix": (a["word"], a["weight"], length, 7, bool(rng.random() < 0.5)),
        "hash_episodes": (a["word"], hashes.astype(np.uint64)),
        "hash_attributes": (rng.integers(0, 1 << 63, n, dtype=np.uint64), length, 3, group),
    }


def by_evidence(rng: Rng) -> dict[str, tuple[Any, ...]]:
    e, q = 12, int(rng.integers(1, 4))
    n, sizes = int(rng.integers(1, 200)), rng.integers(1, 300, q)
    p = rng.random((q + 1, e)) ** 3
    row, rows = (
        rng.binomial(n, p[0]),
        np.stack([rng.binomial(m, chances) for m, chances in zip(sizes, p[1:], strict=True)]),
    )
    low = rng.random(q) * 8
    high = low + (rng.random() < 0.7) * rng.random(q) * 4
    kind = int(rng.integers(0, 3))
    one, other = rng.binomial(rng.integers(1, 900), rng.random((2, e)))
    begin, equal = np.array([0, 2, 5, 9, e]), np.array([0.5, 0.9, 0.99])
    judged = (
        kind,
        row,
        n,
        rows,
        sizes,
        np.zeros(q),
        rng.integers(-1, e, q),
        low,
        high,
        np.ones(e),
        -float(rng.random()) * 7,
    )
    return {"judge_rows": judged, "evidence_of_rows": (one, other, begin, equal)}


CASES: list[tuple[Any, Callable[[Rng], dict[str, tuple[Any, ...]]]]] = [
    (walking, by_walking),
    (patterns, by_patterns),
    (sums, by_sums),
]


def copied(arguments: tuple[Any, ...]) -> list[Any]:
    return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]


def assert_same(kernel: _Tiered, arguments: tuple[Any, ...]) -> None:
    """Check that the result and all changed arguments have the same bits."""
    ours, theirs = copied(arguments), copied(arguments)
    found, right = kernel.plain(*ours), kernel.compiled(*theirs)
    pairs = list(zip([found, *ours], [right, *theirs], strict=True))
    if kernel.__name__ == "squares" and not right:  # the rest is not used
        pairs = pairs[:1]
    for one, other in pairs:
        if isinstance(other, np.ndarray):
            assert one.dtype == other.dtype and one.tobytes() == other.tobytes()
        else:
            assert one == other and type(one) is type(other)


@pytest.mark.parametrize(("module", "draw"), CASES, ids=lambda value: getattr(value, "__name__", ""))
def test_numpy_versions_of_kernels_give_the_same_bits(module: Any, draw: Any) -> None:
    for seed in range(40):
        for name, arguments in draw(np.random.default_rng(seed)).items():
            assert_same(getattr(module, name.strip("#")), arguments)


def test_interpreted_kernels_give_the_same_bits() -> None:
    for seed in range(300):
        for name, arguments in by_evidence(np.random.default_rng(seed)).items():
            assert_same(getattr(comparing if name == "judge_rows" else evidence, name), arguments)


def bits_of(value: Any) -> Any:
    """Return the bits of arrays, also in tuples of them."""
    if isinstance(value, tuple):
        return [bits_of(part) for part in value]
    return (value.dtype, value.shape, value.tobytes()) if isinstance(value, np.ndarray) else value


def test_prior_of_targets_has_the_same_bits_interpreted() -> None:
    """With many states, NumPy would add up and take logarithms in another way than compiled code."""
    plain = interpreted(assignment.ln_prior_of)
    compiled = njit(error_model="numpy")(assignment.ln_prior_of.py_func)  # that of the cache is for other kernels
    limits = assignment.Limits(2, 20, (8, 32), (50, 8), 0.8, 1e-9)
    for seed in range(30):
        rng = np.random.default_rng(seed)
        q, a, o = int(rng.integers(3, 60)), 2, 3
        y, symbols = a * o, np.stack(np.divmod(np.arange(a * o), o), axis=1)
        tau = rng.integers(0, q, (q, y)).astype(np.int32)
        beliefs = assignment.Beliefs(
            tau,
            rng.random((q, y)) < 0.7,
            rng.random((q, q)) < 0.2,
            rng.random((y, y)),
            rng.dirichlet(np.ones(q)),
            np.log(rng.random((q, 4))),
            np.zeros((1, q), bool),
            np.zeros((q, y), np.int32),
            symbols,
            np.zeros(q * y + 1, np.int64),
            np.zeros(0, np.int32),
            np.zeros(0, np.int32),
            np.zeros((0, 0), np.int32),
            np.zeros(0, np.int32),
            np.zeros((0, 0)),
        )
        grid = rng.integers(-1, q, (a, o)).astype(np.int32)
        arguments = (int(rng.integers(2, q)), 1, np.array([1]), tau, beliefs, limits, grid)
        assert plain(*arguments).tobytes() == compiled(*arguments).tobytes()


def check_every_call(monkeypatch: pytest.MonkeyPatch, kernels: set[str]) -> set[str]:
    """Repeat calls with copies of their arguments by the version that is not compiled; return what was called."""
    checked: set[str] = set()

    def call(self: _Tiered, *arguments: Any) -> Any:
        if self.__name__ not in kernels:
            return self.compiled(*arguments)
        ours = deepcopy(arguments)
        right, found = self.compiled(*arguments), self.plain(*ours)
        checked.add(self.__name__)
        assert bits_of((found, ours)) == bits_of((right, arguments)), self.__name__
        return right

    monkeypatch.setattr(_Tiered, "__call__", call)
    return checked


def tiered(*modules: Any) -> set[str]:
    return {name for module in modules for name, value in vars(module).items() if isinstance(value, _Tiered)}


def test_all_tiered_kernels_of_a_run_give_the_same_bits_interpreted(monkeypatch: pytest.MonkeyPatch) -> None:
    kernels = tiered(assignment, futures, stationary_kernels)
    checked = check_every_call(monkeypatch, kernels)
    learn(make("t-maze").simulate(60, 5, np.random.default_rng(0)), stationary=True, plan=False, threads=1)
    assert kernels == checked


def test_all_tiered_kernels_of_column_selection_give_the_same_bits_interpreted(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The columns: a category of three values that decides the reward, a number that does as well, and noise."""
    rng, n, steps = np.random.default_rng(0), 100, 4
    kind, level, action = rng.integers(0, 3, n * steps), rng.normal(size=n * steps), rng.integers(0, 2, n * steps)
    reward = (kind == action) * 1.0 + (level > 0.5)
    rows = zip(np.arange(n * steps) // steps, np.arange(n * steps) % steps, kind, level, action, reward, strict=True)
    lines = [f"{e},{t},kind{k},{x:.4f},{rng.choice(['u', 'v'])},{a},{r}" for e, t, k, x, a, r in rows]
    log = tmp_path / "log.csv"
    log.write_text("\n".join(["episode,step,kind,level,noise,action,reward", *lines]))
    kernels = tiered(column_kernels)
    checked = check_every_call(monkeypatch, kernels)
    learn(log, stationary=False, plan=False, threads=1)
    assert kernels == checked


def test_ln_gamma_of_columns_agrees_with_the_standard_library() -> None:
    x = np.concatenate([np.random.default_rng(0).uniform(0.01, 40, 500), np.geomspace(1, 1e9, 200)])
    ln_gamma = column_kernels._ln_gamma.py_func
    assert [ln_gamma(v) for v in x] == pytest.approx([math.lgamma(v) for v in x], rel=1e-14, abs=1e-14)


def test_tiered_kernel_is_compiled_for_large_arrays_and_after_some_time(monkeypatch: pytest.MonkeyPatch) -> None:
    calls, clock = [], iter(range(100))
    monkeypatch.setattr(jit_module, "thread_time", lambda: next(clock))
    kernel = jit_unless_small(lambda x: calls.append("plain"))(lambda x: None)
    kernel.compiled = lambda x: calls.append("compiled")
    for size in (100, 1 << 17, 1, 1, 1, 1):
        kernel(np.zeros(size))
    assert calls == ["plain", "compiled", "plain", "plain", "compiled", "compiled"]  # after 3 seconds


def test_tiered_kernel_in_the_cache_is_used_at_once(tmp_path: Path) -> None:
    program = """
from suffice.kernels import walking
import numpy as np
print(walking.add_rows._left, end=" ")
large = np.zeros((1 << 17, 1), np.int64), np.zeros(1 << 17, np.int64), 1
small = np.zeros((1, 1), np.int64), np.zeros(1, np.int64), 1
for arguments in (small, large, small):
    walking.add_rows(*arguments)
print(walking.add_rows._left > 0)
"""
    said = []
    for _ in range(2):
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path)}
        run = subprocess.run(
            [sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True
        )
        said.append(run.stdout)
    assert said == ["None True\n", "None False\n"]


def test_interpreted_calls_no_compiled_kernel() -> None:
    run = interpreted(comparing.judge_rows)
    names = run.__closure__[0].cell_contents.__globals__
    assert not [name for name, value in names.items() if hasattr(value, "py_func")]


TIMED = """
import sys, time
from suffice.__main__ import main
sys.argv = ["suffice", *sys.argv[1:]]
try:
    main()
finally:
    print(time.process_time(), file=sys.stderr)
"""


@pytest.mark.parametrize("stationary", ["no", "auto"])
def test_first_run_on_a_small_log_compiles_little(stationary: str, tmp_path: Path) -> None:
    """With an empty cache, learning took 11 s of CPU time before, and 26 s with a choice of the memory."""
    episodes = make("t-maze").simulate(300, 5, np.random.default_rng(0))
    write_log(episodes, tmp_path / "log.parquet")
    cache = tmp_path / "cache"
    cache.mkdir()
    command = [sys.executable, "-c", TIMED, "learn", "log.parquet", "--stationary", stationary, "-o", "it.model"]
    environment = os.environ | {"NUMBA_CACHE_DIR": str(cache)}
    run = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert float(run.stderr.splitlines()[-1]) < 5
    assert not list(cache.rglob("*.nbc")), "nothing is compiled"


@pytest.mark.parametrize(
    ("name", "n"),
    [
        ("rotating-mab", 60),
        *(pytest.param(*case, marks=pytest.mark.long) for case in (("t-maze", 200), ("cheese", 120))),
    ],
)
def test_learners_give_the_same_bytes_with_every_version_of_kernels(
    name: str, n: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    domain = make(name)
    episodes = domain.simulate(n, domain.default_horizon, np.random.default_rng(0))
    for stationary in (False, True):
        files = []
        for version in ("compiled", "plain"):
            monkeypatch.setattr(_Tiered, "__call__", lambda self, *a, which=version: getattr(self, which)(*a))
            learn(episodes, stationary=stationary, threads=1).save(tmp_path / version)
            files.append((tmp_path / version).read_bytes())
        assert files[0] == files[1]
